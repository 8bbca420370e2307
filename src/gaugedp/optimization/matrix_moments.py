"""The moments of a regression on matrices, released once; then the squared loss is minimised as often as one likes."""

import math
from dataclasses import dataclass

import numpy as np

from gaugedp._validate import positive
from gaugedp.bodies import LpBall
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import GaussianDP, Guarantee, compose
from gaugedp.mechanisms.base import AdditiveNoise
from gaugedp.optimization.lattice import ball_noise, released, shared
from gaugedp.optimization.row_blocks import slices
from gaugedp.optimization.spectraplex import Region
from gaugedp.optimization.symmetric import coordinates, square_of
from gaugedp.optimization.trace_designs import BITS, Designs, TraceProblem, cut

MOST_COORDINATES = 1_600  # p: H has p² numbers, their decomposition takes p³ operations
_LEAST_FLOOR, _MOST_FLOOR, _FAINT = 0.3, 2.0, 5.0  # floors in units of the edge; where p·edge/n is 5, it is one edge
_STEPS = 300
_LIGHT, _HEAVY = 0.5, math.sqrt(2.0)  # of the weight of b beside H
_ROUNDING = 2.0**-24  # of a coordinate of either of two tables, whose sums are at most 2^28, times √2 in floats


@dataclass(frozen=True)
class MomentScale:
    """What the noise of H = Σ aaᵀ and b = Σ t·a depends on, a = vec(A) with ‖a‖₂ ≤ 1, t = y/`largest` in [−1, 1].

    y is within `bounds`, predictions are reach·⟨A, X⟩. `products_at_least` is a bound below ⟨A, A′⟩ of two designs: 0
    for A = zzᵀ, else −1.
    """

    region: Region
    bounds: tuple[float, float]
    reach: float
    products_at_least: float
    replaced: bool = True

    def __post_init__(self) -> None:
        positive(largest=self.largest, ratio=self.ratio)
        if self.region.radius != 1:
            raise InvalidRequest(f"The radius is {self.region.radius!r}.", "Scale the matrices to a radius of 1.")

    @property
    def largest(self) -> float:
        """The largest |y|."""
        return max(abs(end) for end in self.bounds)

    @property
    def ratio(self) -> float:
        """The largest |y| over the largest prediction."""
        return self.largest / self.reach

    @property
    def weight(self) -> float:
        """w, by which b stands beside H: with w² = √2·ratio both noises weigh alike in the gradient where ‖X‖ = 1."""
        return min(_HEAVY, max(_LIGHT, math.sqrt(math.sqrt(2) * self.ratio)))

    @property
    def least_product(self) -> float:
        """A bound below k² + w²·q·k, k = ⟨a, a′⟩ and q = t·t′: the inner product of the moments of two rows.

        Designs are cut to multiples of 2^−BITS, which moves k by at most 2√p·2^−BITS.
        """
        p, square = self.region.n_coordinates, self.weight**2
        lowest_k = max(-1.0, self.products_at_least - 2 * math.sqrt(p) * 2.0**-BITS)
        low, high = (end / self.largest for end in self.bounds)
        lowest_q = low * high if low < 0 < high else 0.0
        return min(_least(square * lowest_q, 1.0), _least(square, -lowest_k))

    @property
    def sensitivity(self) -> float:
        """By how much (H, w·b) moves at most, in the Frobenius norm, for one row."""
        norm = 1 + self.weight**2
        return math.sqrt(2 * norm - 2 * self.least_product) if self.replaced else math.sqrt(norm)


