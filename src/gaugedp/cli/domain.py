"""`gaugedp domain`: a domain file to fill in, from the names of the columns alone."""

import re
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import click

from gaugedp._internal.names import in_quotes, written
from gaugedp._internal.validate import decimal
from gaugedp.cli.output import checked_key, hand_over, is_kept, save, show_account, stored_before
from gaugedp.cli.shared import (
    Payment,
    budget_option,
    check_apart,
    check_files,
    check_writable,
    number,
    numbers,
    signature_options,
)
from gaugedp.cli.stage import stage
from gaugedp.domain.domain import Domain, PrivacyUnit
from gaugedp.domain.toml import read_toml
from gaugedp.entropy import system_rng
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.parse_guarantee import guarantee_asked
from gaugedp.releases.executing import execute
from gaugedp.tables.headers import doubts
from gaugedp.tables.sources import file_columns
from gaugedp.tables.table import Table

_HEAD = """\
# From the names of the columns of {file} alone: no row was read. Fill in what anybody may know without the rows, from a
# codebook or the questionnaire, and take the # away. Leave out the columns that no question is about.
name = {name}
# title = "…"  # of what is published; also source and footnote

[unit]
neighbours = "add_remove"  # one row is one person, who is in the table or not
# column = "…"             # where a person has several rows: the column that says whose a row is,
# max_rows = 1             # and how many rows of a person count. With 1, counts are of persons; with more, of rows

# [person]  # or leave max_rows out and make one row of all rows of each person: questions are then about these names
# visits = {{ count = true, from = 1, to = 50 }}  # also sum, max, min, any (with is) and last (with order)

# Every column stands below twice: keep it where you count by it, where you add it up or average it, or in both.
[attributes]  # what is counted by: all categories; bins low, high, width; or whole numbers from, to
# A row whose value is missing, or fits no cell, is left out of the whole question.
# {{ values = ["…", "…"], outside = "other" }} counts such rows in a cell of their own.
# Dates are {{ date = "month", from = "2024-01", to = "2024-12" }}; also day, week, quarter, year.
# What people read: {{ values = ["1", "2"], label = "sex", labels = {{ "1" = "men", "2" = "women" }} }}.
"""
_NUMBERS = "\n[columns]  # numbers to add up or to average, and those of models: bounds, and the step of their values\n"
_MISSING = """\
# missing = "drop" leaves rows without a value out of sums and means; a number such as 0 takes its place
# unknown = [99, -1] lists the codes that mean that a value is missing
"""
_SECTION = re.compile(r"^[ \t]*\[columns\][^\n]*\n", re.MULTILINE)


@click.command()
@click.argument("table")
@click.option("--out", metavar="FILE", help="Write it to this file instead of showing it.")
@click.option("--header-confirmed", is_flag=True, help="The column names are names, and may be published as they are.")
@click.option("--learn", metavar="COLUMN", help="Find bounds of this numeric column with noise, and pay for them.")
@click.option("--domain", "domain_path", metavar="FILE", help="With --learn: the domain file that gets the bounds.")
@click.option("--step", metavar="NUMBER", help="With --learn: values and bounds are multiples of it, public; else 1.")
@click.option("--epsilon", metavar="NUMBER", help="With --learn: epsilon, of the bounds.")
@click.option("--delta", metavar="NUMBER", help="With --learn: delta, beside epsilon.")
@click.option("--ledger", "ledger_path", metavar="FILE", help="With --learn: the durable account of this table.")
@budget_option
@signature_options
@click.option("--key", metavar="TEXT", help="With --learn: the same request again returns the stored bounds, free.")
def domain(table: str, out: str | None, header_confirmed: bool, learn: str | None, **options: str | None) -> None:
    """Make a domain file to fill in for TABLE (a .csv, .tsv or .parquet file): only the column names are read.

    Names that may be the values of a row, such as numbers, are refused without --header-confirmed.
    With --learn, bounds of a numeric column are found with noise, paid for, and written into the file.
    """
    check_files({"table": table}, out=(out, ".toml"))
    domain_file = options["domain_path"]
    if learn is not None and out is not None and is_kept(out):
        domain_file = out
    names = file_columns(table)
    if not header_confirmed and domain_file is None:
        _check_names(table, names)
    if learn is not None:
        text = written_in(domain_file) if domain_file else skeleton(Path(table), names)
        learn_bounds((table, out, learn), text, domain_file, options)
        return
    if any(options.values()):
        raise InvalidRequest("Only the names of columns are read without --learn.", "Name a column: --learn COLUMN.")
    text = skeleton(Path(table), names)
    if out is None:
        click.echo(text, nl=False)
        return
    if is_kept(out):
        raise InvalidRequest(f"There is a file {out} already.", "Name another: what is filled in there would be lost.")
    save(out, lambda path: path.write_text(text, encoding="utf-8"))
    tried = f"gaugedp plan --domain {shlex.quote(out)} --query count --epsilon 1"
    said = f"Wrote {out}. Fill it in, and try it; then ask for your attributes in place of count:\n  {tried}"
    click.echo(said, err=not is_kept(out))


