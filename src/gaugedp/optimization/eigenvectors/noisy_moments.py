"""Exact and noisy second moments Σ xxᵀ, and their eigenvectors."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gaugedp._internal.rounding import TABLES
from gaugedp._internal.validate import one_of, whole
from gaugedp.bodies import LpBall
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import GaussianDP
from gaugedp.guarantees.parse_guarantee import of_kind
from gaugedp.mechanisms import Gaussian
from gaugedp.optimization.lattice import BITS, WEIGHT_BITS
from gaugedp.optimization.row_blocks import slices
from gaugedp.optimization.symmetric import released_square, repulsion

NEIGHBOURS = ("replace", "add_remove")


def longest(n_columns: int) -> float:
    """Return the largest norm of a rounded unit row."""
    return 1 + math.sqrt(n_columns) * 2.0 ** -(BITS + 1)


def moved_frobenius(n_columns: int, neighbours: str) -> float:
    """Return the Frobenius sensitivity of `second_moments` to one row.

    With h = `longest` it is √2·h² if a row is replaced, as ‖xxᵀ − yyᵀ‖² ≤ 2h⁴, and h² if it is added.
    docs/theory/eigenvectors.md
    """
    one_of(NEIGHBOURS, neighbours=neighbours)
    return (math.sqrt(2.0) if neighbours == "replace" else 1.0) * longest(n_columns) ** 2


def second_moments(rows: np.ndarray) -> np.ndarray:
    """Return the exact Σ xxᵀ (d, d) of rows (n, d) of norm at most 1, rounded to multiples of 2^−12."""
    total = np.zeros((rows.shape[1], rows.shape[1]))
    for steps in _steps(rows):
        total += steps.T @ steps
    return total * 4.0**-BITS


def products(rows: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Return Σ x⟨x, v_j⟩ as columns (d, k).

    The sum is exact in any order. The `directions` v_j (d, k) of norm at most 1 are rounded to multiples of 2^−30, and
    the ⟨x, v_j⟩ to multiples of 2^−12.
    """
    fine, total = np.rint(directions * 2.0**WEIGHT_BITS), np.zeros(directions.shape)
    for steps in _steps(rows):
        total += steps.T @ np.rint(steps @ fine * 2.0**-WEIGHT_BITS)
    return total * 4.0**-BITS


def squares(rows: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Return Σ ⟨x, v_j⟩² (k,) for orthonormal `directions` (d, k).

    It is exact in any order. One row adds at least 0 to each, and at most h² plus rounding of the directions in total.
    """
    fine, total = np.rint(directions * 2.0**WEIGHT_BITS), np.zeros(directions.shape[1])
    for steps in _steps(rows):
        total += np.trunc((steps @ fine * 2.0**-WEIGHT_BITS) ** 2).sum(axis=0)
    return total * 4.0**-BITS


def _steps(rows: np.ndarray) -> Iterator[np.ndarray]:
    """Yield blocks of rows as integer multiples of 2^−12."""
    return (np.rint(rows[part] * 2.0**BITS) for part in slices(rows, 2**20))


@dataclass(frozen=True, eq=False)
class Pairs:
    """Orthonormal `vectors` (k, d) in decreasing importance, with their eigenvalues.

    `values` (k,) estimate the eigenvalues of A = Σ xxᵀ; `held` (k,) estimate vᵀAv of these vectors, which is smaller.
    `total` estimates the trace of A if it is known, and is at least the sum of `values`.
    """

    vectors: np.ndarray
    values: np.ndarray
    held: np.ndarray
    total: float | None = None


def check_components(n_columns: int, n_components: int, name: str = "n_components") -> None:
    """Refuse a number of components, called `name`, that is not an integer from 1 to d."""
    whole(minimum=1, n_columns=n_columns, **{name: n_components})
    if n_components > n_columns:
        raise InvalidRequest(f"`{name}` is {n_components}, but X has {n_columns} columns.", "Choose a smaller number.")


@dataclass(frozen=True, eq=False)
class NoisyMoments:
    """Leading eigenvectors of Σ xxᵀ, from noisy second moments.

    Use it for principal components if you accept a small δ; it is the default method. Noise is added to the matrix Σ
    xxᵀ, summed over the rows x, only once. The eigenvectors are those of the noisy matrix.

    Notes
    -----
    Theorem (docs/theory/eigenvectors.md). Let all rows have a norm of at most 1. One row changes the matrix by at most
    √2 in the Frobenius norm if it is replaced and by 1 if it is added, plus rounding. Therefore the noisy matrix is
    μ-GDP, and so is everything computed from it. This is algorithm 1 of Dwork, Talwar, Thakurta and Zhang 2014 with
    noise from the Gaussian orthogonal ensemble, which has half the variance off the diagonal.

    Examples
    --------
    The first principal component of 1,000 rows with three columns:

    >>> import gaugedp as gd
    >>> import numpy as np
    >>> from gaugedp.entropy import system_rng
    >>> from gaugedp.optimization import NoisyMoments
    >>> X = np.random.default_rng(0).uniform(-0.5, 0.5, (1000, 3))
    >>> NoisyMoments.calibrate((3, 1), gd.GaussianDP(1.0)).solve(X, system_rng()).vectors.shape
    (1, 3)
    """

    n_components: int
    noise: Gaussian

    @classmethod
    def calibrate(cls, shape: tuple[int, int], guarantee: GaussianDP, neighbours: str = "replace") -> "NoisyMoments":
        """Return the mechanism for `shape` = (columns, components)."""
        check_components(*shape)
        size, moved = shape[0] * (shape[0] + 1) // 2, moved_frobenius(shape[0], neighbours)
        gaussian = of_kind(guarantee, GaussianDP, purpose="Noise on second moments")
        return cls(shape[1], Gaussian.calibrate(LpBall(size, 2, moved + TABLES * math.sqrt(size)), gaussian))

    exactness = "exact"

    @property
    def guarantee(self) -> GaussianDP:
        """The μ-GDP guarantee."""
        assert isinstance(self.noise.guarantee, GaussianDP)
        return self.noise.guarantee

    @property
    def std(self) -> float:
        """Standard deviation of the noise on the diagonal.

        Off the diagonal it is √2 times smaller, so that no basis is special.
        """
        return math.sqrt(float(self.noise.variances.max()))

    def describe(self) -> str:
        """Describe the noise."""
        return f"second moments with noise of deviation {self.std:.6g} on the diagonal"

    def solve(self, rows: np.ndarray, rng: Entropy) -> Pairs:
        """Return eigenpairs for rows (n, d). Charge the budget first."""
        values, vectors = np.linalg.eigh(released_square(second_moments(rows), self.noise, rng))
        components, k = vectors[:, ::-1].T[: self.n_components], self.n_components
        values, variance = values[::-1], self.std**2 / 2
        freed = without_noise(values, variance)[:k]
        total = max(float(values.sum()), float(freed.sum()))  # noise adds 0 to the trace on average
        return Pairs(components, freed, without_noise(values, variance, 2)[:k], total)


def without_noise(values: np.ndarray, variance: float, times: int = 1) -> np.ndarray:
    """Subtract the bias due to noise from eigenvalues (d,).

    The result is at least 0. The bias is the `repulsion` of noise of this `variance` off the diagonal, with small gaps
    regularised. Subtracted twice (`times` = 2), it leaves about vᵀAv for the noisy eigenvectors v (Bun, Allez, Bouchaud
    and Potters 2016, section III): the values with the least Frobenius error for these vectors. Post-processing.
    """
    return np.maximum(values - times * repulsion(values, variance, max(variance, 1e-300)), 0.0)
