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
from sklearn.metrics import roc_auc_score

from gaugedp.estimators import intercept_noise, linear_model
from gaugedp.estimators.intercept_noise import InterceptNoise, _sum, spares_delta
from gaugedp.estimators.logistic import LogisticRegression
from gaugedp.estimators.svc import LinearSVC
from gaugedp.guarantees.gaussian_curve import gaussian_delta, gaussian_mu
from gaugedp.mechanisms import Gaussian

GUARANTEES = [gd.ApproxDP(0.5, 1e-6), gd.PureDP(0.5)]
ADDED, REPLACED = (InterceptNoise.plan(GUARANTEES[0], 1e6, replaced) for replaced in (False, True))


def in_ball(rows: np.ndarray) -> np.ndarray:
    return rows / np.maximum(1, np.linalg.norm(rows, axis=1, keepdims=True))


@given(st.integers(0, 2**32), st.integers(1, 40), st.sampled_from([0.0, 1e-300, 1e-3, 0.3, 1.0]))
def test_a_row_moves_the_sums_within_the_ball_and_order_is_nothing(key: int, d: int, size: float) -> None:
    rng = np.random.default_rng(key)
    rows = in_ball(rng.standard_normal((12, d)) * rng.choice([1e-4, 1.0, 9.0], (12, 1)))
    weights = rng.standard_normal(d)
    weights *= size * math.sqrt(d) / 1.5 / np.linalg.norm(weights)
    order, other = rng.permutation(12), np.vstack([-rows[:1], rows[1:]])
    for middle in (None, rng.uniform(-1, 1)):
        whole = _sum(rows, weights, middle)
        assert _sum(rows[order], weights, middle) == whole
        assert abs(whole - _sum(rows[1:], weights, middle)) <= ADDED.noises[1].body.radius(2)
        assert abs(whole - _sum(other, weights, middle)) <= REPLACED.noises[2].body.radius(2)


@pytest.mark.parametrize("takes_delta", [True, False])
@pytest.mark.parametrize("n_rows", [30, 1e6])
@pytest.mark.parametrize("replaced", [True, False])
def test_two_tables_attain_what_is_charged(replaced: bool, n_rows: float, takes_delta: bool) -> None:
    """A tenth less noise would break the guarantee: the farthest sums are apart by the charge, and by no more."""
    level = InterceptNoise.plan(GUARANTEES[0], n_rows, replaced, 0.0, takes_delta)
    rows, weights = np.full((1, 3), 1 / math.sqrt(3)), np.full(3, 1 / 1.5)  # √d/1.5 long
    sums = [(1.0, -1.0), *((_sum(rows, weights, m), _sum(-rows, weights, m)) for m in (None, 0.0))]  # of labels first
    moved = [abs(first - second) if replaced else abs(first) for first, second in sums]
    mus = [each / math.sqrt(noise.variances[0]) for each, noise in zip(moved, level.noises, strict=True)]
    assert 0.999 * level.auxiliary_mu < math.hypot(*mus) <= level.auxiliary_mu
    assert level.auxiliary_mu < 0.75 * gaussian_mu(0.5, 1e-6)
    pure = InterceptNoise.plan(GUARANTEES[1], n_rows, replaced)
    spent = sum(each.epsilon_value for each in (*(noise.guarantee for noise in pure.noises), pure.remaining))
    assert spent == pytest.approx(0.5, rel=1e-12)
    assert spent <= 0.5


@pytest.mark.parametrize("n_rows", [30, 1e7])
@pytest.mark.parametrize("replaced", [True, False])
def test_labels_before_the_weights_attain_what_is_charged(replaced: bool, n_rows: float) -> None:
    """A sum of labels ±1 moves by 2 or 1, which takes all of the charge and no more; few rows get the whole share."""
    level, pure = (InterceptNoise.first(each, n_rows, replaced, 0.0) for each in GUARANTEES)
    moved = 2 if replaced else 1
    assert 0.999 * level.auxiliary_mu < moved / math.sqrt(level.noises[0].variances[0]) <= level.auxiliary_mu
    spent = pure.noises[0].guarantee.epsilon_value
    assert math.sqrt(2) * moved / math.sqrt(pure.noises[0].variances[0]) == pytest.approx(spent, rel=1e-3)
    assert 0.5 * (1 - 1e-12) < spent + pure.remaining.epsilon_value <= 0.5
    assert (spent == pytest.approx(0.025)) == (n_rows < 1e7)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_rare_class_is_told_apart_as_well_as_by_newton(delta: float) -> None:
    """1.4 % in a class, of which one column tells; seeds are fixed; one of 1,000 others fails.

    With a ridge that pulls the intercept to 0, medians of the default are 0.76 and 0.66.
    """
    rng = np.random.default_rng(3)
    rows = np.clip(rng.normal([0.28, 0.42, 0.3], [0.155, 0.16, 0.45], (6000, 3)), 0, 1)
    labels = (rng.random(6000) < 1 / (1 + np.exp(11.3 - 16.5 * rows[:, 0]))).astype(int)
    auc = {}
    for solver in ("auto", "newton"):
        model = LogisticRegression(0.5, delta, bounds=(0, 1), classes=[0, 1], solver=solver)
        fits = [clone(model).set_params(random_state=key).fit(rows, labels) for key in range(9)]
        auc[solver] = np.median([roc_auc_score(labels, fit.decision_function(rows)) for fit in fits])
    assert auc["auto"] > max(0.87, auc["newton"] - 0.03)


