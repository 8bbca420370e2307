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

import numpy as np

from gaugedp.accountant.loss import Array
from gaugedp.accountant.rounding import LEAST_SURE, up

_MARGIN = 1e-13  # of the terms of a divergence: what rounding may add
_UNIT = 4e-16
_STEPS = 200  # of a search on a line; it ends when two neighbouring floats are left
_DIGITS = 1e-10  # of δ and ε
_NARROW = 1e-12  # between two places on a line, in log q
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
        return _least(lambda delta: search.is_beyond(near, delta), most)

    def epsilon(self, delta: float, most: float) -> float:
        """Return an ε such that p − e^ε·q ≤ `delta` in the region, to ten digits, at most `most`."""
        search = _Search(self)
        if search.is_beyond(0.0, delta):
            return 0.0
        return _least(lambda epsilon: search.is_beyond(epsilon, delta), min(most, self.largest))

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
    none is kept to the left, nor to the right; between two places next to each other, tangents do.
    """

    def __init__(self, region: Region) -> None:
        self._region, self._log_q = region, -10.0  # of the last place: the next line's is near

    def is_beyond(self, epsilon: float, delta: float) -> bool:
        """Whether p − e^ε·q < δ in all of the region; False where that is not sure."""
        if not 0 < delta < 1 or epsilon > _MOST:
            return delta >= 1
        low, high = -math.inf, math.log1p(-delta) - epsilon - _NARROW
        self._log_q = min(self._log_q, high - 1.0)
        stride, left = 0.25, None
        for _ in range(_STEPS):
            place = self._at(epsilon, delta, self._log_q)
            if not place.outside.any():
                return False
            falls, rises = (place.outside & sign for sign in (place.slopes <= 0, place.slopes >= 0))
            if falls.any() and rises.any():
                return True
            if falls.any():
                low, left = self._log_q, place
            else:
                high = self._log_q
            if high - low < _NARROW * max(1.0, abs(high)):
                return left is not None and left.reaches(high + 2 * _NARROW)
            stride *= 2
            far = self._log_q + (stride if falls.any() else -stride)
            self._log_q = far if low < far < high and stride < _FAR else (max(low, -_FAR) + high) / 2
        return False

    def _at(self, epsilon: float, delta: float, log_q: float) -> "_Place":
        q = math.exp(log_q)
        p = min(delta + math.exp(epsilon + log_q), 1.0)
        rest = (1 - delta) - math.exp(epsilon + log_q)
        log_p = float(np.logaddexp(math.log(delta), epsilon + log_q))
        log_rest = math.log(rest) if rest > 0 else -math.inf
        return _Place(self._region, log_q, (log_p, math.log1p(-q), log_rest if p < 1 else -math.inf), epsilon)


class _Place:
    """The bounds at one (p, q): which are surely broken, and how they move along p = δ + e^ε·q as q grows.

    With a = 1 + c, a bound is (p^a·q^−c + (1−p)^a·(1−q)^−c − 1)/c and the same with p and q exchanged.
    """

    def __init__(self, region: Region, log_q: float, logs: tuple[float, float, float], epsilon: float = 0.0) -> None:
        log_p, log_not_q, log_not_p = logs
        ratio, rest, growth = log_p - log_q, max(log_not_p - log_not_q, -_LARGEST), math.exp(epsilon)
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
            self.slopes = steep - (flat[::2] - flat[1::2]) * [[1.0], [growth]]
            is_falling = np.array([growth * a < c * ratios[0], np.zeros(len(c), dtype=bool)])  # where slopes overflow
        self.excess[~np.isfinite(self.excess)] = -math.inf
        steepest = np.where(is_falling, -math.inf, math.inf)
        self.slopes = np.where(np.isfinite(self.slopes), self.slopes, steepest)
        self.outside = self.excess > 0

    def reaches(self, log_q: float) -> bool:
        """Whether a tangent of a broken bound stays above 0 up to `log_q`, to the right."""
        with np.errstate(invalid="ignore"):
            left = self.excess + self.slopes * (math.exp(log_q) - self.q)
        return bool((left[self.outside] > 0).any())


def _least(is_beyond: Callable[[float], bool], most: float) -> float:
    """Return the least number, to _DIGITS of itself, that is beyond; at most `most`, which needs no proof."""
    if most < LEAST_SURE:
        return most
    if math.isinf(most):
        most = 1.0
        while not is_beyond(most):
            most *= 2
            if most > _MOST:
                return math.inf
    low = most / 2
    while is_beyond(low):
        most, low = low, low / 4
        if low < LEAST_SURE:
            return most
    while most - low > _DIGITS * most:
        middle = (low + most) / 2
        low, most = (low, middle) if is_beyond(middle) else (middle, most)
    return most
