"""Rows in blocks, so that what is computed of them stays small."""

from collections.abc import Iterator

import numpy as np

_BLOCK = 2**18  # numbers, with several temporary arrays of that size: below, time is lost; above, memory


def slices(rows: np.ndarray, most_numbers: int = _BLOCK) -> Iterator[slice]:
    """Yield slices of so many numbers; one at least, so that sums over no rows are 0 in each column."""
    height = max(1, most_numbers // rows.shape[1])
    return (slice(start, start + height) for start in range(0, max(1, len(rows)), height))


def blocks(rows: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the rows of each slice."""
    return (rows[part] for part in slices(rows))