def _check_names(table: str, names: list[str]) -> None:
    """Refuse names that may be a person's values, which would be written into a public file; none is shown."""
    if found := doubts(names):
        raise InvalidRequest(
            f"The column names of {table!r} may be the values of a row: there is {', '.join(found)}.",
            "Write a line of names above the rows; if it is there, add --header-confirmed.",
            "Nothing was written.",
        )


def skeleton(table: Path, names: list[str]) -> str:
    """Return the file as text; each column stands in it twice, as a comment."""
    head = _HEAD.format(file=table.name, name=in_quotes(table.name.split(".")[0] or "table"))
    attributes = [f'# {key_of(name)} = ["…", "…"]{_remark(name)}\n' for name in names]
    bounds = '{ low = 0, high = …, step = 1, missing = "drop" }'
    columns = [f"# {key_of(name)} = {bounds}{_remark(name)}\n" for name in names]
    return "".join([head, *attributes, _NUMBERS, _MISSING, *columns])


def _remark(name: str) -> str:
    """Return a comment beside a name that a question cannot hold as it is."""
    return "" if written(name) == name else "  # in a question, this name stands in double quotes"


def learn_bounds(
    named: tuple[str, str | None, str], text: str, domain_file: str | None, options: Mapping[str, str | None]
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
    name, unit = _name_and_unit(text, domain_file, column, Path(table).name.split(".")[0] or "table")
    placed(text, column, _line(column, (0, 1), 1, ""))  # refuses
    payment = Payment.of(options["ledger_path"], options["budget_text"], options["by"], options["purpose"])
    step = number("step", options["step"] or "1")
    guarantee = guarantee_asked(*numbers(epsilon=options["epsilon"], delta=options["delta"]).values())
    stage.key = checked_key(options["key"])
    planned = TableBounds(column, step, unit, guarantee)
    source = Table.scan(table, domain=planned.domain, unit=unit, name=name)
    stage.begin("plan")
    planned.prepare(source, system_rng())  # refuses before a ledger is made
    payment.check([planned.guarantee, planned.guarantee_of_parts], planned.guarantee)
    account, stage.reading = payment.open(name, unit), f"Reading the rows and searching for bounds of {column}"
    result = execute(planned, account, source, stage.key, on_stage=stage.show)
    stored = account if stage.was_stored else None
    stage.show("write")
    entry, ends = result["facts"]["account"]["entry"], (result["low"], result["high"])
    note = f"found with noise for {guarantee!r}: entry {entry} of {Path(options['ledger_path']).name}"
    filled = placed(text, column, _line(column, ends, result["step"], note))

    def show() -> None:
        if out is None:
            click.echo(filled, nl=False)
        is_file = out is not None and is_kept(out)
        click.echo(f"{column} lies between {_number(ends[0])} and {_number(ends[1])}, with noise.", err=not is_file)
        if result["is_widest"]:
            click.echo("An end is the widest there is: the column has few numbers, or noise hides them.", err=True)
        if stored is not None:
            click.echo(stored_before("search for bounds", result["facts"]["account"]), err=True)
        elif is_file:
            show_account(result["facts"]["account"], None)

    hand_over("domain file", [(lambda path: path.write_text(filled, encoding="utf-8"), out)], show)


def _name_and_unit(text: str, domain_file: str | None, column: str, otherwise: str) -> tuple[str, PrivacyUnit]:
    """Return the name and the unit of a domain file; refused: one that describes the column already."""
    if domain_file is None:
        return str(tomllib.loads(text).get("name", otherwise)), PrivacyUnit.of(tomllib.loads(text).get("unit", {}))
    domain = Domain.load(domain_file)
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
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else in_quotes(name)
