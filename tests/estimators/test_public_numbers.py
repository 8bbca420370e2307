"""Where the number of rows is private only its release decides, and rows stay in the balls that noise was made for."""

import math
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")

import gaugedp as gd
from gaugedp.estimators import (
    PCA,
    LinearRegression,
    LogisticRegression,
    SparseMean,
    regression,
    sparse_regression,
    spectral,
)  # fmt: skip
from gaugedp.estimators.row_scaling import Centre

SIZES = (50, 3000)
pytestmark = pytest.mark.filterwarnings("ignore::gaugedp.estimators.TooFewRows")


def table(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    return np.full((n_rows, 2), 0.5), np.arange(n_rows) % 2


def test_the_solver_is_not_told_a_private_number_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, numbers = LogisticRegression._chosen, []

    def noted(self: Any, requested: Any, size: int, n_rows: int | None) -> Any:
        numbers.append(n_rows)
        return whole(self, requested, size, n_rows)

    monkeypatch.setattr(LogisticRegression, "_chosen", noted)
    for neighbours in ("replace", "add_remove"):
        LogisticRegression(1.0, 1e-6, row_norm=1.0, classes=[0, 1], neighbours=neighbours).fit(*table(50))
    assert numbers == [50, None]


def test_least_squares_are_planned_with_the_released_number_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, sloped, numbers, planned = LinearRegression._method, LinearRegression._sloped, [], []

    def noted(self: Any, n_rows: int, *more: Any) -> Any:
        numbers.append(n_rows)
        return whole(self, n_rows, *more)

    def also_noted(self: Any, n_rows: int, *more: Any) -> Any:
        planned.append(n_rows)
        return sloped(self, n_rows, *more)

    monkeypatch.setattr(LinearRegression, "_method", noted)
    monkeypatch.setattr(LinearRegression, "_sloped", also_noted)
    monkeypatch.setattr(regression.NoisyRowCount, "draw", lambda *_: 123.0)
    for size in SIZES:
        LinearRegression(1.0, 1e-6, bounds=(0, 1), target_bounds=(0, 1), neighbours="add_remove").fit(*table(size))
    assert numbers == [123] * len(SIZES)
    half = len(planned) // 2
    assert planned[:half] == planned[half:]
    assert set(planned) <= {regression.PUBLIC_ROWS, 123}


def test_a_pure_centre_is_paid_by_the_rest() -> None:
    centre = Centre.plan(gd.PureDP(1.0), 3, 10_000, replaced=True)
    assert centre.noise is not None
    assert 0.9 < centre.noise.guarantee.epsilon_value + centre.remaining.epsilon_value <= 1


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_centred_rows_stay_in_the_ball(neighbours: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most rows are near one place, one is far away: in the shrunken ball it is pulled back."""
    lengths, whole = [], spectral.NoisyMoments.solve

    def noted(self: Any, unit: np.ndarray, *more: Any) -> Any:
        lengths.append(np.linalg.norm(unit, axis=1).max())
        return whole(self, unit, *more)

    monkeypatch.setattr(spectral.NoisyMoments, "solve", noted)
    rows = np.vstack([np.random.default_rng(1).normal(0.9, 0.01, (3000, 2)), [[-1.0, -1.0]]])
    model = PCA(1, 2.0, 1e-6, bounds=(-1, 1), neighbours=neighbours, solver="gaussian", random_state=1).fit(rows)
    assert model.release_.facts["mean"], "a centre was taken off"
    assert max(lengths) == pytest.approx(1, abs=1e-9), "the far row is pulled back to the ball, and no further"


def test_a_private_range_is_in_the_guarantee_and_hides_a_row() -> None:
    rows = np.random.default_rng(2).normal(size=(4000, 3))
    model = SparseMean(1, 1.0, 1e-6, bounds="private", magnitudes=(0.25, 64), neighbours="replace", random_state=1).fit(
        rows
    )
    search = model._range()
    assert model.guarantee_ == model.mechanism_.guarantee + search.mechanism.guarantee
    assert search.mechanism.body.radius(math.inf) == 1, "a row moves each count of rows beyond a range by 1"


@pytest.mark.parametrize(("neighbours", "sensitivity"), [("replace", 2), ("add_remove", 1)])
def test_screens_hide_what_a_row_moves(neighbours: str, sensitivity: int, monkeypatch: pytest.MonkeyPatch) -> None:
    bodies, whole = [], sparse_regression.Peeling.calibrate

    def noted(body: Any, *more: Any, **named: Any) -> Any:
        bodies.append(body)
        return whole(body, *more, **named)

    monkeypatch.setattr(sparse_regression.Peeling, "calibrate", noted)
    given = {"bounds": (0, 1), "target_bounds": (0, 1), "neighbours": neighbours}
    sparse_regression.SparseRegression(1, 1.0, 1e-6, **given).fit(*table(300))
    assert bodies
    assert min(body.radius(math.inf) for body in bodies) >= sensitivity
