"""Intervals of estimators cover at least their level: coefficients, means and scores, on random tables."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.laws import model_data
from tests.laws.kit import batches, generator

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from gaugedp import estimators

LAW = "estimator_intervals"
FALSE_ALARM = 1e-3  # of all batches of a run together, if intervals held at exactly their level
FITS = 4  # of each kind in a case
LEVELS = (0.95, 0.9, 0.8)  # a width that is halved shows most at the first

Asked = dict[str, Any]
Generator = np.random.Generator


def chosen(rng: Generator, hits: np.ndarray) -> bool:
    """Return whether one interval of a fit holds, drawn at random: those of one fit are not independent."""
    return bool(rng.choice(np.ravel(hits)))


def least_squares(rng: Generator, level: float, requested: Asked, target: str = "symmetric", n: int = 600) -> bool:
    """Coefficients of a linear model: those of the population."""
    slopes = rng.uniform(-0.5, 0.5, 2)
    rows = rng.uniform(-1, 1, (n, 2))
    signal = rows @ slopes
    y, ends = signal + rng.uniform(-0.5, 0.5, n), (-2, 2)
    if target == "binary":
        y, ends = (rng.random(n) < 0.5 + signal / 2).astype(float), (0, 1)
        slopes = slopes / 2
    model = estimators.LinearRegression(bounds=(-1, 1), target_bounds=ends, **requested, solver="preconditioned")
    low, high = model.fit(rows, y).coef_interval(level)
    return chosen(rng, (low <= slopes) & (slopes <= high))


def logistic(rng: Generator, level: float, requested: Asked) -> bool:
    """Coefficients of a logistic model: those of the population."""
    slopes = rng.uniform(-2, 2, 2)
    rows = rng.uniform(-1, 1, (1000, 2))
    y = (rng.random(1000) < 1 / (1 + np.exp(-rows @ slopes))).astype(int)
    model = estimators.LogisticRegression(bounds=(-1, 1), classes=[0, 1], solver="newton", **requested).fit(rows, y)
    low, high = model.coef_interval(level)
    return chosen(rng, (low <= slopes) & (slopes <= high))


def mean(rng: Generator, level: float, requested: Asked) -> bool:
    """Means of the clipped rows, where they are far from the middle too."""
    rows = rng.normal(rng.uniform(-1, 1), 0.3, (int(rng.integers(50, 500)), int(rng.integers(1, 5))))
    low, high = estimators.Mean(bounds=(-1, 1), **requested).fit(rows).interval(level)
    wanted = np.clip(rows, -1, 1).mean(axis=0)
    return chosen(rng, (low <= wanted) & (wanted <= high))


def sparse_mean(rng: Generator, level: float, requested: Asked) -> bool:
    """Means of the picked columns; rows are replaced, as intervals are refused otherwise."""
    rows = rng.normal(0, 0.3, (1000, 8))
    rows[:, :2] += 0.7
    model = estimators.SparseMean(2, bounds=(-1, 1), **{**requested, "neighbours": "replace"}).fit(rows)
    low, high = model.interval(level)
    wanted = np.clip(rows, -1, 1).mean(axis=0)[model.support_]
    return chosen(rng, (low <= wanted) & (wanted <= high))


def _scores(rng: Generator, level: float, requested: Asked, kind: str, name: str) -> bool:
    of = model_data.classes if kind == "balanced" else model_data.regression
    data = of(kind, rng, (6_000, 2))
    start = {key: value for key, value in requested.items() if key != "epsilon"} | {"epsilon": 10.0}
    model = getattr(estimators, name)(**data.facts, **start).fit(data.rows[:300], data.target[:300])
    sample = rng.choice(np.arange(300, 6_000), 400, replace=False)
    report = estimators.score_report(
        model, data.rows[sample], data.target[sample], epsilon=requested["epsilon"], level=level,
        neighbours=requested["neighbours"], random_state=requested["random_state"],
    )  # fmt: skip
    _, low, high = report.scores_["accuracy" if kind == "balanced" else "R²"]
    return bool(low <= model.score(data.rows[300:], data.target[300:]) <= high)


def accuracy(rng: Generator, level: float, requested: Asked) -> bool:
    """The accuracy of a classifier on the population, here many other rows."""
    return _scores(rng, level, requested, "balanced", "LogisticRegression")


def r_squared(rng: Generator, level: float, requested: Asked) -> bool:
    """R² of a regression on the population, here many other rows."""
    return _scores(rng, level, requested, "symmetric", "Ridge")


KINDS: tuple[Callable[[Generator, float, Asked], bool], ...] = (
    least_squares, logistic, mean, sparse_mean, accuracy, r_squared,
)  # fmt: skip
COVERS = {"estimators": {"LinearRegression", "LogisticRegression", "Mean", "SparseMean", "Ridge"}}


def held(kind: Callable[..., bool], cases: range, level: float, **facts: Any) -> Iterator[bool]:
    """Yield whether intervals of a kind hold, with guarantees that vary from fit to fit."""
    for case in cases:
        rng = generator(f"{LAW} {kind.__name__}", case)
        n_fits = FITS * (3 if kind is mean else 1)  # its fits are the cheapest
        for fit in range(n_fits):
            requested = {
                "epsilon": float(rng.choice([0.5, 1.0, 3.0, 10.0])),
                "delta": float(rng.choice([0.0, 1e-6])),
                "neighbours": str(rng.choice(["replace", "add_remove"])),
                "random_state": case * n_fits + fit,
            }
            yield kind(rng, level, requested, **facts)


def alarm(hits: list[bool], level: float, n_tests: int) -> bool:
    """Return whether so few intervals hold by chance with a probability below the false alarm of one test."""
    return bool(stats.binom.cdf(sum(hits), len(hits), level) < FALSE_ALARM / n_tests)


@pytest.mark.many
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("cases", batches(LAW), ids=str)
def test_intervals_cover_at_least_their_level(cases: range, kind: Callable[..., bool]) -> None:
    """One interval of each fit; a batch alarms where fewer hold than the level by three standard errors and more."""
    level = LEVELS[cases.start // 10 % len(LEVELS)]
    hits = list(held(kind, cases, level))
    n_tests = len(batches(LAW)) * len(KINDS)
    assert not alarm(hits, level, n_tests), f"cases {cases}: {sum(hits)} of {len(hits)} at level {level}"


def test_coefficients_of_a_binary_target() -> None:
    """Fixed seeds, epsilon 100."""
    requested = ({"epsilon": 100.0, "delta": 1e-6, "random_state": seed} for seed in range(20))
    hits = [least_squares(np.random.default_rng([45, i]), 0.95, one, "binary", 2000) for i, one in enumerate(requested)]
    assert not alarm(hits, 0.95, 1)


def test_intervals_half_as_wide_are_found() -> None:
    """The law's own control: normal intervals of half their width hold in 67 % of all cases."""
    rng = np.random.default_rng(45)
    assert alarm(list(np.abs(rng.standard_normal(60)) < 0.98), 0.95, 12)
