"""How well does a private classifier predict, at several ε, beside the same model without privacy?

    python examples/private_models.py digits
    python examples/private_models.py adult adult.csv
    python examples/private_models.py made-up adult.csv    # writes made-up rows with Adult's columns

Digits come with scikit-learn: 1,797 images of 8 × 8 pixels. Adult (UCI) does not come with this library: give a CSV
file whose header has UCI's names and whose last column is the income. Bounds and categories are public choices.

The accuracies are those of rows that were held out, counted without privacy: this is research, on public data. For rows
that are private ask for the score with `gaugedp fit --score`, which pays for it.
"""

import argparse
import csv
from pathlib import Path

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression as Plain
from sklearn.model_selection import train_test_split

from gaugedp.estimators import LogisticRegression

DELTA = 1e-5
NUMBERS = {"age": (17, 90), "education-num": (1, 16), "capital-gain": (0, 20_000), "hours-per-week": (0, 80)}
CATEGORIES = {
    "marital-status": (
        "Married-civ-spouse", "Divorced", "Never-married", "Separated", "Widowed", "Married-spouse-absent",
        "Married-AF-spouse",
    ),
    "relationship": ("Wife", "Own-child", "Husband", "Not-in-family", "Other-relative", "Unmarried"),
    "sex": ("Female", "Male"),
}  # fmt: skip
Data = tuple[np.ndarray, np.ndarray, dict]  # rows, classes, and what is public about them


def digits() -> Data:
    """Pixels are counts from 0 to 16, and there are ten digits."""
    rows, classes = load_digits(return_X_y=True)
    return rows, classes, {"bounds": (0, 16), "classes": list(range(10))}


def adult(path: Path) -> Data:
    """Numbers between public bounds, scaled to [0, 1], and a column for each category: a row has norm √7 at most."""
    with path.open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file, skipinitialspace=True))
    income = list(table[0])[-1]
    columns = [_scaled([float(row[name]) for row in table], *ends) for name, ends in NUMBERS.items()]
    columns += [
        np.array([row[name] == value for row in table], dtype=float)
        for name, values in CATEGORIES.items()
        for value in values
    ]
    rich = np.array([row[income].strip(" .") == ">50K" for row in table], dtype=int)
    norm = float(np.sqrt(len(NUMBERS) + len(CATEGORIES)))
    return np.stack(columns, axis=1), rich, {"row_norm": norm, "classes": [0, 1]}


def _scaled(values: list[float], low: float, high: float) -> np.ndarray:
    return (np.clip(values, low, high) - low) / (high - low)


def write_made_up(path: Path, n_rows: int = 10_000) -> None:
    """Write rows that no person gave: the columns are drawn one by one, and income depends on four of them."""
    rng = np.random.default_rng(1)
    table = {name: rng.integers(low, high + 1, n_rows) for name, (low, high) in NUMBERS.items()}
    words = {name: rng.choice(values, n_rows) for name, values in CATEGORIES.items()}
    pull = 0.35 * (table["education-num"] - 10) + 0.04 * (table["age"] - 45) + 0.03 * (table["hours-per-week"] - 40)
    rich = rng.random(n_rows) < 1 / (1 + np.exp(-pull - 1.5 * (words["marital-status"] == "Married-civ-spouse")))
    columns = [*table.values(), *words.values(), np.where(rich, ">50K", "<=50K")]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*table, *words, "income"])
        writer.writerows(zip(*columns, strict=True))


def held_out_accuracy(model: ClassifierMixin, rows: np.ndarray, classes: np.ndarray) -> float:
    fitted, held_out, fitted_classes, held_out_classes = train_test_split(
        rows, classes, test_size=0.3, stratify=classes, random_state=0
    )
    return float(model.fit(fitted, fitted_classes).score(held_out, held_out_classes))


def report(data: Data, epsilons: list[float]) -> None:
    """Print a line for each ε."""
    rows, classes, public = data
    size = public.get("row_norm") or 16.0
    print(f"{len(rows):,} rows, {rows.shape[1]} columns; delta = {DELTA}, rows are added or removed")
    for epsilon in epsilons:
        model = LogisticRegression(epsilon=epsilon, delta=DELTA, **public)
        print(f"  epsilon {epsilon:<6g} accuracy {held_out_accuracy(model, rows, classes):.3f}   {model.reason_}")
    print(f"  without privacy {held_out_accuracy(Plain(C=100, max_iter=2000), rows / size, classes):.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", choices=("digits", "adult", "made-up"))
    parser.add_argument("path", type=Path, nargs="?", help="adult.csv: to read, or to write where made-up")
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.1, 1.0, 10.0])
    given = parser.parse_args()
    if given.data != "digits" and given.path is None:
        parser.error("Pass the path of the CSV file.")
    if given.data == "made-up":
        write_made_up(given.path)
    else:
        report(digits() if given.data == "digits" else adult(given.path), given.epsilons)


if __name__ == "__main__":
    main()
