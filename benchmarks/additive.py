"""How well do private additive models do, beside DP-EBM, a private forest, linear models and boosting without privacy?

Medians over three random 70/30 splits, one draw of the noise each; rows are added or removed, delta is 1e-5. Bounds are
round numbers, but for breast_cancer and diabetes, whose ranges are taken from the data as if they were public; lists of
categories are taken as public. Nothing was chosen by looking at these tables, but for the bounds; constants were chosen
on CPSSW8, Wage, NMES1988, ames, credit_data, lending_club, Default, DoctorVisits and two drawn tables, those of levels
also on attrition, diamonds, HI, HMDA, SLID, spam7, VietNamI and three more, and all compared on adult too. Writes a section of docs/benchmarks/models.md; takes about an hour.

    python benchmarks/additive.py FOLDER    # with adult.csv, acs_ma2018.csv, CPS1988.csv, HealthInsurance.csv, Fertility2.csv
"""  # noqa: E501

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets, metrics
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from gaugedp.estimators import (
    AdditiveClassifier,
    AdditiveRegressor,
    HuberRegressor,
    LinearRegression,
    LogisticRegression,
)

EPSILONS, SPLITS, DELTA = (0.1, 0.5, 1.0, 3.0, 8.0), 3, 1e-5
SHOWN = (0.1, 1.0, 8.0)  # values of ε in the page
PUBLIC: dict[str, Any] = {"delta": DELTA, "neighbours": "add_remove"}
NOISE = 0.02  # differences below it are within the noise of three draws


