"""Costs, groups and budgets against numbers by hand, each rounded against the spender."""

import math
from fractions import Fraction

import mpmath
import pytest

from gaugedp.guarantees import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP
from gaugedp.guarantees.bounded_range import ExponentialLoss
from gaugedp.guarantees.budget import Budget
from gaugedp.guarantees.discrete import DiscreteGaussianLoss
from gaugedp.guarantees.finite import FiniteLoss
from gaugedp.guarantees.groups import Grouped, doublings, group_factor
from gaugedp.guarantees.laplace import LaplaceLoss
from gaugedp.guarantees.renyi_budget import RenyiBudget


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
    one, two = RenyiBudget(1.0, 1e-6, [8.0]), RenyiBudget(1.0, 1e-6, [8.0, 16.0])
    assert one.capacity[0] - two.capacity[0] == pytest.approx(math.log(2) / 7, rel=1e-9)
    assert ApproxDP(1.0, 1e-6).epsilon(1e-6) == 1
    exact = 1 - math.log1p(-1 / 8) + (math.log(1e-6) + math.log(8)) / 7
    assert exact - 1e-10 < one.capacity[0] < exact


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("mu", [11.0, 12.0, 13.7, 15.0, 16.25])
def test_a_delta_near_one_is_not_below_the_truth(mu: float, epsilon: float) -> None:
    with mpmath.workdps(60):
        x = mpmath.mpf(epsilon) / mu - mpmath.mpf(mu) / 2
        truth = mpmath.ncdf(-x) - mpmath.exp(mpmath.mpf(epsilon)) * mpmath.ncdf(-x - mpmath.mpf(mu))
        assert mpmath.mpf(GaussianDP(mu).delta(epsilon)) >= truth
