"""Gaussian privacy against its profile with as many digits as it takes."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import example
from hypothesis import strategies as st

from gaugedp._internal.validate import decimal
from gaugedp.guarantees import GaussianDP, PureDP, gaussian_std
from gaugedp.guarantees.gaussian_curve import gaussian_mu
from tests.guarantees import oracles
from tests.guarantees.signed import assert_upper
from tests.steady import given

MUS = [1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.05, 0.1, 0.3, 0.7, 1.0, 1.7, 3.0, 5.0, 8.0, 10.0, 13.0, 20.0]
EPSILONS = [0.0, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 0.5, 1.0, 2.0, 3.5, 5.0, 10.0, 20.0, 35.0, 50.0]
DELTAS = [10.0**-k for k in (1, 2, 3, 5, 6, 9, 12, 15, 18, 22, 26, 30)]
LOOSE = 2e-7  # the widest gap, where two nearby Mills ratios cancel


def truth(mu: float, epsilon: float) -> mpmath.mpf:
    return oracles.gaussian_delta(mu, epsilon)


@pytest.mark.parametrize("mu", MUS)
def test_delta_on_a_grid(mu: float) -> None:
    for epsilon in EPSILONS:
        exact = truth(mu, epsilon)
        if exact >= 1e-30:
            assert_upper(GaussianDP(mu).delta(epsilon), exact, LOOSE, 1e-15 if epsilon / mu - mu / 2 < -5 else 0)


@example(-3.5674567422058296, 1.5674567422058296)
@example(-5.820536, -0.000001)
@given(st.floats(-6, 1.3), st.floats(-6, 9))
def test_delta_is_never_below_the_truth(log_mu: float, place: float) -> None:
    """`place` is ε/μ − μ/2, so that all shapes of the curve are met; down to δ = 1e-18."""
    mu = 10**log_mu
    epsilon = max(0.0, mu * (place + mu / 2))
    assert_upper(GaussianDP(mu).delta(epsilon), truth(mu, epsilon), LOOSE, 1e-15 if place < -4.9 else 0)


@given(st.floats(-6, 1.3), st.floats(9, 37))
def test_delta_is_never_below_the_truth_far_out(log_mu: float, place: float) -> None:
    mu = 10**log_mu
    epsilon = mu * (place + mu / 2)
    assert_upper(GaussianDP(mu).delta(epsilon), truth(mu, epsilon), LOOSE)


@example(11.0, -6.2)
@example(9.0, -8.2)
@example(8.9, 7.0)
@example(9.0, 0.0)
@given(st.floats(1.3, 12), st.floats(-9, 9))
def test_delta_of_next_to_no_noise_is_never_below_the_truth(log_mu: float, place: float) -> None:
    """ε is some μ²/2, whose powers of e no float holds: from μ = 5e8 on δ was once 1e-16 where it is 1."""
    mu = 10**log_mu
    epsilon = mu * (place + mu / 2)
    delta = GaussianDP(mu).delta(epsilon)
    assert_upper(delta, truth(mu, epsilon), LOOSE + 1e-14 * mu, 1e-15 + 1e-14 * mu)
    assert delta.low <= truth(mu, epsilon)


@pytest.mark.parametrize(("mu", "epsilon"), [(0.1, 5.0), (1e-3, 0.05), (1.0, 60.0)])
def test_delta_is_never_zero(mu: float, epsilon: float) -> None:
    assert truth(mu, epsilon) > 0
    assert GaussianDP(mu).delta(epsilon) > 0


@pytest.mark.parametrize("mu", MUS)
def test_epsilon_is_enough_and_the_least(mu: float) -> None:
    for delta in DELTAS:
        actual = GaussianDP(mu).epsilon(delta)
        assert truth(mu, actual) <= delta
        if actual > 0:
            assert truth(mu, actual * (1 - 1e-6)) > delta * (1 - LOOSE)


@given(st.floats(-3, 1.3), st.floats(-30, -0.01))
def test_delta_and_epsilon_undo_each_other(log_mu: float, log_delta: float) -> None:
    guarantee, delta = GaussianDP(10**log_mu), 10**log_delta
    epsilon = guarantee.epsilon(delta)
    assert guarantee.delta(epsilon) <= delta
    if epsilon > 0:
        assert guarantee.delta(epsilon) >= delta * (1 - 1e-6) - 1e-14


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_noise_for_a_guarantee_is_enough_and_the_least(epsilon: float) -> None:
    for delta in DELTAS[1:]:
        std = gaussian_std(epsilon, delta)
        assert truth_for_noise(std, epsilon) <= delta
        assert truth_for_noise(std * (1 - 1e-6), epsilon) > delta


def truth_for_noise(std: float, epsilon: float) -> mpmath.mpf:
    """Return δ(ε) of N(0, std²) against N(1, std²), without rounding 1/std."""
    with mpmath.workdps(150):
        s, e = mpmath.mpf(std), mpmath.mpf(epsilon)
        near, far = e * s - 1 / (2 * s), e * s + 1 / (2 * s)
        return oracles.tail(near, dps=150) - mpmath.exp(e) * oracles.tail(far, dps=150)


@given(st.floats(1e-3, 1e3), st.integers(1, 10**6))
def test_noise_grows_with_sensitivity_and_the_root_of_the_count(sensitivity: float, count: int) -> None:
    one = gaussian_std(1.0, 1e-6)
    many = gaussian_std(1.0, 1e-6, sensitivity, count)
    assert many == pytest.approx(one * sensitivity * math.sqrt(count), rel=1e-12)


@example(0.0, -6.219625973893541)
@given(st.floats(0, 20), st.floats(-20, -0.1))
def test_mu_is_rounded_down(epsilon: float, log_delta: float) -> None:
    mu = gaussian_mu(epsilon, 10**log_delta)
    assert truth(mu, epsilon) <= 10**log_delta


@given(st.floats(1e-6, 1e3), st.floats(1, 1e6, exclude_min=True))
def test_renyi(mu: float, order: float) -> None:
    with mpmath.workdps(50):
        assert_upper(GaussianDP(mu).renyi(order), mpmath.mpf(order) * mpmath.mpf(mu) ** 2 / 2, 1e-13)


def test_renyi_of_a_huge_mu_is_infinite() -> None:
    assert GaussianDP(1e200).renyi(2) == math.inf


def test_without_delta_nothing_is_guaranteed() -> None:
    assert GaussianDP(0.1).epsilon(0) == math.inf
    assert GaussianDP(0).epsilon(0) == GaussianDP(0).delta(0) == GaussianDP(0).renyi(2) == 0


def test_costs() -> None:
    guarantee = GaussianDP(0.1)
    assert guarantee.cost("gaussian") == (Fraction(1, 100),)
    assert guarantee.cost("zcdp") == (Fraction(1, 200),)
    assert guarantee.cost("pure") is guarantee.cost("approx") is None
    assert GaussianDP(0).cost("pure") == (0,)
    assert GaussianDP(0).cost("approx") == (0, 0)


@example(1.9789642920060722, 2)
@given(st.floats(1e-6, 50), st.integers(1, 1000))
def test_group_is_a_multiple_and_never_below_it(mu: float, size: int) -> None:
    assert decimal(GaussianDP(mu).group(size).mu) >= size * decimal(mu)


def test_group_is_rescaled_sensitivity() -> None:
    assert GaussianDP(0.1).group(3) == GaussianDP(0.3)


@pytest.mark.parametrize(("mu", "epsilon"), [(0.01, 0.5), (0.01, 0.385), (0.1, 3.85), (0.3, 11.0), (0.5, 1.0)])
def test_the_lower_end_of_delta_is_below_the_truth_also_at_underflow(mu: float, epsilon: float) -> None:
    bound = GaussianDP(mu).delta(epsilon)
    assert mpmath.mpf(bound.low) <= truth(mu, epsilon) <= mpmath.mpf(float(bound))
    composed = (GaussianDP(mu) + PureDP(1e-3)).delta(epsilon + 1e-3)
    assert mpmath.mpf(composed.low) <= truth(mu, epsilon)


def test_what_underflows_is_zero_from_below_and_never_from_above() -> None:
    bound = GaussianDP(0.01).delta(0.5)  # 2.8e-549
    assert (bound.low, bound > 0) == (0.0, True)


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_short_floats_are_calibrated_as_the_numbers_they_are(kind: type[np.floating]) -> None:
    """They equal other floats, and may not decide what is found for these later."""
    for epsilon, delta in ((1.25, 2.0**-13), (0.75, 2.0**-12)):
        first, then = gaussian_mu(kind(epsilon), kind(delta)), gaussian_mu(epsilon, delta)
        assert first == then
        assert oracles.gaussian_delta(then, epsilon) <= delta
