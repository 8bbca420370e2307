"""Spherical Laplace noise: its profile, moments and compositions against other ways to compute them."""

import math

import mpmath
import numpy as np
import pytest
from scipy import integrate, special, stats

import gaugedp as gd
from gaugedp.accountant.tight import tight_delta
from gaugedp.accountant.total import Total
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import LaplaceLoss, SphericalLaplaceLoss
from gaugedp.guarantees.losses.spherical import SphericalPrivacyLoss
from gaugedp.guarantees.spherical_curve import Integral, excess, spherical_delta, spherical_epsilon, spherical_shift

CASES = [(2.0, 2, 1.0), (2.0, 3, 1.0), (0.3, 3, 0.1), (3.0, 5, 1.0), (5.0, 10, 2.5), (1.05, 2, 1.0), (1.1, 10, 1.0)]


def by_radius_and_angle(shift: float, d: int, epsilon: float) -> float:
    """E(1 - e^(epsilon - |z - v| + |z|))+ over the radius of z, Gamma(d), and its angle to v: two plain integrals.

    Radii are edge + s|s|: from the edge on, the angles that count begin like a root.
    """
    nodes, weights = np.polynomial.legendre.leggauss(200)
    edge = (shift - epsilon) / 2
    total = 0.0
    for low, high in ((-math.sqrt(edge), 0.0), (0.0, 3.0), (3.0, 6.0), (6.0, 16.0)):
        s = low + (high - low) * (nodes[:, None] + 1) / 2
        r = edge + s * np.abs(s)
        cosine = np.clip((shift**2 - 2 * r * epsilon - epsilon**2) / (2 * r * shift), -1, 1)
        first = np.arccos(cosine)
        angles = first + (math.pi - first) * (nodes + 1) / 2
        loss = np.sqrt(r**2 + shift**2 - 2 * r * shift * np.cos(angles)) - r
        inside = -np.expm1(epsilon - loss) * np.sin(angles) ** (d - 2) @ weights * (math.pi - first[:, 0]) / 2
        radial = stats.gamma(d).pdf(r[:, 0]) * 2 * np.abs(s[:, 0])
        total += float(inside * radial @ weights) * (high - low) / 2
    return total * math.exp(math.lgamma(d / 2) - math.lgamma((d - 1) / 2)) / math.sqrt(math.pi)


@pytest.mark.parametrize(("shift", "d", "epsilon"), CASES)
def test_the_profile_against_an_integral_in_two_dimensions(shift: float, d: int, epsilon: float) -> None:
    truth = by_radius_and_angle(shift, d, epsilon)
    assert spherical_delta(shift, d, epsilon) == pytest.approx(truth, rel=1e-10)


def share_at(y: mpmath.mpc, shift: float, d: int) -> mpmath.mpc:
    """N(y)/kappa by Bessel functions of high precision."""
    x, order = mpmath.mpf(shift) / 2, mpmath.mpf(d) / 2 - 1
    kappa = (d - 1) / x * mpmath.besselk(order + 1, x) / mpmath.besselk(order, x)

    def part(v: mpmath.mpf) -> mpmath.mpc:
        return mpmath.sqrt(mpmath.pi) * mpmath.gamma(v + 0.5) * (2 / y) ** v * mpmath.besseli(v, y)

    return part(order + 1) / kappa + part(order)


