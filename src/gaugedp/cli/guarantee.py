"""`gaugedp guarantee`: the power of membership tests under a guarantee."""

import json

import click

from gaugedp.cli.output import save
from gaugedp.cli.shared import check_files, guarantee_options, number, numbers, read_text, whole_number
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import Guarantee, from_json
from gaugedp.guarantees.parse_guarantee import guarantee_asked


@click.command()
@guarantee_options
@click.option("--file", "path", metavar="FILE", help="Guarantee as JSON, instead of the four options above.")
@click.option("--times", default="1", metavar="N", help="Number of such releases from the same rows. [default: 1]")
@click.option("--group", default="1", metavar="K", help="Size of a group of units to protect. [default: 1]")
@click.option("--prior", default="0.5", metavar="NUMBER", help="Prior probability of membership. [default: 0.5]")
@click.option("--svg", metavar="FILE", help="Write a drawing of the trade-off curve. Needs gaugedp[report].")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def guarantee(
    path: str | None, times: str, group: str, prior: str, svg: str | None, as_json: bool, **options: str | None
) -> None:
    """Print how well any membership test can do.

    It prints both errors, the advantage and the posterior. No data is read.
    """
    check_files({} if path is None else {"file": path}, svg=(svg, ".svg"))
    composed = (_single(path, options) * whole_number("times", times)).group(whole_number("group", group))
    risk = composed.membership_risk(number("prior", prior))
    if svg is not None:
        save(svg, lambda place: place.write_text(_picture(composed), encoding="utf-8"))
    click.echo(json.dumps(risk.to_dict()) if as_json else risk.table())


def _single(path: str | None, options: dict[str, str | None]) -> Guarantee:
    if path is None:
        return guarantee_asked(**numbers(**options))
    if any(text is not None for text in options.values()):
        raise InvalidRequest("A guarantee is given in addition to --file.", "Give only one of them.")
    return from_json(read_text(path, "a file that `gd.guarantees.to_json` wrote"))


def _picture(composed: Guarantee) -> str:
    from gaugedp.report import tradeoff_svg

    return tradeoff_svg({repr(composed): composed})
