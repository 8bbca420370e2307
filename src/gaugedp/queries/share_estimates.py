"""Shares of released counts: each cell over the total of its group, and intervals for that."""

import numpy as np

from gaugedp.queries.fieller import within

_PLACES_OF_PLAN = 17  # of a share, at which the length of its interval is computed


def shares(counts: np.ndarray, parts: int) -> np.ndarray:
    """Return count/total, kept in [0, 1], shape (n,); 1/parts where the total of the group is not positive.

    The counts are a table (parts, groups), flattened.
    """
    totals = _totals(counts, parts)
    quotients = np.divide(counts, totals, out=np.full(len(counts), 1 / parts), where=totals > 0)
    return np.clip(quotients, 0.0, 1.0)


def share_intervals(
    counts: np.ndarray, parts: int, widths: np.ndarray, curves: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest shares, shapes (n,), which hold `shares` too.

    With `curves` (n, k): the p with |count − p·total| ≤ q(p), q straight between its values at `share_places`; all of
    [0, 1] where the total is not positive. Without: the shares of tables without negative counts, each of which is
    within its width of the released one.
    """
    if curves is None:
        low, high = _of_box(counts, counts, parts, widths)
    else:
        low, high = _of_curves(counts, _totals(counts, parts), curves)
    middle = shares(counts, parts)
    return np.minimum(low, middle), np.maximum(high, middle)


def longest_half(parts: int, widths: np.ndarray, count: float, curves: np.ndarray | None) -> float:
    """Return half the longest interval of a share in a group of `count` rows without noise, the others alike."""
    n = len(widths)
    lengths = []
    for share in np.linspace(0, 1, _PLACES_OF_PLAN):
        own, others = np.full(n, count * share), np.full(n, count * (1 - share) / max(parts - 1, 1))
        if curves is None:
            low, high = _of_box(own, others, parts, widths)
        else:
            low, high = _of_curves(own, np.full(n, count), curves)
        lengths.append(float((high - low).max()))
    return max(lengths) / 2


def share_places(count: int) -> np.ndarray:
    """Return where curves of widths are known, from 0 to 1: nearer to one another at small shares."""
    return np.linspace(0, 1, count) ** 2


def _totals(counts: np.ndarray, parts: int) -> np.ndarray:
    """Return for each cell the total of its group."""
    table = counts.reshape(parts, -1)
    return np.tile(table.sum(axis=0), parts)


def _of_curves(counts: np.ndarray, totals: np.ndarray, curves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    low, high = within(counts, totals, curves, share_places(curves.shape[1]))
    return np.where(totals > 0, low, 0.0), np.where(totals > 0, high, 1.0)


def _of_box(own: np.ndarray, others: np.ndarray, parts: int, widths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A share grows with its own count and falls with the others of its group; `others` are what a cell is to them."""
    fewest, most = np.maximum(own - widths, 0), np.maximum(own + widths, 0)
    low, high = (
        fewest + _rest(np.maximum(others + widths, 0), parts),
        most + _rest(np.maximum(others - widths, 0), parts),
    )
    return (
        np.divide(fewest, low, out=np.zeros(len(own)), where=low > 0),
        np.divide(most, high, out=np.ones(len(own)), where=high > 0),
    )


def _rest(counts: np.ndarray, parts: int) -> np.ndarray:
    """Return for each cell the sum of the others of its group."""
    return np.maximum(_totals(counts, parts) - counts, 0)
