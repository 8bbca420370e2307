"""`gaugedp domain --learn`: bounds of a column, found with noise, paid for, and written into the domain file."""

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import click

from gaugedp._validate import decimal
from gaugedp.cli.fit import paid
from gaugedp.cli.output import checked_key, hand_over, show_account, stored_before
from gaugedp.cli.shared import Payment, check_apart, check_writable, number, numbers
from gaugedp.cli.stage import stage
from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.domain_file import read_toml
from gaugedp.entropy import system_rng
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.parse_guarantee import guarantee_asked
from gaugedp.tables.table import Table

_SECTION = re.compile(r"^[ \t]*\[columns\][^\n]*\n", re.MULTILINE)


def learn_bounds(
    named: tuple[str, str | None, str], text: str, given: str | None, options: Mapping[str, str | None]
) -> None:
    """Pay for bounds of a column, look, and write `text`, the domain file `given` or a new one, with the bounds.

    `named` are the table, the file to write (the domain file where None) and the column; all that can be refused is
    refused before anything is paid.
    """
    from gaugedp.estimators.table_bounds import TableBounds

    table, out, column = named
    if options["epsilon"] is None or options["ledger_path"] is None:
        raise InvalidRequest("--learn looks at the rows, which costs.", "Give --epsilon and --ledger.")
    out = options["domain_path"] if out is None else out
    check_apart({"table": table, "ledger": options["ledger_path"]}, {"out": out})
    check_writable(out, ".toml")
    name, unit = _known(text, given, column, Path(table).name.split(".")[0] or "table")
    placed(text, column, _line(column, (0, 1), 1, ""))  # refuses
    payment = Payment.of(options["ledger_path"], options["budget_text"], options["by"], options["purpose"])
    step = number("step", options["step"] or "1")
    guarantee = guarantee_asked(*numbers(epsilon=options["epsilon"], delta=options["delta"]).values())
    stage.key = checked_key(options["key"])
    planned = TableBounds(column, step, unit, guarantee)
    source = Table.scan(table, domain=planned.domain, unit=unit, name=name)
    stage.begin("plan")
    look = planned.prepare(system_rng())
    payment.check([planned.guarantee, planned.guarantee_of_parts], planned.guarantee)
    account = payment.open(name, unit)
    result = paid(planned, look, source, account, f"Reading the rows and searching for bounds of {column}")
    stored = account if stage.was_stored else None
    stage.show("write")
    entry, ends = result["facts"]["account"]["entry"], (result["low"], result["high"])
    note = f"found with noise for {guarantee!r}: entry {entry} of {Path(options['ledger_path']).name}"
    filled = placed(text, column, _line(column, ends, result["step"], note))

    def show() -> None:
        if out is None:
            click.echo(filled, nl=False)
        click.echo(f"{column} lies between {_number(ends[0])} and {_number(ends[1])}, with noise.", err=out is None)
        if result["is_widest"]:
            click.echo("An end is the widest there is: the column has few numbers, or noise hides them.", err=True)
        if stored is not None:
            click.echo(stored_before("search for bounds", result["facts"]["account"]), err=True)
        elif out is not None:
            show_account(result["facts"]["account"], None)

    hand_over("domain file", [(lambda path: path.write_text(filled, encoding="utf-8"), out)], show)


def _known(text: str, given: str | None, column: str, otherwise: str) -> tuple[str, PrivacyUnit]:
    """Return the name and the unit of a domain file; refused: one that describes the column already."""
    if given is None:
        return str(tomllib.loads(text).get("name", otherwise)), PrivacyUnit.of(tomllib.loads(text).get("unit", {}))
    domain = Domain.load(given)
    if column in domain.columns:
        raise InvalidRequest(
            f"The domain file describes the column {column} already.", "Take its line out, or use its bounds."
        )
    return domain.name, replace(domain.protected(), as_one=False)  # it is rows that are looked at


def written_in(path: str) -> str:
    """Return a domain file as text; refused in words where it cannot be read."""
    read_toml(path)
    return Path(path).read_text("utf-8-sig")


def placed(text: str, column: str, line: str) -> str:
    """Return a domain file with one more line, first in [columns]; refused where it would not describe the column."""
    section = _SECTION.search(text)
    if section is None:
        filled = f"{text.rstrip()}\n\n[columns]\n{line}"
    else:
        head, rest = text[: section.end()], text[section.end() :]
        filled = head + line + re.sub(rf"(?m)^# {re.escape(key_of(column))} = \{{ low[^\n]*\n", "", rest)
    try:
        columns = tomllib.loads(filled).get("columns", {})
    except tomllib.TOMLDecodeError:
        columns = {}
    if column not in columns:
        raise InvalidRequest("The domain file has no place for bounds.", "Write [columns] on a line of its own.")
    return filled


def _line(column: str, ends: tuple[float, float], step: float, note: str) -> str:
    low, high = map(_number, ends)
    return f'{key_of(column)} = {{ low = {low}, high = {high}, step = {_number(step)}, missing = "drop" }}  # {note}\n'


def _number(value: float) -> str:
    """Return a number as TOML has it, without a point where it is whole."""
    exact = decimal(value)
    return str(exact.numerator) if exact.denominator == 1 else repr(value)


def key_of(name: str) -> str:
    """Return a name as a key of TOML."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else quoted(name)


def quoted(text: str) -> str:
    """Return a text of TOML."""
    return json.dumps(text, ensure_ascii=False)
