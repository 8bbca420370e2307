"""Approximate privacy: the pair that dominates it, its groups, its costs."""

import itertools
import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import strategies as st

from gaugedp._internal.validate import decimal
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import ApproxDP, PureDP
from gaugedp.guarantees.parse_guarantee import guarantee_asked
from tests.guarantees import oracles
from tests.guarantees.signed import assert_upper
from tests.steady import given

EPSILONS = st.floats(1e-6, 30)
DELTAS = st.one_of(st.floats(1e-30, 1e-3), st.floats(1e-3, 0.9))


def truth(loss: float, delta: float, epsilon: float) -> mpmath.mpf:
    """Return the profile of the pair that says all with probability δ and is randomized response otherwise."""
    with mpmath.workdps(60):
        return delta + (1 - mpmath.mpf(delta)) * oracles.response_delta(loss, epsilon)


@given(EPSILONS, DELTAS, st.floats(0, 40))
def test_delta(loss: float, delta: float, epsilon: float) -> None:
    assert_upper(ApproxDP(loss, delta).delta(epsilon), truth(loss, delta, epsilon), 1e-13)


@given(EPSILONS, DELTAS, DELTAS)
def test_epsilon_is_enough_and_hardly_more(loss: float, delta: float, allowed: float) -> None:
    actual = ApproxDP(loss, delta).epsilon(allowed)
    if allowed < delta:
        assert actual == math.inf
        return
    with mpmath.workdps(120):
        spare = (mpmath.mpf(allowed) - delta) / (1 - mpmath.mpf(delta))
        assert_upper(actual, oracles.response_epsilon(loss, spare, dps=120), 1e-12, 1e-12)


def test_at_its_own_point_it_is_its_own_point() -> None:
    guarantee = ApproxDP(1.25, 1e-7)
    assert guarantee.delta(1.25) == guarantee.delta(9.0) == 1e-7
    assert guarantee.epsilon(1e-7) == 1.25
    assert guarantee.epsilon(0) == guarantee.epsilon(9e-8) == math.inf


@given(EPSILONS)
def test_without_delta_it_is_pure(loss: float) -> None:
    pure, approx = PureDP(loss), ApproxDP(loss, 0)
    assert approx.renyi(3) == pure.renyi(3)
    assert approx.delta(loss / 2) == pytest.approx(pure.delta(loss / 2), rel=1e-13)
    assert approx.epsilon(0) == loss
    assert all(
        approx.cost(accounting) == pure.cost(accounting) for accounting in ("pure", "approx", "zcdp", "gaussian")
    )


def test_with_delta_it_has_no_renyi_curve_and_one_cost() -> None:
    guarantee = ApproxDP(0.1, 1e-30)
    assert guarantee.renyi(1.5) == math.inf
    assert guarantee.cost("approx") == (Fraction(1, 10), Fraction(1, 10**30))
    assert [guarantee.cost(accounting) for accounting in ("pure", "zcdp", "gaussian")] == [None] * 3


def test_a_group_needs_more_than_the_printed_factor() -> None:
    """For k = 2 and ε = 3 a chain of three tables needs e³ + 1 = 21.09 times δ; k·e^k is 14.8."""
    grown = ApproxDP(3, 1e-6).group(2)
    assert grown.epsilon_value == 6
    assert 21.08e-6 < (math.exp(3) + 1) * 1e-6 <= grown.delta_value < 21.09e-6
    assert 2 * math.exp(2) * 1e-6 < 15e-6


def chain(size: int, loss: float, delta: float) -> mpmath.mpf:
    """Follow P₀ ≤ e^ε P₁ + δ ≤ e^ε(e^ε P₂ + δ) + δ ≤ … and return the δ of the last line."""
    with mpmath.workdps(60):
        total = mpmath.mpf(0)
        for _ in range(size):
            total = mpmath.exp(mpmath.mpf(loss)) * total + delta
        return total


@given(st.integers(1, 40), st.floats(0, 3), st.floats(1e-30, 1e-9))
def test_group_is_the_chain_of_inequalities(size: int, loss: float, delta: float) -> None:
    needed = chain(size, loss, delta)
    if needed < 0.99:
        grown = ApproxDP(loss, delta).group(size)
        assert_upper(grown.delta_value, needed, 1e-9)
        with mpmath.workdps(60):
            assert grown.delta_value <= size * mpmath.exp((size - 1) * mpmath.mpf(loss)) * delta * (1 + 1e-9)


def test_the_chain_is_attained() -> None:
    """Three laws on four outcomes, each pair of neighbours (log 3, 1/10)-DP, the ends need δ·(3 + 1)."""
    delta, grown = Fraction(1, 10), ApproxDP(math.log(3), 0.1).group(2)
    laws = [(Fraction(4, 10), Fraction(6, 10)), (delta, 1 - delta), (Fraction(0), Fraction(1))]
    for first, second in itertools.pairwise(laws):
        assert (
            max(first[0] - 3 * second[0], second[0] - 3 * first[0], first[1] - 3 * second[1], second[1] - 3 * first[1])
            <= delta
        )
    assert laws[0][0] - 9 * laws[2][0] == 4 * delta
    assert grown.delta_value == pytest.approx(0.4)
    assert grown.delta_value >= 0.4 - 1e-15


def test_group_epsilon_is_never_rounded_down() -> None:
    loss = 1.9789642920060722
    assert decimal(ApproxDP(loss, 1e-9).group(2).epsilon_value) >= 2 * decimal(loss)


def test_a_group_without_delta_is_never_too_large() -> None:
    assert ApproxDP(100, 0).group(10) == ApproxDP(1000, 0)


@pytest.mark.parametrize(("guarantee", "size"), [(ApproxDP(1, 1e-6), 20), (ApproxDP(10, 1e-6), 200)])
def test_groups_whose_delta_passes_1_are_refused(guarantee: ApproxDP, size: int) -> None:
    with pytest.raises(InvalidRequest, match="units would have a δ above 1, which protects"):
        guarantee.group(size)


BAD_EPSILONS = [(epsilon, 0) for epsilon in (-1, math.nan, math.inf, True, "1")]
BAD_DELTAS = [(1, delta) for delta in (-1e-9, 1, 1.5, math.nan, True)]


@pytest.mark.parametrize(("epsilon", "delta"), BAD_EPSILONS + BAD_DELTAS)
def test_bad_numbers_are_refused(epsilon: object, delta: object) -> None:
    with pytest.raises(InvalidRequest):
        ApproxDP(epsilon, delta)


@pytest.mark.parametrize("delta", [1, 1.0, 1.5])
def test_a_delta_that_guarantees_nothing_is_told_the_limit(delta: float) -> None:
    for make in (ApproxDP, guarantee_asked):
        with pytest.raises(InvalidRequest, match=rf"`delta` is {delta}, but must be below 1\."):
            make(1.0, delta)
