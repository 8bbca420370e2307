"""Losses of Gaussian noise on a Poisson sample."""

import math
from functools import lru_cache
from typing import ClassVar

import numpy as np

from gaugedp.accountant.loss import UNIT, Array, Line, PrivacyLoss, blocks, line_of, log_sum
from gaugedp.guarantees.losses.finite import tilted_line

_DIGITS = 46.0  # quadrature errors are below e^−46·q², the size of log M
_UNSEEN = 36.0  # quadrature errors of a moved modulus are below e^−36 of the moment at the axis
_FLAT = 24.0  # above this height, over the turn, the contour of x is moved


class SubsampledPrivacyLoss(PrivacyLoss):
    """Rows (q, σ, remove): with r(x) = 1 − q + q·e^{(2x−1)/2σ²}, the loss is log r under (1−q)N(0,σ²) + qN(1,σ²).

    That is `remove`; the other way, add, it is −log r under N(0, σ²). With Q = N(0, σ²) both have
    M(z) = E_Q[r^e], e = 1 + z or −z, taken by the trapezoid rule; docs/theory/accountant.md bounds its error.
    """

    symmetric: ClassVar[bool] = False

    def log_moment(self, orders: Array) -> Array:
        """Return the sum of log M, an upper bound where an order exceeds `_largest_order`."""
        moments = [
            count * np.array([_log_moment(float(order), *row) for order in orders])
            for row, count in zip(self.rows, self.counts, strict=True)
        ]
        return np.sum(moments, axis=0)

    def line(self, order: float, heights: Array) -> Line:
        """Return the line of the tilted nodes of the quadrature."""
        lines = (_line(order, heights, *row).times(n) for row, n in zip(self.rows, self.counts, strict=True))
        return Line.sum(lines, heights)

    def rounding(self, order: float) -> float:
        """Return a bound: sums of positive terms, each correct to some hundred units, and the quadrature."""
        rates = np.array([row[0] for row in self.rows])
        quadrature = 1e-19 * min(order, 1.0) * float(self.counts @ rates**2)
        return 1e3 * UNIT * float(self.log_moment(np.array([order]))[0]) + quadrature

    @property
    def largest_order(self) -> float:
        """Return the order up to which moments are taken by quadrature."""
        return min(_largest_order(std) for _, std, _ in self.rows)

    @property
    def largest(self) -> float:
        """Return −Σ log(1 − q) for add: the loss −log r stays below; nothing bounds the losses of remove."""
        if any(remove for _, _, remove in self.rows):
            return math.inf
        return -math.fsum(count * math.log1p(-row[0]) for row, count in zip(self.rows, self.counts, strict=True))

    def log_tail(self, order: float, height: float, until: float = math.inf) -> float:  # noqa: ARG002
        """Bound |M| with x moved by iθσ², where r turns and |r^{it}| = e^{−t·arg r} falls in t; θ: the best of some."""
        return sum(count * _log_tail(order, height, *row) for row, count in zip(self.rows, self.counts, strict=True))

    @property
    def work(self) -> int:
        """Some hundred nodes a row."""
        return 300 * len(self.rows)


def _line(order: float, heights: Array, rate: float, std: float, remove: bool) -> Line:
    high = heights > _FLAT / _turn(std)
    flat = heights[~high]
    loss, tilted = _tilted(order, float(flat.max(initial=0.0)), rate, std, remove)
    near, far = tilted_line(loss, tilted, flat, 1e3), _moved_line(order, heights[high], rate, std, remove)
    return Line(*(np.concatenate(pair) for pair in zip(near, far, strict=True)))


def _log_moment(order: float, rate: float, std: float, remove: bool) -> float:
    if order > _largest_order(std):
        return _log_bound(order, rate, std, remove)
    x, log_weights = _nodes(order, 0.0, rate, std, remove)
    log_ratio = _log_ratio(x, rate, std)
    power = 1 + order if remove else -order
    if float((power * log_ratio).max()) < 600:
        return math.log1p(_mean_change(order, remove, log_ratio, log_weights))
    return log_sum(log_weights + power * log_ratio)


