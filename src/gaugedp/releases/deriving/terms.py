"""Terms that only releases have: quotients of forms of numbers."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gaugedp._internal.names import parts, plain
from gaugedp._internal.numbers import readable
from gaugedp.domain.domain import Domain
from gaugedp.errors import InvalidRequest
from gaugedp.queries.labels import Listed
from gaugedp.queries.linear import Workload, as_workload
from gaugedp.queries.outline import SHARES, Axis, Outline, attribute_axis
from gaugedp.queries.text import query
from gaugedp.statistics import KINDS
from gaugedp.statistics.comparison import MeanDifference, MeanRatio
from gaugedp.statistics.forms import Quotient
from gaugedp.statistics.inequality import Gini
from gaugedp.statistics.quantile import WithEnds

_OF_MEANS = {kind.of_counts.word: kind for kind in KINDS.values() if issubclass(kind, MeanRatio)}
_OF_VALUES = {name: kind for name, kind in KINDS.items() if issubclass(kind, Gini)}
_COMPARED = re.compile(rf"^({'|'.join(_OF_MEANS)})\s*\(\s*(mean\s*\(.*\)\s+by\s+[^()]+)\)$")
_OF_CELLS = re.compile(rf"^({'|'.join(_OF_VALUES)})\s*\(([^()]*)\)(?:\s+by\s+(.+))?$")


@dataclass(frozen=True)
class FormTerm:
    """Term of statistics: its query, its outline and its quotients.

    Answer i is scale·quotients[i] + offset of the numbers at places[i]; it is written in steps of `step`.
    """

    kind: type[WithEnds]
    question: Workload
    outline: Outline
    quotients: Sequence[Quotient]
    places: np.ndarray
    step: Fraction
    scale: float = 1.0
    offset: float = 0.0

    @property
    def cells(self) -> list[Listed]:
        """Labels of the answers along each axis."""
        words = [[f"{axis.name}={text}" for text in axis.texts] for axis in self.outline.axes] or [["all"]]
        return list(map(Listed, words))


def form_term(domain: Domain, text: str) -> FormTerm | None:
    """Parse a term of statistics; None for an ordinary query."""
    if compared := _COMPARED.match(text):
        return _of_means(domain, text, _OF_MEANS[compared[1]], compared[2])
    if of_cells := _OF_CELLS.match(text):
        return _of_cells(domain, text, _OF_VALUES[of_cells[1]], parts(of_cells[2], ","), of_cells[3])
    return None


def _of_means(domain: Domain, text: str, kind: type[MeanRatio], means: str) -> FormTerm:
    """Parse `ratio(mean(C) by A*B)`: means along A, compared within B."""
    question = as_workload(query(domain, means))
    assert question is not None
    piece, column = question.pieces[0], domain.column(str(question.pieces[0].column))
    names, shape = piece.attributes, domain.shape(piece.attributes)
    counts = kind.of_counts.of_cells(int(np.prod(shape)), shape[0], names)
    middle, half_range = float((column.low + column.high) / 2), float((column.high - column.low) / 2)
    is_difference = kind is MeanDifference
    if not is_difference and middle < half_range:
        raise InvalidRequest(
            f"{piece.column} may be negative, so a ratio of means has no meaning.", "Use difference instead."
        )
    own, other = counts.compared(np.arange(counts.n_released))
    places = np.stack([own, own + counts.n_released, other, other + counts.n_released], axis=1)
    first, *rest = _axes(domain, names)
    axis = attribute_axis(names[0], domain.attribute(names[0]), Listed(list(first.texts)[1:]))
    outline = Outline(text, kind.kind, piece.column, (axis, *rest), first.texts[0])
    quotients = [kind.quotient(middle, half_range, float(column.step))] * len(own)
    step = Fraction(column.step if is_difference else 1) / 10**6  # a millionth of a unit
    return FormTerm(kind, question, outline, quotients, places, step, counts.factor, counts.factor * counts.shift)


def _of_cells(domain: Domain, text: str, kind: type[Gini], inside: list[str], by: str | None) -> FormTerm:
    """Parse `gini(A) by B` and `lorenz(A, 0.5, 0.9) by B`. Each row is assigned the middle of its cell of A."""
    name, shares = plain(inside[0]), [_share(plain(part)) for part in inside[1:]]
    if kind.takes_shares != bool(shares):
        raise InvalidRequest(
            f"{text!r} is not a term.", f"Write lorenz({name}, 0.5) for the share of the lowest half, or gini({name})."
        )
    quotients, groups = kind.quotients(_middles(domain, name), shares), parts(by or "", "*") if by else []
    question = as_workload(query(domain, "*".join([*filter(None, groups), inside[0]])))
    assert question is not None
    axes = list(_axes(domain, [plain(part) for part in groups]))
    if shares:
        axes.append(Axis("share", Listed([readable(share) for share in shares]), SHARES))
    places = np.arange(len(question.steps)).reshape(-1, domain.attribute(name).n_cells)
    outline = Outline(text, kind.kind, name, tuple(axes))
    every = quotients * len(places)
    return FormTerm(kind, question, outline, every, np.repeat(places, len(quotients), axis=0), Fraction(1, 10**6))


def _axes(domain: Domain, names: Sequence[str]) -> Iterator[Axis]:
    for name in names:
        yield attribute_axis(name, domain.attribute(name), Listed(domain.attribute(name).labels))


def _middles(domain: Domain, name: str) -> np.ndarray:
    borders = np.array(domain.attribute(name).borders)
    if len(borders) != domain.attribute(name).n_cells + 1 or borders[0] < 0:
        raise InvalidRequest(
            f"The cells of {name} are not bounded ranges of non-negative numbers.",
            'Use an attribute with low, high and width, or edges, and outside = "drop"; give its domain.',
        )
    return np.asarray((borders[:-1] + borders[1:]) / 2)


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise InvalidRequest(f"{text!r} is not a share.", "Write a number between 0 and 1, such as 0.5.")
    return share
