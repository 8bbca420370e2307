"""Many laws on intervals with convex exponents, each drawn exactly from under three tangents."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gaugedp.entropy import Entropy
from gaugedp.samplers.continuous import exponentials, uniforms

Exponents = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class ThreeTangents:
    """Laws j of density ∝ e^{−h_j(x)} on [`low`, `high`], h_j convex: `value` and `slope` give h_j(x) and its slope.

    `touches`, shape (3, k), are increasing points inside at which tangents are taken. A convex function lies above its
    tangents, so a draw from e^{−largest tangent}, kept with the chance e^{−(h − largest tangent)}, is exact. The points
    decide how many trials that takes, and nothing else.
    """

    value: Exponents
    slope: Exponents
    touches: np.ndarray
    low: float
    high: float

    @cached_property
    def _lines(self) -> tuple[np.ndarray, np.ndarray]:
        """The tangents c + s·x: c and s, shape (3, k)."""
        every = np.arange(self.touches.shape[1])
        heights, slopes = (np.stack([each(x, every) for x in self.touches]) for each in (self.value, self.slope))
        return heights - slopes * self.touches, slopes

    @cached_property
    def _pieces(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where each tangent counts: its lower end, the length of its interval, and |s|."""
        drops, slopes = self._lines
        bends = np.diff(slopes, axis=0)
        meets = -np.diff(drops, axis=0) / np.where(bends > 0, bends, 1.0)
        cuts = np.clip(np.where(bends > 0, meets, self.touches[:-1]), self.touches[:-1], self.touches[1:])
        ends = np.concatenate([np.full_like(cuts[:1], self.low), cuts, np.full_like(cuts[:1], self.high)])
        return np.where(slopes > 0, ends[:-1], ends[1:]), np.diff(ends, axis=0), np.abs(slopes)

    @cached_property
    def _chances(self) -> np.ndarray:
        """The chances of the first piece, of the first two, and of all."""
        (drops, slopes), (anchors, lengths, rates) = self._lines, self._pieces
        spans = rates * lengths
        sizes = np.where(spans > 0, -np.expm1(-spans) / np.where(rates > 0, rates, 1.0), lengths)
        logs = np.log(np.maximum(sizes, np.finfo(float).tiny)) - drops - slopes * anchors
        totals = np.cumsum(np.exp(logs - logs.max(axis=0)), axis=0)
        return totals / totals[-1]

    def draw(self, laws: np.ndarray, rng: Entropy) -> np.ndarray:
        """Return one draw of each of these laws, shape (len(laws),)."""
        points, missing = np.empty(len(laws)), np.arange(len(laws))
        while len(missing):
            here = laws[missing]
            proposals, tangents = self._propose(here, rng)
            is_accepted = exponentials(len(here), rng) >= self.value(proposals, here) - tangents
            points[missing[is_accepted]] = proposals[is_accepted]
            missing = missing[~is_accepted]
        return points

    def _propose(self, laws: np.ndarray, rng: Entropy) -> tuple[np.ndarray, np.ndarray]:
        """Return proposals and the tangents' heights there."""
        piece = (uniforms(len(laws), rng) >= self._chances[:2, laws]).sum(axis=0)
        anchors, lengths, rates = (part[piece, laws] for part in self._pieces)
        spans = np.maximum(rates * lengths, np.finfo(float).tiny)
        shares = np.where(
            spans > 1,
            np.fmod(exponentials(len(laws), rng), spans),  # an exponential variable that is cut off at the end
            -np.log1p(uniforms(len(laws), rng) * np.expm1(-np.minimum(spans, 1.0))),
        )
        drops, slopes = (part[piece, laws] for part in self._lines)
        steps = shares / spans * lengths
        points = np.clip(anchors + np.where(slopes > 0, steps, -steps), self.low, self.high)
        return points, drops + slopes * points
