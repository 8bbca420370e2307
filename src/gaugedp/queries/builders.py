"""Functions that build queries."""

import math
from collections.abc import Sequence

import numpy as np

from gaugedp._internal.names import written
from gaugedp.domain.domain import Domain
from gaugedp.errors import InvalidRequest, UnknownName
from gaugedp.queries.base import Query
from gaugedp.queries.linear import Term, Workload, n_cells
from gaugedp.queries.maps import CellMap, Identity, MatrixMap, Prefix, Ranges, check_size
from gaugedp.queries.outline import ROWS
from gaugedp.queries.piece import Piece
from gaugedp.queries.products import Product
from gaugedp.queries.stacked import joined
from gaugedp.queries.weights import moment_of, of_moments, row_weight, times_weight, unweighted
from gaugedp.statistics import ColumnMean, Combination, Count, Share, StandardDeviation, Statistic, Sum
from gaugedp.statistics.comparison import COMPARISONS
from gaugedp.statistics.equal_means import EqualMeans
from gaugedp.statistics.independence import EqualShares

Names = str | Sequence[str] | None


def marginals(domain: Domain, *attribute_sets: Sequence[str] | str) -> Workload:
    """Return the query for counts by attributes.

    Use it to count rows by one attribute or by several, such as by sex and age. Such counts are known as marginals.

    Parameters
    ----------
    domain : Domain
        The description of the table.
    *attribute_sets : str or sequence of str
        One attribute, or the attributes of one table. The last attribute varies fastest in the answers.

    Examples
    --------
    >>> import gaugedp as gd
    >>> list(gd.marginals(gd.Domain.of(sex=["1", "2"], home=["own", "rent"]), "sex", "home").labels)
    [('sex', 'sex=1'), ('sex', 'sex=2'), ('home', 'home=own'), ('home', 'home=rent')]
    """
    return Workload(domain, tuple(_marginal(domain, _names(names)) for names in attribute_sets))


def count(domain: Domain) -> Workload:
    """Return the query for the number of rows.

    Examples
    --------
    >>> import gaugedp as gd
    >>> domain = gd.Domain.of(sex=["1", "2"], age=gd.bins(0, 100, 10), pay=gd.bounded(0, 100))
    >>> gd.count(domain).n_answers
    1
    """
    return Workload(domain, (_marginal(domain, ()),))


def weighted_count(domain: Domain, by: Names = None) -> Workload:
    """Return the query for sums of survey weights.

    The sum of the weights estimates how many persons of the population the rows represent, in total or, with
    attributes `by`, in each of their cells.

    Examples
    --------
    >>> import gaugedp as gd
    >>> domain = gd.Domain.of(sex=["1", "2"]).with_weights("w", gd.bounded(1, 600))
    >>> gd.weighted_count(domain, by="sex").text
    'weighted count by sex'
    """
    names, weight = _names(by), row_weight(domain)
    if weight is None:
        raise InvalidRequest("The domain has no weights.", "Describe them under [weights], or count rows.")
    piece = times_weight(domain, Piece(names, Identity(n_cells(domain, names)), weight=weight))
    return Workload(domain, (Term(f"weighted count{_by(names)}", (piece,), Sum(piece.cells.n_released)),))


def prefix_sums(domain: Domain, attribute: str) -> Workload:
    """Return the query for cumulative counts along an attribute.

    Use it for a distribution function, such as the number of people up to each age: the k-th answer is the number of
    rows in the first k cells.

    Examples
    --------
    >>> import gaugedp as gd
    >>> domain = gd.Domain.of(sex=["1", "2"], age=gd.bins(0, 100, 10), pay=gd.bounded(0, 100))
    >>> gd.prefix_sums(domain, "age").n_answers
    10
    """
    cells = n_cells(domain, (attribute,))
    return Workload(domain, (_counts(f"prefix({written(attribute)})", (attribute,), Prefix(cells)),))


def ranges(domain: Domain, attribute: str) -> Workload:
    """Return the query for counts in every range of cells.

    A range is a run of neighbouring cells, such as the ages 20 to 49. An attribute with n cells has n (n + 1)/2 ranges.

    Examples
    --------
    >>> import gaugedp as gd
    >>> domain = gd.Domain.of(sex=["1", "2"], age=gd.bins(0, 100, 10), pay=gd.bounded(0, 100))
    >>> gd.ranges(domain, "age").n_answers
    55
    """
    cells = n_cells(domain, (attribute,))
    n_ranges = cells * (cells + 1) // 2
    check_size(f"ranges({attribute}) has {n_ranges:,} answers", n_ranges)
    return Workload(domain, (_counts(f"ranges({written(attribute)})", (attribute,), Ranges(cells)),))


