"""Hints about counts that may all be 0: of a whole term, or of single categories."""

from collections.abc import Iterator, Sequence

import numpy as np

from gaugedp.attributes import Categories
from gaugedp.queries import Workload
from gaugedp.queries.linear import Term
from gaugedp.queries.maps import Identity, MatrixMap

_COMPARE = "Categories must match the data exactly (case and spaces): compare them with the codebook."
_NAMED = 3  # categories in a sentence


def about_counts(question: Workload, sides: Sequence[np.ndarray]) -> Iterator[str]:
    """Yield the sentences; `sides` are for each term the ends (2, n) of intervals that hold all at once."""
    pairs = [(term, ends) for term, ends in zip(question.terms, sides, strict=True) if _counts_rows(term)]
    for term, (low, high) in pairs:
        if ((low <= 0) & (high >= 0)).all() and term.pieces[0].attributes:
            yield f"All counts of {term.text} may be 0, by simultaneous intervals. {_COMPARE}"
    above = {name: _above(question, pairs, name) for name in question.attributes}
    for name, sure in above.items():
        if isinstance(attribute := question.domain.attribute(name), Categories):
            yield from _about_categories(name, attribute, sure[: attribute.n_inside])


def _counts_rows(term: Term) -> bool:
    piece = term.pieces[0]
    return term.estimate.ratio is None and piece.counts and not isinstance(piece.cells, MatrixMap)


def _above(question: Workload, pairs: Sequence[tuple[Term, np.ndarray]], name: str) -> np.ndarray:
    """Return for each cell of an attribute whether some count of it is surely above 0."""
    sure = np.zeros(question.domain.attribute(name).n_cells, dtype=bool)
    for term, (low, _) in pairs:
        names = term.pieces[0].attributes
        if name in names and isinstance(term.pieces[0].cells, Identity):
            cells = np.moveaxis((low > 0).reshape(question.domain.shape(names)), names.index(name), 0)
            sure |= cells.reshape(len(sure), -1).any(axis=1)
    return sure


def _about_categories(name: str, attribute: Categories, sure: np.ndarray) -> Iterator[str]:
    """Name categories without a count above 0, where there are few and noise is small beside the others."""
    doubtful = np.flatnonzero(~sure)
    if 0 < len(doubtful) <= min(_NAMED, int(sure.sum())):
        listed = ", ".join(attribute.values[place] for place in doubtful)
        yield f"All counts of {name} = {listed} may be 0, by simultaneous intervals. {_COMPARE}"
