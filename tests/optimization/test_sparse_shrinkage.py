"""Shrinkage of numbers of which many are noise alone."""

import numpy as np
import pytest

from gaugedp.optimization.sparse_shrinkage import shrink_factors


def error(n_true: int, count: int, size: float, shrunk: bool) -> float:
    """The root mean square over 200 tables of the distance from the truth, over √n_true."""
    rng, total = np.random.default_rng((n_true, count)), 0.0
    truth = np.where(np.arange(count) < n_true, size, 0.0)
    for scores in truth + rng.standard_normal((200, count)):
        total += float(((scores * (shrink_factors(scores) if shrunk else 1) - truth) ** 2).sum())
    return (total / 200 / n_true) ** 0.5


@pytest.mark.parametrize("size", [1.0, 2.0, 3.0, 5.0, 20.0])
def test_numbers_that_all_matter_lose_little(size: float) -> None:
    for count in (3, 10, 30):
        assert error(count, count, size, shrunk=True) < 1.1 * error(count, count, size, shrunk=False)


@pytest.mark.parametrize(("size", "gain"), [(1.0, 0.65), (5.0, 0.8), (20.0, 0.75)])
def test_noise_beside_few_numbers_is_taken_off(size: float, gain: float) -> None:
    for count in (30, 60):
        assert error(10, count, size, shrunk=True) < gain * error(10, count, size, shrunk=False)


def test_factors_are_shares() -> None:
    for scores in ([0.0, 0.0], [1e300, 0.0], [-np.inf, 1.0], [1e-9, 5.0, -3.0]):
        factors = shrink_factors(np.array(scores))
        assert ((factors >= 0) & (factors <= 1)).all()
    assert shrink_factors(np.array([0.3])).tolist() == [1.0]
    assert shrink_factors(np.array([1e8, -1e8, 1e8])) == pytest.approx(np.ones(3), abs=1e-6)
