"""Small random tables for estimators: targets of several kinds, classes, clusters, columns, ratings and designs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from gaugedp import estimators

Generator = np.random.Generator
STEP = 2.0**-12  # of half the range of a column or of a target: rows are rounded to multiples of it
REGRESSION = ("symmetric", "skewed", "binary", "bimodal", "count")
CLASSES = ("balanced", "rare", "three")


@dataclass(frozen=True)
class Data:
    """Rows X and targets y with their public facts: parameters of an estimator.

    `spread` and `step` are the spread of what is compared, and the error of rounding rows.
    """

    rows: Any = field(repr=False)
    target: Any = field(repr=False)
    facts: Mapping[str, Any]
    spread: float = 1.0
    step: float = 0.0


def size(rng: Generator) -> tuple[int, int]:
    """Draw the number of rows and of columns."""
    return int(rng.integers(150, 400)), int(rng.integers(1, 4))


def features(rng: Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of the cube, and a linear function of them between -1 and 1."""
    rows = rng.uniform(-1, 1, (n, d))
    return rows, rows @ (rng.uniform(0.5, 1, d) * rng.choice([-1, 1], d)) / d


_SHARES: Callable[[np.ndarray], np.ndarray] = lambda s: 0.5 + 0.4 * s  # noqa: E731
TARGETS: dict[str, Callable[[Generator, np.ndarray], np.ndarray]] = {  # of the linear function
    "symmetric": lambda rng, s: s + rng.uniform(-0.5, 0.5, len(s)),
    "skewed": lambda rng, s: s + rng.exponential(0.5, len(s)),
    "binary": lambda rng, s: (rng.random(len(s)) < _SHARES(s)).astype(float),
    "bimodal": lambda rng, s: np.where(rng.random(len(s)) < _SHARES(s), 2.0, -2.0) + rng.normal(0, 0.2, len(s)),
    "count": lambda rng, s: rng.poisson(np.exp(0.5 + s)).astype(float),
}


def regression(kind: str, rng: Generator, shape: tuple[int, int] | None = None, wide: float = 1.0) -> Data:
    """Return rows with a target of a kind, whose bounds are its range, or `wide` times as wide."""
    rows, signal = features(rng, *(shape or size(rng)))
    y = TARGETS[kind](rng, signal)
    low = 0.0 if kind in ("binary", "count") else float(y.min())
    middle, half = (low + float(y.max())) / 2, (float(y.max()) - low) / 2
    ends = (0.0, 2 * wide * half) if kind == "count" else (middle - wide * half, middle + wide * half)
    return Data(rows, y, {"bounds": (-1, 1), "target_bounds": ends}, float(y.std()), wide * half * STEP)


def classes(kind: str, rng: Generator, shape: tuple[int, int] | None = None) -> Data:
    """Return rows with labels that follow a logistic model, each class with some rows."""
    rows, signal = features(rng, *(shape or size(rng)))
    scores = np.column_stack([0 * signal, 3 * signal, -3 * signal][: 3 if kind == "three" else 2])
    scores[:, 0] += 2.0 if kind == "rare" else 0.0
    y = np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)
    y[: 2 * scores.shape[1]] = np.arange(2 * scores.shape[1]) % scores.shape[1]
    return Data(rows, y, {"bounds": (-1, 1), "classes": list(range(scores.shape[1]))}, 1.0, STEP)


def columns(rng: Generator, *, gaps: bool = False, tails: bool = True) -> Data:
    """Return rows with columns of several scales, some values being beyond the bounds, or missing."""
    n, k = int(rng.integers(1000, 3000)), int(rng.integers(2, 5))
    drawn = rng.normal(0, 0.35, (n, k)) if tails else rng.uniform(-0.7, 0.7, (n, k))
    rows = drawn * 0.5 ** np.arange(k) + rng.uniform(-0.2, 0.2, k)
    if gaps:
        rows[rng.random((n, k)) < 0.1] = np.nan
    return Data(rows, None, {"bounds": (-1, 1)}, 0.3, STEP)


