"""Private eigenvectors of Σ xxᵀ: exact sums over rows, how far one row moves them, and second moments with noise."""

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

_BLOCK = 2**20  # numbers
NEIGHBOURS = ("replace", "add_remove")


def longest(n_columns: int) -> float:
    """Return the most that a row of norm at most 1 can have after its coordinates are rounded to 2^−12."""
    return 1 + math.sqrt(n_columns) * 2.0 ** -(BITS + 1)


def moved_frobenius(n_columns: int, neighbours: str) -> float:
    """Return how far one row moves `second_moments` in the Frobenius norm: √2·h² where replaced, h² where added.

    h is `longest`; ‖xxᵀ − yyᵀ‖² = ‖x‖⁴ + ‖y‖⁴ − 2⟨x, y⟩² ≤ 2h⁴. docs/theory/eigenvectors.md
    """
    one_of(NEIGHBOURS, neighbours=neighbours)
    return (math.sqrt(2.0) if neighbours == "replace" else 1.0) * longest(n_columns) ** 2


def second_moments(rows: np.ndarray) -> np.ndarray:
    """Return Σ xxᵀ (d, d) over rows (n, d) of norm at most 1, rounded to whole multiples of 2^−12: exact."""
    total = np.zeros((rows.shape[1], rows.shape[1]))
    for steps in _steps(rows):
        total += steps.T @ steps
    return total * 4.0**-BITS


def products(rows: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Return Σ x⟨x, v_j⟩ as columns (d, k) for `directions` v_j (d, k) of norm at most 1: exact in any order.

    Directions are rounded to multiples of 2^−30 and the ⟨x, v_j⟩ to multiples of 2^−12.
    """
    fine, total = np.rint(directions * 2.0**WEIGHT_BITS), np.zeros(directions.shape)
    for steps in _steps(rows):
        total += steps.T @ np.rint(steps @ fine * 2.0**-WEIGHT_BITS)
    return total * 4.0**-BITS


def squares(rows: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Return Σ ⟨x, v_j⟩² (k,) for orthonormal `directions` (d, k): exact in any order.

    One row adds at least 0 to each, and to all together at most h² and what rounding of directions adds.
    """
    fine, total = np.rint(directions * 2.0**WEIGHT_BITS), np.zeros(directions.shape[1])
    for steps in _steps(rows):
        total += np.trunc((steps @ fine * 2.0**-WEIGHT_BITS) ** 2).sum(axis=0)
    return total * 4.0**-BITS


def _steps(rows: np.ndarray) -> Iterator[np.ndarray]:
    """Yield blocks of rows as whole multiples of 2^−12."""
    return (np.rint(rows[part] * 2.0**BITS) for part in slices(rows, _BLOCK))


@dataclass(frozen=True, eq=False)
class Pairs:
    """Orthonormal `vectors` (k, d), the first the most important.

    `values` (k,) estimate the eigenvalues of A = Σ xxᵀ, `held` (k,) what these vectors have of it, vᵀAv, which is less;
    `total` estimates the trace of A, at least the sum of `values`, where that is known.
    """

    vectors: np.ndarray
    values: np.ndarray
    held: np.ndarray
    total: float | None = None


def check_components(n_columns: int, n_components: int, name: str = "n_components") -> None:
    """Refuse numbers of components, called `name`, that are not whole, or outside 1 to d."""
    whole(minimum=1, n_columns=n_columns, **{name: n_components})
    if n_components > n_columns:
        raise InvalidRequest(f"{name} is {n_components} and there are {n_columns} columns.", "Give fewer.")


@dataclass(frozen=True, eq=False)
class NoisyMoments:
    """The leading eigenvectors of Σ xxᵀ + noise of the Gaussian orthogonal ensemble.

    Theorem. One row of norm at most 1 moves the matrix by at most √2 in the Frobenius norm where it is replaced, 1
    where it is added, and by what rounding adds: the noisy matrix is μ-GDP, and so is all that is read off it
    (docs/theory/eigenvectors.md). Algorithm 1 of Dwork, Talwar, Thakurta and Zhang 2014 with noise of another shape:
    half the variance off the diagonal.
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
        """μ-GDP."""
        assert isinstance(self.noise.guarantee, GaussianDP)
        return self.noise.guarantee

    @property
    def std(self) -> float:
        """The deviation of an entry of the diagonal; beside it, over √2, so that no basis is special."""
        return math.sqrt(float(self.noise.variances.max()))

    def describe(self) -> str:
        """Return the noise in words."""
        return f"second moments with noise of deviation {self.std:.6g} on the diagonal"

    def solve(self, rows: np.ndarray, rng: Entropy) -> Pairs:
        """Return the pairs for rows (n, d) of norm at most 1: pay first."""
        values, vectors = np.linalg.eigh(released_square(second_moments(rows), self.noise, rng))
        components, k = vectors[:, ::-1].T[: self.n_components], self.n_components
        values, variance = values[::-1], self.std**2 / 2
        freed = without_noise(values, variance)[:k]
        total = max(float(values.sum()), float(freed.sum()))  # noise adds 0 to the trace on average
        return Pairs(components, freed, without_noise(values, variance, 2)[:k], total)


def without_noise(values: np.ndarray, variance: float, times: int = 1) -> np.ndarray:
    """Return the eigenvalues (d,) less what noise off the diagonal of this `variance` adds to them, at least 0.

    That is their `repulsion`, gaps below the noise kept from 0. Taken off twice (`times` = 2) it is about vᵀAv for the
    noisy eigenvectors v (Bun, Allez, Bouchaud and Potters 2016, section III): the values with the least Frobenius error
    for these vectors. Post-processing.
    """
    return np.maximum(values - times * repulsion(values, variance, max(variance, 1e-300)), 0.0)
