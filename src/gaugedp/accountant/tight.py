"""Tight accountant: closed forms, exact sums or contours."""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple, Protocol

import numpy as np
import scipy

from gaugedp._internal.bisection import root_of
from gaugedp.accountant.atoms import explicit_distribution
from gaugedp.accountant.contour import (
    Bracket,
    Contour,
    Probes,
    is_enough,
    log_chernoff,
    log_of,
    on_a_lattice,
    on_the_line,
)
from gaugedp.accountant.loss import Array
from gaugedp.accountant.residues import residues
from gaugedp.accountant.rounding import LEAST_SURE, up
from gaugedp.accountant.small_compositions import FewLosses, few_losses, too_many
from gaugedp.accountant.subsampled_exact import blurred
from gaugedp.accountant.total import Total

_WORK = 4 * 10**6  # numbers on one contour
_LOWEST_ORDER = -9.0  # logarithm
_NODES, _NODES_OF_A_PERIOD = 2**17, 2**19
_NODES_OF_LINE, _NODES_OF_QUICK_LINE = (
    2**15,
    2**9,
)  # nodes of a line beyond which the losses of a few releases are summed instead
_ROUNDED = 1e12  # ε from which a closed profile is accurate to less than a millionth of δ
_STRIDES = (0.8, 0.2, 0.05, 0.0125, 0.003)  # in the logarithm of an order, on the way to the best
_AROUND = np.linspace(-1, 1, 49)  # strides
_UNKNOWN = Bracket(-math.inf, math.inf)
_SLOPE_STEP = 2.0**-30  # relative distance of two ε for a slope
_ORDER_EXCESS, _ORDER_DOUBLINGS = 3.0, 16  # an order may have e^3 times the least bound on δ, which is as near to 1
_SPREAD = 1e-6  # share of δ with which padding may exceed the allowance of the lower end
_END, _DOUBTED = 2.0**-36, 1.0  # of the largest loss; and the rounding of chances next to it, as a logarithm
_TRIES, _ACCEPTED_RATIO = 4, 0.99  # contours for one ε; a padded bracket this narrow is accepted


class Profile(Protocol):
    """Function from ε to bounds on log δ."""

    def log_delta(self, epsilon: float) -> Bracket:
        """Return the bracket of log δ."""


class Certified(NamedTuple):
    """Certified upper and lower bounds on the same number."""

    high: float
    low: float


def tight_epsilon(total: Total, delta: float, with_low: bool = True) -> Certified:
    """Return the bracket of the least ε at `delta` > 0.

    It is conditional on finite losses. Without `with_low` the lower end may be 0.
    """
    closed = total.exact_epsilon(delta)
    if closed is not None:
        return Certified(closed, max(0.0, closed * (1 - 1e-11) - 1e-12))
    exact = explicit_distribution(total) or residues(total) or blurred(total)
    if exact is not None:
        return solved(exact, math.log(delta), exact.largest)
    if math.log(delta) < _log_delta_near_largest(total):
        return Certified(total.largest, total.largest * (1 - _END))
    order, start = _rdp_order(total, math.log(delta))
    few, best = _few(total, order, start, math.log(delta), with_low), Certified(start, 0.0)
    if few is not None:
        best = solved(few, math.log(delta), start, with_low)
    is_enough = best.low > _ACCEPTED_RATIO * best.high or (few is not None and not with_low)
    return best if is_enough else _by_lines(total, math.log(delta), order, best)


def _log_delta_near_largest(total: Total) -> float:
    """Return a bound below log δ at 1 − e of the largest loss: log P(all exceed 1 − e/2 of their largest)."""
    if too_many(total) or not math.isfinite(total.largest):
        return -math.inf
    log_chance = log_of(-math.expm1(-total.largest * _END / 2)) - _DOUBTED
    for family in total.single_rows():
        cells = family.cells(np.array([family.largest / family.times[0] * (1 - _END / 2)]))
        log_chance += family.times[0] * log_of(float(cells[0][0][-1])) if cells else -math.inf
    return log_chance


