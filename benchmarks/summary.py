"""The page that begins the benchmarks: one line for each comparison with a peer, out of the pages of the others.

Nothing is typed in: numbers are copied from the tables of the pages, and so are the README's three figures.

    python benchmarks/summary.py                      from the pages as they are, a second
    python benchmarks/summary.py measure [FOLDER]     runs their scripts first, an hour; `make bench` is this

FOLDER holds adult.csv, insteval.parquet and nci60.csv, public data that are not ours to ship; the page says where they
come from. A table whose file is not there stays as it is.
"""

import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import pages  # noqa: E402

README = ROOT / "README.md"
SCRIPTS = {  # with the data that they read
    "noise": "", "accountant": "", "histogram": "", "quantiles": "", "knorm_sampler": "",
    "linear_regression": "", "models": "adult.csv", "fit_time": "", "eigenvectors": "", "sparse": "nci60.csv",
    "completion": "insteval.parquet",
}  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """A cell of a block: the column of the row that begins with `start`."""

    page: str
    block: str
    start: tuple[str, ...]
    column: int

    def text(self) -> str:
        """Return what the cell has, without emphasis."""
        return rows(self.page, self.block, self.start)[self.column]


@dataclass(frozen=True)
class Line:
    """A comparison: what, with which peer, a sentence with a place for each cell."""

    what: str
    peer: str
    words: str
    cells: tuple[Cell, ...]

    def text(self) -> str:
        """Return the line of the table."""
        page = self.cells[0].page
        words = self.words.format(*(cell.text() for cell in self.cells))
        return f"| [{self.what}]({page}.md) | {self.peer} | {words} |"


def _cells(page: str, block: str, *places: tuple[tuple[str, ...], int]) -> tuple[Cell, ...]:
    return tuple(Cell(page, block, start, column) for start, column in places)


LAWS = (("discrete_laplace", "10"), ("discrete_gaussian", "10"))
LINES = (
    Line("exact noise, scale 10", "opendp", "{} and {} times faster (Laplace, Gaussian)",
         _cells("noise", "noise", *((law, 4) for law in LAWS))),
    Line("the same", "numpy, not exact", "{} and {} times slower",
         _cells("noise", "noise", *((law, 6) for law in LAWS))),
    Line("ε of 1,000 different mechanisms", "dp-accounting PLD", "{} times faster",
         _cells("accountant", "different", (("1,000", "dp-accounting PLD"), 3))),
    Line("histogram of 10⁷ rows", "DuckDB, handwritten", "{} times its time",
         _cells("releases", "histogram", (("histogram",), 4))),
    Line("the same, 5 rows per person", "Polars, streaming", "{} times its time",
         _cells("releases", "histogram", (("histogram, 5 rows per person",), 4))),
    Line("pairs of 50 columns, error", "OpenDP; ResidualPlanner+", "{}; theirs {} and {}",
         _cells("queries", "pairs", (("50",), 1), (("50",), 5), (("50",), 7))),
    Line("deciles of 1,000 rows, rank error", "opendp; diffprivlib", "{}, without intervals {}; theirs {} and {}",
         _cells("quantiles", "quantiles", *((("deciles", "1,000", "0%"), place) for place in (3, 5, 7, 9)))),
    Line("median of 1,000 rows, rank error", "opendp; diffprivlib", "{}, without intervals {}; theirs {} and {}",
         _cells("quantiles", "quantiles", *((("median", "1,000", "0%"), place) for place in (3, 5, 7, 9)))),
    Line("K-norm sample, d = 20", "published walk", "{} times faster",
         _cells("knorm", "sampler", (("compiled, one walk",), 2))),
    Line("linear regression, 10,000 × 10, ε = 1", "AdaSSP", "excess error {}; theirs {}",
         _cells("regression", "linear", *((("10,000", "10", "1"), place) for place in (3, 4)))),
    Line("breast_cancer, ε = 1, replaced", "diffprivlib, pure ε", "accuracy {}; theirs {}",
         _cells("models", "accuracy", (("breast_cancer, ranges", "LogisticRegression"), 7),
                (("breast_cancer, ranges", "diffprivlib LogisticRegression"), 7))),
    Line("ten tables, five ε", "DP-SGD, one setting", "better / equal / worse: {}",
         _cells("models", "descent", (("all",), 1))),
    Line("logistic fit, 100,000 × 200", "scikit-learn, not private", "{} s; theirs {} s",
         _cells("models", "fit_time", *((("100,000", "200"), place) for place in (5, 6)))),
    Line("top eigenvector, 10,000 × 50, ε = 1", "noisy power method", "loss {}; theirs {}",
         _cells("matrices", "vectors", *((("10,000", "50", "1"), place) for place in (3, 5)))),
    Line("ratings by users, ε = 1", "shrunk item means", "error {}; theirs {}",
         _cells("matrices", "ratings", *((("user", "1"), place) for place in (5, 4)))),
    Line("rows from 8 attributes", "AIM", "error {}; theirs {}",
         _cells("synthetic_rows", "adaptive_rows", (("chosen tables",), 2), (("AIM",), 2))),
)  # fmt: skip