@dataclass(frozen=True, eq=False)
class MatrixMoments:
    """Estimate X with Σ(reach·⟨A, X⟩ − y)² small from H = Σ aaᵀ and b = Σ t·a, a = vec(A), with noise on both.

    Gaussian noise is of one deviation on the joint vector (H, w·b), in coordinates that keep its Frobenius norm; noise
    for pure ε has the shapes of two balls, one for H and one for b. Eigenvalues of H are raised to a share of the edge
    of its noise, a public number, and ½⟨x, Hx⟩ − ratio·⟨b, x⟩ is minimised on the region.

    Theorem. Two rows move (H, w·b) by at most √(2 + 2w² − 2·least_product), a row alone by √(1 + w²): the release is
    μ-GDP, or ε-DP. The minimiser is a function of the release. docs/theory/matrix_moments.md
    """

    scale: MomentScale
    noise: AdditiveNoise
    noise_of_b: AdditiveNoise | None

    @classmethod
    def calibrate(cls, guarantee: Guarantee, scale: MomentScale) -> "MatrixMoments":
        """Return the method for GaussianDP or PureDP; refused for matrices of more than MOST_COORDINATES numbers."""
        p = scale.region.n_coordinates
        if p > MOST_COORDINATES:
            raise InvalidRequest(
                f"Matrices have {p:,} free entries, and moments of at most {MOST_COORDINATES:,} are released.",
                'Choose solver="descent".',
            )
        n_of_h = p * (p + 1) // 2
        if isinstance(guarantee, GaussianDP):
            return cls(scale, ball_noise(_ball(n_of_h + p, scale.sensitivity), shared(guarantee, 1.0)), None)
        share = _share_of_h(scale)
        of_h, of_b = _separate(scale)
        noise_of_b = ball_noise(_ball(p, of_b), shared(guarantee, 1 - share))
        return cls(scale, ball_noise(_ball(n_of_h, of_h), shared(guarantee, share)), noise_of_b)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of both sums together."""
        parts = [self.noise] if self.noise_of_b is None else [self.noise, self.noise_of_b]
        return compose([(part.guarantee, 1) for part in parts])

    @property
    def exactness(self) -> str:
        """ "exact" or "idealized", as the noise is."""
        return self.noise.exactness

    @property
    def edge(self) -> float:
        """About the largest eigenvalue of the noise of H: √(2p) times the deviation of an entry of its diagonal."""
        return math.sqrt(2 * self.scale.region.n_coordinates * float(self.noise.variances.max()))

    def loudness(self, n_rows: float) -> float:
        """Return the edge over n/p, which the mean eigenvalue of H is at most."""
        return self.edge * self.scale.region.n_coordinates / n_rows

    def solve(self, problem: TraceProblem, n_rows: float, rng: Entropy) -> np.ndarray:
        """Return X for targets within their bounds; the slope of the problem is not used: pay first."""
        second, first = self.release(problem.designs, cut(problem.target / self.scale.largest), rng)
        return self._minimum(second, self.scale.ratio * first, n_rows)

    def release(self, designs: Designs, target: np.ndarray, rng: Entropy) -> tuple[np.ndarray, np.ndarray]:
        """Return H (p, p) and b (p,) with noise drawn now."""
        second, first = moments(designs, target)
        if self.noise_of_b is not None:
            noisy = released(coordinates(second), self.noise, rng)
            return square_of(noisy), released(first, self.noise_of_b, rng)
        weight, p = self.scale.weight, len(first)
        noisy = released(np.concatenate([coordinates(second), weight * first]), self.noise, rng)
        return square_of(noisy[:-p]), noisy[-p:] / weight

    def raised(self, second: np.ndarray, n_rows: float) -> np.ndarray:
        """Return H with eigenvalues of at least the floor."""
        values, vectors = np.linalg.eigh(second)
        return np.asarray((vectors * np.maximum(values, self._floor(n_rows))) @ vectors.T)

    def _floor(self, n_rows: float) -> float:
        """Return what eigenvalues of H are raised to: the more, the louder noise is."""
        loudness = self.loudness(n_rows) / _FAINT
        return self.edge * min(_MOST_FLOOR, max(_LEAST_FLOOR, min(loudness, math.sqrt(loudness))))

    def _minimum(self, second: np.ndarray, first: np.ndarray, n_rows: float) -> np.ndarray:
        """Return the minimiser of ½⟨x, Hx⟩ − ⟨b, x⟩ by accelerated projected steps (Nesterov 1983)."""
        region, p = self.scale.region, self.scale.region.n_coordinates
        raised = self.raised(second, n_rows)
        steepest = float(np.linalg.eigvalsh(raised)[-1])
        point = start = np.zeros(p)
        for step in range(_STEPS):
            lower = region.matrix_of(start - (raised @ start - first) / steepest)
            after = region.coordinates(region.projection(lower))
            start, point = after + step / (step + 3) * (after - point), after
        return region.matrix_of(point)


def moments(designs: Designs, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return Σ aaᵀ and Σ t·a, t whole multiples of 2^−12: exact in any order of the rows, up to 2^28 of them."""
    p = designs.region.n_coordinates
    second, first = np.zeros((p, p)), np.zeros(p)
    for part in slices(designs.rows, 2**22 * designs.rows.shape[1] // p):
        vectors = designs.vectors(part)
        second += vectors.T @ vectors
        first += target[part] @ vectors
    return second, first


def _least(slope: float, furthest: float) -> float:
    """Return a bound below k² + slope·k, where k is 0 or of the sign that makes slope·k negative, |k| ≤ furthest."""
    k = min(abs(slope) / 2, furthest)
    return k * k - abs(slope) * k


def _separate(scale: MomentScale) -> tuple[float, float]:
    """Return by how much H and b move, each by itself."""
    return (math.sqrt(2.0), 2.0) if scale.replaced else (1.0, 1.0)


def _share_of_h(scale: MomentScale) -> float:
    """Return the share s of ε for H: u/s² + v/(1 − s)² is least at u^⅓/(u^⅓ + v^⅓), u and v the variances at s = 1.

    A ball's noise has a deviation of about √(its dimension) an entry; half of the variance of H is in Hx.
    """
    p = scale.region.n_coordinates
    of_h, of_b = _separate(scale)
    u, v = p * (p + 1) / 4 * of_h**2, p * (scale.ratio * of_b) ** 2
    return float(1 / (1 + (v / u) ** (1 / 3)))


def _ball(n_coordinates: int, sensitivity: float) -> LpBall:
    return LpBall(n_coordinates, 2, sensitivity * (1 + 2.0**-30) + _ROUNDING * math.sqrt(n_coordinates))
