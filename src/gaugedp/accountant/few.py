"""The profile of a few releases on a fine lattice of losses, between those of two pairs of laws that are on one.

A cell of losses is split between its ends with the mean of dP/dQ kept, which can only raise the profile; or it is
taken as a whole, which is post-processing and can only lower it: docs/theory/accountant.md.
"""

import math
from dataclasses import dataclass

import numpy as np

from gaugedp.accountant.contour import Bracket, log_of
from gaugedp.accountant.loss import UNIT, Array, log_sum
from gaugedp.accountant.total import Total

_CELLS = 2**13  # of the losses of a release
_MOST = 2**20  # places of a sum
_BEYOND = 25.0  # losses above all cells have e^−25 of the δ that is looked for
_BELOW = 1e-12  # what losses below all cells have, which are raised or left out
_SIZES = 2.0 ** np.arange(-30, 16, 0.25)  # of losses, among which the first and the last of the cells are looked for
_SPARE, _FINEST = 2.0**-18, 2.0**-40  # of a cell, and of a loss, by which splits are raised: more than rounding takes
_LOST = 2.0**-36  # relative, of a probability
_MOVED = 1e-4  # of the losses are moved by a whole cell


@dataclass(frozen=True)
class LatticeSum:
    """A sum of losses at ascending `places`, with its `chances` after tilting by `order`.

    `log_moment` is log M(order), `lost` bounds the error of a chance, and `rounding` that of log M.
    """

    order: float
    log_moment: float
    places: Array
    chances: Array
    lost: float
    rounding: float

    def log_delta(self, epsilon: float) -> Bracket:
        """Return the bracket of log M − cε + log Σ (1 − e^{−x})·e^{−cx}·chance, x = place − ε > 0, ε = `epsilon`."""
        shift = 4 * UNIT * (abs(epsilon) + float(np.abs(self.places[[0, -1]]).max()))
        highest, lowest = self._sums(epsilon - shift), self._sums(epsilon + shift)
        size = self.log_moment - self.order * epsilon
        slack = self.rounding + 16 * UNIT * (self.order * (abs(epsilon) + float(np.abs(self.places[-1]))) + 1)
        high, low = highest[0] + self.lost * highest[1], lowest[0] - self.lost * lowest[1]
        return Bracket(log_of(low) + size - slack, log_of(high) + size + slack)

    def _sums(self, epsilon: float) -> tuple[float, float]:
        """Return Σ (1 − e^{−x})·e^{−cx}·chance, and the same sum without the chances."""
        first = int(np.searchsorted(self.places, epsilon, side="right"))
        gaps = self.places[first:] - epsilon
        kernel = -np.expm1(-gaps) * np.exp(-self.order * gaps)
        return float(kernel @ self.chances[first:]), float(kernel.sum())


@dataclass(frozen=True)
class FewLosses:
    """Sums of losses that have more, `above`, and less, `below`, than the releases; `log_beyond` bounds what is left.

    `below` is None where no lower bound is asked for. `largest` is the end of the cells, for all releases together.
    """

    above: LatticeSum
    below: LatticeSum | None
    log_beyond: float
    largest: float

    def log_delta(self, epsilon: float) -> Bracket:
        """Return the bracket of log δ at `epsilon`."""
        high = float(np.logaddexp(self.above.log_delta(epsilon).high, self.log_beyond))
        return Bracket(self.below.log_delta(epsilon).low if self.below else -math.inf, high)


def few_losses(total: Total, order: float, log_delta: float, with_low: bool = True) -> FewLosses | None:
    """Return the sums of few losses, tilted by `order`, for δ near e^`log_delta`; None of many, or of other kinds.

    Without a lower bound it takes half of the time.
    """
    n_releases = _n_releases(total)
    if too_many(total) or total.cells(np.zeros(1)) is None:
        return None
    first, last = _ends(total, log_delta - _BEYOND - math.log(n_releases))
    if not first < last:
        return None
    span = (last - first) / _CELLS
    edges = first + span * np.arange(_CELLS + 1)
    rows = total.cells(edges) or []
    beyond = math.fsum(count * float(p[-1]) for p, _, count in rows) * (1 + _LOST)
    if beyond > math.exp(log_delta):
        return None
    split, merged = _Summed(order, span), _Summed(order, span)
    for p, q, count in rows:
        split.add(first, _split(p, q, edges), count)
        if with_low:
            merged.add(*_merged(p, q, edges, order), count)
    below = merged.result() if with_low else None
    return FewLosses(split.result(), below, math.log(beyond) if beyond else -math.inf, n_releases * last)