@pytest.mark.parametrize("replaced", [True, False])
def test_labels_alone_take_all_of_the_guarantee(replaced: bool) -> None:
    moved = 2 if replaced else 1
    for guarantee, expected in zip((*GUARANTEES, gd.GaussianDP(0.3)), (*2 * [math.sqrt(8)], 1 / 0.3), strict=True):
        (noise,) = InterceptNoise.of_labels(guarantee, replaced).noises
        assert moved * expected <= noise.variances[0] ** 0.5 < 1.001 * moved * expected


@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC])
def test_a_number_of_rows_decides_on_labels_alone_and_is_public_or_released(kind: type, monkeypatch) -> None:
    """Whether few or many, added rows are charged alike; a public number decides before the charge."""
    rows, labels = np.random.default_rng(1).uniform(-1, 1, (200, 40)), np.arange(200) % 4 == 0
    given = {"bounds": (-1, 1), "classes": [0, 1], "random_state": 2}
    few = kind(0.05, 1e-6, neighbours="replace", **given).fit(rows, labels)
    assert (few.solver_, few.guarantee_) == ("labels", gd.PureDP(0.05))
    assert kind(50.0, 1e-6, neighbours="replace", **given).fit(rows, labels).coef_.any()
    for epsilon in (0.1, 5.0):  # for noisy steps and for the objective
        fits, made, calibrate = [], [], Gaussian.calibrate
        monkeypatch.setattr(Gaussian, "calibrate", lambda *of, c=calibrate, m=made: m.append(c(*of)) or m[-1])
        for n_rows in (1.0, 1e7):
            monkeypatch.setattr(linear_model.NoisyRowCount, "draw", lambda *_, n_rows=n_rows: n_rows)
            made.clear()
            fits.append(kind(epsilon, 1e-6, neighbours="add_remove", **given).fit(rows, labels))
            if fits[-1].solver_ != "objective" and isinstance(fits[-1].guarantee_, gd.GaussianDP):
                mu = math.hypot(*(one.guarantee.mu for one in made if one.body.ambient_dim == 1))
                assert mu <= gaussian_mu(epsilon, 1e-6) < 1.001 * mu or n_rows > 1
        assert fits[0].guarantee_ == fits[1].guarantee_
        assert [bool(fit.coef_.any()) for fit in fits] == [False, True]
        assert (fits[0].predict(rows) == (fits[0].intercept_ > 0)).all()
        monkeypatch.setattr(Gaussian, "calibrate", calibrate)


@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC])
def test_a_single_step_by_a_released_number_of_rows_is_called_one(kind: type, monkeypatch) -> None:
    monkeypatch.setattr(linear_model.NoisyRowCount, "draw", lambda *_: 60.0)
    rows, labels = far_off(60)
    model = kind(1.0, 1e-6, bounds=(-1, 1), classes=[0, 1], neighbours="add_remove").fit(rows[:, :5], labels)
    assert (model.solver_, "single step" in model.reason_) == ("gradient", True)


@pytest.mark.parametrize("requested", [gd.ApproxDP(5.0, 1e-6), gd.PureDP(5.0)])
def test_the_middle_is_found_and_the_commoner_class_is_favoured(requested) -> None:
    rng = np.random.default_rng(1)
    labels = np.where(rng.random(4000) < 0.8, 1.0, -1.0)
    rows = np.column_stack([0.5 + 0.05 * rng.standard_normal(4000), np.full(4000, 0.7)])
    weights = np.array([2.0, 1.0])
    spread, mean = math.sqrt(5 / 2), float((rows @ weights).mean())
    level, known = InterceptNoise.plan(requested, 4000, True), (4000, 1.0, 0.0)
    kept, actual = level.intercept(rows, labels, weights, known, research_rng(2))
    assert kept == 1
    assert actual == pytest.approx(spread / 2 * math.log(0.8 / 0.2) - mean, abs=0.1)
    assert level.intercept(rows, np.zeros(4000), weights, known, research_rng(2))[1] == pytest.approx(-mean, abs=0.1)
    assert level.intercept(rows, labels, np.zeros(2), known, research_rng(2)) == (1, 0)