def product(*queries: Workload) -> Workload:
    """Repeat count queries within each cell of other count queries.

    Use it to count, for example, every range of ages for each sex. The queries are marginals, prefix sums or ranges,
    and each must be of different attributes. In the result, the answers of the last query vary fastest.

    Examples
    --------
    There are 55 ranges of ten age groups, and two sexes:

    >>> import gaugedp as gd
    >>> domain = gd.Domain.of(sex=["1", "2"], age=gd.bins(0, 100, 10), pay=gd.bounded(0, 100))
    >>> gd.product(gd.ranges(domain, "age"), gd.marginals(domain, "sex")).n_answers
    110
    """
    terms = [_factor(query) for query in queries]
    if not terms:
        raise InvalidRequest("A product requires at least one query.", "Pass queries of different attributes.")
    domain, names = queries[0].domain, tuple(name for names, _ in terms for name in names)
    if any(query.domain != domain for query in queries):
        raise InvalidRequest("The queries have different domains.", "Build all of them from the same domain.")
    n_cells(domain, names)
    factors = tuple(factor for _, maps in terms for factor in maps)
    if all(isinstance(factor, Identity) for factor in factors):
        return marginals(domain, names)
    cells = factors[0] if len(factors) == 1 else Product(factors)
    return Workload(domain, (_counts("*".join(query.text for query in queries), names, cells),))


def _factor(query: Workload) -> tuple[tuple[str, ...], list[CellMap]]:
    pieces = query.pieces if isinstance(query, Workload) else ()
    if len(pieces) != 1 or pieces[0].column or not pieces[0].attributes or isinstance(pieces[0].cells, MatrixMap):
        raise InvalidRequest(
            "Only single marginals, prefix sums or ranges can be multiplied, but a factor is something else.",
            "Multiply single terms, such as gd.product(gd.ranges(domain, 'A'), gd.marginals(domain, 'R')).",
        )
    names, cells = pieces[0].attributes, pieces[0].cells
    if isinstance(cells, Identity):
        return names, [Identity(size) for size in query.domain.shape(names)]
    return names, list(cells.factors or [cells])


def workload(matrix: np.ndarray, domain: Domain) -> Workload:
    """Return the query for linear combinations of counts.

    Use it for combinations that no other function offers, such as weighted sums of counts.

    Parameters
    ----------
    matrix : array_like, shape (n_answers, n_cells)
        The coefficients: the answers are `matrix @ counts`, where the counts are those of the cross-table of all
        attributes of `domain`, the last attribute fastest. Fractions with small denominators stay exact. Other
        coefficients are rounded by at most 2^−24 of the largest one in their row.
    domain : Domain
        The description of the table.

    Examples
    --------
    The two answers are the sum and the difference of the two counts:

    >>> import gaugedp as gd
    >>> gd.workload([[1, 1], [1, -1]], gd.Domain.of(sex=["1", "2"])).n_answers
    2
    """
    if not isinstance(domain, Domain):
        raise InvalidRequest(
            f"`domain` is of type {type(domain).__name__}, but must be a domain.",
            "Pass a gd.Domain, such as one from gd.Domain.of.",
        )
    if hasattr(matrix, "tocsr"):
        raise InvalidRequest("The workload matrix is sparse.", "Pass a dense one: matrix.toarray().")
    names = domain.finest(tuple(domain.attributes))
    values = np.asarray(matrix)
    if values.dtype.kind == "c":
        raise InvalidRequest("The workload matrix contains complex numbers.", "Pass real numbers.")
    if values.ndim != 2 or values.shape[1] != domain.n_cells():
        raise InvalidRequest(
            f"The workload matrix has shape {values.shape}, but the domain has {domain.n_cells():,} cells.",
            "Pass a matrix with one column for each cell.",
        )
    return Workload(domain, (_counts(f"matrix({_crossed(names)})", names, MatrixMap(values)),))


def bounded_sums(domain: Domain, column: str, by: Names = None, *, weighted: bool = True) -> Workload:
    """Return the query for the sum of a bounded column.

    Use it for totals, such as the total pay of each sex. The values of `column` are added up over all rows or, if you
    pass attributes `by`, over the rows in each of their cells. In a domain with survey weights, each value is
    multiplied by the weight of its row unless `weighted` is False.

    Examples
    --------
    >>> import gaugedp as gd
    >>> domain = gd.Domain.of(sex=["1", "2"], age=gd.bins(0, 100, 10), pay=gd.bounded(0, 100))
    >>> list(gd.bounded_sums(domain, "pay", by="sex").labels)
    [('sum(pay) by sex', 'sex=1'), ('sum(pay) by sex', 'sex=2')]
    """
    return measured(domain, Sum, column, by, weighted=weighted)