@pytest.mark.many
@pytest.mark.parametrize(("shift", "d", "epsilon"), [*CASES, (20.0, 300, 12.0), (300.0, 4, 299.0), (1e-6, 7, 5e-7)])
def test_the_profile_is_not_below_that_of_the_loss(shift: float, d: int, epsilon: float) -> None:
    """With the density of the loss at 40 digits, normalised by Bessel functions instead of the same integral."""
    with mpmath.workdps(40):
        x, ratio = mpmath.mpf(shift) / 2, mpmath.mpf(epsilon) / mpmath.mpf(shift)
        order = mpmath.mpf(d) / 2 - 1
        kappa = (d - 1) / x * mpmath.besselk(order + 1, x) / mpmath.besselk(order, x)
        last = mpmath.acos(ratio)

        def integrand(a: mpmath.mpf) -> mpmath.mpf:
            gain = 1 - mpmath.exp(epsilon - shift * mpmath.cos(a))
            return mpmath.exp(x * mpmath.cos(a)) * mpmath.sin(a) ** (d - 2) * (1 + mpmath.sin(a) ** 2 / kappa) * gain

        truth = mpmath.quad(integrand, mpmath.linspace(0, last, 9)) / share_at(x, shift, d)
        assert truth <= mpmath.mpf(spherical_delta(shift, d, epsilon)) <= truth * (1 + mpmath.mpf(10) ** -10)


@pytest.mark.parametrize("d", [2, 3, 10])
def test_the_profile_against_draws(d: int) -> None:
    """Of 400,000 draws, five standard errors: a false alarm in a million."""
    rng, shift, epsilon = np.random.default_rng(d), 1.5, 0.6
    directions = rng.normal(size=(400_000, d))
    noise = rng.gamma(d, size=len(directions))[:, None] * directions
    noise /= np.linalg.norm(directions, axis=1)[:, None]
    lengths = np.linalg.norm(noise, axis=1)

    def gains(move: float) -> np.ndarray:
        moved = noise - move * np.eye(d)[0]
        return np.maximum(0, -np.expm1(epsilon - (np.linalg.norm(moved, axis=1) - lengths)))

    full = gains(shift)
    error = full.std() / math.sqrt(len(full))
    assert abs(full.mean() - spherical_delta(shift, d, epsilon)) < 5 * error
    assert abs(full.mean() - spherical_delta(0.9 * shift, d, epsilon)) > 5 * error, "a smaller shift is told apart"
    assert abs(full.mean() - spherical_delta(shift, d + 1, epsilon)) > 5 * error, "another dimension is told apart"
    assert gains(0.8 * shift).mean() < full.mean(), "the full shift is the worst"


@pytest.mark.parametrize("d", [2, 3, 7, 40])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 5.0])
def test_the_profile_grows_with_the_shift(d: int, epsilon: float) -> None:
    deltas = [spherical_delta(shift, d, epsilon) for shift in np.linspace(epsilon + 0.01, 2 * epsilon + 3, 40)]
    assert all(np.diff(deltas) > 0)
    assert spherical_delta(epsilon or 1e-100, d, max(epsilon, 1e-99)) == 0 or epsilon > 0


@pytest.mark.parametrize("d", [2, 3, 5, 10, 100, 2000])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.1, 1e-6), (0.0, 0.01), (8.0, 1e-12)])
def test_the_largest_shift(d: int, epsilon: float, delta: float) -> None:
    shift = spherical_shift(epsilon, delta, d)
    assert spherical_delta(shift, d, epsilon) <= delta
    assert spherical_delta(shift * (1 + 1e-9) + 1e-15, d, epsilon) > delta
    assert shift >= epsilon, "pure noise is always allowed"
    loss = SphericalLaplaceLoss.calibrated(epsilon, delta, d)
    assert loss.delta(epsilon) <= delta, "the scale is rounded up"
    assert loss.scale == pytest.approx(1 / shift, rel=1e-12)
    assert spherical_epsilon(shift, d, delta) == pytest.approx(epsilon, rel=1e-9, abs=1e-9)


def test_it_is_between_laplace_and_gaussian_noise() -> None:
    """One dimension is Laplace noise; in many, all directions are alike, and lengths hardly vary: Gaussian noise."""
    laplace = 1 - 2 * math.log1p(-1e-3)
    shifts = [spherical_shift(1.0, 1e-3, d) for d in (2, 3, 5, 9)]
    assert laplace < shifts[0] < 1.02 * laplace
    assert shifts == sorted(shifts)
    d, std = 10_000, float(gd.guarantees.gaussian_std(1.0, 1e-6))
    assert math.sqrt(d + 1) / spherical_shift(1.0, 1e-6, d) == pytest.approx(std, rel=1e-3)


