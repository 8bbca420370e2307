"""Profile of few kinds of releases on a lattice.

A cell of losses is split between its ends with the mean of dP/dQ unchanged, which can only raise the profile, and not
by more than a bound of second order in the span.

Theorem. Let n losses be split in cells of length g, w = √n·g, r = w·√(½·log 4) + n·g²/8 and B(a) = ∫_a^∞ e^{−2t²/w²}
dt. Let a cell have probability p under P and m under Q, K be the sum of the losses log(p/m) of the cells as single
outcomes, and K + G the sum of the split ones. Then δ_split(ε) ≤ δ(ε) + 2e^{w²}·E[B((|K + G − ε| − r − w²/2)₊)].

Proof.

1. If each cell were one outcome, δ would be at most its true value, by post-processing. It remains to bound what the
   splits add.
2. Given the cells, G is a sum of n independent numbers, each in an interval of length g, with E[e^−G] = 1. So 0 ≤ E[G]
   ≤ n·g²/8, and by Hoeffding's inequality P(G − E[G] > t) and P(−G > t) are at most e^{−2t²/w²}.
3. (1 − e^{ε−x})₊ is linear in e^−x on either side of ε. So a split raises δ only if K and K + G are on different sides
   of ε, and then by less than e^{|G| − a} − 1 with a = |K − ε|. For given cells, let m(a) be the mean of what the split
   adds.
4. If a ≥ w²/2, step 2 and integration by parts give m(a) ≤ ∫_a^∞ e^{t−a}·e^{−2(t − w²/8)²/w²} dt = e^{w²/4 − a}·B(a −
   3w²/8) ≤ e^{w²}·B(a − w²/2).
5. On either side of ε, m decreases in a. So for a < w²/2 it is at most m(0) = E[(1 − e^−G)₊] = ½·E|1 − e^−G|. For w ≥ 1
   this is at most 1 < e^{w²}·B(0). For w < 1 each of the n factors of e^−G has variance at most 4·sinh²(g/4), so m(0) ≤
   ½·√(e^{4n·sinh²(g/4)} − 1) < w/2 < B(0).
6. |G| ≤ r with probability at least ½, so P(|K − ε| ≤ y) ≤ 2·P(|K + G − ε| ≤ y + r). B decreases, which gives the
   claim.

For the lower end, splits are rounded downwards, and losses beyond the cells are omitted. Cells with a probability below
1e−290 under P or Q are raised to their upper end for the upper bound and omitted for the lower bound.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy

from gaugedp._internal.rounding import UNIT
from gaugedp.accountant.atoms import LONGEST, n_sums, repeated
from gaugedp.accountant.contour import Bracket, log_chernoff, log_of
from gaugedp.accountant.loss import Array, PrivacyLoss, atom_cells, log_sum
from gaugedp.accountant.rounding import LEAST_SURE
from gaugedp.accountant.total import Total

Cells = Callable[[Array], tuple[Array, Array]]

_KINDS, _RELEASES = 64, 2**20  # kinds, and releases of all kinds
_PLACES, _MOST_PLACES = 5000.0, 2**17  # places of a sum: times √n for n releases, and at most
_LOOKS, _TRIES = 512, 6  # cells of a preliminary evaluation, and how often it is narrowed
_FOLDED = 45.0  # the log share of the tilted sum outside of its places is −45
_SIZES = 2.0 ** np.arange(-30, 16, 0.25)  # of losses, among which the first and the last cells are sought
_STEPS = np.geomspace(0.03, 30, 12)  # of the order, for Chernoff bounds
_SPARE, _FINEST = 2.0**-18, 2.0**-40  # of a cell, and of a loss, by which splits are raised: more than their rounding
_KERNEL_DECAY = 690.0  # log of the decrease of a kernel beyond which the rest is bounded
_LOST = 2.0**-36  # relative, of a probability
_HALF = math.sqrt(math.log(4) / 2)  # bound on a sum of splits with probability ½, in spans times √n


@dataclass(frozen=True)
class LatticeSum:
    """Tilted sum of losses at ascending `places`.

    `chances` are tilted by `order` and `log_moment` is log M(order); `lost` bounds the error of a chance, `folded` the
    mass outside of the places, and `rounding` the error of log M.
    """

    order: float
    log_moment: float
    places: Array
    chances: Array
    lost: float
    folded: float
    rounding: float

    def log_delta(self, epsilon: float) -> Bracket:
        """Return the bracket of log M − cε + log Σ (1 − e^{−x})·e^{−cx}·chance, x = place − ε > 0."""
        shift = 4 * UNIT * (abs(epsilon) + float(np.abs(self.places[[0, -1]]).max()))
        ends = np.searchsorted(self.places, [epsilon - shift, epsilon + _KERNEL_DECAY / self.order])
        gaps, chances = np.maximum(self.places[slice(*ends)] - epsilon, 0.0), self.chances[slice(*ends)]
        fall = np.exp(-self.order * gaps)
        kernel = -np.expm1(-gaps) * fall
        total, moved = float(kernel @ chances), 1.1 * shift * float(fall @ np.abs(chances))
        size = self.log_moment - self.order * epsilon
        slack = self.rounding + 16 * UNIT * (self.order * (abs(epsilon) + float(np.abs(self.places[-1]))) + 1)
        lost = moved + self.lost * float(kernel.sum() + shift * fall.sum())
        lost += 2 * math.exp(-_KERNEL_DECAY) + self.folded * math.exp(float(log_chernoff(np.array([self.order]))[0]))
        return Bracket(log_of(total - lost) + size - slack, log_of(total + lost) + size + slack)

    def log_excess(self, epsilon: float, span: float, n_splits: int) -> float:
        """Return a log bound on the increase of δ by splits.

        For `n_splits` splits of cells it is 2·E[B((|x| − r)₊)] with x = place − ε, B(a) = ∫_a^∞ e^{−2t²/w²} dt, w =
        √n·span, and r a bound on a sum of splits with probability ½.
        """
        width = span * math.sqrt(n_splits)
        slack = _HALF * width + width**2 + 2 * n_splits * span * _raised(self.places, span)
        gaps = self.places - epsilon
        # 20.0: what a sum of splits exceeds with less than the least float, in spans times √n
        near = np.abs(gaps) < slack + 20.0 * width
        bound = scipy.special.erfc(np.maximum(np.abs(gaps[near]) - slack, 0.0) * math.sqrt(2) / width)
        kernel = bound * np.exp(np.minimum(-self.order * gaps[near], _KERNEL_DECAY))
        excess = float(kernel @ (np.abs(self.chances[near]) + self.lost)) + self.folded * float(kernel.max(initial=0.0))
        scale = math.log(width * math.sqrt(math.pi / 2)) + width**2
        return log_of(max(excess, 0.0)) + scale + self.log_moment - self.order * epsilon + self.rounding


@dataclass(frozen=True)
class FewLosses:
    """Sums of split losses, rounded up and down.

    `log_beyond` bounds the remaining losses. `below` is None without a lower bound.
    """

    above: LatticeSum
    below: LatticeSum | None
    log_beyond: float
    span: float
    n_splits: int

    def log_delta(self, epsilon: float) -> Bracket:
        """Return the bracket of log δ at `epsilon`."""
        high = float(np.logaddexp(self.above.log_delta(epsilon).high, self.log_beyond))
        if self.below is None:
            return Bracket(-math.inf, high)
        low, excess = self.below.log_delta(epsilon).low, self.above.log_excess(epsilon, self.span, self.n_splits)
        return Bracket(low + math.log(-math.expm1(excess - low)) if excess < low else -math.inf, high)


def few_losses(total: Total, order: float, log_delta: float, with_low: bool = True) -> FewLosses | None:
    """Return the sums of few losses near log δ, or None.

    None for other kinds or many losses. They are tilted by `order`. Without a lower bound this takes half the time.
    """
    kinds = _kinds(total)
    if kinds is None or log_delta < math.log(LEAST_SURE):
        return None
    n_releases = sum(count for _, count in kinds)
    # 25.0: losses above all cells have e^−25 of the δ that is looked for
    looks = [(_Look.of(cells, order, log_delta - 25.0 - math.log(n_releases)), count) for cells, count in kinds]
    if not all(look.first < look.last for look, _ in looks):
        return None
    window = _Window.of(looks, order)
    if max(look.last - look.first for look, _ in looks) > 2**20 * window.span:  # cells of one loss
        return None
    above, below, beyond = _Summed(order, window), _Summed(order, window), 0.0
    for (cells, count), (look, _) in zip(kinds, looks, strict=True):
        first = math.floor(look.first / window.span)
        edges = window.span * np.arange(first, math.ceil(look.last / window.span) + 1)
        p, q = cells(edges)
        beyond += count * float(p[-1]) * (1 + _LOST)
        above.add(first, _split(p, q, edges), count)
        if with_low:
            below.add(first, lower := _split(p, q, edges, is_up=False), count)
            with_low = bool(lower.any())
    if beyond > math.exp(log_delta):
        return None
    return FewLosses(above.result(), below.result() if with_low else None, log_of(beyond), window.span, n_releases)


def too_many(total: Total) -> bool:
    """Return True if there are too many kinds or releases."""
    times = [count for family in total.families for count in family.times]
    return len(times) > _KINDS or sum(times) > _RELEASES


def _kinds(total: Total) -> list[tuple[Cells, int]] | None:
    if too_many(total):
        return None
    kinds: list[tuple[Cells, int]] = []
    for family in total.single_rows():
        atoms = family.atoms()
        # 2**11: sums of a kind with few losses, up to which all are written out
        if atoms is not None and atoms[0][2] <= LONGEST and n_sums(*atoms[0]) <= 2**11:
            kinds.append((partial(atom_cells, *repeated(*atoms[0])), 1))
        elif family.cells(np.zeros(1)) is None:
            return None
        else:
            kinds.append((partial(_cells_of, family), family.times[0]))
    return kinds


def _cells_of(family: PrivacyLoss, edges: Array) -> tuple[Array, Array]:
    cells = family.cells(edges)
    assert cells is not None
    return cells[0][:2]


class _Look(NamedTuple):
    """Edges of cells of a loss, with tilted log probabilities."""

    edges: Array
    logs: Array

    @classmethod
    def of(cls, cells: Cells, order: float, log_beyond: float) -> "_Look":
        """Return cells between negligible losses below and e^`log_beyond` above."""
        edges = np.concatenate([-_SIZES[::-1], [0.0], _SIZES])
        for _ in range(_TRIES):
            p, _ = cells(edges)
            if not p[1:-1].any():  # all losses are beyond the edges
                return cls(np.zeros(1), np.zeros(0))
            above = np.cumsum(p[::-1])[::-1][1:]
            last = min(int(np.sum(above > math.exp(log_beyond))), len(edges) - 1)
            with np.errstate(divide="ignore"):
                below = np.log(np.cumsum(p[:-1])) + order * edges
                below -= np.logaddexp.reduce(np.log(p[1:-1]) + order * edges[:-1])
            # 1e-12: of the tilted losses are below all cells, which are raised or left out
            first = max(int(np.searchsorted(below, math.log(1e-12), side="right")) - 1, 0)
            is_found = len(edges) == _LOOKS + 1 and last - first > _LOOKS // 2
            if is_found or not first < last:
                break
            edges = np.linspace(edges[first], edges[last], _LOOKS + 1)
        p, _ = cells(edges)
        inner = p[1:-1] + np.append(p[0], np.zeros(len(edges) - 2))  # all below is raised to the first
        with np.errstate(divide="ignore"):
            logs = np.log(inner) + order * edges[1:]
        return cls(edges, logs - np.logaddexp.reduce(logs))

    @property
    def first(self) -> float:
        return float(self.edges[0])

    @property
    def last(self) -> float:
        return float(self.edges[-1])

    def moved(self, steps: Array, edges: Array) -> Array:
        """Return the log mean of e^{step·loss} with losses at `edges`."""
        return np.asarray(np.logaddexp.reduce(self.logs + steps[:, None] * edges, axis=1))


class _Window(NamedTuple):
    """Places of a tilted sum: `size`, a power of 2, from `first` by `span`.

    About e^−45 of it is outside, by Chernoff bounds with the `steps` below and above.
    """

    size: int
    first: float
    span: float
    steps: tuple[float, float]

    @classmethod
    def of(cls, looks: list[tuple[_Look, int]], order: float) -> "_Window":
        steps = order * _STEPS
        below = -(_FOLDED + np.sum([n * look.moved(-steps, look.edges[:-1]) for look, n in looks], axis=0)) / steps
        above = (_FOLDED + np.sum([n * look.moved(steps, look.edges[1:]) for look, n in looks], axis=0)) / steps
        low, high = int(below.argmax()), int(above.argmin())
        n_releases = sum(n for _, n in looks)
        size = min(_MOST_PLACES, 2 ** math.ceil(math.log2(_PLACES * math.sqrt(n_releases))))
        span = float(above[high] - below[low]) / (size - 8)
        return cls(size, float(below[low]) - 3 * span, span, (-float(steps[low]), float(steps[high])))


def _raised(places: Array, span: float) -> float:
    return _SPARE + _FINEST * (1 + float(np.abs(places[[0, -1]]).max())) / span


def _split(p: Array, q: Array, edges: Array, is_up: bool = True) -> Array:
    """Return the probabilities of split cells at the `edges`, under P.

    Rounding up moves losses below all cells, and cells of inaccurate floats, upwards; rounding down leaves them out.
    """
    span = float(edges[1] - edges[0])
    raised = _raised(edges, span) if is_up else -_raised(edges, span)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = p[1:-1] / q[1:-1] * np.exp(-edges[:-1])
        upper = -np.expm1(-np.log(ratio)) / -math.expm1(-span) + raised
    is_sure = np.isfinite(upper) & (np.minimum(p, q)[1:-1] > LEAST_SURE)
    upper = np.where(is_sure, np.clip(upper, 0.0, 1.0), 1.0)
    inner = p[1:-1] if is_up else np.where(is_sure, p[1:-1], 0.0)
    chances = np.concatenate([[p[0] if is_up else 0.0], inner * upper])
    chances[:-1] += inner * (1 - upper)
    return chances * (1 + _LOST if is_up else 1 - _LOST)


class _Summed:
    """Tilted sums of independent losses at the places of a `window`."""

    def __init__(self, order: float, window: _Window) -> None:
        self.order, self.window = order, window
        self.rows: list[tuple[int, Array, int]] = []

    def add(self, first: int, chances: Array, count: int) -> None:
        self.rows.append((first, chances, count))

    def result(self) -> LatticeSum:
        size, low, span, steps = self.window
        n_releases = sum(count for *_, count in self.rows)
        moment, log_moment, ends = np.ones(size // 2 + 1, dtype=complex), 0.0, np.zeros(2)
        for first, chances, count in self.rows:
            losses = span * (first + np.arange(len(chances)))
            with np.errstate(divide="ignore"):
                logs = np.log(chances) + self.order * losses
            at_order = log_sum(logs)
            tilted = np.exp(logs - at_order)
            moment *= np.fft.rfft(np.bincount(np.arange(len(chances)) % size, tilted, size)) ** count
            log_moment += count * at_order
            ends += [count * log_sum(logs - at_order + step * losses) for step in steps]
        place = math.floor(low / span)
        places = span * (place + np.arange(size))
        folded = sum(
            math.exp(min(0.0, float(end) - step * edge))
            for end, step, edge in zip(ends, steps, places[[0, -1]].tolist(), strict=True)
        )
        lost = 16 * UNIT * math.log2(size) * (n_releases + 2)
        largest = span * max(abs(first) + len(chances) for first, chances, _ in self.rows)
        rounding = 64 * UNIT * (n_releases * (1 + self.order * largest) + abs(log_moment))
        rounding += 64 * UNIT * self.order * float(np.abs(places[[0, -1]]).max())
        start = place - sum(count * first for first, _, count in self.rows)
        chances = np.roll(np.fft.irfft(moment, size), -(start % size))
        return LatticeSum(self.order, log_moment, places, chances, lost, 2 * folded, rounding)
