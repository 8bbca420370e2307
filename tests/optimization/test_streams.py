"""Noise correlated over time by the Toeplitz root: its linear map, its columns, its draws. Keys are fixed."""

import math

import numpy as np
import pytest

from gaugedp.entropy import research_rng
from gaugedp.errors import InvalidRequest
from gaugedp.optimization.streams import ToeplitzRoot

SIZES = [(1, 0.9), (2, 0.5), (7, 0.8), (16, 0.9), (37, 0.95)]


def decays(n: int, decay: float) -> np.ndarray:
    gap = np.subtract.outer(np.arange(n), np.arange(n))
    return np.where(gap >= 0, decay ** np.maximum(gap, 0.0), 0.0)


def noise_map(n: int, decay: float) -> np.ndarray:
    """C, from the code that makes the noise."""
    return ToeplitzRoot(n, decay).spread(np.eye(n)).T


@pytest.mark.parametrize(("n", "decay"), SIZES)
def test_column_and_row_are_those_of_the_linear_map(n: int, decay: float) -> None:
    """A column a of A enters D; Σ = BBᵀ is invertible, and (aᵀΣ⁻¹a)^½ is the length of the column of C."""
    maps, made = noise_map(n, decay), ToeplitzRoot(n, decay)
    lengths = [math.sqrt(float(a @ np.linalg.solve(maps @ maps.T, a))) for a in decays(n, decay).T]
    for actual, bound in zip((lengths[0], max(lengths[1:], default=0.0)), made.columns, strict=True):
        assert actual <= bound
        assert actual == pytest.approx(bound, rel=1e-6)
    assert np.linalg.norm(maps, axis=1).max() == pytest.approx(made.row, rel=1e-6)
    assert np.triu(maps, 1) == pytest.approx(np.zeros((n, n)), abs=1e-12)  # nothing of later steps


@pytest.mark.parametrize(("n", "decay"), SIZES)
def test_the_root_is_a_root_and_has_the_printed_coefficients(n: int, decay: float) -> None:
    root = noise_map(n, decay)
    assert root @ root == pytest.approx(decays(n, decay), abs=1e-12)
    assert root[:, 0] == pytest.approx([decay**k * math.comb(2 * k, k) / 4.0**k for k in range(n)])


@pytest.mark.statistical
def test_drawn_noise_has_the_covariance_of_the_map() -> None:
    """Of 12 steps and 20,000 coordinates; five standard errors for each of 144 entries; 10 % less is seen."""
    n, decay, width = 12, 0.9, 20_000
    maps = noise_map(n, decay)
    drawn = np.array(list(ToeplitzRoot(n, decay).noise(width, research_rng(3))))
    actual, expected = drawn @ drawn.T / width, maps @ maps.T
    spread = np.sqrt((expected**2 + np.outer(np.diag(expected), np.diag(expected))) / width)
    assert (np.abs(actual - expected) <= 5 * spread).all()
    assert (np.abs(0.81 * actual - expected) > 5 * spread).any()


def test_long_noise_is_drawn_in_blocks_that_join() -> None:
    """Steps of a long stream are as correlated across the seam of two blocks of draws as elsewhere."""
    made = ToeplitzRoot(3000, 0.99)
    rows = np.array(list(made.noise(500, research_rng(1))))
    assert rows.shape == (3000, 500)
    step = 2**20 // 500
    seam = float(np.mean(rows[step - 1] * rows[step]))
    assert seam == pytest.approx(float(np.sum(made.roots[:-1] * made.roots[1:])), abs=0.5)


def test_too_much_noise_for_the_memory_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="oja"):
        next(ToeplitzRoot(2**20, 0.99).noise(1000, research_rng(1)))
