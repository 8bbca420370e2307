"""Remarks on a release: free post-processing of public numbers."""

from collections.abc import Iterator, Sequence

import numpy as np

from gaugedp.domain.attributes import OTHER, Attribute, BoundedColumn, Categories
from gaugedp.queries import Query, Workload
from gaugedp.queries.linear import Term, as_workload
from gaugedp.queries.maps import Identity, MatrixMap
from gaugedp.queries.outline import SHARES, Outline

_COMPARE = "Categories must match the data exactly (case and spaces): check them against the codebook."
_FEW = "Too few rows for this epsilon, or values that are not numbers with a decimal point."
_MEDIAN = "0.5"  # among shares of rows


def remarks(question: Query, shown: np.ndarray, at_once: np.ndarray) -> Iterator[str]:
    """Yield remarks on uninformative answers and possibly empty categories."""
    ends = np.cumsum([estimate.n_answers for estimate in question.estimates])[:-1]
    terms = list(zip(question.outlines, question.estimates, np.split(shown, ends, axis=1), strict=True))
    for outline, _, numbers in (term for term in terms if term[1].is_between_bounds):
        yield from _about_bounded(outline, question.domain.column(str(outline.column)), numbers)
    for outline, estimate, numbers in terms:
        yield from _about_ends(outline.text, numbers[2])
        if np.isfinite(estimate.span):
            yield from _about_range(outline.text, estimate.span, numbers, "Too few rows for this epsilon.")
    sides = iter(np.split(at_once, ends, axis=1))
    for each in question.parts:
        of_terms = [next(sides) for _ in each.estimates]
        workload = as_workload(each)
        if workload is not None:
            yield from _about_counts(workload, of_terms)


def _about_bounded(outline: Outline, facts: BoundedColumn, numbers: np.ndarray) -> Iterator[str]:
    yield from _about_range(outline.text, float(facts.high - facts.low), numbers, _FEW)
    shares = next((list(axis.texts) for axis in outline.axes if axis.form == SHARES), [])
    if not shares:
        yield from _about_bounds(outline.text, str(outline.column), facts, numbers)
    elif _MEDIAN in shares:
        medians = numbers[:, shares.index(_MEDIAN) :: len(shares)]
        yield from _about_bounds(f"The median in {outline.text}", str(outline.column), facts, medians)


def _about_range(name: str, length: float, numbers: np.ndarray, why: str) -> Iterator[str]:
    """Remark on intervals that cover the whole range. `numbers` (3, n) are answers, lower and upper ends."""
    lengths = numbers[2] - numbers[1]
    whole = int(np.sum(lengths >= length * (1 - 1e-9)))  # up to rounding
    if whole == len(lengths):
        yield f"The interval of {name} is the whole range: this answer carries no information. {why}"
    elif whole:
        yield f"The interval of {name} is the whole range in {whole} of {len(lengths)} cells: no information there."


def _about_ends(name: str, high: np.ndarray) -> Iterator[str]:
    if n_open := int(np.isinf(high).sum()):
        yield f"The interval of {name} has no upper end in {n_open} of {len(high)} cells: its count may be 0."


def _about_bounds(name: str, column: str, facts: BoundedColumn, numbers: np.ndarray) -> Iterator[str]:
    values, low, high = numbers
    length = float(facts.high - facts.low)
    for side, bound in (("lower", float(facts.low)), ("upper", float(facts.high))):
        # within a hundredth of the range of a bound, and shorter than a tenth
        at = int(np.sum((np.abs(values - bound) <= 0.01 * length) & (high - low < 0.1 * length)))
        where = "" if at == len(values) else f" in {at} of {len(values)} cells"
        if at:
            yield (
                f"{name} lies at the {side} bound of {column!r}{where}: most values may be clipped to it. "
                "Check the units of the bounds."
            )


def _about_counts(question: Workload, sides: Sequence[np.ndarray]) -> Iterator[str]:
    """Name counts that may all be 0; `sides` (2, n)."""
    pairs = [(term, ends) for term, ends in zip(question.terms, sides, strict=True) if _counts_rows(term)]
    for term, (low, high) in pairs:
        if ((low <= 0) & (high >= 0)).all() and term.pieces[0].attributes:
            yield f"All counts of {term.text} may be 0, by simultaneous intervals. {_COMPARE}"
    above = {name: _above(question, pairs, name) for name in question.attributes}
    for name, sure in above.items():
        attribute = question.domain.attribute(name)
        yield from _about_other(name, attribute, sure)
        if isinstance(attribute, Categories):
            yield from _about_categories(name, attribute, sure[: attribute.n_inside])


def _counts_rows(term: Term) -> bool:
    piece = term.pieces[0]
    return term.estimate.is_plain and piece.counts and not isinstance(piece.cells, MatrixMap)


def _above(question: Workload, pairs: Sequence[tuple[Term, np.ndarray]], name: str) -> np.ndarray:
    sure = np.zeros(question.domain.attribute(name).n_cells, dtype=bool)
    for term, (low, _) in pairs:
        names = term.pieces[0].attributes
        if name in names and isinstance(term.pieces[0].cells, Identity):
            cells = np.moveaxis((low > 0).reshape(question.domain.shape(names)), names.index(name), 0)
            sure |= cells.reshape(len(sure), -1).any(axis=1)
    return sure


def _about_other(name: str, attribute: Attribute, sure: np.ndarray) -> Iterator[str]:
    """Remark if only out-of-domain values have a positive count."""
    if attribute.outside == OTHER and sure[-1] and not sure[:-1].any():
        units = f"Check their units, and that all are {attribute.values_are}."
        why = _COMPARE if isinstance(attribute, Categories) else units
        yield f"All counts of {name} except other may be 0, by simultaneous intervals. {why}"


def _about_categories(name: str, attribute: Categories, sure: np.ndarray) -> Iterator[str]:
    doubtful = np.flatnonzero(~sure)
    if 0 < len(doubtful) <= min(3, int(sure.sum())):  # categories in a sentence
        listed = ", ".join(attribute.values[place] for place in doubtful)
        yield f"All counts of {name} = {listed} may be 0, by simultaneous intervals. {_COMPARE}"
