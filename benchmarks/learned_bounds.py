"""What do bounds cost that are ten times too wide, and what those that the fit learns itself?

R², or accuracy beside the share of the commoner class, on 30 % of the rows, medians of ten splits, each with a draw of
the noise; δ = 1e-6, rows are replaced. Tight bounds are round numbers that a reader of the tables' descriptions would
give; wide ones have the same middle and ten times the width. The constants of the search were chosen on made-up
columns. Writes docs/benchmarks/models.md.

    python benchmarks/learned_bounds.py FOLDER    # with adult.csv, CPS1988.csv and diamonds.csv
"""

import csv
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pages

from gaugedp.estimators import LinearRegression, LogisticRegression

EPSILONS, DELTA, SPLITS = (0.1, 0.5, 1.0, 4.0), 1e-6, 10
WAYS = ("tight", "wide", "learned")


@dataclass(frozen=True)
class Table:
    """Columns with their tight bounds, and a target with its own, or with the text of its second class."""

    file: str
    columns: dict[str, tuple[float, float]]
    target: str
    target_bounds: tuple[float, float] | None = None
    second: str = ""

    def read(self, folder: Path) -> tuple[np.ndarray, np.ndarray]:
        """Return rows (n, d) and targets (n,)."""
        with (folder / self.file).open(encoding="utf-8", newline="") as file:
            lines = list(csv.DictReader(file))
        rows = np.array([[float(line[name]) for name in self.columns] for line in lines])
        texts = [line[self.target].strip() for line in lines]
        target = [text == self.second for text in texts] if self.second else [float(text) for text in texts]
        return rows, np.array(target, dtype=float)

    def bounds(self, way: str) -> Any:
        """Return those of the columns."""
        return "private" if way == "learned" else tuple(np.transpose([_wider(b, way) for b in self.columns.values()]))

    def model(self, way: str, epsilon: float, key: int) -> Any:
        """Return the model to be fitted."""
        given = {"bounds": self.bounds(way), "random_state": key}
        if self.target_bounds is None:
            return LogisticRegression(epsilon, DELTA, neighbours="replace", classes=[0.0, 1.0], **given)
        ends = "private" if way == "learned" else tuple(_wider(self.target_bounds, way))
        return LinearRegression(epsilon, DELTA, neighbours="replace", target_bounds=ends, **given)


SHOWN = (0.1, 1.0)  # values of ε in the page
TABLES = (
    Table("CPS1988.csv", {"education": (0, 20), "experience": (0, 60)}, "wage", (0, 2000)),
    Table("diamonds.csv", {"carat": (0, 3), "depth": (50, 75), "table": (50, 75)}, "price", (0, 20_000)),
    Table(
        "adult.csv",
        {
            "age": (17, 90), "education-num": (1, 16), "capital-gain": (0, 20_000), "capital-loss": (0, 4_000),
            "hours-per-week": (0, 80),
        },
        "income-per-year",
        second=">50K",
    ),
)  # fmt: skip


def _wider(ends: tuple[float, float], way: str) -> tuple[float, float]:
    middle, half = (ends[0] + ends[1]) / 2, (ends[1] - ends[0]) / 2 * (10 if way == "wide" else 1)
    return middle - half, middle + half


def found(table: Table, folder: Path) -> Iterator[tuple[str, float, list[float], list[float]]]:
    """Yield rows of the page, each with ε, the scores, and these less a trivial prediction's."""
    rows, target = table.read(folder)
    plain = 0.0 if table.target_bounds else max(target.mean(), 1 - target.mean())
    for epsilon in EPSILONS:
        scores: dict[str, list[float]] = {way: [] for way in WAYS}
        for key in range(SPLITS):
            order = np.random.default_rng(key).permutation(len(rows))
            test, train = np.split(order, [3 * len(rows) // 10])
            for way in WAYS:
                model = table.model(way, epsilon, key).fit(rows[train], target[train])
                scores[way].append(float(model.score(rows[test], target[test])))
        medians = [statistics.median(scores[way]) for way in WAYS]
        print(table.file, epsilon, *(f"{median:.3f}" for median in medians), flush=True)
        name = f"{table.target} ({table.file.removesuffix('.csv')})"
        yield name, epsilon, medians, [median - plain for median in medians]


def main(folder: Path) -> None:
    """Write the page."""
    commoner = [f"{max(target.mean(), 1 - target.mean()):.3f}" for target in (TABLES[-1].read(folder)[1],)]
    rows = [row for table in TABLES for row in found(table, folder)]
    short = max(tight - learned for _, epsilon, _, (tight, _, learned) in rows if epsilon >= 0.5)
    least = min(learned for *_, (_, _, learned) in rows)
    cells: dict[str, list[str]] = {}
    for name, epsilon, medians, _ in rows:
        if epsilon in SHOWN:
            cells.setdefault(name, []).extend(f"{median:.3f}" for median in medians)
    heads = " | ".join(f"ε = {epsilon:g}: tight | wide | learned" for epsilon in SHOWN)
    lines = [
        f"| target (table) | {heads} |",
        "|---|" + "---:|" * 3 * len(SHOWN),
        *(f"| {name} | {' | '.join(each)} |" for name, each in cells.items()),
        "",
        f"For ε ≥ 0.5 learned bounds are at most {short:.3f} worse than tight ones. For every ε they are at least "
        f"{least:.3f} better than predicting the mean, or the\nmajority class ({commoner[0]}).",
    ]
    pages.put("models", "learned_bounds", lines)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
