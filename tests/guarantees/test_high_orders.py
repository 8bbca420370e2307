"""Noise on samples at high orders, beyond the quadrature: beside exact sums, and the gain of sampling stays."""

import math

import mpmath
import pytest
from mpmath import mpf

import gaugedp.guarantees as g
from gaugedp.guarantees.losses.subsampled import _largest_order, _log_bound

CASES = [(0.01, 0.1, 64), (0.2, 0.1, 200), (1e-6, 0.1, 51), (0.3, 0.03, 12), (1e-4, 0.04, 90), (0.01, 1.0, 2300)]


def true_divergence(rate: float, std: float, order: int) -> mpf:
    """Return log E[(1 − q + q·e^u)^a]/(a − 1) by the binomial theorem, a = `order`."""
    q, moment = mpf(rate), mpf(0)
    for k in range(order + 1):
        grown = mpmath.exp(k * (k - 1) / (2 * mpf(std) ** 2))
        moment += mpmath.binomial(order, k) * q**k * (1 - q) ** (order - k) * grown
    return mpmath.log(moment) / (order - 1)


@pytest.mark.parametrize(("rate", "std", "order"), CASES)
def test_the_bound_at_a_high_order_is_above_the_truth_and_near(rate: float, std: float, order: int) -> None:
    actual = g.SubsampledGaussian(rate, std).renyi(order)
    with mpmath.workdps(50):
        truth = true_divergence(rate, std, order)
        assert truth <= mpf(actual) <= truth * (1 + mpf(10) ** -6)


@pytest.mark.parametrize(
    ("rate", "std", "order"),
    [
        (0.001970731302304898, 2.122728905925692, 40),
        (0.00637839692337647, 4.206245968967405, 39),
        (0.005071061484425662, 4.192650583798806, 29),
        (0.002787390245515702, 1.7227344605388615, 17),
        (1e-4, 8.0, 901),  # where r^e is huge far out, and its mean is 1.00006
    ],
)
def test_the_curve_of_faint_gains_is_not_below_the_truth(rate: float, std: float, order: int) -> None:
    """What is left of r^e after 1 and its slope is small beside them where r is near 1."""
    with mpmath.workdps(50):
        truth = true_divergence(rate, std, order)
        assert truth <= g.SubsampledGaussian(rate, std).renyi(order) <= truth * (1 + 1e-12)


def test_sampling_gains_at_high_orders() -> None:
    whole, sampled = (g.SubsampledGaussian(rate, 0.1).renyi(64) for rate in (1, 0.01))
    assert whole - sampled == pytest.approx(-64 / 63 * math.log(0.01), rel=1e-4)


def test_the_bound_of_groups_meets_the_quadrature() -> None:
    """At the last order of the quadrature the moments are known; the bound is above and within a thousandth."""
    for removed, added in ((2, 0), (1, 1), (3, 1), (0, 2)):
        order = _largest_order(0.3) - 1
        group = g.SubsampledGaussian(0.2, 0.3).group(removed + added)
        pair = group.dominating_pair(removed)
        exact = float(pair.family([pair.row], [1]).log_moment([order])[0])
        bound = _log_bound(order, 0.2, 0.3, removed, added)
        assert exact * (1 - 1e-12) <= bound
        assert added or bound <= exact * (1 + 1e-3)


@pytest.mark.parametrize(("rate", "std", "order"), [(1e-12, 1e6, 4.6875e11), (1e-12, 1e3, 2.02e6), (1e-3, 1.0, 1e308)])
def test_the_bound_of_large_groups_keeps_its_digits_where_the_norm_is_near_one(
    rate: float, std: float, order: float
) -> None:
    """Only the whole group's term has grown by e^30, with a chance of q^16: log of the norm is 10^-11."""
    bound = _log_bound(order, rate, std, 16, 0)
    with mpmath.workdps(60):
        terms = [mpmath.binomial(16, k) * mpf(rate) ** k * (1 - mpf(rate)) ** (16 - k) for k in range(17)]
        norm = mpmath.fsum(term * mpmath.exp(k * k * order / (2 * mpf(std) ** 2)) for k, term in enumerate(terms))
        truth = (1 + mpf(order)) * mpmath.log(norm)
    assert truth * (1 - mpf(10) ** -13) <= bound
    assert bound == math.inf or bound <= truth * (1 + mpf(10) ** -12)