@pytest.mark.parametrize(("shift", "d"), [(1.0, 2), (2.5, 3), (0.01, 4), (30.0, 7), (3.0, 40), (1.1, 10)])
@pytest.mark.parametrize("order", [1e-4, 0.5, 20.0, 500.0])
def test_moments_and_lines_against_bessel_functions(shift: float, d: int, order: float) -> None:
    loss = SphericalPrivacyLoss([(shift, d)], [1])
    with mpmath.workdps(30):
        rate = mpmath.mpf(shift) / 2 * (1 + 2 * mpmath.mpf(order))
        whole = share_at(rate, shift, d)
        moment = mpmath.log(whole / share_at(mpmath.mpf(shift) / 2, shift, d))
        assert abs(loss.log_moment(np.array([order]))[0] - moment) <= loss.rounding(np.array([order]))[0]
        heights = np.array([0.0, 0.3, 2, 20, 150, 500, 3000]) / shift
        line = loss.line(order, heights)
        for place, height in enumerate(heights.tolist()):
            truth = share_at(mpmath.mpc(rate, shift * height), shift, d) / whole
            said = mpmath.exp(mpmath.mpc(line.real[place], line.imaginary[place]))
            assert abs(said - truth) <= abs(said) * math.expm1(line.rounding[place]) + 1e-40
            assert loss.log_tail(order, height) >= float(mpmath.log(abs(truth))) - 1e-12


@pytest.mark.parametrize(("shift", "d"), [(0.7, 2), (0.7, 3), (2.0, 9)])
def test_no_modulus_beyond_a_height_exceeds_the_tail(shift: float, d: int) -> None:
    loss, heights = SphericalPrivacyLoss([(shift, d)], [1]), np.linspace(0, 300, 3000)
    sizes = loss.line(0.7, heights).real
    for place in range(0, 3000, 60):
        assert loss.log_tail(0.7, float(heights[place])) >= sizes[place:].max() - 1e-9


@pytest.mark.parametrize(("d", "count", "epsilon"), [(2, 1, 0.4), (2, 2, 0.4), (2, 3, 0.7), (10, 5, 1.0), (3, 20, 2.0)])
def test_compositions_against_sums_on_a_grid(d: int, count: int, epsilon: float) -> None:
    """Losses moved to the next point of a grid, up and down, and convolved: the truth lies between."""
    shift, points = 0.5, 8001
    grid = np.linspace(-1, 1, points)
    edges = np.arccos(grid[::-1])
    kappa, nodes = excess(shift, d), np.polynomial.legendre.leggauss(6)
    angles = edges[:-1, None] + np.diff(edges)[:, None] * (nodes[0] + 1) / 2
    density = np.exp(shift / 2 * np.cos(angles)) * np.sin(angles) ** (d - 2) * (np.sin(angles) ** 2 + kappa)
    chances = (density @ nodes[1] * np.diff(edges))[::-1]
    chances /= chances.sum()
    size = count * (points - 1) + 1
    bracket = []
    for padded in (np.append(chances, 0), np.append(0, chances)):
        law = np.fft.irfft(np.fft.rfft(padded, size + 1) ** count, size + 1)[:size]
        bracket.append(float(law @ np.maximum(0, -np.expm1(epsilon - np.linspace(-1, 1, size) * count * shift))))
    total = Total((count * SphericalLaplaceLoss(1 / shift, d)).components())
    answer = tight_delta(total, epsilon)
    assert bracket[0] * (1 - 1e-9) <= answer.high <= bracket[1] * (1 + 1e-7)
    assert answer.low <= bracket[1]
    assert answer.high - answer.low <= 1e-2 * answer.high, "two dimensions are padded"


