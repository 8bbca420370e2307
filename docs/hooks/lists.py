"""What an item of a list holds is indented by its mark in the repository view, by four in the Markdown of the site."""

import re
from typing import Any

ITEM = re.compile(r"(?P<before> *)(?:[-*]|\d+\.) +(?=\S)")
WIDTH = 4


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Indent what lists hold by four for each list that it is in."""
    return "\n".join(_indented(markdown.split("\n")))


def _indented(lines: list[str]) -> list[str]:
    """`inside` holds, for each list that is open, the column where the text of its item begins."""
    found, inside, fence, loose = [], [], "", False
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if line.strip() and not fence:
            inside = _still_open(inside, indent, lazy=bool(found and found[-1].strip()) and not ITEM.match(line))
        item = None if fence else ITEM.match(line)
        if item is not None and loose and found[-1].strip():
            found.append("")  # here an item does not begin right after a paragraph
        found.append(" " * _shift(inside, indent) + line if line.strip() else line)
        loose = bool(inside or item) and (loose or not line.strip())
        fence = _fence_after(fence, line.strip())
        inside = [*inside, item.end()] if item is not None else inside
    return found


def _still_open(inside: list[int], indent: int, lazy: bool) -> list[int]:
    """A line closes the lists whose text begins to its right, unless it goes on with a paragraph."""
    return inside if lazy and inside else [column for column in inside if column <= indent]


def _shift(inside: list[int], indent: int) -> int:
    held = [column for column in inside if column <= indent]
    return max(WIDTH * len(held) - held[-1], 0) if held else 0


def _fence_after(fence: str, text: str) -> str:
    """The mark of the block of code that is open after a line, or nothing."""
    mark = re.match(r"`{3,}", text)
    if fence:
        return "" if text.startswith(fence) and not text.strip("`") else fence
    return mark[0] if mark else ""
