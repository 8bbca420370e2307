"""Blocks of rows, which limit the memory of intermediate results."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

import numpy as np

T = TypeVar("T")

PRODUCTS = 2**18  # numbers: with fewer, products with matrices lose time; with more, memory
READ_ONCE = 2**17  # numbers that serve for predictions and gradients, read once
_CACHED = 2**15  # numbers: a few temporary arrays of that size stay in the cache of a processor
_NUMBERS_PER_THREAD = 2**20


class RowBlocks(Protocol):
    """Rows (n, d), read by slices from an array or a generator of them."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape (n, d)."""

    def __getitem__(self, part: slice, /) -> np.ndarray:
        """Return the rows of a slice."""


def slices(rows: np.ndarray, most_numbers: int = _CACHED) -> Iterator[slice]:
    """Yield slices of `most_numbers` numbers; at least one, so that empty sums are 0 in each column."""
    height = max(1, most_numbers // rows.shape[1])
    return (slice(start, start + height) for start in range(0, max(1, len(rows)), height))


def in_threads(work: Callable[[list[slice]], T], rows: np.ndarray, most_numbers: int = READ_ONCE) -> list[T]:
    """Return `work` on lists of slices, one thread each."""
    parts = list(slices(rows, most_numbers))
    count = max(1, min(4, os.cpu_count() or 1, rows.size // _NUMBERS_PER_THREAD, len(parts)))
    if count == 1:
        return [work(parts)]
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(work, [parts[first::count] for first in range(count)]))


def summed(of: Callable[[slice], np.ndarray], rows: np.ndarray) -> np.ndarray:
    """Return Σ of(slice), in any order; exact for integers."""
    return np.asarray(sum(in_threads(lambda parts: sum(map(of, parts)), rows, READ_ONCE)))


def blocks(rows: np.ndarray, most_numbers: int = _CACHED) -> Iterator[np.ndarray]:
    """Yield the rows of each slice."""
    return (rows[part] for part in slices(rows, most_numbers))
