"""Consistency: the nearest answers that some table could have."""

import numpy as np

from gaugedp.errors import InvalidRequest
from gaugedp.processing.marginals import combined
from gaugedp.queries.base import Query
from gaugedp.queries.columns import WorkloadColumns
from gaugedp.queries.linear import Workload
from gaugedp.queries.maps import Identity

MOST_CELLS = 10**6  # of the joint table, where the least squares are solved by iteration
_MOST_STEPS = 5000
_TOLERANCE = 1e-12  # of the residual, relative to the operator and the answers


def answerable(query: Query, undone: str) -> None:
    """Refuse a question that cannot be made consistent, before anything is spent."""
    workload = query.linear
    if workload is None:
        raise InvalidRequest(
            "Only linear questions (counts, sums and means) can be consistent.", 'Leave out "consistent".', undone
        )
    size = workload.operator.n_generators
    is_closed = _marginals_only(workload) or workload.operator.nesting is not None
    if not is_closed and size > MOST_CELLS:
        raise InvalidRequest(
            f"Consistency over a joint table of {size:,} cells is not computed.",
            f'Ask for at most {MOST_CELLS:,}, or for marginals alone, or leave out "consistent".',
            undone,
        )


def consistent(query: Workload, values: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    """Return the point of the range of F nearest to `values`, F the linear map of the question; shape (n_released,).

    Minimised is Σ ((values − F·x)/deviations)² over real tables x, one number for each joint cell (and choice of the
    bounded columns' ends). Where the noise is independent with these deviations, no linear unbiased estimate of any
    answer has less variance (Gauss and Markov). Answers about the same rows then agree up to rounding, because all
    come from one table.

    Marginals alone are solved in closed form, of any number of attributes; there the deviation of a marginal is the
    root of its mean square. Else LSQR iterates with F and its transpose, which are never written out.
    """
    deviations = above_zero(deviations)
    if _marginals_only(query):
        sizes = [piece.cells.n_released for piece in query.pieces]
        squares = np.split(deviations**2, np.cumsum(sizes)[:-1])
        tables = [piece.attributes for piece in query.pieces]
        return combined(query.domain, tables, values, np.array([part.mean() for part in squares]))
    columns = query.operator
    if _has_full_rank(columns):
        return values
    return _nearest(columns, query.step_sizes, values, deviations)


def _nearest(columns: WorkloadColumns, steps: np.ndarray, values: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    from scipy.sparse.linalg import LinearOperator, lsqr

    scales = steps / deviations
    weighted = LinearOperator(
        (columns.ambient_dim, columns.n_generators),
        matvec=lambda x: scales * columns.apply(x.ravel()),
        rmatvec=lambda y: columns.adjoint(scales * y.ravel()),
        dtype=float,
    )
    solution = lsqr(weighted, values / deviations, atol=_TOLERANCE, btol=_TOLERANCE, conlim=0, iter_lim=_MOST_STEPS)
    return np.asarray(steps * columns.apply(solution[0]))


def above_zero(deviations: np.ndarray) -> np.ndarray:
    """Return deviations to divide by: an answer without noise weighs much, not infinitely."""
    largest = float(deviations.max())
    return np.maximum(deviations, 1e-6 * largest) if largest > 0 else np.ones(len(deviations))


def _marginals_only(query: Workload) -> bool:
    """Whether there are marginals alone, and no attribute tells another."""
    return query.operator.attributes == query.attributes and all(
        isinstance(piece.cells, Identity) and piece.counts and piece.column is None for piece in query.pieces
    )


def _has_full_rank(columns: WorkloadColumns) -> bool:
    """Whether every vector of answers is consistent, such as those of prefix sums alone; told without arithmetic."""
    is_injective = columns.counting and all(piece.cells.injective for piece in columns.pieces)
    return is_injective and columns.rank == columns.ambient_dim
