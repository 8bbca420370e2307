"""Fits that cannot work are refused before the charge, also where few rows would get the mean alone."""

import numpy as np
import pytest

import gaugedp as gd

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from gaugedp.errors import InvalidRequest
from gaugedp.estimators import HuberRegressor, Lasso, LinearRegression, Ridge
from gaugedp.estimators.target_mean import TargetMean

pytestmark = pytest.mark.filterwarnings("ignore::gaugedp.errors.HopelessFit")


class MyRidge(Ridge):
    """A user's subclass, whose name has no plan."""


CASES = {
    "linear": (LinearRegression(0.05, 1e-6, neighbours="add_remove"), (80_000, 3000), 1),
    "two targets": (LinearRegression(0.05, 1e-6, neighbours="replace"), (300_000, 3000), 2),
    "learned target": (LinearRegression(0.05, 1e-6, neighbours="replace", target_bounds="private"), (200_000, 3000), 1),
    "subclass": (MyRidge(2e-6, neighbours="replace"), (500, 100), 1),
}


@pytest.mark.parametrize("case", CASES)
def test_an_impossible_fit_costs_nothing(case: str) -> None:
    model, shape, m = CASES[case]
    account = gd.Ledger.in_memory(budget=gd.ApproxDP(1.0, 1e-3), unit=gd.PrivacyUnit(neighbours=model.neighbours))
    bounds = model.target_bounds or (0, 1)
    model.set_params(bounds=(-1, 1), target_bounds=bounds, ledger=account)
    before = account.entries()
    try:
        model.fit(np.broadcast_to(np.zeros((1, shape[1])), shape), np.zeros((shape[0], m) if m > 1 else shape[0]))
    except InvalidRequest:
        after = [entry for entry in account.entries() if entry.kind == "reserve"]
        assert len(after) == len([entry for entry in before if entry.kind == "reserve"])


def test_added_rows_are_charged_alike_at_any_number() -> None:
    given = {"bounds": (-1, 1), "target_bounds": (0, 1), "neighbours": "add_remove"}
    said = {str(Ridge(1.0, 1e-6, **given).fit(np.zeros((n, 2)), np.zeros(n)).guarantee_) for n in (30, 3000)}
    assert len(said) == 1


@pytest.mark.parametrize("kind", [HuberRegressor, Lasso, Ridge])
@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_the_mean_next_to_slopes_hides_what_a_row_moves(
    kind: type, neighbours: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A replaced row moves the sum of the target by 2, an added one by 1: the noise is that for this distance."""
    plan, seen = TargetMean.plan, []

    def seeing(*given: object, **named: object) -> TargetMean:
        seen.append(plan(*given, **named))
        return seen[-1]

    monkeypatch.setattr(TargetMean, "plan", seeing)
    given = {"bounds": (-1, 1), "target_bounds": (0, 1), "neighbours": neighbours}
    kind(1.0, 1e-6, **given).fit(np.zeros((400, 2)), np.zeros(400))
    assert seen
    assert {mean.noise.body.radius(2) >= 2 for mean in seen} == {neighbours == "replace"}
