"""`gaugedp explore`: a page of errors against epsilon and delta."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gaugedp.cli.output import save
from gaugedp.cli.shared import check_files, load, number, question_options, read_text
from gaugedp.domain.unit import PrivacyUnit
from gaugedp.errors import InvalidRequest
from gaugedp.queries import Query, query
from gaugedp.releases.answer import Release, check_released

if TYPE_CHECKING:
    from gaugedp.report.explored import Explored


_BEGIN = "Computing the curves takes about {seconds:g} seconds at most; --seconds 2 makes a draft."
_START = "Computing the initial epsilon only ..."


@click.command()
@question_options
@click.option("--out", required=True, metavar="FILE", help="Write the page to this .html file, which works offline.")
@click.option("--epsilon", default="1", metavar="NUMBER", help="Initial epsilon shown on the page. [default: 1]")
@click.option("--delta", default="0", metavar="NUMBER", help="Initial delta shown on the page. [default: 0]")
@click.option("--seconds", default="10", metavar="NUMBER", help="Time limit; 0 computes one epsilon. [default: 10]")
@click.option("--release", "released", metavar="FILE", help="Saved release, to write a report that contains this page.")
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
def explore(
    domain_path: str, text: str, out: str, epsilon: str, delta: str, seconds: str, released: str | None, as_json: bool
) -> None:
    """Write a page that helps to choose epsilon and delta.

    The page plots the errors of the answers, and lower bounds on them, against epsilon and delta. It also explains what
    the guarantee means. No data is read.
    """
    from gaugedp.report.explorer import check_start

    domain, unit = load(domain_path)
    question = query(domain, text)
    start = (number("epsilon", epsilon), number("delta", delta))
    check_start(start)
    limit = number("seconds", seconds)
    if not limit >= 0:
        raise InvalidRequest(f"`seconds` is {seconds!r}, but must not be negative.", "Pass 0 or a positive number.")
    check_files({"domain file": domain_path, **({"release": released} if released else {})}, out=(out, ".html"))
    explored = _write(Path(out), (question, unit, start, limit), _read(released, question))
    if as_json:
        click.echo(json.dumps(explored.to_dict()))
    else:
        points = "1 point is" if len(explored.points) == 1 else f"{len(explored.points)} points are"
        click.echo(f"{points} in {out}. Open it in a browser; it needs no network.")


def _read(path: str | None, question: Query) -> Release | None:
    if path is None:
        return None
    release = Release.from_json(read_text(path, "the JSON file that `gaugedp release --save` wrote"))
    check_released(release, question)
    return release


def _write(
    out: Path, request: tuple[Query, PrivacyUnit, tuple[float, float], float], release: Release | None
) -> "Explored":
    from gaugedp.report.explorer import save_explorer, save_report

    question, unit, start, seconds = request
    results: list[Explored] = []
    progress = _Told()
    click.echo(_BEGIN.format(seconds=seconds) if seconds else _START, err=True)

    def write(path: Path) -> None:
        if release is None:
            results.append(save_explorer(question, unit, path, start, seconds, progress))
        else:
            results.append(save_report(release, question, path, seconds, progress))

    save(str(out), write)
    if progress.share < 1:
        click.echo(f"Time limit reached. {results[0].counts()} A larger --seconds gives finer curves.", err=True)
    return results[0]


class _Told:
    """Progress messages on standard error, one per twentieth."""

    def __init__(self) -> None:
        self.share, self._next = 0.0, 0.0

    def __call__(self, share: float) -> None:
        self.share = share
        if share >= self._next - 1e-9 or share == 1:
            self._next = share + 0.05
            click.echo(f"Computing the curves: {share:.0%}", err=True)
