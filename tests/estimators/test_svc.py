"""The private linear support vector classifier. Keys are fixed."""

import json

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from sklearn.base import clone

from gaugedp.estimators import linear_model
from gaugedp.estimators.logistic import LogisticRegression
from gaugedp.estimators.svc import LinearSVC, _joint_slopes
from gaugedp.guarantees.gaussian_curve import gaussian_mu


def sphere(n: int, d: int, key: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(key)
    rows = rng.standard_normal((n, d))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    truth = rng.standard_normal(d)
    chance = 1 / (1 + np.exp(-rows @ truth * (4 / np.linalg.norm(truth))))
    return rows, np.where(rng.random(n) < chance, 1, -1)


MODEL = LinearSVC(1.0, 1e-6, row_norm=1.0, classes=[-1, 1], random_state=1)


def risk(w: np.ndarray, rows: np.ndarray, labels: np.ndarray) -> float:
    return float(np.maximum(0, 1 - labels * (rows @ w)).mean())


def best(rows: np.ndarray, labels: np.ndarray) -> float:
    w, actual = np.zeros(rows.shape[1]), 1.0
    for t in range(3000):
        w = w + 20 / np.sqrt(t + 1) * (labels * (labels * (rows @ w) < 1)) @ rows / len(rows)
        actual = min(actual, risk(w, rows, labels))
    return actual


@pytest.mark.parametrize(("epsilon", "delta"), [(1e5, 1e-6), (1e8, 0.0)])
def test_without_noise_it_is_the_best_hinge_loss(epsilon: float, delta: float) -> None:
    rows, labels = sphere(2000, 5, 1)
    model = clone(MODEL).set_params(epsilon=epsilon, delta=delta, fit_intercept=False).fit(rows, labels)
    assert risk(model.coef_[0], rows, labels) - best(rows, labels) < (1e-3 if delta else 5e-3)


@pytest.mark.statistical
def test_the_excess_risk_on_the_sphere() -> None:
    """n = 10,000, d = 20, ε = 1: the mean of eight fits with fixed keys."""
    rows, labels = sphere(10_000, 20, 2)
    models = [clone(MODEL).set_params(random_state=key, radius=5, fit_intercept=False) for key in range(8)]
    results = [risk(model.fit(rows, labels).coef_[0], rows, labels) for model in models]
    assert np.mean(results) - best(rows, labels) <= 8e-4


def test_joint_slopes_are_subgradients() -> None:
    rng = np.random.default_rng(3)
    z, y = rng.standard_normal((200, 4)) * 2, rng.integers(0, 4, 200)

    def value(z: np.ndarray) -> np.ndarray:
        rivals = np.where(np.eye(4)[y] == 1, -np.inf, z)
        return np.maximum(0, 1 + rivals.max(axis=1) - z[np.arange(200), y])

    slopes = _joint_slopes(z, y)
    for _ in range(20):
        other = rng.standard_normal((200, 4)) * 2
        assert (value(other) >= value(z) + ((other - z) * slopes).sum(axis=1) - 1e-12).all()
    assert np.linalg.norm(slopes, axis=1).max() <= np.sqrt(2) + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_three_classes_and_the_guarantee(neighbours: str, delta: float) -> None:
    rows, _ = sphere(4000, 2, 4)
    labels = np.digitize(np.arctan2(rows[:, 0], rows[:, 1]), [-1, 1])
    model = clone(MODEL).set_params(classes=[0, 1, 2], neighbours=neighbours, delta=delta)
    loud = clone(model).set_params(epsilon=50.0).fit(rows, labels)
    assert loud.score(rows, labels) > 0.9
    assert loud.decision_function(rows).shape == (4000, 3)
    spent = float(model.fit(rows, labels).guarantee_.epsilon(delta))
    assert 0.96 < spent <= 1 + 1e-9


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_the_noise_is_that_for_the_neighbours(neighbours: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the descent is asked for, whose noise its own tests weigh: half of it would be seen here."""
    made, calibrate = [], linear_model.NoisyDescent.calibrate
    monkeypatch.setattr(
        linear_model.NoisyDescent, "calibrate", lambda *given: made.append(calibrate(*given)) or made[-1]
    )
    clone(MODEL).set_params(solver="gradient", neighbours=neighbours, fit_intercept=False).fit(*sphere(100, 3, 1))
    moved, rest = (2, 1.0) if neighbours == "replace" else (1, np.sqrt(0.95))  # a twentieth of μ² is the count's
    deviation = np.sqrt(made[0].noise.variances.mean())
    expected = moved * np.sqrt(made[0].path.n_steps) / (rest * gaussian_mu(1.0, 1e-6))
    assert deviation == pytest.approx(expected, rel=1e-2)


def test_the_rounded_loss_is_for_two_classes() -> None:
    with pytest.raises(InvalidRequest, match="two classes"):
        clone(MODEL).set_params(solver="objective", classes=[0, 1, 2]).fit(*sphere(10, 2, 1))
    with pytest.raises(InvalidRequest, match="solver"):
        clone(MODEL).set_params(solver="newton").fit(*sphere(10, 2, 1))


@pytest.mark.parametrize(
    ("solver", "n", "epsilon", "delta"),
    [("objective", 4000, 4.0, 1e-6), ("gradient", 1000, 1.0, 1e-6), ("objective", 100, 1.0, 0.0)],
)
def test_faint_noise_is_added_once(solver: str, n: int, epsilon: float, delta: float) -> None:
    model = clone(MODEL).set_params(epsilon=epsilon, delta=delta, neighbours="replace").fit(*sphere(n, 5, 1))
    assert model.solver_ == solver
    assert model.release_.exactness == ("exact" if solver == "gradient" else "idealized")


@pytest.mark.parametrize(("d", "solver"), [(5, "objective"), (40, "gradient")])
def test_noise_that_is_shorter_by_a_pure_guarantee_is_added_once(d: int, solver: str) -> None:
    model = clone(MODEL).set_params(fit_intercept=False, neighbours="replace")
    assert model.fit(*sphere(500, d, 1)).solver_ == solver


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
@pytest.mark.parametrize("kind", [LinearSVC, LogisticRegression])
def test_the_shorter_of_two_noises_is_added(kind, neighbours: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """√d is below ε/μ, some 4.2, for d = 3 and above for d = 40; with an intercept others share ε."""
    taken, calibrate = [], linear_model.ObjectivePerturbation.calibrate
    note = lambda problem, requested, n: taken.append(requested) or calibrate(problem, requested, n)  # noqa: E731
    monkeypatch.setattr(linear_model.ObjectivePerturbation, "calibrate", note)
    ledger = gd.Ledger.in_memory(gd.ApproxDP(1.0, 1e-6))
    given = {"row_norm": 1.0, "classes": [-1, 1], "neighbours": neighbours, "random_state": 1}
    cases = [(3, "objective", False), (40, "objective", False), (3, "objective", True), (3, "gradient", False)]
    for d, solver, intercept in cases:
        model = kind(1.0, 1e-6, solver=solver, fit_intercept=intercept, **given).fit(*sphere(500, d, 1))
        assert model.guarantee_.delta(1.0) < (1e-12 if (d, solver, intercept) == cases[0] else 1.001e-6)
        assert json.loads(model.release_.to_json())["facts"]["asked"] == gd.ApproxDP(1.0, 1e-6).to_dict()
    assert [type(one) for one in taken] == [gd.PureDP, gd.ApproxDP, gd.ApproxDP]
    kind(1.0, 1e-6, solver="objective", fit_intercept=False, ledger=ledger, **given).fit(*sphere(500, 3, 1))
    assert ledger.spent.epsilon(1e-6) <= 1


@pytest.mark.statistical
def test_long_tables_get_near_the_best_hinge_loss() -> None:
    """n = 10,000, d = 20, ε = 4: the mean of four fits with fixed keys."""
    rows, labels = sphere(10_000, 20, 2)
    models = [clone(MODEL).set_params(epsilon=4.0, random_state=key, fit_intercept=False) for key in range(4)]
    results = [risk(model.fit(rows, labels).coef_[0], rows, labels) for model in models]
    assert np.mean(results) - best(rows, labels) <= 3e-4
