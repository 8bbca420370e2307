"""Two ways to one number cost the same: errors within 20 % at equal guarantees.

The law does not hold for a number that one way releases together with others: the sum of the k cells of a table that
was released alone has √k times the error of `count`, as every cell has noise of its own; and the means of
`StandardScaler` are noisier than those of `SimpleImputer`, as squares are released with them. Asked together
(`count; A`), both ways answer alike, and that is tested.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import gaugedp as gd
from gaugedp.entropy import research_rng
from tests.laws.kit import batches, generator
from tests.laws.model_data import columns

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from gaugedp import estimators

LAW = "two_ways"
MOST = 1.2
DRAWS = 200
ERRORS = 4.0  # standard errors beyond it that alarm: by chance in 3 of 100,000 cases, at a ratio of just 1.2
Generator = np.random.Generator
Errors = tuple[np.ndarray, np.ndarray]  # absolute errors of both ways, a draw each


def answers(text: str, rows: gd.Table, draws: int = DRAWS, **requested: float) -> np.ndarray:
    """Return the answers of several releases, shape (draws, n): of one, and of the same numbers with other noise."""
    query, ledger = gd.query(rows.domain, text), gd.Ledger.in_memory(gd.ApproxDP(10, 0.1), unit=rows.unit)
    plan = gd.plan(query, rows.unit, **requested)
    release = gd.release(query, rows, ledger=ledger, planned=plan)
    exact = np.concatenate([part.evaluate(rows, b"0" * 16) for part in query.parts])
    noisy = (plan.mechanism.prepare(research_rng(key))(exact) for key in range(draws))
    return np.array([replace(release, numbers=numbers).raw for numbers in noisy])


def of_query(text: str, rows: gd.Table, truth: float, draws: int = DRAWS, **requested: float) -> np.ndarray:
    """Return absolute errors of the one answer."""
    return np.abs(answers(text, rows, draws, **requested)[:, 0] - truth)


def of_model(build: Callable[[int], Any], truth: Any, draws: int = DRAWS) -> np.ndarray:
    """Return absolute errors of a number of a fitted model by seed, or mean ones of several numbers."""
    return np.array([np.mean(np.abs(build(seed) - truth)) for seed in range(draws)])


def drawn(rng: Generator) -> tuple[pd.DataFrame, dict[str, object]]:
    """Return rows with two attributes, a column far from the middle of its bounds and a column of ones."""
    n, share = int(rng.integers(200, 600)), float(rng.uniform(0.05, 0.3))
    frame = pd.DataFrame({
        "A": rng.choice(["a", "b", "c"], n), "V": np.rint(rng.beta(2, 2 / share, n) * 100), "ONE": np.ones(n),
    })  # fmt: skip
    facts = {"A": gd.categories(["a", "b", "c"]), "V": gd.bounded(0, 100), "ONE": gd.bounded(0, 1)}
    return frame, facts


def means(rng: Generator, neighbours: str, draws: int) -> Errors:
    """`estimators.Mean` and `mean(V)`."""
    frame, facts = drawn(rng)
    table, truth = scanned(frame, facts, neighbours), float(frame["V"].mean())
    epsilon = float(rng.choice([0.2, 0.5, 1.0]))
    rows = frame[["V"]].to_numpy()

    def mean(seed: int) -> float:
        model = estimators.Mean(epsilon, bounds=(0, 100), neighbours=neighbours, random_state=seed)
        return float(model.fit(rows).mean_[0])

    return of_model(mean, truth, draws), of_query("mean(V)", table, truth, draws, epsilon=epsilon)


def scanned(frame: pd.DataFrame, facts: dict[str, object], neighbours: str = "add_remove") -> gd.Table:
    """Return the table of these rows, each of which is a person."""
    return gd.Table.scan(frame, domain=gd.Domain.of(**facts), unit=gd.PrivacyUnit(neighbours=neighbours))


def medians(rng: Generator) -> Errors:
    """`median(V)` and `quantiles(V, 0.5)`."""
    frame, facts = drawn(rng)
    rows, truth = scanned(frame, facts), float(frame["V"].median())
    return tuple(of_query(text, rows, truth, epsilon=0.1) for text in ("median(V)", "quantiles(V, 0.5)"))  # type: ignore[return-value]


def counts(rng: Generator) -> Errors:
    """`count` and `sum(ONE)` of a column of ones."""
    frame, facts = drawn(rng)
    rows = scanned(frame, facts)
    return tuple(of_query(text, rows, len(frame), epsilon=0.5) for text in ("count", "sum(ONE)"))  # type: ignore[return-value]


def cells(rng: Generator) -> Errors:
    """`count` and the sum of the cells of A, asked together."""
    frame, facts = drawn(rng)
    both = answers("count; A", scanned(frame, facts), epsilon=0.5, delta=1e-6)
    return np.abs(both[:, 0] - len(frame)), np.abs(both[:, 1:].sum(axis=1) - len(frame))


def boxes(rng: Generator) -> Errors:
    """`Mean` of rows in a box, and in a ball of the norm whose ball that box is."""
    rows, requested = columns(rng).rows[:200], {"epsilon": 1.0, "delta": float(rng.choice([0.0, 1e-6]))}
    ways = ({"bounds": (-1, 1)}, {"row_norm": 1.0, "norm": np.inf})
    truths = (np.clip(rows, -1, 1), rows / np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1))
    return tuple(  # type: ignore[return-value]
        of_model(lambda seed, way=way: estimators.Mean(**requested, **way, random_state=seed).fit(rows).mean_,
                 truth.mean(axis=0), DRAWS // 2)
        for way, truth in zip(ways, truths, strict=True)
    )  # fmt: skip


def penalties(rng: Generator) -> Errors:
    """`Ridge` and `ElasticNet` with the squared penalty alone."""
    rows = rng.uniform(-1, 1, (400, 2))
    y, requested = rows[:, 0] / 2, {"delta": 1e-6, "bounds": (-1, 1), "target_bounds": (-1, 1)}
    truth = float(estimators.Ridge(1e6, random_state=0, **requested).fit(rows, y).coef_[0])
    return (
        of_model(lambda seed: estimators.Ridge(2.0, random_state=seed, **requested).fit(rows, y).coef_[0], truth),
        of_model(
            lambda seed: estimators.ElasticNet(
                2.0, alpha=1 / 400, l1_ratio=0.0, random_state=1000 + seed, **requested
            ).fit(rows, y).coef_[0],
            truth,
        ),
    )  # fmt: skip


def directions(rng: Generator, other: str = "PCA") -> Errors:
    """The first component by `TopEigenvector` and by `PCA` around the middle of the bounds."""
    rows = rng.normal(0, 0.3, (300, 3)) * [1.5, 0.7, 0.3]
    top = np.linalg.eigh(np.clip(rows, -1, 1).T @ np.clip(rows, -1, 1))[1][:, -1]
    requested = {"epsilon": 1.0, "delta": 1e-6, "bounds": (-1, 1)}

    def off(vector: np.ndarray) -> float:
        return float(np.sqrt(max(0.0, 1 - (vector @ top) ** 2)))

    more = {"n_components": 1} if other == "PCA" else {"rank": 1}
    build = getattr(estimators, other)
    return (
        of_model(lambda seed: off(estimators.TopEigenvector(random_state=seed, **requested).fit(rows).component_), 0.0),
        of_model(
            lambda seed: off(
                build(random_state=1000 + seed, centre="public", **more, **requested).fit(rows).components_[0]
            ),
            0.0,
        ),
    )


def covariances(rng: Generator) -> Errors:
    """The first component by `TopEigenvector` and by `LowRankCovariance`."""
    return directions(rng, "LowRankCovariance")


WAYS: tuple[Callable[[Generator], Errors], ...] = (
    medians, counts, cells, boxes, penalties, directions, covariances,
)  # fmt: skip
COVERS = {
    "terms": {"mean", "median", "quantiles", "count", "sum"},
    "estimators": {"Mean", "Ridge", "ElasticNet", "TopEigenvector", "PCA", "LowRankCovariance"},
}


def beyond(errors: Errors) -> float:
    """Return by how many standard errors the ratio of mean absolute errors, either way, is above MOST."""
    first, second = errors
    spread = np.hypot(*(own.std(ddof=1) / own.mean() / np.sqrt(len(own)) for own in (first, second)))
    return float((abs(np.log(first.mean() / second.mean())) - np.log(MOST)) / spread)


@pytest.mark.parametrize("cases", batches(LAW, 5), ids=str)
def test_two_ways_to_one_number_cost_the_same(cases: range) -> None:
    """Every fifth case."""
    for case in cases[::5]:
        way = WAYS[int(generator(LAW, case).integers(len(WAYS)))]
        assert beyond(way(generator(LAW, case))) < ERRORS, f"case {case}: {way.__doc__}"


_PUBLIC = "the query has no use for the number of rows, which is public where rows are replaced"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("neighbours", "draws"),
    [
        ("add_remove", 100),
        pytest.param("replace", 400, marks=pytest.mark.xfail(strict=True, reason=_PUBLIC)),
    ],
)
def test_means_by_the_estimator_and_by_the_query(neighbours: str, draws: int) -> None:
    """Fixed rows and seeds: 1 and 0.64 times the error of the query, with so many draws that it is certain."""
    assert beyond(means(np.random.default_rng(45), neighbours, draws)) < 0


def test_an_error_twice_as_large_is_found() -> None:
    """The law's own control, with normal noise."""
    rng = np.random.default_rng(45)
    assert beyond((np.abs(rng.normal(0, 2, DRAWS)), np.abs(rng.normal(0, 1, DRAWS)))) > ERRORS