def bounded_means(domain: Domain, column: str, by: Names = None, *, weighted: bool = True) -> Workload:
    """Return the query for the mean of a bounded column.

    Use it for averages, such as the mean pay of each sex. The mean of `column` is over all rows or, if you pass
    attributes `by`, over the rows in each of their cells. In a domain with survey weights, it is weighted unless
    `weighted` is False.

    A release computes each mean from a noisy count and a noisy sum of distances from the middle of the bounds. A group
    whose noisy count is not positive gets this middle.

    Examples
    --------
    >>> import gaugedp as gd
    >>> domain = gd.Domain.of(sex=["1", "2"], age=gd.bins(0, 100, 10), pay=gd.bounded(0, 100))
    >>> list(gd.bounded_means(domain, "pay", by="sex").labels)
    [('mean(pay) by sex', 'sex=1'), ('mean(pay) by sex', 'sex=2')]
    """
    return measured(domain, ColumnMean, column, by, weighted=weighted)


def bounded_deviations(domain: Domain, column: str, by: Names = None, *, weighted: bool = True) -> Workload:
    """Return the query for the standard deviation of a column.

    Use it to show how much a number, such as pay, varies among all rows or, if you pass attributes `by`, among the rows
    in each of their cells. In a domain with survey weights, the result is weighted unless `weighted` is False. It is
    computed from noisy counts, sums and sums of squares, with the number of rows as the divisor. A group whose noisy
    count is not positive gets a quarter of the range. Squares are rounded by at most 2^−24 of the range, or more if
    they are weighted.

    Examples
    --------
    >>> import gaugedp as gd
    >>> domain = gd.Domain.of(sex=["1", "2"], age=gd.bins(0, 100, 10), pay=gd.bounded(0, 100))
    >>> list(gd.bounded_deviations(domain, "pay", by="sex").labels)
    [('sd(pay) by sex', 'sex=1'), ('sd(pay) by sex', 'sex=2')]
    """
    return measured(domain, StandardDeviation, column, by, weighted=weighted)


def shares(domain: Domain, attributes: Sequence[str] | str, by: Names = None, *, weighted: bool = True) -> Workload:
    """Return the query for the shares of rows in cells.

    Use it for percentages, such as the share of each sex in every age group. The cells are the combinations of
    categories of `attributes`. Their shares add up to 1 over all rows or, if you pass attributes `by`, over the rows in
    each of their cells. They are computed from noisy counts, which are weighted in a domain with survey weights unless
    `weighted` is False. A group whose noisy total is not positive gets equal shares.

    Examples
    --------
    >>> import gaugedp as gd
    >>> list(gd.shares(gd.Domain.of(sex=["1", "2"]), "sex").labels)
    [('share(sex)', 'sex=1'), ('share(sex)', 'sex=2')]
    """
    return measured(domain, Share, attributes, by, weighted=weighted)


def comparisons(domain: Domain, kind: str, attribute: str, by: Names = None, *, weighted: bool = True) -> Workload:
    """Return the query for comparisons of counts.

    Use it for ratios of groups, or for changes over time. If a noisy denominator is below 1, both counts are raised to
    at least 1.

    Parameters
    ----------
    domain : Domain
        The description of the table.
    kind : {"difference", "ratio", "index", "change"}
        "difference", "ratio" and "index" (100 times the ratio) compare each cell with the first cell. "change" compares
        each cell with the previous one, such as a year with the year before, in percent of the previous one.
    attribute : str
        The attribute whose cells are compared. It has at least two cells.
    by : str or sequence of str, optional
        Attributes in whose cells the counts are compared separately. By default there are none.
    weighted : bool
        Whether to use the survey weights of the domain, if it has any. Default True.

    Examples
    --------
    >>> import gaugedp as gd
    >>> list(gd.comparisons(gd.Domain.of(year=["2023", "2024", "2025"]), "change", "year").labels)
    [('change(year)', 'year=2024'), ('change(year)', 'year=2025')]
    """
    if kind not in COMPARISONS:
        raise UnknownName.among("comparison", str(kind), COMPARISONS)
    return measured(domain, COMPARISONS[kind], attribute, by, weighted=weighted)


