"""Losses of trace regression: slopes of their own row, in [−1, 1]; a caller's loss sees public numbers alone."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gaugedp as gd
from gaugedp.errors import InvalidRequest
from gaugedp.estimators import TraceRegression
from gaugedp.estimators.trace_losses import LOSSES, Tabulated, trace_loss
from tests.queries.strategies import examples

BOUNDS = (-1.0, 3.0)


def pinball(predictions: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The loss of the 0.8-quantile."""
    return np.maximum(0.8 * (targets - predictions), 0.2 * (predictions - targets))


def values(name: str, p: np.ndarray, y: np.ndarray) -> np.ndarray:
    """By the definition."""
    off = np.abs(p - y)
    if name in ("huber", "absolute"):
        share = 4 / 4 if name == "huber" else 4 / 20
        return np.where(off <= share, off**2 / (2 * share), off - share / 2)
    if name == "logistic":
        return np.logaddexp(0, p) - (y + 1) / 4 * p
    cap = max(3 + 5, 5 + 1)
    return (p - y) ** 2 / (2 * cap)


@given(st.sampled_from(LOSSES), st.floats(-1, 1), st.floats(*BOUNDS))
@examples(150)
def test_slopes_are_those_of_the_loss(name: str, scaled: float, y: float) -> None:
    loss = trace_loss(name, None, 5.0, (-1.0, 1.0), BOUNDS, cut=False)
    at, target, h = np.array([scaled]), np.array([y]), 1e-5
    slope = loss(at, target)
    around = (values(name, 5 * at + h, target) - values(name, 5 * at - h, target)) / (2 * h)
    assert slope == pytest.approx(around, abs=1e-4)
    assert np.abs(slope).max() <= 1
    moved = loss(at + 1e-3, target)
    assert np.abs(moved - slope).max() <= 1e-3 * loss.smoothness * (1 + 1e-9)


def test_a_tabulated_loss_has_the_slopes_of_the_function() -> None:
    loss = trace_loss(pinball, 0.8, 5.0, (-1.0, 1.0), BOUNDS, cut=False)
    rng = np.random.default_rng(1)
    p, y = rng.uniform(-1, 1, 5000), rng.uniform(*BOUNDS, 5000)
    expected = np.where(5 * p < y, -1.0, 0.25)
    far = np.abs(5 * p - y) > 4 / 64 + 0.01  # slopes jump within the distance of two places
    assert loss(p, y)[far] == pytest.approx(expected[far], abs=1e-9)
    assert np.abs(loss(p, y)).max() <= 1
    assert (np.diff(loss(np.linspace(-1, 1, 999), np.full(999, 0.3))) >= -1e-9).all(), "convex between places too"
    ends = loss(np.array([-1.0, 1.0, -7.0, 7.0]), np.array([-1.0, 3.0, 9.0, -9.0]))
    assert np.abs(ends).max() <= 1


def test_the_callers_loss_sees_public_places_alone_and_before_anything_is_paid() -> None:
    seen: list[tuple[np.ndarray, np.ndarray]] = []

    def own(predictions: np.ndarray, targets: np.ndarray) -> np.ndarray:
        seen.append((predictions, targets))
        return pinball(predictions, targets)

    rng = np.random.default_rng(2)
    A, y = rng.standard_normal((200, 2, 2)), rng.uniform(-1, 3, 200)
    requested = {
        "epsilon": 1.0,
        "delta": 1e-6,
        "design_norm": 3.0,
        "target_bounds": BOUNDS,
        "loss": own,
        "lipschitz": 0.8,
    }
    TraceRegression(**requested).fit(A, y)
    TraceRegression(**requested).fit(-A, 0 * y)
    for predictions, targets in seen:
        assert (predictions == seen[0][0]).all()
        assert (targets == seen[0][1]).all()
    ledger = gd.Ledger.in_memory(gd.ApproxDP(1, 1e-5))

    def broken(predictions: np.ndarray, targets: np.ndarray) -> np.ndarray:
        return predictions[0] + 0 * targets[0]

    with pytest.raises(InvalidRequest, match="for each prediction and target"):
        TraceRegression(**{**requested, "loss": broken}, ledger=ledger).fit(A, y)
    assert ledger.spent.epsilon(0) == 0


