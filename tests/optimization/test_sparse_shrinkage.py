"""Shrinkage of numbers of which many are noise alone."""

import numpy as np
import pytest

from gaugedp.optimization.sparse_shrinkage import posterior_means


def error(n_true: int, count: int, size: float, shrunk: bool) -> float:
    """The root mean square over 200 tables of the distance from the truth, over √n_true."""
    rng, total = np.random.default_rng((n_true, count)), 0.0
    truth = np.where(np.arange(count) < n_true, size, 0.0)
    for scores in truth + rng.standard_normal((200, count)):
        total += float((((posterior_means(scores) if shrunk else scores) - truth) ** 2).sum())
    return (total / 200 / n_true) ** 0.5


@pytest.mark.slow
@pytest.mark.parametrize("size", [1.0, 2.0, 3.0, 5.0, 20.0])
def test_numbers_that_all_matter_lose_little(size: float) -> None:
    for count in (3, 10, 30):
        assert error(count, count, size, shrunk=True) < 1.1 * error(count, count, size, shrunk=False)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "gain"), [(1.0, 0.65), (5.0, 0.8), (20.0, 0.75)])
def test_noise_beside_few_numbers_is_taken_off(size: float, gain: float) -> None:
    for count in (30, 60):
        assert error(10, count, size, shrunk=True) < gain * error(10, count, size, shrunk=False)


@pytest.mark.parametrize(("count", "deviation"), [(30, 0.046), (30, 0.088), (60, 0.065), (60, 0.125)])
def test_it_is_nearer_than_a_threshold(count: int, deviation: float) -> None:
    """Ten true numbers of 0.5 to 1: a threshold of 2.5 deviations, which is free too, keeps more noise."""
    ours, threshold = 0.0, 0.0
    for key in range(200):
        rng = np.random.default_rng((count, key))
        truth = np.where(np.arange(count) < 10, rng.uniform(0.5, 1, count) * rng.choice([-1, 1], count), 0) / deviation
        scores = truth + rng.standard_normal(count)
        ours += float(np.linalg.norm(posterior_means(scores) - truth))
        threshold += float(np.linalg.norm(np.where(np.abs(scores) > 2.5, scores, 0) - truth))
    assert ours < 0.95 * threshold


def test_it_is_odd_and_within_the_numbers() -> None:
    for scores in ([0.0, 0.0], [1e300, 0.0], [-np.inf, 1.0], [1e-9, 5.0, -3.0]):
        means = posterior_means(np.array(scores))
        assert np.abs(means).max() <= max(4.0, np.abs(scores).max())
        assert np.array_equal(posterior_means(-np.array(scores)), -means)
    assert posterior_means(np.array([0.3])).tolist() == [0.3]
    assert posterior_means(np.array([1e8, -1e8, 1e8])) == pytest.approx([1e8, -1e8, 1e8], rel=1e-6)


@pytest.mark.parametrize("size", [1e11, 1e12, 1e15, 1e70, 1e200, np.inf])
def test_numbers_without_noise_stay_as_they_are(size: float) -> None:
    """However small the noise is, and next to numbers that are noise alone."""
    means = posterior_means(np.array([size, -0.3 * size, 0.001]))
    assert means[:2] == pytest.approx([size, -0.3 * size], rel=1e-9)
    assert abs(means[2]) < 0.01
