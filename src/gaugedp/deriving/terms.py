"""Figures as text: quotients of forms of released numbers that a question cannot ask for, cell by cell."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gaugedp._names import parts, plain
from gaugedp._numbers import readable
from gaugedp.deriving.figures import Quotient, difference, gini, lowest, ratio
from gaugedp.domain import Domain
from gaugedp.errors import InvalidRequest
from gaugedp.queries.comparison_estimates import CHANGE, DIFFERENCE, INDEX, RATIO
from gaugedp.queries.labels import Listed
from gaugedp.queries.linear import Workload
from gaugedp.queries.outline import GINI, LORENZ, OF_MEANS, SHARES, Axis, Outline, attribute_axis
from gaugedp.queries.text import query

_COMPARED = re.compile(
    r"^(?P<kind>difference|ratio|index|change)\s*\(\s*(?P<mean>mean\s*\(.*\))\s+by\s+(?P<by>[^()]+)\)$"
)
_OF_CELLS = re.compile(r"^(?P<kind>gini|lorenz)\s*\((?P<inside>[^()]*)\)(?:\s+by\s+(?P<by>.+))?$")
_SCALES = {RATIO: (1.0, 0.0), INDEX: (100.0, 0.0), CHANGE: (100.0, -100.0), DIFFERENCE: (1.0, 0.0)}
_FINE = 10**6  # steps of a figure to a unit


@dataclass(frozen=True)
class FigureTerm:
    """A term of figures: the question that they follow from, the outline of the answers, and each figure's numbers.

    Answer i is scale·figures[i] + offset of the numbers at places[i]; it is written in steps of `step`.
    """

    question: Workload
    outline: Outline
    figures: Sequence[Quotient]
    places: np.ndarray
    step: Fraction
    scale: float = 1.0
    offset: float = 0.0

    @property
    def cells(self) -> list[list[str]]:
        """The words of the answers along each axis, with the names."""
        return [[f"{axis.name}={text}" for text in axis.texts] for axis in self.outline.axes] or [["all"]]


def figure_term(domain: Domain, text: str) -> FigureTerm | None:
    """Return the figures that a term names; None where it is an ordinary question."""
    if compared := _COMPARED.match(text):
        return _of_means(domain, text, compared["kind"], compared["mean"], compared["by"])
    if of_cells := _OF_CELLS.match(text):
        return _of_cells(domain, text, of_cells["kind"], of_cells["inside"], of_cells["by"])
    return None


def _of_means(domain: Domain, text: str, kind: str, mean: str, by: str) -> FigureTerm:
    """Read `ratio(mean(C) by A*B)`: the means along A beside the first, or the one before, in each cell of B."""
    question = query(domain, f"{mean} by {by}").linear
    assert question is not None
    (term,), (middle, half_range) = question.terms, question.terms[0].estimate.ratio or (0.0, 0.0)
    names = term.pieces[0].attributes
    shape = domain.shape(names)
    if shape[0] == 1:
        raise InvalidRequest(f"{names[0]} has one cell: nothing to compare.", "Compare those of another attribute.")
    if kind != DIFFERENCE and middle < half_range:
        raise InvalidRequest(
            f"{term.pieces[0].column} may be negative: its means have no ratio.", "Ask for difference."
        )
    cells = np.arange(np.prod(shape)).reshape(shape[0], -1)
    own, other = (
        cells[1:].ravel(),
        (cells[:-1] if kind == CHANGE else np.repeat(cells[:1], shape[0] - 1, axis=0)).ravel(),
    )
    places = np.stack([own, own + cells.size, other, other + cells.size], axis=1)
    unit = domain.column(str(term.pieces[0].column)).step
    figure = difference(half_range) if kind == DIFFERENCE else ratio(middle, half_range, float(unit))
    facts = [domain.attribute(name) for name in names]
    first, *rest = (attribute_axis(name, fact, Listed(fact.labels)) for name, fact in zip(names, facts, strict=True))
    axis = attribute_axis(names[0], facts[0], Listed(facts[0].labels[1:]))
    outline = Outline(text, OF_MEANS[kind], term.pieces[0].column, (axis, *rest), first.texts[0])
    step = unit / _FINE if kind == DIFFERENCE else Fraction(1, _FINE)
    return FigureTerm(question, outline, [figure] * len(own), places, step, *_SCALES[kind])


def _of_cells(domain: Domain, text: str, kind: str, inside: str, by: str | None) -> FigureTerm:
    """Read `gini(A) by B` and `lorenz(A, 0.5, 0.9) by B`: each row has the middle of its cell of A."""
    name, *listed = (plain(part) for part in parts(inside, ","))
    shares = [_share(part) for part in listed]
    if (kind == LORENZ) != bool(shares):
        raise InvalidRequest(
            f"{text!r} is no term.", f"Write lorenz({name}, 0.5) for what the lowest half has, or gini({name})."
        )
    values, names = _middles(domain, name), () if by is None else tuple(plain(part) for part in parts(by, "*"))
    question = query(domain, "*".join([*(part for part in parts(by or "", "*") if part), parts(inside, ",")[0]])).linear
    assert question is not None
    figures: list[Quotient] = [lowest(values, share) for share in shares] or [gini(values)]
    groups = np.arange(question.n_released).reshape(-1, len(values))
    axes = [attribute_axis(of, domain.attribute(of), Listed(domain.attribute(of).labels)) for of in names]
    if shares:
        axes.append(Axis("share", Listed([readable(share) for share in shares]), SHARES))
    outline = Outline(text, {"gini": GINI, "lorenz": LORENZ}[kind], name, tuple(axes))
    places = np.repeat(groups, len(figures), axis=0)
    return FigureTerm(question, outline, figures * len(groups), places, Fraction(1, _FINE))


def _middles(domain: Domain, name: str) -> np.ndarray:
    """Return the middle of each cell of a numeric attribute."""
    borders = np.array(domain.attribute(name).borders)
    if len(borders) != domain.attribute(name).n_cells + 1 or borders[0] < 0:
        raise InvalidRequest(
            f"The cells of {name} are no ranges of numbers from 0 up, each with two ends.",
            'Take an attribute with low, high and width, or edges, and outside = "drop"; give its domain.',
        )
    return np.asarray((borders[:-1] + borders[1:]) / 2)


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise InvalidRequest(f"{text!r} is no share.", "Write a number between 0 and 1, such as 0.5.")
    return share
