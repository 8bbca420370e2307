"""`gaugedp domain`: a domain file to fill in, from column names."""

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
from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.domain.text_format import PLAIN, TextFormat
from gaugedp.domain.toml import read_toml
from gaugedp.entropy import system_rng
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.parse_guarantee import guarantee_asked
from gaugedp.releases.executing import execute
from gaugedp.tables.files import File
from gaugedp.tables.headers import doubts
from gaugedp.tables.sources import file_columns
from gaugedp.tables.table import Table

_HEAD = """\
# From the column names of {file}: no row was read. Fill in what is public, from a codebook or the questionnaire, and
# remove the #. Leave out the columns that no query uses.
name = {name}
# title = "…"  # title of what is published; also source and footnote
{form}
[unit]
neighbours = "add_remove"  # one row is one person, who is in the table or not
# column = "…"             # if a person has several rows: the column that identifies the person,
# max_rows = 1             # and how many rows per person count. With 1, counts are of persons; with more, of rows

# [person]  # or omit max_rows and aggregate the rows of each person into one row: queries then use these names
# visits = {{ count = true, from = 1, to = 50 }}  # also sum, max, min, any (with is) and last (with order)

# [weights]  # of a survey: means, sums, shares and medians are then weighted, and "weighted count" adds weights up
# column = "…"
# low = 1    # weights are clipped to these public bounds; the noise is proportional to high
# high = …

# Every column is listed below twice: leave it where you group by it, where you sum or average it, or in both.
[attributes]  # columns to group by: all categories; bins low, high, width; or integers from, to
# A row whose value is missing or out of domain is left out of the whole query.
# {{ values = ["…", "…"], outside = "other" }} counts such rows in a cell of their own.
# Dates are {{ date = "month", from = "2024-01", to = "2024-12" }}; also day, week, quarter, year.
# Labels for readers: {{ values = ["1", "2"], label = "sex", labels = {{ "1" = "men", "2" = "women" }} }}.
"""
_FORM = """
{}[file]  # {}
{}separator = {}    # between fields
{}encoding = {}{}
# quote = "'"          # around fields that contain a separator; "" if no field is quoted
# decimal = ","        # in numbers such as 1.250,5
# thousands = "."
# date_format = "dd.mm.yyyy"
"""
_UNSEEN = '  # or "windows-1252", if the rows are not UTF-8: the first line has no letter that shows it'
_NUMBERS = "\n[columns]  # numbers to sum or average, and those of models: bounds, and the step of their values\n"
_MISSING = """\
# missing = "drop" leaves rows without a value out of sums and means; a number such as 0 replaces the value
# unknown = [99, -1] lists the codes that mean that a value is missing
"""
_SECTION = re.compile(r"^[ \t]*\[columns\][^\n]*\n", re.MULTILINE)


@click.command()
@click.argument("table")
@click.option("--out", metavar="FILE", help="Write to this file instead of standard output.")
@click.option("--header-confirmed", is_flag=True, help="Confirm that the first line holds public column names.")
@click.option("--learn", metavar="COLUMN", help="Estimate bounds of this numeric column, and charge the ledger.")
@click.option("--domain", "domain_path", metavar="FILE", help="With --learn: domain file that receives the bounds.")
@click.option("--step", metavar="NUMBER", help="With --learn: public step size of values and bounds. [default: 1]")
@click.option("--epsilon", metavar="NUMBER", help="With --learn: privacy parameter epsilon of the bounds.")
@click.option("--delta", metavar="NUMBER", help="With --learn: privacy parameter delta. [default: 0]")
@click.option("--ledger", "ledger_path", metavar="FILE", help="With --learn: ledger to charge.")
@budget_option
@signature_options
@click.option("--key", metavar="TEXT", help="With --learn: name of the request. Repeating a request costs nothing.")
def domain(table: str, out: str | None, header_confirmed: bool, learn: str | None, **options: str | None) -> None:
    """Write a domain file for TABLE, to be filled in.

    A domain file describes the columns of a table from public knowledge; all other commands need it. TABLE is a .csv,
    .tsv or .parquet file. Only the first line, with the column names, is read. Names that may be the values of a row,
    such as numbers, are refused without --header-confirmed.

    With --learn, the command reads the rows, estimates the bounds of a numeric column with noise, charges the ledger,
    and writes the bounds into the domain file.
    """
    check_files({"table": table}, out=(out, ".toml"))
    domain_file = options["domain_path"]
    if learn is not None and out is not None and is_kept(out):
        domain_file = out
    form = TextFormat.of(read_toml(domain_file).get("file", {})) if domain_file else _likely(table)
    names = file_columns(table, form)
    if not header_confirmed and domain_file is None:
        _check_names(table, names)
    if learn is not None:
        text = written_in(domain_file) if domain_file else skeleton(Path(table), names, form)
        learn_bounds((table, out, learn), text, domain_file, options)
        return
    if any(options.values()):
        raise InvalidRequest(
            "--ledger, --budget and --epsilon are for --learn, which is missing; without it, the command reads no "
            "rows.",
            "Name a column with --learn COLUMN, or omit these options.",
        )
    text = skeleton(Path(table), names, form)
    if out is None:
        click.echo(text, nl=False)
        return
    if is_kept(out):
        raise InvalidRequest(f"The file {out} already exists and is not overwritten.", "Pass another name.")
    save(out, lambda path: path.write_text(text, encoding="utf-8"))
    tried = f"gaugedp plan --domain {shlex.quote(out)} --query count --epsilon 1"
    said = f"Wrote {out}. Fill it in and try it; then replace count by your attributes:\n  {tried}"
    if form.separator:
        said = f"The first line suggests that {form.separator!r} separates the fields; [file] says so.\n{said}"
    click.echo(said, err=not is_kept(out))


