"""A few kinds of releases, by cells of losses: brackets beside closed forms and integrals."""

import math

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from gaugedp import guarantees as g
from gaugedp.accountant.atoms import repeated
from gaugedp.accountant.small_compositions import few_losses
from gaugedp.accountant.tight import saddle
from gaugedp.accountant.total import Total, directions
from gaugedp.guarantees.losses.subsampled import SubsampledPrivacyLoss


def bracket(guarantee: g.Guarantee, epsilon: float, log_delta: float) -> tuple[float, float]:
    """The worst direction's bracket by cells, whatever else could be done."""
    ends = []
    for total in directions(guarantee.components()):
        order = saddle(total, epsilon)
        actual = few_losses(total, order, log_delta)
        assert actual is not None
        bounds = actual.log_delta(epsilon)
        ends.append((math.exp(bounds.low), math.exp(bounds.high)))
    low, high = max(ends, key=lambda pair: pair[1])
    return low, high


def closed(rate: float, std: float, epsilon: float) -> mpf:
    """q·(Φ(1/2σ − xσ) − e^x·Φ(−1/2σ − xσ)), e^x = 1 + (e^ε − 1)/q."""
    inner = mpmath.log1p(mpmath.expm1(mpf(epsilon)) / mpf(rate))
    mu = 1 / mpf(std)
    gaussian = mpmath.ncdf(mu / 2 - inner / mu) - mpmath.exp(inner) * mpmath.ncdf(-mu / 2 - inner / mu)
    return mpf(rate) * gaussian


def cases(n: int) -> list[tuple[float, float, float]]:
    rng = np.random.default_rng(2904)
    return [
        (float(10 ** rng.uniform(-3, -0.05)), float(10 ** rng.uniform(-0.7, 1)), float(rng.uniform(0, 1)))
        for _ in range(n)
    ]


@pytest.mark.parametrize("case", cases(24), ids=str)
def test_one_release_beside_its_closed_form(case: tuple[float, float, float]) -> None:
    rate, std, share = case
    epsilon = share * math.log1p(rate * math.expm1(min(3 / std + 0.5 / std**2, 50.0)))
    with mpmath.workdps(40):
        truth = float(closed(rate, std, epsilon))
    low, high = bracket(g.SubsampledGaussian(rate, std), epsilon, math.log(truth) - 2)
    assert low <= truth <= high
    assert high <= truth * (1 + 1e-4)
    assert low >= truth * (1 - 2e-3)


@pytest.mark.parametrize("rest", [3e-15, 2.0**-52])
def test_cells_have_the_losses_between_their_edges_where_nearly_all_are_in_the_sample(rest: float) -> None:
    """log(P/Q) of a cell lies between its ends; losses end at −log(1 − q), near which e^−loss is as small as 1 − q."""
    edges = np.linspace(20.0, 40.0, 2001)
    ((p, q, _),) = SubsampledPrivacyLoss([(1 - rest, 0.13, 0, 1)], [1]).cells(edges)
    inside = np.flatnonzero(p[1:-1] > 1e-12)
    losses = np.log(p[1:-1][inside] / q[1:-1][inside])
    assert len(inside) > 200
    assert (edges[inside] - 1e-9 < losses).all()
    assert (losses < edges[inside + 1] + 1e-9).all()


def test_faint_tails_are_not_subtracted() -> None:
    """Beyond 38 deviations tails are 0 in floats: the profile would be three times the truth, which is no bracket."""
    rate, std, epsilon = 6.625574128420235e-08, 0.06004273163226032, 650.0
    with mpmath.workdps(400):
        truth = closed(rate, std, epsilon)
    actual = SubsampledPrivacyLoss([(rate, std, 1, 0)], [1]).exact_delta(epsilon)
    assert actual is None or truth <= actual <= truth * (1 + 1e-6)


def test_two_releases_by_an_integral_over_the_first() -> None:
    """The mean of the profile of the second at ε less the loss of the first, by quadrature to 20 digits."""
    rate, std, epsilon = 0.2, 0.5, 1.0
    q, s = mpf(rate), mpf(std)

    def second(x: mpf) -> mpf:
        loss = mpmath.log(1 - q + q * mpmath.exp((2 * x - 1) / (2 * s * s)))
        law = (1 - q) * mpmath.npdf(x, 0, s) + q * mpmath.npdf(x, 1, s)
        return law * profile(epsilon - loss)

    def profile(e: mpf) -> mpf:
        """For e below log(1 − q) it is 1 − e^e: every loss is above."""
        ratio = (mpmath.exp(e) - (1 - q)) / q
        return closed(rate, std, e) if ratio > 0 else 1 - mpmath.exp(e)

    with mpmath.workdps(25):
        ends = [-6 * s, -2 * s, 0, s, mpf(1), 1 + 2 * s, 1 + 7 * s]
        edge = mpf(1) / 2 + s * s * mpmath.log((mpmath.exp(mpf(epsilon)) / (1 - q) - (1 - q)) / q)
        truth = float(mpmath.quad(second, sorted([*ends, edge])))
    low, high = bracket(2 * g.SubsampledGaussian(rate, std), epsilon, math.log(truth) - 2)
    assert low <= truth * (1 + 1e-9)
    assert truth * (1 - 1e-9) <= high <= truth * (1 + 1e-5)
    actual = (2 * g.SubsampledGaussian(rate, std)).delta(epsilon)
    assert actual.low <= truth * (1 + 1e-9)
    assert truth * (1 - 1e-9) <= actual <= truth * (1 + 1e-4)


