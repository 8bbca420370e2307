"""Counts beside that of another cell: differences, ratios, index numbers and changes, and intervals for them.

The counts are a table (parts, groups), flattened. Each but the first part is compared with the first; a change, with
the part before. docs/theory/derived.md
"""

from collections.abc import Callable

import numpy as np

from gaugedp.queries.fieller import within
from gaugedp.queries.share_estimates import share_places

DIFFERENCE, RATIO, INDEX, CHANGE = COMPARISONS = ("difference", "ratio", "index", "change")
_OF_RATIO: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    RATIO: lambda ratio: ratio,
    INDEX: lambda ratio: 100 * ratio,
    CHANGE: lambda ratio: 100 * (ratio - 1),
}
_FEWEST = 1.0  # rows that a count is compared with, where a ratio is defined
_OF_PLAN = (0.0, 0.5, 1.0)  # counts of a plan, of that which they are compared with


def compared(cells: np.ndarray, kind: str, parts: int) -> tuple[np.ndarray, np.ndarray]:
    """Return what is compared and with what, each ((parts − 1)·groups, …), for `cells` (parts·groups, …)."""
    table = cells.reshape(parts, -1, *cells.shape[1:])
    others = table[:-1] if kind == CHANGE else np.broadcast_to(table[:1], table[1:].shape)
    return table[1:].reshape(-1, *cells.shape[1:]), others.reshape(-1, *cells.shape[1:])


def comparisons(counts: np.ndarray, kind: str, parts: int) -> np.ndarray:
    """Return the answers, shape ((parts − 1)·groups,); a ratio is at least 0, of counts at least 1 where other < 1."""
    return _answers(kind, *compared(counts, kind, parts))


def comparison_intervals(
    counts: np.ndarray, kind: str, parts: int, widths: np.ndarray, curves: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest comparisons, shapes of `comparisons`, which hold these too; ∞ where none ends.

    With `curves` (n, 2k): the ratios m ≤ 1 with |own − m·other| ≤ q(m), and those above with |other − own/m| ≤ r(1/m);
    q and r run straight between their k values each, at `share_places`. Differences lie within q(1), and are whole.
    Without: of tables without negative counts, each of which is within its width of the released one.
    """
    pairs = (*compared(counts, kind, parts), *compared(widths, kind, parts))
    return _ends(kind, *pairs, curves)


def longest_half_comparison(
    kind: str, parts: int, widths: np.ndarray, count: float, curves: np.ndarray | None
) -> float:
    """Return half the longest interval of none, half or all of `count` rows, beside `count` rows, without noise."""
    around, beside = compared(widths, kind, parts)
    other = np.full(len(around), count)
    ends = [_ends(kind, share * other, other, around, beside, curves) for share in _OF_PLAN]
    return max(float((high - low).max()) for low, high in ends) / 2


def _answers(kind: str, own: np.ndarray, other: np.ndarray) -> np.ndarray:
    if kind == DIFFERENCE:
        return own - other
    return _OF_RATIO[kind](np.maximum(own, np.where(other < _FEWEST, _FEWEST, 0.0)) / np.maximum(other, _FEWEST))


def _ends(
    kind: str, own: np.ndarray, other: np.ndarray, around: np.ndarray, beside: np.ndarray, curves: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    middle = _answers(kind, own, other)
    if kind == DIFFERENCE:
        reach = around + beside if curves is None else np.floor(curves[:, curves.shape[1] // 2 - 1])
        return middle - reach, middle + reach
    low, high = _of_box(own, other, around, beside) if curves is None else _of_curves(own, other, curves)
    return np.minimum(_OF_RATIO[kind](low), middle), np.maximum(_OF_RATIO[kind](high), middle)


def _of_curves(own: np.ndarray, other: np.ndarray, curves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    below, above = np.split(curves, 2, axis=1)
    places = share_places(below.shape[1])
    low, high = within(own, other, below, places)
    least, most = within(other, own, above, places)
    with np.errstate(divide="ignore"):
        inverses = 1 / np.maximum(most, 0.0), 1 / np.maximum(least, 0.0)
    is_above = least <= most
    return (
        np.minimum(low, np.where(is_above, inverses[0], np.inf)),
        np.maximum(high, np.where(is_above, inverses[1], -np.inf)),
    )


def _of_box(
    own: np.ndarray, other: np.ndarray, around: np.ndarray, beside: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    fewest, most = np.maximum(own - around, 0), np.maximum(own + around, 0)
    least, largest = np.maximum(other - beside, 0), np.maximum(other + beside, 0)
    return (
        np.divide(fewest, largest, out=np.zeros(len(own)), where=largest > 0),
        np.divide(most, least, out=np.full(len(own), np.inf), where=least > 0),
    )
