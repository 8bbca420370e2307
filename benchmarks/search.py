"""Is a private search better than default settings, at the same total guarantee?

Ten public tables: five that scikit-learn carries, the excerpt of the American Community Survey in examples/acs, and
those of FOLDER; what it does not hold is left out, in words. Each is split at random, 70/30; a model with default
settings and PrivateSearchCV have the same (ε, δ) in all, and are judged on the rest without privacy: once where public
bounds are tight, once where they are ten times too wide. Writes docs/benchmarks/models.md.

    python benchmarks/search.py [SPLITS [FOLDER]]    # with adult.csv, CPS1988.csv, diamonds.csv and pums_pid.csv
"""

import csv
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pages
from sklearn import datasets
from sklearn.base import is_classifier
from sklearn.model_selection import train_test_split

from gaugedp.estimators import LinearRegression, LogisticRegression, PrivateSearchCV

ROOT = Path(__file__).resolve().parents[1]
ACS = ROOT / "examples" / "acs"
DELTA, EPSILONS, SPLITS, WIDE, MOST = 1e-5, (1.0, 8.0), 10, 10.0, 5000  # MOST: rows that are taken of a file
SHARES, RADII, NARROWER = (0.25, 0.5, 1.0), (1.0, 3.0, None), (1.0, 4.0, 16.0)
Ends = tuple[Any, Any]


@dataclass(frozen=True, eq=False)
class Case:
    """A table with tight public bounds of its columns, and of its target, or None where that is a class."""

    name: str
    rows: np.ndarray
    target: np.ndarray
    bounds: Ends
    target_bounds: Ends | None = None
    splits: float = 1.0  # of those that are asked for

    def model(self, width: float) -> Any:
        """Return a model with default settings, and bounds `width` times as wide."""
        bounds = around(self.bounds, width)
        if self.target_bounds is None:
            return LogisticRegression(neighbours="replace", bounds=bounds, classes=np.unique(self.target))
        return LinearRegression(neighbours="replace", bounds=bounds, target_bounds=around(self.target_bounds, width))

    def tight(self) -> PrivateSearchCV:
        """Return a search of the length of rows, or of coefficients."""
        model = self.model(1.0)
        if is_classifier(model):
            grid = {"row_norm": [share * np.sqrt(self.rows.shape[1]) for share in SHARES]}
            return PrivateSearchCV(model.set_params(solver="gradient"), grid, neighbours="replace")
        return PrivateSearchCV(model, {"radius": RADII}, neighbours="replace")

    def wide(self) -> PrivateSearchCV:
        """Return a search of bounds, from those that are too wide to some that are too narrow."""
        model, names = self.model(WIDE), ["bounds"] + ["target_bounds"] * (self.target_bounds is not None)
        if is_classifier(model):
            model.set_params(solver="gradient")
        ends = model.get_params()
        return PrivateSearchCV(
            model, [{name: [around(ends[name], 1 / by)] for name in names} for by in NARROWER], neighbours="replace"
        )


WAYS: dict[str, tuple[float, Callable[[Case], PrivateSearchCV]]] = {
    "tight": (1.0, Case.tight),
    "wide": (WIDE, Case.wide),
}


def around(ends: Ends, width: float) -> Ends:
    """Return bounds with the same middle, `width` times as wide."""
    low, high = (np.asarray(end, dtype=float) for end in ends)
    middle, half = (low + high) / 2, (high - low) / 2 * width
    return middle - half, middle + half


@dataclass(frozen=True)
class File:
    """A file, columns with public bounds, and a target with its own, or with a test of its texts."""

    name: str
    columns: dict[str, tuple[float, float]]
    target: str
    bounds: tuple[float, float] | None = None
    second: Callable[[str], bool] = bool

    def load(self, folder: Path) -> Case:
        """Return at most MOST of its rows, drawn at random; lines that lack a number are left out."""
        with (folder / self.name).open(encoding="utf-8", newline="") as file:
            lines = [line for line in csv.DictReader(file) if self._is_whole(line)]
        rows = np.array([[float(line[name]) for name in self.columns] for line in lines])
        texts = [line[self.target] for line in lines]
        target = [float(self.second(text)) if self.bounds is None else float(text) for text in texts]
        taken = np.random.default_rng(1).permutation(len(rows))[:MOST]
        low, high = np.transpose(list(self.columns.values()))
        name, ends = f"{self.target} ({self.name[:-4]})", (low, high)
        return Case(name, rows[taken], np.array(target)[taken], ends, self.bounds, splits=0.5)

    def _is_whole(self, line: dict[str, str]) -> bool:
        return all(line[name] not in ("", "N") for name in (*self.columns, self.target))


