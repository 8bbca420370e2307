"""Composition: algebra, never below the exact value, never above the plain sum."""

import math
import random
from fractions import Fraction

import mpmath
import pytest
from hypothesis import assume, example
from hypothesis import strategies as st

from gaugedp._internal.validate import decimal
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import ZCDP, ApproxDP, Composed, GaussianDP, Guarantee, PureDP, compose
from tests.guarantees import finite, oracles
from tests.guarantees.signed import assert_upper
from tests.guarantees.zoo import ANY, COMPONENTS
from tests.steady import given

COUNTS = st.integers(0, 6)


@given(ANY, st.integers(1, 6))
def test_a_multiple_is_a_repeated_sum(guarantee: Guarantee, count: int) -> None:
    total = guarantee
    for _ in range(count - 1):
        total = total + guarantee
    assert count * guarantee == guarantee * count == total
    assert hash(count * guarantee) == hash(total)


@given(ANY, ANY, ANY)
def test_sums_commute_and_associate(one: Guarantee, two: Guarantee, three: Guarantee) -> None:
    assert one + two == two + one
    assert (one + two) + three == one + (two + three)


@given(ANY, COUNTS, COUNTS)
def test_multiples_distribute(guarantee: Guarantee, first: int, second: int) -> None:
    assert first * guarantee + second * guarantee == (first + second) * guarantee
    assert first * (second * guarantee) == (first * second) * guarantee


@given(ANY)
def test_nothing_added_changes_nothing(guarantee: Guarantee) -> None:
    for nothing in (PureDP(0), ZCDP(0), GaussianDP(0), ApproxDP(0, 0), 0 * guarantee):
        assert guarantee + nothing == guarantee
    assert 1 * guarantee == guarantee
    assert 0 * guarantee == compose([]) == PureDP(0)


@given(st.lists(COMPONENTS, min_size=1, max_size=4), st.floats(1.01, 100))
def test_the_renyi_curve_is_the_sum(parts: list[Guarantee], order: float) -> None:
    total = math.fsum(part.renyi(order) for part in parts)
    actual = compose([(part, 1) for part in parts]).renyi(order)
    assert total * (1 - 1e-15) <= actual <= total * (1 + 1e-13)


@given(st.lists(COMPONENTS, min_size=1, max_size=4))
def test_costs_add_exactly(parts: list[Guarantee]) -> None:
    total = compose([(part, 3) for part in parts])
    for accounting in ("pure", "approx", "zcdp", "gaussian"):
        costs = [part.cost(accounting) for part in parts]
        if None in costs:
            assert total.cost(accounting) is None
        else:
            assert total.cost(accounting) == tuple(3 * sum(column) for column in zip(*costs, strict=True))


BASIC = st.lists(st.builds(ApproxDP, st.floats(0.001, 2), st.floats(0, 1e-3)), min_size=2, max_size=5)


@given(BASIC, st.floats(0, 10), st.floats(1e-12, 0.5))
@example([ApproxDP(1.0, 0.0), ApproxDP(1.0, 5e-324)], 3.0, 0.5)
def test_never_above_the_plain_sum(parts: list[ApproxDP], epsilon: float, delta: float) -> None:
    actual = compose([(part, 1) for part in parts])
    losses = sum(decimal(part.epsilon_value) for part in parts)
    deltas = sum(decimal(part.delta_value) for part in parts)
    basic = ApproxDP(float(losses) * (1 + 1e-15), float(deltas) * (1 + 1e-15))
    assert actual.delta(epsilon) <= basic.delta(epsilon) * (1 + 1e-12) + 2 * math.ulp(0.0)
    assert actual.epsilon(delta) <= basic.epsilon(delta) * (1 + 1e-12)
    assert actual.epsilon(float(deltas) * (1 + 1e-15)) <= basic.epsilon_value


