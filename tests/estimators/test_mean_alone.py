"""The mean alone: when it is released instead of slopes, how far a row moves it, and what is charged."""

import math

import numpy as np
import pytest

import gaugedp as gd

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from gaugedp.estimators import (
    AdditiveRegressor,
    ElasticNet,
    HuberRegressor,
    Lasso,
    LinearRegression,
    PoissonRegressor,
    Ridge,
    mean_alone,
)
from gaugedp.estimators.additive_descent import AdditiveDescent
from gaugedp.estimators.mean_alone import MeanAlone
from gaugedp.estimators.row_count import NoisyRowCount
from gaugedp.guarantees.gaussian_curve import gaussian_mu
from gaugedp.mechanisms import Gaussian

pytestmark = pytest.mark.filterwarnings("ignore::gaugedp.errors.HopelessFit")
KINDS = [LinearRegression, Ridge, Lasso, HuberRegressor, PoissonRegressor]
GAUSSIAN = [Ridge, ElasticNet, PoissonRegressor, AdditiveRegressor]  # these charge μ where the mean alone may be noisy
RNG = np.random.default_rng(3)
ROWS = RNG.uniform(-1, 1, (300, 3))
TARGET = 1 + 0.9 * ROWS[:, 0]
WEIGHTS = np.where(TARGET > 1, 1.0, 0.25)
FACTS = {"delta": 1e-6, "bounds": (-1, 1), "target_bounds": (0, 2), "random_state": 2}


def has_slopes(model) -> bool:
    return bool(np.ptp(model.predict(ROWS)) > 0)


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize("kind", [*KINDS, AdditiveRegressor])
def test_the_released_number_of_rows_decides_and_not_the_true_one(kind, epsilon: float, monkeypatch) -> None:
    """The charge is the same for both."""
    fits, made, release = [], [], MeanAlone._released
    monkeypatch.setattr(MeanAlone, "_released", lambda *given: made.append(len(fits)) or release(*given))
    for n_rows in (1.0, 1e7):
        monkeypatch.setattr(NoisyRowCount, "draw", lambda *_, n_rows=n_rows: n_rows)
        monkeypatch.setattr(AdditiveDescent, "level", lambda *_, n_rows=n_rows: (n_rows, 0.0))
        fits.append(kind(epsilon, neighbours="add_remove", **FACTS).fit(ROWS, TARGET))
    assert not has_slopes(fits[0])
    assert made == [0]
    assert fits[0].guarantee_ == fits[1].guarantee_


@pytest.mark.parametrize("kind", [*KINDS, AdditiveRegressor])
def test_a_public_number_of_rows_decides_before_the_charge(kind) -> None:
    """A single number is released, for a pure guarantee."""
    few = kind(0.01, neighbours="replace", **FACTS).fit(ROWS, TARGET)
    assert not has_slopes(few)
    assert few.guarantee_ == gd.PureDP(0.01)
    assert has_slopes(kind(50.0, neighbours="replace", **FACTS).fit(ROWS, TARGET))


@pytest.mark.parametrize("kind", GAUSSIAN)
def test_little_budget_buys_a_pure_mean_and_more_a_gaussian_one(kind, monkeypatch: pytest.MonkeyPatch) -> None:
    """Number of rows and mean add up to what is charged, for added rows; a pure mean has less noise."""
    made, calibrate = [], MeanAlone.calibrate
    monkeypatch.setattr(MeanAlone, "calibrate", lambda *given: made.append(calibrate(*given)) or made[-1])
    for n_rows, epsilon in ((300, 0.1), (30, 0.5)):
        model = kind(epsilon, neighbours="add_remove", **FACTS).fit(ROWS[:n_rows], TARGET[:n_rows])
        assert not has_slopes(model)
        assert 0.99 * epsilon < model.guarantee_.epsilon(1e-6) <= epsilon * (1 + 1e-9)
        assert isinstance(made[-1].guarantee, gd.PureDP if epsilon == 0.1 else gd.GaussianDP)
    share = made[0].guarantee.epsilon_value / 0.1
    assert share == pytest.approx(0.95, abs=1e-6)
    mu, whole = made[-1].guarantee.mu, gaussian_mu(0.5, 1e-6)
    assert 0.89 < (mu / whole) ** 2 <= (0.9064 if kind is AdditiveRegressor else 0.95) + 1e-9
    assert made[0].noise.body.radius(1) >= 1


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_an_additive_mean_hides_what_a_row_moves(delta: float, monkeypatch: pytest.MonkeyPatch) -> None:
    made, calibrate = [], MeanAlone.calibrate
    monkeypatch.setattr(MeanAlone, "calibrate", lambda *given: made.append(calibrate(*given)) or made[-1])
    for neighbours in ("replace", "add_remove"):
        AdditiveRegressor(0.02, **{**FACTS, "delta": delta}, neighbours=neighbours).fit(ROWS, TARGET)
    replaced, added = made
    assert (replaced.noise.body.ambient_dim, added.noise.body.ambient_dim) == (1, 2)
    assert replaced.noise.body.radius(1) >= 2
    assert added.noise.body.radius(1) >= 1