def clusters(rng: Generator, k: int) -> Data:
    """Return rows in k clusters of unequal sizes on a grid; their mean squared distances are compared."""
    places = np.array([[i % 3 - 1, i // 3 - 1] for i in rng.permutation(9)[:k]]) * 0.8
    rows = places[rng.choice(k, 300, p=rng.dirichlet(np.full(k, 3.0)))] + rng.uniform(-0.05, 0.05, (300, 2))
    return Data(rows, None, {"bounds": (-1, 1), "n_clusters": k}, 2 * 0.05**2 / 3)


def ratings(rng: Generator) -> Data:
    """Return ratings of 20 users for 5 items, by both."""
    pairs = np.column_stack([rng.integers(20, size=400), rng.integers(5, size=400)])
    y = np.clip(3 + rng.normal(0, 0.5, 20)[pairs[:, 0]] + rng.normal(0, 1, 5)[pairs[:, 1]], 1, 5)
    return Data(pairs, np.round(y), {"users": 20, "items": 5, "rating_bounds": (1, 5)}, float(y.std()), 2 * STEP)


def matrices(rng: Generator) -> Data:
    """Return designs of norm 1 at most, with a linear target."""
    designs, truth = rng.uniform(-0.5, 0.5, (300, 2, 2)), rng.normal(0, 1, (2, 2))
    y = (designs * truth).sum(axis=(1, 2)) + rng.uniform(-0.2, 0.2, 300)
    reach = float(np.abs(y).max())
    facts = {"design_norm": 1.0, "radius": 10.0, "target_bounds": (-reach, reach)}
    return Data(designs, y, facts, float(y.std()), reach * STEP)


def line(rng: Generator) -> Data:
    """Return rows with a target that is a linear function of them."""
    rows, signal = features(rng, *size(rng))
    model = estimators.LinearRegression(bounds=(-1, 1), target_bounds=(-2, 2))
    return Data(rows, signal, {"estimator": model}, float(signal.std()), STEP)


def sparse(rng: Generator, *, orthogonal: bool = True) -> Data:
    """Return rows with a target that depends on the first two of six columns, which are centred and uncorrelated."""
    rows = rng.uniform(-1, 1, (300, 6))
    if orthogonal:
        rows = np.linalg.qr(rows - rows.mean(axis=0))[0]
        rows /= np.abs(rows).max()
    y = rows[:, 0] - 0.8 * rows[:, 1] + rng.uniform(-0.3, 0.3, 300)
    y -= y.mean()
    reach = float(np.abs(y).max())
    facts = {"bounds": (-1, 1), "target_bounds": (-reach, reach), "sparsity": 2}
    return Data(rows, y, facts, float(y.std()), reach * STEP)


def sparse_mean(rng: Generator) -> Data:
    """Return rows two of whose six columns have a mean that is not small."""
    rows = rng.normal(0, 0.2, (300, 6)) + np.array([0.5, -0.4, 0, 0, 0, 0])
    return Data(rows, None, {"bounds": (-1, 1), "sparsity": 2}, 0.3, STEP)


DATA: dict[str, Callable[[Generator], Data]] = {
    **{kind: lambda rng, kind=kind: regression(kind, rng) for kind in REGRESSION},
    **{f"{kind}, wide bounds": lambda rng, kind=kind: regression(kind, rng, wide=2.0) for kind in REGRESSION},
    "count, bounds ten times too wide": lambda rng: regression("count", rng, wide=10.0),
    **{kind: lambda rng, kind=kind: classes(kind, rng) for kind in CLASSES},
    "columns": columns,
    "columns without tails": lambda rng: columns(rng, tails=False),
    "columns with gaps": lambda rng: columns(rng, gaps=True),
    **{f"{k} clusters": lambda rng, k=k: clusters(rng, k) for k in (1, 2, 7)},
    "ratings": ratings,
    "matrices": matrices,
    "line": line,
    "sparse, uncorrelated": sparse,
    "sparse": lambda rng: sparse(rng, orthogonal=False),
    "sparse mean": sparse_mean,
}
