"""Private Frank–Wolfe: exact sums, the guarantee of its choices, the ball, and a risk that falls."""

import math
from fractions import Fraction

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import ExponentialLoss
from gaugedp.optimization import FrankWolfe, Hinge, Huber, Logistic, Loss, Squared
from gaugedp.optimization.frank_wolfe import BITS, Walk, frank_wolfe, start

pytestmark = pytest.mark.statistical
ASKED = gd.ApproxDP(1.0, 1e-6)


class NoSums(Huber):
    """Huber's loss, by a pass for each step."""

    is_clipped_residual = False


def table(n: int, d: int, key: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng((n, d, key))
    features, weights = rng.uniform(-1, 1, (n, d)), np.zeros(d)
    weights[:4] = [1, -1, 1, -1]
    return features, np.where(rng.random(n) < 1 / (1 + np.exp(-features @ weights)), 1.0, -1.0), weights


@pytest.mark.parametrize("steps", [1, 7, 60])
@pytest.mark.parametrize("requested", [ASKED, gd.ApproxDP(0.2, 1e-9), gd.PureDP(1.0)])
def test_all_choices_together_keep_what_is_asked_and_use_it(steps: int, requested) -> None:
    actual = FrankWolfe.calibrate(100, 5, Logistic(), 2.0, requested, steps=steps)
    delta = getattr(requested, "delta_value", 0.0)
    epsilon = requested.epsilon(delta)
    assert 0.999 * epsilon < actual.guarantee.epsilon(delta) <= epsilon
    assert actual.guarantee.epsilon(delta) == (steps * actual.selection.guarantee).epsilon(delta)
    assert isinstance(actual.selection.guarantee, ExponentialLoss)


def walked(loss: Loss, data: tuple[np.ndarray, np.ndarray], radius: float, vertices: np.ndarray) -> Walk:
    """A walk for a loss: by its sums of residuals where it has such, as Huber's, else by a pass for each step."""
    walk = start(*data, (loss, radius), len(vertices))
    for vertex in vertices:
        walk.go(vertex)
    return walk


@pytest.mark.parametrize("loss", [Huber(0.3), Squared(0.5), NoSums(0.3)])
@pytest.mark.parametrize(("neighbours", "moved"), [("replace", 2.0), ("add_remove", 1.0)])
def test_no_row_moves_a_score_by_more_than_the_body_says(neighbours: str, moved: float, loss: Loss) -> None:
    """The worst rows, any walk: attained up to rounding, so half the body would not do."""
    rng = np.random.default_rng(2)
    body = FrankWolfe.calibrate(100, 4, loss, 3.0, ASKED, neighbours, 5).selection.body
    largest = 0.0
    for _ in range(200):
        vertices = rng.integers(8, size=rng.integers(6))
        rows, targets = rng.choice([-1, 1, 0.3, 0.77], (9, 4)), 9 * rng.standard_normal(9)
        other, goal = rows.copy(), targets.copy()
        other[0], goal[0] = rng.choice([-1, 1], 4), rng.choice([-50, 50])
        if neighbours == "add_remove":
            other, goal = other[1:], goal[1:]
        first, second = (walked(loss, data, 1.7, vertices).slopes() for data in ((rows, targets), (other, goal)))
        largest = max(largest, np.abs(first - second).max())
    assert 0.99 * moved < largest <= moved * (1 + 2.0**-50) < body.radius(math.inf) < 1.00001 * moved


@pytest.mark.parametrize("loss", [Logistic(), Huber(0.4)])
def test_sums_are_exact_in_any_order(loss: Loss) -> None:
    features, targets, _ = table(3000, 6)
    order, vertices = np.random.default_rng(1).permutation(3000), np.random.default_rng(2).integers(12, size=40)
    first, second = (
        walked(loss, data, 3.7, vertices).slopes() for data in ((features, targets), (features[order], targets[order]))
    )
    assert (first == second).all()


@pytest.mark.parametrize("d", [3, 200])
def test_sums_of_residuals_are_those_of_the_rows(d: int) -> None:
    """By fractions, row by row, for second moments had at once and for those of a column when it is met."""
    rng, ratio = np.random.default_rng(4), 3.0 / 0.25
    features, targets, vertices = rng.uniform(-1, 1, (30, d)), rng.uniform(-2, 2, 30), rng.integers(2 * d, size=9)
    walk, unit = walked(Squared(0.25), (features, targets), 3.0, vertices), Fraction(1, 2**BITS)
    by_rows = np.zeros(d, object)
    for row, predicted, target in zip(walk.grid, walk.predicted, targets / 0.25, strict=True):
        goal = round(max(-1 - ratio, min(1 + ratio, target)) * 2**BITS)
        residual = (Fraction(2, 90) * Fraction(ratio) * int(predicted) - goal) * unit
        by_rows += [int(x) * unit * max(-1, min(1, residual)) for x in row]
    assert walk.slopes() == pytest.approx(by_rows.astype(float), abs=30 * 2.0**-BITS)
    weights = 3.0 * walk.shares
    exact = np.clip((features @ weights - targets) / 0.25, -1, 1) @ features
    assert walk.slopes() == pytest.approx(exact, abs=0.02)


def test_steps_stay_in_the_ball_and_on_the_grid() -> None:
    walk, rng = start(np.zeros((1, 3)), np.zeros(1), (Logistic(), 1.0), 500), np.random.default_rng(1)
    shares = np.zeros(3)
    for t in range(500):
        vertex = int(rng.integers(6))
        walk.go(vertex)
        shares = (1 - 2 / (t + 2)) * shares + 2 / (t + 2) * np.eye(6)[vertex][:3] - 2 / (t + 2) * np.eye(6)[vertex][3:]
        assert np.abs(walk.shares).sum() <= 1
        assert (walk.shares * 2.0**30 % 1 == 0).all()
        assert walk.shares == pytest.approx(shares, abs=2.0**-29)


def test_without_noise_it_finds_the_minimum() -> None:
    """At a large ε the bound on the risk holds with room, and the vertices are the right ones."""
    features, _, weights = table(4000, 10)
    calibration = FrankWolfe.calibrate(4000, 10, Squared(4.0), 4.0, gd.PureDP(1e9), steps=300)
    goal = features @ weights
    actual = frank_wolfe(features, goal, Squared(4.0), 4.0, calibration, gd.research_rng(1))
    assert np.abs(actual).sum() <= 4.0
    assert ((features @ actual - goal) ** 2).mean() / 2 < 0.02 < calibration.risk_bound(4000, Squared(4.0), 4.0)


def test_more_rows_bring_the_risk_down_below_the_bound() -> None:
    risks = []
    for n in (500, 8000):
        features, targets, weights = table(n, 10)
        calibration = FrankWolfe.calibrate(n, 10, Logistic(), 4.0, ASKED)
        mean = lambda w, x=features, y=targets: np.logaddexp(0, -y * (x @ w)).mean()  # noqa: E731
        draws = [frank_wolfe(features, targets, Logistic(), 4.0, calibration, gd.research_rng(k)) for k in range(6)]
        risks.append(np.mean([mean(w) for w in draws]) - mean(weights))
        assert risks[-1] < calibration.risk_bound(n, Logistic(), 4.0)
    assert risks[1] < 0.02 < risks[0]


def test_what_is_not_finite_counts_as_nothing_and_progress_is_told() -> None:
    calibration = FrankWolfe.calibrate(4, 2, Logistic(), 1.0, gd.PureDP(1.0), steps=3)
    features = np.array([[math.nan, 1.0], [math.inf, -math.inf], [1e308, 0.0], [0.2, 0.1]])
    shown: list[float] = []
    actual = frank_wolfe(
        features, np.array([1e308, math.nan, -math.inf, 1]), Logistic(), 1.0, calibration, progress=shown.append
    )
    assert np.isfinite(actual).all()
    assert shown[-1] == 1.0
    assert len(shown) == 3


def test_a_kink_and_a_strange_guarantee_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="continuous slope"):
        FrankWolfe.calibrate(10, 2, Hinge(), 1.0, ASKED)
    for wrong in (gd.ZCDP(1.0), gd.ApproxDP(1.0, 0.0)):
        with pytest.raises(InvalidRequest, match="cannot guarantee"):
            FrankWolfe.calibrate(10, 2, Logistic(), 1.0, wrong, steps=3)
    with pytest.raises(InvalidRequest, match="`steps` is"):
        FrankWolfe.calibrate(10, 2, Logistic(), 1.0, gd.PureDP(1.0), steps=2**21)
    with pytest.raises(InvalidRequest, match="neighbours"):
        FrankWolfe.calibrate(10, 2, Logistic(), 1.0, ASKED, "both")
