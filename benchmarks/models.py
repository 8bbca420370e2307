"""How well do private linear classifiers do, beside the same models without privacy?

Accuracies: medians over 15 stratified 70/30 splits, each with 20 draws of the noise, and one for Adult and for
diffprivlib; once where rows are added or removed, and once where they are replaced, which takes twice the noise.
Scaling: the pixel range of digits; each
column's range for breast_cancer, taken from the data, whose description prints it; or a mean (and deviation), taken
from all rows AS IF they were public: an assumption, not a private fit; one-hot columns of listed categories and round
bounds for Adult. diffprivlib gets the same rows scaled, and their norm; it is pure ε-DP, a stronger guarantee. The
estimators' constants (caps, paths, ridge, intercept, centre) were chosen while looking at these four sources of rows,
so the numbers flatter them. Excess risks: rows uniform on the sphere, ‖w*‖ = 4, δ = 1e-6, radius = 5, else defaults.
Writes docs/benchmarks/models.md; takes half an hour.

    python benchmarks/models.py [adult.csv]
"""

import re
import sys
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
import scipy
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression as Plain
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import MinMaxScaler

from gaugedp.estimators.logistic import LogisticRegression
from gaugedp.estimators.svc import LinearSVC

try:
    from diffprivlib.models import LogisticRegression as Peer

    PEERS: tuple[type, ...] = (Peer,)
except ImportError:
    PEERS = ()

RESULT = Path(__file__).parents[1] / "docs" / "benchmarks" / "models.md"
EPSILONS = (0.1, 1.0, 10.0)
SPLITS, DELTA = 15, 1e-5
TARGETS = {"breast_cancer": (0.80, 0.93, 0.96), "digits": (0.30, 0.86, 0.94)}
RISKS = [(10_000, 10, 1, 4.5e-4), (10_000, 50, 1, 5e-3), (10_000, 50, 4, 6e-4), (1_000, 10, 1, 0.025)]
NEIGHBOURS = {"add_remove": "rows are added or removed", "replace": "rows are replaced"}
NUMBERS = {
    "age": (17, 90),
    "education-num": (1, 16),
    "capital-gain": (0, 20_000),
    "capital-loss": (0, 4_000),
    "hours-per-week": (0, 80),
}
CATEGORIES = {
    "workclass": "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay Never-worked",
    "marital-status": "Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent "
    "Married-AF-spouse",
    "occupation": "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty Handlers-cleaners "
    "Machine-op-inspct Adm-clerical Farming-fishing Transport-moving Priv-house-serv Protective-serv Armed-Forces",
    "relationship": "Wife Own-child Husband Not-in-family Other-relative Unmarried",
    "race": "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black",
    "sex": "Female Male",
}


def scores(model, X: np.ndarray, y: np.ndarray, draws: int = 1) -> np.ndarray:
    """The accuracy on the rest of each split, for each draw of the noise."""
    splits = StratifiedShuffleSplit(SPLITS, test_size=0.3, random_state=0).split(X, y)
    return np.array([[clone(model).fit(X[a], y[a]).score(X[b], y[b]) for _ in range(draws)] for a, b in splits])


def draws(kind: type, X: np.ndarray) -> int:
    """How often each split is fitted: the fewer rows, the more a fit moves, and the less it takes."""
    return 1 if kind in PEERS or len(X) > 2000 else 20


def loud(neighbours: str) -> str:
    """How much a median of so few fits says where noise is as loud as here."""
    X, y, how = data(None)["breast_cancer, ranges"]
    result = scores(model(LogisticRegression, 0.1, X, y, how, neighbours), X, y, 20)
    low, high = np.quantile(result, [0.25, 0.75])
    medians = np.median(result, axis=0)
    return (
        f"A single draw for each split says little where noise is loud: of 300 fits of LogisticRegression on "
        f"breast_cancer by its ranges at ε = 0.1 (others than the table's) half lie between {low:.3f} and {high:.3f}, "
        f"with the median {np.median(result):.3f}; the medians of {SPLITS} of them, one for each split, between "
        f"{medians.min():.3f} and {medians.max():.3f}."
    )