def test_it_composes_with_other_noise() -> None:
    mixed = 3 * SphericalLaplaceLoss(2, 5) + 2 * gd.GaussianDP(0.5) + LaplaceLoss(3)
    assert mixed.epsilon(1e-6, "tight") < mixed.epsilon(1e-6, "rdp")
    assert mixed.epsilon(1e-6, "tight") > (3 * SphericalLaplaceLoss(2, 5)).epsilon(1e-6, "tight")


@pytest.mark.parametrize(
    "loss", [SphericalLaplaceLoss(0.5, 2), SphericalLaplaceLoss(1, 10), SphericalLaplaceLoss(9, 3)]
)
def test_its_divergence_is_at_most_that_of_a_gaussian_with_the_same_mean(loss: SphericalLaplaceLoss) -> None:
    (rho,) = loss.cost("zcdp")
    curve = [loss.renyi(order) / order for order in (1, 1.01, 2, 5, 40, 1e4)]
    assert curve == sorted(curve, reverse=True)
    assert max(curve) <= float(rho) <= loss.shift**2 / 2, "no more than pure noise costs"
    assert loss.renyi(math.inf) == loss.shift >= loss.renyi(1e6)


def test_the_mean_of_the_loss_by_quadrature() -> None:
    """In three dimensions the law of the angle needs no Bessel function: kappa = 2(1 + 1/x)/x."""
    x = 0.6
    kappa = 2 * (1 + 1 / x) / x
    assert excess(2 * x, 3) == pytest.approx(kappa, rel=1e-14)
    weight, moment = (
        integrate.quad(lambda w, power=power: w**power * math.exp(x * w) * (1 - w * w + kappa), -1, 1)[0]
        for power in (0, 1)
    )
    assert SphericalLaplaceLoss(1 / (2 * x), 3).renyi(1) == pytest.approx(2 * x * moment / weight, rel=1e-10)


def test_costs_and_groups() -> None:
    loss = SphericalLaplaceLoss(0.5, 4)
    assert loss.cost("pure") == (2,)
    assert loss.cost("approx") == (2, 0)
    assert loss.group(4) == SphericalLaplaceLoss(0.125, 4)
    assert gd.guarantees.from_dict(loss.to_dict()) == loss


@pytest.mark.parametrize("numbers", [(0.0, 3), (-1.0, 3), (1.0, 1), (1.0, 2.5), (1e-9, 3), (1.0, 10**6)])
def test_noise_without_a_profile_is_refused(numbers: tuple[float, int]) -> None:
    with pytest.raises(InvalidRequest):
        SphericalLaplaceLoss(*numbers)


def test_the_recurrence_against_bessel_functions() -> None:
    for d in (2, 3, 6, 9):
        for x in (1e-3, 0.7, 30.0):
            ratio = special.kve(d / 2, x) / special.kve(d / 2 - 1, x)
            assert excess(2 * x, d) == pytest.approx((d - 1) / x * ratio, rel=1e-13)


def test_lengths_are_gamma() -> None:
    """The radius that the proof starts from: the noise of a ball is Gamma(d) long."""
    noise = gd.KNorm.calibrate(gd.bodies.LpBall(4, 2), gd.PureDP(1e-3)).sample_noise(20_000, gd.research_rng(3))
    lengths = np.linalg.norm(noise, axis=1) / 1e3
    assert stats.kstest(lengths, stats.gamma(4).cdf).pvalue > 1e-6
    assert stats.kstest(1.05 * lengths, stats.gamma(4).cdf).pvalue < 1e-6


def test_an_integral_that_is_not_known_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gaugedp.guarantees.spherical_curve._whole", lambda *_: Integral(0.0, math.inf))
    assert spherical_delta(2.0, 3, 1.0) == 1.0
    monkeypatch.setattr("gaugedp.guarantees.spherical_curve._whole", lambda *_: Integral(800.0, 1.0))
    assert spherical_delta(2.0, 3, 1.0) == 1.0
