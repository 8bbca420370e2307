"""Regression in an ℓ₁ ball: units, how well it does, and what is refused. Keys are fixed."""

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from sklearn.base import clone

from gaugedp.estimators.lasso import Lasso
from gaugedp.estimators.row_count import NoisyRowCount
from tests.estimators.kit import check_refused

RNG = np.random.default_rng(1)
ROWS = RNG.uniform(-1, 1, (4000, 60))
TRUTH = np.zeros(60)
TRUTH[[3, 20, 41]] = [0.4, -0.3, 0.2]
TARGET = np.clip(ROWS @ TRUTH + 0.1 * RNG.standard_normal(4000), -1, 1)
MODEL = Lasso(1.0, 1e-6, bounds=(-1, 1), target_bounds=(-1, 1), fit_intercept=False)


def test_the_steps_follow_from_the_released_number_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which the fit pays for; tables of other sizes have the same steps."""
    model, steps = clone(MODEL).set_params(neighbours="add_remove"), []
    for released in (1000.0, 4000.0):
        monkeypatch.setattr(NoisyRowCount, "draw", lambda *_, released=released: released)
        steps.append({model.fit(ROWS[:n], TARGET[:n]).n_steps_ for n in (50, 500)})
    assert [len(each) for each in steps] == [1, 1]
    assert steps[0] != steps[1]
    assert 0.99 < model.guarantee_.epsilon(1e-6) <= 1 + 1e-9


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_without_noise_it_finds_the_coefficients(neighbours: str, delta: float) -> None:
    epsilon = 1e6 if delta == 0 else 1e3
    model = clone(MODEL).set_params(epsilon=epsilon, delta=delta, neighbours=neighbours, random_state=1)
    assert model.fit(ROWS, TARGET).coef_ == pytest.approx(TRUTH, abs=0.06)
    assert np.abs(model.coef_).sum() <= 1 + 1e-9


def test_units_and_intercept_come_back() -> None:
    model = clone(MODEL).set_params(
        epsilon=1e3, bounds=(0, 10), target_bounds=(90, 110), fit_intercept=True, random_state=1
    )
    model.fit(5 + 5 * ROWS, 102 + 10 * TARGET)
    assert model.coef_ == pytest.approx(TRUTH * 2, abs=0.15)
    assert model.predict(5 + 5 * ROWS) == pytest.approx(102 + 10 * TARGET, abs=6)


@pytest.mark.statistical
def test_it_explains_something_under_privacy() -> None:
    """ε = 1, 60 features, 4,000 rows: three fits with fixed keys."""
    scores = [clone(MODEL).set_params(random_state=key).fit(ROWS, TARGET).score(ROWS, TARGET) for key in range(3)]
    assert np.mean(scores) > 0.3


def test_it_is_paid_for_once() -> None:
    ledger = gd.Ledger.in_memory(gd.ApproxDP(1.5, 1e-5))
    model = clone(MODEL).set_params(ledger=ledger).fit(ROWS, TARGET)
    assert ledger.spent.epsilon(1e-5) <= 1
    assert model.guarantee_.epsilon(1e-6) <= 1


def test_any_rows_give_a_fit() -> None:
    rows, target = ROWS[:30].copy(), TARGET[:30].copy()
    rows[0], rows[1, 3], target[2:4] = np.nan, np.inf, (np.nan, -np.inf)
    for data in ((rows, target), (np.zeros((1, 60)), np.zeros(1))):
        assert np.isfinite(clone(MODEL).fit(*data).coef_).all()


WRONG = [
    ({"bounds": None}, "`bounds` is missing"),
    ({"target_bounds": None}, "`target_bounds` is missing"),
    ({"radius": 0.0}, "radius"),
    ({"epsilon": 0.0}, "epsilon"),
    ({"neighbours": "x"}, "Choose one of"),
]


@pytest.mark.parametrize(("change", "words"), WRONG, ids=str)
def test_bad_parameters_are_refused_and_nothing_is_spent(change, words: str) -> None:
    check_refused(MODEL, change, words, (ROWS, TARGET))


def test_rows_of_another_model_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="X has 3 features, but Lasso is expecting 60"):
        clone(MODEL).fit(ROWS, TARGET).predict(ROWS[:, :3])
