"""Designs A and targets y for losses of ⟨A, X⟩."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gaugedp._internal.validate import positive
from gaugedp.errors import InvalidRequest
from gaugedp.optimization.lattice import BITS
from gaugedp.optimization.row_blocks import PRODUCTS, blocks, slices
from gaugedp.optimization.spectraplex import NuclearBall, Region, Spectraplex
from gaugedp.optimization.symmetric import stretch

_POINT_BITS = 28  # of X, so that zᵀXz is exact; 40 for ⟨A, X⟩

Slope = Callable[[np.ndarray, np.ndarray], np.ndarray]  # of predictions and targets, row by row, in [−1, 1]


@dataclass(frozen=True, eq=False)
class _Cut:
    """Rows truncated towards 0 to multiples of 2^−12, so that no norm grows."""

    rows: np.ndarray

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", cut(self.rows))


@dataclass(frozen=True, eq=False)
class RankOne(_Cut):
    """Designs A = zzᵀ of rank one.

    Use them for a trace regression over symmetric matrices. The rows z, shape (n, d), have ‖z‖₂ ≤ 1, so that ⟨A, X⟩ =
    zᵀXz is in [0, 1] on the spectraplex.
    """

    rows: np.ndarray

    @property
    def region(self) -> Region:
        """The spectraplex."""
        return Spectraplex(self.rows.shape[1])

    span = 0.0, 1.0
    prediction_range = 1.0  # the largest difference of ⟨A, X⟩ between two points of the region
    products_at_least = 0.0  # a bound below ⟨A, A′⟩ of two designs

    def predictions(self, point: np.ndarray) -> np.ndarray:
        """Return zᵀXz exactly.

        Partial sums are multiples of 2^−52 below 2, because ‖z‖·‖X‖·‖z‖ ≤ 1.
        """
        grid = np.rint(point * 2.0**_POINT_BITS) * 2.0**-_POINT_BITS
        return np.concatenate([((part @ grid) * part).sum(axis=1) for part in blocks(self.rows, PRODUCTS)])

    def total(self, slopes: np.ndarray) -> np.ndarray:
        """Return the symmetric part of Σ w·zᵀ.

        w is slope·z, truncated: ‖w‖·‖z‖ ≤ 1.
        """
        total = sum(
            cut(slopes[part, None] * self.rows[part]).T @ self.rows[part] for part in slices(self.rows, PRODUCTS)
        )
        return (total + total.T) / 2

    def traces(self) -> np.ndarray:
        """Return ‖z‖₂², which is ‖zzᵀ‖_F."""
        return np.asarray((self.rows * self.rows).sum(axis=1))

    def vectors(self, part: slice) -> np.ndarray:
        """Return upper triangles of zzᵀ, truncated, off-diagonal times √2."""
        rows, upper = self.rows[part], np.triu_indices(self.rows.shape[1])
        return cut(rows[:, upper[0]] * rows[:, upper[1]] * stretch(upper))

    def predict(self, places: np.ndarray, point: np.ndarray) -> np.ndarray:
        """Return zᵀXz."""
        part = self.rows[places]
        return ((part @ point) * part).sum(axis=1)

    def combine(self, places: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return Σ weight·zzᵀ."""
        part = self.rows[places]
        return (part.T * weights) @ part


