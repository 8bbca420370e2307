"""Privacy profiles by a contour integral, with a bracket.

With M(z) = E_P[e^{zL}] and any c > 0, δ(ε) = (1/2πi)∫ M(z)·e^{−εz}/(z(z + 1)) dz over Re z = c (Alghamdi et al. 2023,
theorem 3.1). The trapezoid rule of step h gives Σ_n δ(ε + 2πn/h)·e^{2πnc/h} ≥ δ(ε); docs/theory/accountant.md.
"""

import math
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np

from gaugedp._internal.rounding import UNIT
from gaugedp.accountant.loss import Array
from gaugedp.accountant.total import Total

_PROBES = (1.1, 1.25, 1.5, 2.0, 3.0, 5.0)  # orders beyond c, for the Chernoff bounds
_PRECISION = 37.0  # truncation and aliasing are below e^−37 of the result


@dataclass(frozen=True)
class Bracket:
    """Bounds `low` ≤ log δ ≤ `high`; low may be −∞."""

    low: float
    high: float


@dataclass(frozen=True)
class Contour:
    """Contour nodes c + ijh and the integrand there.

    They serve any ε. On the whole line `span` is None, and the values include 1/(z(z + 1)). Otherwise the losses are
    `offset` plus integers times `span`, and the line is one period, without truncation.
    """

    order: float
    step: float
    probes: "Probes"
    heights: Array
    log_values: Array
    phases: Array
    rounding: Array
    log_cut: float
    padding: float = 0.0
    span: float | None = None
    offset: float = 0.0

    def log_delta(self, epsilon: float) -> Bracket:
        """Return the bracket of log δ at `epsilon`."""
        if self.span is None:
            return self._bracket(epsilon)
        shift = 4 * UNIT * (epsilon + abs(self.offset) + self.span)  # δ may vanish at a point of the lattice
        return Bracket(self._bracket(epsilon + shift).low, self._bracket(max(0.0, epsilon - shift)).high)

    def _bracket(self, epsilon: float) -> Bracket:
        log_size, ratio, lost = self._sum(epsilon)
        cut = math.exp(min(700.0, self.log_cut - self.order * epsilon - log_size))
        high = ratio + lost + cut
        low = ratio - lost - cut - math.exp(min(700.0, self._log_folded(epsilon) - log_size))
        chernoff = self.probes.at_axis + float(self.rounding[0]) - self.order * epsilon
        return Bracket(log_of(low) + log_size, min(math.log(high) + log_size if high > 0 else math.inf, chernoff))

    def plus(self, more: Total) -> "Contour":
        """Return the contour with more losses; not on a lattice."""
        line = more.line(self.order, self.heights)
        at_axis = float(more.log_moment(np.array([self.order]))[0])
        return replace(
            self,
            probes=self.probes.plus(more, self.order),
            log_values=self.log_values + line.real + at_axis,
            phases=self.phases + line.imaginary,
            rounding=self.rounding + line.rounding + more.rounding(self.order),
            log_cut=self.log_cut + at_axis + more.log_tail(self.order, float(self.heights[-1])),
        )

    def _sum(self, epsilon: float) -> tuple[float, float, float]:
        logs = self.log_values - self.order * epsilon
        turned = self.phases - epsilon * self.heights
        if self.span is not None:
            kernel, angle = self._kernel(self.span, epsilon)
            logs, turned = logs + kernel, turned + angle
        sizes = np.exp(logs - logs[0])
        sizes[0] /= 2
        if self.span is not None:
            sizes[-1] /= 2
        weight = self.step / math.pi
        error = self.rounding + 8 * UNIT * (2 + np.abs(turned) + abs(epsilon) * (self.heights + self.order))
        lost = sizes @ np.expm1(np.minimum(error, 600.0))
        return float(logs[0]), weight * float(sizes @ np.cos(turned)), weight * float(lost)

    def _kernel(self, span: float, epsilon: float) -> tuple[Array, Array]:
        """Return log and angle of span·Σ (1 − e^{−x})·e^{−zx} over the distances x from ε to further lattice points."""
        first = span * (math.floor((epsilon - self.offset) / span) + 1) + self.offset - epsilon
        z = self.order + 1j * self.heights
        kernel = np.exp(-z * first) / -np.expm1(-z * span)
        kernel -= np.exp(-(1 + z) * first) / -np.expm1(-(1 + z) * span)
        return np.log(np.maximum(np.abs(kernel) * span, 1e-300)), np.angle(kernel)

    def _log_folded(self, epsilon: float) -> float:
        period = 2 * math.pi / self.step
        below = -period * self.order - math.log(-math.expm1(-period * self.order))
        gaps = period * (self.probes.orders - self.order)
        above = float((self.probes.log_chernoff(epsilon) - gaps - np.log(-np.expm1(-gaps))).min())
        return float(np.logaddexp(below, above))


