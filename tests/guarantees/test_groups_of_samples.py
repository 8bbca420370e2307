"""Groups on a Poisson sample of Gaussian sums: the pairs of mixtures beside 50 digits, and what they must dominate."""

import math

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from gaugedp import guarantees as g
from gaugedp.errors import InvalidRequest

Split = tuple[int, int]


def chances(size: int, rate: float) -> list[mpf]:
    return [math.comb(size, k) * mpf(rate) ** k * (1 - mpf(rate)) ** (size - k) for k in range(size + 1)]


def true_delta(rate: float, std: float, split: Split, epsilon: float) -> mpf:
    """The profile of one release: both laws beyond the place where their ratio is e^ε, found by halving."""
    removed, added = split
    above, below, s = chances(removed, rate), chances(added, rate), mpf(std)

    def loss(x: mpf) -> mpf:
        top = mpmath.fsum(p * mpmath.exp(k * (2 * x - k) / (2 * s * s)) for k, p in enumerate(above))
        return mpmath.log(
            top / mpmath.fsum(p * mpmath.exp(-k * (2 * x + k) / (2 * s * s)) for k, p in enumerate(below))
        )

    low, high = -40 * s - added, 40 * s + removed
    if loss(high) <= epsilon:
        return mpf(0)
    for _ in range(120):
        middle = (low + high) / 2
        low, high = (middle, high) if loss(middle) < epsilon else (low, middle)
    first = mpmath.fsum(p * mpmath.ncdf((k - high) / s) for k, p in enumerate(above))
    return first - mpmath.exp(epsilon) * mpmath.fsum(p * mpmath.ncdf((-k - high) / s) for k, p in enumerate(below))


def cases(seed: int, n: int) -> list[tuple[float, float, int, float]]:
    rng = np.random.default_rng(seed)
    rates = 10 ** rng.uniform(-3, -0.05, n)
    noises, sizes = 10 ** rng.uniform(-0.4, 0.7, n), rng.integers(2, 7, n)
    epsilons = rng.uniform(0, 1, n) * sizes / noises
    return [(float(a), float(b), int(c), float(d)) for a, b, c, d in zip(rates, noises, sizes, epsilons, strict=True)]


@pytest.mark.parametrize("case", cases(2901, 12), ids=lambda case: f"q={case[0]:.2g} noise={case[1]:.2g} k={case[2]}")
def test_one_release_to_a_group_is_the_worst_split_of_it(case: tuple[float, float, int, float]) -> None:
    rate, std, size, epsilon = case
    actual = g.SubsampledGaussian(rate, std).group(size).delta(epsilon)
    with mpmath.workdps(50):
        truth = max(true_delta(rate, std, (removed, size - removed), epsilon) for removed in range(size + 1))
    assert actual.low <= truth <= actual
    assert actual <= float(truth) * (1 + (1e-8 if truth > 1e-9 else 1e-3)) + 1e-15


def hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: float, step: float) -> float:
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum()) * step


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_units_that_move_the_sum_by_less_or_elsewhere_show_less(seed: int) -> None:
    """Sums of units in [−1, 1], some added, some removed, all subsets mixed: never above the split of the theorem."""
    rng = np.random.default_rng([2902, seed])
    rate, std, size = float(rng.uniform(0.05, 0.9)), float(rng.uniform(0.5, 2)), 3
    x, step = np.linspace(-20, 20, 40_001, retstep=True)
    for _ in range(10):
        removed = int(rng.integers(0, size + 1))
        laws = [mixed(x, rng.uniform(-1, 1, n), rate, std) for n in (removed, size - removed)]
        for epsilon in (0.0, 0.3, 1.0, 2.5):
            with mpmath.workdps(25):
                most = float(true_delta(rate, std, (removed, size - removed), epsilon))
            assert hockey_stick(*laws, epsilon, step) <= most * (1 + 1e-6) + 1e-12


def mixed(x: np.ndarray, moves: np.ndarray, rate: float, std: float) -> np.ndarray:
    """The density of the sum of a sample of `moves`, with noise."""
    density = np.exp(-(x**2) / (2 * std**2)) / (std * math.sqrt(2 * math.pi))
    for move in moves:
        density = (1 - rate) * density + rate * np.interp(x - move, x, density)
    return density


def test_two_releases_by_their_integral() -> None:
    """δ of two releases is the mean of the profile of one at ε less the loss of the other."""
    rate, std, epsilon = 0.2, 0.8, 1.0
    actual = (2 * g.SubsampledGaussian(rate, std)).group(2).delta(epsilon)
    with mpmath.workdps(20):
        truth = max(second(rate, std, (removed, 2 - removed), epsilon) for removed in (2, 1, 0))
    assert actual.low <= truth * (1 + 1e-7)
    assert truth * (1 - 1e-7) <= actual <= truth * (1 + 1e-3)


