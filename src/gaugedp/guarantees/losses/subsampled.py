"""Losses of Gaussian noise on a Poisson sample.

Errors of the quadrature. Let A(x) = Σ Bin(a, q)(i)·e^{(2ix − i²)/2σ²}, B(x) the same sum for b at −x, and M(z) =
E[A^{1+z}·B^{−z}] over x ∼ N(0, σ²), z = c + it, b₀ = 46 + 2·log(1/q).

1. For |Im x| = θσ², θ < π, A has no zero, arg A has the sign of Im x, |arg A| ≤ aθ, and cos(θ/2)^a·A(Re x) ≤ |A(x)| ≤
   A(Re x). With w = e^{x/σ²}, A is the polynomial (1 − q + qw)^a after its coefficients are multiplied by e^{−i²/2σ²}.
   These numbers are a multiplier sequence, so all zeros remain real (Pólya and Schur 1914), and negative, as all
   coefficients are positive. So A is a product with one factor α + βw for each unit, where α, β > 0, and |α + βe^{iθ}|²
   = (α + β)² − 4αβ·sin²(θ/2). The argument of B has the opposite sign.
2. Step. So the modulus of the integrand integrates on such a line to at most N = cos(θ/2)^{−bc}·e^{θ²σ²/2 +
   (a+b)|t|θ}·M(c). The trapezoid rule of step h errs by at most 2N/(e^{2πθσ²/h} − 1) (Trefethen and Weideman 2014, The
   exponentially convergent trapezoidal rule, theorem 5.1). This is 2e^{−46}·q²·M(c) for h = 2πθσ²/(b₀ + θ²σ²/2 +
   (a+b)|t|θ − bc·log cos(θ/2)).
3. Nodes. Let d²/2σ² = b₀ + (1 + c)·log(a + 1) − bc·log(1 − q). The nodes from −b − d to a(1 + c) + d omit at most
   e^{−46}·q² of M(c) on either side: A is at most a + 1 times its largest term, and B ≥ (1 − q)^b. M(c) is at least the
   sum of the moments of the terms of A to the power 1 + c, because powers above 1 of a sum exceed the sum of powers,
   and the pair with b = 0 is dominated.
4. Tail. M does not change if x moves to the line Im x = θσ², as the integrand is analytic and vanishes at both ends. So
   |M(c + it)| ≤ e^{θ²σ²/2}·E[|A|^{1+c}·|B|^{−c}·e^{−t(arg A − arg B)}], which falls in t. Its sums, with 37 for b₀,
   lose at most e^{θ²σ²/2 − 36}·M(c), which is added. θ ≤ 3/max(a, b), so that no argument wraps. For large t the
   moments are computed on this line, too. There N = e^{2θ²σ²}·cos(θ)^{−bc}·M(c) for every t.
5. Large c. M(c) ≤ (1 − q)^{−bc}·(Σ Bin(a, q)(i)·e^{i²c/2σ²})^{1+c}, by Minkowski's inequality for the norm of A of
   order 1 + c.
"""

import math
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from gaugedp._internal.bisection import root_of
from gaugedp._internal.rounding import NORMAL_TAIL, PARAMETERS, UNIT
from gaugedp.accountant.loss import Array, Line, PrivacyLoss, blocks, line_of, log_sum, normal_cells
from gaugedp.accountant.rounding import LEAST_SURE
from gaugedp.guarantees.losses.finite import tilted_line
from gaugedp.guarantees.losses.power_means import log_means

Row = tuple[float, float, int, int]
_UNSEEN = 36.0  # quadrature errors of a moved modulus are below e^−36 of the moment at the axis
START_POINTS = 4096  # of the search for the place of a loss


