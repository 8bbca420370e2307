"""solver="gibbs" of the linear models: what it guarantees together with what is released beside it."""

import math

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest
from gaugedp.estimators import (
    Lasso,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    TraceRegression,
    gibbs_fit,
    linear_model,
)
from gaugedp.guarantees.gaussian_curve import gaussian_mu

RNG = np.random.default_rng(1)
ROWS = RNG.standard_normal((60, 2))
LABELS = (ROWS[:, 0] > 0).astype(int)
KINDS = [LogisticRegression, LinearSVC]


def model(kind, **given):
    given = {"delta": 1e-6, "row_norm": 2.0, "classes": [0, 1], "radius": 1.0, "random_state": 1, **given}
    return kind(1.0, solver="gibbs", **given)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
@pytest.mark.parametrize("kind", KINDS)
def test_all_releases_together_keep_the_guarantee(
    kind, neighbours: str, fit_intercept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken, calibrate = [], linear_model.Gibbs.calibrate

    def note(*parts, **given):
        taken.append((calibrate(*parts, **given), given["auxiliary_mu"]))
        return taken[-1][0]

    monkeypatch.setattr(linear_model.Gibbs, "calibrate", note)
    fitted = model(kind, neighbours=neighbours, fit_intercept=fit_intercept).fit(ROWS, LABELS)
    assert fitted.guarantee_ == fitted.release_.guarantee == gd.ApproxDP(1.0, 1e-6)
    assert (fitted.solver_, fitted.release_.exactness) == ("gibbs", "mixing")
    assert fitted.coef_.shape == (1, 2)
    ((mechanism, auxiliary_mu),) = taken
    assert mechanism.neighbours == neighbours
    assert (auxiliary_mu > 0) == (fit_intercept or neighbours == "add_remove")
    factor = 2 if neighbours == "replace" else 1
    sample = factor * mechanism.rate / math.sqrt(mechanism.strength) + 4 * mechanism.total_variation
    mu = math.hypot(auxiliary_mu, sample)
    assert 0.99 * gaussian_mu(1.0, 1e-6) < mu < gaussian_mu(1.0, 1e-6)
    spent = float(gd.GaussianDP(mu).delta(1.0)) + (1 + math.e) * mechanism.stop
    assert 0.98e-6 < spent <= 1e-6


@pytest.mark.slow
def test_a_large_guarantee_finds_the_classes() -> None:
    rows = np.tile(ROWS, (6, 1))
    fitted = LogisticRegression(
        8.0, 1e-5, row_norm=2.0, classes=[0, 1], radius=4.0, solver="gibbs", fit_intercept=False, random_state=2
    ).fit(rows, np.tile(LABELS, 6))
    assert fitted.score(rows, np.tile(LABELS, 6)) > 0.85


@pytest.mark.parametrize("given", [{"delta": 0.0}, {"classes": [0, 1, 2]}])
@pytest.mark.parametrize("kind", KINDS)
def test_what_it_is_not_for_is_refused_and_costs_nothing(kind, given) -> None:
    ledger = gd.Ledger.in_memory(gd.ApproxDP(1.0, 1e-6))
    with pytest.raises(InvalidRequest, match="two classes"):
        model(kind, ledger=ledger, **given).fit(ROWS, LABELS)
    assert ledger.spent.epsilon(1e-6) == 0


def test_a_side_that_leaves_nothing_is_refused() -> None:
    geometry, requested = gd.optimization.Geometry((2,), 2), gd.ApproxDP(1.0, 1e-6)
    for side in (-0.1, gaussian_mu(1.0, 1e-6), math.nan):
        with pytest.raises(InvalidRequest, match="auxiliary_mu"):
            gd.optimization.Gibbs.calibrate(geometry, gd.optimization.Logistic(), 9, requested, auxiliary_mu=side)


TARGET = ROWS[:, 0] / 4 - ROWS[:, 1] / 8
REGRESSIONS = [
    (Lasso, {}),
    (LinearRegression, {}),
    (LinearRegression, {"loss": "huber"}),
    (LinearRegression, {"loss": "absolute"}),
]


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
@pytest.mark.parametrize(("kind", "given"), REGRESSIONS)
def test_a_regression_and_its_row_count_keep_the_guarantee(
    kind, given, neighbours: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken, calibrate = [], gibbs_fit.Gibbs.calibrate

    def note(*parts, **given):
        taken.append((calibrate(*parts, **given), given["auxiliary_mu"]))
        return taken[-1][0]

    monkeypatch.setattr(gibbs_fit.Gibbs, "calibrate", note)
    fitted = kind(
        1.0, 1e-6, bounds=(-3, 3), target_bounds=(-1, 1), solver="gibbs", neighbours=neighbours, random_state=1, **given
    ).fit(ROWS, TARGET)
    assert fitted.guarantee_ == fitted.release_.guarantee == gd.ApproxDP(1.0, 1e-6)
    assert (fitted.solver_, fitted.release_.exactness) == ("gibbs", "mixing")
    mechanism, auxiliary_mu = taken[-1]
    assert (mechanism.neighbours, auxiliary_mu > 0) == (neighbours, neighbours == "add_remove")
    factor = 2 if neighbours == "replace" else 1
    mu = math.hypot(auxiliary_mu, factor * mechanism.rate / math.sqrt(mechanism.strength))
    assert 0.99 * gaussian_mu(1.0, 1e-6) < mu < gaussian_mu(1.0, 1e-6)


def test_a_large_guarantee_finds_the_line() -> None:
    fitted = LinearRegression(
        32.0, 1e-2, row_norm=2.0, target_bounds=(-1, 1), solver="gibbs", fit_intercept=False, radius=1, random_state=2
    ).fit(ROWS, TARGET)
    assert np.corrcoef(fitted.predict(ROWS), TARGET)[0, 1] > 0.9


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
@pytest.mark.parametrize("loss", ["squared", "huber", "absolute"])
def test_a_matrix_is_drawn_for_what_was_asked_for(loss: str, neighbours: str, monkeypatch: pytest.MonkeyPatch) -> None:
    taken, calibrate = [], gibbs_fit.Gibbs.calibrate

    def note(*parts, **given):
        taken.append((parts, given))
        return calibrate(*parts, **given)

    monkeypatch.setattr(gibbs_fit.Gibbs, "calibrate", note)
    rng = np.random.default_rng(3)
    designs = np.linalg.qr(rng.standard_normal((40, 2, 2)))[0]
    fitted = TraceRegression(
        1.0, 1e-6, norm="operator", design_norm=1.0, radius=2.0, target_bounds=(-3, 3), solver="gibbs", loss=loss,
        neighbours=neighbours, random_state=1,
    ).fit(designs, designs[:, 0, 0] * 1.5)  # fmt: skip
    (geometry, scaled, n_rows, guarantee), _ = taken[-1]
    assert fitted.guarantee_.epsilon(1e-6) == pytest.approx(1.0)
    assert (fitted.solver_, fitted.release_.exactness, fitted.coef_.shape) == ("gibbs", "mixing", (2, 2))
    assert guarantee == gd.ApproxDP(1.0 if neighbours == "replace" else 0.9, 1e-6)
    assert (geometry.p, geometry.radius, n_rows == 40) == (1, 1.0, neighbours == "replace")
    assert scaled.lipschitz == (2.5 if loss == "squared" else 1.0)
    assert np.linalg.norm(fitted.coef_) <= 2.0 * (1 + 1e-6)


@pytest.mark.parametrize("given", [{"delta": 0.0}, {"loss": "logistic"}, {"design_norm": None, "row_norm": 1.0}])
def test_a_matrix_it_is_not_for_is_refused(given) -> None:
    model = TraceRegression(
        1.0, **{"delta": 1e-6, "design_norm": 1.0, "target_bounds": (0, 1), **given}, solver="gibbs"
    )
    with pytest.raises(InvalidRequest, match="gibbs"):
        model.fit(np.ones((9, 2)) if "row_norm" in given else np.ones((9, 2, 2)), np.ones(9))


@pytest.mark.parametrize(
    ("kind", "given"),
    [(Lasso, {"solver": "gibbs"}), (LinearRegression, {"solver": "gibbs"}), (Lasso, {"solver": "best", "delta": 1e-6}),
     (LinearRegression, {"loss": "absolute", "delta": 1e-6}), (LinearRegression, {"loss": "x", "solver": "gibbs"})],
)  # fmt: skip
def test_a_regression_it_is_not_for_is_refused_and_costs_nothing(kind, given) -> None:
    ledger = gd.Ledger.in_memory(gd.ApproxDP(1.0, 1e-6))
    with pytest.raises(InvalidRequest):
        kind(1.0, bounds=(-3, 3), target_bounds=(-1, 1), ledger=ledger, **given).fit(ROWS, TARGET)
    assert ledger.spent.epsilon(1e-6) == 0
