"""Excel workbooks: a sheet for each table as it is printed, all answers, and notes."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np

from gaugedp._internal.language import say
from gaugedp.errors import InvalidRequest, MissingExtra

_PROPERTIES, _TIMES = "docProps/core.xml", re.compile(rb"<dcterms:(created|modified)\b.*?</dcterms:\1>")
_NO_NAME = re.compile(r"[\[\]:*?/\\\x00-\x1f]")
_WIDEST, _MOST_LINES = 60, 2**20 - 8  # letters of a column; rows of a sheet below its heads
_MEASURED = 200  # rows that decide the widths of columns


@dataclass(frozen=True, eq=False)
class Sheet:
    """Columns of a sheet, with a title above them, and marks of numbers.

    `sign` is that of the numbers, such as "%". `marks` has a column for each numeric column that has marks.
    """

    name: str
    columns: Mapping[str, Sequence[Any] | np.ndarray]
    title: str = ""
    sign: str = ""
    marks: Mapping[str, Sequence[str]] | None = None

    @property
    def n_lines(self) -> int:
        """Number of lines below the heads."""
        return len(next(iter(self.columns.values())))


def write_book(path: str | Path, sheets: Sequence[Sheet], notes: Sequence[tuple[str, str]]) -> None:
    """Write the sheets and a sheet of notes, without timestamps."""
    check_installed()
    import openpyxl

    if max(sheet.n_lines for sheet in sheets) > _MOST_LINES:
        raise InvalidRequest("An Excel sheet has too few rows for these answers.", "Write a .parquet file.")
    book = openpyxl.Workbook(write_only=True)
    names: list[str] = []
    for sheet in sheets:
        names.append(_unused(sheet.name, names))
        _fill(book.create_sheet(names[-1]), sheet)
    last = book.create_sheet(_unused(say("notes.sheet"), names))
    last.column_dimensions["A"].width, last.column_dimensions["B"].width = 24, 100
    for words, text in notes:
        last.append([_cell(last, words, bold=True), _cell(last, text)])
    written = BytesIO()
    book.save(written)
    _write_undated(written, path)


def _fill(page: Any, sheet: Sheet) -> None:
    from openpyxl.utils import get_column_letter

    above = [[_cell(page, sheet.title, bold=True)], []] if sheet.title else []
    page.freeze_panes = f"A{len(above) + 2}"
    for place, (name, column) in enumerate(sheet.columns.items(), 1):
        texts = [name, *(_shown(value) for value in column[:_MEASURED])]
        page.column_dimensions[get_column_letter(place)].width = min(_WIDEST, max(map(len, texts)) + 3)
    for line in chain(above, [[_cell(page, name, bold=True) for name in sheet.columns]], _lines(page, sheet)):
        page.append(line)


def _lines(page: Any, sheet: Sheet) -> Iterator[list[Any]]:
    marks = sheet.marks or {}
    columns = [
        [_cell(page, value, form=_format(column, sheet.sign, mark)) for value, mark in _pairs(column, marks.get(name))]
        for name, column in sheet.columns.items()
    ]
    return map(list, zip(*columns, strict=True))


def _pairs(column: Sequence[Any] | np.ndarray, marks: Sequence[str] | None) -> Iterator[tuple[Any, str]]:
    values = column.tolist() if isinstance(column, np.ndarray) else column
    for value, mark in zip(values, marks or [""] * len(values), strict=True):
        is_hidden = isinstance(value, float) and math.isnan(value)
        yield ((mark or None), "") if is_hidden else (value, mark)


def _format(column: Sequence[Any] | np.ndarray, sign: str, mark: str) -> str:
    whole = all(isinstance(value, int | np.integer) or value is None for value in column[:_MEASURED])
    form = "0.0%" if sign == "%" else "#,##0" if whole else "#,##0.00"
    mark = mark.replace('"', "”")  # a format has no straight quotation mark within a text
    return f'{form}" {mark}"' if mark else form


def _shown(value: Any) -> str:
    return f"{value:,.2f}" if isinstance(value, float) else "" if value is None else str(value)


def _unused(name: str, names: Sequence[str]) -> str:
    plain = _NO_NAME.sub(" ", name).strip(" '")[:31] or "table"
    taken, number = {other.casefold() for other in names}, 2
    unused = plain
    while unused.casefold() in taken:
        unused, number = f"{plain[:27]} {number}", number + 1
    return unused


def _write_undated(written: BytesIO, path: str | Path) -> None:
    with ZipFile(written) as parts, ZipFile(path, "w", ZIP_DEFLATED) as book:
        for name in parts.namelist():
            text = parts.read(name)
            book.writestr(ZipInfo(name), _TIMES.sub(b"", text) if name == _PROPERTIES else text, ZIP_DEFLATED)


def check_installed() -> None:
    """Refuse if no sheet can be written."""
    if find_spec("openpyxl") is None:
        raise MissingExtra.needed_for("An Excel file", "excel")


def _cell(sheet: Any, value: Any, bold: bool = False, form: str = "") -> Any:
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.styles import Font

    value = "∞" if value == math.inf else value
    if not isinstance(value, str):
        cell = WriteOnlyCell(sheet, value=value)
        cell.number_format = form
        return cell
    cell = WriteOnlyCell(sheet, value="".join(letter for letter in value if letter >= " " or letter in "\t\n"))
    cell.data_type = "s"
    if bold:
        cell.font = Font(bold=True)
    return cell