class SubsampledPrivacyLoss(PrivacyLoss):
    """Losses of subsampled Gaussian noise, with rows (q, σ, a, b).

    The pair is P = Σ Bin(a, q)(i)·N(i, σ²) against Q = Σ Bin(b, q)(j)·N(−j, σ²). With r = dP/dQ the loss is log r under
    P, and M(z) = E_Q[r^{1+z}] is computed by the trapezoid rule over N(0, σ²). (a, b) is (1, 0) if a unit is removed,
    (0, 1) if one is added.
    """

    symmetric: ClassVar[bool] = False

    def __init__(self, rows: list[tuple[Any, ...]], counts: list[int]) -> None:
        super().__init__(rows, counts)
        self._known: list[dict[float, float]] = [{} for _ in rows]  # log M of each row at the orders asked for
        self._tails: dict[float, list[Tail]] = {}  # of each row, by their order

    def log_moment(self, orders: Array) -> Array:
        """Return the sum of log M, above `largest_order` a bound."""
        return np.asarray(self.counts @ self._moments(np.asarray(orders).tolist()))

    def _moments(self, orders: list[float]) -> Array:
        """Return the cached log M of shape (rows, orders)."""
        for row, known in zip(self.rows, self._known, strict=True):
            missing = [order for order in orders if order not in known]
            if missing:
                known.update(zip(missing, _log_moments(np.array(missing), *row).tolist(), strict=True))
        return np.array([[known[order] for order in orders] for known in self._known])

    def _at(self, order: float) -> Iterable[tuple[float, Row]]:
        return zip(self._moments([order])[:, 0].tolist(), self.rows, strict=True)

    def line(self, order: float, heights: Array) -> Line:
        """Return the line of the tilted quadrature nodes."""
        rows = zip(self._at(order), self.counts, strict=True)
        lines = (_line(order, at_axis, heights, row).times(n) for (at_axis, row), n in rows)
        return Line.sum(lines, heights)

    def rounding(self, orders: Array) -> Array:
        """Return a bound for rounding and the quadrature."""
        rates = np.array([row[0] for row in self.rows])
        quadrature = 1e-19 * float(self.counts @ rates**2) * np.minimum(orders, 1.0)
        return 1e3 * UNIT * self.log_moment(orders) + quadrature

    @property
    def largest_order(self) -> float:
        """The largest order for which quadrature is used."""
        return min(_largest_order(std) for _, std, *_ in self.rows)

    @property
    def largest(self) -> float:
        """−Σ b·log(1 − q) if nothing is removed, else infinity."""
        if any(removed for _, _, removed, _ in self.rows):
            return math.inf
        rows = zip(self.rows, self.counts, strict=True)
        return -math.fsum(count * added * math.log1p(-rate) for (rate, _, _, added), count in rows)

    def log_tail(self, order: float, height: float, until: float = math.inf) -> float:  # noqa: ARG002
        """Bound |M| on contours x + iθσ², where |r^{it}| = e^{−t·arg r} falls in t, by the best of several θ."""
        if order not in self._tails:
            self._tails[order] = [_tail(order, log_moment, *row) for log_moment, row in self._at(order)]
        return float(self.counts @ np.array([tail.bound(height) for tail in self._tails[order]]))

    def exact_delta(self, epsilon: float) -> float | None:
        """Return the profile of one release, or None if digits cancel."""
        return _delta(epsilon, *self.rows[0]) if self.times == [1] else None

    def cells(self, edges: Array) -> list[tuple[Array, Array, int]]:
        """Return the probabilities of cells of x."""
        return [(*_cells(edges, *row), n) for row, n in zip(self.rows, self.times, strict=True)]

    @property
    def work(self) -> int:
        """300 nodes per unit of a row."""
        return 300 * sum(removed + added for _, _, removed, added in self.rows)


def _line(order: float, log_moment: float, heights: Array, row: Row) -> Line:
    _, std, removed, added = row
    # 24.0: above this height, over the turn, the contour of x is moved
    high = heights > 24.0 / _turn(std, max(removed, added))
    flat = heights[~high]
    loss, tilted = _tilted(order, float(flat.max(initial=0.0)), *row)
    near = tilted_line(loss, tilted, flat, 1e3)
    if not high.any():
        return near
    far = _moved_line(order, log_moment, heights[high], row)
    return Line(*(np.concatenate(pair) for pair in zip(near, far, strict=True)))


def _log_moments(orders: Array, rate: float, std: float, removed: int, added: int) -> Array:
    # 20.0: orders up to so many deviations share their nodes, then those up to four times as large, and so on
    logs, sizes = np.empty(len(orders)), np.log2(1 + orders / (20.0 * std)) // 2
    beyond = orders > _largest_order(std)
    logs[beyond] = [_log_bound(order, rate, std, removed, added) for order in orders[beyond].tolist()]
    for size in set(sizes[~beyond].tolist()):
        like = np.flatnonzero(~beyond & (sizes == size))
        x, log_weights = _nodes(float(orders[like].max()), 0.0, rate, std, removed, added)
        above, below = _log_mixture(x, rate, std, removed), _log_mixture(-x, rate, std, added)
        for block in blocks(len(like), len(x)):
            logs[like[block]] = log_means(orders[like[block], None], above - below, log_weights + below)
    return logs


