"""Checks of a table against its domain, for the custodian.

They are not private, not charged, and not part of a release. They find mistakes in codes and formats before anything is
charged. No ledger, release or log receives their results.
"""

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from gaugedp._internal.numbers import exact
from gaugedp._internal.progress import Progress, silent
from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.domain.attributes import BoundedColumn
from gaugedp.errors import InvalidRequest, UnreadableTable
from gaugedp.tables.bounding import over
from gaugedp.tables.cells import ColumnExpression, is_code, read_attribute, read_person, read_steps, text_of
from gaugedp.tables.engine import Column, Engine, Sql
from gaugedp.tables.line_faults import LineCount, count_lines
from gaugedp.tables.refusals import or_refuse, unfinished
from gaugedp.tables.statement import source
from gaugedp.tables.table import Table

NOT_PRIVATE = "NOT PRIVATE: exact statistics of the rows, for the custodian only. Do not publish, mail or store them."
WHY = (
    "This is for misspelt codes and wrong formats. Take categories and bounds from public knowledge: a domain that "
    "is adapted to the values of rare people reveals them."
)
_VALUE, _READ = exp.column("value"), "x"


@dataclass(frozen=True)
class Finding:
    """Finding in a column: problem, rows and most common values."""

    column: str
    problem: str
    rows: int
    examples: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, repr=False)
class Custody:
    """Findings of `check` about rows and lines: not private, unlike its repr."""

    n_rows: int
    findings: tuple[Finding, ...]
    lines: LineCount | None = None

    def table(self) -> list[dict[str, str]]:
        """Return one row per finding."""
        return [
            {
                "column": finding.column,
                "problem": finding.problem,
                "rows": f"{finding.rows:,}",
                "share": f"{100 * finding.rows / max(self.n_rows, 1):.3g} %",
                "examples": ", ".join(f"{value!r} ({count:,})" for value, count in finding.examples),
            }
            for finding in self.findings
        ]

    def __repr__(self) -> str:
        return "Custody(not private: show its table() only to the custodian)"


def check(table: Table, *, on_progress: Progress = silent) -> Custody:
    """Find values that do not fit a table's domain.

    Use it before a release if you hold the data, to find mistakes in codes and formats. It reads all rows, adds no
    noise and charges nothing, so its result is not private and must not be published.

    Parameters
    ----------
    table : Table
        The table to check.
    on_progress : callable, optional
        A function that is called with the completed share of the rows, from 0 to 1.

    Returns
    -------
    Custody
        One finding for each problem of a column: values out of domain, out of bounds or missing, rows without a person,
        and persons with too many rows. Its method `table` lists them, with examples of values for files and frames. For
        a text file, `lines` describes the lines that are not rows.

    Examples
    --------
    The value "3" is not one of the two sexes of the domain:

    >>> import gaugedp as gd
    >>> import pandas as pd
    >>> domain = gd.Domain.of(sex=["1", "2"])
    >>> table = gd.Table.scan(pd.DataFrame({"sex": ["1", "2", "3"]}), domain=domain, name="people")
    >>> [(row["column"], row["problem"], row["examples"]) for row in gd.check(table).table()]
    [('sex', 'out of domain', "'3' (1)")]
    """
    if not isinstance(table, Table):
        raise InvalidRequest(f"`table` is a {type(table).__name__}, but must be a table.", "Pass gd.Table.scan(…).")
    try:
        return _checked(table, on_progress)
    except UnreadableTable as refusal:
        raise UnreadableTable(refusal.what, refusal.do, "Nothing was spent.") from None


def _checked(table: Table, on_progress: Progress) -> Custody:
    engine = table._engine.below
    n_rows = _counts(engine, over(_rows({}), exp.convert(1).as_("one")), {"all": exp.true()})["all"]
    of_rows = _of_domain(engine, table.domain.rows or table.domain)
    person_rows = _of_domain(table._engine, table.domain) if table.domain.rows else ()
    findings = (*of_rows, *_of_people(engine, table.unit), *person_rows)
    return Custody(n_rows, findings, _lines(engine, n_rows, on_progress))


def _lines(engine: Engine, n_rows: int, on_progress: Progress) -> LineCount | None:
    file = engine.text_file
    if file is None:
        return None
    return or_refuse(lambda: count_lines(file, on_progress), unfinished(), (EOFError, zlib.error)).of_engine(n_rows)


def _of_domain(engine: Engine, domain: Domain) -> Iterator[Finding]:
    for name in domain.finest([name for name, attribute in domain.attributes.items() if attribute.has_cells]):
        source_name, attribute = domain.source(name), domain.attribute(name)
        column = engine.columns[source_name]
        yield from _of_cells(engine, source_name, column, read_attribute(attribute, column, _READ))
    for name, bounded in domain.columns.items():
        yield from _of_column(engine, name, bounded)


