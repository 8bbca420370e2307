"""The mean of a target around which slopes shrink: how far a row moves it, what it costs, and that it is noisy."""

import warnings

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.entropy import research_rng

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from gaugedp.errors import HopelessFit
from gaugedp.estimators import HuberRegressor, Lasso, LogisticRegression, Ridge, SparseMean, TooFewRows, target_mean
from gaugedp.estimators.cube_regressor import CubeProblem
from gaugedp.estimators.target_mean import TargetMean
from gaugedp.guarantees import compose
from gaugedp.optimization import matrix_moments
from gaugedp.optimization.lattice import for_gaussian_releases

RNG = np.random.default_rng(8)
ROWS = RNG.uniform(-1, 1, (300, 3))
TARGET = np.clip(0.6 + 0.2 * ROWS[:, 0] + 0.1 * RNG.standard_normal(300), -1, 1)
REGRESSORS = [
    kind(0.5, 1e-6, bounds=(-1, 1), target_bounds=(-1, 1), random_state=1) for kind in (HuberRegressor, Lasso)
]
ASKED = [gd.ApproxDP(0.5, 1e-6), gd.PureDP(0.5)]
RELEASED = [gd.GaussianDP(0.3), gd.PureDP(0.5)]


@pytest.mark.parametrize("replaced", [True, False])
@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_mean_and_rest_are_within_the_guarantee(asked, replaced: bool) -> None:
    """At any number of rows; the noise is that of the sum's ball, which a row of weight 1 attains."""
    for n_rows in (1.0, 30.0, 1e3, 1e6):
        mean = TargetMean.plan(asked, n_rows, replaced)
        spent = mean.noise.guarantee.epsilon_value
        assert spent + mean.remaining.epsilon_value <= 0.5
        assert 0.02 - 1e-3 <= spent / 0.5 <= 0.98 + 1e-3
        assert mean.noise.body.radius(2) >= (2 if replaced else 1)
        assert mean.noise.variances[0] ** 0.5 >= 2**0.5 * (2 if replaced else 1) / spent * (1 - 1e-6)
        gaussian = TargetMean.plan(gd.GaussianDP(0.3), n_rows, replaced)
        assert gaussian.noise.guarantee.mu**2 + gaussian.remaining.mu**2 <= 0.3**2
        assert gaussian.noise.variances[0] ** 0.5 >= (2 if replaced else 1) / gaussian.noise.guarantee.mu


def test_a_ridge_that_has_no_budget_for_moments_releases_the_mean_alone() -> None:
    for epsilon, neighbours in ((2e-6, "replace"), (2e-6, "add_remove")):
        model = Ridge(epsilon, bounds=(-1, 1), target_bounds=(-1, 1), neighbours=neighbours)
        with pytest.warns(HopelessFit):
            model.fit(np.zeros((500, 100)), np.zeros(500))
        assert model.guarantee_.epsilon(0) <= epsilon * (1 + 1e-9)
        assert not model.coef_.any()


@pytest.mark.parametrize("replaced", [True, False])
@pytest.mark.parametrize("whole", RELEASED, ids=str)
def test_mean_and_moments_of_a_ridge_are_within_the_guarantee(whole, replaced: bool, monkeypatch) -> None:
    """Few rows: the mean is released alone. Many: it is not, and all is for the moments."""
    parts: list = []
    for kind in (target_mean, matrix_moments):
        monkeypatch.setattr(kind, "released", lambda exact, noise, _: parts.append(noise) or exact)
    for n_rows in (300, 10**9):
        parts.clear()
        table = ROWS / 2, TARGET, np.ones(300), n_rows, 2, replaced
        Ridge(bounds=(-1, 1), target_bounds=(-1, 1))._solved(CubeProblem(*table), whole, research_rng(1))
        of_mean = [noise for noise in parts if noise.body.ambient_dim == 1]
        assert len(of_mean) == (n_rows == 300)
        assert all(noise.body.radius(2) >= (2 if replaced else 1) for noise in of_mean)
        total = compose([(noise.guarantee, 1) for noise in parts])
        assert 0.99 * whole.epsilon(1e-6) < total.epsilon(1e-6) <= whole.epsilon(1e-6)


def test_weights_have_a_sum_that_is_noisy_and_within_the_share() -> None:
    """Half of the rows have no weight: the mean is that of the others."""
    for replaced in (True, False):
        mean, weights = TargetMean.plan(ASKED[0], 3e4, replaced, True), np.arange(3e4) % 2
        spent = mean.noise.guarantee.epsilon_value
        assert spent + mean.remaining.epsilon_value <= 0.5
        assert mean.noise.body.radius(1) >= (2 if replaced else 1)
        assert mean.noise.body.ambient_dim == 2
        level = mean.release(np.where(weights > 0, 0.6, -1.0), weights, research_rng(3))
        assert 0 < abs(level - 0.6) < 0.1