def _largest_order(std: float) -> float:
    return min(2000.0 * max(1.0, std), max(20.0, 5000.0 * std**2))


@lru_cache
def _turns(std: float) -> tuple[Array, Array]:
    """Return shifts of contours over σ², with costs per added unit."""
    turns = np.geomspace(min(1e-3, 0.1 / std), 3.0, 16)
    return turns, -np.log(np.cos(turns / 2))


def _log_bound(order: float, rate: float, std: float, removed: int, added: int) -> float:
    """Bound log M by norms; dQ is at least (1 − q)^b of N(0, σ²)."""
    log_chances, k = _log_chances(removed, rate)[1:], np.arange(1, removed + 1)
    scale = order / (2 * std**2)
    if math.isinf(removed**2 * scale):
        return math.inf
    grown = k**2 * (scale if removed else 0.0)
    terms = log_chances + grown
    if terms.max(initial=0.0) < 30:  # the norm may be near 1, also if a rare term has grown much
        changes = np.where(grown < 30, np.exp(log_chances) * np.expm1(np.minimum(grown, 30.0)), np.exp(terms))
        log_norm = math.log1p(float(changes.sum()))
    else:
        log_norm = log_sum(np.append(terms, removed * math.log1p(-rate)))
    return (1 + order) * log_norm - order * added * math.log1p(-rate)


@lru_cache
def _log_chances(size: int, rate: float) -> Array:
    """Return log probabilities of 0, 1, …, `size` sampled units."""
    ways = np.array([math.log(math.comb(size, k)) for k in range(size + 1)])
    k = np.arange(size + 1)
    return ways + k * math.log(rate) + (size - k) * math.log1p(-rate)


def _delta(epsilon: float, rate: float, std: float, removed: int, added: int) -> float | None:
    """Return the profile of one release, rounded up, or None.

    It is P(x > t) − e^ε·Q(x > t), t the x whose loss is ε, and flat in t, so that the rounding of t matters less than
    that of the terms. None if it cancels or a tail is tiny.
    """

    def excess(x: float) -> float:
        at = np.array([x])
        return float((_log_mixture(at, rate, std, removed) - _log_mixture(-at, rate, std, added))[0]) - epsilon

    low, high = -NORMAL_TAIL * std - added, NORMAL_TAIL * std + removed
    if not excess(low) < 0 < excess(high):
        return None
    place = np.array([root_of(excess, low, high, 1e-14 * std) / std, math.inf])
    above, below = _between(place, rate, removed, 1 / std)[0], _between(place, rate, added, -1 / std)[0]
    if below < LEAST_SURE:
        return None
    below *= math.exp(min(epsilon, 700.0))
    slack = PARAMETERS * float(above + below)
    return float(above - below) + slack if slack < 1e-8 * float(above - below) else None


def _cells(edges: Array, rate: float, std: float, removed: int, added: int) -> tuple[Array, Array]:

    def losses(x: Array) -> Array:
        return _log_mixture(x, rate, std, removed) - _log_mixture(-x, rate, std, added)

    if removed + added == 1:
        places = _place(edges if removed else -edges, rate, std) * (1 if removed else -1)
    else:
        looked = np.linspace(-NORMAL_TAIL * std - added, NORMAL_TAIL * std + removed, START_POINTS)
        places = inverse(losses, looked, edges)
    ends = np.concatenate([[-math.inf], places / std, [math.inf]])
    return _between(ends, rate, removed, 1 / std), _between(ends, rate, added, -1 / std)


def _place(losses: Array, rate: float, std: float) -> Array:
    """Return the x at which log(1 − q + q·e^{(2x−1)/2σ²}) equals the `losses`; −∞ for losses that are too small.

    e^loss − (1 − q) is computed as e^loss − 1 + q, except for small e^loss, where the −1 would lose digits.
    """
    least, near = np.minimum(losses, 30.0), losses > -1
    with np.errstate(divide="ignore", over="ignore"):
        risen = np.where(near, np.expm1(least) + rate, np.exp(least) - (1 - rate))
        grown = np.where(losses > 30, losses, np.log(np.maximum(risen, 0.0)))
    return std**2 * (grown - math.log(rate)) + 0.5


