"""Concentrated privacy against the optimum over all real orders."""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import strategies as st

from gaugedp._internal.validate import decimal
from gaugedp.guarantees import ZCDP, GaussianDP
from tests.guarantees import oracles
from tests.guarantees.signed import assert_upper
from tests.steady import given

RHOS = [1e-8, 1e-6, 1e-4, 0.01, 0.1, 0.5, 1.0, 4.0, 20.0]
DELTAS = [0.1, 1e-2, 1e-5, 1e-9, 1e-15, 1e-30]


@pytest.mark.many
@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("delta", DELTAS)
def test_epsilon_is_at_most_the_optimum_over_orders(rho: float, delta: float) -> None:
    """The usual conversion takes one order; what all orders say together is no more."""
    assert ZCDP(rho).epsilon(delta) <= oracles.zcdp_epsilon(rho, delta) * (1 + 1e-6) + 1e-15


@pytest.mark.many
@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("place", [0.5, 1.0, 2.0, 4.0, 8.0])
def test_delta_is_at_most_the_optimum_over_orders(rho: float, place: float) -> None:
    epsilon = rho + place * math.sqrt(2 * rho)
    assert ZCDP(rho).delta(epsilon) <= oracles.zcdp_delta(rho, epsilon) * (1 + 1e-6)


@pytest.mark.slow
@given(st.floats(-4, 1.5), st.floats(0, 8), examples=40)
def test_delta_is_between_the_truth_of_gaussian_noise_and_the_optimum(log_rho: float, place: float) -> None:
    """Gaussian noise has the curve ρ·a exactly."""
    rho = 10**log_rho
    epsilon = rho + place * math.sqrt(2 * rho)
    actual = ZCDP(rho).delta(epsilon)
    with mpmath.workdps(40):
        mu = mpmath.sqrt(2 * mpmath.mpf(rho))
        assert oracles.gaussian_delta(mu, epsilon) <= actual <= oracles.zcdp_delta(rho, epsilon) * (1 + 1e-6)


@pytest.mark.thorough
@given(st.floats(-3, 1.3), st.floats(-12, -1))
def test_the_conversion_is_sound_for_gaussian_noise(log_mu: float, log_delta: float) -> None:
    """Gaussian noise has the curve ρ·a exactly, so its own profile must lie below."""
    mu, delta = 10**log_mu, 10**log_delta
    with mpmath.workdps(40):
        epsilon = ZCDP(float(mpmath.mpf(mu) ** 2 / 2 * (1 + mpmath.mpf(2) ** -52))).epsilon(delta)
    assert oracles.gaussian_delta(mu, epsilon) <= delta


def test_delta_is_never_zero() -> None:
    assert ZCDP(0.001).delta(5.0) > 0


def test_tiny_rhos_stay_sound() -> None:
    """Below 1e-11 the best order may be beyond the search. Gaussian noise is ρ-zCDP, and no answer is below its own."""
    for rho in (1e-12, 1e-20, 1e-30):
        assert ZCDP(rho).epsilon(1e-9) >= GaussianDP(math.sqrt(2 * rho)).epsilon(1e-9, "tight")
    assert ZCDP(1e-12).epsilon(1e-9) == pytest.approx(oracles.zcdp_epsilon(1e-12, 1e-9), rel=1e-3)


@given(st.floats(1e-9, 1e3), st.floats(1, 1e6, exclude_min=True))
def test_renyi(rho: float, order: float) -> None:
    with mpmath.workdps(50):
        assert_upper(ZCDP(rho).renyi(order), mpmath.mpf(rho) * mpmath.mpf(order), 1e-13)


def test_costs() -> None:
    guarantee = ZCDP(0.1)
    assert guarantee.cost("zcdp") == (Fraction(1, 10),)
    assert guarantee.cost("pure") is guarantee.cost("approx") is guarantee.cost("gaussian") is None
    assert ZCDP(0).cost("gaussian") == (0,)
    assert ZCDP(0).cost("approx") == (0, 0)


def test_nothing_leaks_nothing() -> None:
    assert ZCDP(0).renyi(2) == ZCDP(0).delta(0) == ZCDP(0).epsilon(0) == 0
    assert ZCDP(0.1).epsilon(0) == math.inf


def test_group_grows_with_the_square() -> None:
    assert ZCDP(0.1).group(3) == ZCDP(0.9)


def test_group_is_never_rounded_down() -> None:
    rhos = [1.9789642920060722, 1.2345678901234567, 0.1234567890123457]
    assert all(decimal(ZCDP(rho).group(k).rho) >= k * k * decimal(rho) for rho in rhos for k in (2, 3, 5, 7))
