"""Pure privacy against randomized response, which is its worst case."""

import math
from decimal import Decimal
from fractions import Fraction

import mpmath
import pytest
from hypothesis import example
from hypothesis import strategies as st

from gaugedp._internal.validate import decimal
from gaugedp.guarantees import PureDP
from tests.guarantees import oracles
from tests.guarantees.signed import assert_upper
from tests.steady import given

LOSSES = [1e-8, 1e-4, 0.01, 0.1, 0.5, 1.0, 2.0, 3.7, 10.0, 25.0, 50.0]
ORDERS = [1 + 1e-9, 1 + 1e-5, 1.01, 1.5, 2.0, 3.0, 8.5, 64.0, 1e3, 1e6]
EPSILONS = st.floats(1e-8, 50)
ANY_ORDER = st.one_of(st.floats(1 + 1e-9, 3), st.floats(1.1, 1e6))


@pytest.mark.parametrize("order", ORDERS)
def test_renyi_is_that_of_randomized_response(order: float) -> None:
    for loss in LOSSES:
        assert_upper(PureDP(loss).renyi(order), oracles.response_renyi(loss, order, dps=120), 1e-12)


@example(1e-8, 2.0)
@given(EPSILONS, ANY_ORDER)
def test_renyi_is_never_below_the_truth(loss: float, order: float) -> None:
    assert PureDP(loss).renyi(order) >= oracles.response_renyi(loss, order, dps=120)


@given(EPSILONS, ANY_ORDER)
def test_renyi_is_at_most_the_loss_and_the_parabola(loss: float, order: float) -> None:
    assert PureDP(loss).renyi(order) <= min(loss * (1 + 1e-15), order * loss * loss / 2 * (1 + 1e-12))


@example(1.0, 1 + 1e-9, 1 + 3e-9)
@given(EPSILONS, ANY_ORDER, ANY_ORDER)
def test_renyi_increases_in_the_order(loss: float, first: float, second: float) -> None:
    low, high = sorted((first, second))
    assert PureDP(loss).renyi(low) <= PureDP(loss).renyi(high) * (1 + 1e-12)


@example(1 + 2.0**-52)
@given(st.floats(1.0, 1 + 1e-8, exclude_min=True))
def test_renyi_stays_near_the_divergence_at_order_1(order: float) -> None:
    """At order 1 the divergence is ε·tanh(ε/2)."""
    limit = math.tanh(0.5)
    assert limit <= PureDP(1.0).renyi(order) <= limit * (1 + 1e-7)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("part", [0.0, 1e-9, 0.3, 0.9, 1 - 1e-9, 1.0, 1.5])
def test_delta(loss: float, part: float) -> None:
    rounding = 1e-15 * loss  # near the top, where both numbers may be read as decimals
    assert_upper(PureDP(loss).delta(part * loss), oracles.response_delta(loss, part * loss), 1e-13, rounding)


@given(EPSILONS, EPSILONS)
def test_delta_is_never_below_the_truth(loss: float, epsilon: float) -> None:
    assert_upper(PureDP(loss).delta(epsilon), oracles.response_delta(loss, epsilon), 1e-13)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("delta", [1e-30, 1e-12, 1e-5, 0.01, 0.3, 0.5, 0.9])
def test_epsilon(loss: float, delta: float) -> None:
    truth = oracles.response_epsilon(loss, delta, dps=120)
    assert_upper(PureDP(loss).epsilon(delta), truth, 1e-13, 1e-13)


@given(EPSILONS, st.floats(1e-30, 0.9))
def test_epsilon_is_never_below_the_truth(loss: float, delta: float) -> None:
    assert_upper(PureDP(loss).epsilon(delta), oracles.response_epsilon(loss, delta, dps=120), 1e-13, 1e-13)


@example(50.0, 1e-12)
@given(st.floats(8, 50), st.floats(2.0**-53, 0.1))
def test_epsilon_is_never_below_the_truth_next_to_delta_1(loss: float, rest: float) -> None:
    delta = 1 - rest
    assert PureDP(loss).epsilon(delta) >= oracles.response_epsilon(loss, delta, dps=120)


@pytest.mark.parametrize("loss", [5e-324, 1e-310, 1e-300, 1e-200, 1e-100, 1e-50])
@pytest.mark.parametrize("order", [1 + 2.0**-52, 1 + 2.0**-20, 2.0, 1e6])
def test_renyi_of_tiny_losses(loss: float, order: float) -> None:
    assert 0 <= PureDP(loss).renyi(order) <= loss
    assert (2 * PureDP(loss)).epsilon(1e-6) <= 2 * loss


def test_nothing_leaks_nothing() -> None:
    nothing = PureDP(0)
    assert nothing.renyi(2) == nothing.delta(0) == nothing.epsilon(0) == nothing.epsilon(0.5) == 0
    assert nothing.cost("pure") == nothing.cost("zcdp") == nothing.cost("gaussian") == (0,)


def test_without_delta_the_loss_itself_is_needed() -> None:
    assert PureDP(1.5).epsilon(0) == 1.5
    assert PureDP(1.5).delta(1.5) == 0


@example(1.9789642920060722, 2)
@given(EPSILONS, st.integers(1, 10**6))
def test_group_is_a_multiple_and_never_below_it(loss: float, size: int) -> None:
    grown = PureDP(loss).group(size)
    assert decimal(grown.epsilon_value) >= size * decimal(loss)
    assert grown.epsilon_value == pytest.approx(size * loss)


@pytest.mark.parametrize("loss", LOSSES)
def test_costs_in_other_accountings(loss: float) -> None:
    exact = Fraction(Decimal(repr(loss)))
    assert PureDP(loss).cost("pure") == (exact,)
    assert PureDP(loss).cost("approx") == (exact, 0)
    assert PureDP(loss).cost("zcdp") == (exact**2 / 2,)


def assert_gaussian_cost(loss: float) -> None:
    (cost,) = PureDP(loss).cost("gaussian")
    with mpmath.workdps(60):
        assert_upper(mpmath.mpf(cost.numerator) / cost.denominator, oracles.vertex_mu(loss, dps=100) ** 2, 1e-8)


@pytest.mark.parametrize("loss", [1e-300, 1e-17, 1e-12, *LOSSES])
def test_the_gaussian_cost_is_that_of_the_vertex(loss: float) -> None:
    assert_gaussian_cost(loss)


@given(st.floats(-8, 1.6))
def test_the_gaussian_cost_is_never_below_the_vertex(log_loss: float) -> None:
    assert_gaussian_cost(10**log_loss)


@pytest.mark.parametrize("loss", [0.01, 0.3, 1.0, 4.0, 12.0])
def test_the_gaussian_profile_at_that_cost_lies_above_the_pure_one(loss: float) -> None:
    """Profile above profile everywhere is trade-off curve below trade-off curve."""
    (cost,) = PureDP(loss).cost("gaussian")
    mu = math.sqrt(cost) * (1 + 1e-15)
    for i in range(61):
        epsilon = loss * i / 60
        assert oracles.response_delta(loss, epsilon) <= oracles.gaussian_delta(mu, epsilon)


@pytest.mark.parametrize("loss", [0.3, 1.0, 4.0])
def test_a_lower_gaussian_cost_would_be_wrong(loss: float) -> None:
    """The control: with a μ that is 1e-6 smaller, the pure profile sticks out somewhere."""
    mu = math.sqrt(PureDP(loss).cost("gaussian")[0]) * (1 - 1e-6)
    grid = [loss * i / 60 for i in range(61)]
    assert any(oracles.response_delta(loss, e) > oracles.gaussian_delta(mu, e) for e in grid)
