"""`gaugedp geometry`: the sensitivity body of a query, without data."""

import json

import click
import numpy as np

from gaugedp.bodies import Body, image
from gaugedp.bounds.geometry import geometry as geometry_of
from gaugedp.cli.output import save
from gaugedp.cli.shared import check_files, load, number, question_options
from gaugedp.domain.unit import PrivacyUnit
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import PureDP
from gaugedp.queries import Query, query


@click.command()
@question_options
@click.option("--epsilon", default="1", metavar="NUMBER", help="Privacy parameter epsilon for the errors. [default: 1]")
@click.option("--svg", metavar="FILE", help="Write a drawing of the body and the noise. It needs gaugedp[report].")
@click.option("--axes", metavar="I,J", help="Numbers of the two answers to draw, from 0. [default: longest axes]")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def geometry(domain_path: str, text: str, epsilon: str, svg: str | None, axes: str | None, as_json: bool) -> None:
    """Describe how one unit can change the answers to a query.

    These changes form a convex body, the sensitivity body. The command prints its volume and moments, the errors of
    mechanisms, and lower bounds on the error of any mechanism. Use it to see how close a mechanism is to the best
    possible one. No data is read.
    """
    domain, unit = load(domain_path)
    plane = _plane(axes)
    if svg is None and plane is not None:
        raise InvalidRequest("--axes selects the plane of a drawing, but no drawing was requested.", "Add --svg FILE.")
    check_files({"domain file": domain_path}, svg=(svg, ".svg"))
    shape_report = geometry_of(_body(query(domain, text), unit), number("epsilon", epsilon))
    if svg is not None:
        save(svg, lambda path: shape_report.save_svg(path, plane))
    click.echo(json.dumps(shape_report.to_dict()) if as_json else shape_report.table())


def _body(question: Query, unit: PrivacyUnit) -> Body:
    if any(mechanism.in_rows for mechanism in question.mechanisms.candidates(unit, PureDP(1.0))):
        raise InvalidRequest(
            "The query requests quantiles, which have no sensitivity body because their noise is not added to an "
            "answer.",
            "Request counts or sums.",
        )
    body, weights = question.sensitivity(unit), question.errors.weights
    scales = np.full(body.ambient_dim, 1 / float(question.steps.runs[0][0])) if weights is None else weights
    return body if (scales == 1).all() else image(body, np.diag(1 / scales))


def _plane(axes: str | None) -> tuple[int, int] | None:
    if axes is None:
        return None
    first, _, second = axes.partition(",")
    if not (first.strip().isdecimal() and second.strip().isdecimal()):
        raise InvalidRequest(
            f"--axes is {axes!r}, but must name two answers.", "Pass two positions counted from 0, such as 0,1."
        )
    return int(first), int(second)
