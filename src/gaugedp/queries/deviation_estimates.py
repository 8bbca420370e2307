"""Standard deviations of released sums, sums of squares and counts, and intervals for them.

Everything is in the unit in which values lie in [−1, 1]: B = Σ d + e_B, A = Σ (2·d² − 1) + e_A and N = n + e_N. With m
the mean of the d and v their variance, A − 4m·B + c·N = e_A − 4m·e_B + c·e_N for c = 2m² + 1 − 2v, as
Σ (2·(d − m)² − 1) = n·(2v − 1). docs/theory/derived.md
"""

from collections.abc import Sequence

import numpy as np

from gaugedp.queries.fieller import within

MEANS: np.ndarray = np.linspace(-1, 1, 17)  # m at which widths are known
PLACES: np.ndarray = np.linspace(-1, 3, 9)  # c at which they are
ENDS: np.ndarray = np.linspace(-1, 1, 3)  # m at which the sizes of the noise of B − m·N are
N_WIDTHS = len(ENDS) + len(MEANS) * len(PLACES)
_STEPS: np.ndarray = np.linspace(0, 1, 33)  # from the least to the largest mean that B and N leave open
_OF_PLAN = ((0.0, 0.0), (0.0, 0.25), (0.0, 1.0), (0.8, 0.0), (0.8, 0.2))  # (mean, variance) of cells in a plan


def deviations(values: np.ndarray, half_range: float) -> np.ndarray:
    """Return the standard deviations, in [0, half_range], shape (n,), of released (B, A, N), in the column's units.

    half_range/2 where the count is not positive.
    """
    sums, squares, counts = _scaled(values, half_range)
    return half_range * _roots(_variances(sums, squares, counts))


def deviation_intervals(
    values: np.ndarray, widths: np.ndarray, half_range: float, curves: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest standard deviations, shapes (n,), which hold `deviations` too.

    With `curves` (n, N_WIDTHS): those of all v with |A − 4m·B + c·N| ≤ q(m, c) + 2·s(m)²/N at m = B/N. Without: of
    those whose A, B and N are within `widths` (3n,) of the released ones.
    """
    released = _scaled(values, half_range)
    sums, squares, counts = released
    low, high = (
        _open_in_box(released, _of_box(*_scaled(widths, half_range)))
        if curves is None
        else _open_at_mean(released, curves)
    )
    middle = _variances(sums, squares, counts)
    ends = np.minimum(low, middle), np.maximum(high, middle)
    least, most = (
        half_range * _roots(np.where(counts > 0, end, extreme)) for end, extreme in zip(ends, (0, 1), strict=True)
    )
    return least, most


def longest_half_deviation(widths: np.ndarray, half_range: float, count: float, curves: np.ndarray | None) -> float:
    """Return half the longest interval, in a few cells of `count` rows without noise: narrow, even and wide ones."""
    n = len(widths) // 3
    lengths = []
    for mean, variance in _OF_PLAN:
        cell = (half_range * mean, half_range**2 * (2 * (variance + mean**2) - 1), 1.0)
        low, high = deviation_intervals(count * np.repeat(cell, n), widths, half_range, curves)
        lengths.append(float((high - low).max()))
    return max(lengths) / 2


def _scaled(values: np.ndarray, half_range: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    sums, squares, counts = np.split(values, 3)
    return sums / half_range, squares / half_range**2, counts


def _variances(sums: np.ndarray, squares: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return (A/N + 1)/2 − (B/N)², kept in [0, 1]; 1/4 where N is not positive."""
    few = counts <= 0
    divisors = np.where(few, 1.0, counts)
    with np.errstate(over="ignore"):
        means = np.clip(sums / divisors, -1, 1)
        variances = (np.clip(squares / divisors, -1, 1) + 1) / 2 - means**2
    return np.where(few, 0.25, np.clip(variances, 0, 1))


def _roots(variances: np.ndarray) -> np.ndarray:
    return np.sqrt(np.clip(variances, 0, 1))


def _open_at_mean(released: Sequence[np.ndarray], curves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest v that the mean B/N leaves open; nothing between where none is left."""
    sums, _, counts = released
    divisors = np.where(counts > 0, counts, 1.0)
    mean = np.clip(sums / divisors, -1, 1)
    sizes, grid = np.split(curves, [len(ENDS)], axis=1)
    at_least, at_0, at_most = (sizes**2).T
    spread = at_0 + mean * (at_most - at_least) / 2 + mean**2 * ((at_most + at_least) / 2 - at_0)
    return _variances_at(mean, released, _at(grid, mean) + (2 * np.maximum(spread, 0) / divisors)[:, None])


def _open_in_box(released: Sequence[np.ndarray], curves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest v, of 33 means that B and N leave open; nothing between where no v is left."""
    sums, _, counts = released
    of_means, grid = np.split(curves, [len(ENDS)], axis=1)
    first, last = within(sums, counts, of_means, ENDS)
    first, last = np.where(first <= last, first, -1.0), np.where(first <= last, last, 1.0)
    most = 1 - np.clip(0, first, last) ** 2  # no v is above 1 − m²
    low, high = np.full(len(sums), np.inf), np.full(len(sums), -np.inf)
    for step in _STEPS:
        mean = first + step * (last - first)
        bottom, top = _variances_at(mean, released, _at(grid, mean))
        is_open = (bottom <= top) & (top >= 0) & (bottom <= most)
        low, high = np.where(is_open, np.minimum(low, bottom), low), np.where(is_open, np.maximum(high, top), high)
    return np.clip(low, 0, most), np.clip(high, 0, most)


def _variances_at(
    mean: np.ndarray, released: Sequence[np.ndarray], widths: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest v with |A − 4m·B + c·N| within its widths (n, places of c)."""
    sums, squares, counts = released
    ends = within(4 * mean * sums - squares, counts, widths, PLACES)
    high, low = (mean**2 + (1 - c) / 2 for c in ends)
    return low, high


def _at(grid: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Return the widths at PLACES for the m of each answer, straight between MEANS, shape (n, len(PLACES))."""
    table = grid.reshape(len(grid), len(MEANS), len(PLACES))
    position = (np.clip(means, -1, 1) + 1) / 2 * (len(MEANS) - 1)
    place = np.minimum(position.astype(int), len(MEANS) - 2)
    share = (position - place)[:, None]
    rows = np.arange(len(grid))
    return (1 - share) * table[rows, place] + share * table[rows, place + 1]


def _of_box(sums: np.ndarray, squares: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the curves that follow from the widths of B, A and N: straight but at 0, which is a place."""
    of_means = sums[:, None] + np.abs(ENDS) * counts[:, None]
    slopes = 4 * np.abs(MEANS)[:, None] + np.zeros_like(PLACES), np.abs(PLACES) + np.zeros((len(MEANS), 1))
    grid = squares[:, None] + sums[:, None] * slopes[0].ravel() + counts[:, None] * slopes[1].ravel()
    return np.hstack([of_means, grid])
