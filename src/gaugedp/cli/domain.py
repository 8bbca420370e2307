"""`gaugedp domain`: a domain file to fill in, from the names of the columns alone."""

import shlex
from pathlib import Path

import click

from gaugedp._names import written
from gaugedp.cli.learn import key_of, learn_bounds, quoted, written_in
from gaugedp.cli.output import write_beside
from gaugedp.cli.shared import budget_option, check_apart, check_writable, signature_options
from gaugedp.errors import InvalidRequest
from gaugedp.tables.sources import file_columns

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


@click.command()
@click.argument("table")
@click.option("--out", metavar="FILE", help="Write it to this file instead of showing it.")
@click.option("--learn", metavar="COLUMN", help="Find bounds of this numeric column with noise, and pay for them.")
@click.option("--domain", "domain_path", metavar="FILE", help="With --learn: the domain file that gets the bounds.")
@click.option("--step", metavar="NUMBER", help="With --learn: values and bounds are multiples of it, public; else 1.")
@click.option("--epsilon", metavar="NUMBER", help="With --learn: epsilon, of the bounds.")
@click.option("--delta", metavar="NUMBER", help="With --learn: delta, beside epsilon.")
@click.option("--ledger", "ledger_path", metavar="FILE", help="With --learn: the durable account of this table.")
@budget_option
@signature_options
@click.option("--key", metavar="TEXT", help="With --learn: the same request again returns the stored bounds, free.")
def domain(table: str, out: str | None, learn: str | None, **options: str | None) -> None:
    """Make a domain file to fill in for TABLE (a .csv, .tsv or .parquet file): only the column names are read.

    With --learn, bounds of a numeric column are found with noise, paid for, and written into the file.
    """
    names = file_columns(table)
    check_apart({"table": table}, {"out": out})
    if learn is not None:
        given = out if out is not None and Path(out).is_file() else options["domain_path"]
        learn_bounds((table, out, learn), written_in(given) if given else skeleton(Path(table), names), given, options)
        return
    if any(options.values()):
        raise InvalidRequest("Only the names of columns are read without --learn.", "Name a column: --learn COLUMN.")
    text = skeleton(Path(table), names)
    if out is None:
        click.echo(text, nl=False)
        return
    if Path(out).is_file():
        raise InvalidRequest(f"There is a file {out} already.", "Name another: what is filled in there would be lost.")
    check_writable(out, ".toml")
    write_beside(Path(out), lambda path: path.write_text(text, encoding="utf-8"))
    tried = f"gaugedp plan --domain {shlex.quote(out)} --query count --epsilon 1"
    click.echo(f"Wrote {out}. Fill it in, and try it; then ask for your attributes in place of count:\n  {tried}")


def skeleton(table: Path, names: list[str]) -> str:
    """Return the file as text; each column stands in it twice, as a comment."""
    head = _HEAD.format(file=table.name, name=quoted(table.name.split(".")[0] or "table"))
    attributes = [f'# {key_of(name)} = ["…", "…"]{_remark(name)}\n' for name in names]
    bounds = '{ low = 0, high = …, step = 1, missing = "drop" }'
    columns = [f"# {key_of(name)} = {bounds}{_remark(name)}\n" for name in names]
    return "".join([head, *attributes, _NUMBERS, _MISSING, *columns])


def _remark(name: str) -> str:
    """Return a comment beside a name that a question cannot hold as it is."""
    return "" if written(name) == name else "  # in a question, this name stands in double quotes"