SURVEY = File(
    "acs_ma2018.csv",
    {"AGEP": (0, 99), "SEX": (1, 2), "EDU": (1, 12)},
    "PINCP",
    second=lambda text: float(text) > 40_000,
)
FILES = (
    File(
        "adult.csv",
        {
            "age": (17, 90), "education-num": (1, 16), "capital-gain": (0, 20_000), "capital-loss": (0, 4_000),
            "hours-per-week": (0, 80),
        },
        "income-per-year",
        second=lambda text: text.strip() == ">50K",
    ),
    File(
        "pums_pid.csv", {"age": (0, 100), "sex": (0, 1), "educ": (1, 16)}, "married", second=lambda text: text == "1"
    ),
    File("CPS1988.csv", {"education": (0, 20), "experience": (0, 60)}, "wage", (0, 2_000)),
    File("diamonds.csv", {"carat": (0, 3), "depth": (50, 75), "table": (50, 75)}, "price", (0, 20_000)),
)  # fmt: skip


def cases(folder: Path | None) -> Iterator[Case]:
    """Yield them; of scikit-learn's tables the ranges of the columns are taken as public."""
    for load in (datasets.load_breast_cancer, datasets.load_wine, datasets.load_iris):
        rows, target = load(return_X_y=True)
        yield Case(load.__name__.removeprefix("load_"), rows, target, (rows.min(axis=0), rows.max(axis=0)))
    yield Case("digits", *datasets.load_digits(return_X_y=True), (0, 16))
    rows, target = datasets.load_diabetes(return_X_y=True)
    yield Case("diabetes", rows, target, (rows.min(axis=0), rows.max(axis=0)), (0, 400))
    yield SURVEY.load(ACS)
    for file in FILES:
        if folder is not None and (folder / file.name).exists():
            yield file.load(folder)
        else:
            print(f"{file.name} is left out: FOLDER does not hold it.")


def judged(case: Case, way: str, epsilon: float, key: int) -> tuple[float, float]:
    """Return the score of default settings and of the search, on rows of neither."""
    fitting, judging, y_fitting, y_judging = train_test_split(case.rows, case.target, test_size=0.3, random_state=key)
    (width, search), given = WAYS[way], {"epsilon": epsilon, "delta": DELTA, "random_state": key}
    default = case.model(width).set_params(**given).fit(fitting, y_fitting)
    searched = search(case).set_params(**given).fit(fitting, y_fitting)
    return default.score(judging, y_judging), searched.score(judging, y_judging)


def difference(case: Case, way: str, epsilon: float, splits: int) -> tuple[float, float]:
    """Return the mean difference of the search from the default, and two standard errors."""
    splits = round(splits * case.splits)
    scores = np.maximum([judged(case, way, epsilon, key) for key in range(splits)], -1.0)
    gaps = scores[:, 1] - scores[:, 0]
    result = float(gaps.mean()), float(2 * gaps.std(ddof=1) / np.sqrt(splits))
    print(way, case.name, epsilon, *np.median(scores, axis=0), *result, flush=True)
    return result


def draw(labels: list[str], series: dict[str, list[tuple[float, float]]]) -> None:
    """Draw the differences."""
    pages.dots("search", labels, series, "score of the search minus that of default settings", line=0)


def main(splits: int, folder: Path | None) -> None:
    """Write the block of the page."""
    warnings.simplefilter("ignore")
    tables = list(cases(folder))
    series = {
        f"{way} bounds, ε = {epsilon:g}": [difference(case, way, epsilon, splits) for case in tables]
        for way in WAYS
        for epsilon in EPSILONS
    }
    draw([f"{case.name}, {len(case.rows):,} rows" for case in tables], series)
    lines = ["| | search better | neither | default better |", "|---|---:|---:|---:|"]
    for name, pairs in series.items():
        better, worse = sum(gap > error for gap, error in pairs), sum(gap < -error for gap, error in pairs)
        lines.append(f"| {name} | {better} | {len(pairs) - better - worse} | {worse} |")
    pages.put("models", "search", lines)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SPLITS, Path(sys.argv[2]) if len(sys.argv) > 2 else None)