def _of_cells(engine: Engine, name: str, column: Column, reading: ColumnExpression) -> Iterator[Finding]:
    is_missing = _VALUE.is_(exp.null())
    misfit = exp.and_(exp.not_(is_missing.copy()), exp.not_(exp.func("COALESCE", reading.inside, exp.false())))
    rows = _valued(column, reading)
    counts = _counts(engine, rows, {"no value": is_missing, "out of domain": misfit})
    for problem, count in counts.items():
        listed = problem == "out of domain" and engine.in_process
        if count:
            yield Finding(name, problem, count, _examples(engine, _valued(column, reading), misfit) if listed else ())


def _of_column(engine: Engine, name: str, bounded: BoundedColumn) -> Iterator[Finding]:
    if bounded.column:
        key = engine.columns[bounded.column]
        yield from _of_cells(engine, name, key, read_steps(bounded, key, _READ))
        return
    column, number, is_missing = engine.columns[name], exp.column(_READ), _VALUE.is_(exp.null())
    reading, is_unknown = read_steps(bounded, column, _READ), is_code(bounded, column, number)
    is_nan = exp.and_(exp.not_(number.is_(exp.null())), exp.not_(exp.or_(reading.inside.copy(), is_unknown.copy())))
    problems = {
        "no value": exp.or_(is_missing, is_nan),
        "not a number": exp.and_(exp.not_(is_missing.copy()), number.is_(exp.null())),
        "code for missing": is_unknown,
        f"below {exact(float(bounded.low))}": exp.and_(reading.inside.copy(), number < float(bounded.low)),
        f"above {exact(float(bounded.high))}": exp.and_(reading.inside.copy(), number > float(bounded.high)),
    }
    counts = _counts(engine, _valued(column, reading), problems)
    yield from (Finding(name, problem, count) for problem, count in counts.items() if count)


def _of_people(engine: Engine, unit: PrivacyUnit) -> Iterator[Finding]:
    if unit.column is None:
        return
    column = engine.columns[unit.column]
    reading = read_person(column, _READ)
    nobody = _counts(engine, _valued(column, reading), {"no person": exp.not_(reading.inside.copy())})
    of_one = over(_valued(column, reading), exp.column(_READ), exp.Count(this=exp.Star()).as_("of_one"))
    people = of_one.where(reading.inside.copy()).group_by(_READ)
    extra = exp.column("of_one") - unit.max_rows
    too_many = exp.Case().when(extra > 0, extra.copy()).else_(exp.convert(0))
    counted = over(people, exp.func("COALESCE", exp.Sum(this=too_many), exp.convert(0)).as_("n0"))
    beyond = {} if unit.as_one else {f"more than {unit.max_rows} per person": _number(engine, counted)}
    yield from (Finding(unit.column, problem, rows) for problem, rows in (nobody | beyond).items() if rows)


def _rows(reads: Mapping[str, Sql]) -> Sql:
    return source([ColumnExpression(dict(reads), exp.true(), exp.null())])


def _valued(column: Column, reading: ColumnExpression) -> Sql:
    return source([ColumnExpression({"value": text_of(column)}, exp.true(), _VALUE), reading])


def _counts(engine: Engine, rows: Sql, conditions: Mapping[str, Sql]) -> dict[str, int]:
    indicators = [exp.Case().when(each.copy(), exp.convert(1)).else_(exp.convert(0)) for each in conditions.values()]
    sums = [exp.func("COALESCE", exp.Sum(this=indicator), exp.convert(0)) for indicator in indicators]
    result = engine.run(over(rows, *(exp.cast(total, "BIGINT").as_(f"n{place}") for place, total in enumerate(sums))))
    return {name: int(result[f"n{place}"][0]) for place, name in enumerate(conditions)}


def _number(engine: Engine, statement: Sql) -> int:
    return int(engine.run(over(statement, exp.cast(exp.column("n0"), "BIGINT").as_("n0")))["n0"][0])


def _examples(engine: Engine, rows: Sql, condition: Sql) -> tuple[tuple[str, int], ...]:
    grouped = over(rows, _VALUE, exp.Count(this=exp.Star()).as_("n")).where(condition.copy()).group_by("value")
    result: Mapping[str, Any] = engine.run(grouped.order_by(exp.column("n").desc(), "value").limit(10))
    return tuple((_short(str(value)), int(count)) for value, count in zip(result["value"], result["n"], strict=True))


def _short(value: str) -> str:
    return value if len(value) <= 40 else f"{value[:40]}…"
