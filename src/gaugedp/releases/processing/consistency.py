"""Consistency: the nearest answers that some table could have. Marginals are solved in closed form."""

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from gaugedp.domain.domain import Domain
from gaugedp.errors import InvalidRequest
from gaugedp.queries import Query, Workload
from gaugedp.queries.columns import WorkloadColumns
from gaugedp.queries.maps import Identity
from gaugedp.releases.processing.groups import groups

MOST_CELLS = 10**6  # of the joint table, for iterative least squares
_TOLERANCE = 1e-12  # relative residual
Names = tuple[str, ...]


def answerable(query: Query, undone: str) -> None:
    """Refuse a query of which nothing can be made consistent."""
    parts = list(groups(query))
    if not parts:
        raise InvalidRequest(
            '"consistent" applies to linear queries (counts, sums and means), but this query is not linear.',
            'Omit "consistent".',
            undone,
        )
    for part in parts:
        size = part.query.operator.n_generators
        is_closed = _marginals_only(part.query) or part.query.operator.nesting is not None
        if not is_closed and size > MOST_CELLS:
            raise InvalidRequest(
                f"The joint table of the query has {size:,} cells, but consistent answers are computed for at most "
                f"{MOST_CELLS:,}.",
                'Use attributes with fewer cells, or only marginals, or omit "consistent".',
                undone,
            )


def consistent(query: Workload, values: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    """Return the consistent answers nearest to `values`, shape (n_released,).

    They lie in the range of F, the linear map of the query, and minimise Σ ((values − F·x)/deviations)² over real
    tables x, one number for each joint cell (and choice of the bounded columns' ends). If the noise is independent with
    these deviations, no linear unbiased estimate of any answer has a smaller variance (Gauss and Markov). Answers about
    the same rows then agree up to rounding, because all come from one table.

    If there are only marginals, they are solved in closed form, for any number of attributes; the deviation of a
    marginal is then the root of its mean square. Otherwise LSQR iterates with F and its transpose, which are never
    written out.
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
    return _nearest(columns, query.steps.sizes, values, deviations)


def _nearest(columns: WorkloadColumns, steps: np.ndarray, values: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    from scipy.sparse.linalg import LinearOperator, lsqr

    scales = steps / deviations
    weighted = LinearOperator(
        (columns.ambient_dim, columns.n_generators),
        matvec=lambda x: scales * columns.apply(x.ravel()),
        rmatvec=lambda y: columns.adjoint(scales * y.ravel()),
        dtype=float,
    )
    # 5000: steps at most
    solution = lsqr(weighted, values / deviations, atol=_TOLERANCE, btol=_TOLERANCE, conlim=0, iter_lim=5000)
    answers = np.asarray(steps * columns.apply(solution[0]))
    whole = np.rint(answers)  # what the solver's tolerance leaves of integers
    return np.where(np.abs(answers - whole) <= 10 * _TOLERANCE * np.maximum(1, np.abs(answers)), whole, answers)


def above_zero(deviations: np.ndarray) -> np.ndarray:
    """Raise zero deviations to a small positive number. An answer without noise then gets a large but finite weight."""
    largest = float(deviations.max())
    return np.maximum(deviations, 1e-6 * largest) if largest > 0 else np.ones(len(deviations))


def _marginals_only(query: Workload) -> bool:
    return query.operator.attributes == query.attributes and all(
        isinstance(piece.cells, Identity) and piece.counts and piece.column is None for piece in query.pieces
    )


def _has_full_rank(columns: WorkloadColumns) -> bool:
    is_injective = columns.counting and all(piece.cells.injective for piece in columns.pieces)
    return is_injective and columns.rank == columns.ambient_dim


def combined(domain: Domain, marginals: Sequence[Names], values: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """Return the consistent marginals nearest to `values`, weighted by 1/variance.

    `values` are the flattened tables in a row; `variances` holds one number for each marginal. Theorem. A cosine
    transform of every marginal splits it into one block for each subset S of its attributes (the interactions of S).
    The block of S in the marginal over A ⊇ S, times √∏_{a ∈ A∖S} n_a, is the same number for all A; its noise has
    variance variance_A·∏_{a ∈ A∖S} n_a, and is uncorrelated with other blocks if the noise of a marginal is independent
    with one variance. The least squares therefore split into weighted means, one for each S.
    """
    blocks = [_transformed(table) for table in _tables(domain, marginals, values)]
    means = _means(domain, marginals, blocks, variances)
    for names, block in zip(marginals, blocks, strict=True):
        for some in _subsets(domain, names):
            block[_place(names, some)] = _restored(means[some] / _root(domain, names, some), names, some)
    return np.concatenate([_transformed(block, back=True).ravel() for block in blocks])


def _means(
    domain: Domain, marginals: Sequence[Names], blocks: list[np.ndarray], variances: np.ndarray
) -> dict[Names, np.ndarray]:
    sums: dict[Names, np.ndarray] = {}
    weights: dict[Names, float] = {}
    for names, block, variance in zip(marginals, blocks, variances, strict=True):
        for some in _subsets(domain, names):
            root = _root(domain, names, some)
            weight = 1 / (float(variance) * root**2)
            part = _ordered(block[_place(names, some)], names, some) * root
            sums[some] = sums.get(some, np.float64(0)) + weight * part
            weights[some] = weights.get(some, 0.0) + weight
    return {some: total / weights[some] for some, total in sums.items()}


def _transformed(table: np.ndarray, back: bool = False) -> np.ndarray:
    from scipy.fft import dctn, idctn

    if table.ndim == 0:  # the number of rows
        return table
    return np.asarray((idctn if back else dctn)(table, norm="ortho"))


def _tables(domain: Domain, marginals: Sequence[Names], values: np.ndarray) -> list[np.ndarray]:
    shapes = [domain.shape(names) for names in marginals]
    parts = np.split(values, np.cumsum([math.prod(shape) for shape in shapes])[:-1])
    return [part.astype(float).reshape(shape) for part, shape in zip(parts, shapes, strict=True)]


def _subsets(domain: Domain, names: Names) -> list[Names]:
    ordered = [name for name in domain.attributes if name in names]
    return [some for size in range(len(ordered) + 1) for some in combinations(ordered, size)]


def _root(domain: Domain, names: Names, some: Names) -> float:
    return math.sqrt(math.prod(domain.shape(tuple(name for name in names if name not in some))))


def _place(names: Names, some: Names) -> tuple[slice | int, ...]:
    return tuple(slice(1, None) if name in some else 0 for name in names)


def _ordered(block: np.ndarray, names: Names, some: Names) -> np.ndarray:
    shared = [name for name in names if name in some]
    return np.transpose(block, [shared.index(name) for name in some])


def _restored(block: np.ndarray, names: Names, some: Names) -> np.ndarray:
    return np.transpose(block, [some.index(name) for name in names if name in some])
