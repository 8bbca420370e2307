"""The intercept found again by the rows' scores: how far a row moves the sums, what it costs, what it finds."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gaugedp as gd
from gaugedp.entropy import research_rng

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from sklearn.base import clone

from gaugedp.estimators import intercept_noise, linear_model
from gaugedp.estimators.intercept_noise import InterceptNoise, _sums, spares_delta
from gaugedp.estimators.logistic import LogisticRegression
from gaugedp.estimators.svc import LinearSVC
from gaugedp.guarantees.gaussian_curve import gaussian_delta, gaussian_mu
from gaugedp.mechanisms import Gaussian

GUARANTEES = [gd.ApproxDP(0.5, 1e-6), gd.PureDP(0.5)]
ADDED, REPLACED = (InterceptNoise.plan(GUARANTEES[0], replaced) for replaced in (False, True))


def in_ball(rows: np.ndarray) -> np.ndarray:
    return rows / np.maximum(1, np.linalg.norm(rows, axis=1, keepdims=True))


@given(st.integers(0, 2**32), st.integers(1, 40), st.sampled_from([0.0, 1e-300, 1e-3, 0.3, 1.0]))
def test_a_row_moves_the_sums_within_the_ball_and_order_is_nothing(key: int, d: int, size: float) -> None:
    rng = np.random.default_rng(key)
    rows = in_ball(rng.standard_normal((12, d)) * rng.choice([1e-4, 1.0, 9.0], (12, 1)))
    labels, weights = rng.choice([-1.0, 0.0, 1.0], 12), rng.standard_normal(d)
    weights *= size * math.sqrt(d) / 1.5 / np.linalg.norm(weights)
    order, other = rng.permutation(12), (np.vstack([-rows[:1], rows[1:]]), np.r_[-labels[:1], labels[1:]])
    for more, noise in (((None, 0.0), "coarse"), ((rng.uniform(-1, 1), 0.7), "noise")):
        whole = _sums(rows, labels, weights, *more)
        assert (_sums(rows[order], labels[order], weights, *more) == whole).all()
        without = _sums(rows[1:], labels[1:], weights, *more)
        assert np.linalg.norm(whole - without) <= getattr(ADDED, noise).body.radius(2)
        assert np.linalg.norm(whole - _sums(*other, weights, *more)) <= getattr(REPLACED, noise).body.radius(2)


@pytest.mark.parametrize("replaced", [True, False])
def test_two_tables_attain_what_is_charged(replaced: bool) -> None:
    """A tenth less noise would break the guarantee: the farthest sums are apart by the charge, and by no more."""
    level, weights = InterceptNoise.plan(GUARANTEES[0], replaced), np.full(3, 1 / 1.5)  # √d/1.5 long
    rows, labels = np.array([[1.0, 1.0, 1.0], [-1.0, -1.0, -1.0]]) / math.sqrt(3), np.array([1.0, -1.0])
    mus = []
    for noise, more in ((level.coarse, (None, 0.0)), (level.noise, (0.0, 0.7))):
        first, second = (_sums(rows[i : i + 1], labels[i : i + 1], weights, *more) for i in (0, 1))
        moved = np.linalg.norm(first - second) if replaced else np.linalg.norm(first)
        mus.append(moved / math.sqrt(noise.variances[0]))
    assert 0.999 * level.auxiliary_mu < math.hypot(*mus) <= level.auxiliary_mu
    pure = InterceptNoise.plan(GUARANTEES[1], replaced)
    spent = sum(each.epsilon_value for each in (pure.coarse.guarantee, pure.noise.guarantee, pure.remaining))
    assert spent == pytest.approx(0.5, rel=1e-12)
    assert spent <= 0.5


@pytest.mark.parametrize("requested", [gd.ApproxDP(5.0, 1e-6), gd.PureDP(5.0)])
def test_the_middle_is_found_and_the_commoner_class_is_favoured(requested) -> None:
    rng = np.random.default_rng(1)
    labels = np.where(rng.random(4000) < 0.8, 1.0, -1.0)
    rows = np.column_stack([0.5 + 0.05 * rng.standard_normal(4000), np.full(4000, 0.7)])
    weights = np.array([2.0, 1.0])
    spread, mean = math.sqrt(5 / 2), float((rows @ weights).mean())
    actual = InterceptNoise.plan(requested, True).intercept(rows, labels, weights, (4000, 1.0), research_rng(2))
    assert actual == pytest.approx(spread / 2 * math.log(0.8 / 0.2) - mean, abs=0.1)
    even = InterceptNoise.plan(requested, True).intercept(rows, np.zeros(4000), weights, (4000, 1.0), research_rng(2))
    assert even == pytest.approx(-mean, abs=0.1)
    assert InterceptNoise.plan(requested, True).intercept(rows, labels, np.zeros(2), (4000, 1.0), research_rng(2)) == 0


def test_both_releases_of_the_level_are_noisy(monkeypatch: pytest.MonkeyPatch) -> None:
    noises = []
    monkeypatch.setattr(intercept_noise, "released", lambda exact, noise, _: noises.append(noise) or exact)
    REPLACED.intercept(np.eye(3), np.ones(3), np.ones(3), (3, 1.0), research_rng(1))
    assert noises == [REPLACED.coarse, REPLACED.noise]


def test_weights_of_any_size_give_a_number_of_their_size() -> None:
    level = InterceptNoise.plan(GUARANTEES[0], True)
    rows, labels = in_ball(np.random.default_rng(1).standard_normal((50, 9))), np.ones(50)
    results = {}
    for size in (0.0, 5e-324, 1e-200, 1.0, 1e200, 1e300):
        results[size] = level.intercept(rows, labels, np.full(9, size), (50, 1.0), research_rng(3))
        assert abs(results[size]) <= 500 * size
    assert results[1e200] == pytest.approx(results[1.0] * 1e200)
    assert results[1e-200] == pytest.approx(results[1.0] * 1e-200)


@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC])
@pytest.mark.parametrize("delta", [1e-6, 1e-3, 0.01, 0.1, 0.5])
def test_any_delta_is_kept_and_none_is_refused_for_the_level(kind: type, delta: float) -> None:
    rows, labels = far_off(20)
    for epsilon in (1e-3, 0.01, 0.1, 1.0):
        for neighbours in ("replace", "add_remove"):
            model = kind(epsilon, delta, row_norm=4.0, classes=[0, 1], solver="objective", neighbours=neighbours)
            assert model.fit(rows, labels).guarantee_.epsilon(delta) <= epsilon * (1 + 1e-9)


def far_off(n: int = 400, key: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Rows far from 0, on no common side of it, in two classes that lie along the way there."""
    rng = np.random.default_rng(key)
    labels = rng.integers(0, 2, n)
    rows = -0.5 + 0.15 * (2 * labels[:, None] - 1) + 0.05 * rng.standard_normal((n, 30))
    return rows * np.tile([1.0, -1.0], 15), labels