def _mean_change(order: float, remove: bool, log_ratio: Array, log_weights: Array) -> float:
    """Return the mean of r^e − 1 − e·(r − 1) ≥ 0, e = 1 + order or −order: it is M − 1, as the mean of r is 1.

    Near r = 1 by the binomial series; elsewhere r is taken out of the difference, so that nothing overflows.
    """
    power, before = (1 + order, order) if remove else (-order, -order - 1)
    small = np.abs(log_ratio) * (1 + abs(power)) < 0.1
    x = np.expm1(log_ratio[small])
    term = power * before / 2 * x * x
    series = term
    for k in range(3, 18):
        term = term * (power - k + 1) / k * x
        series = series + term
    large = log_ratio[~small]
    falling = np.expm1(-large)
    changed = np.expm1(order * large) if remove else np.exp(-large) * np.expm1(-order * large)
    scaled = changed + (order if remove else -order) * falling
    return float(np.exp(log_weights[small]) @ series + np.exp(log_weights[~small] + large) @ scaled)


def _largest_order(std: float) -> float:
    """Return the order beyond which a bound replaces the quadrature, whose nodes become many."""
    return min(2000.0 * max(1.0, std), max(20.0, 5000.0 * std**2))


@lru_cache
def _turns(std: float) -> tuple[Array, Array]:
    """Return how far contours are moved, in units of σ², and what that costs in the other direction."""
    turns = np.geomspace(min(1e-3, 0.1 / std), 3.0, 16)
    return turns, -np.log(np.cos(turns / 2))


def _log_bound(order: float, rate: float, std: float, remove: bool) -> float:
    """Bound log M: r^{1+z} is below the mixture of 1 and e^{(1+z)u}; r is at least 1 − q."""
    if not remove:
        return -order * math.log1p(-rate)
    grown = order * (order + 1) / (2 * std**2)
    return float(np.logaddexp(math.log1p(-rate), math.log(rate) + grown))


def _log_ratio(x: Array, rate: float, std: float) -> Array:
    """Return log r: by r − 1 where r is not small, else as the logarithm of a sum of positive terms."""
    exponent = (2 * x - 1) / (2 * std**2)
    change = rate * np.expm1(np.minimum(exponent, 30.0))
    near = (exponent < 30) & (change > -0.5)
    return np.where(near, np.log1p(np.maximum(change, -0.5)),
                    np.logaddexp(math.log1p(-rate), math.log(rate) + exponent))  # fmt: skip


def _nodes(order: float, height: float, rate: float, std: float, remove: bool) -> tuple[Array, Array]:
    """Return nodes and log weights of the trapezoid rule for N(0, σ²), fit for z = `order` + i·`height`."""
    turns, bends = _turns(std)
    bend = 0.0 if remove else order * bends
    steps = 2 * math.pi * turns * std**2 / (_digits(rate) + (turns * std) ** 2 / 2 + height * turns + bend)
    step = float(steps.max())
    first, last = _span(order, rate, std, remove)
    x = step * np.arange(math.floor(first / step), math.ceil(last / step) + 1)
    return x, math.log(step / (std * math.sqrt(2 * math.pi))) - x**2 / (2 * std**2)


def _span(order: float, rate: float, std: float, remove: bool) -> tuple[float, float]:
    """Return an interval outside of which the tilted mixture has less than e^−46·q²."""
    grown = (1 + order) * math.log(2) if remove else -order * math.log1p(-rate)
    width = std * math.sqrt(2 * (_digits(rate) + grown))
    return -width, width + (order + 1 if remove else 1.0)


def _digits(rate: float) -> float:
    return _DIGITS - 2 * math.log(rate)


def _tilted(order: float, height: float, rate: float, std: float, remove: bool) -> tuple[Array, Array]:
    """Return the losses at the nodes and the weights tilted by e^{order·loss}, summing to 1."""
    x, log_weights = _nodes(order, height, rate, std, remove)
    log_ratio = _log_ratio(x, rate, std)
    logs = log_weights + ((1 + order) * log_ratio if remove else -order * log_ratio)
    tilted = np.exp(logs - logs.max())
    counts = tilted > UNIT**2
    return (log_ratio if remove else -log_ratio)[counts], tilted[counts] / tilted[counts].sum()


