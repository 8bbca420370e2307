"""`gaugedp release`: a private answer, charged to a ledger."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice, product, repeat
from pathlib import Path

import click

from gaugedp._internal.language import ENGLISH, checked
from gaugedp._internal.numbers import answers
from gaugedp._internal.validate import one_of
from gaugedp.cli.output import checked_key, hand_over, show_payment, stored_before
from gaugedp.cli.shared import (
    SHOWN,
    Payment,
    check_files,
    guarantee_options,
    importance_option,
    intervals_option,
    language_option,
    load,
    number,
    numbers,
    payment_options,
    processing_options,
    question_options,
    show_table,
    weighted_query,
)
from gaugedp.cli.stage import stage
from gaugedp.domain.captions import Captions
from gaugedp.domain.unit import PrivacyUnit
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import Guarantee, from_dict
from gaugedp.guarantees.parse_guarantee import chargeable, guarantee_asked
from gaugedp.guarantees.printed import rounded_up
from gaugedp.ledger import Ledger
from gaugedp.queries import Query, query
from gaugedp.queries.linear import as_workload
from gaugedp.queries.outline import CELLS, Outline
from gaugedp.releases.answer import RAW, Release
from gaugedp.releases.planning import plan
from gaugedp.releases.processing import check, remark
from gaugedp.releases.releasing import release as make_release
from gaugedp.releases.tidy.tabular import LABELS
from gaugedp.statistics.base import split_answers
from gaugedp.tables.table import Table

_NUMBERS = ("estimate", "lower", "upper", "raw")
_NO_UNIT = (
    " The domain file has no [unit]: if a person may have several rows, name the column that identifies persons there."
)
_RAW_AGAIN = " It is unprocessed: to process it at no cost, add --consistent, --non-negative or --round again."
_SAVED = {".parquet": Release.save_parquet, ".xlsx": Release.save_excel}


@click.command()
@click.argument("table")
@question_options
@guarantee_options
@importance_option
@intervals_option
@payment_options()
@click.option("--adaptive", is_flag=True, help="Choose the tables to measure adaptively, as input for gaugedp rows.")
@click.option(
    "--key",
    metavar="TEXT",
    help="Name of this request. If you repeat it with the same name, you get the stored answer at no cost.",
)
@click.option("--buckets", "parts", metavar="N", help="Process the people in N batches, to use less memory.")
@click.option(
    "--folder",
    metavar="DIR",
    help="Folder for the sums of finished batches, so that the same --key resumes a killed run.",
)
@processing_options
@click.option(
    "--out",
    metavar="FILE",
    help="Write the answers and intervals to a .csv, .parquet or .xlsx file, one column per attribute.",
)
@click.option(
    "--labels", default="both", metavar="WHICH", help="Cells in --out: codes, labels or both. [default: both]"
)
@click.option("--report", metavar="FILE", help="Write a report, an HTML page that works offline.")
@language_option
@click.option("--save", metavar="FILE", help="Write the release as JSON, for gaugedp derive and other commands.")
@click.option("--json", "as_json", is_flag=True, help="Print the release as JSON.")
def release(
    table: str,
    domain_path: str,
    text: str,
    payment: Payment,
    key: str | None,
    parts: str | None,
    folder: str | None,
    steps: list[str],
    out: str | None,
    labels: str,
    report: str | None,
    language: str | None,
    save: str | None,
    as_json: bool,
    importance: str | None,
    intervals: str,
    adaptive: bool,
    **options: str | None,
) -> None:
    """Publish private answers to a query about TABLE.

    TABLE is a .csv, .tsv or .parquet file. The ledger is charged before the table is read. Answers are printed with as
    many digits as their intervals justify; --out, --save and --json contain all digits.

    Example: gaugedp release people.csv --domain domain.toml --query "SEX*AGEP" --epsilon 1 --ledger people.ledger
    --budget 3
    """
    domain, unit = load(domain_path)
    question, guarantee = weighted_query(domain, text, importance, intervals), numbers(**options)
    processing = check(steps, question)
    one_of(LABELS, labels=labels)
    words_in = checked(language or ENGLISH)
    source = _in_parts(Table.scan(table, domain=domain, unit=unit), parts, folder, key)
    _check_files({"table": table, "domain file": domain_path, "ledger": payment.ledger}, out, report, save)
    stage.key, stage.can_resume = checked_key(key), folder is not None
    stage.show("plan")
    prepare = _adaptive if adaptive else _planned
    charges, requested, answered = prepare(question, unit, guarantee)  # refuses before a ledger is made
    payment.check(charges, requested)
    account = payment.open(source.name, unit)
    answer = answered(source, ledger=account, key=stage.key, on_stage=stage.follow, on_progress=stage.draw)
    stored = account if stage.was_stored else None
    released = query(domain, answer.facts["query"]) if adaptive else question
    if processing:
        stage.show("process")
        answer = answer.processed(*processing, query=released)
    if words_in != ENGLISH:
        answer = answer.in_language(words_in)
    stage.show("write")
    _write(answer, released, (out, report, save, labels), as_json, stored)


def _check_files(read: dict[str, str], out: str | None, report: str | None, save: str | None) -> None:
    ending = _ending(out)
    kind = ending if ending in _SAVED else ".csv"
    check_files(read, out=(out, kind), report=(report, ".html"), save=(save, ".json"))
    if report:
        from gaugedp.report.plots import check_installed

        check_installed()
    if ending == ".xlsx":
        from gaugedp.releases.tidy.spreadsheet import check_installed as check_sheets

        check_sheets()


_Prepared = tuple[Sequence[Guarantee], Guarantee, Callable[..., Release]]


def _planned(question: Query, unit: PrivacyUnit, guarantee: dict[str, float | None]) -> _Prepared:
    planned = plan(question, unit, **guarantee)
    charges = chargeable(planned.mechanism.guarantee, planned.requested)
    return charges, planned.requested, partial(make_release, question, planned=planned)


def _adaptive(question: Query, unit: PrivacyUnit, guarantee: dict[str, float | None]) -> _Prepared:
    from gaugedp.synthesis.adaptive import AdaptivePlan, release_adaptively

    planned = AdaptivePlan.of(question, unit, guarantee_asked(**guarantee))
    epsilon, delta, rho = (guarantee[name] for name in ("epsilon", "delta", "rho"))
    release_it = partial(release_adaptively, question, epsilon=epsilon, delta=delta, rho=rho)
    return planned.charges, planned.requested, release_it


def show(answer: Release, question: Query, stored: Ledger | None = None) -> None:
    """Print the answers and the account for people."""
    show_answers(answer)
    for line in answer.remarks(question):
        click.echo(line)
    unit, undone = PrivacyUnit.of(answer.facts["unit"]), remark(answer.facts.get("processing", {}))
    click.echo(f"Protected: {unit}." + _NO_UNIT * (question.domain.unit is None))
    for line in (*answer.facts["rules"], *([undone] if undone else [])):
        click.echo(line)
    is_raw = not answer.processing and as_workload(question) is not None
    show_payment("answer", answer.facts["account"], stored, _RAW_AGAIN * is_raw)


def show_answers(answer: Release) -> None:
    """Print the first answers, with their intervals and the guarantee."""
    n_terms = next((place for place, each in enumerate(answer.estimates) if each.of_sampling), len(answer.terms))
    terms = answer.terms[: n_terms or None]  # those for sampling errors come last
    n_answers = sum(term.size for term in terms)
    about = f"({_guarantee(answer)}, {answer.exactness})"
    title = f"Answers with {_intervals(answer)} {about}"
    if answer.processing:
        title = f"Answers, processed ({', '.join(answer.processing)}), with {_intervals(answer)} {RAW} {about}"
    _show_answers(answer, terms, title + _simultaneous(answer))
    if n_answers > SHOWN:
        click.echo(f"... and {n_answers - SHOWN:,} more: write them with --out")
    if n_answers < len(answer.labels):
        click.echo(f"{len(answer.labels) - n_answers:,} sums for the sampling errors are not shown: --out writes them.")


def _show_answers(answer: Release, terms: Sequence[Outline], title: str) -> None:
    rows, lines, tables = islice(_rows(answer), SHOWN), list[dict[str, str]](), []
    for term in terms:
        of_term = list(islice(rows, term.size))
        if is_crossed(term) and len(of_term) == term.size and not answer.processing:
            tables.append((term, list(side_by_side(term, answer.captions, of_term))))
        else:
            lines += of_term
    show_table(lines, title, numbers=_NUMBERS) if lines else click.echo(title)
    for term, crossed in tables:
        columns = list(crossed[0])[len(term.axes) - 1 :]
        show_table(crossed, f"{term.text}: estimates (and their intervals)", numbers=columns)


def _intervals(answer: Release) -> str:
    levels = {estimate.ends or 0.95 for estimate in answer.estimates}
    return f"{100 * min(levels):g} % intervals"


def _simultaneous(answer: Release) -> str:
    released = [estimate.ends for estimate in answer.estimates if estimate.are_simultaneous]
    if len(released) == len(answer.estimates):
        return "; simultaneous intervals" * (len(answer.labels) > 1)
    return "; those of quantiles are simultaneous" * bool(released)


def _rows(answer: Release) -> Iterator[dict[str, str]]:
    columns = {name: column for name, column in answer.number_columns().items() if name in _NUMBERS}
    terms = zip(*(split_answers(answer.estimates, column) for column in columns.values()), strict=True)
    shown = chain.from_iterable(answers(*term) for term in terms)
    marks = zip(*answer.marks(), strict=True) if answer.flags else repeat((None, False))
    for label, row, (mark, is_hidden) in zip(answer.labels, shown, marks, strict=False):
        flag = {} if mark is None else {"flag": mark}
        texts = [""] * len(row) if is_hidden else row
        yield dict(zip(("query", "cell", *columns), (*label, *texts), strict=True)) | flag


def _guarantee(answer: Release) -> str:
    requested = from_dict(answer.facts["asked"])
    detail = "" if requested == answer.guarantee else f", in detail {answer.guarantee!r}"
    return rounded_up(f"{requested!r}{detail}")


def _in_parts(source: Table, parts: str | None, folder: str | None, key: str | None) -> Table:
    if folder is not None and key is None:
        raise InvalidRequest(
            "--folder is for resuming a release, which is found by its key, but --key is missing.",
            "Add --key NAME, and repeat the command with the same key to resume.",
        )
    if parts is None and folder is None:
        return source
    count = None if parts is None else number("buckets", parts)
    return source.in_buckets(int(count) if count is not None and count.is_integer() else count, folder=folder)  # type: ignore[arg-type]


def _ending(path: str | None) -> str:
    return Path(path or "").suffix.lower()


def _write(
    answer: Release,
    question: Query,
    files: tuple[str | None, str | None, str | None, str],
    as_json: bool,
    stored: Ledger | None,
) -> None:
    *paths, labels = files

    def printed() -> None:
        click.echo(answer.to_json()) if as_json else show(answer, question, stored)

    save_columns = partial(_SAVED.get(_ending(files[0]), Release.save_csv), answer, labels=labels)
    save_report = partial(answer.save_html, query=question)
    hand_over("answer", list(zip((save_columns, save_report, answer.save_json), paths, strict=True)), printed)
    if as_json and stored is not None:
        click.echo(stored_before("answer", answer.facts["account"]), err=True)


def is_crossed(term: Outline) -> bool:
    """Return True if a term can be shown crossed."""
    few = 1 < len(term.axes) <= 3 and len(term.axes[-1].texts) <= 6
    return few and all(axis.form == CELLS for axis in term.axes)


def side_by_side(term: Outline, captions: Captions, answers: Sequence[Mapping[str, str]]) -> Iterator[dict[str, str]]:
    """Yield crossed rows: the last attribute's cells are columns."""
    words = [[captions.cell(axis.name, text) for text in axis.texts] for axis in term.axes]
    names, across = [captions.name(name) for name in term.names[:-1]], words[-1]
    cells = (f"{answer['estimate']} ({answer['lower']} to {answer['upper']})" for answer in answers)
    for line in product(*words[:-1]):
        yield {**dict(zip(names, line, strict=True)), **{word: next(cells) for word in across}}
