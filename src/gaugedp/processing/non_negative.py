"""The nearest answers that a table without negative cells has: they add up, and no count is below 0."""

import numpy as np

from gaugedp.queries.base import Query
from gaugedp.queries.columns import WorkloadColumns
from gaugedp.queries.linear import Workload
from gaugedp.queries.maps import Identity

MOST_CELLS = 10**5  # of the joint table: some tens of seconds
_FLOORS = (0.1, 0.001)  # of deviations, relative to the largest: answers with little noise are pulled in at last
_MOST_STEPS = 3000
_TOLERANCE = 1e-10  # of the sum of squares in one step, relative to itself


def solvable(query: Query | None) -> bool:
    """Return whether `nearest` is for this question: tables of counts, sums and means, their joint table not too large.

    Prefixes, ranges and matrices are left out: descent takes too many steps there.
    """
    if not isinstance(query, Workload) or not all(isinstance(piece.cells, Identity) for piece in query.pieces):
        return False
    return query.operator.n_generators <= MOST_CELLS


def nearest(query: Workload, values: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    """Return the point of {F·x : x ≥ 0} nearest to `values`, F the linear map of the question; shape (n_rows,).

    Minimised is Σ ((values − F·x)/deviations)² over tables x without negative cells, one number for each joint cell
    (and choice of the bounded columns' ends). The problem is convex; L-BFGS-B solves it. Wherever that stops, the
    answers come from one such table: they add up to rounding, counts are at least 0, and a mean lies within the bounds
    of its column. An answer with less than a thousandth of the largest deviation is weighed as one with that.
    """
    from scipy.optimize import minimize

    operator, steps = query.operator, np.array([float(step) for step in query.steps])
    relative = deviations / (steps * query.reach)
    table = np.zeros(operator.n_generators)
    for floor in _FLOORS:
        weights = 1 / (query.reach * np.maximum(relative, floor * relative.max() or 1.0))
        table = minimize(
            _half_squares,
            table,
            (operator, weights, values / steps),
            method="L-BFGS-B",
            jac=True,
            bounds=[(0, None)] * len(table),
            options={"maxiter": _MOST_STEPS, "maxfun": 2 * _MOST_STEPS, "ftol": _TOLERANCE, "gtol": 0},
        ).x
    return np.asarray(steps * operator.apply(table))


def _half_squares(
    table: np.ndarray, operator: WorkloadColumns, weights: np.ndarray, wanted: np.ndarray
) -> tuple[float, np.ndarray]:
    """Return half the weighted squares of what is left of the wanted answers, and their gradient."""
    left = weights * (operator.apply(table) - wanted)
    return 0.5 * float(left @ left), operator.adjoint(weights * left)
