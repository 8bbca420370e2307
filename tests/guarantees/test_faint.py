"""Noise that is faint: exact sums of normal laws beside 60 digits, no quadrature, nothing below the truth."""

import mpmath
import pytest
from mpmath import mpf

import gaugedp.guarantees as g
from gaugedp.errors import InvalidRequest

CASES = [(n, rate, std) for std in (0.049, 0.02, 0.005) for rate in (0.2, 1e-6, 0.9) for n in (1, 2, 10)]


def mixture(n: int, rate: float, std: float, epsilon: float, mu: float = 0.0) -> mpf:
    """Return δ where it is known who is in which sample: k of n normal losses, and a Gaussian release of μ."""
    q, total = mpf(rate), mpf(0)
    for k in range(n + 1):
        weight = mpmath.binomial(n, k) * q**k * (1 - q) ** (n - k)
        left = epsilon - k * mpmath.log(q) - (n - k) * mpmath.log(1 - q)
        spread = mpmath.sqrt(k / mpf(std) ** 2 + mpf(mu) ** 2)
        if spread == 0:
            total += weight * max(mpf(0), 1 - mpmath.exp(left))
            continue
        above, against = mpmath.ncdf(spread / 2 - left / spread), mpmath.ncdf(-spread / 2 - left / spread)
        total += weight * (above - mpmath.exp(left) * against)
    return total


@pytest.mark.parametrize(("n", "rate", "std"), CASES)
def test_faint_noise_on_a_sample_is_a_mixture(n: int, rate: float, std: float) -> None:
    guarantee, most = n * g.SubsampledGaussian(rate, std), n / (2 * std**2)
    with mpmath.workdps(60):
        for epsilon in (0.0, 1.0, 16.0, rate * most, most):
            exact = mixture(n, rate, std, epsilon)
            if exact > 1e-12:
                actual = guarantee.delta(epsilon)
                assert exact <= actual <= exact * (1 + 1e-8)
                assert actual.low <= exact * (1 + 1e-9)  # a loss of the pair is infinite once in 1e23
        for delta in (1e-9, 1e-5, 0.1):
            actual = guarantee.epsilon(delta)
            exact = mixture(n, rate, std, float(actual))
            assert exact <= mpf(delta) * (1 + mpf(2) ** -50)
            assert actual == 0 or exact >= delta * (1 - 1e-6)


@pytest.mark.parametrize(("n", "rate", "std", "mu"), [(3, 0.2, 0.02, 1.0), (50, 0.01, 0.04, 2.0)])
def test_faint_noise_beside_other_noise(n: int, rate: float, std: float, mu: float) -> None:
    guarantee = n * g.SubsampledGaussian(rate, std) + g.GaussianDP(mu)
    with mpmath.workdps(60):
        for delta in (1e-6, 0.3):
            actual = guarantee.epsilon(delta)
            exact = mixture(n, rate, std, float(actual), mu)
            assert delta * (1 - 1e-6) <= exact <= mpf(delta) * (1 + mpf(2) ** -50)


def test_faint_noise_beside_finite_losses() -> None:
    """A response of ε = 1 beside two samples: the mean over its two losses."""
    guarantee = 2 * g.SubsampledGaussian(0.2, 0.02) + g.PureDP(1.0) + g.ApproxDP(0.5, 0.01)
    with mpmath.workdps(60):
        for epsilon in (16.0, 1300.0):
            exact = mpf(0)
            for signs in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
                moved = mpf(signs[0]) + mpf(signs[1]) / 2
                weight = mpmath.fprod(1 / (1 + mpmath.exp(-s * e)) for s, e in zip(signs, (1, mpf(0.5)), strict=True))
                exact += weight * mixture(2, 0.2, 0.02, epsilon - moved)
            exact = mpf("0.01") + mpf("0.99") * exact
            actual = guarantee.delta(epsilon)
            assert exact <= actual <= exact * (1 + 1e-8)


