"""How wide the laws say they are, against sums with 40 digits."""

import itertools
import math
from fractions import Fraction
from functools import cache

import mpmath
import numpy as np
import pytest

from gaugedp.entropy import research_rng
from gaugedp.samplers.laws import DiscreteGaussian, DiscreteLaplace, LaplaceSum, Law, RoundedGaussian

KINDS = ["laplace", "gaussian", "rounded"]
SCALES = ["1/10", "1/2", "1", "10/3", "20", "64", "129/2", "1000/7"]
LEVELS = [0.5, 0.8, 0.9, 0.95, 0.99, 0.999, 1 - 1e-6]
EVERY = [(kind, scale) for kind in KINDS for scale in SCALES]


def law(kind: str, scale: Fraction | str) -> Law:
    scale = Fraction(scale)
    if kind == "gaussian":
        return DiscreteGaussian(scale**2)
    return (DiscreteLaplace if kind == "laplace" else RoundedGaussian)(scale)


@cache
def masses(kind: str, scale: str) -> list[mpmath.mpf]:
    """Return P(|N| = k) for k = 0, 1, 2, … as far as 1e-26 reaches."""
    with mpmath.workdps(40):
        s = mpmath.mpf(Fraction(scale).numerator) / Fraction(scale).denominator
        last = int(60 * s if kind == "laplace" else 14 * s) + 5
        if kind == "rounded":
            running = [mpmath.erf((k + mpmath.mpf("0.5")) / (s * mpmath.sqrt(2))) for k in range(last)]
            return [running[0], *(b - a for a, b in itertools.pairwise(running))]
        power = {"laplace": lambda k: -k / s, "gaussian": lambda k: -(k**2) / (2 * s**2)}[kind]
        results = [mpmath.exp(power(mpmath.mpf(k))) * (2 if k else 1) for k in range(last)]
        total = mpmath.fsum(results)
        return [each / total for each in results]


def coverage(kind: str, scale: str, width: int) -> mpmath.mpf:
    with mpmath.workdps(40):
        return mpmath.fsum(masses(kind, scale)[: width + 1])


def moment(kind: str, scale: str, rate: float) -> mpmath.mpf:
    with mpmath.workdps(40):
        return mpmath.fsum(mass * mpmath.exp(-rate * mpmath.mpf(k) ** 2) for k, mass in enumerate(masses(kind, scale)))


def tolerance(kind: str, scale: str) -> float:
    """Sums are exact to rounding; above scale 64 the Gaussian laws are replaced, which the docstrings say."""
    return 1e-12 if Fraction(scale) <= 64 or kind == "laplace" else 1e-5


@pytest.mark.many
@pytest.mark.parametrize(("kind", "scale"), EVERY)
def test_the_variance(kind: str, scale: str) -> None:
    with mpmath.workdps(40):
        truth = float(mpmath.fsum(mass * k * k for k, mass in enumerate(masses(kind, scale))))
    assert law(kind, scale).variance == pytest.approx(truth, rel=1e-10, abs=1e-15)


@pytest.mark.parametrize("kind", KINDS)
def test_small_chances_keep_their_digits(kind: str) -> None:
    """At a scale of 1/30 noise is hardly ever ±1, and 1 minus its coverage is 0 in floats."""
    odds = mpmath.exp(-30 if kind == "laplace" else -450)
    chances = {"laplace": 2 * odds / (1 + odds), "gaussian": 2 * odds, "rounded": mpmath.erfc(15 / mpmath.sqrt(2))}
    narrow, chance = law(kind, "1/30"), float(chances[kind])
    assert [narrow.variance, narrow.mean_size, *narrow.beyond(np.zeros(1, int))] == pytest.approx(
        [chance] * 3, rel=1e-9, abs=0
    )


@pytest.mark.parametrize(("kind", "scale"), EVERY)
def test_the_coverage(kind: str, scale: str) -> None:
    widths = np.unique([0, 1, 2, 5, *(int(part * Fraction(scale)) for part in (1, 2, 4, 8))])
    truth = [float(coverage(kind, scale, int(width))) for width in widths]
    np.testing.assert_allclose(law(kind, scale).coverage(widths), truth, rtol=0, atol=tolerance(kind, scale))


@pytest.mark.parametrize(("kind", "scale"), EVERY)
def test_the_coverage_far_out_is_one(kind: str, scale: str) -> None:
    assert float(law(kind, scale).coverage(np.array(10**6))) == pytest.approx(1, rel=1e-15)


