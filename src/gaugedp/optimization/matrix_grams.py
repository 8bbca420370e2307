"""Matrix regression from Gram matrices, for designs too large for all moments."""

import math
from dataclasses import dataclass

import numpy as np

from gaugedp._internal.validate import positive
from gaugedp.entropy import Entropy
from gaugedp.guarantees import Guarantee, compose
from gaugedp.mechanisms.base import AdditiveNoise
from gaugedp.optimization.gradient import accelerated
from gaugedp.optimization.lattice import BITS, ball_noise, released, shared, sum_ball
from gaugedp.optimization.row_blocks import PRODUCTS, slices
from gaugedp.optimization.spectraplex import Region
from gaugedp.optimization.symmetric import coordinates, square_of
from gaugedp.optimization.trace_designs import Full, TraceProblem, cut
from gaugedp.optimization.tuning import TUNED


@dataclass(frozen=True)
class GramScale:
    """Public scales from which the noise of `MatrixGrams` follows.

    Designs A (m, k) and targets y are scaled to ‖A‖_F ≤ 1, ‖A‖_op ≤ `widest` and t = y/`largest` in [−1, 1]. The
    targets y are within `bounds`, and predictions are reach·⟨A, X⟩.
    """

    region: Region
    bounds: tuple[float, float]
    reach: float
    widest: float = 1.0
    replaced: bool = True

    def __post_init__(self) -> None:
        positive(largest=self.largest, reach=self.reach, widest=self.widest)

    @property
    def largest(self) -> float:
        """The largest |y|."""
        return max(abs(end) for end in self.bounds)

    @property
    def longest(self) -> float:
        """Upper bound on ‖A‖_op after truncation to multiples of 2^−BITS."""
        rows, columns = self.region.shape
        return min(1.0, self.widest + math.sqrt(rows * columns) * 2.0**-BITS)

    @property
    def of_grams(self) -> float:
        """Sensitivity of (Σ AAᵀ, Σ AᵀA).

        ‖AAᵀ‖_F ≤ ‖A‖_op·‖A‖_F, and two rows have products ≥ 0.
        """
        return (2.0 if self.replaced else math.sqrt(2.0)) * self.longest

    @property
    def of_gradient(self) -> float:
        """Sensitivity of Σ t·A."""
        return 2.0 if self.replaced else 1.0

    @property
    def of_length(self) -> float:
        """Sensitivity of (Σ q², Σ t·q), q in [−1, 1]."""
        return math.sqrt(5.0) if self.replaced else math.sqrt(2.0)


