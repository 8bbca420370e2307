"""What the diagnostics say about series and draws of known laws, good and bad."""

import math
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
import scipy.special
from scipy import stats

from gaugedp.bodies import LpBall, Polytope, image
from gaugedp.entropy import research_rng
from gaugedp.errors import InvalidRequest
from gaugedp.samplers.continuous import normals
from gaugedp.samplers.diagnostics import autocorrelation_time
from gaugedp.samplers.direct import uniform_direct
from tests.samplers.dependent import estimate
from tests.samplers.uniformity import gauge_power_test, odd_functionals


def autoregressive(rho: float, count: int, length: int, seed: int) -> np.ndarray:
    """Return stationary series x_{t+1} = ρ·x_t + √(1 − ρ²)·noise, shape (count, length): τ = (1 + ρ)/(1 − ρ)."""
    noise = normals(count * length, research_rng(seed)).reshape(length, count)
    rows = [noise[0]]
    for each in noise[1:]:
        rows.append(rho * rows[-1] + math.sqrt(1 - rho**2) * each)
    return np.stack(rows, axis=1)


@pytest.mark.statistical
@pytest.mark.parametrize(("rho", "within"), [(0.0, 0.05), (0.5, 0.1), (0.9, 0.15), (0.98, 0.3), (-0.5, 0.2)])
@pytest.mark.parametrize("count", [1, 10])
def test_times_of_autoregressive_series(rho: float, within: float, count: int) -> None:
    """100,000 values in one series or in ten; fixed seeds, margins of several deviations."""
    actual = autocorrelation_time(autoregressive(rho, count, 100_000 // count, 1))
    assert actual == pytest.approx((1 + rho) / (1 - rho), rel=within)


def test_times_do_not_depend_on_units_or_place() -> None:
    series = autoregressive(0.8, 3, 2000, 2)
    actual = autocorrelation_time(series)
    for other in (1e-200 * series, 1e150 * series, series + 10.0, -series):
        assert autocorrelation_time(other) == pytest.approx(actual, rel=1e-6)
    assert autocorrelation_time(series[0]) == autocorrelation_time(series[:1])


def test_times_against_the_definition() -> None:
    """The same sums without a Fourier transform."""
    series = autoregressive(0.7, 2, 300, 3)
    centred = series - series.mean()
    products = np.array([(centred[:, : 300 - k] * centred[:, k:]).sum() / 600 for k in range(300)])
    correlations, total, least = products / products[0], -1.0, np.inf
    for even, odd in zip(correlations[::2], correlations[1::2], strict=True):
        if even + odd <= 0:
            break
        least = min(least, even + odd)
        total += 2 * least
    assert autocorrelation_time(series) == pytest.approx(total)


def test_walks_that_disagree_have_a_long_time() -> None:
    """Ten walks, each stuck around its own place: about ten draws, not a thousand."""
    series = normals(1000, research_rng(4)).reshape(10, 100) + 100 * np.arange(10)[:, None]
    assert autocorrelation_time(series) > 40
    assert estimate(series).standard_error > 20


def test_a_walk_that_never_moved() -> None:
    assert autocorrelation_time(np.full(50, 0.3)) == math.inf
    assert estimate(np.full((5, 50), 2.0)).effective_size == 0
    assert estimate(np.full((5, 50), 2.0)).mean == 2


@pytest.mark.statistical
@pytest.mark.parametrize("rho", [0.0, 0.9])
def test_standard_errors_cover(rho: float) -> None:
    """200 series: z-scores of means have a standard deviation near 1 (0.8 to 1.25: over 3.5 of its deviations)."""
    scores = []
    for row in autoregressive(rho, 200, 2000, 5):
        actual = estimate(row)
        scores.append(actual.mean / actual.standard_error)
    assert 0.8 < np.std(scores) < 1.25


@pytest.mark.parametrize("series", [np.zeros(1), np.zeros((2, 2, 2)), np.array([1.0, np.nan]), np.zeros((3, 0))])
def test_what_is_no_series_is_refused(series: np.ndarray) -> None:
    with pytest.raises(InvalidRequest, match="series"):
        autocorrelation_time(series)


BODIES = [
    LpBall(6, 1),
    LpBall(3, np.inf, 50.0),
    LpBall(400, 2),
    image(LpBall(2, 3), np.array([[1.0, 2], [3, -1], [4, 1]])),
]


@pytest.mark.statistical
@pytest.mark.parametrize("body", BODIES, ids=repr)
def test_uniform_draws_raise_no_alarm(body: LpBall) -> None:
    """False alarms: about 1e-4 a p-value. Without memory, nearly every draw counts."""
    draws = uniform_direct(body, 4000, research_rng(6))
    power, odd = gauge_power_test(body, draws), odd_functionals(draws)
    assert power.p_value > 1e-4
    assert power.mean == pytest.approx(0.5, abs=0.03)
    assert power.effective_size > 2000
    assert odd.p_value > 1e-4
    assert len(odd.z_scores) == 2 * body.ambient_dim + 2
    assert odd.largest == max(map(abs, odd.z_scores))


@pytest.mark.statistical
def test_p_values_are_near_uniform() -> None:
    """Kolmogorov's p-values of 200 sets of draws fit the uniform law; false alarms: 0.1 %."""
    rng = research_rng(7)
    body = LpBall(3, 2)
    results = [gauge_power_test(body, uniform_direct(body, 500, rng)).p_value for _ in range(200)]
    assert stats.kstest(results, stats.uniform.cdf).pvalue > 1e-3
    scores = [odd_functionals(uniform_direct(body, 500, rng)).z_scores for _ in range(200)]
    assert stats.kstest(np.array(scores)[:, 0], stats.norm.cdf).pvalue > 1e-3


def test_memory_is_allowed_for() -> None:
    """Each of 400 draws, fifty times over: 400 draws' worth or fewer, and no alarm."""
    body = LpBall(3, 2)
    draws = np.repeat(uniform_direct(body, 400, research_rng(8)), 50, axis=0)
    actual = gauge_power_test(body, draws)
    assert 200 < actual.effective_size < 600
    assert actual.p_value > 1e-4
    assert odd_functionals(draws).p_value > 1e-4


@pytest.mark.statistical
@pytest.mark.parametrize("rho", [0.5, 0.95])
def test_memory_brings_no_false_alarms(rho: float) -> None:
    """Of 200 uniform series with memory, at most 22 have a p-value below 5 % (by chance more: 0.01 %)."""
    series = 2 * scipy.special.ndtr(autoregressive(rho, 200, 2000, 14)) - 1
    for test in (lambda draws: gauge_power_test(LpBall(1, 2), draws), odd_functionals):
        assert sum(test(row[:, None]).p_value < 0.05 for row in series) <= 22


def test_walks_may_be_given_apart() -> None:
    """Shape (c, n, d): the same statistic as in a row, with each walk's own memory."""
    body = LpBall(3, 2)
    draws = uniform_direct(body, 4000, research_rng(9))
    apart, together = gauge_power_test(body, draws.reshape(8, 500, 3)), gauge_power_test(body, draws)
    assert (apart.mean, apart.distance) == (together.mean, together.distance)
    assert odd_functionals(draws.reshape(8, 500, 3)).p_value > 1e-4


@pytest.mark.statistical
@pytest.mark.parametrize("scale", [0.9, 0.99, 1.01])
def test_draws_of_another_size_alarm(scale: float) -> None:
    """A control; outside the body too. Their odd functionals are fine: those cannot see it."""
    body = LpBall(10, 1)
    draws = scale * uniform_direct(body, 4000, research_rng(10))
    assert gauge_power_test(body, draws).p_value < 1e-4
    assert odd_functionals(draws).p_value > 1e-4


@pytest.mark.statistical
def test_draws_with_one_sign_alarm() -> None:
    """A control: the gauge cannot see it, odd functionals do."""
    body = LpBall(4, 2)
    draws = uniform_direct(body, 4000, research_rng(11))
    draws[::5, 2] = np.abs(draws[::5, 2])
    assert gauge_power_test(body, draws).p_value > 1e-4
    assert odd_functionals(draws).p_value < 1e-4


def test_draws_of_a_flat_body_and_huge_ranks() -> None:
    body = Polytope.symmetric_hull(np.array([[1.0, 1], [0, 0], [2, -1]]))
    draws = np.array([[0.1, 0, 0.2], [0.3, 0, -0.2], [-0.1, 0, 0.4], [0.2, 0, 0.1]])
    assert len(odd_functionals(draws).z_scores) == 6
    assert 0 <= gauge_power_test(body, draws).p_value <= 1
    outside = 10 * uniform_direct(LpBall(2000, 2), 20, research_rng(12))
    assert gauge_power_test(LpBall(2000, 2), outside).p_value < 1e-4


@pytest.mark.parametrize("draws", [np.zeros((5, 2)), np.zeros(5), np.full((5, 2), np.inf)])
def test_what_are_no_draws_is_refused(draws: np.ndarray) -> None:
    with pytest.raises(InvalidRequest, match="draws"):
        odd_functionals(draws)


def test_results_are_values() -> None:
    actual = gauge_power_test(LpBall(2, 2), uniform_direct(LpBall(2, 2), 50, research_rng(13)))
    with pytest.raises(FrozenInstanceError):
        actual.p_value = 1.0  # type: ignore[misc]
    assert actual == gauge_power_test(LpBall(2, 2), uniform_direct(LpBall(2, 2), 50, research_rng(13)))
