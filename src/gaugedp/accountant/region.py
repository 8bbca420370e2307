"""Privacy regions of Rényi bounds.

A region contains all pairs (P(E), Q(E)) that the bounds allow, and gives their least ε and δ. A pair (p, q) can occur
exactly if two coins with these probabilities satisfy the bounds: an event makes coins of P and Q, and divergences do
not increase (data processing); and the coins are themselves a pair of distributions. So the profile of a set of bounds
is that of their region (Asoodeh, Liao, Calmon, Kosut and Sankar 2021, theorem 3, for one order). The region is convex:
chords of its edge bound it from inside, and their extensions from outside. docs/theory/membership.md

For fixed p the least q in the region is convex in p, so δ(p) = p − e^ε·q is concave, at most p, and 0 at p = 0. At each
of the points p₁ < p₂ < … an interval contains the largest log ratio log(p/q): all bounds certainly hold at its lower
end, and one is certainly violated at its upper end. This gives a lower and an upper value of δ. The line through the
lower value at p_{i−1} and the upper value at p_i bounds δ to the right of p_i, and likewise from the right. Between two
points the smaller of both lines is an upper bound, and the largest of these bounds is returned.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy

from gaugedp._internal.rounding import OVERFLOW, UNIT
from gaugedp.accountant.loss import Array
from gaugedp.accountant.rounding import LEAST_SURE, up

_TOLERANCE = 1e-9  # of δ and ε
_FIRST_ODDS = np.linspace(-690.0, 690.0, 70)  # log odds of p, from 1e-300 to 1 − 1e-300
_LARGEST_LOG = 690.0  # of |log r|, for log ratios r
_ULPS = 8 * UNIT  # rounding error relative to the terms of a number
_SERIES = 1 / np.cumprod(np.arange(2.0, 15.0))[::-1]  # 1/14!, …, 1/2!


@dataclass(frozen=True, eq=False)
class Region:
    """Pairs (p, q) whose Rényi divergences stay within bounds.

    c·D_{1+c}(p‖q) ≤ moments[0] for all `orders` c ≥ 0, and c·D_{1+c}(q‖p) ≤ moments[1]. At c = 0 the moment is D₁
    itself. Log ratios of probabilities are at most `largest`.
    """

    orders: Array
    moments: Array
    largest: float = math.inf

    def delta(self, epsilon: float, most: float) -> float:
        """Return a δ ≥ max p − e^ε·q to nine digits, at most `most`."""
        if self.largest <= epsilon:
            return 0.0
        if most < LEAST_SURE or not len(self.orders):
            return most
        near = min(epsilon, OVERFLOW)  # δ falls in ε
        return min(most, max(float(self._fine_edge(lambda _: near).ceilings(near).max()), LEAST_SURE))

    def epsilon(self, delta: float, most: float) -> float:
        """Return an ε with p − e^ε·q ≤ `delta` to nine digits, at most `most`."""
        most = min(most, self.largest)
        if delta < LEAST_SURE or not len(self.orders):
            return most

        def least(edge: "_Edge") -> float:
            return min(edge.least_epsilon(delta) * (1 + _TOLERANCE), OVERFLOW)

        edge = self._fine_edge(least)
        return edge.sure_epsilon(delta, least(edge), most)

    def _fine_edge(self, least: Callable[["_Edge"], float]) -> "_Edge":
        """Return an edge with points for nine digits of δ at ε = `least`(edge)."""
        edge, gap = _Edge.of(self), math.inf
        for _ in range(16):
            epsilon = least(edge)
            ceilings, best = edge.ceilings(epsilon), edge.deltas(epsilon)[0].max()
            before, gap = gap, ceilings.max() - best
            # rounding can stop a search that is this near
            if gap <= best * _TOLERANCE or 1e-3 * best > gap > before / 2 or len(edge.odds) > 1000:
                break
            edge = edge.finer(ceilings > best + gap / 4)
        return edge

    def highest(self, q: float) -> float:
        """Return the largest p for 0 < q < 1, rounded up.

        (1 − q, 1 − p) is in the region of the other direction, and 1 − p is the least there with 1 − q.
        """
        other = replace(self, moments=self.moments[::-1])
        ratio = other.log_ratios(np.array([1 - q]), np.array([q]))[1][0]
        return min(1.0, up(float(q - (1 - q) * np.expm1(-ratio))))

    def without_idle_orders(self) -> "Region":
        """Return the region without orders whose bounds follow from adjacent ones."""
        c, moments = self.orders, np.pad(self.moments, ((0, 0), (1, 0)))
        if len(c) < 2:
            return self
        x, is_idle = np.concatenate([[0.0], c]), np.zeros(len(c), dtype=bool)
        share = (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
        with np.errstate(invalid="ignore"):
            chords = (1 - share) * moments[:, :-2] + share * moments[:, 2:]
            is_idle[:-1] = (moments[:, 1:-1] >= chords * (1 - 1e-13)).all(axis=0) & (c[:-1] > 0)  # up to rounding
        return replace(self, orders=c[~is_idle], moments=self.moments[:, ~is_idle])

    def log_ratios(self, p: Array, rest: Array) -> tuple[Array, Array]:
        """Return log(p/q) of the least q for each p, rounded down and up; `rest` = 1 − p."""
        low, high = np.full(len(p), -_LARGEST_LOG), np.full(len(p), _LARGEST_LOG)
        middle = self._start(p, rest)
        for turn in range(100):
            excess, slopes = self._excess(p, rest, np.exp(middle))
            with np.errstate(all="ignore"):
                after = np.nan_to_num((middle[:, None] - excess / slopes), nan=-math.inf).min(axis=1)
            worst = excess.max(axis=1)
            is_in = worst < 0
            low, high = np.where(is_in, middle, low), np.where(is_in, high, middle)
            # 0.1: close to a bound, in its log: Newton steps need no halving
            is_usable = (low <= after) & (after <= high) & ((turn % 4 < 3) | (np.abs(worst) < 0.1))
            before, middle = middle, np.where(is_usable, after, (low + high) / 2)
            if np.all(np.abs(middle - before) < 1e-14 * (1 + np.abs(middle))):
                break
        ends = self._around(p, rest, np.exp(middle))
        low, high = (np.minimum(end, cap) for end, cap in zip(ends, self._caps(p, rest), strict=True))
        return low, high

    def _caps(self, p: Array, rest: Array) -> tuple[Array, Array]:
        """Return log(p/q), rounded down and up, limited by `largest`."""
        with np.errstate(all="ignore"):
            share = rest * math.expm1(min(self.largest, OVERFLOW)) / p
            least, most = (np.where(x < 1, -np.log1p(-x), math.inf) for x in (share * (1 - _ULPS), share * (1 + _ULPS)))
        return np.minimum(least * (1 - _ULPS), self.largest), np.minimum(most * (1 + _ULPS), self.largest)

    def _start(self, p: Array, rest: Array) -> Array:
        """Return initial values of log log(p/q)."""
        c, odds = self.orders, (np.log(rest) - np.log(p))[:, None]
        with np.errstate(all="ignore"):
            of_small = (math.log(2) + self._log_bounds[0] - np.log1p(c) + odds) / 2
            exponents = np.logaddexp(0, self._log_bounds[0] + np.log(c) - np.log(p)[:, None])
            of_large = np.where(c > 0, np.log(exponents / c), math.inf)
        return np.asarray(np.clip(np.minimum(of_small, of_large).min(axis=1), -_LARGEST_LOG, _LARGEST_LOG))

    def _around(self, p: Array, rest: Array, ratios: Array) -> tuple[Array, Array]:
        n, apart = len(p), UNIT
        p, rest, ratios = np.tile(p, 2), np.tile(rest, 2), np.tile(ratios, 2)
        side = np.repeat([-1.0, 1.0], n)
        ends, is_sure = ratios, np.zeros(2 * n, dtype=bool)
        while not is_sure.all() and apart < 0.01:
            apart *= 16
            ends = np.where(is_sure, ends, ratios * (1 + side * apart))
            is_sure |= side * self._excess(p, rest, ends, side[:, None])[0].max(axis=1) > 0
        ends = np.where(is_sure, ends, np.where(side > 0, math.inf, 0.0))
        return ends[:n], ends[n:]

    def _excess(self, p: Array, rest: Array, ratios: Array, side: Array | int = 0) -> tuple[Array, Array]:
        """Return log(divergence/bound) at `ratios`, and slopes.

        The slopes are in log(ratio), ratios being log(p/q). All rounding is subtracted for side 1 and added for −1. A
        divergence is the mean of G(log ratio) under its first coin, with G(z) = (e^{cz} − 1)/c + e^{−z} − 1 =
        z²·(c·φ(cz) + φ(−z)) and φ(u) = (e^u − 1 − u)/u² > 0.
        """
        c = self.orders
        with np.errstate(all="ignore"):
            less = -p * np.expm1(-ratios)  # p − q
            not_q = rest + less
            others = np.where(less < not_q / 2, np.log1p(-less / not_q), np.log(rest / not_q))
            log_chances = np.stack([np.log(p), np.log(rest), np.log(p) - ratios, np.log(not_q)])[..., None]
            z = np.stack([ratios, others, -ratios, -others])[..., None]
            powers = c * z
            terms = np.logaddexp(np.log(c) + _log_phi(powers), _log_phi(-z)) + (log_chances + 2 * np.log(np.abs(z)))
            terms -= side * _ULPS * (8 + np.abs(log_chances) + np.abs(z) + np.maximum(powers, 0))
            logs = np.logaddexp(terms[::2], terms[1::2])
            over = logs - self._log_bounds[:, None] - side * _ULPS * (8 + self._sizes[:, None])
            far = (ratios - others)[:, None]
            forward = log_chances[0] + powers[0] + np.log(-np.expm1(-(1 + c) * far))
            reverse = log_chances[2] + powers[3] + np.log1p(c) + np.log(np.where(c > 0, -np.expm1(-c * far) / c, far))
            slopes = np.exp(np.stack([forward, reverse]) - logs) * ratios[:, None]
        over, slopes = (np.hstack(list(both)) for both in (over, slopes))
        return np.nan_to_num(over, nan=-math.inf, posinf=math.inf, neginf=-math.inf), slopes

    @cached_property
    def _log_bounds(self) -> Array:
        """The log of (e^{c·D} − 1)/c, D at c = 0; shape (2, orders)."""
        with np.errstate(all="ignore"):
            of_others = self.moments + np.log(-np.expm1(-self.moments)) - np.log(self.orders)
            return np.where(self.orders > 0, of_others, np.log(self.moments))

    @cached_property
    def _sizes(self) -> Array:
        return np.where(np.isfinite(self.moments), self.moments, 0.0)


@dataclass(frozen=True, eq=False)
class _Edge:
    """Points (p, q) on the edge of a region.

    `odds` are ascending logs of p/(1 − p), and log(p/q) is between `low` and `high`. δ(p) = max p − e^ε·q is concave in
    p, at most p, and 0 at p = 0: the chord of two points, extended, is above it.
    """

    region: Region
    odds: Array
    low: Array
    high: Array

    @classmethod
    def of(cls, region: Region) -> "_Edge":
        odds, needed = _FIRST_ODDS, region.without_idle_orders()
        return cls(needed, odds, *needed.log_ratios(scipy.special.expit(odds), scipy.special.expit(-odds)))

    def finer(self, parts: Array) -> "_Edge":
        at = np.flatnonzero(parts)
        first, last = max(at[0] - 2, 0), min(at[-1] + 1, len(self.odds) - 1)
        n_pieces = max(2, 40 // (last - first))  # points of each round
        shares = np.arange(1, n_pieces) / n_pieces
        new = (self.odds[first:last, None] + np.diff(self.odds[first : last + 1])[:, None] * shares).ravel()
        odds = np.concatenate([self.odds, new])
        order = np.argsort(odds)
        at_new = self.region.log_ratios(scipy.special.expit(new), scipy.special.expit(-new))
        ends = np.hstack([[self.low, self.high], at_new])[:, order]
        return _Edge(self.region, odds[order], *ends)

    def least_epsilon(self, delta: float) -> float:
        """Return a lower bound on an ε with δ(p) = `delta`."""
        with np.errstate(all="ignore"):
            epsilons = self.low + np.log1p(-delta / scipy.special.expit(self.odds))
        return max(0.0, float(np.nan_to_num(epsilons, nan=0.0).max()))

    def sure_epsilon(self, delta: float, low: float, most: float) -> float:
        """Return an ε ≥ `low` with no δ(p) above `delta`, at most `most`."""
        under = over = low
        step = max(low * _TOLERANCE, float(self.ceilings(low).max()) - delta)  # no δ(p) falls faster than ε grows
        while over < min(most, OVERFLOW) and self.ceilings(over).max() > delta:
            under, over, step = over, over + step, 2 * step
        if over >= min(most, OVERFLOW):
            return most
        for _ in range(6):  # halvings of a step beyond the least ε
            middle = (under + over) / 2
            under, over = (middle, over) if self.ceilings(middle).max() > delta else (under, middle)
        return over

    def deltas(self, epsilon: float) -> Array:
        ends = np.array([[0.0, 0.0], [-math.expm1(epsilon), 1.0]])
        deltas = -scipy.special.expit(self.odds) * np.expm1(epsilon - np.stack([self.low, self.high]))
        deltas += _ULPS * np.abs(deltas) * [[-1.0], [1.0]]
        return np.column_stack([ends[0], deltas, ends[1]])

    def ceilings(self, epsilon: float) -> Array:
        """Return upper bounds on δ(p) between points: shape (points + 1,)."""
        low, high = self.deltas(epsilon)
        widths = self._widths()
        with np.errstate(all="ignore"):
            rise = np.minimum.accumulate(np.append(1.0, (high[1:-1] - low[:-2]) / widths[:-1]))
            fall = np.append(np.maximum.accumulate(((low[2:] - high[1:-1]) / widths[1:])[::-1])[::-1], 0.0)
            high[-1] = min(1.0, high[-2] + rise[-1] * widths[-1])
            meet = np.clip((high[1:] - high[:-1] - fall * widths) / (rise - fall), 0.0, widths)
            lines = np.array([[high[:-1], rise * meet], [high[1:], fall * (meet - widths)]])
            tops = lines.sum(axis=1).max(axis=0) + _ULPS * np.abs(lines).sum(axis=(0, 1))
        tops = np.where(rise <= 0, high[:-1], np.where(fall >= 0, high[1:], tops))
        return np.asarray(np.minimum(np.nan_to_num(tops, nan=1.0, posinf=1.0), 1.0))

    def _widths(self) -> Array:
        p, rest = scipy.special.expit(self.odds), scipy.special.expit(-self.odds)
        return np.concatenate([p[:1], -p[1:] * rest[:-1] * np.expm1(-np.diff(self.odds)), rest[-1:]])


def _log_phi(u: Array) -> Array:
    """Return log((e^u − 1 − u)/u²)."""
    far = np.abs(u)
    direct = np.where(u > 0, u + np.log1p(-(1 + u) * np.exp(-far)), np.log(np.expm1(-far) + far)) - 2 * np.log(far)
    # 0.3: so near to 0 a series replaces differences
    return np.asarray(np.where(far < 0.3, np.log(np.polyval(_SERIES, u)), direct))