@pytest.mark.parametrize("has_weights", [True, False])
@pytest.mark.parametrize("replaced", [True, False])
def test_no_row_moves_the_sums_beyond_their_ball(replaced: bool, has_weights: bool, monkeypatch) -> None:
    """Rows of the ends of the target and of the weights; the worst attain the radius. Least squares: as far."""
    mean, seen = MeanAlone.calibrate((300.0, 4), gd.PureDP(1.0), replaced, has_weights, 0.4), []
    monkeypatch.setattr(mean_alone, "released", lambda exact, *_: seen.append(exact) or exact)
    corners = np.array([[1.0, 1.0], [-1.0, 1.0], [0.3, 1.0], *([[1.0, 0.3], [-1.0, 0.0]] if has_weights else [])])
    constant = np.rint(0.4 * 2.0**12)
    for target, weight in corners if replaced else [*corners, (0.0, 0.0)]:
        mean.start(np.append(TARGET - 1, target), np.append(WEIGHTS, weight), gd.research_rng(1))
        line = np.rint([[constant * np.sqrt(weight)]]), np.rint([np.sqrt(weight) * target * 2.0**12])
        mean.solve_sums(lambda of, line=line: of(*line), gd.research_rng(1))
    for sums in (seen[::2], seen[1::2]):
        apart = max(float(np.abs(one - other).sum()) for one in sums for other in sums)
        most = mean.noise.body.radius(1)
        assert 0.999 * most <= (apart if replaced else max(np.abs(one - sums[-1]).sum() for one in sums)) <= most
    assert len(seen[0]) == (1 if replaced and not has_weights else 2)
    assert mean.guarantee == gd.PureDP(1.0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_it_is_the_noisy_mean_of_the_weighted_target(kind, neighbours: str) -> None:
    """300 columns hide slopes long before the mean; without an intercept there is no mean to release."""
    rows, target, weights = (np.repeat(part, 20, axis=0) for part in (RNG.uniform(-1, 1, (300, 300)), TARGET, WEIGHTS))
    model = kind(0.05, neighbours=neighbours, **FACTS)
    for given, expected in ((None, target.mean()), (weights, np.average(target, weights=weights))):
        predicted = model.fit(rows, target, sample_weight=given).predict(rows[:2])
        assert predicted == pytest.approx(np.full(2, expected), abs=0.15)
        assert (predicted != expected).all()
    assert kind(0.05, neighbours=neighbours, fit_intercept=False, **FACTS).fit(rows, target).coef_.any()


def test_a_gaussian_mean_hides_the_number_of_rows_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a row of an end of the target: as far as the ball of the noise, within rounding."""
    mean, seen = MeanAlone.calibrate((300.0, 4), gd.GaussianDP(0.5), False, False, 1.0), []
    monkeypatch.setattr(mean_alone, "released", lambda exact, *_: seen.append(exact) or exact)
    for target in (TARGET - 1, np.append(TARGET - 1, 1.0)):
        mean.start(target, np.ones(len(target)), gd.research_rng(1))
    assert 0.999 < np.linalg.norm(seen[1] - seen[0]) / mean.noise.body.radius(2) <= 1
    assert mean.noise.variances[0] ** 0.5 >= mean.noise.body.radius(2) / 0.5


@pytest.mark.parametrize("n_rows", [1.0, 1e7])
def test_a_gaussian_number_of_rows_is_part_of_what_is_charged(n_rows: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """All Gaussian releases of a fit, of the mean alone and of moments, keep the requested μ between them."""
    made, calibrate = [], Gaussian.calibrate
    monkeypatch.setattr(Gaussian, "calibrate", lambda *given: made.append(calibrate(*given)) or made[-1])
    monkeypatch.setattr(NoisyRowCount, "draw", lambda *_: n_rows)
    charged = Ridge(1.0, neighbours="add_remove", **FACTS).fit(ROWS, TARGET).guarantee_
    assert 0.999 * gaussian_mu(1.0, 1e-6) < charged.mu <= gaussian_mu(1.0, 1e-6)
    released = [one.guarantee.mu for one in made if one is made[0] or one is made[-1]]
    assert 0.99 * charged.mu < math.hypot(*released) <= charged.mu
