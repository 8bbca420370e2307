"""Queries as a small SELECT, whose aggregates become terms. They are answered together, for one charge."""

from collections.abc import Iterable

from gaugedp._internal.names import written
from gaugedp.domain.domain import Domain
from gaugedp.errors import InvalidRequest, UnknownName
from gaugedp.queries.base import Query
from gaugedp.queries.text import query
from gaugedp.tables.select import FUNCTIONS, Selected, read_select


def sql_query(domain: Domain, statement: str) -> Query:
    """Translate a SELECT statement into a query.

    Use it if you already have a statement in SQL. Each aggregate becomes a term of the query, and GROUP BY becomes
    `by`. The statement itself is never run: pass the query to `gd.release` to get private answers.

    Parameters
    ----------
    domain : Domain
        The description of the table, whose names the statement uses.
    statement : str
        A statement of the form `SELECT … FROM table GROUP BY attributes`, with aggregates such as COUNT(*), SUM and
        AVG. It must read exactly one table, and may have any name for it.

    Returns
    -------
    Query
        The query, whose terms are answered together for one charge.

    Raises
    ------
    InvalidRequest, UnknownName
        If the statement uses a part of SQL that is not supported, which the message names, or a name that the domain
        lacks.

    Examples
    --------
    The statement becomes the same query as the text `sex; mean(pay) by sex`:

    >>> import gaugedp as gd
    >>> domain = gd.Domain.of(sex=["1", "2"], age=gd.bins(0, 100, 10), pay=gd.bounded(0, 100))
    >>> gd.sql_query(domain, "SELECT sex, COUNT(*), AVG(pay) FROM people GROUP BY sex").text
    'sex; mean(pay) by sex'
    """
    return query(domain, sql_text(domain, statement))


def sql_text(domain: Domain, statement: str) -> str:
    """Translate SELECT … FROM one table GROUP BY attributes."""
    if not isinstance(domain, Domain) or not isinstance(statement, str):
        raise InvalidRequest(
            f"A domain and a SQL statement are needed, but the arguments are of types {type(domain).__name__} and "
            f"{type(statement).__name__}.",
            'Pass a domain and a statement, such as "SELECT SEX, COUNT(*) FROM people GROUP BY SEX".',
        )
    select = read_select(statement)
    groups = [_name(name, domain.attributes, "attribute") for name in select.groups]
    for column in select.columns:
        if (name := _name(column, domain.attributes, "attribute")) not in groups:
            raise InvalidRequest(
                f"{name} is selected, but is neither an aggregate nor in GROUP BY.", f"Add it to GROUP BY: {name}."
            )
    if not select.aggregates:
        raise InvalidRequest("The statement selects no aggregate.", f"Select at least one of {FUNCTIONS}.")
    return "; ".join(_terms(domain, select.aggregates, "*".join(map(written, groups))))


def _terms(domain: Domain, aggregates: Iterable[Selected], of_groups: str) -> Iterable[str]:
    shares: dict[tuple[str, str], list[str]] = {}
    for kind, column, share in aggregates:
        name = _name(column, domain.columns, "bounded column") if column else ""
        shares.setdefault((kind, name), []).extend([share] if share else [])
    by = f" by {of_groups}" if of_groups else ""
    for (kind, column), parts in shares.items():
        if kind == "count":
            yield of_groups or "count"
        else:
            yield f"{kind}({', '.join([written(column), *dict.fromkeys(parts)])}){by}"


def _name(name: str, known: Iterable[str], kind: str) -> str:
    names = list(known)
    alike = [candidate for candidate in names if candidate.lower() == name.lower()]
    if name in names or len(alike) == 1:
        return name if name in names else alike[0]
    raise UnknownName.among(kind, name, names)
