"""Every row of the page on the sources has a line that gives what the page shows, or a reason why it has none."""

import re
from functools import cache
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "sources.md"
TEXT = PAGE.read_text("utf-8")
ROWS = [
    tuple(cell.strip() for cell in line.strip("| ").split(" | "))
    for line in TEXT.splitlines()
    if line.startswith("| ") and not line.startswith("| item |")
]
LINES = [(row[0], row[2].strip("`"), row[3].strip("`")) for row in ROWS if row[2].startswith("`")]


def shown(value: Any) -> str:
    """Return what a row shows of a value: three digits, the shape of an array, a short repr, else the kind."""
    if isinstance(value, bool | np.bool_ | int):
        return str(value)
    if isinstance(value, Real):
        return f"{float(value):.3g}"
    if isinstance(value, np.ndarray):
        return f"shape {value.shape}"
    if isinstance(value, tuple):
        return ", ".join(map(shown, value)) or "nothing"
    return repr(value) if len(repr(value)) <= 24 else f"a {type(value).__name__}"


pytestmark = pytest.mark.slow  # the imports take seconds, a line some milliseconds


@cache
def names() -> dict[str, Any]:
    """The names that the page's only block makes."""
    space: dict[str, Any] = {}
    exec(re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)[0], space)
    return space


@pytest.mark.parametrize(("item", "line", "gives"), LINES, ids=[f"{item}: {line}"[:60] for item, line, _ in LINES])
def test_the_line_gives_what_the_row_shows(item: str, line: str, gives: str) -> None:
    assert shown(eval(line, names())) == gives, item


def test_every_row_has_a_line_or_a_reason() -> None:
    assert len(ROWS) > 130
    assert [row for row in ROWS if len(row) < 3 or not (row[2].startswith("`") or row[2].startswith("none: "))] == []
    assert {row[0] for row in ROWS if row[2].startswith("none: ") and len(row[2]) < 15} == set()