@dataclass(frozen=True, eq=False)
class MatrixGrams:
    """Trace regression from Gram matrices.

    Use it to estimate a matrix X of low rank from targets y that are near reach·⟨A, X⟩ for known matrices A, the
    *designs*. It is meant for large designs, for which `MatrixMoments` would have to release too many second moments.

    Notes
    -----
    X is estimated so that Σ(reach·⟨A, X⟩ − y)² is small. The method releases L = Σ AAᵀ, R = Σ AᵀA and b = Σ t·A with
    noise, where t is the scaled target (see `MomentScale`). D minimises ½⟨D, L·D·R⟩/tr L − ratio·⟨b, D⟩ on the region,
    the set of allowed matrices, as if rows and columns of designs varied independently. The constant `ratio` makes up
    for the scale of t. Then X = s·D, where the length s in [0, 1] corrects the curvature along D. It is computed from
    noisy sums Σ q² and Σ t·q for q = ⟨A, D⟩.

    Theorem (docs/theory/matrix_moments.md, theorem 3). For any D, a row changes (L, R), b and the two sums of the
    length by at most `of_grams`, `of_gradient` and `of_length`. With Gaussian noise at shares of μ² with sum 1 they are
    jointly μ-GDP. With noise of balls at shares of ε they are ε-DP. X is a function of them.
    """

    scale: GramScale
    of_grams: AdditiveNoise
    of_gradient: AdditiveNoise
    of_length: AdditiveNoise

    @classmethod
    def calibrate(cls, guarantee: Guarantee, scale: GramScale) -> "MatrixGrams":
        """Return the method for GaussianDP or PureDP."""
        rows, columns = scale.region.shape
        n_grams = (rows * (rows + 1) + columns * (columns + 1)) // 2
        parts = (
            (n_grams, scale.of_grams, TUNED.grams_share),
            (rows * columns, scale.of_gradient, 1 - TUNED.grams_share - TUNED.length_share),
            (2, scale.of_length, TUNED.length_share),
        )
        return cls(
            scale, *(ball_noise(sum_ball(size, moved), shared(guarantee, share)) for size, moved, share in parts)
        )

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of the three releases together."""
        return compose([(part.guarantee, 1) for part in (self.of_grams, self.of_gradient, self.of_length)])

    @property
    def exactness(self) -> str:
        """Exactness of the noise: "exact" or "idealized"."""
        return self.of_grams.exactness

    def solve(self, problem: TraceProblem, n_rows: float, rng: Entropy) -> np.ndarray:
        """Return X for targets within bounds. Charge the budget first."""
        del n_rows
        designs, target = problem.designs, cut(problem.target / self.scale.largest)
        assert isinstance(designs, Full)
        direction = self._direction(*self.release(designs, target, rng))
        return self._length(designs, target, direction, rng) * direction

    def release(self, designs: Full, target: np.ndarray, rng: Entropy) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return L (m, m), R (k, k), b (m, k), noisy."""
        left, right, first = grams(designs, target)
        n_left = len(left) * (len(left) + 1) // 2
        noisy = released(np.concatenate([coordinates(left), coordinates(right)]), self.of_grams, rng)
        return square_of(noisy[:n_left]), square_of(noisy[n_left:]), released(first, self.of_gradient, rng)

    def _direction(self, left: np.ndarray, right: np.ndarray, first: np.ndarray) -> np.ndarray:
        """Return D by accelerated projected steps (Nesterov 1983)."""
        left, right = (self._raised(gram) for gram in (left, right))
        left = left / np.trace(left)
        steepest = float(np.linalg.eigvalsh(left)[-1] * np.linalg.eigvalsh(right)[-1])
        slope = self.scale.largest / self.scale.reach * first

        def moved(start: np.ndarray) -> np.ndarray:
            return self.scale.region.projection(start - (left @ start @ right - slope) / steepest)

        return accelerated(moved, np.zeros_like(first))

    def _raised(self, gram: np.ndarray) -> np.ndarray:
        edge = math.sqrt(2 * len(gram) * float(self.of_grams.variances.max()))
        values, vectors = np.linalg.eigh(gram)
        return np.asarray((vectors * np.maximum(values, TUNED.grams_floor * edge)) @ vectors.T)

    def _length(self, designs: Full, target: np.ndarray, direction: np.ndarray, rng: Entropy) -> float:
        """Return s in [0, 1], about the best multiple of D, with both sums shifted one deviation towards s = 0."""
        sums = lengths(designs, target, direction, self.scale.longest)
        square, product = released(sums, self.of_length, rng)
        ratio = self.scale.largest / (self.scale.reach * self.scale.longest)
        off = math.sqrt(float(self.of_length.variances.max()))
        return float(np.clip(ratio * (product - off) / max(square + off, off), 0.0, 1.0))


def grams(designs: Full, target: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return Σ AAᵀ, Σ AᵀA and Σ t·A, exact in any order of up to 2^28 rows, for t in steps of 2^−12."""
    rows, columns = designs.shape
    left, right, first = np.zeros((rows, rows)), np.zeros((columns, columns)), np.zeros((rows, columns))
    for part in slices(designs.rows, PRODUCTS):
        matrices = designs.rows[part].reshape(-1, rows, columns)
        beside = matrices.transpose(1, 0, 2).reshape(rows, -1)
        below = matrices.reshape(-1, columns)
        left += beside @ beside.T
        right += below.T @ below
        first += (target[part] @ designs.rows[part]).reshape(rows, columns)
    return left, right, first


def lengths(designs: Full, target: np.ndarray, direction: np.ndarray, longest: float) -> np.ndarray:
    """Return (Σ q², Σ t·q), q = ⟨A, D⟩/longest clipped to [−1, 1] and cut to steps of 2^−12: exact in any order."""
    q = cut(np.clip(designs.predictions(direction) / longest, -1.0, 1.0))
    return np.array([np.sum(q * q), np.sum(target * q)])
