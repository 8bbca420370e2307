"""Released values that are processed as counts: numbers of rows, and sums of weights."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gaugedp.queries.base import Query
from gaugedp.queries.linear import Term, Workload, are_counts, as_workload
from gaugedp.queries.maps import Identity


def processed_as_counts(query: Query) -> np.ndarray:
    """Return which released values can be raised and rounded.

    The result has shape (len(query.steps),), bool: True for values that can be raised to 0 and rounded.
    """
    parts = [(part, as_workload(part)) for part in query.parts]
    flags = [np.zeros(len(part.steps), bool) if linear is None else _weights(linear) for part, linear in parts]
    return np.asarray(are_counts(query) | np.concatenate(flags))


def counts_of_cells(query: Workload) -> Iterator[tuple[Workload | None, np.ndarray]]:
    """Yield the terms that count rows, and those that add up weights, as counts of cells, with their places.

    There is no query, but None, if some of them are no counts of cells.
    """
    weighted = [term for term in query.terms if _adds_weights(term)]
    unweighted = [
        replace(term, pieces=tuple(replace(piece, weight=None) for piece in term.pieces)) for term in weighted
    ]
    rows = [
        term for term in query.terms if term.estimate.has_counts and not (_adds_weights(term) or _adds_values(term))
    ]
    for terms, places in ((rows, query.are_counts), (unweighted, _weights(query))):
        if places.any():
            yield (Workload(query.domain, tuple(terms)) if all(map(_counts_cells, terms)) else None), places


def _weights(query: Workload) -> np.ndarray:
    """Return which released values are sums of weights."""
    return np.concatenate([np.full(term.estimate.n_released, _adds_weights(term)) for term in query.terms])


def _adds_weights(term: Term) -> bool:
    return term.estimate.has_counts and all(
        piece.weight is not None and piece.weight.power == 1 and not piece.sums and isinstance(piece.cells, Identity)
        for piece in term.pieces
    )


def _adds_values(term: Term) -> bool:
    return any(piece.sums for piece in term.pieces)


def _counts_cells(term: Term) -> bool:
    return all(isinstance(piece.cells, Identity) and piece.counts and piece.column is None for piece in term.pieces)