def adult(path: str) -> tuple[np.ndarray, np.ndarray]:
    import pandas as pd

    frame = pd.read_csv(path, skipinitialspace=True)
    parts = [
        ((frame[name].clip(*ends) - ends[0]) / (ends[1] - ends[0])).to_numpy()[:, None]
        for name, ends in NUMBERS.items()
    ]
    parts += [
        (frame[name].to_numpy()[:, None] == np.array(words.split())).astype(float) for name, words in CATEGORIES.items()
    ]
    return np.hstack(parts), (frame["income-per-year"].str.strip(" .") == ">50K").to_numpy().astype(int)


def data(path: str | None) -> dict[str, tuple[np.ndarray, np.ndarray, dict]]:
    X, y = load_breast_cancer(return_X_y=True)
    ends, centre, spread = (X.min(axis=0), X.max(axis=0)), X.mean(axis=0), X.std(axis=0)
    pixels, digits = load_digits(return_X_y=True)
    results = {
        "breast_cancer, ranges": (X, y, {"bounds": ends, "row_norm": 3.0}),
        "breast_cancer, means and deviations taken as public": ((X - centre) / spread, y, {"row_norm": 4.0}),
        "digits, pixels 0 to 16": (pixels, digits, {"bounds": (0, 16)}),
        "digits less their mean taken as public, over 16": (
            (pixels - pixels.mean(axis=0)) / 16,
            digits,
            {"row_norm": 2.0},
        ),
    }
    if path is not None:
        rows, income = adult(path)
        results["adult, one-hot"] = (rows, income, {"row_norm": 3.0})
    return results


def accuracies(path: str | None, neighbours: str) -> list[str]:
    print(NEIGHBOURS[neighbours], flush=True)
    lines = [
        "| data | model | without privacy | ε = 0.1 | ε = 1 | ε = 10 | asked |", "|---|---|---:|---:|---:|---:|---|",
    ]  # fmt: skip
    for name, (X, y, how) in data(path).items():
        plain = float(np.median(scores(Plain(C=100, max_iter=2000), MinMaxScaler().fit_transform(X), y)))
        requested = TARGETS.get(re.split(r"\W", name)[0], (plain - 0.04, plain - 0.01, 0.0))
        words = ", ".join(f"{target:.2f}" for target in requested if target)
        peers = PEERS if neighbours == "replace" else ()
        for kind in (LogisticRegression, LinearSVC, *peers):
            asked_of = [model(kind, e, X, y, how, neighbours) for e in EPSILONS]
            rows = scaled(kind, X, how)
            ours = [float(np.median(scores(each, rows, y, draws(kind, X)))) for each in asked_of]
            cells = " | ".join(
                f"{value:.3f}" + ("" if kind in PEERS or value >= target else " below")
                for value, target in zip(ours, requested, strict=True)
            )
            called = f"diffprivlib {kind.__name__}, pure" if kind in PEERS else kind.__name__
            lines.append(f"| {name} | {called} | {plain:.3f} | {cells} | {words} |")
            print(lines[-1], flush=True)
    return lines


def scaled(kind: type, X: np.ndarray, how: dict) -> np.ndarray:
    """Return the rows as the model takes them: the peer has no bounds, so it gets rows scaled by them."""
    if kind not in PEERS or "bounds" not in how:
        return X
    low, high = (np.asarray(end, dtype=float) for end in how["bounds"])
    return (X - low) / (high - low)


def model(kind: type, epsilon: float, X: np.ndarray, y: np.ndarray, how: dict, neighbours: str):
    if kind not in PEERS:
        return kind(epsilon, DELTA, classes=np.unique(y), neighbours=neighbours, **how)
    longest = how["row_norm"] if "bounds" not in how else float(np.sqrt(X.shape[1]))
    return kind(epsilon=epsilon, data_norm=longest, max_iter=1000)