@pytest.mark.parametrize("std", [0.049, 0.02, 0.001])
@pytest.mark.parametrize("order", [1.0, 1.5, 8.0, 300.0])
def test_the_curve_of_faint_noise_is_never_below_its_moments(std: float, order: float) -> None:
    """(1 − q)^a + q^a·e^{a(a−1)/2σ²} is less than E_Q r^a, and within log(1/q) of it."""
    actual = g.SubsampledGaussian(0.2, std).renyi(order)
    with mpmath.workdps(60):
        a, q, s = mpf(order), mpf(0.2), mpf(std)
        exact = q / (2 * s**2) + q * mpmath.log(q) + (1 - q) * mpmath.log(1 - q)
        if order > 1:
            exact = mpmath.log((1 - q) ** a + q**a * mpmath.exp(a * (a - 1) / (2 * s**2))) / (a - 1)
        assert exact <= actual <= exact * (1 + mpf(10) ** -11) - mpmath.log(q) / min(1, order - 1 or 1)


@pytest.mark.parametrize(("n", "std", "shift"), [(1, 0.02, 1), (3, 0.02, 1), (3, 0.05, 3), (1, 0.0999, 1)])
def test_faint_discrete_noise_beside_its_definition(n: int, std: float, shift: int) -> None:
    guarantee = n * g.DiscreteGaussianLoss(std, shift)
    with mpmath.workdps(80):
        s = mpf(repr(std))
        law = {k: mpmath.exp(-(mpf(k) ** 2) / (2 * s**2)) for k in range(-9, 10)}
        whole, sums = mpmath.fsum(law.values()), {0: mpf(1)}
        for _ in range(n):
            more: dict[int, mpf] = {}
            for total, chance in sums.items():
                for k, weight in law.items():
                    more[total + k] = more.get(total + k, mpf(0)) + chance * weight / whole
            sums = more
        losses = [((n * shift**2 - 2 * total * shift) / (2 * s**2), chance) for total, chance in sums.items()]
        top = float(n * shift**2 / (2 * s**2))
        for epsilon in (1.0, top / 2, top - 1, top - 1e-3):
            exact = mpmath.fsum(chance * (1 - mpmath.exp(epsilon - loss)) for loss, chance in losses if loss > epsilon)
            assert exact * (1 - mpf(10) ** -13) <= guarantee.delta(epsilon) <= exact * (1 + 1e-6)


def test_the_least_noise_of_one_step_is_the_one_of_its_profile() -> None:
    actual = g.subsampled_noise_multiplier(16.0, 0.02302382, 0.2, 1)
    assert actual == pytest.approx(0.2, rel=1e-7)
    assert actual.guarantee.delta(16.0) <= 0.02302382
    assert g.SubsampledGaussian(0.2, actual * (1 - 1e-8)).delta(16.0) > 0.02302382


@pytest.mark.parametrize("std", [0.02, 0.04])
def test_small_noise_is_calibrated(std: float) -> None:
    sampled = (3 * g.SubsampledGaussian(0.2, std)).epsilon(1e-6)
    assert g.subsampled_noise_multiplier(float(sampled), 1e-6, 0.2, 3) == pytest.approx(std, rel=1e-8)
    plain = g.GaussianDP(1 / std).epsilon(1e-6)
    assert g.gaussian_std(float(plain), 1e-6) == pytest.approx(std, rel=1e-9)
    discrete = g.DiscreteGaussianLoss(std).epsilon(1e-5)
    assert g.discrete_gaussian_std(float(discrete), 1e-5) == pytest.approx(std, rel=1e-8)


@pytest.mark.parametrize(("epsilon", "delta"), [(1e6, 1e-6), (1e9, 0.1), (1.0, 0.3)])
def test_what_any_noise_keeps_is_refused_without_a_number_that_nobody_gave(epsilon: float, delta: float) -> None:
    with pytest.raises(InvalidRequest, match=r"Even noise of size 0.001, the smallest that is tried"):
        g.subsampled_noise_multiplier(epsilon, delta, 0.2, 1)


def test_less_than_the_least_noise_is_refused() -> None:
    with pytest.raises(InvalidRequest, match=r"Pass values in these ranges"):
        g.SubsampledGaussian(0.2, 9e-4)
    with pytest.raises(InvalidRequest, match=r"between 0.001 and 1e100 times the `sensitivity`"):
        g.DiscreteGaussianLoss(0.002, 3)
