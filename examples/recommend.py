"""What does it cost a recommender to protect each rating, or each user?

    python examples/recommend.py insteval.csv --columns s d y --users 2973 --items 2161
    python examples/recommend.py made-up ratings.csv    # writes made-up ratings

Reads a CSV file with a user, an item and a rating from 1 to 5 in each row, such as InstEval of the R package lme4
(73,421 evaluations of lecturers by students), which does not come with this library. Nine in ten rows are fitted, one
in ten is predicted. `--users` and `--items` say that ids are 0 … n − 1: that is public, and never read off the file.

The errors are counted on held-out ratings without privacy: this is research, on data that may be shown.
"""

import argparse
import csv
from pathlib import Path

import numpy as np

from gaugedp.estimators import MatrixCompletion

DELTA, BOUNDS = 1e-6, (1, 5)
COLUMNS = ("user", "item", "rating")
Ratings = tuple[np.ndarray, np.ndarray]


def read(path: Path, columns: list[str]) -> Ratings:
    """Return the rows (user, item) as text, and the ratings."""
    with path.open(encoding="utf-8", newline="") as file:
        table = [[row[name] for name in columns] for row in csv.DictReader(file)]
    values = np.array(table, dtype=object)
    return values[:, :2], values[:, 2].astype(float)


def write_made_up(path: Path, n_users: int = 2000, n_items: int = 100, n_ratings: int = 60_000) -> None:
    """Write ratings that nobody gave: a mean for each item, two tastes, and noise."""
    rng = np.random.default_rng(1)
    users, items = np.divmod(rng.permutation(n_users * n_items)[:n_ratings], n_items)
    taste, kind = rng.standard_normal((n_users, 2)), rng.standard_normal((n_items, 2))
    exact = 3 + 0.4 * rng.standard_normal(n_items)[items] + 0.6 * (taste[users] * kind[items]).sum(axis=1)
    stars = np.clip(np.rint(exact + 0.5 * rng.standard_normal(n_ratings)), *BOUNDS).astype(int)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(zip(users, items, stars, strict=True))


def split(rows: np.ndarray, stars: np.ndarray) -> tuple[Ratings, Ratings]:
    held_out = np.random.default_rng(1).random(len(stars)) < 0.1
    return (rows[~held_out], stars[~held_out]), (rows[held_out], stars[held_out])


def root_mean_square(predicted: np.ndarray | float, stars: np.ndarray) -> float:
    return float(np.sqrt(np.mean((predicted - stars) ** 2)))


def errors(model: MatrixCompletion, fitted: Ratings, held_out: Ratings) -> tuple[float, float]:
    """The errors of what everybody may see, and of what each user is told alone."""
    model.fit(*fitted)
    public, own = model.predict(held_out[0]), model.predict(held_out[0], own=fitted)
    return root_mean_square(public, held_out[1]), root_mean_square(own, held_out[1])


def report(ratings: Ratings, public: dict, epsilons: list[float]) -> None:
    """Print a line for each unit and ε."""
    fitted, held_out = split(*ratings)
    print(f"{len(ratings[1]):,} ratings; delta = {DELTA}; root mean square errors on {len(held_out[1]):,} held out")
    print(f"  the mean of all, without privacy: {root_mean_square(fitted[1].mean(), held_out[1]):.3f}")
    for unit in ("rating", "user"):
        for epsilon in epsilons:
            guarantee = {"epsilon": epsilon, "delta": DELTA, "unit": unit}
            model = MatrixCompletion(**guarantee, rating_bounds=BOUNDS, handle_unknown="ignore", **public)
            shown, told = errors(model, fitted, held_out)
            print(f"  unit {unit:<6} epsilon {epsilon:<4g} predict {shown:.3f}   with own ratings {told:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", type=Path, nargs="+", metavar="[made-up] ratings.csv")
    parser.add_argument("--columns", nargs=3, default=list(COLUMNS), metavar=("USER", "ITEM", "RATING"))
    parser.add_argument("--users", type=int, help="user ids are 0 … n − 1")
    parser.add_argument("--items", type=int, help="item ids are 0 … n − 1")
    parser.add_argument("--epsilons", type=float, nargs="+", default=[1.0, 4.0])
    given = parser.parse_args()
    if str(given.paths[0]) == "made-up":
        write_made_up(given.paths[-1])
    elif given.users is None or given.items is None:
        parser.error("give --users and --items, from public knowledge")
    else:
        public = {"users": given.users, "items": given.items}
        report(read(given.paths[0], given.columns), public, given.epsilons)


if __name__ == "__main__":
    main()