def too_many(total: Total) -> bool:
    """Whether the sums of so many releases would be too long."""
    return _n_releases(total) * _CELLS > _MOST


def _n_releases(total: Total) -> int:
    return sum(sum(family.times) for family in total.families)


def _ends(total: Total, log_beyond: float) -> tuple[float, float]:
    """Return losses below which there is next to nothing, and above which e^`log_beyond`, in every row."""
    losses = np.concatenate([-_SIZES[::-1], [0.0], _SIZES])
    rows = [p for p, _, _ in total.cells(losses) or []]
    below = np.max([np.cumsum(p)[:-1] for p in rows], axis=0)
    above = np.max([np.cumsum(p[::-1])[::-1][1:] for p in rows], axis=0)
    first = max(int(np.searchsorted(below, _BELOW, side="right")) - 1, 0)
    last = min(int(np.sum(above > math.exp(log_beyond))), len(losses) - 1)
    return float(losses[first]), float(losses[last])


def _split(p: Array, q: Array, edges: Array) -> Array:
    """Return the probabilities at the `edges`, under P, of cells that are split between their ends."""
    span = float(edges[1] - edges[0])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = p[1:-1] / q[1:-1] * np.exp(-edges[:-1])
    upper = -np.expm1(-np.log(ratio)) / -math.expm1(-span) + _SPARE + _FINEST / span
    upper = np.where(np.isfinite(upper), np.clip(upper, 0.0, 1.0), 1.0)
    chances = np.concatenate([[p[0]], p[1:-1] * upper])
    chances[:-1] += p[1:-1] * (1 - upper)
    return chances * (1 + _LOST)


def _merged(p: Array, q: Array, edges: Array, order: float) -> tuple[float, Array]:
    """Return a first place, and the probabilities under P there and a span further on, of cells that are one loss.

    All are moved down by what most of them are below the middle of their cells, and the others by a cell.
    """
    span, cells = float(edges[1] - edges[0]), p[1:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        short = np.clip((edges[:-1] + span / 2) - np.log(cells / q[1:-1]), 0.0, span / 2)
    short = np.where(np.isfinite(short), short, span / 2) + _SPARE * span + _FINEST
    tilted = cells * np.exp(order * (edges[:-1] - edges[-1]))
    in_order = np.argsort(short)
    most = short[in_order[int(np.searchsorted(np.cumsum(tilted[in_order]), (1 - _MOVED) * tilted.sum()))]]
    chances = np.concatenate([[0.0], np.where(short <= most, cells, 0.0)])
    chances[:-1] += np.where(short > most, cells, 0.0)
    return float(edges[0] - span / 2 - most), chances * (1 - _LOST)


class _Summed:
    """Sums of independent losses on lattices of one span, tilted by `order`."""

    def __init__(self, order: float, span: float) -> None:
        self.order, self.span = order, span
        self.rows: list[tuple[float, Array, int]] = []

    def add(self, first: float, chances: Array, count: int) -> None:
        """Add `count` losses with these chances at `first`, `first` + span, …"""
        self.rows.append((first, chances, count))

    def result(self) -> LatticeSum:
        """Return the sum, by a Fourier transform that is long enough for all of it."""
        n_releases = sum(count for *_, count in self.rows)
        length = sum(count * (len(chances) - 1) for _, chances, count in self.rows) + 1
        size = 2 ** math.ceil(math.log2(length))
        moment, log_moment = np.ones(size // 2 + 1, dtype=complex), 0.0
        for first, chances, count in self.rows:
            with np.errstate(divide="ignore"):
                logs = np.log(chances) + self.order * (first + self.span * np.arange(len(chances)))
            at_order = log_sum(logs)
            moment *= np.fft.rfft(np.exp(logs - at_order), size) ** count
            log_moment += count * at_order
        start = sum(count * first for first, _, count in self.rows)
        places = start + self.span * np.arange(length)
        lost = 16 * UNIT * math.log2(size) * (n_releases + 2)
        rounding = 64 * UNIT * (n_releases + abs(log_moment) + self.order * float(np.abs(places).max()))
        chances = np.fft.irfft(moment, size)[:length]
        return LatticeSum(self.order, log_moment, places, chances, lost, rounding)