def rows(page: str, block: str, start: tuple[str, ...]) -> list[str]:
    """Return the cells of the first row of a block that begins with those of `start`; an empty first cell repeats."""
    text = (pages.PAGES / f"{page}.md").read_text(encoding="utf-8")
    found = re.search(rf"<!--begin:{block}-->(.*?)<!--end:{block}-->", text, re.DOTALL)
    first = ""
    for line in found[1].splitlines() if found else []:
        cells = [cell.strip(" *`") for cell in line.strip("|").split("|")]
        first = cells[0] = cells[0] or first
        if tuple(cells[: len(start)]) == start:
            return cells
    sys.exit(f"{page}.md has no row {start} in {block!r}: run that benchmark again, or mend benchmarks/summary.py.")


def page() -> str:
    """Return the page with its table written again."""
    text = (pages.PAGES / "summary.md").read_text(encoding="utf-8")
    lines = ["| comparison | with | result |", "|---|---|---|", *(line.text() for line in LINES)]
    return pages.replaced(text, "peers", lines)


def figures() -> list[str]:
    """The rows of the README's table of figures."""
    laws = [rows("noise", "noise", law) for law in LAWS]
    laplace, gaussian = (f"{int(law[2]) / 1000:.2g} µs" for law in laws)
    ours, theirs = (rows("accountant", "different", ("1,000", name)) for name in ("gaugedp", "dp-accounting PLD"))
    fit = rows("regression", "linear", ("10,000", "10", "1"))
    return [
        f"| exact noise, a draw at scale 10 | {laplace} Laplace, {gaussian} Gaussian | "
        f"opendp: {laws[0][4]} and {laws[1][4]} times slower |",
        f"| tight (ε, δ) of 1,000 different releases | {float(ours[2]):.2g} s | "
        f"dp-accounting: {theirs[3]} times slower |",
        f"| linear regression, 10,000 × 10, ε = 1: excess error | {fit[3]} | AdaSSP: {fit[4]} |",
    ]


def write_readme() -> None:
    """Put the figures into the README's table."""
    before, rest = README.read_text(encoding="utf-8").split("## Measurements\n\n")
    old, after = rest.split("\n\n", 1)
    head = old.splitlines()[:2]
    README.write_text(f"{before}## Measurements\n\n{chr(10).join([*head, *figures()])}\n\n{after}", encoding="utf-8")


def measure(folder: Path | None) -> None:
    """Run the script of every page, one after another."""
    for name, data in SCRIPTS.items():
        if data and not (folder and (folder / data).is_file()):
            print(f"{name}: {data} is not in the folder of data, so its tables stay as they are.", flush=True)
            continue
        print(f"{name} ...", flush=True)
        start = time.perf_counter()
        words = [str(folder / data)] if folder and data else []
        subprocess.run([sys.executable, str(ROOT / "benchmarks" / f"{name}.py"), *words], check=True)
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        measure(Path(sys.argv[2]) if len(sys.argv) > 2 else None)
    (pages.PAGES / "summary.md").write_text(page(), encoding="utf-8")
    write_readme()
    sys.stdout.write(f"summary.md: {len(LINES)} comparisons\n")
