"""Table 1 of a thesis on the geometry of privacy with its constants, and its recursive mechanism as published.

Lodrant, O geometriji diferencirane zasebnosti (2019), after Hardt and Talwar (2010).

    python -m examples.papers.geometry
"""

import math
from dataclasses import dataclass

import numpy as np

import gaugedp as gd
from gaugedp.bodies import Body, LpBall, Polytope, image, project
from gaugedp.entropy import Entropy, research_rng
from gaugedp.samplers.gauge_noise import gauge_noise
from gaugedp.samplers.uniform import moments


@dataclass(frozen=True)
class Line:
    """A line of table 1: the published order without its constant, a bound with its constant, and what is attained.

    `bound` holds for every matrix of this shape with entries in [−1, 1] in the root mean square, that of the last line
    for this matrix in the mean; `actual` is the mechanism's for this matrix, NaN for the lower bound.
    """

    order: float
    bound: float
    actual: float


def table_1(matrix: np.ndarray, epsilon: float = 1.0) -> dict[str, Line]:
    """Return table 1 for F in [−1, 1]^{d × n} at ε.

    Laplace: proposition 5.8 with its constant, √2·d√d/ε. K-norm: theorem 5.10 with p = 2, (d + 1)(d + 2)/ε² times
    E‖z‖² ≤ d/(d + 2)·d, as z is ρ times a point of the boundary, whose square is at most d, and ρ^d is uniform. Lower:
    the certified bound of the library, as theorem 4.3 has no constant.
    """
    d, n = matrix.shape
    if np.abs(matrix).max() > 1:
        raise ValueError("Entries of the matrix must be in [-1, 1].")
    body, guarantee = Polytope.symmetric_hull(matrix), gd.PureDP(epsilon)
    wide, log = d * math.sqrt(d) / epsilon, math.sqrt(math.log(n / d)) if n > d else 0.0
    errors = [math.sqrt(kind.calibrate(body, guarantee).mean_square()) for kind in (gd.Laplace, gd.KNorm)]
    return {
        "Laplace": Line(wide, math.sqrt(2) * wide, errors[0]),
        "K-norm": Line(d * log / epsilon, math.sqrt((d + 1) * d * d) / epsilon, errors[1]),
        "lower bound": Line(
            d / epsilon * min(log, math.sqrt(d)), float(gd.bounds.lower_bound(body, epsilon)), math.nan
        ),
    }


class PublishedNIM:
    """Algorithm 1 as published: ⌊log₂ d⌋ + 1 levels of K-norm noise with equal shares of ε; each keeps its P_V part.

    With ε for the whole (corollary 8.12; lemma 8.3 counts log₂ d levels, one too few). `gd.NIM` chooses depth and
    shares, and uses the P_U parts too.
    """

    def __init__(self, body: Body, epsilon: float) -> None:
        basis, levels = body.span, []
        while basis.shape[1]:
            part = project(body, basis)
            rank = basis.shape[1]
            values, vectors = np.linalg.eigh(moments(part).second_moment)
            short = rank - rank // 2  # V: the smaller half of the eigenvalues, all of them for one dimension
            levels.append((gauge_noise(part), basis @ vectors[:, :short] @ vectors[:, :short].T, values[:short], rank))
            basis = basis @ vectors[:, short:]
        self.levels, self.share = levels, epsilon / len(levels)

    @property
    def mean_square(self) -> float:
        """E‖noise‖₂²: the sum over levels of (r + 1)(r + 2)·Σσ_i over V, over the share's square."""
        return sum((r + 1) * (r + 2) * float(values.sum()) for _, _, values, r in self.levels) / self.share**2

    def sample_noise(self, size: int, rng: Entropy) -> np.ndarray:
        """Return draws of the noise, shape (size, d); in floats, to compare and not to release."""
        draws = (noise.draw(size, rng) @ kept.T for noise, kept, _, _ in self.levels)
        return np.asarray(sum(draws)) / self.share


def main() -> None:
    """Print table 1 for signs, d = 5 and n = 50, and both recursive mechanisms on a long body."""
    matrix = np.random.default_rng(1).integers(0, 2, (5, 50)) * 2.0 - 1
    for name, line in table_1(matrix).items():
        print(f"{name}: order {line.order:.3g}, with constants {line.bound:.3g}, here {line.actual:.3g}")
    body = image(LpBall(4, 2), np.diag([100.0, 10.0, 1.0, 1.0]))
    published = PublishedNIM(body, 1.0)
    drawn = np.linalg.norm(published.sample_noise(2000, research_rng(1)), axis=1)
    ours = [math.sqrt(kind.calibrate(body, gd.PureDP(1.0)).mean_square()) for kind in (gd.NIM, gd.KNorm)]
    print(f"NIM as published {math.sqrt(published.mean_square):.4g} ({drawn.mean():.4g} on average)", end=", ")
    print(f"as corrected {ours[0]:.4g}, K-norm {ours[1]:.4g}")


if __name__ == "__main__":
    main()