def sphere(n: int, d: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X, w = rng.standard_normal((n, d)), rng.standard_normal(d)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, np.where(rng.random(n) < scipy.special.expit(X @ w * (4 / np.linalg.norm(w))), 1, -1)


def least(X: np.ndarray, y: np.ndarray, kind: str) -> float:
    d = X.shape[1]
    if kind == "logistic":
        plain = Plain(C=1e6, fit_intercept=False, max_iter=1000, tol=1e-8).fit(X, y)
        return risk(plain.coef_[0], X, y, kind)
    program = scipy.optimize.linprog(
        np.r_[np.zeros(d), np.full(len(X), 1 / len(X))],
        A_ub=np.hstack([-y[:, None] * X, -np.eye(len(X))]), b_ub=-np.ones(len(X)),
        bounds=[(None, None)] * d + [(0, None)] * len(X),
    ) if len(X) <= 2000 else None  # fmt: skip
    return float(program.fun) if program is not None else descent(X, y)


def descent(X: np.ndarray, y: np.ndarray) -> float:
    w, best = np.zeros(X.shape[1]), 1.0
    for t in range(4000):
        w = w + 20 / np.sqrt(t + 1) * (y * (y * (X @ w) < 1)) @ X / len(X)
        best = min(best, risk(w, X, y, "hinge"))
    return best


def risk(w: np.ndarray, X: np.ndarray, y: np.ndarray, kind: str) -> float:
    margins = y * (X @ w)
    return float(np.mean(np.logaddexp(0, -margins) if kind == "logistic" else np.maximum(0, 1 - margins)))


def risks() -> list[str]:
    lines = [
        "| loss | rows | d | ε | start | excess, no intercept | with intercept | asked |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    cases = [("logistic", *case) for case in RISKS] + [("hinge", 10_000, 20, 1, 7e-4)]
    for kind, n, d, epsilon, target in cases:
        result, starts = {False: [], True: []}, []
        model = LogisticRegression if kind == "logistic" else LinearSVC
        for key in range(4):
            X, y = sphere(n, d, np.random.default_rng((n, d, key)))
            best = least(X, y, kind)
            starts.append(risk(np.zeros(d), X, y, kind) - best)
            for constant in (False, True):
                for _ in range(4):
                    fitted = model(epsilon, 1e-6, row_norm=1, radius=5, classes=[-1, 1], fit_intercept=constant)
                    fitted.fit(X, y)
                    rows = np.column_stack([X, np.ones(n)])
                    result[constant].append(risk(np.r_[fitted.coef_[0], fitted.intercept_], rows, y, kind) - best)
        cells = " | ".join(f"{np.mean(result[constant]):.3g}" for constant in (False, True))
        lines.append(f"| {kind} | {n:,} | {d} | {epsilon} | {np.mean(starts):.3g} | {cells} | {target:g} |")
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    warnings.simplefilter("ignore")
    path = sys.argv[1] if len(sys.argv) > 1 else None
    head = (__doc__ or "").split("    python")[0].splitlines()
    names = ("numpy", "scipy", "scikit-learn", *(("diffprivlib",) if PEERS else ()))
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    if not PEERS:
        versions += f"; diffprivlib is not shown: it does not import beside scikit-learn {version('scikit-learn')}"
    how = (
        "breast_cancer's rows have norm at most 3 after scaling by the ranges and 4 after the deviations, Adult's 3; "
        "the centre of digits comes with privacy. `below` is less than asked."
    )
    text = ["# " + head[0], "", *head[2:], "", versions + ". " + how, ""]
    for neighbours, words in NEIGHBOURS.items():
        text += [f"## Accuracy, δ = 1e-5, {words}", "", *accuracies(path, neighbours), "", loud(neighbours), ""]
    text += ["## Excess empirical risk, δ = 1e-6", "", *risks()]
    text += ["", "Written by `python benchmarks/models.py`."]
    RESULT.write_text("\n".join(text).rstrip() + "\n", "utf-8")


if __name__ == "__main__":
    main()
