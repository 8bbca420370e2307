"""Answers of two or three attributes on the screen: the cells of the last attribute side by side."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from gaugedp.captions import Captions
from gaugedp.queries.outline import CELLS, Outline

_MOST_COLUMNS, _MOST_ATTRIBUTES = 6, 3


def is_crossed(term: Outline) -> bool:
    """Whether a term has two or three attributes, and few cells of the last."""
    few = 1 < len(term.axes) <= _MOST_ATTRIBUTES and len(term.axes[-1].texts) <= _MOST_COLUMNS
    return few and all(axis.form == CELLS for axis in term.axes)


def side_by_side(term: Outline, captions: Captions, answers: Sequence[Mapping[str, str]]) -> Iterator[dict[str, str]]:
    """Yield a row for each combination of all attributes but the last: its cells' estimates, and their intervals."""
    words = [[captions.cell(axis.name, text) for text in axis.texts] for axis in term.axes]
    names, across = [captions.name(name) for name in term.names[:-1]], words[-1]
    cells = (f"{answer['estimate']} ({answer['lower']} to {answer['upper']})" for answer in answers)
    for line in product(*words[:-1]):
        yield {**dict(zip(names, line, strict=True)), **{word: next(cells) for word in across}}
