"""How well draws fit a law: chi-square on cells of known probability, and other questions with known answers."""

import math
from collections.abc import Callable

import numpy as np
import scipy.special
from scipy import stats

Coverage = Callable[[np.ndarray], np.ndarray]  # P(|N| ≤ k), 0 at k = −1


def laplace_coverage(scale: float) -> Coverage:
    """Return the coverage of P(k) ∝ e^(−|k|/scale)."""
    return lambda k: np.where(k < 0, 0.0, 1 - 2 * np.exp(-(k + 1.0) / scale) / (1 + math.exp(-1 / scale)))


def gaussian_coverage(scale: float) -> Coverage:
    """Return the coverage of P(k) ∝ e^(−k²/(2·scale²)), summed term by term."""
    k = np.arange(int(15 * scale) + 15, dtype=float)
    running = np.cumsum(np.exp(-(k**2) / (2 * scale**2)) * np.where(k > 0, 2, 1))
    running /= running[-1]
    return lambda width: np.where(width < 0, 0.0, running[np.clip(width, 0, len(running) - 1).astype(int)])


def rounded_coverage(scale: float) -> Coverage:
    """Return the coverage of a normal variable rounded to the nearest integer."""
    return lambda k: np.where(k < 0, 0.0, scipy.special.erf((k + 0.5) / (scale * math.sqrt(2))))


def edges(coverage: Coverage, scale: float, n_cells: int) -> np.ndarray:
    """Return magnitudes k₀ < k₁ < … that cut the law into about `n_cells` parts of like probability."""
    shares = np.concatenate([np.arange(1, n_cells) / n_cells, [1 - 0.1 / n_cells]])
    low, high = np.full(len(shares), -1.0), np.full(len(shares), 40 * scale + 40)
    while (high - low > 1).any():
        middle = np.floor((low + high) / 2)
        enough = coverage(middle) >= shares
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.unique(high).astype(np.int64)


def chi_square(draws: np.ndarray, coverage: Coverage, scale: float, n_cells: int = 16) -> float:
    """Return the p-value of the counts of signed cells; cells that expect fewer than 20 join their neighbour."""
    cuts = edges(coverage, scale, n_cells)
    inner = np.diff(coverage(np.concatenate([[-1], cuts]).astype(float)))
    outer = 1 - coverage(cuts[-1:].astype(float))[0]
    magnitudes = np.append(inner, outer)
    places = np.searchsorted(cuts, np.abs(draws), side="left")
    zero_at = int(coverage(np.zeros(1))[0] >= magnitudes[0]) if cuts[0] == 0 else 0
    expected, observed = [], []
    for place, share in enumerate(magnitudes):
        here = draws[places == place]
        if place == 0 and zero_at:
            expected.append(share)
            observed.append(len(here))
        else:
            zero = float(coverage(np.zeros(1))[0]) if place == 0 else 0.0
            expected += [(share + zero) / 2, (share - zero) / 2]
            observed += [int((here >= 0).sum()), int((here < 0).sum())]
    return pooled(np.array(observed), np.array(expected) * len(draws))


def misfit(grid: np.ndarray, exponent: np.ndarray, draws: np.ndarray, directions: np.ndarray) -> float:
    """Return the least p-value of draws (n, d) of the density e^−exponent on a grid (m, d).

    Each direction (k, d) has a chi-square test on 12 cells of about equal probability.
    """
    weights = np.exp(exponent.min() - exponent)
    weights /= weights.sum()
    levels = []
    for direction in directions:
        order = np.argsort(grid @ direction)
        ends = np.interp(np.arange(1, 12) / 12, np.cumsum(weights[order]), (grid @ direction)[order])
        chances = np.bincount(np.searchsorted(ends, grid @ direction), weights, 12)
        levels.append(of_cells(np.bincount(np.searchsorted(ends, draws @ direction), minlength=12), chances))
    return min(levels)


def of_cells(observed: np.ndarray, chances: np.ndarray) -> float:
    """Return the chi-square p-value of counts of cells with these chances; 0 if an impossible cell has a count."""
    kept = chances > 0
    if observed[~kept].any():
        return 0.0
    return pooled(observed[kept], chances[kept] / chances.sum() * observed.sum())


def pooled(observed: np.ndarray, expected: np.ndarray) -> float:
    """Return the chi-square p-value after joining the cells that expect fewer than 20."""
    small = expected < 20
    if small.any():
        observed = np.append(observed[~small], observed[small].sum())
        expected = np.append(expected[~small], expected[small].sum())
    if expected[-1] < 20 and len(expected) > 1 and small.any():
        order = np.argmax(expected[:-1])
        rare = stats.poisson.sf(observed[-1] - 1, expected[-1]) if observed[-1] else 1.0
        observed = np.append(np.delete(observed[:-1], order), observed[order] + observed[-1])
        expected = np.append(np.delete(expected[:-1], order), expected[order] + expected[-1])
        return min(1.0, float(rare) * 2, 2 * plain(observed, expected))
    return plain(observed, expected)


def plain(observed: np.ndarray, expected: np.ndarray) -> float:
    """Return the p-value of Pearson's statistic; 1 where there is one cell only."""
    if len(expected) < 2:
        return 1.0
    return float(stats.chi2.sf(((observed - expected) ** 2 / expected).sum(), len(expected) - 1))


def tail(draws: np.ndarray, coverage: Coverage, scale: float, share: float) -> float:
    """Return the p-value of the count beyond the magnitude that is exceeded with a chance of about `share`."""
    low, high = 0.0, 40 * scale + 40
    while high - low > 1:
        middle = math.floor((low + high) / 2)
        low, high = (low, middle) if 1 - coverage(np.array([middle]))[0] <= share else (middle, high)
    chance = float(1 - coverage(np.array([high]))[0])
    return float(stats.binomtest(int((np.abs(draws) > high).sum()), len(draws), chance).pvalue)


def lag_one(draws: np.ndarray) -> float:
    """Return the p-value of the correlation of each draw with the next."""
    centred = draws - draws.mean()
    score = (centred[:-1] * centred[1:]).sum() / (centred**2).sum() * math.sqrt(len(draws) - 1)
    return float(2 * stats.norm.sf(abs(score)))


def runs(marks: np.ndarray) -> float:
    """Return the p-value of the number of runs of equal marks (Wald and Wolfowitz)."""
    n, ones = len(marks), int(marks.sum())
    both = 2 * ones * (n - ones)
    mean, variance = both / n + 1, both * (both - n) / (n**2 * (n - 1))
    score = (1 + int((marks[1:] != marks[:-1]).sum()) - mean) / math.sqrt(variance)
    return float(2 * stats.norm.sf(abs(score)))