@given(st.lists(st.floats(0.001, 2), min_size=2, max_size=5))
def test_pure_parts_without_delta_give_their_sum(losses: list[float]) -> None:
    actual = compose([(PureDP(loss), 1) for loss in losses])
    exact = sum(decimal(loss) for loss in losses)
    assert exact <= decimal(actual.epsilon(0)) <= exact * (1 + Fraction(1, 10**15))


def test_many_small_losses_cost_less_than_their_sum() -> None:
    actual = 1000 * PureDP(0.01)
    assert actual.epsilon(1e-6) < 2 < actual.epsilon(0) == 10


def exact_cases(count: int, seed: int) -> list[tuple[finite.Laws, ...]]:
    rng = random.Random(seed)
    return [tuple(finite.made_up(rng, rng.randint(2, 4)) for _ in range(rng.choice([2, 2, 3]))) for _ in range(count)]


def test_pure_parts_are_never_below_the_exact_product() -> None:
    for mechanisms in exact_cases(200, 1):
        together = finite.product(*mechanisms)
        actual = compose([(PureDP(finite.loss(each)), 1) for each in mechanisms])
        for epsilon in (0.3, 0.5 * actual.epsilon(0)):
            assert actual.delta(epsilon) >= finite.delta(together, epsilon)
        assert finite.delta(together, actual.epsilon(0.1)) <= 0.1


def test_approximate_parts_are_never_below_the_exact_product() -> None:
    rng = random.Random(2)
    for _ in range(200):
        mechanisms = [finite.made_up(rng, rng.randint(2, 4), with_zeros=True) for _ in range(rng.choice([2, 2, 3]))]
        together, points = finite.product(*mechanisms), [rng.choice([0.0, 0.2, 1.0]) for _ in mechanisms]
        deltas = [finite.raised(finite.delta(each, at)) for each, at in zip(mechanisms, points, strict=True)]
        if sum(deltas) < 1:
            actual = compose([(ApproxDP(at, delta), 1) for at, delta in zip(points, deltas, strict=True)])
            for epsilon in (0.2, 0.4, 1.0):
                assert actual.delta(epsilon) >= finite.delta(together, epsilon) * (1 - mpmath.mpf(10) ** -40)


def test_equal_mechanisms_are_never_below_the_exact_product() -> None:
    rng = random.Random(3)
    for _ in range(50):
        one = finite.made_up(rng, 2)
        actual, together = 3 * PureDP(finite.loss(one)), finite.product(one, one, one)
        for epsilon in (0.0, 0.4, 1.5):
            assert actual.delta(epsilon) >= finite.delta(together, epsilon)


def test_renyi_is_never_below_the_exact_product() -> None:
    for mechanisms in exact_cases(40, 4):
        together = finite.product(*mechanisms)
        actual = compose([(PureDP(finite.loss(each)), 1) for each in mechanisms])
        assert all(actual.renyi(order) >= finite.renyi(together, order) for order in (1.5, 2.0, 7.0))


def test_the_comparison_would_notice_too_little() -> None:
    """The control: parts that guarantee 3 % too little fall below the exact value somewhere."""
    short = 0
    for mechanisms in exact_cases(200, 1):
        together = finite.product(*mechanisms)
        actual = compose([(PureDP(0.97 * finite.loss(each)), 1) for each in mechanisms])
        short += actual.delta(actual.epsilon(0)) < finite.delta(together, actual.epsilon(0))
    assert short > 100


@given(st.lists(st.floats(0.01, 3), min_size=2, max_size=6), st.floats(0, 10), examples=60)
def test_gaussians_collapse_into_the_root_of_the_squares(mus: list[float], epsilon: float) -> None:
    actual = compose([(GaussianDP(mu), 1) for mu in mus])
    with mpmath.workdps(50):
        mu = mpmath.sqrt(mpmath.fsum(mpmath.mpf(each) ** 2 for each in mus))
    absolute = 1e-14 if epsilon / mu - mu / 2 < -4.9 else 1e-40
    assert_upper(actual.delta(epsilon), oracles.gaussian_delta(mu, epsilon), 1e-6, absolute)


