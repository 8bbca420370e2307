"""What does it cost to keep ratings private?

InstEval (73,421 evaluations of 1,128 lecturers by 2,972 students, 1 to 5; package lme4), nine tenths fitted, one tenth
predicted, five splits. δ = 1e-6, units are replaced. Beside `MatrixCompletion`:
the mean of all ratings, and item means without shrinkage, each released with Gaussian noise at the whole guarantee;
item means shrunk as ours are; fits without privacy. Writes docs/benchmarks/matrices.md.

    python benchmarks/completion.py insteval.parquet
"""

import math
import statistics
import sys

import numpy as np
import pages
import pandas as pd

import gaugedp as gd
from gaugedp.estimators.matrix_completion import MatrixCompletion
from gaugedp.guarantees.gaussian_curve import gaussian_mu
from gaugedp.optimization.ratings.model import BITS, Ratings
from gaugedp.optimization.ratings.stages import Completion, Terms

DELTA, ROUNDS, MAX_ROWS = 1e-6, 5, 4
Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # rows and ratings, to fit and to predict


def split(rows: np.ndarray, stars: np.ndarray, key: int) -> Split:
    held = np.random.default_rng(key).random(len(stars)) < 0.1
    return rows[~held], stars[~held], rows[held], stars[held]


def miss(predicted: np.ndarray | float, stars: np.ndarray) -> float:
    return float(np.sqrt(np.mean((np.clip(predicted, 1, 5) - stars) ** 2)))


# -- beside ours ---------------------------------------------------------------------------------------


def weights(rows: np.ndarray, unit: str, shape: tuple[int, int]) -> np.ndarray:
    sizes = np.bincount(rows[:, 0], minlength=shape[0])[rows[:, 0]]
    return np.ones(len(rows)) if unit == "rating" else np.sqrt(np.minimum(1, MAX_ROWS / sizes))


def baselines(data: Split, unit: str, epsilon: float, shape: tuple[int, int]) -> dict[str, float]:
    """The global mean; item means as they are; item means shrunk: each with the whole guarantee."""
    rows, stars, test, expected = data
    rng, mu, most = np.random.default_rng(1), gaussian_mu(epsilon, DELTA), 1 if unit == "rating" else MAX_ROWS
    weight, scaled = weights(rows, unit, shape), (stars - 3) / 2
    flat = weight**2
    noise = 2 * math.sqrt(most) / mu * rng.standard_normal((2, shape[1] + 1))
    mean = (flat @ scaled + noise[0, -1] / math.sqrt(most)) / max(flat.sum() + noise[1, -1] / math.sqrt(most), 1.0)
    sums = np.bincount(rows[:, 1], weight * scaled, minlength=shape[1]) + noise[0, :-1]
    counts = np.bincount(rows[:, 1], weight, minlength=shape[1]) + noise[1, :-1]
    plain = np.where(counts >= 1, np.clip(sums / np.maximum(counts, 1), -1, 1), mean)
    terms = Terms(gd.ApproxDP(epsilon, DELTA), unit, True, MAX_ROWS)
    start = Completion(terms)._items(as_ratings(rows, stars, shape), 1.0, gd.research_rng(1))
    shrunk = start.mean + start.groups.means(start.mean, start.noise_in_means)[0]
    results = {"global mean": mean, "item means": plain[test[:, 1]], "shrunk item means": shrunk[test[:, 1]]}
    return {name: miss(3 + 2 * values, expected) for name, values in results.items()}


def as_ratings(rows: np.ndarray, stars: np.ndarray, shape: tuple[int, int]) -> Ratings:
    return Ratings(rows[:, 0], rows[:, 1], np.rint((stars - 3) / 2 * 2**BITS), shape)