def test_no_row_moves_the_sum_beyond_its_ball(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of targets and weights at their ends, with and without a row, and in another order."""
    seen = []
    monkeypatch.setattr(target_mean, "released", lambda exact, *_: seen.append(float(exact[0])) or exact)
    target, weights = np.append(TARGET, [1.0, -1.0]), np.append(RNG.uniform(0, 1, 300), [1.0, 1.0])
    mean = TargetMean.plan(ASKED[0], 300.0, True)
    for part in (slice(None), slice(None, None, -1), slice(0, -1), [*range(300), 300, 300]):
        mean.release(target[part], weights[part], research_rng(1))
    whole, turned, without, replaced = seen
    assert whole == turned
    assert abs(whole - without) <= 1
    assert 1.99 < abs(whole - replaced) <= 2


@pytest.mark.parametrize("model", REGRESSORS, ids=lambda model: type(model).__name__)
def test_a_fit_is_hardly_worse_than_a_constant_where_noise_hides_the_slopes(model) -> None:
    """Without shrinkage the medians are -3 and below."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HopelessFit)
        scores = [model.set_params(random_state=seed).fit(ROWS, TARGET).score(ROWS, TARGET) for seed in range(9)]
    assert np.median(scores) > -0.3


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
@pytest.mark.parametrize("model", REGRESSORS, ids=lambda model: type(model).__name__)
def test_the_mean_is_part_of_what_is_charged(model, neighbours: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The noise of the rest is calibrated to what the mean leaves."""
    left, given, plan, solved = [], [], TargetMean.plan, HuberRegressor._solved
    monkeypatch.setattr(HuberRegressor, "_solved", lambda *facts: given.append(facts[2]) or solved(*facts))
    monkeypatch.setattr(
        TargetMean, "plan", classmethod(lambda _, *given: left.append((given[0], plan(*given))) or left[-1][1])
    )
    account = gd.Ledger.in_memory(budget=gd.ApproxDP(0.5, 1e-6), unit=gd.PrivacyUnit(neighbours=neighbours))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HopelessFit)
        fitted = model.__class__(**{**model.get_params(), "neighbours": neighbours, "ledger": account}).fit(
            np.tile(ROWS, (5, 1)), np.tile(TARGET, 5)
        )
    whole, mean = left[-1]
    assert fitted.guarantee_.epsilon(1e-6) <= 0.5 * (1 + 1e-9)
    assert fitted.guarantee_.epsilon(1e-6) >= 0.45
    assert given in ([], [for_gaussian_releases(mean.remaining)])
    assert given == [] or fitted.guarantee_.epsilon(1e-3) > 0.49  # pure and Gaussian parts have no μ
    assert mean.noise.guarantee.epsilon_value + mean.remaining.epsilon_value <= whole.epsilon_value * (1 + 1e-12)


def seen(model, *table) -> list[type]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model.fit(*table)
    return [one.category for one in found]


PARTS = (
    LogisticRegression(0.01, 1e-6, bounds="private", classes=[0, 1]),
    LogisticRegression(0.01, 1e-6, bounds=(-1, 1), classes=[0, 1], class_weight="balanced"),
    Lasso(0.01, 1e-6, bounds=(-1, 1), target_bounds="private"),
)


@pytest.mark.parametrize("model", PARTS, ids=str)
def test_hopeless_fits_in_parts_warn_and_a_warning_as_an_error_costs_nothing(model) -> None:
    labels = np.arange(40) % 2
    model = model.__class__(**{**model.get_params(), "neighbours": "add_remove", "random_state": 2})
    assert HopelessFit in seen(model, ROWS[:40], labels)
    account = gd.Ledger.in_memory(budget=gd.ApproxDP(1.0, 1e-5), unit=gd.PrivacyUnit(neighbours="replace"))
    before = account.entries()
    model.set_params(neighbours="replace", ledger=account)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(HopelessFit):
            model.fit(ROWS[:40], labels)
    assert account.entries() == before
    assert seen(model, ROWS[:40], labels).count(HopelessFit) == 1


@pytest.mark.parametrize("bounds", [{"bounds": (-1, 1)}, {"bounds": "private", "magnitudes": (1e-3, 1e3)}], ids=str)
def test_too_few_rows_are_told_before_the_charge(bounds: dict) -> None:
    """By public numbers, so that a warning that is an error costs nothing."""
    account = gd.Ledger.in_memory(budget=gd.ApproxDP(1.0, 1e-5), unit=gd.PrivacyUnit(neighbours="replace"))
    model = SparseMean(2, 0.1, 1e-6, neighbours="replace", ledger=account, **bounds)
    before = account.entries()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(TooFewRows, match="too few"):
            model.fit(np.zeros((20, 50)))
    assert account.entries() == before
    assert TooFewRows in seen(model, np.zeros((20, 50)))
