"""Optimal Gaussian noise for a polytope, with a certificate."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gaugedp._internal.rounding import UNIT
from gaugedp.bodies import Polytope, PreparedGenerators, prepared
from gaugedp.errors import InvalidRequest

GAP = 1e-6
_MOST_WORK = 10**9  # rank² times the number of distinct generators: half a second a round


@dataclass(frozen=True, eq=False)
class Factorisation:
    """A factorisation v_j = L·u_j of all generators, ‖u_j‖₂ ≤ radius.

    `upper` = radius·‖W⁻¹L‖_F, and no pair (L′, radius′) has a product below `lower` (docs/theory/matrix.md, theorem 2);
    W are the weights the errors are divided by. `left` is L (d, r), `inverse` (r, d) maps a point of the span to its u.
    """

    left: np.ndarray
    inverse: np.ndarray
    radius: float
    upper: float
    lower: float

    @property
    def gap(self) -> float:
        """The relative excess upper/lower − 1 in root mean square."""
        return self.upper / self.lower - 1

    @cached_property
    def covariance(self) -> np.ndarray:
        """LLᵀ, the covariance per unit of noise, shape (d, d)."""
        return self.left @ self.left.T


def factorise(body: Polytope, weights: np.ndarray | None = None) -> Factorisation:
    """Minimise ‖W⁻¹L‖_F·max_j ‖u_j‖₂ to a relative gap of 1e−6.

    Over L and u with v_j = L·u_j, the v_j generating `body`.

    Theorem (docs/theory/matrix.md, theorem 2). The minimum is max_p tr M(p), p over the probability vectors on the
    generators, M(p) = (Σ_j p_j w_j w_jᵀ)^½ with w_j = W⁻¹v_j, and L = W·M^½ attains it at the best p. `radius` is
    computed from the returned L, over all generators, with its rounding added.
    """
    scales = np.ones(body.ambient_dim) if weights is None else np.asarray(weights, dtype=float)
    _check_work(body)
    columns = body.symmetric_columns() * body.factor / scales[:, None]
    distinct = prepared(columns)
    basis = distinct.frame.span
    probability, lower = _best_probability(basis.T @ distinct.columns)
    return _factorised(distinct, basis, probability, lower, scales)


def _check_work(body: Polytope) -> None:
    n = body.generators.n_generators
    count = n * (n - 1) // 2 + (n if body.with_zero else 0) if body.differences else n
    dim = min(body.ambient_dim, count)
    if dim**2 * count > _MOST_WORK:
        raise InvalidRequest(
            f"The body has {count:,} generators in {dim:,} dimensions, which are too many to optimise Gaussian noise.",
            f"Reduce dimensions² x generators to at most {_MOST_WORK:,}, or let gd.plan compare other mechanisms.",
        )


def _factorised(
    distinct: PreparedGenerators, basis: np.ndarray, probability: np.ndarray, lower: float, scales: np.ndarray
) -> Factorisation:
    axes, lengths = _roots(basis.T @ distinct.columns, probability)
    left = basis @ (axes * np.sqrt(lengths))
    inverse = (axes / np.sqrt(lengths)).T @ basis.T
    radius = radius_of(left, inverse, distinct.columns)
    upper = radius * float(np.sqrt(lengths.sum())) * (1 + 2.0**-40)
    return Factorisation(left * scales[:, None], inverse / scales, radius, upper, lower * (1 - 2.0**-30))


def radius_of(left: np.ndarray, inverse: np.ndarray, columns: np.ndarray) -> float:
    """Return max_j ‖u_j‖₂ over v_j = L·u_j, plus twice its first-order error."""
    coordinates = inverse @ columns
    missed = np.abs(columns - left @ coordinates)
    missed += (sum(left.shape) + 2) * UNIT * (np.abs(left) @ np.abs(coordinates) + np.abs(columns))
    lengths = np.linalg.norm(coordinates, axis=0)
    slack = np.linalg.norm(np.abs(inverse) @ missed, axis=0)
    if not slack.max() <= 1e-3 * lengths.max():
        raise InvalidRequest(
            "Some generators of the body are nearly parallel, so the noise cannot be optimised precisely.",
            "Remove generators that differ from others only by rounding.",
        )
    return float((lengths + 2 * slack).max()) * (1 + 2.0**-40)


def _roots(columns: np.ndarray, probability: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigensystem of M(p) by singular values, without squaring."""
    axes, lengths, _ = np.linalg.svd(columns * np.sqrt(probability), full_matrices=False)
    return axes, np.maximum(lengths, lengths[0] * 2.0**-50)


def _fast_roots(columns: np.ndarray, probability: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    squares, axes = np.linalg.eigh((columns * probability) @ columns.T)
    return (axes, np.sqrt(squares)) if squares[0] > 1e-8 * squares[-1] else _roots(columns, probability)


def _best_probability(columns: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the p of least certified gap, and the dual."""
    import scipy.optimize

    search = _Search(columns)
    start = np.full(columns.shape[1], columns.shape[1] ** -0.5)
    options = {"maxiter": 1000, "ftol": 0, "gtol": 0, "maxcor": 30}
    for _ in range(5):  # a line search may end early where rounding hides the slope; then restart from there
        try:
            minimum = scipy.optimize.minimize(search, start, jac=True, method="L-BFGS-B", options=options)
        except StopIteration:
            break
        start = np.sqrt(_step(columns, minimum.x**2 / (minimum.x @ minimum.x)))
    return search.probability, search.lower


def _step(columns: np.ndarray, probability: np.ndarray) -> np.ndarray:
    """Return p_j·(v_jᵀM⁻¹v_j)/tr M, with fixed points at the optimum."""
    slopes, trace = _slopes(columns, probability)
    stepped = probability * slopes / trace
    return stepped / stepped.sum()


def _slopes(columns: np.ndarray, probability: np.ndarray) -> tuple[np.ndarray, float]:
    """Return v_jᵀM⁻¹v_j, twice the slope of tr M, and tr M."""
    axes, lengths = _fast_roots(columns, probability)
    return (((axes / np.sqrt(lengths)).T @ columns) ** 2).sum(axis=0), float(lengths.sum())


class _Search:
    """−log tr M(x²/‖x‖²); it raises StopIteration when the gap is closed."""

    def __init__(self, columns: np.ndarray) -> None:
        self.columns = columns
        self.probability = np.full(columns.shape[1], 1 / columns.shape[1])
        self.lower, self.upper = 0.0, np.inf
        self.count = 0
        work = len(columns) ** 2 * columns.shape[1]
        self.most = min(4000, max(12, int(1.2e10 / work)))

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        square = float(x @ x)
        probability = x**2 / square
        slopes, trace = _slopes(self.columns, probability)
        self._note(probability, trace, float(np.sqrt(trace * slopes.max())))
        return -float(np.log(trace)), x / square * (1 - slopes / trace)

    def _note(self, probability: np.ndarray, lower: float, upper: float) -> None:
        self.count += 1
        self.lower = max(self.lower, lower)
        if upper < self.upper:
            self.upper, self.probability = upper, probability
        if self.upper <= self.lower * (1 + GAP / 2) or self.count >= self.most:
            raise StopIteration