def inverse(losses: Callable[[Array], Array], looked: Array, edges: Array) -> Array:
    """Return the places where increasing `losses` reach the `edges`.

    The search uses chords between the places `looked`, or halving. Every place is correct to 2^−22 of the smallest
    cell; edges outside the range of the losses give an end of `looked`.
    """
    values = losses(looked)
    after = np.clip(np.searchsorted(values, edges), 1, len(looked) - 1)
    low, high = looked[after - 1], looked[after]
    slopes = np.maximum(values[after] - values[after - 1], 1e-300) / (high - low)
    x = np.clip(low + (edges - values[after - 1]) / slopes, low, high)
    for _ in range(5):
        x = np.clip(x + (edges - losses(x)) / slopes, low, high)
    inside = (x > looked[0]) & (x < looked[-1])
    if np.abs(losses(x) - edges)[inside].max(initial=0.0) <= 2.0**-22 * np.diff(edges).min(initial=math.inf):
        return x
    for _ in range(30):
        middle = (low + high) / 2
        is_low = losses(middle) < edges
        low, high = np.where(is_low, middle, low), np.where(is_low, high, middle)
    return high


def _between(ends: Array, rate: float, size: int, shift: float) -> Array:
    """Return the probabilities of Σ Bin(`size`, q)(k)·N(k·`shift`, 1) between the `ends`."""
    total = np.zeros(len(ends) - 1)
    for k, chance in enumerate(np.exp(_log_chances(size, rate)).tolist()):
        total += chance * normal_cells(ends - k * shift)
    return total


def _log_mixture(x: Array, rate: float, std: float, size: int) -> Array:
    """Return log of A = Σ Bin(`size`, q)(i)·e^{(2ix−i²)/2σ²}, by A − 1 unless A is small."""
    if size == 0:
        return np.zeros_like(x)
    k, log_chances = np.arange(1, size + 1)[:, None], _log_chances(size, rate)
    exponents = k * (2 * x - k) / (2 * std**2)
    change = np.exp(log_chances[1:]) @ np.expm1(np.minimum(exponents, 30.0))
    near = (exponents.max(axis=0) < 30) & (change > -0.5)
    if near.all():
        return np.asarray(np.log1p(change))
    logs = np.logaddexp.reduce(log_chances[1:, None] + exponents, axis=0)
    return np.where(near, np.log1p(np.maximum(change, -0.5)), np.logaddexp(log_chances[0], logs))


def _turned_mixture(x: Array, turns: Array | float, rate: float, std: float, size: int) -> Array:
    """Return log A at x + iθσ², θ the `turns`, of shape (turns, x); arguments are between 0 and `size`·θ."""
    if size == 0:
        return np.zeros((np.size(turns), len(x)), dtype=complex)
    logs = [
        log_chance + k * (2 * x - k) / (2 * std**2) + 1j * k * np.reshape(turns, (-1, 1))
        for k, log_chance in enumerate(_log_chances(size, rate).tolist())
    ]
    largest = np.max([log.real for log in logs], axis=0)
    return np.log(np.sum([np.exp(log - largest) for log in logs], axis=0)) + largest


def _nodes(order: float, height: float, rate: float, std: float, removed: int, added: int) -> tuple[Array, Array]:
    """Return nodes and log weights of the trapezoid rule for N(0, σ²), at z = `order` + i·`height`."""
    turns, bends = _turns(std)
    turned = height * (removed + added) * turns + order * added * bends
    steps = 2 * math.pi * turns * std**2 / (_digits(rate) + (turns * std) ** 2 / 2 + turned)
    step = float(steps.max())
    first, last = _span(order, rate, std, removed, added)
    x = step * np.arange(math.floor(first / step), math.ceil(last / step) + 1)
    return x, math.log(step / (std * math.sqrt(2 * math.pi))) - x**2 / (2 * std**2)


def _span(order: float, rate: float, std: float, removed: int, added: int) -> tuple[float, float]:
    """Return an interval with tilted mass beyond it below e^−46·q²."""
    grown = (1 + order) * math.log(removed + 1) - order * added * math.log1p(-rate)
    width = std * math.sqrt(2 * (_digits(rate) + grown))
    return -width - added, width + (order + 1) * removed


def _digits(rate: float) -> float:
    return 46.0 - 2 * math.log(rate)  # quadrature errors are below e^−46·q², the size of log M


