"""Costs, groups and budgets against numbers by hand, each rounded against the spender."""

import math
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import mpmath
import pytest

from gaugedp.accountant import tight
from gaugedp.accountant.total import Total
from gaugedp.guarantees import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP, events
from gaugedp.guarantees.bounded_range import ExponentialLoss
from gaugedp.guarantees.budget import Budget, RenyiBudget
from gaugedp.guarantees.discrete import DiscreteGaussianLoss
from gaugedp.guarantees.finite import FiniteLoss
from gaugedp.guarantees.gaussian_curve import gaussian_delta
from gaugedp.guarantees.groups import Grouped, doublings, group_factor
from gaugedp.guarantees.laplace import LaplaceLoss
from gaugedp.guarantees.parse_guarantee import chargeable


def test_costs_by_hand() -> None:
    assert ExponentialLoss(0.5).cost("zcdp") == (Fraction(1, 32),), "epsilon^2/8 of bounded range"
    assert DiscreteGaussianLoss(2.0, 3).cost("zcdp") == (Fraction(9, 8),), "d^2/(2 sigma^2)"
    assert Grouped(ZCDP(0.25), 3).cost("zcdp") == (Fraction(9, 4),), "groups cost the square of their size in rho"
    assert Grouped(GaussianDP(0.5), 3).cost("gaussian") == (Fraction(9, 4),)
    assert Grouped(PureDP(0.5), 3).cost("pure") == (Fraction(3, 2),)


def test_a_mechanism_that_may_tell_all_has_no_pure_cost() -> None:
    tells = FiniteLoss([0.5, 0.5, 0.0], [0.5, 0.25, 0.25])
    assert [tells.cost(kind) for kind in ("pure", "zcdp")] == [None, None]
    assert FiniteLoss([0.5, 0.5], [0.25, 0.75]).cost("pure")[0] == pytest.approx(math.log(2))


def test_a_finite_mechanism_is_as_private_as_its_worse_direction() -> None:
    p, q = [0.9, 0.1], [0.5, 0.5]
    forward = math.log(0.9**2 / 0.5 + 0.1**2 / 0.5)
    back = math.log(0.5**2 / 0.9 + 0.5**2 / 0.1)
    assert back > 2 * forward
    for loss in (FiniteLoss(p, q), FiniteLoss(q, p)):
        assert loss.renyi(2) == pytest.approx(back, rel=1e-12)


def test_a_composition_needs_the_epsilon_of_its_worse_direction() -> None:
    pairs = (([0.9, 0.1], [0.5, 0.5]), ([0.5, 0.5], [0.9, 0.1]))
    bounds = [(3 * FiniteLoss(*pair)).epsilon(1e-3, method="tight") for pair in pairs]
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-9)
    assert bounds[0] > 3 * math.log(0.9 / 0.5), "more than any loss of the other direction"


def test_groups_by_hand() -> None:
    assert LaplaceLoss(2.0).group(4) == LaplaceLoss(0.5)
    assert [doublings(size) for size in (1, 2, 3, 4, 5, 8, 9)] == [0, 1, 2, 2, 3, 3, 4]
    assert group_factor(8.0, 2) == pytest.approx(15 / 7 * 7 / 3, rel=1e-12)
    assert group_factor(8.0, 2) > 4, "two at each doubling is the limit at infinity"
    curve = RenyiDP([4.0, 16.0], [0.1, 0.3]).group(3)
    assert curve.orders == (4.0,), "orders are halved at each of two doublings, and 4 falls to 1"
    assert curve.values[0] == pytest.approx(0.3 * group_factor(16.0, 2), rel=1e-12)


@pytest.mark.parametrize("guarantee", [ZCDP(1e-31), GaussianDP(1e-16), PureDP(1e-31)], ids=repr)
def test_charges_below_a_unit_are_a_unit(guarantee: PureDP | ZCDP | GaussianDP) -> None:
    budget = Budget(RenyiDP([2.0, 8.0], [1.0, 1.0]))
    assert min(budget.charge(guarantee)) >= 1, "many charges would be free"