def test_two_gaussians_by_name() -> None:
    assert (GaussianDP(0.3) + GaussianDP(0.4)).epsilon(1e-6) == pytest.approx(GaussianDP(0.5).epsilon(1e-6), rel=1e-9)
    assert (GaussianDP(0.3) + GaussianDP(0.4)).cost("gaussian") == (Fraction(1, 4),)


def test_mixed_parts_take_the_better_rule() -> None:
    mixed = GaussianDP(1) + PureDP(0.1)
    gaussian = GaussianDP(math.sqrt(mixed.cost("gaussian")[0]))
    assert mixed.epsilon(1e-6) <= gaussian.epsilon(1e-6) * (1 + 1e-12)
    assert (ZCDP(0.1) + PureDP(0.1)).epsilon(1e-6) <= ZCDP(0.105).epsilon(1e-6) * (1 + 1e-9)


@pytest.mark.parametrize("exponent", [9, 10, 12, 16])
def test_very_many_tiny_losses_add_up(exponent: int) -> None:
    """10^(2k) releases at 10^−k are as good as Gaussian with μ = 1, from above."""
    actual = 10 ** (2 * exponent) * PureDP(float(f"1e-{exponent}"))
    assert actual.epsilon(1e-6) >= 0.999 * GaussianDP(1).epsilon(1e-6)
    assert actual.delta(4.0) >= 0.999 * GaussianDP(1).delta(4.0)


@pytest.mark.parametrize("guarantee", [GaussianDP(1e-170), PureDP(1e-170)])
def test_an_underflow_is_no_guarantee(guarantee: Guarantee) -> None:
    assert (2 * guarantee).epsilon(0) >= 2e-170


@pytest.mark.parametrize("guarantee", [GaussianDP(1e200), PureDP(1e308)])
def test_huge_guarantees_do_not_overflow(guarantee: Guarantee) -> None:
    assert (2 * guarantee).epsilon(1e-6) > 1e300


@given(ANY, st.floats(0, 20), st.floats(0, 20), examples=10)
def test_delta_decreases_in_epsilon(guarantee: Guarantee, first: float, second: float) -> None:
    low, high = sorted((first, second))
    assert guarantee.delta(low) >= guarantee.delta(high) * (1 - 1e-6) - 1e-15
    assert 0 <= guarantee.delta(high) <= 1


@given(ANY, st.floats(1e-9, 0.5), st.floats(1e-9, 0.5), examples=15)
def test_epsilon_decreases_in_delta(guarantee: Guarantee, first: float, second: float) -> None:
    low, high = sorted((first, second))
    assert guarantee.epsilon(low) >= guarantee.epsilon(high) * (1 - 1e-6) - 1e-12


@given(ANY, st.integers(1, 3), examples=50)
def test_groups_of_a_composition_are_compositions_of_groups(guarantee: Guarantee, size: int) -> None:
    parts = guarantee.parts if isinstance(guarantee, Composed) else ((guarantee, 1),)
    assume(all(getattr(part, "delta_value", 0) < 1e-6 for part, _ in parts))
    assert guarantee.group(size) == compose([(part.group(size), count) for part, count in parts])


def test_large_numbers_of_parts_are_one_part() -> None:
    many = 10**9 * PureDP(1e-9)
    assert many.parts == ((PureDP(1e-9), 10**9),)
    assert many.cost("pure") == (1,)


@pytest.mark.parametrize("count", [-1, 0.5, 1.5, True, "2", None])
def test_bad_counts_are_refused(count: object) -> None:
    """A count below 0 would give budget back."""
    part = PureDP(1)
    for make in (lambda: part * count, lambda: compose([(part, count)]), lambda: Composed(((part, count),))):
        with pytest.raises(InvalidRequest, match="count"):
            make()