def _by_lines(total: Total, log_delta: float, order: float, best: Certified) -> Certified:
    """Improve the bracket of ε by contours, each at an order that the previous one suggests."""
    largest, start = math.inf, best.high
    for _ in range(_TRIES):
        contour = _contour(total, order, start, log_delta)
        bracket = _solved_line(contour, log_delta, start)
        best = Certified(min(best.high, bracket.high), max(best.low, bracket.low))
        if contour.padding and bracket.low > _ACCEPTED_RATIO * bracket.high:
            break
        if contour.padding:  # just beyond the best order moments may explode, and steps would be tiny
            order, largest = order / 2, 0.95 * order
        elif bracket.high - bracket.low <= 1e-11 * bracket.high:
            break
        else:
            order, start = min(saddle(total, bracket.high, order), largest), bracket.high * (1 + 1e-9)
    return Certified(best.high, min(best.low, best.high))


def contour_for(total: Total, delta: float) -> Contour | None:
    """Return the contour of `tight_epsilon`, unless on a lattice or padded."""
    if total.exact_epsilon(delta) is not None or not total.families:
        return None
    order, start = _rdp_order(total, math.log(delta))
    contour = _contour(total, order, start, math.log(delta))
    return contour if contour.span is None and not contour.padding else None


def closed_bracket(delta: float, epsilon: float, lost: float = 0.0) -> Certified:
    """Return the bracket of a closed profile, for moderate ε with errors below a millionth of δ plus `lost`."""
    is_sure = delta > LEAST_SURE and epsilon < _ROUNDED
    return Certified(delta, max(0.0, delta * (1 - 1e-6) - lost) if is_sure else 0.0)


def tight_delta(
    total: Total, epsilon: float, order: float | None = None, least: float = 0.0, with_low: bool = True
) -> Certified:
    """Return the bracket of δ at `epsilon`.

    It is conditional on finite losses. `order` avoids the search. If δ is surely below `least`, the Rényi bound that
    shows it is returned. Without `with_low` the lower end may be 0.
    """
    closed = total.exact_delta(epsilon)
    if closed is not None:
        return closed_bracket(closed, epsilon)
    exact = explicit_distribution(total) or residues(total) or blurred(total)
    if exact is not None:
        return _exponentials(exact.log_delta(epsilon))
    order = saddle(total, epsilon) if order is None else order
    at_order = float(total.log_moment(np.array([order]))[0] + log_chernoff(np.array([order]))[0]) - order * epsilon
    if at_order < max(-700.0, log_of(least)):  # no float is below e^−700
        return _exponentials(Bracket(-math.inf, at_order))
    # 12.0: logarithm of how far below the Rényi bound δ may be
    few = _few(total, order, epsilon, min(at_order, 0.0) - 12.0, with_low)
    first = few.log_delta(epsilon) if few else _UNKNOWN
    if few and (first.high - first.low < 1 - _ACCEPTED_RATIO or not with_low):
        return _exponentials(first)
    return _exponentials(_refined(total, order, epsilon, min(at_order, first.high, 0.0), first))


def _refined(total: Total, order: float, epsilon: float, log_delta: float, best: Bracket = _UNKNOWN) -> Bracket:
    """Improve the bracket of log δ by further contours."""
    for _ in range(_TRIES):
        contour = _contour(total, order, epsilon, log_delta)
        bracket = _without_padding(contour, epsilon, contour.log_delta(epsilon))
        best = Bracket(max(best.low, bracket.low), min(best.high, bracket.high))
        if best.high - best.low < (1 - _ACCEPTED_RATIO if contour.padding else 1e-10):
            break
        order, log_delta = order / 2 if contour.padding else order, min(log_delta, bracket.high) - 5
    return best


def _exponentials(bracket: Bracket) -> Certified:
    high = up(math.exp(min(bracket.high, 0.0)), relative=2.0**-46) if bracket.high > -math.inf else 0.0
    low = math.exp(bracket.low)
    high = max(high, math.ulp(0.0) if bracket.high > -math.inf else 0.0)
    return Certified(min(1.0, high), low if low > LEAST_SURE else 0.0)