def measured(domain: Domain, kind: type[Statistic], of: Names, by: Names = None, *, weighted: bool = True) -> Workload:
    """Return the query for a statistic of a column or of counts, by cell."""
    names, groups = _names(of), _names(by)
    weight = row_weight(domain) if weighted else None
    inside = ", ".join(map(written, names)) if kind.is_of_pairs else _crossed(names)
    text = f"{unweighted(domain, weighted)}{kind.word}({inside}){_by(groups)}"
    if weight is not None and kind.is_test:
        raise InvalidRequest(f"{text} is a test, and tests do not support weights.", f"Write unweighted {text}.")
    if kind.moments:
        column, cells = domain.column(names[0]), Identity(n_cells(domain, groups))
        counts = Piece(groups, cells, names[0], weight=weight)
        return Workload(domain, (Term(text, *of_moments(domain, kind, counts, column)),))
    n_cells(domain, names)  # refuses names that cannot be crossed
    cells = Identity(n_cells(domain, (*names, *groups)))
    estimate = kind.of_table(domain.shape((*names, *groups)), names)
    piece = times_weight(domain, Piece((*names, *groups), cells, weight=weight))
    return Workload(domain, (Term(text, (piece,), estimate),))


def equality(
    domain: Domain, of: Names, by: Names, kind: type[EqualMeans] | None = None, *, weighted: bool = True
) -> Workload:
    """Return the query for tests of equal shares or means.

    Each p-value compares a cell of the first attribute of `by` with its first cell, within each cell of the other
    attributes of `by`. It is about shares of the cells of `of` or, with a `kind`, about means of the column `of`.

    Examples
    --------
    >>> import gaugedp as gd
    >>> domain = gd.Domain.of(sex=["1", "2"], age=gd.bins(0, 100, 50), pay=gd.bounded(0, 100))
    >>> gd.query(domain, "test(share(age) by sex)").n_answers, gd.query(domain, "test(mean(pay) by sex)").n_answers
    (2, 1)
    """
    names, groups, before = _names(of), _names(by), unweighted(domain, weighted)
    if weighted and domain.weights is not None:
        raise InvalidRequest("Tests do not support weights.", "Write unweighted test(…), which counts rows.")
    first, *others = domain.shape(groups) or (1,)
    if first == 1:
        raise InvalidRequest("There is only one cell to compare.", "Test by an attribute with at least two cells.")
    n_tests = (first - 1) * math.prod(others)
    if kind is None:
        cells = n_cells(domain, names)
        pieces: tuple[Piece, ...] = (Piece((*groups, *names), Identity(n_cells(domain, (*groups, *names)))),)
        estimate: Statistic = EqualShares.of_parts(n_tests, cells, first)
        return Workload(domain, (Term(f"{before}test(share({_crossed(names)}){_by(groups)})", pieces, estimate),))
    column, counts = domain.column(names[0]), Piece(groups, Identity(n_cells(domain, groups)), names[0])
    pieces = tuple(moment_of(moment, counts, column) for moment in kind.moments)
    estimate = kind(n_tests, first, float((column.high - column.low) / 2))
    return Workload(domain, (Term(f"{before}test(mean({written(names[0])}){_by(groups)})", pieces, estimate),))


def stack(*queries: Query) -> Query:
    """Join queries about the same table into one query.

    Use it to answer several queries together, for one charge. Counts, sums and means share one mechanism, which is
    chosen for all of them. Each quantile query has its own mechanism and an equal share of the privacy budget.
    Simultaneous intervals hold for all answers together.

    Examples
    --------
    >>> import gaugedp as gd
    >>> domain = gd.Domain.of(sex=["1", "2"], age=gd.bins(0, 100, 10), pay=gd.bounded(0, 100))
    >>> list(gd.stack(gd.marginals(domain, "sex"), gd.quantiles(domain, "pay", 0.5)).labels)
    [('sex', 'sex=1'), ('sex', 'sex=2'), ('median(pay)', 'all')]
    """
    if not queries:
        raise InvalidRequest("`stack` joins queries, but none is given.", "Pass at least one query.")
    if not all(isinstance(query, Query) for query in queries):
        raise InvalidRequest("Only queries can be stacked.", "Pass gd.marginals(...), gd.quantiles(...) or similar.")
    if any(query.domain != queries[0].domain for query in queries):
        raise InvalidRequest("The queries have different domains.", "Build all of them from the same domain.")
    return joined([part for query in queries for part in query.parts])


def _names(names: Names) -> tuple[str, ...]:
    return () if names is None else (names,) if isinstance(names, str) else tuple(names)


def _by(names: tuple[str, ...]) -> str:
    return f" by {_crossed(names)}" if names else ""


def _crossed(names: tuple[str, ...]) -> str:
    return "*".join(map(written, names))


def _marginal(domain: Domain, names: tuple[str, ...]) -> Term:
    return _counts(_crossed(names) or "count", names, Identity(n_cells(domain, names)))


def _counts(text: str, names: tuple[str, ...], cells: CellMap) -> Term:
    kind = Combination if cells.form == ROWS else Count
    return Term(text, (Piece(names, cells),), kind(cells.n_released))
