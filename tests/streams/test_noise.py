"""The noise of a stream: hidden differences by brute force over tables, its law, and what it is made for."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats

import gaugedp as gd
from gaugedp.errors import InvalidRequest
from gaugedp.releases.streams.noise import StreamNoise
from gaugedp.releases.streams.time_factor import time_factor
from tests.streams.kit import DOMAIN

MU = 0.7
FALSE_ALARMS = 1e-6


def made(text: str, unit: gd.PrivacyUnit, periods: int, per_person: int = 1, mu: float = MU) -> StreamNoise:
    return StreamNoise.calibrate(gd.query(DOMAIN, text), unit, gd.GaussianDP(mu), time_factor(periods, per_person))


def row(sex: int, age: int) -> np.ndarray:
    """What one row adds to the answers of "sex; age"."""
    return np.concatenate([np.eye(2)[sex], np.eye(3)[age]])


def covariance(noise: StreamNoise) -> np.ndarray:
    """Of all running totals, period by period, before rounding."""
    left = noise.mechanism.strategy.apply(np.eye(noise.mechanism.strategy.n_noise))
    scale = noise.mechanism.scale * noise.factor.radius
    return scale**2 * np.kron(noise.factor.matrix @ noise.factor.matrix.T, left.T @ left)


def told_apart(noise: StreamNoise, moves: list[np.ndarray], inverse: np.ndarray) -> float:
    """The largest μ between streams whose running totals differ by the moves of at most k periods."""
    periods, k = noise.factor.periods, noise.factor.periods_per_person
    largest = 0.0
    for chosen in combinations(range(periods), k):
        for moved in product(moves, repeat=k):
            shift = np.zeros((periods, 5))
            for period, move in zip(chosen, moved, strict=True):
                shift[period:] += move
            largest = max(largest, float(np.sqrt(shift.ravel() @ inverse @ shift.ravel())))
    return largest


@pytest.mark.parametrize(("neighbours", "per_person"), [("add_remove", 1), ("add_remove", 2), ("replace", 1)])
def test_no_two_neighbouring_streams_are_told_apart_by_more(neighbours: str, per_person: int) -> None:
    unit = gd.PrivacyUnit(neighbours=neighbours)  # type: ignore[arg-type]
    noise = made("sex; age", unit, 4, per_person)
    rows = [row(sex, age) for sex in range(2) for age in range(3)]
    moves = rows if neighbours == "add_remove" else [a - b for a in rows for b in [*rows, np.zeros(5)]]
    largest = told_apart(noise, moves, np.linalg.pinv(covariance(noise), rcond=1e-9))
    assert largest <= MU
    assert largest >= 0.99 * MU if per_person == 1 else largest >= 0.8 * MU


def draws(noise: StreamNoise, size: int, seed: int) -> np.ndarray:
    """Noise of `size` streams as it is drawn for a release, shape (size, periods, d)."""
    rng, periods = gd.research_rng(seed), noise.factor.periods
    streams = [np.array([noise.draw(rng) for _ in range(periods)]) for _ in range(size)]
    return np.array([[noise.running(z[:t], gd.research_rng(0)) for t in range(1, periods + 1)] for z in streams])


def chi_square(noise: StreamNoise, drawn: np.ndarray) -> float:
    """The p-value of the sum of squares of the noise under its claimed covariance."""
    flat = drawn.reshape(len(drawn), -1).astype(float)
    total = covariance(noise)
    rank = int(np.linalg.matrix_rank(total, tol=1e-6))
    statistic = float(np.einsum("ij,jk,ik->", flat, np.linalg.pinv(total, rcond=1e-9), flat))
    law = stats.chi2(rank * len(drawn))
    return 2 * min(law.cdf(statistic), law.sf(statistic))


def test_the_noise_has_the_covariance_that_the_guarantee_needs() -> None:
    """One test at 1e-6; the control is the noise for 1.1 times the guarantee."""
    noise = made("sex*age", gd.PrivacyUnit(), 5, mu=0.02)
    assert chi_square(noise, draws(noise, 400, 11)) > FALSE_ALARMS
    assert chi_square(noise, draws(made("sex*age", gd.PrivacyUnit(), 5, mu=0.022), 400, 11)) < FALSE_ALARMS


def variances_fit(claimed: np.ndarray, drawn: np.ndarray) -> bool:
    """Whether the variances of all columns together fit: chi-square for each, at the false-alarm rate over all."""
    statistic = (drawn.astype(float) ** 2).sum(axis=0) / claimed
    law = stats.chi2(len(drawn))
    smallest = 2 * np.minimum(law.cdf(statistic), law.sf(statistic)).min()
    return bool(smallest > FALSE_ALARMS / drawn.shape[1])


@pytest.mark.slow
def test_the_deviations_are_those_of_running_totals_and_of_periods() -> None:
    noise = made("sex; age", gd.PrivacyUnit(), 4, mu=0.05)
    drawn = draws(noise, 3000, 12)
    singles = np.diff(drawn, axis=1, prepend=0)
    for period in range(1, 5):
        rows = np.array([noise.factor.matrix[period - 1], noise.factor.differences[period - 1]])
        running, single = noise.deviations(rows) ** 2
        of_draws = noise.deviations(rows[:, :period], np.tile(noise.variances, (period, 1)))
        np.testing.assert_allclose(of_draws, noise.deviations(rows))
        assert variances_fit(running + 1 / 12, drawn[:, period - 1])
        assert variances_fit(single + 1 / 6, singles[:, period - 1])
        assert not variances_fit(1.21 * running, drawn[:, period - 1])
        assert not variances_fit(1.21 * single, singles[:, period - 1])


def test_noise_that_was_drawn_stays_as_it_is() -> None:
    noise = made("sex", gd.PrivacyUnit(), 6)
    z = np.array([noise.draw(gd.research_rng(3)) for _ in range(6)])
    changed = z.copy()
    changed[4:] += 100
    for period in range(1, 5):
        assert (
            noise.running(z[:period], gd.research_rng(0)) == noise.running(changed[:period], gd.research_rng(0))
        ).all()


def test_noise_that_does_not_fit_is_refused() -> None:
    """The question's own noise fits, that of the totals of many periods does not."""
    question, unit = gd.query(DOMAIN, "sum(pay)"), gd.PrivacyUnit()
    mu = 2.0 * 10 / 2**54  # a deviation of 2^53 a period
    gd.Matrix.calibrate(question.sensitivity(unit), gd.GaussianDP(mu))
    with pytest.raises(InvalidRequest, match="wider than 2\\^54"):
        StreamNoise.calibrate(question, unit, gd.GaussianDP(mu), time_factor(60))


@pytest.mark.parametrize("text", ["mean(pay)", "median(pay)"])
def test_means_and_quantiles_are_refused(text: str) -> None:
    with pytest.raises(InvalidRequest, match="A stream answers counts and sums, but the"):
        made(text, gd.PrivacyUnit(), 4)


def test_pure_guarantees_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="needs a δ, ρ or μ"):
        StreamNoise.calibrate(gd.query(DOMAIN, "sex"), gd.PrivacyUnit(), gd.PureDP(1.0), time_factor(4))


def test_wide_noise_hides_the_last_digit() -> None:
    """4,000 draws: each share has a deviation of 0.008, and leaves 0.45 to 0.55 with a probability below 1e-9."""
    domain = gd.Domain.of(pay=gd.bounded(0, 2**40))
    question = gd.query(domain, "sum(pay)")
    noise = StreamNoise.calibrate(question, gd.PrivacyUnit(), gd.ApproxDP(2e-4, 1e-6), time_factor(4))
    assert noise.largest_deviation > 2**53
    rng = gd.research_rng(7)
    numbers = [noise.running(np.array([noise.draw(rng) for _ in range(4)]), rng) for _ in range(4000)]
    assert 0.45 < float(np.mean(np.array(numbers) % 2)) < 0.55
