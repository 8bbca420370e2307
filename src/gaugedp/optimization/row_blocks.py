"""Rows in blocks, so that what is computed of them stays small."""

from collections.abc import Iterator

import numpy as np

PRODUCTS = 2**18  # numbers: with fewer, products with matrices lose time; with more, memory
_CACHED = 2**15  # numbers: a few temporary arrays of that size stay in the cache of a processor


def slices(rows: np.ndarray, most_numbers: int = _CACHED) -> Iterator[slice]:
    """Yield slices of so many numbers; one at least, so that sums over no rows are 0 in each column."""
    height = max(1, most_numbers // rows.shape[1])
    return (slice(start, start + height) for start in range(0, max(1, len(rows)), height))


def blocks(rows: np.ndarray, most_numbers: int = _CACHED) -> Iterator[np.ndarray]:
    """Yield the rows of each slice."""
    return (rows[part] for part in slices(rows, most_numbers))