def second(rate: float, std: float, split: Split, epsilon: float) -> float:
    """The product of the two laws on a grid of the plane."""
    x, step = np.linspace(-9, 10, 3801, retstep=True)
    p = mixed_wholly(x, split[0], rate, std, 1)
    q = mixed_wholly(x, split[1], rate, std, -1)
    gaps = np.outer(p, p) - math.exp(epsilon) * np.outer(q, q)
    return float(np.maximum(gaps, 0).sum()) * step**2


def mixed_wholly(x: np.ndarray, size: int, rate: float, std: float, sign: int) -> np.ndarray:
    normal = [np.exp(-((x - sign * k) ** 2) / (2 * std**2)) / (std * math.sqrt(2 * math.pi)) for k in range(size + 1)]
    return sum(float(p) * law for p, law in zip(chances(size, rate), normal, strict=True))


def test_three_people_in_782_steps() -> None:
    """782 steps, q = 0.0064, σ = 1, δ = 1e−6: a peer's mixture says 3.937; along the chain it is 4.4775."""
    whole = (782 * g.SubsampledGaussian(0.0064, 1)).group(3)
    assert whole == 782 * g.SubsampledGaussian(0.0064, 1).group(3)
    assert whole.epsilon(1e-6) == pytest.approx(3.93695901, rel=1e-8)
    assert whole.epsilon(1e-6).low == pytest.approx(3.93695901, rel=1e-8)
    assert g.Grouped(782 * g.SubsampledGaussian(0.0064, 1), 3).epsilon(1e-6) == pytest.approx(4.4775, abs=1e-3)


def test_the_curve_is_the_largest_of_all_splits() -> None:
    group = g.SubsampledGaussian(0.3, 1.0).group(2)
    x, step = np.linspace(-15, 20, 40_001, retstep=True)
    truths = []
    for removed in (2, 1, 0):
        p, q = (mixed_wholly(x, n, 0.3, 1.0, sign) for n, sign in ((removed, 1), (2 - removed, -1)))
        truths.append(math.log(float((p**3 / q**2).sum()) * step) / 2)
    assert group.renyi(3.0) == pytest.approx(max(truths), rel=1e-9)


def test_larger_groups_and_other_units() -> None:
    single = g.SubsampledGaussian(0.1, 2.0)
    assert single.group(2).group(3) == single.group(6)
    assert single.group(17) == g.Grouped(single, 17)
    assert g.SubsampledGaussian(0.1, 0.01).group(2) == g.Grouped(g.SubsampledGaussian(0.1, 0.01), 2)
    assert g.SubsampledGaussian(1, 2).group(3).delta(1.0) == pytest.approx(g.GaussianDP(1.5).delta(1.0), rel=1e-9)
    assert g.from_json(g.to_json(single.group(3))) == single.group(3)
    both = (20 * single).group(2) + g.GaussianDP(0.1)
    assert both.delta(1.0) > (20 * single).group(2).delta(1.0)
    assert (20 * single.group(2) + 20 * single.group(3)).delta(1.0) > (20 * single.group(3)).delta(1.0)


def test_groups_that_have_no_mixture_are_refused_by_name() -> None:
    for noise, size in ((2.0, 17), (0.01, 2)):
        with pytest.raises(InvalidRequest, match=r"group\(size\)"):
            g.SubsampledGaussian(0.1, noise, size)


def test_a_running_total_of_groups() -> None:
    odometer = g.Odometer()
    odometer.add(g.SubsampledGaussian(0.01, 1.0), 100)
    assert odometer.epsilon(1e-5) == (100 * g.SubsampledGaussian(0.01, 1.0)).epsilon(1e-5)
    odometer.add(g.SubsampledGaussian(0.01, 1.0).group(2), 100)
    total = 100 * g.SubsampledGaussian(0.01, 1.0) + 100 * g.SubsampledGaussian(0.01, 1.0).group(2)
    assert odometer.epsilon(1e-5) == pytest.approx(total.epsilon(1e-5), rel=1e-9)
    odometer.add(g.SubsampledGaussian(0.01, 1.0).group(2), 10)
    more = total + 10 * g.SubsampledGaussian(0.01, 1.0).group(2)
    assert odometer.epsilon(1e-5) == pytest.approx(more.epsilon(1e-5), rel=1e-9)


def test_little_noise_has_answers_too() -> None:
    """Where the ratio under the noise of others is so small that its inverse overflows."""
    group = g.SubsampledGaussian(0.2308876, 0.0830449).group(5)
    assert 0 < group.delta(0.64) <= 1 - (1 - 0.2308876) ** 5 + 1e-3
