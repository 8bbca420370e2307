"""Factorisation of running totals, for noise correlated over time."""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from gaugedp._internal.rounding import UNIT
from gaugedp._internal.validate import whole
from gaugedp.bodies.polytope import Polytope
from gaugedp.errors import InvalidRequest
from gaugedp.mechanisms.factorisation import factorise

MOST_PERIODS = 500  # half a minute of CPU time, once
_WEIGHTS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)  # weights of single periods relative to running totals


@dataclass(frozen=True, eq=False)
class TimeFactor:
    """Invertible lower triangular B (T, T), and its radius.

    Running totals get the noise B·z, with z independent over time. Theorem (docs/theory/streams.md, theorem 1). Let C =
    B⁻¹·P, with P the prefix sums, so that e_t moves the running totals by B·C·e_t. For sets S of at most
    `periods_per_person` periods and vectors with ‖u_jt‖₂ ≤ 1, Σ_j ‖Σ_{t ∈ S} C_jt·u_jt‖₂² ≤ radius². For one period
    that is the largest column norm of C, attained.
    """

    matrix: np.ndarray
    periods_per_person: int

    @property
    def rows(self) -> tuple[tuple[float, ...], ...]:
        """Rows of B up to the diagonal."""
        return tuple(tuple(row[: i + 1]) for i, row in enumerate(self.matrix.tolist()))

    @property
    def periods(self) -> int:
        """Number T of periods."""
        return len(self.matrix)

    @cached_property
    def radius(self) -> float:
        """Bound on the sensitivity of k = `periods_per_person` periods.

        It is the root of the sum of the k largest row sums, each over the k largest Y_st = Σ_j |C_js|·|C_jt| of the
        row: Σ_j ‖Σ_{t ∈ S} C_jt·u_jt‖² ≤ Σ_{s,t ∈ S} Y_st is at most that for every S of k periods.
        """
        k = self.periods_per_person
        rows = np.sort(_overlaps(self.matrix), axis=1)[:, -k:].sum(axis=1)
        # also covers different rounding on another machine
        return float(np.sqrt(np.sort(rows)[-k:].sum())) * (1 + 2.0**-20)

    @cached_property
    def differences(self) -> np.ndarray:
        """Rows for single periods: differences of the rows of B."""
        return np.diff(self.matrix, axis=0, prepend=0.0)

    @property
    def running_deviations(self) -> np.ndarray:
        """Deviations of running totals for unit sensitivity and rate, (T,)."""
        return self.radius * np.linalg.norm(self.matrix, axis=1)

    @property
    def period_deviations(self) -> np.ndarray:
        """Deviations of single periods for unit sensitivity and rate, (T,)."""
        return self.radius * np.linalg.norm(self.differences, axis=1)

    @property
    def cost(self) -> float:
        """Sum of the variances of all totals and periods."""
        return float((self.running_deviations**2).sum() + (self.period_deviations**2).sum())


def time_factor(periods: int, periods_per_person: int = 1) -> TimeFactor:
    """Return the factor of least `cost` for a horizon. A person is in at most `periods_per_person` of the periods."""
    whole(minimum=1, periods=periods, periods_per_person=periods_per_person)
    if periods > MOST_PERIODS:
        raise InvalidRequest(f"The stream has {periods:,} periods, which is too many.", f"Use at most {MOST_PERIODS}.")
    if periods_per_person > periods:
        raise InvalidRequest(
            f"`periods_per_person` is {periods_per_person}, but the stream has only {periods} periods.",
            f"Use at most {periods}.",
        )
    return _best(periods, periods_per_person)


@lru_cache(maxsize=8)
def _best(periods: int, periods_per_person: int) -> TimeFactor:
    weights = _WEIGHTS[:1] if periods_per_person == 1 else _WEIGHTS
    matrices = [_best_for_one(periods, weight) for weight in weights]
    if periods_per_person > 1:
        matrices.append(_prefix_sums(periods))
    return min((TimeFactor(matrix, periods_per_person) for matrix in matrices), key=lambda factor: factor.cost)


def _best_for_one(periods: int, weight: float) -> np.ndarray:
    """Return the optimal B for people in one period.

    It minimises Σ (variances of running totals) + weight²·Σ (variances of periods).
    """
    prefix = _prefix_sums(periods)
    root = np.linalg.cholesky(prefix.T @ prefix + weight**2 * np.eye(periods)).T
    coordinates = factorise(Polytope.symmetric_hull(root)).inverse @ root
    reversed_gram = (coordinates.T @ coordinates)[::-1, ::-1]
    lower = np.linalg.cholesky(reversed_gram).T[::-1, ::-1]  # CᵀC = X
    return np.tril(np.linalg.solve(lower.T, prefix.T).T)


def _prefix_sums(periods: int) -> np.ndarray:
    return np.tril(np.ones((periods, periods)))


def _overlaps(matrix: np.ndarray) -> np.ndarray:
    """Return upper bounds on Σ_j |C_js|·|C_jt| for C = B⁻¹·P. The error of each column is bounded as in `radius_of`."""
    prefix, n = _prefix_sums(len(matrix)), len(matrix)
    inverse = np.tril(np.linalg.inv(matrix))
    columns = inverse @ prefix
    sizes = np.abs(columns)
    missed = np.abs(prefix - matrix @ columns)
    missed += (2 * n + 2) * UNIT * (np.abs(matrix) @ sizes + prefix)
    lengths = np.linalg.norm(columns, axis=0)
    errors = 2 * np.linalg.norm(np.abs(inverse) @ missed, axis=0) + (n + 2) * UNIT * lengths
    if not errors.max() <= 1e-3 * lengths.max():
        raise InvalidRequest("The noise for this many periods cannot be computed precisely.", "Use fewer periods.")
    return sizes.T @ sizes + _products(lengths, errors)


def _products(lengths: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Bound the effect of column errors on their products. The rounding of the products is included."""
    cross = np.multiply.outer(lengths, errors)
    return cross + cross.T + np.multiply.outer(errors, errors)
