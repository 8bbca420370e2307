"""What Rényi bounds say of one event: all pairs (P(E), Q(E)) that they allow, and the least ε and δ for these.

A pair (p, q) can occur exactly where two coins with these chances keep the bounds: an event makes coins of P and Q, and
divergences do not grow (data processing); and the coins are themselves a pair of laws. So the profile of a set of
bounds is that of their region, and nothing is lost (Asoodeh, Liao, Calmon, Kosut and Sankar 2021, theorem 3, for one
order). docs/theory/renyi_region.md
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from gaugedp.accountant.loss import Array
from gaugedp.accountant.rounding import LEAST_SURE, up

_MARGIN = 1e-13  # of the terms of a divergence: what rounding may add
_UNIT = 4e-16
_STEPS = 200  # of a search on a line; it ends when two neighbouring floats are left
_DIGITS = 1e-10  # of δ and ε
_NARROW = 1e-12  # between two places on a line, in log q
_CORNERS, _STILL = 60, 1e-11  # of cuts; a corner that moves less is the last
_STRIDES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)  # in log q, to the other side of a line
_TRIES = 8  # of a search, to start from a corner
_GAPS = (_DIGITS, 1e-8, 1e-6)  # above a corner, at which a line is tried
_MOST, _FAR = 300.0, 1e7  # of ε, and of −log q
_LARGEST = 700.0  # of logarithms that are taken back


@dataclass(frozen=True, eq=False)
class Region:
    """Pairs (p, q) with c·D_{1+c}(p‖q) ≤ moments[0] for all `orders` c > 0, and c·D_{1+c}(q‖p) ≤ moments[1].

    An order so near to 0 that c·D is the float c times D₁ stands for D₁. Log ratios of chances are at most `largest`.
    """

    orders: Array
    moments: Array
    largest: float = math.inf

    @cached_property
    def bounds(self) -> Array:
        """(e^{c·D} − 1)/c, shape (2, orders)."""
        with np.errstate(over="ignore"):
            return np.asarray(np.expm1(self.moments) / self.orders)

    def delta(self, epsilon: float, most: float) -> float:
        """Return a δ ≥ max p − e^ε·q over the region, to ten digits, at most `most`."""
        if self.largest <= epsilon:
            return 0.0
        search, near = _Search(self), min(epsilon, _MOST)  # δ falls in ε
        return _least(lambda delta: search.is_beyond(near, delta), lambda: search.corner(epsilon=near), most)

    def epsilon(self, delta: float, most: float) -> float:
        """Return an ε such that p − e^ε·q ≤ `delta` in the region, to ten digits, at most `most`."""
        search = _Search(self)
        if search.is_beyond(0.0, delta):
            return 0.0
        most = min(most, self.largest)
        return _least(lambda epsilon: search.is_beyond(epsilon, delta), lambda: search.corner(delta=delta), most)

    def highest(self, q: float) -> float:
        """Return the largest p with (p, q) in the region, rounded up, for 0 < q < 1."""
        low, high = q, 1.0
        while high - low > _UNIT * high:
            middle = (low + high) / 2
            if not low < middle < high:
                break
            logs = math.log(middle), math.log1p(-q), math.log1p(-middle)
            is_inside = not _Place(self, math.log(q), logs).outside.any()
            low, high = (middle, high) if is_inside else (low, middle)
        ratio = self.largest
        if ratio > _LARGEST:
            return min(1.0, up(high))
        return min(1.0, up(min(high, math.exp(ratio) * q, q - (1 - q) * math.expm1(-ratio))))


class _Search:
    """Whether lines p = δ + e^ε·q certainly miss a region, which holds p = q and so lies below those that do.

    Each bound is convex along a line. A place where one is broken and falls, and one is broken and rises, shows that
    none is kept to the left, nor to the right; between two places, tangents that meet where both are above 0 do.
    """

    def __init__(self, region: Region) -> None:
        self._region, self._log_q = region, -10.0  # of the last place: the next line's is near
        self._sides: dict[bool, _Place] = {}  # of the last line: the first place where a bound falls, and rises

    def is_beyond(self, epsilon: float, delta: float) -> bool:
        """Whether p − e^ε·q < δ in all of the region; False where that is not sure."""
        self._sides = {}
        if not 0 < delta < 1 or epsilon > _MOST:
            return delta >= 1
        end = math.log1p(-delta) - epsilon + _NARROW
        low, high, reached = -math.inf, end - 2 * _NARROW, (0.0, math.exp(end))
        self._log_q, stride = min(self._log_q, high - 1.0), 0.25
        for turn in range(_STEPS):
            place = self._at(epsilon, delta, self._log_q)
            falls, rises = place.falls.any(), place.rises.any()
            if not (falls or rises):
                return False
            self._sides = {bool(falls): place, not rises: place} | self._sides
            if falls and rises:
                return True
            low, high = (self._log_q, high) if falls else (low, self._log_q)
            reached = (place.reach(1), reached[1]) if falls else (reached[0], place.reach(-1))
            if reached[0] > reached[1]:
                return True
            if high - low < _NARROW * max(1.0, abs(high)):
                return False
            stride *= 2
            far = self._log_q + (stride if falls else -stride)
            self._log_q = far if low < far < high and stride < _FAR else _between(low, high, reached, turn)
        return False

    def corner(self, epsilon: float = 0.0, delta: float | None = None) -> float:
        """Return about the least δ of `epsilon`, or the least ε of a `delta`, from where the last line was.

        Where a bound is broken its tangent cuts a half-plane off; the corner of two is tried and cut off in turn
        (Kelley 1960). What is returned is not certified; infinity where there is no corner.
        """
        cuts = self._first_cuts(delta is None)
        if len(cuts) < 2:
            return math.inf
        least, before = math.inf, math.inf
        for _ in range(_CORNERS):
            rise, q = cuts[True].corner(cuts[False])
            if not (rise > 0 and 0 < q < 1):
                return math.inf
            line = (epsilon, rise) if delta is None else (math.log(rise / q), delta)
            least, before = line[delta is None], least
            place = self._at(*line, math.log(q))
            if not place.outside.any() or abs(before - least) <= _STILL * least:
                return least
            cuts |= place.cuts(delta is None)
        return least

    def _first_cuts(self, is_delta: bool) -> dict[bool, "_Cut"]:
        """Return cuts of the last line, of a few more of its places where those it has are on one side."""
        cuts = {side: cut for place in self._sides.values() for side, cut in place.cuts(is_delta).items()}
        places = list(self._sides.values())
        for stride in _STRIDES:
            if len(cuts) != 1:
                break
            near, epsilon, delta = math.log(places[0].q), math.log(places[0].growth), places[0].delta
            end = math.log1p(-delta) - epsilon
            further = min(near + stride, (near + end) / 2) if True in cuts else near - stride
            cuts = self._at(epsilon, delta, further).cuts(is_delta) | cuts
        return cuts

    def _at(self, epsilon: float, delta: float, log_q: float) -> "_Place":
        q = math.exp(log_q)
        p = min(delta + math.exp(epsilon + log_q), 1.0)
        rest = (1 - delta) - math.exp(epsilon + log_q)
        log_p = float(np.logaddexp(math.log(delta), epsilon + log_q))
        log_rest = math.log(rest) if rest > 0 else -math.inf
        logs = (log_p, math.log1p(-q), log_rest if p < 1 else -math.inf)
        return _Place(self._region, log_q, logs, epsilon, delta)


def _between(low: float, high: float, reached: tuple[float, float], turn: int) -> float:
    """Return the middle of what is left between two places, or in turn of all."""
    left = (reached[0] + reached[1]) / 2
    if turn % 4 and reached[0] > 0 and low < math.log(left) < high:
        return math.log(left)
    return (max(low, -_FAR) + high) / 2


class _Cut(NamedTuple):
    """Where excess + (v − rise) + steep·(q − at) > 0, no (v, q) is in the region.

    v is p − e^ε·q where ε is given, and p − δ where δ is; the corner of a cut that bounds v, or v/q, to the left and
    one that does to the right bounds it everywhere.
    """

    rise: float
    at: float
    excess: float
    steep: float

    def corner(self, other: "_Cut") -> tuple[float, float]:
        """Return the (v, q) in which the edges of both cuts meet; NaN where they are parallel."""
        left = other.excess + (self.rise - other.rise) + other.steep * (self.at - other.at)
        apart = self.steep - other.steep
        move = (left - self.excess) / apart if apart else math.nan
        return self.rise - self.excess - self.steep * move, self.at + move


class _Place:
    """The bounds at one (p, q): which are surely broken, and how they move along p = δ + e^ε·q as q grows.

    With a = 1 + c, a bound is (p^a·q^−c + (1−p)^a·(1−q)^−c − 1)/c and the same with p and q exchanged.
    """

    def __init__(
        self, region: Region, log_q: float, logs: tuple[float, float, float], epsilon: float = 0.0, delta: float = 0.0
    ) -> None:
        log_p, log_not_q, log_not_p = logs
        ratio, rest, growth = log_p - log_q, max(log_not_p - log_not_q, -_LARGEST), math.exp(epsilon)
        self.growth, self.delta = growth, delta
        self.q, c, a = math.exp(log_q), region.orders, 1 + region.orders
        of_chances = np.array([[log_p], [log_not_p], [log_q], [log_not_q]])
        chances, ratios = np.exp(of_chances), np.exp(np.clip([[ratio], [rest], [-ratio], [-rest]], -_LARGEST, _LARGEST))
        with np.errstate(over="ignore", invalid="ignore"):
            exponents = np.multiply.outer([ratio, rest, -ratio, -rest], c)
            grown = np.exp(
                np.minimum(of_chances + exponents, _LARGEST)
            )  # chance·ratio^c: a float where ratio^c is none
            powers = np.expm1(exponents) / c  # (ratio^c − 1)/c
            terms = np.where(exponents < 1, chances * powers, (grown - chances) / c)
            lost = _UNIT * np.array([a * np.exp(exponents[1]) - powers[1], a * grown[3] * np.exp(-log_not_p)])
            sizes = np.array([[log_p, log_q], [log_not_p, log_not_q]])
            far = 1 + np.abs(np.maximum(sizes, -_LARGEST)).sum(axis=1)  # a power of a ratio is off by this many units
            blurred = _UNIT * a * grown * np.tile(far, 2)[:, None]
            slack = _MARGIN * (np.abs(terms[::2]) + np.abs(terms[1::2]) + region.bounds) + lost
            self.excess = terms[::2] + terms[1::2] - region.bounds - (slack + blurred[::2] + blurred[1::2])
            steep = a * (powers[::2] - powers[1::2]) * [[growth], [1.0]]
            flat = ratios * (1 + c * powers)
            flat = (flat[::2] - flat[1::2]) * [[1.0], [growth]]
            self.slopes = steep - flat
            self.by_p = np.stack([steep[0] / growth, -flat[1] / growth])
            lost = _MARGIN + _UNIT * a * far.sum()
            bent, bounds_of_changes = np.abs(powers[::2]) + np.abs(powers[1::2]), ratios * (1 + c * np.abs(powers))
            bounds_of_changes = (bounds_of_changes[::2] + bounds_of_changes[1::2]) * [[1.0], [growth]]
            self.blur = (
                lost * a * (bent * [[growth], [1.0]] + bounds_of_changes)
            )  # what rounding may move the slopes by
            is_falling = np.array([growth * a < c * ratios[0], np.zeros(len(c), dtype=bool)])  # where slopes overflow
        self.excess[~np.isfinite(self.excess)] = -math.inf
        steepest = np.where(is_falling, -math.inf, math.inf)
        self.slopes = np.where(np.isfinite(self.slopes), self.slopes, steepest)
        self.outside = self.excess > 0
        self.falls, self.rises = self.outside & (self.slopes <= 0), self.outside & (self.slopes >= 0)

    def reach(self, side: int) -> float:
        """Return a q to the right, or the left for −1, up to which a tangent of a broken bound is surely above 0."""
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            far = self.excess / np.maximum(self.blur - side * self.slopes, 0.0)
        return self.q + side * float(np.nanmax(far[self.outside], initial=0.0)) * (1 - _MARGIN)

    def cuts(self, is_delta: bool) -> dict[bool, _Cut]:
        """Return the deepest cuts, of bounds that fall and that rise, by whether they bound what is to the left."""
        rise = self.delta if is_delta else self.growth * self.q
        cuts = {}
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            depths = np.nan_to_num(self.excess / self.by_p, nan=-math.inf, posinf=-math.inf)
            for broken in (self.falls, self.rises):
                deep = np.where(broken & (self.by_p > 0), depths, -math.inf)
                at = np.unravel_index(int(np.argmax(deep)), deep.shape)
                if deep[at] > 0:
                    along = float(self.slopes[at] / self.by_p[at])
                    cut = _Cut(rise, self.q, float(deep[at]), along if is_delta else along - self.growth)
                    start = rise - cut.excess + cut.steep * self.q
                    cuts[along < 0 if is_delta else start < 0] = cut
        return cuts


def _least(is_beyond: Callable[[float], bool], corner: Callable[[], float], most: float) -> float:
    """Return the least number, to _DIGITS of itself, that is beyond; at most `most`, which needs no proof.

    `corner` returns a guess after a number that is beyond.
    """
    if most < LEAST_SURE:
        return most
    if math.isinf(most):
        most = 1.0
        while not is_beyond(most):
            most *= 2
            if most > _MOST:
                return math.inf
    low, is_lower, tries = 0.0, is_beyond(most), _TRIES
    while is_lower or (low > 0 and most - low > _DIGITS * most):
        near = _first_beyond(is_beyond, corner(), most) if is_lower and tries else None
        if near is not None:
            return near
        middle, tries = (low + most) / 2 if low else most / 4, tries - is_lower
        if middle < LEAST_SURE:
            return most
        is_lower = is_beyond(middle)
        low, most = (low, middle) if is_lower else (middle, most)
    return most


def _first_beyond(is_beyond: Callable[[float], bool], guess: float, most: float) -> float | None:
    """Return the least number a little above a guess, and below `most`, that is surely beyond; None without one."""
    tried = (guess * (1 + gap) for gap in _GAPS)
    return next((number for number in tried if number < most and is_beyond(number)), None)
