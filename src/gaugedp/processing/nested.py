"""Counts of nested areas that add up: nearest to what was released, not below 0, and whole, as asked."""

from collections.abc import Sequence

import numpy as np

from gaugedp.nesting import Nesting, Recursion


def added_up(nesting: Nesting, steps: Sequence[str], values: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    """Return counts near to `values` that add up after all `steps`, shape (n_released,).

    "consistent": the least squares of noise with these `deviations`. "non_negative": of these, from the coarsest
    level down, the nearest counts of at least 0 that add up to those above. "rounded": whole numbers, each less than 1
    from what it was before. All levels are sums over the finest.
    """
    recursion = Recursion.of(nesting, nesting.split(deviations**2))
    counts = nesting.split(values)
    finest = _without_negatives(recursion, counts) if "non_negative" in steps else recursion.estimates(counts)[-1]
    tables = nesting.added(finest)
    return nesting.joined(_whole(nesting, tables) if "rounded" in steps else tables)


def _without_negatives(recursion: Recursion, counts: list[np.ndarray]) -> np.ndarray:
    """Return the finest counts x ≥ 0: a level's are the nearest to what is known of it, with the level above held."""
    estimates, _ = recursion.known(counts)
    fixed = np.maximum(estimates[0], 0.0)
    for level, parts in enumerate(estimates[1:]):
        fixed = _shared_out(recursion.nesting, level, fixed, parts, recursion.spreads[level + 1])
    return fixed


def _shared_out(
    nesting: Nesting, level: int, totals: np.ndarray, target: np.ndarray, spreads: np.ndarray
) -> np.ndarray:
    """Return x ≥ 0 of the parts of a level's areas that sum to `totals` ≥ 0, Σ (x − target)²/spread least.

    Theorem. x = max(0, target − spread·t), t one number for an area (docs/theory/nesting.md). Parts that fall below 0
    are set to 0 and the others share out anew, until none falls: t only grows, so that those at 0 stay there.
    """
    is_free = np.ones(target.shape, dtype=bool)
    while True:
        missing = totals - nesting.total(np.where(is_free, target, 0.0), level)
        room = nesting.total(np.where(is_free, spreads, 0.0), level)
        rate = np.divide(missing, room, out=np.zeros_like(missing), where=room > 0)
        shares = np.where(is_free, target + spreads * nesting.handed(rate, level), 0.0)
        falls = shares < 0
        if not falls.any():
            return shares
        is_free &= ~falls


def _whole(nesting: Nesting, tables: list[np.ndarray]) -> list[np.ndarray]:
    """Return whole counts that add up: the coarsest are rounded, and parts up or down to sum to their area's.

    Of an area's parts so many are rounded up as it takes, those of the largest fractions. It takes none less than 0
    and none that is whole already: floats of one sum keep the order of what they are sums of.
    """
    whole = np.rint(tables[0])
    for level, parts in enumerate(tables[1:]):
        down = np.floor(parts)
        n_up = whole - nesting.total(down, level)
        whole = down + (_ranks(nesting, level, parts - down) < nesting.handed(n_up, level))
    return nesting.added(whole)


def _ranks(nesting: Nesting, level: int, fractions: np.ndarray) -> np.ndarray:
    """Return the place of each part among those of its area, the largest fraction first: 0, 1, …"""
    starts = np.array(nesting.starts[level])
    area = nesting.handed(np.arange(len(starts))[:, None], level)
    order = np.argsort(2.0 * area + 1 - fractions, axis=0, kind="stable")
    ranks = np.empty(fractions.shape, dtype=np.int64)
    np.put_along_axis(ranks, order, np.arange(len(fractions))[:, None] - nesting.handed(starts[:, None], level), axis=0)
    return ranks
