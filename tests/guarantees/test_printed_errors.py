"""What the sources print wrongly: each test fails where it is coded as printed."""

import math
from fractions import Fraction

import pytest

import gaugedp as gd
from gaugedp.guarantees import FiniteLoss, LaplaceLoss, divergences, group_factor

EPSILON, DELTA = 3.0, 1e-3


def test_a_chain_of_two_needs_more_than_k_times_e_to_the_k_delta() -> None:
    """P, R, Q on two outcomes: each step is (3, δ)-DP, both steps need (1 + e³)·δ = 21.1·δ at ε = 6."""
    growth = math.exp(EPSILON)
    q = 1e-6
    r = growth * q + DELTA
    p = growth * r + DELTA
    needed = p - math.exp(2 * EPSILON) * q
    printed = 2 * math.exp(2) * DELTA
    assert printed < needed
    assert gd.ApproxDP(EPSILON, DELTA).group(2).delta_value >= needed
    assert gd.ApproxDP(EPSILON, DELTA).group(2).delta_value == pytest.approx(needed, rel=1e-9)


def test_an_outcome_that_is_impossible_without_the_unit_counts() -> None:
    """Over the support of Q alone the divergence would be 0."""
    p, q = [Fraction(1, 2), Fraction(1, 2), Fraction(0)], [Fraction(1, 2), Fraction(0), Fraction(1, 2)]
    assert divergences.finite(math.inf, p, q) == math.inf
    assert divergences.finite(2, p, q) == math.inf
    guarantee = FiniteLoss(p, q)
    assert guarantee.renyi(2) == math.inf
    assert guarantee.cost("pure") is None
    assert guarantee.delta(50.0) >= 0.5
    assert guarantee.epsilon(0.4) == math.inf


def test_an_outcome_that_is_impossible_with_the_unit_is_no_infinite_loss() -> None:
    assert divergences.finite(math.inf, [0.5, 0.5, 0], [0.25, 0.5, 0.25]) == pytest.approx(math.log(2), rel=1e-15)


def test_stability_is_about_neighbours_of_the_domain() -> None:
    """g doubles a table: neighbours land two apart, so M∘g needs the factor of a pair of neighbours.

    As printed (neighbours in the range come from near tables) g is 1-stable, since its range has no neighbours at all,
    and M∘g would keep M's guarantee. Randomized response on the count's parity of chains shows the factor is needed.
    """
    tables = range(4)
    doubled = {n: 2 * n for n in tables}
    range_has_neighbours = any(abs(a - b) == 1 for a in doubled.values() for b in doubled.values())
    assert not range_has_neighbours
    scale = 2.0
    loss_of_composition = divergences.laplace(8, doubled[0], doubled[1], scale)
    assert loss_of_composition > divergences.laplace(8, 0, 1, scale)
    assert loss_of_composition <= group_factor(16, 1) * divergences.laplace(16, 0, 1, scale)
    assert loss_of_composition <= LaplaceLoss(scale).group(2).renyi(8)


@pytest.mark.slow
@pytest.mark.parametrize(("order", "factor"), [(4, 7 / 3), (6, 11 / 5), (16, 31 / 15)])
def test_the_sharper_group_factor_holds_for_coins(order: float, factor: float) -> None:
    """Over chains P, R, Q of coins the ratio is never above the factor, and some are above 2 − 2/order."""
    assert group_factor(order, 1) == pytest.approx(factor, rel=1e-12)
    best = 0.0
    for i in range(1, 400):
        r = 10 ** (-6 * i / 400)
        for growth in (1.0005, 1.01, 1.05):
            p, q = min(1.0, r * growth), r / growth
            step = max(divergences.bernoulli(order, *pair) for pair in ((p, r), (r, p), (r, q), (q, r)))
            best = max(best, divergences.bernoulli(order / 2, p, q) / step)
    assert best <= factor * (1 + 1e-9)
    assert best > 2 - 2 / order  # well above what no chain could need


@pytest.mark.parametrize("steps", [1, 2, 3, 4])
def test_the_sharper_group_factor_is_never_above_the_printed(steps: int) -> None:
    for order in (2 ** (steps + 1), 2 ** (steps + 1) + 0.5, 1000.0):
        assert group_factor(order, steps) <= group_factor(order, steps, form="printed") * (1 + 1e-12)


def test_a_pure_guarantee_has_half_the_parabola_not_twice() -> None:
    for epsilon in (0.01, 0.3, 2.0):
        for order in (1.5, 2, 10, 100):
            assert gd.PureDP(epsilon).renyi(order) <= order * epsilon**2 / 2 * (1 + 1e-12)


def test_the_first_divergence_of_laplace_is_half_the_square() -> None:
    for scale in (10.0, 100.0, 1000.0):
        assert LaplaceLoss(scale).renyi(1) == pytest.approx(0.5 / scale**2, rel=1 / scale)
        assert LaplaceLoss(scale).renyi(1) < 0.1 * 0.5 / scale * 2


def test_many_pure_releases_cost_less_than_every_printed_bound() -> None:
    epsilon, count, delta = 0.1, 100, 1e-6
    printed_corollary = 4 * epsilon * math.sqrt(2 * count * math.log(1 / delta))
    sharper = count * epsilon**2 / 2 + epsilon * math.sqrt(2 * count * math.log(1 / delta))
    dwork_roth = math.sqrt(2 * count * math.log(1 / delta)) * epsilon + count * epsilon * math.expm1(epsilon)
    together = count * gd.PureDP(epsilon)
    tanh = together.epsilon(delta, "advanced")
    assert together.epsilon(delta) < together.epsilon(delta, "rdp") < tanh < dwork_roth
    assert tanh <= sharper * (1 + 1e-12) < printed_corollary


def test_the_classical_gaussian_noise_is_too_small_somewhere() -> None:
    epsilon, delta = 20.0, 1e-6
    classical = math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    assert gd.GaussianDP(1 / classical).delta(epsilon) > delta
    assert gd.GaussianDP(1 / gd.guarantees.gaussian_std(epsilon, delta)).delta(epsilon) <= delta * (1 + 1e-12)