def test_a_few_releases_have_narrow_answers() -> None:
    actual = (3 * g.SubsampledGaussian(0.2, 0.5)).delta(1.0)
    assert actual == pytest.approx(0.155933, rel=1e-5)
    assert actual.low > actual * (1 - 1e-3)
    again = (3 * g.SubsampledGaussian(0.2, 0.5)).epsilon(float(actual))
    assert again == pytest.approx(1.0, rel=1e-4)


def test_cells_and_contours_agree() -> None:
    """Ten releases, where a contour can be cut off and is narrow."""
    guarantee = 10 * g.SubsampledGaussian(0.1, 1.0)
    truth = guarantee.delta(1.5)
    assert truth.low == pytest.approx(truth, rel=1e-9)
    low, high = bracket(guarantee, 1.5, math.log(truth) - 2)
    assert low * (1 - 1e-9) <= truth <= high * (1 + 1e-9)
    assert high <= truth * (1 + 1e-3)


KNOWN = [  # with a closed form, all sums written out, residues, a period of a lattice, a line without padding
    g.GaussianDP(0.7),
    g.ExponentialLoss(0.9),
    3 * g.FiniteLoss([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]) + 2 * g.PureDP(0.15),
    40 * g.RandomizedResponseLoss(0.07) + 3 * g.FiniteLoss([0.52, 0.48], [0.48, 0.52]),
    3 * g.LaplaceLoss(2) + 2 * g.PureDP(0.3) + g.DiscreteLaplaceLoss(4.66, 6),
    30 * g.LaplaceLoss(7),
    g.DiscreteGaussianLoss(1.5),
    2 * g.DiscreteGaussianLoss(0.6) + 3 * g.DiscreteLaplaceLoss(4, 6),
    g.GaussianDP(0.4) + 30 * g.ExponentialLoss(0.1) + 3 * g.DiscreteGaussianLoss(30.0),
    g.GaussianDP(0.4) + 300 * g.LaplaceLoss(90) + 5 * g.SubsampledGaussian(0.1, 2.0).group(2),
]


@pytest.mark.parametrize("guarantee", KNOWN, ids=repr)
@pytest.mark.parametrize("epsilon", [0.2, 0.7, 1.3])
def test_the_lower_end_is_below_what_splits_raise(guarantee: g.Guarantee, epsilon: float) -> None:
    """Kinds of all families, whose truth is within rounding of another back end's answer."""
    truth = guarantee.delta(epsilon, "tight")
    if truth <= 1e-290:
        pytest.skip("nothing is beyond")
    low, high = bracket(guarantee, epsilon, math.log(truth) - 2)
    assert truth.low >= truth * (1 - 1.1e-6)
    assert low <= truth
    assert truth.low * (1 - 1e-12) <= high <= truth * (1 + 1e-4)
    assert low >= truth * (1 - 3e-3)


@pytest.mark.parametrize("steps", [1, 4, 9])
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_probabilities_that_have_lost_their_digits_are_not_read(steps: int, share: float) -> None:
    """A rare outcome has some of the least floats under Q; the truth is its chance times a profile of bounded range."""
    chance, width = 5.7777e-277, 0.3
    finite = g.FiniteLoss([1, chance], [1, steps * math.ulp(0.0)])
    pair = finite.dominating_pair(1)
    assert pair is not None
    epsilon = max(pair.row[0].values) - share * width
    with mpmath.workdps(40):
        left = (mpf(width) + mpf(max(pair.row[0].values)) - mpf(epsilon)) / 2
        truth = mpf(chance) * mpmath.expm1(-left) ** 2 / -mpmath.expm1(-mpf(width))
    actual = (finite + g.ExponentialLoss(width)).delta(epsilon, "tight")
    assert actual.low <= truth <= actual <= truth * 1.1


@pytest.mark.parametrize("epsilon", [10.0, 20.0, 25.0, 29.3])
@pytest.mark.parametrize("count", [1, 2])
def test_losses_below_all_cells_are_in_the_window(count: int, epsilon: float) -> None:
    """A rare loss far below the others was raised to the first cell, and that was outside: bounds were 13 times δ."""
    beside = g.DiscreteGaussianLoss(0.332174299549, 1)
    joined = (beside + count * g.Sampled(g.GaussianDP(3.0), 0.45)).delta(epsilon, "tight")
    whole = (beside + count * g.SubsampledGaussian(0.45, 1 / 3.0)).delta(epsilon, "tight")
    assert whole.low <= joined <= 1.005 * whole


def test_many_releases_of_two_losses() -> None:
    """There are few sums, but in more ways than floats go; a Laplace release hardly adds to them."""
    alone = 1500 * g.PureDP(0.0123)
    both = (alone + g.LaplaceLoss(4567.8)).delta(0.9, "tight")
    assert alone.delta(0.9, "tight").low <= both <= alone.delta(0.899, "tight")


def test_powers_that_underflow_are_not_multiplied() -> None:
    """0.1^290·0.9^710 has few digits left, and occurs in 10^260 ways."""
    _, chances = repeated(np.array([0.0, 1.0]), np.array([0.9, 0.1]), 1000)
    with mpmath.workdps(40):
        truth = [mpmath.binomial(1000, k) * mpf(0.1) ** k * mpf(0.9) ** (1000 - k) for k in range(1001)]
    ratios = [
        float(mpf(chance) / exact)
        for chance, exact in zip(sorted(chances), sorted(truth), strict=True)
        if exact > 1e-290
    ]
    assert ratios == pytest.approx(np.ones(len(ratios)), rel=3e-11)


def test_many_kinds_and_others_have_no_cells() -> None:
    many = [(g.LaplaceLoss(1.0 + k), 1) for k in range(100)]
    assert few_losses(Total(many), 1.0, -10.0) is None
    assert few_losses(Total(g.SphericalLaplaceLoss(1.0, 3).components()), 1.0, -10.0) is None
