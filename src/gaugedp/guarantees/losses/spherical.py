"""Losses of spherical Laplace noise."""

import math
from functools import lru_cache
from typing import Any

import numpy as np
import scipy

from gaugedp._internal.rounding import UNIT
from gaugedp.accountant.loss import Array, Line, PrivacyLoss, blocks, line_of, log_sum
from gaugedp.guarantees.losses.finite import tilted_line
from gaugedp.guarantees.spherical_curve import excess, log_error, panel_rule, spherical_delta, spherical_epsilon

_LARGEST_ORDER = 1e5


class SphericalPrivacyLoss(PrivacyLoss):
    """Losses of spherical Laplace noise, with rows (t, d).

    The density is ∝ e^{−‖z‖₂} in d dimensions, shifted by t. The loss is t·w, w in [−1, 1]. M(z) = N((2z +
    1)t/2)/N(t/2) with N(y) = ∫ e^{yw}·(1 − w²)^{(d−3)/2}·(1 − w² + κ) dw; docs/theory/knorm_delta.md.
    """

    def log_moment(self, orders: Array) -> Array:
        """Return the sum of log M, above `largest_order` a bound."""
        moments = [np.array([_log_moment(float(order), *row) for order in orders]) for row in self.rows]
        return np.sum([count * moment for count, moment in zip(self.counts, moments, strict=True)], axis=0)

    def line(self, order: float, heights: Array) -> Line:
        """Return the line by quadrature and Bessel functions."""
        lines = (_line(order, heights, *row).times(n) for row, n in zip(self.rows, self.counts, strict=True))
        return Line.sum(lines, heights)

    def rounding(self, orders: Array) -> Array:
        """Return a rounding bound that grows with the dimension."""
        moments = np.array([[_log_moment(order, *row) for order in orders.tolist()] for row in self.rows])
        units = np.array([512.0 + 16 * dimension + 4 * (1 + 2 * orders) * shift for shift, dimension in self.rows])
        return UNIT * (self.counts @ (units * moments))

    @property
    def largest_order(self) -> float:
        """The largest order for which quadrature is used."""
        return _LARGEST_ORDER

    @property
    def mean(self) -> float:
        """The mean Σ t·∫ w·sinh(tw/2)·g(w) dw/∫ cosh(tw/2)·g(w) dw over [0, 1]."""
        return float(self.counts @ np.array([_mean(*row) for row in self.rows]))

    @property
    def largest(self) -> float:
        """The sum Σt."""
        return self.plain_sum()

    def exact_delta(self, epsilon: float) -> float | None:
        """Return the profile of a single release."""
        shift, dimension = self.rows[0]
        return spherical_delta(shift, dimension, epsilon) if self._is_single else None

    def exact_epsilon(self, delta: float) -> float | None:
        """Return the inverse profile of a single release."""
        shift, dimension = self.rows[0]
        return spherical_epsilon(shift, dimension, delta) if self._is_single else None

    def log_tail(self, order: float, height: float, until: float = math.inf) -> float:  # noqa: ARG002
        """Return the sum of the rows' bounds."""
        tails = [_log_tail(order, height, *row) for row in self.rows]
        return float(self.counts @ np.array(tails))

    @property
    def work(self) -> int:
        """128 nodes per row."""
        return 128 * len(self.rows)

    @property
    def _is_single(self) -> bool:
        return len(self.rows) == 1 and self.times[0] == 1


def _log_moment(order: float, shift: float, dimension: int) -> float:
    """Return log M ≤ zt by M − 1 = ∫ 4·sinh((z + 1)xw)·sinh(zxw)·g dw/∫ 2·cosh(xw)·g dw over [0, 1], x = t/2."""
    if order > _LARGEST_ORDER:
        return order * shift
    x = shift / 2
    rate = (1 + 2 * order) * x
    places, logs = _rule(rate, 0.0, shift, dimension)
    sinhs = np.log(-np.expm1(-2 * (1 + order) * x * places)) + np.log(-np.expm1(-2 * order * x * places))
    exponents = logs + rate * places + sinhs
    return float(np.logaddexp(0.0, log_sum(exponents) - _log_symmetric(x, shift, dimension)))


