"""Sums of losses on a lattice: which lattice it is, and the distribution of a sum by a Fourier transform."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from gaugedp.accountant.contour import Bracket, log_chernoff, log_of
from gaugedp.accountant.loss import UNIT, Array
from gaugedp.accountant.total import Total

_FINEST = Fraction(1, 10**12)
_MANY = 64  # losses of all rows, from which on a sum is computed here
_MOST = 2**19  # places of a sum
_UNSEEN = 42.0  # what is outside of the window has a tilted probability of at most e^−42
_SPARE = 7.0  # an order may differ from the best one while its bound on δ is e^7 times the least at most

Rows = list[tuple[Array, Array, int]]  # values, weights, count


@dataclass(frozen=True)
class LatticeSum:
    """A sum of losses in a window of `places`, ascending, with its `chances` after tilting by `order`.

    `log_moment` is log M(order). A tilted probability is at most its chance plus `lost`; all chances together exceed
    them by 2e^−42 at most, and as little lies outside of the window. `log_outside` bounds log P(sum > last place),
    `rounding` the error of log M.
    """

    order: float
    log_moment: float
    places: Array
    chances: Array
    lost: float
    log_outside: float
    rounding: float

    def log_delta(self, epsilon: float) -> Bracket:
        """Return the bracket of log M − cε + log Σ (1 − e^{−x})·e^{−cx}·chance, x = place − ε > 0, ε = `epsilon`."""
        shift = 4 * UNIT * (abs(epsilon) + float(np.abs(self.places[[0, -1]]).max()))
        highest, lowest = self._sums(epsilon - shift), self._sums(epsilon + shift)
        size = self.log_moment - self.order * epsilon
        slack = self.rounding + 16 * UNIT * (self.order * (abs(epsilon) + float(np.abs(self.places[-1]))) + 1)
        outside = math.exp(min(700.0, self.log_outside - size))
        folded = math.exp(float(log_chernoff(np.array([self.order]))[0]) - _UNSEEN + 1)
        high = highest[0] + self.lost * highest[1] + outside + folded
        low = lowest[0] - self.lost * lowest[1] - folded
        return Bracket(log_of(low) + size - slack, log_of(high) + size + slack)

    def _sums(self, epsilon: float) -> tuple[float, float]:
        """Return Σ (1 − e^{−x})·e^{−cx}·chance, and the same sum without the chances."""
        first = int(np.searchsorted(self.places, epsilon, side="right"))
        gaps = self.places[first:] - epsilon
        kernel = -np.expm1(-gaps) * np.exp(-self.order * gaps)
        return float(kernel @ self.chances[first:]), float(kernel.sum())


class _Window(NamedTuple):
    """An order, log M there, where the tilted sum lies, and a bound on log P(sum > high), not tilted."""

    order: float
    log_moment: float
    low: float
    high: float
    log_outside: float


def lattice_of(total: Total) -> tuple[float, float] | None:
    """Return offset and span of a lattice of decimals on which every sum of losses lies; None without one."""
    lattices = total.lattices()
    if not lattices:
        return None
    span = lattices[0].span
    for lattice in lattices[1:]:
        top = math.gcd(span.numerator * lattice.span.denominator, lattice.span.numerator * span.denominator)
        span = Fraction(top, span.denominator * lattice.span.denominator)
    if span < _FINEST:
        return None
    offset = sum((lattice.times * lattice.offset for lattice in lattices), Fraction(0))
    return float(offset % span), float(span)


def lattice_sum(total: Total, order: float, epsilon: float) -> LatticeSum | None:
    """Return the sum of many losses on a lattice, tilted by about `order`; None of few, without one, or if too long."""
    rows, lattice = total.atoms(), lattice_of(total)
    if rows is None or lattice is None or sum(len(values) for values, *_ in rows) < _MANY:
        return None
    offset, span = lattice
    windows = [_window(rows, each) for each in _orders(total, order, epsilon)]
    order, log_moment, low, high, log_outside = min(windows, key=lambda window: window.high - window.low)
    first, last = math.floor((low - offset) / span), math.ceil((high - offset) / span)
    n_nodes = 2 ** max(4, math.ceil(math.log2(last - first + 2)) - 1)
    if 2 * n_nodes > _MOST:
        return None
    heights = math.pi / span / n_nodes * np.arange(n_nodes + 1)
    line = total.line(order, heights)
    moments = np.exp(line.real + 1j * (line.imaginary - heights * offset))
    chances = np.roll(np.fft.irfft(np.conj(moments), 2 * n_nodes), -(first % (2 * n_nodes)))
    errors = line.rounding + 8 * UNIT * (2 + np.abs(line.imaginary) + math.log2(n_nodes))
    lost = float(np.abs(moments) @ np.expm1(np.minimum(errors, 600.0))) / n_nodes
    places = offset + span * np.arange(first, first + 2 * n_nodes)
    return LatticeSum(order, log_moment, places, chances, lost, log_outside, total.rounding(order))


def _orders(total: Total, order: float, epsilon: float) -> list[float]:
    """Return orders near this one where the bound on δ is not much larger than the least: some have short windows."""
    orders = order * 2.0 ** (np.arange(-6, 16) / 2)
    orders = orders[orders <= max(order, total.largest_order)]
    sizes = total.log_moment(orders) + log_chernoff(orders) - orders * epsilon
    return [float(each) for each in orders[sizes <= sizes.min() + _SPARE]]


def _window(rows: Rows, order: float) -> _Window:
    """Return ends beyond each of which, by Chernoff, the tilted probability is e^−42 at most."""
    steps = order * np.geomspace(0.02, 50, 30)
    log_moment = float(_log_moments(rows, np.array([order]))[0])
    below, above = _log_moments(rows, order - steps), _log_moments(rows, order + steps)
    low = float(((log_moment - below - _UNSEEN) / steps).max())
    high = float(((above - log_moment + _UNSEEN) / steps).min())
    return _Window(order, log_moment, low, high, float((above - (order + steps) * high).min()))


def _log_moments(rows: Rows, orders: Array) -> Array:
    """Return log M at each of the `orders`, also negative ones."""
    moments = []
    for values, weights, count in rows:
        exponents = np.multiply.outer(orders, values)
        largest = exponents.max(axis=1)
        moments.append(count * (largest + np.log(np.exp(exponents - largest[:, None]) @ weights)))
    return np.array(np.sum(moments, axis=0))
