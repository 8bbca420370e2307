"""Answers as columns and wide tables, and as files."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gaugedp._internal.files import check_ending, write_csv
from gaugedp._internal.language import ENGLISH
from gaugedp._internal.runs import whole_where_all_are
from gaugedp._internal.validate import one_of
from gaugedp.domain.captions import Captions
from gaugedp.errors import InvalidRequest
from gaugedp.queries.labels import Labels
from gaugedp.queries.outline import Outline
from gaugedp.releases.tidy.crosstabs import Columns, Crosstabs
from gaugedp.releases.tidy.flags import Flag, marked
from gaugedp.tables.frames import make_frame

NUMBERS = ("estimate", "lower", "upper", "lower_all", "upper_all", "raw")
LABELS = ("codes", "labels", "both")  # of cells in files
_OWN = {"query", "cell", "flag", *NUMBERS}
_LINES = 2**16  # per block


class Tabular(ABC):
    """Answers with labels, intervals, outlines and other public facts."""

    labels: Labels
    facts: Mapping[str, Any]

    @property
    @abstractmethod
    def terms(self) -> tuple[Outline, ...]:
        """Outline of each term: its measure and its axes."""

    @property
    @abstractmethod
    def captions(self) -> Captions:
        """Captions shown instead of names and codes."""

    @property
    def flags(self) -> tuple[Flag, ...]:
        """Rules that mark answers; see `Flag`."""
        return tuple(map(Flag.stored, self.facts.get("flags", ())))

    @property
    def sets(self) -> dict[str, int]:
        """Number of the set of tables that each term adds up with, by its text; all add up if there are none."""
        sets = self.facts.get("agreement", {}).get("sets", ())
        return {text: number for number, parts in enumerate(sets) for texts in parts for text in texts}

    @property
    def language(self) -> str:
        """Language of pages and notes; see `LANGUAGES`."""
        return str(self.facts.get("language", ENGLISH))

    @abstractmethod
    def number_columns(self, level: float = 0.95) -> dict[str, np.ndarray]:
        """Return the numeric columns of `columns`, shape (n_answers,) each."""

    def to_frame(self, level: float = 0.95, labels: bool = False) -> Any:
        """Return `columns` as a frame of the rows' type.

        If the rows were in no frame, it is a pandas (or else polars) frame. With `labels`, cells have the domain's
        captions.
        """
        return make_frame(self._joined(level, "labels" if labels else "codes"), self.facts.get("frame"))

    def table(self, names: str, value: str = "estimate", labels: bool = True) -> Any:
        """Return a cross table of "A*B", with margins.

        The cells of A are its rows, and the cells of B are its columns. `value` selects the column of `columns` that is
        shown. A margin is a released answer if `A`, `B` or `count` was requested too, in a table that adds up with this
        one, and otherwise the sum of the cells shown. Ends of intervals and means have only requested margins.
        Attributes that were not requested together are refused.
        """
        return make_frame(self.crosstabs(value, labels).table(names, value), self.facts.get("frame"))

    def crosstabs(self, value: str = "estimate", labels: bool = True) -> "Crosstabs":
        """Return the cross tables of a column of `columns`."""
        numbers = self._flagged(0.95)
        if value not in numbers or value == "flag":
            known = [name for name in numbers if name != "flag"]
            raise InvalidRequest(f"The table has no column {value!r}.", f"Choose one of {', '.join(known)}.")
        captions = self.captions if labels else Captions()
        return Crosstabs(self.terms, numbers[value], captions, value in ("estimate", "raw"), sets=self.sets)

    def columns(self, level: float = 0.95, labels: str = "codes") -> dict[str, list[Any]]:
        """Return the answers as columns, one for each attribute.

        The attributes are followed by query, estimate, lower and upper (individual intervals), lower_all and upper_all
        (simultaneous intervals) and, if estimates were processed, `raw`, to which the intervals refer. With `flags`,
        the column `flag` has their marks, and suppressed numbers are None. The last column, `cell`, has all attributes
        in one text. `labels` selects the names of cells: the "codes" of the table, the domain's "labels", or "both",
        which puts the labels in columns of their own.
        """
        return _shown(self._joined(level, labels))

    def _joined(self, level: float, labels: str) -> dict[str, np.ndarray]:
        parts = list(self._blocks(level, labels))
        joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        return {name: whole_where_all_are(column) if name in NUMBERS else column for name, column in joined.items()}

    def save_csv(self, path: str | Path, labels: str = "both") -> None:
        """Write the answers with 95 % intervals; see `columns`."""
        write_csv(path, map(_shown, self._blocks(labels=labels)))

    def save_parquet(self, path: str | Path, labels: str = "both") -> None:
        """Write the columns to Parquet, numbers as 64-bit floats."""
        from gaugedp.tables.duckdb.engine import write_parquet

        check_ending(path, ".parquet")
        write_parquet(path, self._blocks(labels=labels))

    def save_excel(self, path: str | Path, labels: str = "both") -> None:
        """Write an Excel file: the tables, all answers, and notes.

        Each table has its own sheet, with margins, as it would be printed: with the domain's labels, unless `labels` is
        "codes". It needs openpyxl.
        """
        from gaugedp.releases.tidy.printed import save_book

        check_ending(path, ".xlsx")
        save_book(path, self, self.columns(labels=labels), labels)

    def marks(self) -> tuple[np.ndarray, np.ndarray]:
        """Return each answer's mark, and whether it is suppressed.

        Both arrays have shape (n_answers,).
        """
        sizes = [(text, len(cells)) for text, cells in self.labels.terms]
        return marked(self.flags, self.number_columns(), sizes)

    def _flagged(self, level: float) -> dict[str, np.ndarray]:
        """Return the numeric columns, suppressed numbers as NaN, with `flag` if there are rules."""
        numbers = self.number_columns(level)
        if not self.flags:
            return numbers
        marks, hidden = self.marks()
        shown = (
            {name: np.where(hidden, np.nan, column) for name, column in numbers.items()} if hidden.any() else numbers
        )
        return {**shown, "flag": marks}

    def _blocks(self, level: float = 0.95, labels: str = "codes") -> Iterator[dict[str, np.ndarray]]:
        one_of(LABELS, labels=labels)
        cells = [texts for _, texts in self.labels.terms]
        return blocks(self.terms, cells, self._flagged(level), None if labels == "codes" else self.captions, labels)


def _shown(columns: Mapping[str, np.ndarray]) -> dict[str, list[Any]]:
    return {name: _plain(column) if name in NUMBERS else list(column) for name, column in columns.items()}


def _plain(values: np.ndarray) -> list[float | int | None]:
    numbers = whole_where_all_are(values)
    if numbers is not values:
        return list(numbers.tolist())
    return [
        None if value != value else int(value) if value.is_integer() else value  # noqa: PLR0124
        for value in values.tolist()
    ]


def attribute_columns(outlines: Sequence[Outline]) -> dict[str, str]:
    """Return axis names with their column names, in order."""
    names = dict.fromkeys(name for outline in outlines for name in outline.names)
    return {name: f"{name} (attribute)" if name in _OWN else name for name in names}


def blocks(
    outlines: Sequence[Outline],
    cells: Sequence[Sequence[str]],
    numbers: Mapping[str, np.ndarray],
    captions: Captions | None,
    labels: str = "labels",
) -> Iterator[Columns]:
    """Yield blocks of columns, each of a single term.

    With captions, cells have their labels, or "both": then attributes with labels have a column more.
    """
    places, start = attribute_columns(outlines), 0
    both = captions if labels == "both" else None
    further = {name: f"{column} label" for name, column in places.items() if both and both.has_labels(name)}
    further = {name: f"{text} (domain)" if text in places.values() else text for name, text in further.items()}
    columns = [text for name, column in places.items() for text in (column, *filter(None, [further.get(name)]))]
    first_captions = None if both else captions
    for outline, texts in zip(outlines, cells, strict=True):
        size = len(texts)
        for first in range(0, size, _LINES):
            last = min(first + _LINES, size)
            part = {name: column[start + first : start + last] for name, column in numbers.items()}
            lines = last - first
            yield {
                **{column: _full(None, lines) for column in columns},
                **{places[name]: column for name, column in _axes(outline, first, last, first_captions)},
                **{further[name]: column for name, column in _axes(outline, first, last, both) if name in further},
                "query": _full(outline.text, lines),
                **part,
                "cell": np.array(texts[first:last], dtype=object),
            }
        start += size


def _axes(outline: Outline, first: int, last: int, captions: Captions | None) -> Iterator[tuple[str, np.ndarray]]:
    """Yield each axis with the cells of answers first … last−1."""
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
