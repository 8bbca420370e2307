"""Excel workbooks: a sheet for each table as it is printed, all answers, and notes."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from io import BytesIO
from itertools import chain, repeat
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np

from gaugedp._internal.language import say
from gaugedp.errors import InvalidRequest, MissingExtra

_PROPERTIES, _TIMES = "docProps/core.xml", re.compile(rb"<dcterms:(created|modified)\b.*?</dcterms:\1>")
_NO_NAME = re.compile(r"[\[\]:*?/\\\x00-\x1f\ufffe\uffff]")
_NOT_XML = re.compile(r"[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MEASURED_ROWS = 200  # rows that decide the widths of columns


@dataclass(frozen=True, eq=False)
class Sheet:
    """Columns of a sheet, with a `title` and a line about the numbers above them, and marks of numbers.

    `sign` is that of the numbers, such as "%". `marks` has a column for each numeric column that has marks. `decimals`
    has the decimals of the numbers in each line. The texts `below` follow the lines.
    """

    name: str
    columns: Mapping[str, Sequence[Any] | np.ndarray]
    title: Sequence[str] = ()
    sign: str = ""
    marks: Mapping[str, Sequence[str]] | None = None
    decimals: Sequence[int] = ()
    below: Sequence[str] = ()

    @property
    def n_lines(self) -> int:
        """Number of lines below the heads."""
        return len(next(iter(self.columns.values())))


def write_book(path: str | Path, sheets: Sequence[Sheet], notes: Sequence[tuple[str, str]]) -> None:
    """Write the sheets and a sheet of notes, without timestamps."""
    check_installed()
    import openpyxl

    if max(sheet.n_lines for sheet in sheets) > 2**20 - 8:  # rows of a sheet below its heads
        raise InvalidRequest("An Excel sheet has too few rows for these answers.", "Write a .parquet file.")
    book = openpyxl.Workbook(write_only=True)
    names: list[str] = []
    for sheet in sheets:
        names.append(_unused(sheet.name, names))
        _fill(book.create_sheet(names[-1]), sheet)
    last = book.create_sheet(_unused(say("notes.sheet"), names))
    last.column_dimensions["A"].width, last.column_dimensions["B"].width = 24, 100  # letters
    _fit_to_pages(last)
    for number, (words, text) in enumerate(notes, 1):
        last.row_dimensions[number].height = 15 * max(-(-len(words) // 22), -(-len(text) // 100))  # points of a line
        last.append([_cell(last, words, bold=True, wrapped=True), _cell(last, text, wrapped=True)])
    written = BytesIO()
    book.save(written)
    _write_undated(written, path)


def _fill(page: Any, sheet: Sheet) -> None:
    """Write the title, the heads, the lines of a sheet, and what is below."""
    from openpyxl.utils import get_column_letter

    above = [[_cell(page, text, bold=number == 0)] for number, text in enumerate(sheet.title)]
    page.freeze_panes = f"A{len(above) + 2}"
    _fit_to_pages(page, len(above) + 1)
    for place, (name, column) in enumerate(sheet.columns.items(), 1):
        texts = [name, *map(_shown, column[:_MEASURED_ROWS], chain(sheet.decimals, repeat(2)))]
        page.column_dimensions[get_column_letter(place)].width = min(60, max(map(len, texts)) + 3)  # letters
    heads = [_cell(page, name, bold=True, right=_is_numeric(column)) for name, column in sheet.columns.items()]
    below = [[_cell(page, text)] for text in sheet.below]
    for line in chain(above, [heads], _lines(page, sheet), [[]] if below else [], below):
        page.append(line)


def _fit_to_pages(page: Any, n_heads: int = 0) -> None:
    """Print all columns on one page of A4, with the first rows on each page."""
    from openpyxl.worksheet.properties import PageSetupProperties

    page.sheet_properties.pageSetUpPr = PageSetupProperties(fitToPage=True)
    page.page_setup.orientation, page.page_setup.paperSize = "landscape", 9  # A4
    page.page_setup.fitToWidth, page.page_setup.fitToHeight = 1, 0
    if n_heads:
        page.print_title_rows = f"1:{n_heads}"


def _lines(page: Any, sheet: Sheet) -> Iterator[list[Any]]:
    marks = sheet.marks or {}
    columns = [
        [
            _cell(page, value, form=_format(value, sheet.sign, mark, decimals), right=_is_numeric(column))
            for (value, mark), decimals in zip(_pairs(column, marks.get(name)), _places(column, sheet), strict=False)
        ]
        for name, column in sheet.columns.items()
    ]
    return map(list, zip(*columns, strict=True))


def _places(column: Sequence[Any] | np.ndarray, sheet: Sheet) -> Sequence[int]:
    return sheet.decimals or [2] * len(column)


def _is_numeric(column: Sequence[Any] | np.ndarray) -> bool:
    return any(isinstance(value, int | float | np.number) for value in column[:_MEASURED_ROWS])


def _pairs(column: Sequence[Any] | np.ndarray, marks: Sequence[str] | None) -> Iterator[tuple[Any, str]]:
    values = column.tolist() if isinstance(column, np.ndarray) else column
    for value, mark in zip(values, marks or [""] * len(values), strict=True):
        is_hidden = isinstance(value, float) and math.isnan(value)
        yield ((mark or None), "") if is_hidden else (value, mark)


def _format(value: Any, sign: str, mark: str, decimals: int) -> str:
    """Return the number format of a value, which shows the mark after the number."""
    form = ("0" if sign == "%" else "#,##0") + ("." + "0" * decimals if decimals and isinstance(value, float) else "")
    mark = _in_xml(mark).replace('"', "”")  # a format has no straight quotation mark within a text
    form += "%" if sign == "%" else ""
    return f'{form}" {mark}"' if mark else form


def _shown(value: Any, decimals: int) -> str:
    return f"{value:,.{decimals}f}" if isinstance(value, float) else "" if value is None else str(value)


def _unused(name: str, names: Sequence[str]) -> str:
    plain = _shortened(" ".join(_NO_NAME.sub(" ", name).split()).strip(" '"), 31) or "table"
    taken, number = {other.casefold() for other in names}, 2
    unused = plain
    while unused.casefold() in taken:
        unused, number = f"{_shortened(plain, 27)} {number}", number + 1
    return unused


def _shortened(name: str, most: int) -> str:
    """Return the first words of a name of a sheet, or letters of a long word, without marks at the end."""
    if len(name) <= most:
        return name
    words = name[: most + 1].rpartition(" ")[0]
    return (words if len(words) > most // 2 else name[:most]).rstrip(" ',;:.–-")


def _write_undated(written: BytesIO, path: str | Path) -> None:
    with ZipFile(written) as parts, ZipFile(path, "w", ZIP_DEFLATED) as book:
        for name in parts.namelist():
            text = parts.read(name)
            book.writestr(ZipInfo(name), _TIMES.sub(b"", text) if name == _PROPERTIES else text, ZIP_DEFLATED)


def check_installed() -> None:
    """Refuse if no sheet can be written."""
    if find_spec("openpyxl") is None:
        raise MissingExtra.needed_for("An Excel file", "excel")


def _in_xml(text: str) -> str:
    """Return the text without letters that XML does not allow."""
    return _NOT_XML.sub("", text)


def _cell(
    sheet: Any, value: Any, bold: bool = False, form: str = "", right: bool = False, wrapped: bool = False
) -> Any:
    """Return a cell that is never a formula."""
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.styles import Alignment, Font

    value = "∞" if value == math.inf else value
    if not isinstance(value, str):
        cell = WriteOnlyCell(sheet, value=value)
        cell.number_format = form
        return cell
    cell = WriteOnlyCell(sheet, value=_in_xml(value))
    cell.data_type = "s"
    if bold:
        cell.font = Font(name="Calibri", size=11, bold=True)
    if right or wrapped or bold:
        cell.alignment = Alignment(horizontal="right" if right else None, vertical="top", wrap_text=wrapped)
    return cell