@pytest.mark.parametrize(
    ("loss", "lipschitz", "words"),
    [
        (lambda p, y: -((p - y) ** 2), 100.0, "not convex"),
        (lambda p, y: np.abs(p - y), 0.5, "a slope of 1"),
        (lambda p, y: p * np.nan + y, 1.0, "one number for each"),
        (pinball, None, "A loss of your own needs `lipschitz`, a"),
        ("huber", 1.0, "a loss of your own"),
        ("hinge", None, "loss"),
    ],
)
def test_other_losses_are_refused(loss: Callable | str, lipschitz: float | None, words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        trace_loss(loss, lipschitz, 1.0, (-1.0, 1.0), BOUNDS, cut=False)


def rank_one(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Orthogonal designs, which have operator norm 1, and predictions of a matrix of nuclear norm 1."""
    rng = np.random.default_rng(seed)
    designs = np.linalg.qr(rng.standard_normal((n, d, d)))[0] * rng.choice([-1.0, 1.0], (n, 1, d))
    sides = rng.standard_normal((2, d))
    true = np.outer(*(sides / np.linalg.norm(sides, axis=1, keepdims=True)))
    return designs, np.einsum("nij,ij->n", designs, true), true


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
@pytest.mark.parametrize(("d", "solver"), [(3, "moments"), (16, "grams")])
def test_designs_of_bounded_operator_norm(d: int, solver: str, neighbours: str) -> None:
    designs, target, true = rank_one(8000, d, 3)
    model = TraceRegression(
        1.0, 1e-6, design_norm=1.0, norm="operator", target_bounds=(-1, 1), neighbours=neighbours
    ).fit(designs, target)
    assert (model.solver_, model.release_.exactness) == (solver, "exact")
    assert np.linalg.norm(model.coef_ - true) ** 2 < 0.5
    far = TraceRegression(1.0, 1e-6, design_norm=1.0, norm="operator", target_bounds=(-1, 1), solver=solver)
    pulled = far.fit(1e6 * designs, target).coef_
    assert np.linalg.norm(pulled - true) ** 2 < 0.6, "designs are pulled back to operator norm 1"


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["huber", "absolute", "logistic", pinball])
def test_other_losses_find_the_matrix_by_descent(loss) -> None:
    designs, predicted, true = rank_one(20_000, 3, 4)
    rng = np.random.default_rng(5)
    is_logistic = loss == "logistic"
    target = rng.random(20_000) < 1 / (1 + np.exp(-8 * predicted)) if is_logistic else predicted
    model = TraceRegression(
        20.0, 1e-6, radius=8.0 if is_logistic else 1.0, design_norm=1.0, norm="operator", loss=loss,
        lipschitz=0.8 if loss is pinball else None, target_bounds=(0, 1) if is_logistic else (-1, 1),
    ).fit(designs, target.astype(float))  # fmt: skip
    assert model.solver_ == "descent"
    cosine = np.sum(model.coef_ * true) / np.linalg.norm(model.coef_)
    assert cosine > 0.9


@pytest.mark.parametrize("solver", ["moments", "grams", "stochastic"])
def test_solvers_of_the_squared_loss_refuse_others(solver: str) -> None:
    designs, target, _ = rank_one(50, 2, 6)
    with pytest.raises(InvalidRequest, match="squared loss"):
        TraceRegression(1.0, 1e-6, design_norm=1.0, target_bounds=(-1, 1), solver=solver, loss="huber").fit(
            designs, target
        )


def test_grams_are_for_matrices_and_norms_have_names() -> None:
    with pytest.raises(InvalidRequest, match="needs general design matrices, but the"):
        TraceRegression(1.0, 1e-6, row_norm=1.0, target_bounds=(0, 1), solver="grams").fit(np.ones((5, 2)), np.ones(5))
    with pytest.raises(InvalidRequest, match="norm"):
        TraceRegression(1.0, 1e-6, design_norm=1.0, target_bounds=(0, 1), norm="nuclear").fit(
            np.ones((5, 2, 2)), np.ones(5)
        )


def test_rows_have_one_norm_whatever_it_is_called() -> None:
    rows, target = np.random.default_rng(1).standard_normal((300, 3)), np.ones(300)
    model = TraceRegression(1.0, 1e-6, row_norm=2.0, target_bounds=(0, 1), norm="operator").fit(rows, target)
    assert model.solver_ == "moments"


def test_a_table_of_slopes_keeps_a_loss_that_is_flat() -> None:
    flat = Tabulated.of(lambda p, y: 0 * p + y, 1.0, 1.0, 1.0, (0.0, 1.0))
    assert (flat(np.linspace(-1, 1, 9), np.zeros(9)) == 0).all()
    assert flat.smoothness > 0