class Probes:
    """Chernoff bounds log δ(ε) ≤ log M(c′) + κ(c′) − c′ε from a few orders c′ beyond c = `order`."""

    def __init__(self, total: Total, order: float) -> None:
        self.orders = order * np.array(_PROBES)
        moments = total.log_moment(np.array([order, *self.orders]))
        self.log_moment = float(moments[0])
        self.at_axis = self.log_moment + float(log_chernoff(np.array([order]))[0])
        self._bounds = moments[1:] + log_chernoff(self.orders)

    def plus(self, more: Total, order: float) -> "Probes":
        """Return the bounds with the losses of `more`."""
        probes = copy(self)
        probes.at_axis = self.at_axis + float(more.log_moment(np.array([order]))[0])
        probes._bounds = self._bounds + more.log_moment(self.orders)
        return probes

    def log_chernoff(self, epsilon: float) -> Array:
        """Return the bound at each order."""
        return self._bounds - self.orders * epsilon

    def best_step(self, order: float, epsilon: float, log_delta: float) -> float:
        """Return a step with aliases below e^−37 of δ."""
        above = (self.orders - order) / np.maximum(self.log_chernoff(epsilon) - log_delta + _PRECISION, 1.0)
        return 2 * math.pi * min(order / (_PRECISION - log_delta), float(above.max()))


def log_chernoff(orders: Array) -> Array:
    """Return log max (1 − e^{−x})·e^{−cx} over x ≥ 0: c·log c − (c + 1)·log(c + 1)."""
    return -np.log1p(orders) - orders * np.log1p(1 / orders)


def log_of(value: float) -> float:
    """Return log of `value`, −∞ unless it is positive."""
    return math.log(value) if value > 0 else -math.inf


def on_the_line(total: Total, order: float, epsilon: float, log_delta: float, n_largest: int) -> Contour:
    """Return the contour for results near (ε, δ).

    It is truncated if the tail bound allows; else a fictitious Gaussian release pads it: still an upper bound.
    """
    probes = Probes(total, order)
    step = probes.best_step(order, epsilon, log_delta)

    @cache
    def excess(n_nodes: int, until: float = math.inf) -> float:
        return _excess(total, order, probes.log_moment - order * epsilon - log_delta, n_nodes * step, until)

    def is_short_enough(reach: float, n_nodes: int) -> bool:
        return excess(n_nodes, reach * n_nodes * step) <= 0

    n_nodes = _first(lambda n: excess(n) <= 0, n_largest)
    if excess(n_nodes) <= 0:
        return _sampled(total, order, probes, step, n_nodes, total.log_tail(order, n_nodes * step))
    until = n_nodes * step
    for reach in (4.0**7, 4.0**5, 4.0**3):
        shorter = _first(partial(is_short_enough, reach), n_largest)
        if is_short_enough(reach, shorter):
            n_nodes, until = shorter, reach * shorter * step
            break
    square = 2 * max(0.0, excess(math.ceil(until / step))) / until**2
    padded = total.padded(square) if square else total
    log_cut = np.logaddexp(padded.log_tail(order, n_nodes * step, until), padded.log_tail(order, until))
    return _sampled(padded, order, Probes(padded, order), step, n_nodes, float(log_cut), padding=square)


def is_enough(total: Total, order: float, epsilon: float, log_delta: float, n_nodes: int) -> bool:
    """Return True if `n_nodes` suffice for a truncated line."""
    probes = Probes(total, order)
    height = n_nodes * probes.best_step(order, epsilon, log_delta)
    return _excess(total, order, probes.log_moment - order * epsilon - log_delta, height) <= 0


def _excess(total: Total, order: float, log_size: float, height: float, until: float = math.inf) -> float:
    """Return the log excess of the tail beyond `height`, for a line of size e^`log_size` of δ."""
    return log_size + total.log_tail(order, height, until) - math.log(math.pi * height) + _PRECISION


def _first(enough: Callable[[int], bool], n_largest: int) -> int:
    n_nodes = 32
    while n_nodes < n_largest and not enough(n_nodes):
        n_nodes = min(n_largest, n_nodes + n_nodes // 2)
    return n_nodes


def on_a_lattice(total: Total, order: float, probes: Probes, span: float, offset: float, n_nodes: int) -> Contour:
    """Return the contour over one period of a lattice, with 2·`n_nodes` nodes."""
    step = math.pi / span / n_nodes
    return _sampled(total, order, probes, step, n_nodes, -math.inf, span=span, offset=offset)


def _sampled(
    total: Total, order: float, probes: Probes, step: float, n_nodes: int, log_tail: float, **facts: float
) -> Contour:
    heights = step * np.arange(n_nodes + 1)
    line = total.line(order, heights)
    rounding = line.rounding + total.rounding(order)
    log_cut = probes.log_moment + log_tail - math.log(math.pi * n_nodes * step)
    values, phases = line.real + probes.log_moment, line.imaginary
    if "span" not in facts:
        values = values - np.log(np.hypot(order, heights) * np.hypot(order + 1, heights))
        phases = phases - np.arctan2(heights, order) - np.arctan2(heights, order + 1)
    return Contour(order, step, probes, heights, values, phases, rounding, log_cut, **facts)
