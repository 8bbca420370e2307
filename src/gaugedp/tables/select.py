"""A small SELECT, read: its groups, and its aggregates of columns. What is not understood is named."""

from collections.abc import Sequence
from typing import NamedTuple

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from gaugedp.errors import InvalidRequest

_READ = {"expressions", "from", "from_", "group"}  # parts of a SELECT that are understood
_INSTEAD = {
    "where": ("WHERE", "Ask for all groups, and take those that you need."),
    "having": ("HAVING", "Ask for all groups, and take those that you need."),
    "joins": ("JOIN", "Join public columns to the file first, and describe them in the domain file."),
    "distinct": ("DISTINCT", "COUNT(*) counts people where the domain file's [unit] gives each one row."),
    "order": ("ORDER BY", "Answers come in the order of the domain file."),
    "limit": ("LIMIT", "All groups are answered."),
    "with": ("WITH", "Write one SELECT with one table."),
    "with_": ("WITH", "Write one SELECT with one table."),
}
FUNCTIONS = "COUNT(*), SUM(C), AVG(C), STDDEV_POP(C), MEDIAN(C) and PERCENTILE_CONT(q) WITHIN GROUP (ORDER BY C)"
_MEASURES: dict[type[exp.Expression], str] = {
    exp.Sum: "sum",
    exp.Avg: "mean",
    exp.Stddev: "sd",
    exp.StddevPop: "sd",
    exp.Median: "median",
}


class Selected(NamedTuple):
    """One aggregate: "count", "sum", "mean", "sd", "median" or "quantiles", of a column, at a share as written."""

    kind: str
    column: str = ""
    share: str = ""


class Select(NamedTuple):
    """The aggregates, the other columns that are selected, and the names in GROUP BY."""

    aggregates: tuple[Selected, ...]
    columns: tuple[str, ...]
    groups: tuple[str, ...]


def read_select(statement: str) -> Select:
    """Return what a statement SELECT … FROM one table GROUP BY names says; refused, by its name: anything else."""
    select = _parsed(statement)
    _check_parts(select)
    selected = [one.unalias() for one in select.expressions]
    groups = [_group(one, selected) for one in (select.args.get("group") or exp.Group()).expressions]
    aggregates = tuple(_aggregate(one) for one in selected if not isinstance(one, exp.Column))
    return Select(aggregates, tuple(one.name for one in selected if isinstance(one, exp.Column)), tuple(groups))


def _parsed(statement: str) -> exp.Select:
    try:
        parsed = sqlglot.parse(statement)
    except SqlglotError:
        raise InvalidRequest(
            "The statement is no SQL that is understood.", "Write SELECT A, COUNT(*) FROM people GROUP BY A."
        ) from None
    if len(parsed) != 1 or not isinstance(parsed[0], exp.Select):
        raise InvalidRequest("This is not one SELECT.", "Write one: SELECT A, COUNT(*) FROM people GROUP BY A.")
    return parsed[0]


def _check_parts(select: exp.Select) -> None:
    for name, part in select.args.items():
        if part and name not in _READ:
            what, do = _INSTEAD.get(name, (name.upper(), "Write SELECT, FROM and GROUP BY alone."))
            raise InvalidRequest(f"{what} is not supported.", do)
    source = select.args.get("from_") or select.args.get("from")
    if source is None or not isinstance(source.this, exp.Table) or source.this.args.get("joins"):
        raise InvalidRequest("The statement does not read one table.", "Write FROM and the name of one table.")


def _group(one: exp.Expression, columns: Sequence[exp.Expression]) -> str:
    """Return the name in a part of GROUP BY, or that of the selected column whose number it is."""
    if isinstance(one, exp.Literal) and not one.is_string and one.name.isdecimal():
        place = int(one.name)
        if not 1 <= place <= len(columns):
            raise InvalidRequest(f"GROUP BY {place} names no selected column.", "Write the name of an attribute.")
        one = columns[place - 1]
    if not isinstance(one, exp.Column):
        raise InvalidRequest("GROUP BY holds more than names.", "Group by attributes of the domain.")
    return str(one.name)


def _aggregate(one: exp.Expression) -> Selected:
    if isinstance(one, exp.Count):
        if isinstance(one.this, exp.Star) or (isinstance(one.this, exp.Literal) and not one.this.is_string):
            return Selected("count")
        raise InvalidRequest("COUNT of a column is not supported.", "Write COUNT(*), which counts rows.")
    for kind, word in _MEASURES.items():
        if type(one) is kind and isinstance(one.this, exp.Column):
            return Selected(word, one.this.name)
    if isinstance(one, exp.WithinGroup) and isinstance(one.this, exp.PercentileCont | exp.PercentileDisc):
        order = one.expression.expressions if isinstance(one.expression, exp.Order) else []
        if len(order) == 1 and isinstance(order[0].this, exp.Column) and isinstance(one.this.this, exp.Literal):
            return Selected("quantiles", order[0].this.name, one.this.this.name)
    raise InvalidRequest(f"{one.sql()[:60]} is not supported.", f"Ask for some of {FUNCTIONS}.")