def test_weights_that_point_to_the_mean_of_the_rows_alone_are_not_kept() -> None:
    """A step along Σ yx: labels that rows do not tell apart, then those that they do."""
    rng, noise = np.random.default_rng(1), InterceptNoise.plan(gd.ApproxDP(5.0, 1e-6), 4000, True)
    labels, blur = np.where(rng.random(4000) < 0.9, -1.0, 1.0), 0.02 * rng.standard_normal((4000, 2))
    for apart in (0.0, 0.8):
        rows = np.column_stack([np.full(4000, 0.5 - 0.5 * apart), apart * labels]) + blur
        weights = 4 * (labels @ rows) / 4000  # a step of length 8 with slopes of 1/2
        kept, _ = noise.intercept(rows, labels, weights, (4000, 1.0, 8.0), research_rng(2))
        assert (kept > 0.2) == (apart > 0)


def test_all_releases_of_the_level_are_noisy(monkeypatch: pytest.MonkeyPatch) -> None:
    noises = []
    monkeypatch.setattr(intercept_noise, "released", lambda exact, noise, _: noises.append(noise) or exact)
    REPLACED.intercept(np.eye(3), np.ones(3), np.ones(3), (3, 1.0, 0.0), research_rng(1))
    assert noises == list(REPLACED.noises)
    REPLACED.log_odds(np.ones(3), 3, research_rng(1))
    assert noises[3:] == [REPLACED.noises[0]]


def test_weights_of_any_size_give_a_number_of_their_size() -> None:
    level = InterceptNoise.plan(GUARANTEES[0], 50, True)
    rows, labels = in_ball(np.random.default_rng(1).standard_normal((50, 9))), np.ones(50)
    results = {}
    for size in (0.0, 5e-324, 1e-200, 1.0, 1e200, 1e300):
        results[size] = level.intercept(rows, labels, np.full(9, size), (50, 1.0, 0.0), research_rng(3))[1]
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
    monkeypatch.setattr(kind, "_intercept_noise", lambda _self, centre, *_: InterceptNoise((), centre.remaining))
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
    auxiliary_mu = InterceptNoise.plan(gd.ApproxDP(0.5, 1e-5), 40, True).auxiliary_mu
    assert [each.auxiliary_mu for each in seen] == [auxiliary_mu]
    assert auxiliary_mu > 0
    assert model.guarantee_.epsilon(1e-5) <= 0.5 * (1 + 1e-9)
    LogisticRegression(0.5, 1e-5, **given, fit_intercept=False).fit(rows, labels)
    pure = LogisticRegression(0.5, **given).fit(rows, labels)
    assert [each.auxiliary_mu for each in seen[1:]] == [0, 0]
    assert seen[2].guarantee == InterceptNoise.plan(gd.PureDP(0.5), 40, True).remaining
    assert pure.guarantee_ == gd.PureDP(0.5)


def test_several_classes_and_affordable_centres_have_none() -> None:
    rows, labels = far_off()
    centre = linear_model.Centre.plan(gd.ApproxDP(0.5, 1e-5), 30, 10**6, True)
    assert centre.noise is not None
    model = LogisticRegression(0.5, 1e-5, row_norm=4.0, classes=[0, 1])
    assert not model._intercept_noise(centre, (2, 1e6)).noises
    none = linear_model.Centre(None, gd.ApproxDP(0.5, 1e-5))
    assert not model._intercept_noise(none, (3, 1e6)).noises
    assert model._intercept_noise(none, (2, 1e6)).noises
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
    beside = [one.guarantee.mu for one in made if one.body.ambient_dim in (1, 30)]
    counts = [1] if solver == "gradient" else []  # the objective's ridge follows the count, so ε pays for it
    centre = (
        [1, 1, 1, 1] if n_classes == 2 else [1, 30]
    )  # one group's mean, then the level by three releases, or the mean
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
            auxiliary_mu = math.hypot(
                centre.auxiliary_mu, model._intercept_noise(centre, (n_classes, 2000)).auxiliary_mu
            )
            assert corners * gaussian_delta(auxiliary_mu, remaining.epsilon_value) <= delta / 50
            assert spares_delta(auxiliary_mu, remaining, n_classes)
