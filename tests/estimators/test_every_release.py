"""Every estimator on pairs of neighbouring tables, its releases played again: see tests/estimators/replay.py.

Whatever a fit does: what a mechanism sees moves by no more than it hides; the mechanisms compose to what the model
says, to what was asked for, and to what the ledger was charged; nothing that a mechanism sees before payment depends on
the rows; and all that a model holds afterwards is a function of what was released.
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gaugedp as gd

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from gaugedp import estimators
from gaugedp.estimators.scoring import score_report
from gaugedp.guarantees import Guarantee
from gaugedp.optimization import lattice
from tests.estimators.replay import Replay, both, leaves, loss_of, together, too_far
from tests.estimators.test_seeds import MODELS

pytestmark = pytest.mark.filterwarnings("ignore::gaugedp.estimators.TooFewRows")
EPSILON, DELTA, N_COLUMNS = 1.0, 1e-6, 3
SLACK = 1 + 1e-6  # of sums of floats
LINEAR = {"bounds": (-1, 1), "target_bounds": (-1, 1)}
LEARNED = {"bounds": "private", "target_bounds": "private"}
THREE = {"row_norm": 1.0, "classes": [0, 1, 2]}
TWO = {"row_norm": 1.0, "classes": [0, 1]}
SLOPED = (  # else means alone
    *("AdditiveRegressor", "ElasticNet", "HuberRegressor", "Lasso", "LinearRegression", "PoissonRegressor", "Ridge"),
)

# name: (estimator, parameters, number of rows, epsilon)
CASES: dict[str, tuple[str, dict[str, Any], int, float]] = {
    **{name: (name, given, 40, EPSILON) for name, given in MODELS.items()},
    "LogisticRegression, newton": ("LogisticRegression", {**TWO, "solver": "newton"}, 40, EPSILON),
    "LogisticRegression, gradient": ("LogisticRegression", {**TWO, "solver": "gradient"}, 40, EPSILON),
    "LogisticRegression, objective": ("LogisticRegression", {**TWO, "solver": "objective"}, 40, EPSILON),
    "LogisticRegression, groups": ("LogisticRegression", {**TWO, "solver": "gradient"}, 150, 0.5),
    "LogisticRegression, labels": ("LogisticRegression", TWO, 20, 0.02),
    "LogisticRegression, level": ("LogisticRegression", TWO, 100, EPSILON),
    "LogisticRegression, many rows": ("LogisticRegression", TWO, 2000, EPSILON),
    "LogisticRegression, three classes": ("LogisticRegression", THREE, 40, EPSILON),
    "LogisticRegression, rough centre": ("LogisticRegression", {**THREE, "solver": "gradient"}, 400, EPSILON),
    "LogisticRegression, objective, three": ("LogisticRegression", {**THREE, "solver": "objective"}, 2000, EPSILON),
    "LogisticRegression, class weights": (
        *("LogisticRegression", {**TWO, "solver": "gradient", "class_weight": {0: 1.0, 1: 9.0}}),
        *(40, EPSILON),
    ),
    "LinearSVC, many rows": ("LinearSVC", TWO, 2000, EPSILON),
    "Lasso, far": ("Lasso", {**LINEAR, "radius": 20.0}, 40, 30.0),
    "Lasso, wide": ("Lasso", {**LINEAR, "radius": 4.0}, 400, 60.0),
    **{f"{name}, slopes": (name, MODELS[name], 40, 60.0) for name in SLOPED},
    **{f"{name}, pure mean": (name, MODELS[name], 40, 0.1) for name in ("AdditiveRegressor", "Ridge")},
    "Ridge, learned bounds": ("Ridge", LEARNED, 40, EPSILON),
    "Mean in a ball": ("Mean", {"row_norm": 1.0}, 40, EPSILON),
    "KMeans, five": ("KMeans", {"bounds": (-1, 1), "n_clusters": 5}, 40, 20.0),
}
BY_SEARCH = {"PrivateSearchCV"}  # the best of a random number of fits: no sum (docs/theory/private_search.md)
BY_GROUP = {
    "GaussianNB",
    "KMeans",
    "KMeans, five",
}  # a row is in one or two groups, each with noise (docs/theory/means.md)
WITH_DELTA = {"LogisticRegression, groups", "LogisticRegression, rough centre", "LogisticRegression, many rows"}

SEEDS = {"LogisticRegression, labels": 2}  # of a noisy number of rows that is small; else 1

# The first row of each table, and its label or target: they are as far from each other as rows can be.
ONE, OTHER = (1.0, 1.0, 1.0), (-1.0, -1.0, -1.0)
FIRST_ROWS: dict[str, tuple[tuple[Any, float], tuple[Any, float]]] = {
    "opposite": ((ONE, 1.0), (OTHER, 0.0)),
    "another label": ((ONE, 1.0), (ONE, 0.0)),
    "outside": (((9.0, -9e9, 1e300), 9.0), ((-9.0, 9e9, np.inf), -9.0)),
    "missing": (((np.nan,) * 3, np.nan), (ONE, 1.0)),
}


def tables(name: str, pair: str, neighbours: str, n_rows: int) -> tuple[Any, Any]:
    """Two tables (X, y) that differ in their first row, or in whether they have it."""
    draw = np.random.default_rng(1)
    if name == "MatrixCompletion":
        rows = np.array([[user, item] for user in range(3) for item in range(3)], dtype=int)
        ends = {"opposite": (1.0, 0.0), "another label": (1.0, 0.5), "outside": (9.0, -9.0), "missing": (np.nan, 1.0)}
        one, other = (np.append([end], np.full(len(rows) - 1, 0.5)) for end in ends[pair])
        return (rows, one), (rows, other) if neighbours == "replace" else (rows[1:], other[1:])
    rows, labels = draw.uniform(-1, 1, (n_rows, N_COLUMNS)), draw.integers(0, 2, n_rows).astype(float)
    made = []
    for row, label in FIRST_ROWS[pair]:
        table = np.vstack([[row], rows[1:]]), np.append(label, labels[1:])
        made.append(table)
    one, other = made
    return one, other if neighbours == "replace" else (one[0][1:], one[1][1:])


def fitted(case: str, neighbours: str, is_pure: bool) -> Callable[[Any], tuple[Any, gd.Ledger]]:
    name, given, _, epsilon = CASES[case]

    def run(table: Any) -> tuple[Any, gd.Ledger]:
        ledger = gd.Ledger.in_memory(gd.ApproxDP(100.0, 0.5))
        requested = {"epsilon": epsilon, "delta": 0.0 if is_pure else DELTA, "neighbours": neighbours}
        model = getattr(estimators, name)(random_state=SEEDS.get(case, 1), ledger=ledger, **requested, **given)
        return model.fit(*table), ledger

    return run


def wanted(case: str, pair: str, neighbours: str, is_pure: bool) -> bool:
    """Whether a run shows what others do not: rows that are far or missing are read alike by all solvers."""
    if neighbours == "add_remove" and case in BY_SEARCH:
        return False  # its split draws a word a row: two tables of other lengths have other numbers afterwards
    if neighbours == "add_remove" or is_pure:
        return pair == "opposite" and not (is_pure and case in WITH_DELTA)
    return case in MODELS or pair in ("opposite", "another label")


RUNS = [
    pytest.param(case, pair, neighbours, is_pure, id=f"{case}, {pair}, {neighbours}{', pure' * is_pure}")
    for case in CASES
    for neighbours in ("replace", "add_remove")
    for is_pure in (False, True)
    for pair in FIRST_ROWS
    if wanted(case, pair, neighbours, is_pure)
]


def bounds_loss(stronger: Guarantee, weaker: Guarantee, epsilon: float) -> bool:
    """Whether `weaker` has at least the δ of `stronger` at some ε."""
    if weaker.delta(epsilon) == 0:
        return stronger.epsilon(0) <= epsilon * SLACK
    return stronger.delta(epsilon) <= weaker.delta(epsilon) * SLACK


@pytest.mark.parametrize(("case", "pair", "neighbours", "is_pure"), RUNS)
def test_two_neighbours_are_told_apart_by_what_is_charged_alone(
    case: str, pair: str, neighbours: str, is_pure: bool
) -> None:
    name, _, n_rows, epsilon = CASES[case]
    pairs = tables(name, pair, neighbours, n_rows)
    ((model, ledger), first), ((other, _), second) = both(fitted(case, neighbours, is_pure), pairs)
    assert not too_far(first, second)
    assert dict(leaves(model)) == dict(leaves(other))
    charged = ledger.total
    assert bounds_loss(model.guarantee_, charged, epsilon)
    if case in BY_GROUP and charged.delta(epsilon) == 0:  # clusters of different rows cost what one costs
        assert loss_of(first, second) <= epsilon * SLACK
    elif name not in BY_SEARCH:
        assert bounds_loss(together(first.after), model.guarantee_, epsilon)
        assert bounds_loss(together(first.after), charged, epsilon)


@pytest.mark.parametrize("is_pure", [True, False])
@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_the_case_of_labels_alone_is_what_it_says(neighbours: str, is_pure: bool) -> None:
    case = "LogisticRegression, labels"
    model, _ = fitted(case, neighbours, is_pure)(tables(case, "opposite", neighbours, CASES[case][2])[0])
    assert model.solver_ == "labels"


# -- scores of a model --------------------------------------------------------------------------------------


def scored(kind: str, neighbours: str) -> Callable[[Any], tuple[Any, gd.Ledger]]:
    rows = np.random.default_rng(2).uniform(-1, 1, (60, N_COLUMNS))
    if kind == "numbers":
        model = estimators.Ridge(10.0, 1e-6, random_state=1, **LINEAR).fit(rows, rows[:, 0])
    else:
        labels = (rows[:, 0] > 0).astype(int) + (rows[:, 1] > 0.5) * (kind == "three classes")
        given = THREE if kind == "three classes" else TWO
        model = estimators.LogisticRegression(10.0, 1e-6, random_state=1, **given).fit(rows, labels)

    def run(table: Any) -> tuple[Any, gd.Ledger]:
        ledger = gd.Ledger.in_memory(gd.ApproxDP(100.0, 0.5))
        report = score_report(model, *table, epsilon=EPSILON, neighbours=neighbours, random_state=1, ledger=ledger)
        return report, ledger

    return run


@pytest.mark.parametrize("pair", FIRST_ROWS)
@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
@pytest.mark.parametrize("kind", ["numbers", "two classes", "three classes"])
def test_a_report_of_scores_is_made_of_what_it_charges_for(kind: str, neighbours: str, pair: str) -> None:
    """Intervals, too: they know the sums with their noise, and no others."""
    pairs = tables("LogisticRegression", pair, neighbours, 40)
    ((report, ledger), first), ((other, _), second) = both(scored(kind, neighbours), pairs)
    assert not too_far(first, second)
    assert dict(leaves(report)) == dict(leaves(other))
    assert bounds_loss(together(first.after), report.guarantee_, EPSILON)
    assert bounds_loss(report.guarantee_, ledger.total, EPSILON)


# -- sums -------------------------------------------------------------------------------------------------


def reordered(table: Any) -> Any:
    return tuple(part[::-1].copy() for part in table)


IN_ORDER = {"PrivateSearchCV", "SparseMean"}  # rows are held out, or go into groups, by their places
OF_SUMS = [case for case in CASES if case not in IN_ORDER]


def sums_of(run: Callable[[Any], Any], table: Any, replay: Replay) -> list[np.ndarray]:
    """Return the sums of a run, as they are before they are rounded to the lattice of their noise.

    What objective perturbation minimises is no sum: its noise covers what the minimiser leaves out.
    """
    seen: list[np.ndarray] = []
    with_noise = lattice.with_noise

    def noting(exact: np.ndarray, *given: Any) -> np.ndarray:
        seen.extend([np.array(exact)] * (replay.depth == 0))
        return with_noise(exact, *given)

    modules = [module for name, module in sys.modules.items() if name.startswith("gaugedp.")]
    with pytest.MonkeyPatch.context() as patches, replay.playing():
        for module in modules:
            if vars(module).get("with_noise") is with_noise:
                patches.setattr(module, "with_noise", noting)
        run(table)
    return seen


@pytest.mark.parametrize("case", [*OF_SUMS, "scores of numbers", "scores of two classes"])
def test_sums_are_the_same_to_the_last_bit_in_any_order_of_the_rows(case: str) -> None:
    """Two neighbours' sums differ by what their rows differ by: what floats leave out depends on all rows."""
    name, _, n_rows, _ = CASES.get(case, ("LogisticRegression", {}, 40, EPSILON))
    run = (
        fitted(case, "replace", is_pure=False) if case in CASES else scored(case.removeprefix("scores of "), "replace")
    )
    table = tables(name, "opposite", "replace", n_rows)[0]
    first = Replay()
    one, other = sums_of(run, table, first), sums_of(run, reordered(table), Replay(first))
    assert [sums.tolist() for sums in one] == [sums.tolist() for sums in other]
