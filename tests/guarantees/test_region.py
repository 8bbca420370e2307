"""Rényi bounds without loss: coins that keep them never show more, and some show as much."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import strategies as st

import gaugedp as gd
from gaugedp.accountant.region import Region, _Edge
from gaugedp.guarantees import GaussianDP, LaplaceLoss, RenyiDP, probability_range
from tests.cases import one_in
from tests.guarantees.coins import keeps, largest_coin, nearest
from tests.steady import given

FIGURES = [
    ([2], [0.1], 1e-3, 3.3066),
    ([1.5], [0.2], 1e-2, 3.1930),
    ([2], [0.01], 1e-6, 7.8295),
    ([8], [0.5], 1e-6, 2.0387),
    ([2], [1.0], 1e-2, 3.7830),
    ([4], [0.05], 1e-5, 2.4811),
]
SOME_ORDERS = st.lists(st.floats(1.01, 40), min_size=1, max_size=3, unique=True)
COINS = (SOME_ORDERS, st.floats(-3, 0.7), st.floats(-8, -0.5), st.floats(-9, -0.1))


@pytest.mark.parametrize(("orders", "values", "delta", "epsilon"), FIGURES)
def test_the_figures_of_single_orders(orders: list, values: list, delta: float, epsilon: float) -> None:
    bounds = RenyiDP(orders, values)
    assert float(bounds.epsilon(delta)) == pytest.approx(epsilon, abs=6e-5)
    assert float(bounds.delta(bounds.epsilon(delta))) == pytest.approx(delta, rel=1e-7)
    assert float(RenyiDP(orders, values).epsilon(delta)) < epsilon + 1e-4


@pytest.mark.thorough
@given(*COINS, examples=2000)
def test_coins_that_keep_the_bounds_never_show_more(
    orders: list[float], log_value: float, log_delta: float, log_q: float
) -> None:
    check_coins(orders, log_value, log_delta, log_q)


@given(*COINS, examples=12)
def test_some_coins_that_keep_the_bounds_never_show_more(
    orders: list[float], log_value: float, log_delta: float, log_q: float
) -> None:
    check_coins(orders, log_value, log_delta, log_q)


def check_coins(orders: list[float], log_value: float, log_delta: float, log_q: float) -> None:
    """δ(ε) and P(E) of the library are not below those of two coins, in 50 digits."""
    bounds = RenyiDP(orders, [10**log_value * (1 + i) for i in range(len(orders))])
    delta, q = 10**log_delta, 10**log_q
    epsilon = float(bounds.epsilon(delta))
    with mpmath.workdps(50):
        p = largest_coin(bounds, mpmath.mpf(q))
        assert probability_range(bounds, q)[1] >= p
        assert probability_range(bounds, float(p))[0] <= q
        if math.isfinite(epsilon):
            assert p - mpmath.exp(mpmath.mpf(epsilon)) * mpmath.mpf(q) <= delta


@pytest.mark.slow
@pytest.mark.parametrize(("orders", "values", "delta", "epsilon"), FIGURES[:4])
def test_some_coins_show_as_much(orders: list, values: list, delta: float, epsilon: float) -> None:
    """Over many q, coins on the edge of the region come within a tenth of δ."""
    bounds = RenyiDP(orders, values)
    shown = []
    with mpmath.workdps(50):
        for log_q in np.linspace(math.log(delta) - epsilon - 2, 0, 40)[:-1]:
            q = mpmath.exp(log_q)
            shown.append(float(largest_coin(bounds, q) - mpmath.exp(float(bounds.epsilon(delta))) * q))
    assert delta * 0.9 < max(shown) <= delta


@pytest.mark.parametrize(
    ("order", "value", "delta"), [(256, 2.7, 1e-20), (64, 10.5, 1e-30), (44, 15.9, 1e-50), (2660, 0.25, 1e-28)]
)
def test_coins_show_no_more_where_powers_of_ratios_overflow(order: float, value: float, delta: float) -> None:
    """(p/q)^c is beyond floats, p·(p/q)^c is not: the bound is kept."""
    bounds = RenyiDP([order], [value])
    epsilon = float(bounds.epsilon(delta))
    with mpmath.workdps(50):
        for said, is_kept in ((epsilon, False), (epsilon * (1 - 1e-6), True)):
            ratio = mpmath.exp(mpmath.mpf(said))
            q = delta / ratio * (order - 1)
            assert keeps(bounds, delta + ratio * q, q) == is_kept


@pytest.mark.parametrize("order", [1e100, 1.4e154, 1e308])
def test_huge_orders_are_no_perfect_privacy(order: float) -> None:
    """Coins with p/q = e show an ε near 1, and more beside noise of ε = 1."""
    bounds = RenyiDP([order], [1.0])
    assert 0.999 < float(bounds.epsilon(1e-6)) < 1.001
    assert float((bounds + gd.PureDP(1.0)).epsilon(1e-6)) > 1.999
    assert float((bounds + LaplaceLoss(1.0)).epsilon(1e-6)) > 1.999
    assert float(bounds.delta(0.1)) < 1


@pytest.mark.parametrize("order", [1e16, 1e18])
@pytest.mark.parametrize("units", [1, 3, 9])
def test_delta_where_large_terms_cancel(order: float, units: int) -> None:
    """Coins with log ratios of 50 keep the bound at every order."""
    epsilon = 50.0
    for _ in range(units):
        epsilon = math.nextafter(epsilon, 0)
    with mpmath.workdps(50):
        p = 1 / (1 + mpmath.exp(-50))
        truth = p - mpmath.exp(mpmath.mpf(epsilon)) * (1 - p)
        assert float(RenyiDP([order], [50.0]).delta(epsilon)) >= truth


def test_a_rare_event_is_as_likely_under_equal_laws() -> None:
    for q in (1e-20, 1e-12, 1e-3):
        low, high = probability_range(RenyiDP([2, math.inf], [1e-17, 1e-17]), q)
        assert low <= q <= high


def random_bounds(case: int) -> tuple[RenyiDP, float, float]:
    """One to six orders from 1 to 2,000, values from 1e-8 to 50, and an ε and a δ to ask at."""
    rng = np.random.default_rng([2210, case])
    n_orders = int(rng.integers(1, 7))
    orders = 1 + np.exp(rng.uniform(math.log(1e-3), math.log(1999), n_orders))
    orders = np.unique(np.where(rng.random(n_orders) < 0.15, 1.0, orders))
    values = np.exp(rng.uniform(math.log(1e-8), math.log(50), len(orders)))
    epsilon, delta = math.exp(rng.uniform(math.log(1e-3), math.log(50))), 10 ** rng.uniform(-15, -0.3)
    return RenyiDP(orders.tolist(), values.tolist()), epsilon, delta


REPORTED = [
    (
        RenyiDP(
            [1.126818547078196, 1.283462221860367, 326.7423725605806],
            [7.295846424022028e-05, 0.0002257661147758927, 0.0030838131010688355],
        ),
        1.8290912034022504,
        1e-6,
    ),
    (RenyiDP([1, 1.07932], [2.176e-6, 0.9154]), 0.7043, 1e-6),
    (RenyiDP([806], [0.9]), 0.89, 1e-9),
    (RenyiDP([1213], [0.01]), 0.0101, 1e-9),
    (RenyiDP([1.0227605305367031], [7.205374862589705]), 6.962615216071129, 0.3),
]


def check_lossless(bounds: RenyiDP, epsilon: float, delta: float, case: object) -> None:
    """A line a little above the answers misses all coins that keep the bounds; one 1 % lower meets some."""
    shown, least = float(bounds.delta(epsilon)), float(bounds.epsilon(delta))
    with mpmath.workdps(50):
        assert shown > 1 - 1e-11 or nearest(bounds, epsilon, shown * (1 + 1e-12)) > 0, case
        assert shown < 1e-280 or nearest(bounds, epsilon, 0.99 * shown) < 0, case
        if least < 700:
            assert nearest(bounds, least * (1 + 1e-12), delta) > 0, case
            assert least == 0 or nearest(bounds, 0.99 * least, delta) < 0, case


@pytest.mark.parametrize("case", range(len(REPORTED)))
def test_reported_bounds_are_read_without_loss(case: int) -> None:
    check_lossless(*REPORTED[case], case)


@pytest.mark.parametrize("first", [0, *(pytest.param(at, marks=pytest.mark.thorough) for at in range(20, 1020, 20))])
def test_random_bounds_are_read_without_loss(first: int) -> None:
    for case in range(first, first + 20):
        check_lossless(*random_bounds(case), case)


def test_orders_together_say_more_than_each() -> None:
    first, second = RenyiDP([1.5], [0.04]), RenyiDP([8], [0.7])
    both = RenyiDP([1.5, 8], [0.04, 0.7])
    assert float(both.epsilon(1e-2)) < min(float(first.epsilon(1e-2)), float(second.epsilon(1e-2))) - 1e-3


def test_a_bound_at_order_one_and_at_infinity() -> None:
    assert float(RenyiDP([1], [0.1]).epsilon(1e-2)) == pytest.approx(7.6918, abs=1e-3)
    assert float(RenyiDP([1, math.inf], [0.1, 2.0]).epsilon(1e-9)) <= 2.0
    assert probability_range(RenyiDP([math.inf], [1.0]), 0.1)[1] == pytest.approx(math.e / 10)


def test_probabilities_of_an_event() -> None:
    low, high = probability_range(RenyiDP([2], [0.1]), 0.1)
    assert (low, high) == (pytest.approx(0.0380, abs=1e-4), pytest.approx(0.1973, abs=1e-4))
    assert probability_range(gd.PureDP(1.0), 0.1) == (pytest.approx(0.1 / math.e), pytest.approx(0.1 * math.e))
    assert probability_range(gd.ApproxDP(1.0, 1e-3), 0.0) == (0.0, pytest.approx(1e-3))
    assert probability_range(gd.PureDP(1.0), 1.0) == (1.0 - 2**-53, 1.0)


@pytest.mark.parametrize("rate", [1e-6, 0.01, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("mu", [0.1, 1.0, 4.0])
def test_the_tradeoff_of_gaussian_noise(mu: float, rate: float) -> None:
    with mpmath.workdps(50):
        z = mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * mpmath.mpf(rate))
        truth = mpmath.ncdf(z - mu)
        actual = GaussianDP(mu).tradeoff(rate)
        assert actual <= truth
        assert actual == pytest.approx(float(truth), rel=1e-6, abs=1e-9)


def test_tradeoffs_fall_and_the_ends_are_sure() -> None:
    for guarantee in (
        gd.ZCDP(0.1),
        3 * gd.PureDP(0.2),
        gd.RenyiDP([2, 8], [0.1, 0.4]),
        gd.GaussianDP(1) + gd.PureDP(1),
    ):
        errors = [guarantee.tradeoff(rate) for rate in (0.0, 0.05, 0.3, 0.7, 1.0)]
        assert errors == sorted(errors, reverse=True)
        assert errors[-1] == 0
        assert errors[0] > 0.9
        assert all(error <= 1 - rate for error, rate in zip(errors, (0.0, 0.05, 0.3, 0.7, 1.0), strict=True))


def test_rates_outside_are_refused() -> None:
    for rate in (-0.1, 1.1, math.nan, True):
        with pytest.raises(gd.InvalidRequest):
            gd.PureDP(1.0).tradeoff(rate)
        with pytest.raises(gd.InvalidRequest):
            probability_range(gd.PureDP(1.0), rate)


def test_a_line_below_a_coin_that_keeps_the_bounds_is_not_beyond() -> None:
    """Looser bounds never give less: what is sure of a large region is sure of each smaller one."""
    orders = np.array([0.5, 1.0, 3.0])
    for factor in (1.0, 1.5, 3.0):
        tight, loose = (Region(orders, np.array([orders * 0.1 * f] * 2)) for f in (1.0, factor))
        assert tight.delta(1.0, 1.0) <= loose.delta(1.0, 1.0)
        assert tight.highest(0.2) <= loose.highest(0.2)


def test_the_other_direction_bounds_likely_events() -> None:
    orders = np.array([2.0])
    both, one = (Region(orders, np.array([[0.2], [other]])) for other in (0.2, math.inf))
    assert both.highest(0.9) < one.highest(0.9) - 1e-3


def test_coins_beside_a_leak_never_show_more() -> None:
    """Where a loss can be infinite, what is left are no two laws: the region must not be read."""
    bounds, leak = RenyiDP([2], [0.1]), 0.1
    both = bounds + gd.guarantees.FiniteLoss([leak, 1 - leak], [0.0, 1.0])
    with mpmath.workdps(30):
        for q in (1e-4, 0.01, 0.1, 0.9):
            p = largest_coin(bounds, mpmath.mpf(q))
            first = [leak * p, leak * (1 - p), (1 - leak) * p, (1 - leak) * (1 - p)]
            second = [0, 0, mpmath.mpf(q), 1 - mpmath.mpf(q)]
            for epsilon in (0.0, 0.2, 0.5, 1.0):
                shown = sum(max(0, x - mpmath.exp(epsilon) * y) for x, y in zip(first, second, strict=True))
                assert both.delta(epsilon, "rdp") >= shown
            assert probability_range(both, q)[1] >= first[0] + first[1] + first[2]


# -- large δ: ε near 0 -------------------------------------------------------------------------------------------------


def nearly_all(case: int) -> gd.guarantees.Guarantee:
    rng = np.random.default_rng(case)
    orders = 1 + 10 ** rng.uniform(-1.5, 3, size=rng.integers(1, 4))
    return RenyiDP(orders.tolist(), (10 ** rng.uniform(-4, 0.3, size=len(orders))).tolist())


NEARLY_ALL = [
    RenyiDP([2], [0.1]),
    RenyiDP([1024], [0.0199]),
    RenyiDP([233.382], [0.16093]),
    gd.ZCDP(0.5),
    *map(nearly_all, range(12)),
]


@pytest.mark.thorough
@pytest.mark.parametrize("bounds", one_in(3, NEARLY_ALL), ids=repr)
def test_nearly_all_of_delta_needs_hardly_any_epsilon(bounds: gd.guarantees.Guarantee) -> None:
    most, last = float(bounds.delta(0)), math.inf
    for power in range(2, 10):
        delta = most * (1 - 10.0**-power)
        epsilon = float(bounds.epsilon(delta))
        again = float(bounds.delta(epsilon))
        assert epsilon <= last, (power, epsilon, last)
        assert again >= delta * (1 - 1e-3) or epsilon < 1e-6, (power, epsilon, again)
        assert epsilon <= 30 * 10.0**-power * most, (power, epsilon)
        assert again <= delta * (1 + 1e-8), (power, epsilon, again)
        last = epsilon


@pytest.mark.parametrize("share", [0.5, 0.9, 0.99, 1 - 1e-4])
def test_an_epsilon_is_certified_by_the_points_there_are(share: float) -> None:
    region = Region(np.array([1.0]), np.full((2, 1), 0.1))
    delta, coarse = share * region.delta(0.0, 1.0), _Edge.of(region)
    epsilon = coarse.sure_epsilon(delta, coarse.least_epsilon(delta), math.inf)
    assert region.delta(epsilon, 1.0) <= delta
    assert coarse.ceilings(epsilon).max() <= delta


def test_bounds_that_are_infinite_at_every_order_say_what_their_parts_do() -> None:
    mixture = gd.guarantees.Mixture([0.5, 0.5], [gd.ApproxDP(0.1, 0.5), gd.ZCDP(0.1)])
    for each in (mixture, 2 * mixture):
        assert 0.5 <= each.delta(0.3) <= 1
        assert each.epsilon(0.9) >= 0


@pytest.mark.parametrize("bounds", [RenyiDP([2, 3], [0, 1]), RenyiDP([36], [0]), RenyiDP([1, 4], [0, 0.5])], ids=repr)
def test_a_divergence_of_zero_at_any_order_is_of_equal_laws(bounds: RenyiDP) -> None:
    for epsilon in (0.0, 1e-9, 0.3):
        assert float(bounds.delta(epsilon)) == 0
    assert float(bounds.epsilon(0)) == float(bounds.epsilon(1e-9)) == 0
    assert bounds.renyi(1e6) == bounds.renyi(math.inf) == 0
    assert bounds.group(64) == bounds
    assert float((bounds + gd.GaussianDP(1.0)).epsilon(1e-6)) >= float(gd.GaussianDP(1.0).epsilon(1e-6))
