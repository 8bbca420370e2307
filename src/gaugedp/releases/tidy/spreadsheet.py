"""Answers in an Excel sheet, with a sheet of notes."""

import math
import re
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from gaugedp.errors import InvalidRequest, MissingExtra

_PROPERTIES, _TIMES = "docProps/core.xml", re.compile(rb"<dcterms:(created|modified)\b.*?</dcterms:\1>")
_NOTES = {"query": "Query", "table": "Table", "protects": "Protected", "digest": "Digest of the query"}


def write_sheet(path: str | Path, columns: Mapping[str, Sequence[Any]], facts: Mapping[str, Any]) -> None:
    """Write columns of texts and numbers, if they fit."""
    check_installed()
    import openpyxl

    rows = zip(*columns.values(), strict=True)
    if len(next(iter(columns.values()))) > 2**20 - 1:  # rows of a sheet, below its heads
        raise InvalidRequest("An Excel sheet has too few rows for these answers.", "Write a .parquet file.")
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("answers")
    for row in chain([list(columns)], map(list, rows)):
        sheet.append([_plain_text(sheet, value) for value in row])
    notes = book.create_sheet("notes")
    for key, words in _NOTES.items():
        notes.append([words, _plain_text(notes, str(facts.get(key, "")))])
    for rule in facts.get("rules", ()):
        notes.append(["Rule", _plain_text(notes, str(rule))])
    written = BytesIO()
    book.save(written)
    _write_undated(written, path)


def _write_undated(written: BytesIO, path: str | Path) -> None:
    """Write a workbook without timestamps, for reproducible files."""
    with ZipFile(written) as parts, ZipFile(path, "w", ZIP_DEFLATED) as book:
        for name in parts.namelist():
            text = parts.read(name)
            book.writestr(ZipInfo(name), _TIMES.sub(b"", text) if name == _PROPERTIES else text, ZIP_DEFLATED)


def check_installed() -> None:
    """Refuse if no sheet can be written."""
    if find_spec("openpyxl") is None:
        raise MissingExtra.needed_for("An Excel file", "excel")


def _plain_text(sheet: Any, value: Any) -> Any:
    """Return a cell that is never a formula."""
    value = "∞" if value == math.inf else value
    if not isinstance(value, str):
        return value
    from openpyxl.cell import WriteOnlyCell

    cell = WriteOnlyCell(sheet, value="".join(letter for letter in value if letter >= " " or letter in "\t\n"))
    cell.data_type = "s"
    return cell