@pytest.mark.parametrize("kind", ["laplace", "gaussian", "rounded"])
def test_every_level_below_one_is_reached(kind: str) -> None:
    assert float(law(kind, "1").coverage(np.array(2**40))) >= math.nextafter(1, 0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", ["129/2", "1000/7"])
def test_replaced_laws_never_cover_more_than_the_truth(kind: str, scale: str) -> None:
    for width in range(0, 6 * int(Fraction(scale)), 7):
        assert float(law(kind, scale).coverage(np.array(width))) <= coverage(kind, scale, width) + mpmath.mpf("1e-15")


@pytest.mark.many
@pytest.mark.parametrize(("kind", "scale"), EVERY)
def test_the_gaussian_moment(kind: str, scale: str) -> None:
    rates = np.array([1e-9, 1e-3, 0.1, 1.0, 30.0]) / float(Fraction(scale)) ** 2
    truth = [float(moment(kind, scale, rate)) for rate in rates]
    allowed = 1e-12 if Fraction(scale) <= 64 else 1e-2
    np.testing.assert_allclose(law(kind, scale).gaussian_moment(rates), truth, rtol=allowed)


@pytest.mark.parametrize("kind", KINDS)
def test_replaced_moments_are_near_where_they_are_used(kind: str) -> None:
    """Up to rate·scale² = 1 the replaced moments keep 4 digits."""
    rates = np.array([1e-9, 1e-3, 0.1, 1.0]) / 64.5**2
    truth = [float(moment(kind, "129/2", rate)) for rate in rates]
    np.testing.assert_allclose(law(kind, "129/2").gaussian_moment(rates), truth, rtol=2e-4)


@pytest.mark.parametrize(("kind", "scale"), EVERY)
@pytest.mark.parametrize("level", LEVELS)
def test_the_half_width_covers_its_level_and_no_narrower_one_does(kind: str, scale: str, level: float) -> None:
    width = law(kind, scale).half_width(level)
    assert coverage(kind, scale, width) >= level
    if width > 0:
        assert coverage(kind, scale, width - 1) < level + tolerance(kind, scale)


@pytest.mark.parametrize("kind", KINDS)
def test_all_is_continuous_where_sums_are_replaced(kind: str) -> None:
    below, above = law(kind, "64"), law(kind, Fraction(64) + Fraction(1, 10**9))
    widths, rates = np.array([0, 10, 64, 128, 300]), np.array([1e-6, 1e-3, 1.0]) / 64**2
    assert above.variance == pytest.approx(below.variance, rel=1e-9)
    np.testing.assert_allclose(above.coverage(widths), below.coverage(widths), rtol=0, atol=1e-5)
    np.testing.assert_allclose(above.gaussian_moment(rates), below.gaussian_moment(rates), rtol=2e-4)
    assert all(abs(above.half_width(level) - below.half_width(level)) <= 1 for level in LEVELS)


@pytest.mark.parametrize("kind", KINDS)
def test_huge_scales_stay_finite(kind: str) -> None:
    wide = law(kind, Fraction(2**54))
    assert wide.variance == pytest.approx((2 if kind == "laplace" else 1) * 2.0**108, rel=1e-9)
    factor = wide.half_width(0.95) / 2.0**54
    assert factor == pytest.approx(-math.log(0.05) if kind == "laplace" else 1.959963984540054, rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_laws_draw_what_they_describe(kind: str) -> None:
    draws = law(kind, "10/3").draw(200_000, research_rng(3))
    assert draws.var() == pytest.approx(law(kind, "10/3").variance, rel=0.03)


def test_laws_are_values() -> None:
    for kind in KINDS:
        assert law(kind, "3") == law(kind, "3")
        assert hash(law(kind, "3")) == hash(law(kind, "3"))


def summed(scale: str, count: int) -> np.ndarray:
    """Return P(|S| ≤ k), k = 0, 1, 2, …, for a sum of discrete Laplace variables, by convolution."""
    one = [float(mass) for mass in masses("laplace", scale)]
    half = np.array([one[0], *(mass / 2 for mass in one[1:])])
    both = np.concatenate([half[:0:-1], half])
    total = both
    for _ in range(count - 1):
        total = np.convolve(total, both)
    centre = len(total) // 2
    return np.cumsum(np.concatenate([[total[centre]], 2 * total[centre + 1 :]]))


@pytest.mark.parametrize("scale", ["1/10", "1/2", "10/3", "20", "64"])
@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_sums_of_laplace_variables(scale: str, count: int) -> None:
    law_of_sum, truth = LaplaceSum(Fraction(scale), count), summed(scale, count)
    deviation = math.sqrt(law_of_sum.variance)
    widths = np.unique((np.array([0, 0.3, 1, 2, 4, 8]) * deviation).astype(int))
    actual = law_of_sum.coverage(widths)
    assert (actual <= truth[widths] + 1e-12).all()
    np.testing.assert_allclose(actual, truth[widths], rtol=0, atol=3e-9)
    for level in LEVELS:
        width = law_of_sum.half_width(level)
        assert truth[width] >= level
        assert width == 0 or truth[width - 1] < level + 3e-9