def test_each_order_of_a_budget_has_its_share_of_delta() -> None:
    """As in docs/theory/budgets.md: at order a the divergence log(m) below that of one order alone, over a - 1."""
    first, second = RenyiBudget(1.0, 1e-6, [8.0]), RenyiBudget(1.0, 1e-6, [8.0, 16.0])
    assert first.capacity[0] - second.capacity[0] == pytest.approx(math.log(2) / 7, rel=1e-9)
    assert ApproxDP(1.0, 1e-6).epsilon(1e-6) == 1
    exact = 1 - math.log1p(-1 / 8) + (math.log(1e-6) + math.log(8)) / 7
    assert exact - 1e-10 < first.capacity[0] < exact


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("mu", [11.0, 12.0, 13.7, 15.0, 16.25])
def test_a_delta_near_one_is_not_below_the_truth(mu: float, epsilon: float) -> None:
    with mpmath.workdps(60):
        x = mpmath.mpf(epsilon) / mu - mpmath.mpf(mu) / 2
        truth = mpmath.ncdf(-x) - mpmath.exp(mpmath.mpf(epsilon)) * mpmath.ncdf(-x - mpmath.mpf(mu))
        assert mpmath.mpf(gaussian_delta(mu, epsilon)) >= truth


def test_nothing_is_known_of_a_curve_beyond_its_orders() -> None:
    curve = RenyiDP([2.0, 4.0], [0.1, 0.2])
    assert curve.renyi(4) == 0.2
    assert curve.renyi(5) == math.inf


def test_basic_composition_leaves_the_others_what_is_spared_of_delta() -> None:
    both = ApproxDP(1.0, 1e-6) + GaussianDP(1.0)
    assert both.epsilon(2e-6, method="basic") == pytest.approx(1 + GaussianDP(1.0).epsilon(1e-6), rel=1e-9)


def test_what_is_dearer_than_what_was_asked_is_charged_last() -> None:
    requested = ApproxDP(1.0, 1e-6)
    dearer, cheaper = 60 * PureDP(0.02), PureDP(0.5)
    assert dearer.epsilon(1e-6) < 1 < dearer.cost("approx")[0]
    assert chargeable(dearer, requested) == [requested, dearer]
    assert chargeable(cheaper, requested) == [cheaper, requested]


def test_other_libraries_are_told_the_noise_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a stand-in for dp-accounting, so that it is seen where that is not installed."""
    stand_in = SimpleNamespace(GaussianDpEvent=lambda noise_multiplier: noise_multiplier)
    monkeypatch.setattr(events, "_events", lambda: stand_in)
    assert events.to_event(GaussianDP(0.5)) == 2
    assert events.to_event(GaussianDP(0.3)) <= 1 / 0.3


@pytest.mark.parametrize("epsilon", [0.1 * step for step in range(1, 25)])
def test_a_contour_is_above_the_truth(epsilon: float) -> None:
    """Gaussian noise has a closed form; its contour is asked all the same, and with values as low as they may be."""
    total = Total((9 * GaussianDP(0.2)).components())
    order = tight.saddle(total, epsilon)
    contour = tight._contour(total, order, epsilon, -20.0)
    lowest = replace(contour, log_values=contour.log_values - contour.rounding)
    with mpmath.workdps(40):
        mu, at = mpmath.mpf(0.2) * 3, mpmath.mpf(epsilon)
        truth = mpmath.ncdf(mu / 2 - at / mu) - mpmath.exp(at) * mpmath.ncdf(-mu / 2 - at / mu)
        for values in (contour, lowest):
            assert truth <= mpmath.mpf(math.exp(values.log_delta(epsilon).high)) <= truth * (1 + mpmath.mpf(10) ** -6)
