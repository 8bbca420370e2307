"""Trace regression: units, sensitivity, how well it does, and what is refused. Keys are fixed."""

import math

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest, LedgerRefused

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from gaugedp.estimators.row_count import NoisyRowCount
from gaugedp.estimators.trace_losses import SquaredTraceLoss
from gaugedp.estimators.trace_regression import TraceRegression, into_operator_ball
from tests.estimators.kit import check_refused

SOLVERS = ["moments", "descent", "frank_wolfe", "stochastic"]


def spiked(n: int, d: int, key: int, noise: float = 0.2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Unit rows at uniform angles to u, y = ⟨zzᵀ, uuᵀ⟩ + noise in [0, 1]."""
    rng = np.random.default_rng((n, d, key))
    u = np.linalg.qr(np.random.default_rng(d).standard_normal((d, d)))[0][:, 0]
    angle, away = rng.random(n) * math.pi / 2, rng.standard_normal((n, d))
    away -= np.outer(away @ u, u)
    away /= np.linalg.norm(away, axis=1, keepdims=True)
    rows = np.cos(angle)[:, None] * u + np.sin(angle)[:, None] * away
    return rows, np.clip(np.cos(angle) ** 2 + noise * rng.standard_normal(n), 0, 1), u


def matrices(n: int, key: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Normal designs (3, 4), y = 5·⟨A, uvᵀ⟩ − 1."""
    rng = np.random.default_rng((n, key))
    designs = rng.standard_normal((n, 3, 4))
    truth = 5 * np.outer([0.6, 0.8, 0.0], [0.0, 0.0, 1.0, 0.0])
    return designs, (designs * truth).sum(axis=(1, 2)), truth


def risk(coef: np.ndarray, rows: np.ndarray, target: np.ndarray) -> float:
    return float(np.mean((((rows @ coef) * rows).sum(axis=1) - target) ** 2) / 2)


ROWS, TARGET, _ = spiked(1500, 4, 1)
MODEL = TraceRegression(1.0, 1e-6, row_norm=1.0, target_bounds=(0, 1))
CUBES, CUBE_TARGET, TRUTH = matrices(3000, 1)
CUBE_MODEL = TraceRegression(1e6, 0.5, design_norm=5.0, radius=5.0, target_bounds=(-25, 25))


# -- without noise -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_without_noise_the_matrix_is_found_in_the_units_of_the_data(solver: str, neighbours: str) -> None:
    rows, target, u = spiked(4000, 4, 2, noise=0.0)
    model = TraceRegression(
        1e5, 0.5, row_norm=30.0, radius=0.02, target_bounds=(0, 18), solver=solver, neighbours=neighbours
    ).fit(30 * rows, 900 * 0.02 * target)
    assert model.coef_ == pytest.approx(0.02 * np.outer(u, u), abs=0.02 * 0.08)
    assert model.score(30 * rows, 18 * target) > 0.97
    assert model.solver_ == solver


@pytest.mark.parametrize(("solver", "most"), [("auto", 0.15), ("frank_wolfe", 0.3), ("stochastic", 0.5)])
def test_designs_may_be_matrices(solver: str, most: float) -> None:
    model = clone(CUBE_MODEL).set_params(solver=solver).fit(CUBES, CUBE_TARGET)
    assert model.coef_.shape == (3, 4)
    assert np.linalg.norm(model.coef_ - TRUTH) < most
    assert model.predict(CUBES[:5]) == pytest.approx((CUBES[:5] * model.coef_).sum(axis=(1, 2)))
    assert np.linalg.norm(model.coef_, "nuc") <= 5 * (1 + 1e-9)


def test_pure_privacy_without_noise() -> None:
    rows, target, u = spiked(4000, 4, 2, noise=0.0)
    for solver in ("auto", "descent", "frank_wolfe"):
        model = clone(MODEL).set_params(epsilon=1e7, delta=0.0, solver=solver, neighbours="replace").fit(rows, target)
        assert model.coef_ == pytest.approx(np.outer(u, u), abs=0.05)
        assert model.guarantee_ == gd.PureDP(1e7)
        assert model.release_.exactness == "exact"


def test_auto_chooses_by_public_numbers() -> None:
    """Moments where X is small and rows are many, so that noise cannot hide all; the data decide nothing."""
    wide = np.zeros((200, 1, 1601))
    one = clone(CUBE_MODEL).set_params(epsilon=1.0, delta=1e-6)
    assert one.fit(wide, np.zeros(200)).solver_ == "descent"
    assert one.fit(wide[..., :50], np.zeros(200)).solver_ == "moments"
    assert one.fit(wide[:20, :, :50], np.zeros(20)).solver_ == "descent"
    pure = clone(MODEL).set_params(delta=0.0, random_state=1)
    for neighbours in ("replace", "add_remove"):
        pure.set_params(neighbours=neighbours)
        for rows, target in ((ROWS, TARGET), (np.zeros_like(ROWS), np.zeros_like(TARGET))):
            assert pure.set_params(epsilon=0.01).fit(rows, target).solver_ == "descent"
            assert "noise hides" in pure.reason_
            assert pure.set_params(epsilon=3.0).fit(rows, target).solver_ == "moments"


def test_where_rows_are_added_auto_follows_their_noisy_number(monkeypatch: pytest.MonkeyPatch) -> None:
    model = clone(MODEL).set_params(epsilon=3.0, delta=0.0, neighbours="add_remove")
    for n_rows, solver in ((1.0, "descent"), (1e4, "moments")):
        monkeypatch.setattr(NoisyRowCount, "draw", lambda *_, n_rows=n_rows: n_rows)
        assert model.fit(ROWS, TARGET).solver_ == solver


def test_row_norm_is_the_root_of_design_norm() -> None:
    first = clone(MODEL).set_params(row_norm=2.0, random_state=3).fit(ROWS, TARGET).coef_
    other = clone(MODEL).set_params(row_norm=None, design_norm=4.0, random_state=3).fit(ROWS, TARGET).coef_
    assert (first == other).all()


# -- privacy -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", [True, False])
def test_slopes_stay_in_their_range_and_reach_it(cut: bool) -> None:
    for reach in (0.1, 1.0, 7.0):
        for span in ((0.0, 1.0), (-1.0, 1.0)):
            for bounds in ((0.0, 1.0), (-3.0, 2.0), (4.0, 5.0), (-9.0, -8.0)):
                residual = SquaredTraceLoss(reach, bounds, span, cut)
                points, targets = np.meshgrid(np.linspace(*span, 101), np.linspace(*bounds, 101))
                actual = residual(points, targets)
                assert np.abs(actual).max() == pytest.approx(1)
                steps = np.abs(np.diff(actual, axis=1)) / np.diff(points, axis=1)
                assert steps.max() <= residual.smoothness * (1 + 1e-9)
                assert (np.diff(actual, axis=1) >= -1e-15).all()  # the loss is convex


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_the_fit_spends_what_is_asked(solver: str, neighbours: str) -> None:
    model = clone(MODEL).set_params(solver=solver, neighbours=neighbours).fit(ROWS, TARGET)
    assert (0.99 if neighbours == "replace" else 0.95) < model.guarantee_.epsilon(1e-6) <= 1
    assert model.release_.guarantee == model.guarantee_
    assert gd.estimators.fit_release.FitRelease.from_json(model.release_.to_json()).guarantee == model.guarantee_
    assert model.release_.exactness == ("idealized" if solver == "stochastic" else "exact")
    factor = 2 if neighbours == "replace" else 1
    if solver == "stochastic":
        rate = model.method_.schedule.rate
        assert model.method_.moved[1] == pytest.approx(factor * rate, rel=1e-3)
        assert rate == pytest.approx(math.log(1500) / 1500, rel=0.2)
    else:
        charged = model.method_.scale.sensitivity if solver == "moments" else factor
        assert model.method_.noise.body.radius(2) == pytest.approx(charged, rel=1e-6)


def test_full_batch_fits_do_not_depend_on_the_order_of_rows() -> None:
    order = np.random.default_rng(1).permutation(len(ROWS))
    model = clone(MODEL).set_params(random_state=2)
    assert (model.fit(ROWS, TARGET).coef_ == model.fit(ROWS[order], TARGET[order]).coef_).all()


# -- how well ------------------------------------------------------------------------------------------


@pytest.mark.statistical
@pytest.mark.parametrize(("n", "d", "most"), [(4096, 10, 1e-3), (16_384, 40, 6e-4)])
def test_the_excess_risk_of_descent(n: int, d: int, most: float) -> None:
    """ε = 1, δ = 1e-6; the mean of three repetitions, over the best multiple of uuᵀ on 50,000 other rows."""
    others, goal, u = spiked(50_000, d, 99)
    square = (others @ u) ** 2
    best = risk(min(1.0, float(square @ goal / (square @ square))) * np.outer(u, u), others, goal)
    actual, model = [], clone(MODEL).set_params(solver="descent")
    for key in range(3):
        rows, target, _ = spiked(n, d, key)
        actual.append(risk(clone(model).set_params(random_state=key).fit(rows, target).coef_, others, goal) - best)
    assert np.mean(actual) < most


@pytest.mark.statistical
@pytest.mark.parametrize(("n", "most"), [(16_000, 6e-4), (64_000, 7e-5)])
def test_the_excess_risk_on_isotropic_rows(n: int, most: float) -> None:
    """d = 10, ε = 1, δ = 1e-6, y = (zᵀu)² ± 0.2: X = 0 has 0.0123, descent 0.003 and 0.0014; of two repetitions."""
    results = []
    for key in range(2):
        rng = np.random.default_rng((n, key))
        rows = rng.standard_normal((n, 10))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        target = rows[:, 0] ** 2 + rng.uniform(-0.2, 0.2, n)
        off = clone(MODEL).set_params(target_bounds=(-0.2, 1.2), random_state=key).fit(rows, target).coef_
        off[0, 0] -= 1
        results.append(float(np.trace(off @ off) * 2 + np.trace(off) ** 2) / (10 * 12) / 2)  # E(zᵀMz)²/2 on the sphere
    assert np.mean(results) < most


# -- habits --------------------------------------------------------------------------------------------


def test_it_is_paid_for_before_it_looks() -> None:
    for neighbours in ("replace", "add_remove"):
        ledger = gd.Ledger.in_memory(gd.ApproxDP(1.5, 1e-5))
        model = clone(MODEL).set_params(ledger=ledger, neighbours=neighbours)
        model.fit(ROWS, TARGET)
        assert 0.99 < ledger.spent.epsilon(1e-5) <= 1
        with pytest.raises(LedgerRefused):
            model.fit(ROWS, TARGET)


def test_searches_work() -> None:
    model = clone(MODEL).set_params(epsilon=50.0, random_state=1)
    assert np.mean(cross_val_score(model, ROWS, TARGET, cv=3)) > 0.5
    search = GridSearchCV(model, {"solver": ["descent", "frank_wolfe"]}, cv=2).fit(ROWS, TARGET)
    assert search.best_params_["solver"] in ("descent", "frank_wolfe")


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_any_rows_give_a_fit(solver: str, neighbours: str) -> None:
    rows, target = ROWS[:50].copy(), TARGET[:50].copy()
    rows[0], rows[1, 3], target[2:4] = np.nan, np.inf, (np.nan, -np.inf)
    for data in ((rows, target), (np.zeros((1, 4)), np.zeros(1)), (np.full((4, 4), 1e300), np.full(4, -1e300))):
        for epsilon in (1e-3, 1.0, 1e3):
            for delta in (1e-9, 0.0):
                if solver == "stochastic" and delta == 0:
                    continue
                model = clone(MODEL).set_params(solver=solver, epsilon=epsilon, delta=delta, neighbours=neighbours)
                assert np.isfinite(model.fit(*data).coef_).all()


def test_a_row_that_is_no_number_counts_as_zero_and_a_target_as_the_middle() -> None:
    model = clone(MODEL).set_params(random_state=2)
    rows, target = ROWS[:60].copy(), TARGET[:60].copy()
    rows[3], target[5] = 0.0, 0.5
    clean = model.fit(rows, target).coef_
    rows[3, 0], target[5] = np.nan, np.nan
    assert (model.fit(rows, target).coef_ == clean).all()


WRONG = [
    ({"row_norm": None}, "Exactly one of `design_norm` and `row_norm`"),
    ({"design_norm": 1.0}, "Exactly one of `design_norm` and `row_norm`"),
    ({"row_norm": -1.0}, "row_norm"),
    ({"row_norm": 1e200}, "design_norm` is inf"),
    ({"row_norm": None, "design_norm": 0.0}, "design_norm"),
    ({"target_bounds": None}, "`target_bounds` is missing"),
    ({"target_bounds": (1, 0)}, "low < high"),
    ({"solver": "newton"}, "Choose one of"),
    ({"noise": "white"}, "Choose one of"),
    ({"radius": 0.0}, "radius"),
    ({"epsilon": 0.0}, "epsilon"),
    ({"delta": 1.0}, "delta"),
    ({"neighbours": "none"}, "Choose one of"),
    ({"solver": "stochastic", "delta": 0.0}, "cannot guarantee"),
]


@pytest.mark.parametrize(("change", "words"), WRONG, ids=str)
def test_bad_parameters_are_refused_and_nothing_is_spent(change, words: str) -> None:
    check_refused(MODEL, change, words, (ROWS, TARGET))


def test_bad_data_is_refused() -> None:
    for target in (TARGET[:5], np.zeros((1500, 2))):
        with pytest.raises(InvalidRequest, match="target"):
            clone(MODEL).fit(ROWS, target)
    with pytest.raises(InvalidRequest, match="The design matrices have a different shape"):
        clone(CUBE_MODEL).fit(CUBES, CUBE_TARGET).predict(ROWS)
    with pytest.raises(InvalidRequest, match="`row_norm` applies to designs zzᵀ that are"):
        clone(MODEL).fit(CUBES, CUBE_TARGET)
    with pytest.raises(InvalidRequest, match="shape"):
        clone(CUBE_MODEL).fit(CUBES[:, :, :0], CUBE_TARGET)


def test_designs_are_pulled_into_the_operator_ball() -> None:
    rows = np.random.default_rng(1).standard_normal((50, 12)) * np.geomspace(1e-3, 1e6, 50)[:, None]
    pulled = into_operator_ball(rows, (3, 4), 0.5)
    norms = np.linalg.norm(pulled.reshape(-1, 3, 4), 2, axis=(1, 2))
    assert norms.max() <= 0.5
    short = np.linalg.norm(rows.reshape(-1, 3, 4), 2, axis=(1, 2)) < 0.49
    assert (pulled[short] == rows[short]).all()
    assert norms[~short].min() > 0.49


def test_moments_of_operators_are_charged_as_those_of_any_matrix() -> None:
    """Opposite designs have the product −1 however small their operator norm: the noise is that of the other norm."""
    designs = np.tile(np.eye(4), (30, 1, 1))
    deviations = {}
    for norm, size in (("operator", 1.0), ("frobenius", 2.0)):
        model = TraceRegression(1.0, 1e-6, design_norm=size, norm=norm, target_bounds=(0, 8), solver="moments")
        deviations[norm] = float(model.fit(designs, np.zeros(30)).method_.noise.variances.max())
    assert deviations["operator"] == pytest.approx(deviations["frobenius"])
