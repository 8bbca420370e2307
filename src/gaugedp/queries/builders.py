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
    """Count the rows by attributes, such as sex, or sex and age.

    Parameters
    ----------
    domain : Domain
        Description of the table.
    *attribute_sets : str or sequence of str
        One attribute, or the attributes of one table. The last attribute varies fastest in the answers.

    Examples
    --------
    The query has 2 counts by sex, and 20 counts by sex and age.

    >>> import gaugedp as gd
    >>> domain = gd.Domain.of(sex=["1", "2"], age=gd.bins(0, 100, 10))
    >>> gd.marginals(domain, "sex", ["sex", "age"]).n_answers
    22
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
    """Cross several count queries into one.

    Use it to repeat counts for every group, such as counts by age for each sex. The queries are marginals, prefix sums
    or ranges of different attributes. In the result, the answers of the last query vary fastest.

    Examples
    --------
    The query counts the rows in each of 55 ranges of age, for each sex.

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
    """Return a query for given linear combinations of cell counts.

    Use it for combinations that no other function offers, such as weighted sums of counts.

    Parameters
    ----------
    matrix : array_like, shape (n_answers, n_cells)
        The answers are `matrix @ counts`. The counts are those of the contingency table of all attributes of `domain`,
        the last attribute fastest. Entries are rounded: fractions with small denominators stay exact, and other entries
        change by at most 2^−24 of the largest entry of their row.
    domain : Domain
        Description of the table.

    Examples
    --------
    The two answers are the sum and the difference of the two counts.

    >>> import gaugedp as gd
    >>> domain = gd.Domain.of(sex=["1", "2"])
    >>> gd.workload([[1, 1], [1, -1]], domain).n_answers
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

    Use it for totals, such as the total pay of each sex. The query adds up the column over all rows, or within each
    group if you name attributes `by`. In a domain with weights, each value is multiplied by its row's weight unless
    `weighted` is False.

    Examples
    --------
    >>> import gaugedp as gd
    >>> domain = gd.Domain.of(sex=["1", "2"], age=gd.bins(0, 100, 10), pay=gd.bounded(0, 100))
    >>> gd.bounded_sums(domain, "pay", by="sex").text
    'sum(pay) by sex'
    """
    return measured(domain, Sum, column, by, weighted=weighted)


def bounded_means(domain: Domain, column: str, by: Names = None, *, weighted: bool = True) -> Workload:
    """Return the query for the mean of a bounded column.

    Use it for averages, such as the mean pay of each sex. The query averages the column over all rows, or within each
    group if you name attributes `by`. In a domain with weights, the mean is weighted unless `weighted` is False.

    A release computes each mean from a noisy count and a noisy sum of distances from the middle of the bounds. A group
    whose noisy count is not positive gets this middle.

    Examples
    --------
    >>> import gaugedp as gd
    >>> domain = gd.Domain.of(sex=["1", "2"], age=gd.bins(0, 100, 10), pay=gd.bounded(0, 100))
    >>> gd.bounded_means(domain, "pay", by="sex").text
    'mean(pay) by sex'
    """
    return measured(domain, ColumnMean, column, by, weighted=weighted)


def bounded_deviations(domain: Domain, column: str, by: Names = None, *, weighted: bool = True) -> Workload:
    """Return the query for the standard deviation of a column.

    Use it to show how much a number, such as pay, varies among all rows, or within each group if you name attributes
    `by`. In a domain with weights, the result is weighted unless `weighted` is False.

    The divisor is the number of rows. The answer is computed from noisy counts, sums and sums of squares. Values are
    squared in integer steps, with a rounding error of at most 2^−24 of the range (more if weighted, see
    `tables.aggregate.Coarse`). A group whose noisy count is not positive gets a quarter of the range.

    Examples
    --------
    >>> import gaugedp as gd
    >>> domain = gd.Domain.of(sex=["1", "2"], age=gd.bins(0, 100, 10), pay=gd.bounded(0, 100))
    >>> gd.bounded_deviations(domain, "pay").text
    'sd(pay)'
    """
    return measured(domain, StandardDeviation, column, by, weighted=weighted)


def shares(domain: Domain, attributes: Sequence[str] | str, by: Names = None, *, weighted: bool = True) -> Workload:
    """Return the query for the share of rows in each cell.

    Use it for percentages, such as the share of each sex in every age group. The cells are the combinations of
    categories of `attributes`. Their shares add up to 1 over all rows, or within each group if you name attributes
    `by`. They are computed from noisy counts, which are weighted in a domain with weights unless `weighted` is False. A
    group whose noisy total is not positive gets equal shares.

    Examples
    --------
    >>> import gaugedp as gd
    >>> domain = gd.Domain.of(sex=["1", "2"], age=gd.bins(0, 100, 10), pay=gd.bounded(0, 100))
    >>> gd.shares(domain, "sex", by="age").text
    'share(sex) by age'
    """
    return measured(domain, Share, attributes, by, weighted=weighted)


def comparisons(domain: Domain, kind: str, attribute: str, by: Names = None, *, weighted: bool = True) -> Workload:
    """Compare the counts of an attribute's categories.

    Parameters
    ----------
    domain : Domain
        Description of the table.
    kind : {"difference", "ratio", "index", "change"}
        "difference", "ratio" and "index" (100 times the ratio) compare each cell with the first cell. "change" compares
        each cell with the previous one, such as a year with the year before, in percent of the previous one.
    attribute : str
        An attribute with at least two cells. The counts are compared within each group of `by`.
    weighted : bool
        Whether to use the domain's weights, if it has any. Default True.

    Notes
    -----
    The comparisons are computed from noisy counts. If the noisy denominator is below 1, both counts are raised to at
    least 1.

    Examples
    --------
    >>> import gaugedp as gd
    >>> domain = gd.Domain.of(sex=["1", "2"], age=gd.bins(0, 100, 10), pay=gd.bounded(0, 100))
    >>> gd.comparisons(domain, "ratio", "sex", by="age").text
    'ratio(sex) by age'
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
    """Join queries about the same rows into one query.

    Use it to answer several queries together, for one charge. Counts, sums and means share one mechanism, which is
    chosen for all of them. Each quantile query has its own mechanism and an equal share of the guarantee. Simultaneous
    intervals hold for all answers together.

    Examples
    --------
    >>> import gaugedp as gd
    >>> domain = gd.Domain.of(sex=["1", "2"], age=gd.bins(0, 100, 10), pay=gd.bounded(0, 100))
    >>> gd.stack(gd.marginals(domain, "sex"), gd.quantiles(domain, "pay", 0.5)).text
    'sex; median(pay)'
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