def _tilted(order: float, height: float, rate: float, std: float, removed: int, added: int) -> tuple[Array, Array]:
    x, log_weights = _nodes(order, height, rate, std, removed, added)
    above, below = _log_mixture(x, rate, std, removed), _log_mixture(-x, rate, std, added)
    logs = log_weights + (1 + order) * above - order * below
    tilted = np.exp(logs - logs.max())
    counts = tilted > UNIT**2
    return (above - below)[counts], tilted[counts] / tilted[counts].sum()


class Tail(NamedTuple):
    """Bounds on |M(c + it)/M(c)| on several contours.

    Each is Σ e^(`logs` − t·`arguments`), plus its quadrature error `lost`.
    """

    logs: Array
    arguments: Array
    lost: Array

    def bound(self, height: float) -> float:
        """Return the least log bound for t ≥ `height`."""
        logs = self.logs - height * self.arguments
        largest = logs.max(axis=1)
        sums = np.log(np.exp(logs - largest[:, None]).sum(axis=1)) + largest
        return min(0.0, float(np.logaddexp(sums, self.lost).min()) + 1e-6)


def _tail(order: float, log_moment: float, rate: float, std: float, removed: int, added: int) -> Tail:
    turns = _turns(std)[0]
    turns = turns[turns <= _turn(std, max(removed, added))]
    step = _tail_step(turns, std, order * added)
    x = np.arange(*_span(order, rate, std, removed, added), step)
    log_weights = math.log(step / (std * math.sqrt(2 * math.pi))) - x**2 / (2 * std**2)
    above = _turned_mixture(x, turns, rate, std, removed)
    below = np.conj(_turned_mixture(-x, turns, rate, std, added))
    spread = (turns * std) ** 2 / 2
    logs = (1 + order) * above.real - order * below.real + log_weights + (spread - log_moment)[:, None]
    return Tail(logs, (above - below).imag, spread - _UNSEEN)


def _tail_step(turns: Array, std: float, falling: float) -> float:
    """Return a step for the moduli at all `turns`.

    The strips have half-width aσ², a ≤ θ or a ≤ π/2 − θ, θ a turn. There e^{−t·arg r} continues to at most 1, and
    |r|^{−c}, c = `falling`, to (½(cos θ + cos a))^{−c/2}·r^{−c}.
    """
    theta, a = turns[:, None], _turns(std)[0]
    bend = -falling / 2 * np.log((np.cos(theta) + np.cos(np.minimum(a, 1.5))) / 2)
    steps = 2 * math.pi * a * std**2 / (_UNSEEN + 1 + (a * std) ** 2 / 2 + bend)
    return float(np.where(a <= np.maximum(theta, math.pi / 2 - theta), steps, 0.0).max(axis=1).min())


def _turn(std: float, size: int) -> float:
    """Return the shift of the contour over σ² for large heights."""
    return min(1.5, 2 / std, 3.0 / size)  # below π: no argument of a mixture wraps


def _moved_line(order: float, log_moment: float, heights: Array, row: Row) -> Line:
    """Return the line at large heights, by a shifted contour.

    On x + iθ′σ², 0 < θ′ < 2θ, the integrand is at most e^{(θ′σ)²/2}·cos(θ′/2)^{−bc} times the tilted weights.
    """
    rate, std, removed, added = row
    turn = min(_turn(std, max(removed, added)), 0.7 if added else math.inf)
    bend = -order * added * math.log(math.cos(turn)) if added else 0.0
    step = 2 * math.pi * turn * std**2 / (_digits(rate) + 2 * (turn * std) ** 2 + bend)
    x = np.arange(*_span(order, rate, std, removed, added), step)
    above = _turned_mixture(x, turn, rate, std, removed)[0]
    below = np.conj(_turned_mixture(-x, turn, rate, std, added)[0])
    logs = math.log(step / (std * math.sqrt(2 * math.pi))) - (x + 1j * turn * std**2) ** 2 / (2 * std**2)
    logs = logs + (order + 1) * above - order * below - log_moment
    size = float(np.exp(logs.real).sum())
    ratio = np.empty(len(heights), dtype=complex)
    for block in blocks(len(heights), 2 * len(x)):
        ratio[block] = np.exp(logs + 1j * heights[block, None] * (above - below)).sum(axis=1)
    return line_of(ratio.real[None] - 1, ratio.imag[None], np.full((1, len(heights)), 2e3 * size), np.ones(1))