def _mean(shift: float, dimension: int) -> float:
    x = shift / 2
    places, logs = _rule(x, 0.0, shift, dimension)
    exponents = logs + x * places + np.log(-np.expm1(-2 * x * places)) + np.log(places)
    return shift * math.exp(log_sum(exponents) - _log_symmetric(x, shift, dimension))


@lru_cache(maxsize=1024)
def _log_symmetric(rate: float, shift: float, dimension: int) -> float:
    """Return log ∫₀¹ 2·cosh(rate·w)·g(w) dw."""
    places, logs = _rule(rate, 0.0, shift, dimension)
    return log_sum(logs + rate * places + np.log1p(np.exp(-2 * rate * places)))


@lru_cache(maxsize=64)
def _rule(rate: float, turn: float, shift: float, dimension: int) -> tuple[Array, Array]:
    """Return quadrature places w in [0, 1] and log weights.

    They are for e^{yw}·g, y = `rate` + i·`turn`. Beyond 1 − w = (60 + 3d)/rate less than e^−50 of the whole is lost.
    """
    last = 2 * math.asin(math.sqrt(min(1.0, (60 + 3 * dimension) / max(rate, 1.0)) / 2))
    panels = 4
    while True:
        angles, log_weights = panel_rule(last, panels)
        sines = np.sin(angles)
        logs = log_weights + (dimension - 2) * np.log(sines) + np.log1p(sines**2 / excess(shift, dimension))
        places = np.cos(angles)
        lost = log_error(last, panels, rate, shift, dimension, turn) - log_sum(logs + rate * (places - 1))
        # 2**14: panels at most
        if lost < -50.0 or panels >= 2**14:  # logarithm of the error of a quadrature, relative
            return places, logs
        panels *= 2


def _line(order: float, heights: Array, shift: float, dimension: int) -> Line:
    near = heights * shift <= max(300.0, 4.0 * dimension)  # from more turns on, Bessel functions replace the quadrature
    lines = [_near_line(order, heights[near][part], shift, dimension) for part in blocks(int(near.sum()), 4096)]
    lines.append(_far_line(order, heights[~near], shift, dimension))
    return Line(*(np.concatenate(parts) for parts in zip(*lines, strict=True)))


def _near_line(order: float, heights: Array, shift: float, dimension: int) -> Line:
    values, tilted = _tilted(order, float(heights.max(initial=0.0)), shift, dimension)
    return tilted_line(values, tilted, heights, 512.0 + 16 * dimension + 4 * order * shift)


def _tilted(order: float, height: float, shift: float, dimension: int) -> tuple[Array, Array]:
    rate = (1 + 2 * order) * shift / 2
    turn = 2.0 ** math.ceil(math.log2(max(1.0, height * shift)))  # few rules for many heights
    places, logs = _rule(rate, turn, shift, dimension)
    exponents = np.concatenate([logs + rate * (places - 1), logs - rate * (places + 1)])
    tilted = np.exp(exponents - exponents.max())
    counts = tilted > UNIT**2
    return shift * np.concatenate([places, -places])[counts], tilted[counts] / tilted[counts].sum()


def _far_line(order: float, heights: Array, shift: float, dimension: int) -> Line:
    """Return the line by N = S_{d/2} + κ·S_{d/2−1}, S_ν(y) = √π·Γ(ν + ½)·(2/y)^ν·I_ν(y)."""
    rate = (1 + 2 * order) * shift / 2
    y = rate + 1j * shift * heights
    whole, second = _log_whole(rate, shift, dimension), math.log(excess(shift, dimension))
    share = np.exp(_log_bessel(y, dimension / 2 - 1) - rate - whole)
    share += np.exp(_log_bessel(y, dimension / 2) - second - rate - whole)
    relative = 1e4 + 16 * dimension + 8 * np.abs(y)
    return line_of(share.real[None] - 1, share.imag[None], (2 + relative * np.abs(share))[None], np.ones(1))


def _log_bessel(y: Array, order: float) -> Any:
    log_factor = 0.5 * math.log(math.pi) + scipy.special.gammaln(order + 0.5)
    return log_factor + order * np.log(2 / y) + np.log(scipy.special.ive(order, y)) + y.real


