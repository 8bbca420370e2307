"""`gaugedp derive`: statistics computed from a release, at no cost."""

from collections.abc import Callable
from pathlib import Path

import click

from gaugedp.cli.output import hand_over
from gaugedp.cli.release import show_answers
from gaugedp.cli.shared import check_files, number, read_text
from gaugedp.domain.domain import Domain
from gaugedp.releases.answer import Release
from gaugedp.releases.deriving.between import CONTAINED, compare_releases
from gaugedp.releases.deriving.derive import derive as make
from gaugedp.releases.publication.publication import Publication


@click.command()
@click.argument("path", metavar="RELEASE")
@click.option("--query", "text", required=True, metavar="TEXT", help='Statistics, such as "share(SEX) by REGION".')
@click.option("--against", metavar="RELEASE", help='Earlier release to compare with, as in --query "change(SEX)".')
@click.option("--against-publication", "earlier", metavar="FILE", help="Publication file of the earlier release.")
@click.option("--domain", "domain_path", metavar="FILE", help="Domain file, needed for sums, means and numeric cells.")
@click.option("--publication", metavar="FILE", help="Publication file of the release, instead of a domain file.")
@click.option(
    "--level",
    default="0.95",
    metavar="NUMBER",
    help="Confidence level for gini, lorenz and compared means. [default: 0.95]",
)
@click.option("--out", metavar="FILE", help="Write the statistics and intervals as CSV, one column per attribute.")
@click.option("--report", metavar="FILE", help="Write a report, an HTML page that works offline.")
@click.option("--save", metavar="FILE", help="Write the statistics as a release in JSON.")
def derive(
    path: str,
    text: str,
    against: str | None,
    earlier: str | None,
    domain_path: str | None,
    publication: str | None,
    level: str,
    out: str | None,
    report: str | None,
    save: str | None,
) -> None:
    """Compute other statistics from a release, at no cost.

    Use it for shares, changes and other statistics that follow from published answers. RELEASE is the JSON file that
    --save wrote. No table is read and nothing is spent. The intervals follow from the noise of the release.

    Example: gaugedp derive release.json --query "share(SEX) by REGION"
    """
    public = {"domain file": domain_path, "publication": publication, "earlier": earlier, "earlier release": against}
    read = {"release": path} | {role: place for role, place in public.items() if place is not None}
    check_files(read, out=(out, ".csv"), report=(report, ".html"), save=(save, ".json"))
    domain, confidence = Domain.load(domain_path) if domain_path else None, float(number("level", level))
    later, plans = (
        _read(path),
        tuple(Publication.load(name).plan() if name else None for name in (publication, earlier)),
    )
    if against is None:
        figures = make(later, text, domain=domain, planned=plans[0], level=confidence)
    else:
        both = (plans[0], plans[1] or plans[0])
        figures = compare_releases(later, _read(against), text, domain=domain, planned=both, level=confidence)
    writers: list[tuple[Callable[[Path], object], str | None]] = [
        (figures.save_csv, out),
        (figures.save_html, report),
        (figures.save_json, save),
    ]
    hand_over("statistics", writers, lambda: _show(figures))


def _read(path: str) -> Release:
    return Release.from_json(read_text(path, "the JSON file that --save or gaugedp publish wrote"))


def _show(figures: Release) -> None:
    show_answers(figures)
    if "earlier" in figures.facts["derived"]:
        click.echo(CONTAINED[figures.intervals])
    click.echo(
        f"Computed from the answers to {figures.facts['derived']['query']}: nothing was read and nothing was spent."
    )
