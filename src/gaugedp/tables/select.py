"""Parser of a small SELECT; everything else is refused by name."""

from collections.abc import Sequence
from typing import NamedTuple

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from gaugedp.errors import InvalidRequest
from gaugedp.tables.engine import Sql

_TEXT = {"this"}
_READ: dict[type[Sql], set[str]] = {  # supported nodes, and their supported parts
    exp.Select: {"expressions", "from", "from_", "group"},
    exp.From: _TEXT,
    exp.Table: {"this", "alias", "db", "catalog"},
    exp.TableAlias: _TEXT,
    exp.Identifier: {"this", "quoted"},
    exp.Alias: {"this", "alias"},
    exp.Column: {"this", "table"},
    exp.Group: {"expressions"},
    exp.Literal: {"this", "is_string"},
    exp.Star: set(),
    exp.Count: {"this", "big_int"},
    exp.WithinGroup: {"this", "expression"},
    exp.PercentileCont: _TEXT,
    exp.Order: {"expressions"},
    exp.Ordered: {"this", "nulls_first"},
    **dict.fromkeys((exp.Sum, exp.Avg, exp.Stddev, exp.StddevPop, exp.Median), _TEXT),
}
_INSTEAD = {
    "where": ("WHERE", "Request all groups, and select those that you need."),
    "having": ("HAVING", "Request all groups, and select those that you need."),
    "joins": ("JOIN", "Describe a public table with look_up in the domain file, or join it to the file first."),
    "distinct": ("DISTINCT", "Omit it: COUNT(*) counts people if the domain file's [unit] gives each one row."),
    "order": ("ORDER BY", "Omit it: answers come in the order of the domain file."),
    "limit": ("LIMIT", "Omit it: all groups are returned."),
    "with": ("WITH", "Write one SELECT with one table."),
    "with_": ("WITH", "Write one SELECT with one table."),
}
FUNCTIONS = "COUNT(*), SUM(C), AVG(C), STDDEV_POP(C), MEDIAN(C) and PERCENTILE_CONT(q) WITHIN GROUP (ORDER BY C)"
_QUOTES = {"`": "mysql", "[": "tsql"}  # around names, in engines that do not quote them with "
_NAMES = (exp.Sub, exp.Column, exp.Identifier)
_MEASURES: dict[type[Sql], str] = {
    exp.Sum: "sum",
    exp.Avg: "mean",
    exp.Stddev: "sd",
    exp.StddevPop: "sd",
    exp.Median: "median",
}


class Selected(NamedTuple):
    """Aggregate of a column, at a share as written. It is "count", "sum", "mean", "sd", "median" or "quantiles"."""

    kind: str
    column: str = ""
    share: str = ""


class Select(NamedTuple):
    """Aggregates, other selected columns, and names in GROUP BY."""

    aggregates: tuple[Selected, ...]
    columns: tuple[str, ...]
    groups: tuple[str, ...]


def read_select(statement: str) -> Select:
    """Parse SELECT … FROM one table GROUP BY names. Anything else is refused by name."""
    select = _parsed(statement)
    _check_parts(select)
    selected = [node.unalias() for node in select.expressions]
    groups = [_group(node, selected) for node in (select.args.get("group") or exp.Group()).expressions]
    aggregates = tuple(_aggregate(node) for node in selected if not isinstance(node, exp.Column))
    columns = tuple(node.name for node in selected if isinstance(node, exp.Column))
    return Select(aggregates, columns, tuple(dict.fromkeys(groups)))


def _parsed(statement: str) -> exp.Select:
    dialect = next((dialect for sign, dialect in _QUOTES.items() if sign in statement and '"' not in statement), None)
    try:
        parsed = sqlglot.parse(statement, dialect=dialect)
    except (SqlglotError, RecursionError):
        raise InvalidRequest(
            "The statement cannot be parsed as SQL.", "Write, for example, SELECT A, COUNT(*) FROM people GROUP BY A."
        ) from None
    if len(parsed) != 1 or not isinstance(parsed[0], exp.Select):
        raise InvalidRequest(
            "The text is not one SELECT statement.", "Write, for example, SELECT A, COUNT(*) FROM people GROUP BY A."
        )
    return parsed[0]


def _check_parts(select: exp.Select) -> None:
    for name, part in select.args.items():
        if part and name not in _READ[exp.Select]:
            what, do = _INSTEAD.get(name, ("A clause other than FROM and GROUP BY", "Write SELECT, FROM and GROUP BY."))
            raise InvalidRequest(f"{what} is not supported.", do)
    source = select.args.get("from_") or select.args.get("from")
    if source is None or not isinstance(source.this, exp.Table):
        raise InvalidRequest("The statement must read exactly one table.", "Write FROM and the name of one table.")
    for node in select.walk():
        if type(node) not in _READ or any(part and name not in _READ[type(node)] for name, part in node.args.items()):
            raise _unsupported(node)
    names = {"", source.this.name.lower(), source.this.alias.lower()}
    for column in select.find_all(exp.Column):
        if column.table.lower() not in names:
            raise InvalidRequest(f"{column.table} is not the table in FROM.", "Write only the column's name.")


def _unsupported(node: Sql) -> InvalidRequest:
    names = list(dict.fromkeys(column.name for column in node.find_all(exp.Column, bfs=False)))
    what, do = f"{node.sql()[:60]} is not supported.", f"Use only {FUNCTIONS}."
    if names and isinstance(node, exp.Group | exp.Rollup | exp.Cube | exp.GroupingSets):
        terms = "; ".join(dict.fromkeys(["*".join(names), *names, "count"]))
        do = f'Request each grouping as a term of a query, such as "{terms}".'
    elif isinstance(node, exp.Sub) and all(isinstance(part, _NAMES) for part in node.walk()):
        do = f'For a column of that name, write it in double quotes: "{"-".join(names)}".'
    return InvalidRequest(what, do)


def _group(node: Sql, columns: Sequence[Sql]) -> str:
    if isinstance(node, exp.Literal) and not node.is_string and node.name.isdecimal():
        place = int(node.name)
        if not 1 <= place <= len(columns):
            raise InvalidRequest(f"GROUP BY {place} is not a selected column.", "Write the name of an attribute.")
        node = columns[place - 1]
    if not isinstance(node, exp.Column):
        raise InvalidRequest("GROUP BY contains something other than names.", "Group by attributes of the domain.")
    return str(node.name)


def _aggregate(node: Sql) -> Selected:
    if isinstance(node, exp.Count):
        if isinstance(node.this, exp.Star) or (isinstance(node.this, exp.Literal) and not node.this.is_string):
            return Selected("count")
        raise InvalidRequest("COUNT of a column is not supported.", "Write COUNT(*), which counts rows.")
    for kind, word in _MEASURES.items():
        if type(node) is kind and isinstance(node.this, exp.Column):
            return Selected(word, node.this.name)
    if isinstance(node, exp.WithinGroup) and isinstance(node.this, exp.PercentileCont):
        order = node.expression.expressions if isinstance(node.expression, exp.Order) else []
        if len(order) == 1 and isinstance(order[0].this, exp.Column) and isinstance(node.this.this, exp.Literal):
            return Selected("quantiles", order[0].this.name, node.this.this.name)
    raise _unsupported(node)