@dataclass(frozen=True)
class Source:
    """Rows with public bounds and categories; `range_` is of a number, None for two classes."""

    rows: pd.DataFrame
    target: np.ndarray
    bounds: dict[str, tuple[float, float]]
    range_: tuple[float, float] | None = None

    @property
    def categories(self) -> dict[str, list[str]]:
        return {name: sorted(self.rows[name].unique()) for name in self.rows if name not in self.bounds}

    def part(self, places: np.ndarray) -> tuple[pd.DataFrame, np.ndarray]:
        return self.rows.iloc[places], self.target[places]

    def splits(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for seed in range(SPLITS):
            order = np.random.default_rng(seed).permutation(len(self.rows))
            yield order[: int(0.7 * len(order))], order[int(0.7 * len(order)) :]


def source(frame: pd.DataFrame, target: Any, bounds: dict, range_: Any = None) -> Source:
    texts = frame.drop(columns=list(bounds)).astype(str)
    return Source(pd.concat([frame[list(bounds)].astype(float), texts], axis=1), np.asarray(target), bounds, range_)


def bundled(name: str, range_: Any = None) -> Source:
    data = getattr(datasets, f"load_{name}")(as_frame=True)
    bounds = {column: (float(data.data[column].min()), float(data.data[column].max())) for column in data.data}
    return source(data.data, data.target, bounds, range_)


def sources(folder: Path) -> dict[str, Callable[[], Source]]:
    def table(name: str, target: str, bounds: dict, range_: Any = None, yes: str | None = None) -> Source:
        frame = pd.read_csv(folder / f"{name}.csv").iloc[:, 1:]
        y = frame.pop(target)
        return source(frame, y if yes is None else (y == yes).astype(int), bounds, range_)

    def adult() -> Source:
        frame = pd.read_csv(folder / "adult.csv", skipinitialspace=True)
        y = (frame["income-per-year"].str.strip(" .") == ">50K").astype(int)
        ends = [(17, 90), (1, 16), (0, 20_000), (0, 4_000), (0, 80)]
        names = ["age", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
        left_out = ["income-per-year", "fnlwgt", "education", "native-country"]
        return source(frame.drop(columns=left_out), y, dict(zip(names, ends, strict=True)))

    def acs() -> Source:
        frame = pd.read_csv(folder / "acs_ma2018.csv", na_values=["N"])
        frame = frame[(frame.AGEP >= 16) & frame.PINCP.notna()].fillna({"NPF": 1, "INDP_CAT": -1})
        names = ["AGEP", "EDU", "DENSITY", "NPF", "SEX", "MSP", "RAC1P", "HISP", "INDP_CAT", "OWN_RENT"]
        ends = [(0, 100), (0, 13), (0, 50_000), (0, 20)]
        return source(frame[names], frame.PINCP, dict(zip(names[:4], ends, strict=True)), (0, 200_000))

    years = {"education": (0, 18), "experience": (0, 65)}
    return {
        "breast_cancer": lambda: bundled("breast_cancer"),
        "diabetes": lambda: bundled("diabetes", (0, 350)),
        "insurance": lambda: table("HealthInsurance", "insurance", {"age": (18, 65), "family": (1, 14)}, yes="yes"),
        "ACS income": acs,
        "CPS wage": lambda: table("CPS1988", "wage", years, (0, 2000)),
        "CPS part-time": lambda: table("CPS1988", "parttime", {"wage": (0, 5000), **years}, yes="yes"),
        "Adult": adult,
        "fertility": lambda: table("Fertility2", "work", {"age": (18, 40)}, (0, 52)),
    }


def one_hot(data: Source, rows: pd.DataFrame) -> np.ndarray:
    parts = [rows[list(data.bounds)].to_numpy()]
    parts += [
        (rows[name].to_numpy()[:, None] == np.array(known)).astype(float) for name, known in data.categories.items()
    ]
    return np.hstack(parts)


def box(data: Source) -> tuple[np.ndarray, np.ndarray]:
    known = sum(map(len, data.categories.values()))
    low, high = np.array(list(data.bounds.values()), dtype=float).T
    return np.append(low, np.zeros(known)), np.append(high, np.ones(known))


def additive(data: Source, epsilon: float) -> Callable:
    facts = {"bounds": data.bounds, "categories": data.categories, **PUBLIC}
    if data.range_ is None:
        model: Any = AdditiveClassifier(epsilon, classes=[0, 1], **facts)
        return lambda a, b: model.fit(*data.part(a)).predict_proba(data.rows.iloc[b])[:, 1]
    number = AdditiveRegressor(epsilon, target_bounds=data.range_, **facts)
    return lambda a, b: number.fit(*data.part(a)).predict(data.rows.iloc[b])


def linear(kind: type) -> Callable:
    def of(data: Source, epsilon: float) -> Callable:
        facts: dict[str, Any] = {"classes": [0, 1]} if data.range_ is None else {"target_bounds": data.range_}
        model, X = kind(epsilon=epsilon, bounds=box(data), **facts, **PUBLIC), one_hot(data, data.rows)
        if data.range_ is None:
            return lambda a, b: model.fit(X[a], data.target[a]).predict_proba(X[b])[:, 1]
        return lambda a, b: model.fit(X[a], data.target[a]).predict(X[b])

    return of


def dp_ebm(data: Source, epsilon: float) -> Callable:
    from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor

    types = ["continuous" if name in data.bounds else "nominal" for name in data.rows]
    ends = {place: data.bounds[name] for place, name in enumerate(data.rows) if name in data.bounds}
    facts = {"epsilon": epsilon, "delta": DELTA, "feature_types": types, "privacy_bounds": ends, "random_state": None}
    if data.range_ is None:
        model: Any = DPExplainableBoostingClassifier(**facts)
        return lambda a, b: model.fit(*data.part(a)).predict_proba(data.rows.iloc[b])[:, 1]
    low, high = data.range_
    number = DPExplainableBoostingRegressor(privacy_target_min=low, privacy_target_max=high, **facts)
    return lambda a, b: number.fit(data.rows.iloc[a], np.clip(data.target[a], low, high)).predict(data.rows.iloc[b])


def forest(data: Source, epsilon: float) -> Callable:
    from diffprivlib.models import RandomForestClassifier

    model, X = RandomForestClassifier(epsilon=epsilon, bounds=box(data), classes=[0, 1]), one_hot(data, data.rows)
    return lambda a, b: model.fit(X[a], data.target[a]).predict_proba(X[b])[:, 1]


def boosting(data: Source, _: float) -> Callable:
    X = one_hot(data, data.rows)
    if data.range_ is None:
        model: Any = HistGradientBoostingClassifier()
        return lambda a, b: model.fit(X[a], data.target[a]).predict_proba(X[b])[:, 1]
    return lambda a, b: HistGradientBoostingRegressor().fit(X[a], data.target[a]).predict(X[b])


def score(data: Source, fit: Callable) -> float:
    """Return the median AUC, or R² of predictions clipped to their bounds."""
    results = []
    for train, test in data.splits():
        predicted = np.nan_to_num(fit(train, test))
        if data.range_ is None:
            results.append(metrics.roc_auc_score(data.target[test], predicted))
        else:
            results.append(metrics.r2_score(data.target[test], np.clip(predicted, *data.range_)))
    return float(np.median(results))


def models(data: Source) -> dict[str, Callable]:
    if data.range_ is None:
        return {"additive": additive, "logistic": linear(LogisticRegression), "DP-EBM": dp_ebm, "forest": forest}
    both = {"linear": linear(LinearRegression), "Huber": linear(HuberRegressor)}
    return {"additive": additive, **both, "DP-EBM": dp_ebm}


def measured(folder: Path, store: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(store.read_text()) if store.exists() else {}
    for name, load in sources(folder).items():
        data = load()
        lines = found.setdefault(name, {"n": int(0.7 * len(data.rows)), "number": data.range_ is not None})
        if "boosting" not in lines:
            lines["boosting"] = [score(data, boosting(data, 0.0))]
        for kind, make in models(data).items():
            if kind not in lines:
                lines[kind] = [score(data, make(data, epsilon)) for epsilon in EPSILONS]
                store.write_text(json.dumps(found))
                print(name, kind, np.round(lines[kind], 3), flush=True)
    return found


def page(found: dict[str, Any]) -> list[str]:
    head = "| table (rows fitted): score of boosting without privacy | model |"
    lines = [head + "".join(f" ε = {epsilon:g} |" for epsilon in SHOWN), "|---|---|" + "---:|" * len(SHOWN)]
    wins = cells = 0
    for name, line in found.items():
        others = sorted(set(line) - {"n", "number", "boosting", "additive"})
        kinds = ["additive", *others]
        best = np.max([line[kind] for kind in kinds], axis=0)
        counted = line["n"] * np.array(EPSILONS) > 1000
        cells += int(counted.sum())
        wins += int((counted & (np.array(line["additive"]) >= best - NOISE)).sum())
        for kind in kinds:
            first = kind == kinds[0]
            start = f"{name} ({line['n']:,}): {'R²' if line['number'] else 'AUC'} {line['boosting'][0]:.3f}"
            values = [
                f"**{x:.3f}**" if x == top else f"{x:.3f}"
                for epsilon, x, top in zip(EPSILONS, line[kind], best, strict=True)
                if epsilon in SHOWN
            ]
            lines.append(f"| {start if first else ''} | {kind} | {' | '.join(values)} |")
    values = f"{', '.join(f'{epsilon:g}' for epsilon in EPSILONS[:-1])} and {EPSILONS[-1]:g}"
    share = f"{wins} of the {cells} cases with n·ε above 1,000"
    return [*lines, "", f"For ε = {values}, the additive model is best, or within {NOISE} of the best, in {share}."]


if __name__ == "__main__":
    import pages

    warnings.simplefilter("ignore")
    pages.put("models", "additive", page(measured(Path(sys.argv[1]), Path("additive.json"))))
