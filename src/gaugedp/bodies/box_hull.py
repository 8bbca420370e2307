"""The hull of a box and its negative: what one row can add to several sums, in closed form at any dimension."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from gaugedp._internal.validate import positive
from gaugedp.bodies.base import check_points, with_weights
from gaugedp.bodies.corners import Corners
from gaugedp.bodies.polytope import Polytope

_LOG_2 = math.log(2)


@dataclass(frozen=True)
class BoxHull(Polytope):
    """factor·conv(B ∪ −B) for a box B = Π[l_i, u_i]; where `differences`, factor·conv((B − B) ∪ ±B `with_zero`).

    Theorem (docs/theory/sums.md, theorem 1). With c = (l + u)/2, h = (u − l)/2 and H = Π[−h_i, h_i] it is factor times

        {t·c + (α − β·|t|)·y : |t| ≤ 1, y ∈ H},

    (α, β) = (1, 0), the sum of a segment and a box; (2, 1) for differences with zero; and 2·H for differences without.
    Every method is exact up to rounding, in time O(d) for a point, but for the gauge: see there. A coordinate with
    l_i = u_i is a count beside the sums; two of them make the body flat.
    """

    generators: Corners

    @classmethod
    def of(
        cls, low: np.ndarray, high: np.ndarray, factor: float = 1, differences: bool = False, with_zero: bool = False
    ) -> "BoxHull":
        """Return the body of the box with the bounds `low` ≤ `high`, shape (d,) each."""
        positive(factor=factor)
        return cls(Corners(tuple(low), tuple(high)), factor, differences, with_zero)

    @property
    def listed(self) -> Polytope:
        """The same body as a polytope of any kind, with its corners as generators."""
        return Polytope(self.generators, self.factor, self.differences, self.with_zero)

    @property
    def has_closed_form(self) -> bool:
        """Yes."""
        return True

    @property
    def shrinking(self) -> tuple[float, float]:
        """(α, β)."""
        if not self.differences:
            return 1.0, 0.0
        return (2.0, 1.0) if self.with_zero else (2.0, 0.0)

    @cached_property
    def middle(self) -> np.ndarray:
        """c times the factor, zero for differences without zero."""
        return self.factor * self.generators.middle * (not self.differences or self.with_zero)

    @cached_property
    def half(self) -> np.ndarray:
        """h times the factor."""
        return self.factor * self.generators.half

    @property
    def rational(self) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
        """c and h over the factor, from the floats that state the bounds, without rounding."""
        is_centred = self.differences and not self.with_zero
        pairs = [(Fraction(a), Fraction(b)) for a, b in zip(self.generators.low, self.generators.high, strict=True)]
        middle = tuple(Fraction(0) if is_centred else (a + b) / 2 for a, b in pairs)
        return middle, tuple((b - a) / 2 for a, b in pairs)

    @property
    def rank(self) -> int:
        """The number of coordinates with l < u, and one more where others move along c."""
        return int((self.half > 0).sum()) + bool(self.still)

    @cached_property
    def still(self) -> float:
        """The length of c on the coordinates that are alone in moving along it, h_i = 0."""
        return float(np.linalg.norm(self.middle[self.half == 0]))

    @property
    def span(self) -> np.ndarray:
        """The axes with l < u and, after them, the direction of c on the others."""
        axes = np.eye(self.ambient_dim)[:, self.half > 0]
        if not self.still:
            return axes
        return np.column_stack([axes, np.where(self.half == 0, self.middle, 0.0) / self.still])

    def radius(self, p: float, weights: np.ndarray | None = None) -> float:
        """Return max ‖z/weights‖_p: that of a corner α·(±h) or c + (α − β)·(±h)."""
        (alpha, beta), scales = self.shrinking, with_weights(weights, self.ambient_dim)
        sizes = np.stack([alpha * self.half, np.abs(self.middle) + (alpha - beta) * self.half]) / scales
        largest = float(sizes.max())  # divided out, so that no square underflows
        return largest * float(np.linalg.norm(sizes / largest, p, axis=1).max()) if largest else 0.0

    def gauge(self, points: np.ndarray) -> np.ndarray:
        """Return the least s with |z_i − t·c_i| ≤ (α·s − β·|t|)·h_i for all i and |t| ≤ s; infinity off the span.

        That is the least of a convex function of t, piecewise linear: found by cuts, with no number below the truth.
        Where l_i = u_i ≠ 0 for some i, t = z_i/c_i.
        """
        rows = check_points(points, self.ambient_dim)
        moving = self.half > 0
        scaled, slopes = rows[:, moving] / self.half[moving], self.middle[moving] / self.half[moving]
        others, along = rows[:, ~moving], self.middle[~moving]
        if not self.still:
            return np.where(others.any(axis=1), np.inf, self._least_over_shifts(scaled, slopes))
        shifts = others @ along / self.still**2
        apart = np.abs(others - np.outer(shifts, along)).max(axis=1)
        # 1e-10: relative distance from the span at which a point counts as off it
        inside = apart <= 1e-10 * np.abs(others).max(axis=1)
        return np.where(inside, self._sizes(shifts, scaled, slopes)[0], np.inf)

    def _sizes(self, shifts: np.ndarray, scaled: np.ndarray, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the least s for given t, shape (k,), and a slope of it in t."""
        alpha, beta = self.shrinking
        apart = scaled - shifts[:, None] * slopes
        along = np.abs(shifts)
        if not apart.shape[1]:
            return along, np.sign(shifts)
        place = np.abs(apart).argmax(axis=1)
        worst = np.take_along_axis(apart, place[:, None], axis=1)[:, 0]
        across = (np.abs(worst) + beta * along) / alpha
        turns = (beta * np.sign(shifts) - np.sign(worst) * slopes[place]) / alpha
        return np.maximum(along, across), np.where(across >= along, turns, np.sign(shifts))

    def _least_over_shifts(self, scaled: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """Return the least over t: two lines below the function, one falling, one rising, meet where the next cut is.

        The values met are the function's own, so that what is returned is never too small.
        """
        shifts = np.zeros(len(scaled))
        falling, rising = np.zeros((2, 2, len(scaled)))  # value at t = 0, and slope: −t and t at first
        falling[1], rising[1] = -1.0, 1.0
        best = np.full(len(scaled), np.inf)
        for _ in range(100):  # cuts at most
            sizes, turns = self._sizes(shifts, scaled, slopes)
            best = np.minimum(best, sizes)
            cut = np.stack([sizes - turns * shifts, turns])
            falling, rising = np.where(turns < 0, cut, falling), np.where(turns > 0, cut, rising)
            shifts = (falling[0] - rising[0]) / (rising[1] - falling[1])
            done = (turns == 0) | (best <= (rising[0] + rising[1] * shifts) * (1 + 1e-14))
            if done.all():
                break
        return best

    def support(self, directions: np.ndarray) -> np.ndarray:
        """Return max(α·Σh_i|y_i|, |⟨c, y⟩| + (α − β)·Σh_i|y_i|)."""
        rows, (alpha, beta) = check_points(directions, self.ambient_dim), self.shrinking
        across = np.abs(rows) @ self.half
        return np.maximum(alpha * across, np.abs(rows @ self.middle) + (alpha - beta) * across)

    def argmax(self, directions: np.ndarray) -> np.ndarray:
        """Return a corner for each direction."""
        rows, (alpha, beta) = check_points(directions, self.ambient_dim), self.shrinking
        along = rows @ self.middle
        is_moved = np.abs(along) >= beta * (np.abs(rows) @ self.half)
        shifts = np.where(is_moved, np.where(along >= 0, 1.0, -1.0), 0.0)[:, None]
        corners = np.where(rows >= 0, 1.0, -1.0) * self.half
        return shifts * self.middle + (alpha - beta * np.abs(shifts)) * corners

    @cached_property
    def log_parts(self) -> np.ndarray:
        """The logarithms of the volumes, in the span, of the box α·H and of what each of its facets sweeps; (d + 1,).

        As t runs from 0 to 1, and to −1, the box t·c + (α − β|t|)·H moves and shrinks; its facet i sweeps
        2^r·(|c_i| − β·h_i)₊·Π_{j≠i} h_j·∫₀¹ (α − β·t)^{r−1} dt, and no point is swept twice (theorem 2). Where only c
        moves some coordinates, they count as one, of length `still`, and all of the volume is theirs.
        """
        (alpha, beta), rank, moving = self.shrinking, self.rank, self.half > 0
        box = rank * _LOG_2 + math.fsum(np.log(self.half[moving]))
        log_integral = (
            rank * _LOG_2 + math.log1p(-(2.0**-rank)) - math.log(rank) if beta else (rank - 1) * math.log(alpha)
        )
        parts = np.full(self.ambient_dim + 1, -np.inf)
        if self.still:
            place = int((~moving & (self.middle != 0)).argmax())
            parts[1 + place] = box + math.log(self.still) + log_integral
            return parts
        parts[0] = box + rank * math.log(alpha)
        swept = np.maximum(np.abs(self.middle[moving]) / self.half[moving] - beta, 0.0)
        with np.errstate(divide="ignore"):
            parts[1:][moving] = box + log_integral + np.log(swept)
        return parts

    @property
    def log_volume(self) -> float:
        """The logarithm of the volume in the span."""
        return float(np.logaddexp.reduce(self.log_parts))

    @cached_property
    def second_moment(self) -> np.ndarray:
        """E zzᵀ for z uniform on the body, shape (d, d)."""
        (alpha, _), shares = self.shrinking, self.shares
        shift, both, size = self._moments_of_sweeps
        swept, ends = shares[1:], np.where(self.middle < 0, -1.0, 1.0) * self.half
        across = np.outer(self.middle, swept * ends)
        squares = self.half**2 * (alpha**2 * shares[0] + size * (swept.sum() + 2 * swept)) / 3
        return swept.sum() * shift * np.outer(self.middle, self.middle) + both * (across + across.T) + np.diag(squares)

    @property
    def shares(self) -> np.ndarray:
        """The parts' shares of the volume, shape (d + 1,)."""
        return np.exp(self.log_parts - self.log_volume)

    @property
    def _moments_of_sweeps(self) -> tuple[float, float, float]:
        """E τ², E τσ and E σ², σ = α − β·τ, τ in [0, 1] with density ∝ σ^{r−1}."""
        (alpha, beta), r = self.shrinking, self.rank
        if not beta:
            return 1 / 3, alpha / 2, alpha**2
        first, second = (2**k * r / (r + k) * (1 - 2.0 ** -(r + k)) / (1 - 2.0**-r) for k in (1, 2))
        return 4 - 4 * first + second, 2 * first - second, second

    def __repr__(self) -> str:
        kind = "differences" if self.differences else "symmetric"
        return f"BoxHull(d={self.ambient_dim}, rank={self.rank}, {kind}, factor={self.factor:g})"
