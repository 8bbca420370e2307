"""The best of a random number of runs: its law by enumeration, and what is charged for it."""

import math

import numpy as np
import pytest
from scipy import optimize, stats

import gaugedp as gd

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.random_stopping import RandomStopping, uniform
from gaugedp.guarantees import Guarantee
from gaugedp.optimization.lattice import for_gaussian_releases

RNG = np.random.default_rng(8)
ROUNDING = 1e-9  # of chances in floats, which the best of 300 runs magnifies by up to 300²


def best_law(law: np.ndarray, draws: int) -> np.ndarray:
    """The law of the best of K runs, outcomes sorted by score, E[x^K] = x/(draws − (draws − 1)x)."""
    below = np.concatenate([[0.0], np.cumsum(law)])
    return np.diff(below / (draws - (draws - 1) * below))


def delta_between(one: np.ndarray, other: np.ndarray, epsilon: float) -> float:
    """The larger of the two hockey-stick divergences."""
    return max(np.maximum(a - math.exp(epsilon) * b, 0).sum() for a, b in ((one, other), (other, one)))


def least_c(one: np.ndarray, other: np.ndarray, draws: int) -> float:
    """The least c of the theorem for a run with these laws."""
    return optimize.brentq(lambda c: delta_between(one, other, c) - math.expm1(c) / (draws - 1), 0, 50)


def pairs(count: int):
    for _ in range(count):
        size = int(RNG.integers(2, 8))
        one = RNG.dirichlet(np.full(size, RNG.choice([0.1, 1.0])))
        moved = RNG.normal(0, RNG.choice([0.1, 1.0, 3.0]), size)
        other = one * np.exp(moved) if RNG.random() < 0.7 else RNG.dirichlet(np.ones(size))
        yield one, other / other.sum()


def breaks(one: np.ndarray, other: np.ndarray, draws: int, times: float) -> bool:
    """Whether the best leaks more than (ε₁ + times·c, draws·δ₁) somewhere."""
    best = best_law(one, draws), best_law(other, draws)
    slack = times * least_c(one, other, draws)
    return any(
        delta_between(*best, epsilon + slack) > draws * delta_between(one, other, epsilon) + ROUNDING
        for epsilon in np.linspace(0, 6, 25)
    )


@pytest.mark.parametrize("draws", [2, 10, 300])
def test_the_theorem_holds_for_all_pairs_of_laws_that_were_tried(draws: int) -> None:
    assert not any(breaks(first, other, draws, 2.0) for first, other in pairs(400))


def worst(epsilon: float, top: float) -> tuple[np.ndarray, np.ndarray]:
    """A thin outcome grows by e^ε where all above it, `top`, shrink by e^ε."""
    first, other = np.array([1e-4 * math.exp(epsilon), top * math.exp(-epsilon)]), np.array([1e-4, top])
    return np.append(1 - first.sum(), first), np.append(1 - other.sum(), other)


def test_three_epsilon_is_needed_for_many_draws_and_twice_c_for_few() -> None:
    """So a charge of one c less is a leak: the control of the audits."""
    first, other = worst(1.0, 0.5)
    ratio = best_law(first, 10**6)[1] / best_law(other, 10**6)[1]
    assert 0.99 * 3 < math.log(ratio) <= 3
    for draws in (4, 16, 256):
        assert breaks(first, other, draws, 1.9)


@pytest.mark.parametrize("draws", [1, 2, 16, 1000])
@pytest.mark.parametrize(
    "total", [gd.PureDP(0.1), gd.PureDP(3.0), gd.ApproxDP(1.0, 1e-6), gd.ApproxDP(8.0, 1e-3)], ids=repr
)
def test_what_runs_are_asked_for_adds_up(draws: int, total: Guarantee) -> None:
    """For the randomized response that dominates all that was asked, and for Gaussian noise: by the theorem's terms."""
    stopping, delta = RandomStopping(draws), getattr(total, "delta_value", 0.0)
    for keeps in (lambda requested: requested, for_gaussian_releases):
        requested = stopping.largest(total, keeps)
        c = (total.epsilon_value - requested.epsilon_value) / 2
        assert c == 0 if draws == 1 else keeps(requested).delta(c) <= math.expm1(c) / (draws - 1)
        assert draws * keeps(requested).delta(requested.epsilon_value) <= delta * (1 + 1e-9)
        more = stopping.part(total, requested.epsilon_value / total.epsilon_value * 1.001)
        assert draws == 1 or not stopping.allows(keeps(more), more, total), "no more is allowed"
    plain, gaussian = stopping.largest(total), stopping.largest(total, for_gaussian_releases)
    assert gaussian.epsilon_value >= plain.epsilon_value >= total.epsilon_value / 3.0001


def test_a_delta_that_is_too_large_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="`delta` is too large"):
        RandomStopping(1000).largest(gd.ApproxDP(1e-4, 0.1))


@pytest.mark.statistical
def test_the_number_of_runs_is_geometric() -> None:
    """False alarms: 1e-6 with fresh seeds."""
    rng = gd.research_rng(3)
    counts = np.bincount([min(RandomStopping(4).count(rng), 12) for _ in range(20_000)], minlength=13)[1:]
    chances = 0.25 * 0.75 ** np.arange(12)
    chances[-1] = 0.75**11
    assert stats.chisquare(counts, 20_000 * chances).pvalue > 1e-6
    assert {RandomStopping(1).count(rng) for _ in range(100)} == {1}
    assert stats.chisquare(np.bincount([uniform(5, rng) for _ in range(10_000)])).pvalue > 1e-6


@pytest.mark.parametrize("epsilon", [2e3, 1e6])
def test_large_budgets_are_shared_too(epsilon: float) -> None:
    """Where e^c is no float."""
    for total in (gd.PureDP(epsilon), gd.ApproxDP(epsilon, 1e-6)):
        stopping = RandomStopping(4)
        part = stopping.largest(total)
        assert epsilon / 3.01 <= part.epsilon_value < epsilon
        assert stopping.allows(part, part, total)
