"""Second moments next to a query, for the sampling error of its weighted terms."""

from fractions import Fraction
from math import isfinite

from gaugedp._internal.names import written
from gaugedp._internal.validate import decimal
from gaugedp.domain.domain import Domain
from gaugedp.errors import InvalidRequest
from gaugedp.queries.base import Query
from gaugedp.queries.builders import count, stack
from gaugedp.queries.linear import Term, Workload, as_workload, n_cells
from gaugedp.queries.maps import Identity
from gaugedp.queries.piece import Piece
from gaugedp.queries.stacked import shared
from gaugedp.queries.weights import moment_of, row_weight, times_weight
from gaugedp.statistics import ColumnMean, SecondMoments, Share, SquaredWeights, Sum

SHARE = 0.25  # of the guarantee for second moments: chosen on other made-up samples than those of the benchmark
_COVERED = (Sum.kind, ColumnMean.kind, Share.kind)


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
    """Return the query with the second moments of its weighted terms.

    A release of it has total intervals: they combine the noise with the sampling error of weighted counts, sums, means
    and shares, estimated as for sampling with replacement (docs/theory/survey_weights.md, theorem 4).

    Parameters
    ----------
    query : Query
        In a domain with weights.
    share : float
        The part of the guarantee that the second moments spend, between 0 and 1.

    Returns
    -------
    Query
        A stack of the query, with the rest of the guarantee, and of the second moments.

    Raises
    ------
    InvalidRequest
        No term has a sampling error that is estimated, or `share` is not between 0 and 1.

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
    return shared([query, second_moments(query)], [1 - part, part])


def second_moments(query: Query) -> Query:
    """Return the query of second moments of the weighted terms of another."""
    terms = [term for part in query.parts if (work := as_workload(part)) for term in work.terms if _is_covered(term)]
    if not terms:
        raise InvalidRequest(
            f"No sampling error is estimated for {query.text!r}.",
            "Request weighted counts, sums, means or shares in a domain with weights, or intervals of the noise.",
        )
    moments = {(each := _moments(query, term)).text: each for term in terms}
    texts = [text for text, _ in query.labels.terms]
    if any(term.estimate.kind == Sum.kind for term in terms) and "count" not in texts:
        moments["count"] = count(query.domain)
    return stack(*(moments[text] for text in moments if text not in texts))


def _is_covered(term: Term) -> bool:
    return term.pieces[0].weight is not None and term.estimate.kind in _COVERED


def _moments(query: Query, term: Term) -> Workload:
    piece = term.pieces[0]
    return squared_weights(query.domain, piece.column, piece.attributes)