def _log_whole(rate: float, shift: float, dimension: int) -> float:
    """Return log of e^{−rate}·N(rate)/κ."""
    return _log_symmetric(rate, shift, dimension) - rate


# -- bounds on the modulus -----------------------------------------------------------------------------


def _log_tail(order: float, height: float, shift: float, dimension: int) -> float:
    """Return a bound on log |M(c + it)/M(c)| beyond `height`.

    Up to π/2 turns it uses the variance, 1 − |φ|² ≥ 4t²·Var/π², as 1 − cos y ≥ 2y²/π² for |y| ≤ π; then the modulus on
    a grid; then the contour.
    """
    turn = height * shift
    far = _log_contour(order, turn, shift, dimension)
    turns, largest, variance = _modulus(order, shift, dimension)
    if turn >= turns[-1]:
        return min(0.0, far)
    beyond = float(largest[max(int(np.searchsorted(turns, turn, side="right")) - 1, 0)])
    if turn < turns[0]:
        beyond = max(beyond, 0.5 * math.log1p(-4 * (turn / math.pi) ** 2 * variance))
    return min(0.0, beyond, far)


@lru_cache(maxsize=256)
def _modulus(order: float, shift: float, dimension: int) -> tuple[Array, Array, float]:
    """Return turns, bounds on log |φ| beyond each, and Var w.

    Between two turns u = t·shift ≥ π/2, |φ| changes by at most half the step times the deviation; then by the contour.
    """
    last = math.pi
    while _log_contour(order, last, shift, dimension) > -4.0 and last < 1e5:
        last *= 1.5
    values, tilted = _tilted(order, 0.0, shift, dimension)
    mean = float(tilted @ values)
    variance = float(tilted @ (values - mean) ** 2) / shift**2
    # 1000: points at which the modulus is looked at, up to where it is below e^−4
    turns = np.linspace(math.pi / 2, last, 1000)
    sizes = np.exp(np.minimum(_line(order, turns / shift, shift, dimension).real, 0.0))
    slack = (turns[1] - turns[0]) * math.sqrt(variance) + 1e-9
    after = math.exp(min(0.0, _log_contour(order, last, shift, dimension)))
    suffix = np.maximum.accumulate(np.append(sizes + slack, after)[::-1])[::-1][:-1]
    return turns, np.log(np.minimum(suffix, 1.0)), variance * (1 - 1e-6)


def _log_contour(order: float, turn: float, shift: float, dimension: int) -> float:
    """Return a log bound by the contour straight up from ±1.

    It decreases in `turn`. There |1 − w²| = τ·√(4 + τ²) ≤ τ·(2 + τ). So |N(y)| ≤ 2·cosh(Re y)·(T_{(d−1)/2} +
    κ·T_{(d−3)/2}) with T_q = ∫₀^∞ e^{−hτ}·(τ(2 + τ))^q dτ, h = `turn`, times 2^{1/4} for q = −½: Bessel functions of
    the second kind.
    """
    rate, order_of = (1 + 2 * order) * shift / 2, dimension / 2 - 1
    low = _log_second_kind(turn, order_of) + (0.25 * math.log(2) if dimension == 2 else 0.0)
    high = _log_second_kind(turn, order_of + 1) - math.log(excess(shift, dimension))
    both = math.log1p(math.exp(-2 * rate)) - _log_whole(rate, shift, dimension)
    bound = float(np.logaddexp(low, high)) + both + 1e-9
    return bound if math.isfinite(bound) else math.inf


def _log_second_kind(turn: float, order: float) -> float:
    """Return log ∫₀^∞ e^{−hτ}·(τ(2 + τ))^{ν−½} dτ = log Γ(ν + ½)/√π·(2/h)^ν·e^h·K_ν(h), h = `turn`, ν = `order`."""
    scaled = float(scipy.special.kve(order, turn)) if turn > 0 else math.inf
    if not 0 < scaled < math.inf:
        return math.inf
    log_factor = float(scipy.special.gammaln(order + 0.5)) - 0.5 * math.log(math.pi)
    return log_factor + order * math.log(2 / turn) + math.log(scaled)
