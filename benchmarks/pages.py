"""The pages of docs/benchmarks: a script replaces the tables between its markers and leaves the text around them.

A block of a page stands between `<!--begin:NAME-->` and `<!--end:NAME-->`. Scripts write the blocks: tables, the
sentences with measured numbers, and the versions of what was measured. The rest of a page is written by hand.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

PAGES = Path(__file__).resolve().parents[1] / "docs" / "benchmarks"
IMAGES = PAGES.parent / "images"


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


def dots(picture: str, labels: Sequence[str], series: Mapping[str, Sequence[Any]], xlabel: str, **axis: Any) -> None:
    """Draw a picture of values by label: one marker a series, with an error bar where it has (value, error).

    A value of None is left out. `line` marks a place on the axis; other keywords are settings of the axes.
    """
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams |= {"svg.hashsalt": picture, "svg.fonttype": "none"}
    from matplotlib import pyplot

    line = axis.pop("line", None)
    figure, axes = pyplot.subplots(figsize=(7, 1.2 + 0.24 * len(labels)), layout="constrained")
    if line is not None:
        axes.axvline(line, color="grey", linestyle=":")
    for place, (name, values) in enumerate(series.items()):
        shift = 0.5 * (place / (len(series) - 1) - 0.5) if any(isinstance(value, tuple) for value in values) else 0.0
        points = [
            (value if isinstance(value, tuple) else (value, 0.0), -row - shift)
            for row, value in enumerate(values)
            if value is not None
        ]
        if not points:
            continue
        middles, errors = zip(*(pair for pair, _ in points), strict=True)
        heights = [height for _, height in points]
        axes.errorbar(
            middles, heights, xerr=errors if any(errors) else None, fmt="os^D"[place % 4], markersize=4, label=name
        )
    axes.set(xlabel=xlabel, yticks=[-row for row in range(len(labels))], yticklabels=labels, **axis)
    axes.tick_params(axis="y", labelsize=8)
    axes.grid(axis="x", alpha=0.25)
    figure.legend(loc="outside upper center", ncols=len(series), frameon=False, fontsize=8)
    figure.savefig(IMAGES / f"{picture}.svg", metadata={"Date": None})