def without_privacy(data: Split, shape: tuple[int, int], rank: int, ridge: float) -> float:
    """Alternating least squares on what means of items and users leave."""
    (rows, stars, test, expected), rng = data, np.random.default_rng(1)
    mean, users, items = stars.mean(), np.zeros(shape[0]), np.zeros(shape[1])
    counts = [np.bincount(rows[:, side], minlength=shape[side]) for side in (0, 1)]
    for _ in range(10):
        items = np.bincount(rows[:, 1], stars - mean - users[rows[:, 0]], minlength=shape[1]) / (counts[1] + 5)
        users = np.bincount(rows[:, 0], stars - mean - items[rows[:, 1]], minlength=shape[0]) / (counts[0] + 12)
    rest = stars - mean - users[rows[:, 0]] - items[rows[:, 1]]
    sides = [np.zeros((shape[0], rank)), 0.1 * rng.standard_normal((shape[1], rank))]
    for _ in range(15):
        for side in (0, 1):
            given, place = sides[1 - side][rows[:, 1 - side]], rows[:, side]
            products = np.stack([np.bincount(place, rest * one, minlength=shape[side]) for one in given.T], 1)
            squares = [[np.bincount(place, a * b, minlength=shape[side]) for b in given.T] for a in given.T]
            matrix = np.moveaxis(np.array(squares), 2, 0) + ridge * np.eye(rank)
            sides[side] = np.linalg.solve(matrix, products[:, :, None])[:, :, 0]
    low_rank = (sides[0][test[:, 0]] * sides[1][test[:, 1]]).sum(axis=1)
    return miss(mean + users[test[:, 0]] + items[test[:, 1]] + low_rank, expected)


# -- ours ----------------------------------------------------------------------------------------------


def ours(data: Split, unit: str, epsilon: float, shape: tuple[int, int]) -> dict[str, float | str]:
    rows, stars, test, expected = data
    model = MatrixCompletion(
        epsilon,
        DELTA,
        neighbours="replace",
        unit=unit,
        rating_bounds=(1, 5),
        users=shape[0],
        items=shape[1],
        max_rows=MAX_ROWS,
    )
    model.fit(rows, stars)
    public, joint = miss(model.predict(test), expected), miss(model.predict(test, own=(rows, stars)), expected)
    return {"public": public, "own": joint}


def table(splits: list[Split], shape: tuple[int, int], guarantees: list[tuple[str, float]]) -> list[str]:
    lines = [
        "| unit | ε | global mean | item means | shrunk item means | `predict` | `predict` with `own=` |",
        "|---|" + "---:|" * 6,
    ]
    for unit, epsilon in guarantees:
        rounds = [baselines(data, unit, epsilon, shape) | ours(data, unit, epsilon, shape) for data in splits]
        one = {name: statistics.mean(float(a[name]) for a in rounds) for name in rounds[0]}
        lines.append(
            f"| {unit} | {epsilon:g} | {one['global mean']:.4f} | {one['item means']:.4f} | "
            f"{one['shrunk item means']:.4f} | {one['public']:.4f} | {one['own']:.4f} |"
        )
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    if len(sys.argv) < 2:
        print("Give the path of insteval.parquet. Nothing was measured.")
        return
    frame = pd.read_parquet(sys.argv[1])
    rows = np.stack([pd.factorize(frame.s)[0], pd.factorize(frame.d)[0]], axis=1).astype(int)
    stars, shape = frame.y.to_numpy(float), (2972, 1128)
    splits = [split(rows, stars, key) for key in range(ROUNDS)]
    free = statistics.mean(min(without_privacy(data, shape, rank, 20) for rank in (1, 4)) for data in splits)
    guarantees = [("rating", 1.0), ("rating", 4.0), ("user", 1.0), ("user", 4.0)]
    lines = table(splits, shape, guarantees)
    words = (
        f"{len(stars):,} ratings, {shape[0]:,} users, {shape[1]:,} items; means over {ROUNDS} splits. Without privacy, "
        f"means of items and users with the best of two ranks have an error of {free:.4f}."
    )
    pages.put("matrices", "ratings", [*lines, "", words])


if __name__ == "__main__":
    main()
