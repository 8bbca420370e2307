"""Answers as columns, some lines at a time: one for each attribute, then the question, the estimate, its intervals."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from gaugedp.captions import Captions
from gaugedp.queries.outline import Outline

NUMBERS = ("estimate", "lower", "upper", "lower_all", "upper_all", "raw")
_OWN = {"query", "cell", *NUMBERS}
_LINES = 2**16  # at a time
Columns = dict[str, np.ndarray]


def attribute_columns(outlines: Sequence[Outline]) -> dict[str, str]:
    """Return the names of axes in the order in which they occur, with the names of their columns."""
    names = dict.fromkeys(name for outline in outlines for name in outline.names)
    return {name: f"{name} (attribute)" if name in _OWN else name for name in names}


def blocks(
    outlines: Sequence[Outline],
    cells: Sequence[Sequence[str]],
    numbers: Mapping[str, np.ndarray],
    captions: Captions | None,
) -> Iterator[Columns]:
    """Yield the columns of some answers at a time, all of one term; with captions, cells have their labels."""
    places, start = attribute_columns(outlines), 0
    for outline, texts in zip(outlines, cells, strict=True):
        size = len(texts)
        for first in range(0, size, _LINES):
            last = min(first + _LINES, size)
            part = {name: column[start + first : start + last] for name, column in numbers.items()}
            lines = last - first
            yield {
                **{column: _full(None, lines) for column in places.values()},
                **{places[name]: column for name, column in _axes(outline, first, last, captions)},
                "query": _full(outline.text, lines),
                **part,
                "cell": np.array(texts[first:last], dtype=object),
            }
        start += size


def _axes(outline: Outline, first: int, last: int, captions: Captions | None) -> Iterator[tuple[str, np.ndarray]]:
    """Yield for each axis its name and the cell of each answer first … last − 1, in product order."""
    places = np.unravel_index(np.arange(first, last), outline.shape) if outline.axes else ()
    for axis, place in zip(outline.axes, places, strict=True):
        used, among = np.unique(place, return_inverse=True)
        texts = [axis.texts[int(number)] for number in used]
        named = texts if captions is None else [captions.cell(axis.name, text) for text in texts]
        yield axis.name, np.array(named, dtype=object)[among]


def _full(text: str | None, lines: int) -> np.ndarray:
    column = np.empty(lines, dtype=object)
    column[:] = text
    return column