def _check_names(table: str, names: list[str]) -> None:
    if found := doubts(names):
        raise InvalidRequest(
            f"The column names of {table!r} look like the values of a row: they include {', '.join(found)}.",
            "Write a header with column names above the rows. If the file already has one, add --header-confirmed.",
            "Nothing was written.",
        )


def _likely(table: str) -> TextFormat:
    file = File.find(table)
    return PLAIN if file.format == "Parquet" else file.likely()


def skeleton(table: Path, names: list[str], form: TextFormat) -> str:
    """Return the file's text, with each column twice as a comment."""
    written = _described(form, names) if table.suffix.lower() != ".parquet" and not table.is_dir() else ""
    head = _HEAD.format(file=table.name, name=in_quotes(table.name.split(".")[0] or "table"), form=written)
    attributes = [f'# {key_of(name)} = ["…", "…"]{_remark(name)}\n' for name in names]
    bounds = '{ low = 0, high = …, step = 1, missing = "drop" }'
    columns = [f"# {key_of(name)} = {bounds}{_remark(name)}\n" for name in names]
    return "".join([head, *attributes, _NUMBERS, _MISSING, *columns])


def _described(form: TextFormat, names: list[str]) -> str:
    """Return the section [file], as a comment if the first line suggests nothing."""
    is_unseen = all(map(str.isascii, names))
    separator, encoding = in_quotes(form.separator or ";"), in_quotes("latin-1" if is_unseen else form.encoding)
    are_on = form != PLAIN, form.separator, form != PLAIN and not is_unseen
    whole, marked, converted = ("" if is_on else "# " for is_on in are_on)
    why = "only if the table is written otherwise" if form == PLAIN else "suggested by the first line; complete it"
    return _FORM.format(whole, why, marked, separator, converted, encoding, _UNSEEN * is_unseen)


def _remark(name: str) -> str:
    return "" if written(name) == name else "  # in a query, put this name in double quotes"


def learn_bounds(
    named: tuple[str, str | None, str], text: str, domain_file: str | None, options: Mapping[str, str | None]
) -> None:
    """Estimate bounds of a column and write them into a domain file.

    `named` holds the table, the output file (the domain file if None) and the column. `text` is the content of
    `domain_file`, or of a new one. Every check precedes the charge.
    """
    from gaugedp.estimators.table_bounds import TableBounds

    table, out, column = named
    if options["epsilon"] is None or options["ledger_path"] is None:
        raise InvalidRequest(
            "--learn reads rows of the table, which spends privacy budget, but --epsilon or --ledger is missing.",
            "Pass both, such as --epsilon 0.2 --ledger people.ledger.",
        )
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
    form = TextFormat.of(tomllib.loads(text).get("file", {}))
    source = Table.scan(table, domain=replace(planned.domain, text_format=form), unit=unit, name=name)
    stage.begin("plan")
    planned.prepare(source, system_rng())  # refuses before a ledger is created
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
            click.echo("One bound is the widest possible: there are few numbers, or the noise hides them.", err=True)
        if stored is not None:
            click.echo(stored_before("search for bounds", result["facts"]["account"]), err=True)
        elif is_file:
            show_account(result["facts"]["account"], None)

    hand_over("domain file", [(lambda path: path.write_text(filled, encoding="utf-8"), out)], show)


def _name_and_unit(text: str, domain_file: str | None, column: str, otherwise: str) -> tuple[str, PrivacyUnit]:
    if domain_file is None:
        return str(tomllib.loads(text).get("name", otherwise)), PrivacyUnit.of(tomllib.loads(text).get("unit", {}))
    domain = Domain.load(domain_file)
    if column in domain.columns:
        raise InvalidRequest(
            f"The domain file already has bounds for the column {column}.",
            "Use these bounds, or remove the line of the column to learn others.",
        )
    return domain.name, replace(domain.protected(), as_one=False)  # rows are read, not persons


def written_in(path: str) -> str:
    """Return the text of a valid domain file."""
    read_toml(path)
    return Path(path).read_text("utf-8-sig")


def placed(text: str, column: str, line: str) -> str:
    """Add a line to [columns], or refuse if the result is wrong."""
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
        raise InvalidRequest(
            "The bounds belong under [columns], but the file has no such section.", "Add a line with [columns] to it."
        )
    return filled


def _line(column: str, ends: tuple[float, float], step: float, note: str) -> str:
    low, high = map(_number, ends)
    return f'{key_of(column)} = {{ low = {low}, high = {high}, step = {_number(step)}, missing = "drop" }}  # {note}\n'


def _number(value: float) -> str:
    exact = decimal(value)
    return str(exact.numerator) if exact.denominator == 1 else repr(value)


def key_of(name: str) -> str:
    """Return a name as a key of TOML."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else in_quotes(name)
