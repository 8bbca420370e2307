"""The pages of docs/benchmarks: a script replaces the tables between its markers and leaves the text around them.

A block of a page stands between `<!--begin:NAME-->` and `<!--end:NAME-->`. Scripts write the blocks: tables, the
sentences with measured numbers, and the versions of what was measured. The rest of a page is written by hand.
"""

import re
from collections.abc import Iterable
from pathlib import Path

PAGES = Path(__file__).resolve().parents[1] / "docs" / "benchmarks"


def put(page: str, name: str, lines: Iterable[str]) -> None:
    """Print a block and replace it in its page."""
    lines, path = list(lines), PAGES / f"{page}.md"
    print("\n".join(lines))
    path.write_text(replaced(path.read_text(encoding="utf-8"), name, lines), encoding="utf-8")


def replaced(text: str, name: str, lines: Iterable[str]) -> str:
    """Return the text of a page with one block replaced; other blocks stay as they are."""
    block = "\n".join(lines).strip("\n")
    markers = rf"(<!--begin:{re.escape(name)}-->\n).*?(<!--end:{re.escape(name)}-->)"
    result, count = re.subn(markers, lambda found: f"{found[1]}\n{block}\n\n{found[2]}", text, flags=re.DOTALL)
    if count != 1:
        raise ValueError(f"The page has {count} blocks named {name!r}, and exactly one is needed. Nothing was written.")
    return result


def names(text: str) -> list[str]:
    """Return the names of the blocks of a page."""
    return re.findall(r"<!--begin:([\w-]+)-->", text)