def _log_tail(order: float, height: float, rate: float, std: float, remove: bool) -> float:
    turns = _turns(std)[0]
    turns = turns[turns <= _turn(std)]
    step = _tail_step(turns, std, 0.0 if remove else order)
    x = np.arange(*_span(order, rate, std, remove), step)
    log_weights = math.log(step / (std * math.sqrt(2 * math.pi))) - x**2 / (2 * std**2)
    grown = math.log(rate) + (2 * x - 1) / (2 * std**2)
    largest = np.maximum(grown, 0.0)
    scaled = (1 - rate) * np.exp(-largest) + np.exp(grown - largest + 1j * turns[:, None])
    exponents = (1 + order if remove else -order) * (np.log(np.abs(scaled)) + largest) - height * np.angle(scaled)
    logs = exponents + log_weights + ((turns * std) ** 2 / 2)[:, None]
    peak = logs.max(axis=1, keepdims=True)
    bounds = np.log(np.exp(logs - peak).sum(axis=1)) + peak[:, 0]
    bounds = np.logaddexp(bounds - _log_moment(order, rate, std, remove), (turns * std) ** 2 / 2 - _UNSEEN)
    return min(0.0, float(bounds.min()) + 1e-6)


def _tail_step(turns: Array, std: float, falling: float) -> float:
    """Return a step that serves the moduli at all `turns` θ: strips of half-width aσ², a ≤ θ or a ≤ π/2 − θ.

    There e^{−t·arg r} continues to at most 1, and |r|^{−c}, c = `falling`, to (½(cos θ + cos a))^{−c/2}·r^{−c}.
    """
    theta, a = turns[:, None], _turns(std)[0]
    bend = -falling / 2 * np.log((np.cos(theta) + np.cos(np.minimum(a, 1.5))) / 2)
    steps = 2 * math.pi * a * std**2 / (_UNSEEN + 1 + (a * std) ** 2 / 2 + bend)
    return float(np.where(a <= np.maximum(theta, math.pi / 2 - theta), steps, 0.0).max(axis=1).min())


def _turn(std: float) -> float:
    """Return θ: by iθσ² the contour of x is moved for the higher points of a line."""
    return min(1.5, 2 / std)


def _moved_line(order: float, heights: Array, rate: float, std: float, remove: bool) -> Line:
    """Return the line at large heights, with x moved so that the integrand falls instead of turning.

    On x + iθ′σ², 0 < θ′ < 2θ, it is at most e^{(θ′σ)²/2} times the tilted weights (and cos(θ′/2)^{−c} for add), which
    bounds the error of the trapezoid rule.
    """
    turn = _turn(std) if remove else min(_turn(std), 0.7)
    bend = 0.0 if remove else -order * math.log(math.cos(turn))
    step = 2 * math.pi * turn * std**2 / (_digits(rate) + 2 * (turn * std) ** 2 + bend)
    x = np.arange(*_span(order, rate, std, remove), step)
    grown = math.log(rate) + (2 * x - 1) / (2 * std**2)
    largest = np.maximum(grown, 0.0)
    log_ratio = largest + np.log((1 - rate) * np.exp(-largest) + np.exp(grown - largest + 1j * turn))
    log_ratio = log_ratio if remove else -np.conj(log_ratio)
    sign = 1 if remove else -1
    logs = math.log(step / (std * math.sqrt(2 * math.pi))) - (x + sign * 1j * turn * std**2) ** 2 / (2 * std**2)
    logs = logs + (order + (1 if remove else 0)) * log_ratio - _log_moment(order, rate, std, remove)
    size = float(np.exp(logs.real).sum())
    ratio = np.empty(len(heights), dtype=complex)
    for block in blocks(len(heights), 2 * len(x)):
        ratio[block] = np.exp(logs + 1j * heights[block, None] * log_ratio).sum(axis=1)
    return line_of(ratio.real[None] - 1, ratio.imag[None], np.full((1, len(heights)), 2e3 * size), np.ones(1))
