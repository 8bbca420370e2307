"""Second moments next to a query, for the sampling error of its weighted terms."""

from dataclasses import replace
from fractions import Fraction
from math import isfinite

from gaugedp._internal.names import written
from gaugedp._internal.validate import decimal
from gaugedp.domain.domain import Domain
from gaugedp.errors import InvalidRequest
from gaugedp.queries.base import Query
from gaugedp.queries.builders import count
from gaugedp.queries.linear import Term, Workload, as_workload, n_cells
from gaugedp.queries.maps import Identity
from gaugedp.queries.outline import COUNT, Outline
from gaugedp.queries.piece import Piece
from gaugedp.queries.stacked import shared
from gaugedp.queries.weights import moment_of, row_weight, times_weight
from gaugedp.statistics import ColumnMean, SecondMoments, Share, SquaredWeights, Sum

SHARE = 0.25  # of the guarantee for second moments: chosen on other made-up samples than those of the benchmark
_OF_COUNT = Fraction(1, 10)  # of that share, for a number of all rows by itself: only its relative error matters
COVERED = (Sum.kind, ColumnMean.kind, Share.kind)


def squared_weights(domain: Domain, column: str | None = None, by: tuple[str, ...] = ()) -> Workload:
    """Return sums of squared weights, by cell; with a `column`, its second moments too."""
    weight, said = row_weight(domain, 2), f" by {'*'.join(map(written, by))}" if by else ""
    if weight is None:
        raise InvalidRequest("The domain has no weights.", "Describe them under [weights].")
    cells = Identity(n_cells(domain, by))
    counts, n_answers = Piece(by, cells, column, weight=weight), cells.n_released
    if column is None:
        term = Term(f"squared weights{said}", (times_weight(domain, counts),), SquaredWeights(n_answers))
        return Workload(domain, (term,))
    facts = domain.column(column)
    pieces = tuple(times_weight(domain, moment_of(moment, counts, facts)) for moment in SecondMoments.moments)
    estimate = SecondMoments.of_column(n_answers, facts)
    return Workload(domain, (Term(f"squared weights({written(column)}){said}", pieces, estimate),))


def with_sampling_error(query: Query, share: float = SHARE) -> Query:
    """Return the query with what its sampling errors need.

    In a survey, an answer differs from the population for two reasons: the noise, and the sample. A release of the
    returned query has intervals for both. They cover weighted counts, sums, means and shares, and take the sample as
    drawn with replacement (docs/theory/survey_weights.md, theorem 4).

    Parameters
    ----------
    query : Query
        A query with weighted terms, in a domain with weights.
    share : float
        The part of the privacy guarantee to spend on sampling errors, between 0 and 1. Default 1/4.

    Returns
    -------
    Query
        The query, and next to it the sums of squared weights and values. `query` receives the rest of the guarantee.

    Raises
    ------
    InvalidRequest
        If no term has a sampling error that can be estimated, or if `share` is not between 0 and 1.

    Examples
    --------
    >>> import gaugedp as gd
    >>> domain = gd.Domain.of(sex=["1", "2"], pay=gd.bounded(0, 100)).with_weights("w", gd.bounded(1, 600))
    >>> gd.with_sampling_error(gd.query(domain, "mean(pay) by sex")).text
    'mean(pay) by sex; squared weights(pay) by sex'
    """
    if not isinstance(share, float | Fraction) or not isfinite(share) or not 0 < share < 1:
        raise InvalidRequest(f"share is {share!r}.", "Give a number between 0 and 1, such as 0.25.")
    part = decimal(share)
    return shared(*zip((query, 1 - part), *second_moments(query, part), strict=True))


def second_moments(query: Query, share: Fraction) -> list[tuple[Query, Fraction]]:
    """Return the second moments of the weighted terms of a query, and the number of all rows for totals, with shares.

    There is one query for each set of attributes whose rules leave rows out of a part: second moments are of its rows.
    """
    texts = [text for text, _ in query.labels.terms]
    works = [work for part in query.parts if (work := as_workload(part))]
    pairs = [(work, term) for work in works for term in work.terms if _is_covered(term)]
    groups: dict[frozenset[str], dict[str, Workload]] = {}
    for own in (_moments(*pair) for pair in pairs):
        if own.text not in texts:
            groups.setdefault(frozenset(own.left_out_by), {})[own.text] = own
    if not groups:
        _refuse(query, bool(pairs))
    if any(term.estimate.kind == Sum.kind for _, term in pairs) and not any(map(counts_all, query.outlines)):
        groups.setdefault(frozenset(), {})["count"] = _all_rows(query.domain, "count" in texts)
    parts = [_together(list(group.values())) for group in groups.values()]
    moments = [part for part in parts if part.terms[0].estimate.of_sampling]
    counts = [part for part in parts if part not in moments]
    of_count = share * _OF_COUNT * len(counts)
    left = (share - of_count) / len(moments)
    return [*((part, left) for part in moments), *((part, of_count) for part in counts)]


def _refuse(query: Query, has_moments: bool) -> None:
    if has_moments:
        raise InvalidRequest(f"{query.text!r} already has its second moments.", "Release it without intervals=.")
    raise InvalidRequest(
        f"No sampling error is estimated for {query.text!r}.",
        "Request weighted counts, sums, means or shares in a domain with weights, or intervals of the noise.",
    )


def counts_all(outline: Outline) -> bool:
    """Return True for the number of all rows of the table."""
    return (outline.measure, outline.axes, outline.left_out_by) == (COUNT, (), ())


def _is_covered(term: Term) -> bool:
    return term.pieces[0].weight is not None and term.estimate.kind in COVERED


def _moments(work: Workload, term: Term) -> Workload:
    piece = term.pieces[0]
    moments = squared_weights(work.domain, piece.column, piece.attributes)
    also = tuple(name for name in work.left_out_by if name not in moments.attributes)
    if not also:
        return moments
    said = f"{moments.text} of rows with {'*'.join(map(written, also))}"
    return replace(moments, terms=(replace(moments.terms[0], text=said),), also=also)


def _together(works: list[Workload]) -> Workload:
    also = dict.fromkeys(name for work in works for name in work.also)
    return Workload(works[0].domain, tuple(term for work in works for term in work.terms), also=tuple(also))


def _all_rows(domain: Domain, is_taken: bool) -> Workload:
    (term,) = count(domain).terms
    return Workload(domain, (replace(term, text="count of all rows") if is_taken else term,))