def _few(total: Total, order: float, epsilon: float, log_delta: float, with_low: bool = True) -> FewLosses | None:
    # 16: releases, up to which the sums are the quicker where no lower bound is asked for
    is_quick = not with_low and sum(sum(family.times) for family in total.families) <= 16
    n_nodes = min(_NODES_OF_QUICK_LINE if is_quick else _NODES_OF_LINE, _WORK // max(1, total.work))
    if (
        too_many(total)
        or _period(total, order, epsilon, log_delta)
        or is_enough(total, order, epsilon, log_delta, n_nodes)
    ):
        return None
    return few_losses(total, order, log_delta, with_low)


# -- which contour ---------------------------------------------------------------------------------


def _contour(total: Total, order: float, epsilon: float, log_delta: float) -> Contour:
    order = _with_longest_step(total, order, epsilon, log_delta)
    period = _period(total, order, epsilon, log_delta)
    if period is not None:
        return on_a_lattice(total, order, *period)
    n_largest = max(64, min(_NODES, _WORK // max(1, total.work)))
    return on_the_line(total, order, epsilon, log_delta, n_largest)


def _period(total: Total, order: float, epsilon: float, log_delta: float) -> tuple[Probes, float, float, int] | None:
    if total.lattice is None:
        return None
    (offset, span), probes = total.lattice, Probes(total, order)
    n_nodes = max(8, math.ceil(math.pi / span / probes.best_step(order, epsilon, log_delta)))
    is_short = n_nodes * total.period_work <= _WORK and n_nodes <= _NODES_OF_A_PERIOD
    return (probes, span, offset, n_nodes) if is_short else None


def _with_longest_step(total: Total, order: float, epsilon: float, log_delta: float) -> float:
    """Return the order with the fewest nodes; for δ near 1 it exceeds the best."""
    if log_delta < -_ORDER_EXCESS:
        return order
    orders = order * 2.0 ** np.arange(_ORDER_DOUBLINGS)
    orders = orders[orders <= max(order, total.largest_order)]
    bounds = total.log_moment(orders) + log_chernoff(orders) - orders * epsilon
    near = orders[bounds <= bounds[0] + _ORDER_EXCESS].tolist()
    return float(max(near, key=lambda each: Probes(total, each).best_step(each, epsilon, log_delta)))


def _rdp_order(total: Total, log_delta: float) -> tuple[float, float]:
    """Return the best Rényi order − 1, and its ε."""

    def converted(orders: Array, log_moments: Array) -> Array:
        return (log_moments + log_chernoff(orders) - log_delta) / orders

    order = _best_order(total, converted, math.sqrt(-2 * log_delta / _square(total)), 1, _STRIDES)
    at = np.array([order])
    least = float(converted(at, total.log_moment(at))[0]) + total.rounding(order) / order
    return order, max(least * (1 + 1e-9), 1e-15)


def saddle(total: Total, epsilon: float, near: float | None = None) -> float:
    """Return about the best Rényi order − 1 at `epsilon`."""

    def log_bound(orders: Array, log_moments: Array) -> Array:
        return log_moments + log_chernoff(orders) - orders * epsilon

    if near is not None:
        return _best_order(total, log_bound, near, 0, _STRIDES[1:])
    square = _square(total)
    near = (epsilon + math.hypot(epsilon, 2 * math.sqrt(square))) / (2 * square)
    return _best_order(total, log_bound, near, 0, _STRIDES)


def _square(total: Total) -> float:
    """Return the μ² of a Gaussian with the same moment at 1."""
    return max(float(total.log_moment(np.ones(1))[0]), 1e-290)


def _best_order(
    total: Total, objective: Callable[[Array, Array], Array], near: float, power: int, strides: Sequence[float]
) -> float:
    """Return roughly the best order of a unimodal objective.

    Any order gives a valid bound. The search descends from `near` by a stride, and again by shorter ones, until log δ,
    order^`power` times the objective, changes by less than 1.
    """
    largest, place = math.log(total.largest_order), math.log(max(near, 1e-300))
    for longest in strides:
        stride = min(longest, (largest - _LOWEST_ORDER) / 2)
        middle = min(max(place, _LOWEST_ORDER + stride), largest - stride)
        places = middle + stride * np.arange(-1, 2)
        moments = total.log_moment(np.exp(places))
        while True:
            values = objective(np.exp(places), moments)
            side = int(np.argmin(values)) - 1
            if side == 0 or not _LOWEST_ORDER < places[1] + 1.5 * side * stride < largest:
                break
            places, moments = places + side * stride, np.roll(moments, -side)
            moments[1 + side] = total.log_moment(np.exp(places[[1 + side]]))[0]
        place = _least_of_parabola(objective, places, moments)
        if (float(values.max()) - float(values[1])) * math.exp(place * power) < 1:
            break
    else:  # moments explode: no parabola
        place = float(places[1])
    return math.exp(place)


def _least_of_parabola(objective: Callable[[Array, Array], Array], places: Array, moments: Array) -> float:
    """Return the least place if log M/(c(c + 1)), constant for Gaussian noise, is e^parabola."""
    orders = np.exp(places)
    before, at, after = np.log(np.clip(moments / orders / (orders + 1), 1e-250, 1e250)).tolist()
    logs = at + _AROUND * (after - before) / 2 + _AROUND**2 * (before - 2 * at + after) / 2
    fine = places[1] + (places[1] - places[0]) * _AROUND
    orders = np.exp(fine)
    return float(fine[np.argmin(objective(orders, orders * (orders + 1) * np.exp(np.minimum(logs, 600.0))))])


# -- solving for ε ---------------------------------------------------------------------------------


def solved(profile: Profile, log_delta: float, start: float, with_low: bool = True) -> Certified:
    """Return the bracket of the ε at which the profile is `log_delta`."""
    root, high = _from_above(profile, log_delta, start)
    if high == 0 or not with_low:
        return Certified(high * (1 + 2.0**-51), 0.0)

    @cache
    def lacking(epsilon: float) -> float:
        return log_delta - profile.log_delta(epsilon).low

    slope = (lacking(root) - lacking(root * (1 - _SLOPE_STEP))) / _SLOPE_STEP
    first = max(0.55 * lacking(root) / slope, 2.0**-52) if 0 < slope < math.inf else 2.0**-52
    low = _moved(root, -1.0, lambda epsilon: lacking(epsilon) <= 0, first)
    return Certified(high * (1 + 2.0**-51), low * (1 - 2.0**-50))


def _solved_line(contour: Contour, log_delta: float, start: float) -> Certified:
    """Return the bracket of ε for a contour, without padding."""
    if not contour.padding:
        return solved(contour, log_delta, start)
    _, high = _from_above(contour, log_delta, start)
    return Certified(high, _low_of_padded(contour, high, log_delta) if high else 0.0)


def _from_above(profile: Profile, log_delta: float, start: float) -> tuple[float, float]:
    """Return about the ε of the upper end, and one surely beyond."""

    @cache
    def above(epsilon: float) -> float:
        return max(-50.0, min(50.0, profile.log_delta(epsilon).high - log_delta))

    if above(0.0) <= 0:
        return 0.0, 0.0
    gap = 1e-9
    while above(start) > 0:
        start, gap = start * (1 + gap) + 1e-300, 4 * gap
    root = root_of(above, 0.0, start)
    return root, _moved(root, 1.0, lambda epsilon: above(epsilon) <= 0)


def _moved(root: float, direction: float, is_met: Callable[[float], bool], first: float = 2.0**-52) -> float:
    """Return an ε from `root` on that meets the condition, or 0."""
    epsilon, gap = root, root * first
    while not is_met(epsilon):
        gap *= 2
        epsilon = root + direction * gap
        if epsilon <= 0:
            return 0.0
    return epsilon


def _spread(contour: Contour, log_delta: float) -> float:
    deviation = math.sqrt(contour.padding)
    return deviation * (deviation / 2 - float(scipy.special.ndtri_exp(log_delta + math.log(_SPREAD))))


def _low_of_padded(contour: Contour, high: float, log_delta: float) -> float:
    """Return a lower bound on ε: δ with the padding at ε + x is at most δ at ε plus P(padding > x)."""
    target = log_delta + math.log1p(_SPREAD)
    raised = _moved(high, -1.0, lambda epsilon: contour.log_delta(epsilon).low >= target, first=1e-7)
    return max(0.0, raised - _spread(contour, log_delta))


def _without_padding(contour: Contour, epsilon: float, bracket: Bracket) -> Bracket:
    if not contour.padding:
        return bracket
    high = min(bracket.high, 0.0)
    low = contour.log_delta(epsilon + _spread(contour, high)).low
    delta = math.exp(min(low, 0.0)) - _SPREAD * math.exp(high)
    return Bracket(log_of(delta), bracket.high)