def test_loud_noise_no_longer_hides_where_classes_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    kind, (rows, labels) = LogisticRegression, far_off()
    model = kind(0.5, 1e-5, row_norm=4.0, classes=[0, 1], neighbours="replace")
    results = [clone(model).set_params(random_state=key).fit(rows, labels).score(rows, labels) for key in range(9)]
    assert np.median(results) > 0.95
    monkeypatch.setattr(kind, "_intercept_noise", lambda _self, centre, *_: InterceptNoise(None, centre.remaining))
    before = [clone(model).set_params(random_state=key).fit(rows, labels).score(rows, labels) for key in range(9)]
    assert np.median(before) < 0.9


@pytest.mark.parametrize("solver", ["gradient", "objective"])
def test_the_level_is_part_of_the_guarantee(solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    task = linear_model.LinearProblem
    monkeypatch.setattr(linear_model, "LinearProblem", lambda *given: seen.append(task(*given)) or seen[-1])
    rows, labels = far_off(40)  # too few for a centre
    given = {"row_norm": 4.0, "classes": [0, 1], "solver": solver, "neighbours": "replace"}
    model = LogisticRegression(0.5, 1e-5, **given).fit(rows, labels)
    auxiliary_mu = InterceptNoise.plan(gd.ApproxDP(0.5, 1e-5), True).auxiliary_mu
    assert [each.auxiliary_mu for each in seen] == [auxiliary_mu]
    assert auxiliary_mu > 0
    assert model.guarantee_.epsilon(1e-5) <= 0.5 * (1 + 1e-9)
    LogisticRegression(0.5, 1e-5, **given, fit_intercept=False).fit(rows, labels)
    pure = LogisticRegression(0.5, **given).fit(rows, labels)
    assert [each.auxiliary_mu for each in seen[1:]] == [0, 0]
    assert seen[2].guarantee == InterceptNoise.plan(gd.PureDP(0.5), True).remaining
    assert pure.guarantee_ == gd.PureDP(0.5)


def test_several_classes_and_affordable_centres_have_none() -> None:
    rows, labels = far_off()
    centre = linear_model.Centre.plan(gd.ApproxDP(0.5, 1e-5), 30, 10**6, True)
    assert centre.noise is not None
    model = LogisticRegression(0.5, 1e-5, row_norm=4.0, classes=[0, 1])
    assert model._intercept_noise(centre, 2).noise is None
    none = linear_model.Centre(None, gd.ApproxDP(0.5, 1e-5))
    assert model._intercept_noise(none, 3).noise is None
    assert model._intercept_noise(none, 2).noise is not None
    assert model.fit(rows, labels).intercept_.shape == (1,)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("solver", ["gradient", "objective"])
def test_count_centre_and_level_are_all_in_the_guarantee(
    solver: str, n_classes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every Gaussian release of a fit, as it was made, is in the μ that the solver is told of."""
    seen, made = [], []
    task, calibrate = linear_model.LinearProblem, Gaussian.calibrate
    monkeypatch.setattr(linear_model, "LinearProblem", lambda *given: seen.append(task(*given)) or seen[-1])
    monkeypatch.setattr(Gaussian, "calibrate", lambda *given: made.append(calibrate(*given)) or made[-1])
    rows, labels = far_off(1000)
    model = LogisticRegression(
        0.1, 1e-5, row_norm=4.0, classes=range(n_classes), solver=solver, neighbours="add_remove", random_state=5
    )
    model.fit(rows, labels)
    beside = [one.guarantee.mu for one in made if one.body.ambient_dim in (1, 2, 30)]
    counts = [1] if solver == "gradient" else []  # the objective's ridge follows the count, so ε pays for it
    centre = [1, 1, 2] if n_classes == 2 else [1, 30]  # one group's mean, then the level by two releases, or the mean
    assert [one.body.ambient_dim for one in made][: len(counts) + len(centre)] == [*counts, *centre]
    assert len(beside) == len(counts) + len(centre)
    assert seen[0].auxiliary_mu == pytest.approx(math.hypot(*beside))
    assert seen[0].guarantee.epsilon_value == (0.1 if counts else 0.09)
    assert seen[0].auxiliary_mu < 0.7 * gaussian_mu(0.1, 1e-5)
    assert model.guarantee_.epsilon(1e-5) <= 0.1 * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 5.0, 20.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3, 0.01, 0.1])
def test_nothing_beside_the_objective_takes_much_of_delta(epsilon: float, delta: float) -> None:
    for neighbours in ("replace", "add_remove"):
        for n_classes, corners in ((2, 1), (3, 9), (10, 100)):
            model = LogisticRegression(epsilon, delta, neighbours=neighbours)
            remaining = model._count(gd.ApproxDP(epsilon, delta), "objective").remaining
            centre = model._centre(remaining, (n_classes, np.arange(20)), 2000, "objective")
            auxiliary_mu = math.hypot(centre.auxiliary_mu, model._intercept_noise(centre, n_classes).auxiliary_mu)
            assert corners * gaussian_delta(auxiliary_mu, remaining.epsilon_value) <= delta / 50
            assert spares_delta(auxiliary_mu, remaining, n_classes)
