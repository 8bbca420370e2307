"""Second moments next to a query, for the sampling error of its weighted terms."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from math import isfinite
from typing import NamedTuple

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
from gaugedp.queries.tuning import TUNED
from gaugedp.queries.weights import of_moments, row_weight, times_weight
from gaugedp.statistics import (
    ColumnMean,
    ColumnSquares,
    ColumnTotals,
    SecondMoments,
    Share,
    SquaredWeights,
    Statistic,
    Sum,
    WeightedSquares,
    WeightedTotals,
)
from gaugedp.statistics.comparison import COMPARISONS, Difference

COVERED = (Sum.kind, ColumnMean.kind, Share.kind, *COMPARISONS)
_Table = tuple[str | None, tuple[str, ...]]  # a column, and the attributes
_Kinds = tuple[str, type[Statistic], type[Statistic]]
_OF_ALL_ROWS = (Sum.kind, Difference.kind)  # totals, which need the number of all rows
_SQUARES = ("squared weights", SquaredWeights, SecondMoments)  # the text of a term, and its statistics
_OF_DESIGN: dict[int, _Kinds] = {
    1: ("weighted totals", WeightedTotals, ColumnTotals),
    2: ("weighted squares", WeightedSquares, ColumnSquares),
}


def squared_weights(domain: Domain, column: str | None = None, by: tuple[str, ...] = ()) -> Workload:
    """Return sums of squared weights, by cell; with a `column`, its second moments too."""
    return Workload(domain, (_sums(domain, (column, by), 2, _SQUARES),))


def _sums(domain: Domain, table: _Table, power: int, kinds: _Kinds) -> Term:
    """Return the term of sums of a power of the weights, by cell."""
    column, by = table
    word, of_cells, of_column = kinds
    weight, said = row_weight(domain, power), f" by {'*'.join(map(written, by))}" if by else ""
    if weight is None:
        raise InvalidRequest(
            "Sampling errors need weights, but the domain has none.",
            "Describe them under [weights] in the domain file.",
        )
    cells = Identity(n_cells(domain, by))
    counts, n_answers = Piece(by, cells, column, weight=weight), cells.n_released
    if column is None:
        return Term(f"{word}{said}", (times_weight(domain, counts),), of_cells(n_answers))
    return Term(f"{word}({written(column)}){said}", *of_moments(domain, of_column, counts, domain.column(column)))


def sampling_share(domain: Domain) -> float:
    """Return the share of the guarantee that sampling errors take by default, for the design of the sample."""
    if domain.design.clusters:
        return TUNED.sampling_in_clusters
    return TUNED.sampling_in_strata if domain.design.strata else TUNED.sampling


def with_sampling_error(query: Query, share: float | None = None) -> Query:
    """Return a survey query whose intervals include the sampling error.

    Use it for a sample survey, where an answer differs from that of the population for two reasons: noise was added,
    and only a sample was asked. Confidence intervals of the returned query allow for both. The function supports
    weighted counts, sums, means, shares and comparisons.

    Parameters
    ----------
    query : Query
        A query with weighted terms, in a domain with weights.
    share : float, optional
        The part of the privacy budget, between 0 and 1, that is spent on estimates of the sampling errors. The default
        is 0.25 for a simple sample, 0.35 if the domain names strata, and 0.5 if it names clusters.

    Returns
    -------
    Query
        The query, which gets the rest of the budget, followed by terms for sums of squared weights and values.

    Raises
    ------
    InvalidRequest
        If no term has a sampling error that can be estimated, or if `share` is not between 0 and 1.

    Notes
    -----
    The sample is treated as drawn with replacement. If the domain names strata or clusters, it is treated as drawn
    separately in each stratum, or as a sample of clusters (docs/theory/survey_weights.md, theorems 4 to 6).

    Examples
    --------
    The returned query has an additional term, as its text shows:

    >>> import gaugedp as gd
    >>> domain = gd.Domain.of(sex=["1", "2"], pay=gd.bounded(0, 100)).with_weights("w", gd.bounded(1, 600))
    >>> gd.with_sampling_error(gd.query(domain, "mean(pay) by sex")).text
    'mean(pay) by sex; squared weights(pay) by sex'
    """
    share = sampling_share(query.domain) if share is None else share
    if not isinstance(share, float | Fraction) or not isfinite(share) or not 0 < share < 1:
        raise InvalidRequest(f"`share` is {share!r}, but must lie between 0 and 1.", "Pass a number such as 0.25.")
    part = decimal(share)
    return shared(*zip((query, 1 - part), *second_moments(query, part), strict=True))


def second_moments(query: Query, share: Fraction) -> list[tuple[Query, Fraction]]:
    """Return the second moments of the weighted terms of a query, and the number of all rows for totals, with shares.

    There is one query for each set of attributes whose rules leave rows out of a part: second moments are of its rows.
    """
    works = [work for part in query.parts if (work := as_workload(part))]
    pairs = [(work, term) for work in works for term in work.terms if _is_covered(term)]
    if query.domain.design:
        return _of_design(query, pairs, share)
    texts = [text for text, _ in query.labels.terms]
    groups: dict[frozenset[str], dict[str, Workload]] = {}
    for own in (_moments(*pair) for pair in pairs):
        if own.text not in texts:
            groups.setdefault(frozenset(own.left_out_by), {})[own.text] = own
    if not groups:
        _refuse(query, bool(pairs))
    if any(term.estimate.kind in _OF_ALL_ROWS for _, term in pairs) and not any(map(counts_all, query.outlines)):
        groups.setdefault(frozenset(), {})["count"] = _all_rows(query.domain, "count" in texts)
    parts = [_together(list(group.values())) for group in groups.values()]
    moments = [part for part in parts if part.terms[0].estimate.of_sampling]
    counts = [part for part in parts if part not in moments]
    of_count = share * TUNED.row_counts * len(counts)
    left = (share - of_count) / len(moments)
    return [*((part, left) for part in moments), *((part, of_count) for part in counts)]


def _of_design(query: Query, pairs: list[tuple[Workload, Term]], share: Fraction) -> list[tuple[Query, Fraction]]:
    """Return the sums for the sampling errors of a design with strata or clusters, with shares.

    With clusters these are weighted totals by cluster; otherwise squared weights, weighted totals and numbers of rows
    by stratum. There is one query of sums for each set of rows that terms are about.
    """
    domain, groups = query.domain, dict[frozenset[str], list[Piece]]()
    trees = {domain.tree(name) for name in domain.design.names}  # sums are crossed with them
    for work, term in pairs:
        _check_within_clusters(domain, term)
        left_out_by = frozenset(name for name in work.left_out_by if domain.tree(name) not in trees)
        groups.setdefault(left_out_by, []).append(term.pieces[0])
    if not pairs or any(estimate.of_sampling for estimate in query.estimates):
        _refuse(query, bool(pairs))
    sums = [_Sums(domain, left_out_by, pieces) for left_out_by, pieces in groups.items()]
    of_totals = TUNED.weighted_totals if not domain.design.clusters else Fraction(1)
    parts: list[tuple[Query, Fraction]] = [(each.of_weights(1), share * of_totals / len(sums)) for each in sums]
    if domain.design.clusters:
        return parts
    of_squares = 1 - of_totals - TUNED.row_counts
    squares = [(each.of_weights(2), share * of_squares / len(sums)) for each in sums]
    return [*squares, *parts, (_rows_by(domain, domain.design.strata), share * TUNED.row_counts)]


def _check_within_clusters(domain: Domain, term: Term) -> None:
    """Refuse cells that lie within clusters: how their answers vary between clusters is not known."""
    name = domain.design.clusters
    if not name:
        return
    finest = (own for own in term.pieces[0].attributes if domain.tree(own) == domain.tree(name))
    if any(domain.attribute(own).n_cells >= domain.attribute(name).n_cells for own in finest):
        raise InvalidRequest(
            f"The sampling error of {term.text!r} cannot be estimated, because each of its cells lies within a "
            "single cluster.",
            "Release it with intervals for the noise only.",
        )


class _Sums(NamedTuple):
    """Sums for the sampling errors of pieces, about the rows that the rules of `left_out_by` leave."""

    domain: Domain
    left_out_by: frozenset[str]
    pieces: Sequence[Piece]

    def of_weights(self, power: int) -> Workload:
        """Return the sums of a power of the weights, crossed with the design."""
        tables = list(self._tables())
        terms = tuple(_sums(self.domain, table, power, _OF_DESIGN[power]) for table in tables)
        trees = {self.domain.tree(name) for _, names in tables for name in names}
        left_out_by = [name for name in self.domain.attributes if name in self.left_out_by]
        also = tuple(name for name in left_out_by if self.domain.tree(name) not in trees)
        said = f" of rows with {'*'.join(map(written, also))}" if also else ""
        return Workload(self.domain, tuple(replace(term, text=term.text + said) for term in terms), also=also)

    def _tables(self) -> Iterator[_Table]:
        """Yield the tables of which those of the pieces are margins; sums of a column serve weighted counts too."""
        kept: list[_Table] = []
        for column, names in sorted(dict.fromkeys(map(self._crossed, self.pieces)), key=self._order):
            alike = (own for of, own in kept if column in (of, None))
            finer = (own for own in alike if set(self.domain.finest(_distinct(*own, *names))) == set(own))
            # a table of sums also serves a margin with a fourth of its cells
            if not any(n_cells(self.domain, own) <= 4 * n_cells(self.domain, names) for own in finer):
                kept.append((column, names))
                yield column, names

    def _crossed(self, piece: Piece) -> _Table:
        return piece.column, self.domain.finest(_distinct(*self.domain.design.names, *piece.attributes))

    def _order(self, table: _Table) -> tuple[bool, int]:
        return table[0] is None, -n_cells(self.domain, table[1])


def _distinct(*names: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _rows_by(domain: Domain, name: str) -> Workload:
    """Return the number of rows in each stratum."""
    cells = Identity(n_cells(domain, (name,)))
    term = Term(f"rows by {written(name)}", (Piece((name,), cells),), WeightedTotals(cells.n_released))
    return Workload(domain, (term,))


def _refuse(query: Query, has_moments: bool) -> None:
    if has_moments:
        raise InvalidRequest(f"{query.text!r} already includes the sampling error.", "Omit `intervals`.")
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
