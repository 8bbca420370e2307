"""One page of all tables that compare with peers, out of the pages that the other benchmarks wrote.

Nothing is typed in: tables and the words about versions and medians are copied, and so are the README's three figures.

    python benchmarks/summary.py                      from the pages as they are, a second
    python benchmarks/summary.py measure [FOLDER]     runs their scripts first, an hour; `make bench` is this

FOLDER holds adult.csv, insteval.parquet and nci60.csv, public data that are not ours to ship; the page says where they
come from. A page whose file is not there stays as it is.
"""

import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

PAGES = Path(__file__).resolve().parents[1] / "docs" / "benchmarks"
RESULT = PAGES / "summary.md"
README = PAGES.parents[1] / "README.md"


@dataclass(frozen=True)
class Part:
    """A table of `page`, found by a word of its header; its script reads `data`."""

    title: str
    page: str
    header: str
    data: str = ""


PARTS = (
    Part("Drawing noise: opendp, numpy", "noise", "opendp ns"),
    Part("Adding up releases: dp-accounting, prv-accountant", "accountant", "found"),
    Part("A histogram with bounded people: DuckDB and Polars by hand", "histogram", "compared with"),
    Part("Quantiles: opendp, diffprivlib", "quantiles", "opendp ranks"),
    Part("Noise of a body: the walk of the source", "knorm_sampler", "a sample"),
    Part("Linear regression: AdaSSP by hand", "linear_regression", "AdaSSP"),
    Part("Classifiers: diffprivlib, no privacy", "models", "without privacy", "adult.csv"),
    Part("Time of a fit: scikit-learn, diffprivlib", "fit_time", "scikit-learn"),
    Part("Top eigenvector: the noisy power method, Oja as printed", "eigenvectors", "noisy power"),
    Part("Principal components of digits: diffprivlib", "eigenvectors", "diffprivlib"),
    Part("Sparse means: the algorithm as printed", "sparse", "as printed", "nci60.csv"),
    Part("Ratings: means by hand, no privacy", "completion", "item means", "insteval.parquet"),
)


def blocks(text: str) -> list[str]:
    """Return the paragraphs and tables of a page."""
    return [block.strip("\n") for block in text.split("\n\n") if block.strip()]


def table(text: str, header: str) -> str:
    """Return the first table with `header` in its first line."""
    results = [block for block in blocks(text) if block.startswith("|") and header in block.splitlines()[0]]
    if not results:
        sys.exit(f"No table has {header!r} in its header: run that benchmark again, or mend benchmarks/summary.py.")
    return results[0]


def words(text: str) -> str:
    """Return the paragraphs before the first table or section, where a page says how it measured."""
    kept = []
    for block in blocks(text)[1:]:
        if block.startswith(("|", "#", "!")):
            break
        kept.append(block)
    return "\n\n".join(kept)


def section(part: Part) -> str:
    text = (PAGES / f"{part.page}.md").read_text(encoding="utf-8")
    made = f"`python benchmarks/{part.page}.py`: [all of its page]({part.page}.md)"
    return f"## {part.title}\n\n{words(text)}\n\n{table(text, part.header)}\n\n{made}"


def page() -> str:
    head = (
        "# Beside peers\n\n"
        "Each table is copied from the page whose script wrote it; there stand the rest and what was missed. "
        "Ratios follow the machine less than seconds do. `make bench DATA=folder` measures all of them again and "
        "writes this page last; its folder holds Adult (UCI) as `adult.csv`, with a header, and from the R packages "
        "lme4 and ISLR InstEval as `insteval.parquet` and NCI60 as `nci60.csv`. Without a file its page stays."
    )
    return "\n\n".join([head, *map(section, PARTS), "Written by `python benchmarks/summary.py`.\n"])


def cells(page: str, *start: str) -> list[str]:
    """The cells of the first row of a page's tables that begins with those of `start`."""
    text = (PAGES / f"{page}.md").read_text(encoding="utf-8")
    rows = [[cell.strip(" *`") for cell in line.strip("| ").split("|")] for line in text.splitlines()]
    return next(row for row in rows if row[: len(start)] == list(start))


def figures() -> list[str]:
    """The rows of the README's table of figures."""
    laws = [cells("noise", f"discrete_{law}", "10") for law in ("laplace", "gaussian")]
    laplace, gaussian = (f"{int(law[2]) / 1000:.2g} µs" for law in laws)
    ours, theirs = (cells("accountant", "1,000", name) for name in ("gaugedp", "dp-accounting PLD"))
    fit = cells("linear_regression", "10,000", "10", "1")
    return [
        f"| exact noise, a draw at scale 10 | {laplace} Laplace, {gaussian} Gaussian | "
        f"opendp: {laws[0][4]} and {laws[1][4]} times slower |",
        f"| tight (ε, δ) of 1,000 different releases | {float(ours[2]):.2g} s | "
        f"dp-accounting: {theirs[4]} times slower |",
        f"| linear regression, 10,000 × 10, ε = 1: excess error | {fit[3]} | AdaSSP: {fit[6]} |",
    ]


def write_readme() -> None:
    """Put the figures into the README's table."""
    before, rest = README.read_text(encoding="utf-8").split("## In figures\n\n")
    old, after = rest.split("\n\n", 1)
    head = old.splitlines()[:2]
    README.write_text(f"{before}## In figures\n\n{chr(10).join([*head, *figures()])}\n\n{after}", encoding="utf-8")


def measure(folder: Path | None) -> None:
    """Run the script of every page, one after another."""
    for name, data in dict.fromkeys((part.page, part.data) for part in PARTS):
        if data and not (folder and (folder / data).is_file()):
            print(f"{name}: {data} is not in the folder of data, so its page stays as it is.", flush=True)
            continue
        print(f"{name} ...", flush=True)
        start = time.perf_counter()
        script = PAGES.parents[1] / "benchmarks" / f"{name}.py"
        words = [str(folder / data)] if folder and data else []
        subprocess.run([sys.executable, str(script), *words], check=True)
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        measure(Path(sys.argv[2]) if len(sys.argv) > 2 else None)
    RESULT.write_text(page(), encoding="utf-8")
    write_readme()
    sys.stdout.write(f"{RESULT.name}: {len(PARTS)} tables\n")