@dataclass(frozen=True, eq=False)
class Full(_Cut):
    """Designs that are matrices A (m, k), one a row.

    Rows have shape (n, m·k), with ‖A‖_F ≤ 1. On the nuclear ball |⟨A, X⟩| ≤ ‖A‖_op·‖X‖_* ≤ `widest`, a public bound on
    ‖A‖_op before entries are truncated (default 1).
    """

    rows: np.ndarray
    shape: tuple[int, int]
    widest: float = 1.0
    products_at_least = -1.0  # a bound below ⟨A, A′⟩ of two designs

    @property
    def region(self) -> Region:
        """The nuclear ball."""
        return NuclearBall(self.shape)

    @property
    def span(self) -> tuple[float, float]:
        """Range of ⟨A, X⟩: −widest and widest."""
        return -self.widest, self.widest

    @property
    def prediction_range(self) -> float:
        """Largest difference of ⟨A, X⟩ over the region."""
        return 2 * self.widest

    def predictions(self, point: np.ndarray) -> np.ndarray:
        """Return ⟨A, X⟩, exact as multiples of 2^−52 below 2."""
        bits = _POINT_BITS + BITS
        grid = np.rint(point.ravel() * 2.0**bits) * 2.0**-bits
        return np.concatenate([part @ grid for part in blocks(self.rows, PRODUCTS)])

    def total(self, slopes: np.ndarray) -> np.ndarray:
        """Return Σ slope·A with truncated slopes."""
        total = sum(cut(slopes[part]) @ self.rows[part] for part in slices(self.rows, PRODUCTS))
        return np.reshape(total, self.shape)

    def traces(self) -> np.ndarray:
        """Refuse, as ‖A‖_F may be more than tr A."""
        raise InvalidRequest(
            "This method requires designs of the form zzᵀ, but these are general matrices.",
            "Pass an array whose rows are the vectors z, or choose another method.",
        )

    def vectors(self, part: slice) -> np.ndarray:
        """Return the entries of A, row after row."""
        return self.rows[part]

    def predict(self, places: np.ndarray, point: np.ndarray) -> np.ndarray:
        """Return ⟨A, X⟩."""
        return self.rows[places] @ point.ravel()

    def combine(self, places: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return Σ weight·A."""
        return (weights @ self.rows[places]).reshape(self.shape)


# n matrices A of Frobenius norm at most 1, and the region of X, of radius 1. `predictions` are exact for any
# other rows are, and so is `total`, in any order of the rows, to which a row adds at most 1 in the Frobenius norm.
# `vectors` are coordinates (m, p) of ℓ₂ norm at most 1. `predict` and `combine` take a few rows, in floats.
Designs = RankOne | Full


class CountedSlope:
    """Derivative of a loss, with a counter of its evaluations.

    The methods use it to report their work: `n_gradients` is the number of gradients of single rows so far. It reveals
    the number of rows, so do not publish it if the number of rows is private ("add_remove").
    """

    def __init__(self, slope: Slope) -> None:
        self.slope, self.n_gradients = slope, 0

    def __call__(self, predictions: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return the slopes (n,), and count n."""
        self.n_gradients += len(target)
        return self.slope(predictions, target)


@dataclass(frozen=True, eq=False)
class TraceProblem:
    """Data of a trace regression: designs, targets, and a slope.

    A trace regression predicts each target by the inner product ⟨A, X⟩ of a known matrix A, its *design*, with an
    unknown matrix X. The targets have shape (n,). The slope is the derivative of a loss with respect to the prediction,
    clipped to [−1, 1]. You must prove that the slope of a row depends on its prediction and target alone, because the
    guarantees rest on that, and on nothing else about the slope. If it is not the increasing slope of a convex loss,
    the methods may not find a minimum.
    """

    designs: Designs
    target: np.ndarray
    slope: Slope

    def gradient(self, point: np.ndarray) -> np.ndarray:
        """Return Σ φ′·A at X, exactly.

        One row adds a Frobenius norm of at most 1.
        """
        slopes = np.clip(self.slope(self.designs.predictions(point), self.target), -1, 1)
        return self.designs.total(slopes)

    def slopes(self, places: np.ndarray, point: np.ndarray) -> np.ndarray:
        """Return φ′ in floats for a few rows."""
        return np.clip(self.slope(self.designs.predict(places, point), self.target[places]), -1, 1)


@dataclass(frozen=True)
class TraceScale:
    """Public numbers for planning a trace regression.

    They describe region, rows and slopes. `smoothness` is the Lipschitz constant β of φ′ in the prediction,
    `prediction_range` is the largest difference of predictions, and `replaced` is False if rows are added or removed.
    """

    region: Region
    n_rows: float
    smoothness: float = 1.0
    prediction_range: float = 2.0
    replaced: bool = True

    def __post_init__(self) -> None:
        positive(n_rows=self.n_rows, smoothness=self.smoothness, prediction_range=self.prediction_range)
        if self.region.radius != 1:
            raise InvalidRequest(
                f"The radius of the ball of matrices is {self.region.radius!r}, but must be 1.",
                "Scale the matrices so that the radius is 1.",
            )

    @property
    def factor(self) -> float:
        """2 for replaced rows, else 1."""
        return 2.0 if self.replaced else 1.0


def cut(values: np.ndarray) -> np.ndarray:
    """Return values truncated towards 0 to multiples of 2^−BITS."""
    return np.trunc(values * 2.0**BITS) * 2.0**-BITS
