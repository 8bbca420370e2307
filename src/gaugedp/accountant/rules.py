"""Four rules of composition and their least bound."""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Literal

import numpy as np

from gaugedp._internal.validate import decimal
from gaugedp.accountant.bound import Bound
from gaugedp.accountant.convert import Converted, renyi_to_delta, renyi_to_epsilon
from gaugedp.accountant.loss import Array
from gaugedp.accountant.part import Cost, Part
from gaugedp.accountant.region import Region
from gaugedp.accountant.rounding import LARGEST, above, down, up, up_decimal
from gaugedp.accountant.tight import Certified, closed_bracket, tight_delta, tight_epsilon
from gaugedp.accountant.total import Total, directions

Method = Literal["basic", "advanced", "rdp", "tight"]
Rule = Callable[[Part, float], Bound]
METHODS: tuple[Method, ...] = ("basic", "advanced", "rdp", "tight")


def least_epsilon(guarantee: Part, delta: float, method: Method | None) -> Bound:
    """Return the ε of `method`, or the least of all."""
    if delta == 1:
        return Bound(0.0, method or "basic")
    return _answer(guarantee, delta, method, _EPSILONS, guarantee.exact_epsilon)


def least_delta(guarantee: Part, epsilon: float, method: Method | None) -> Bound:
    """Return the δ of `method`, or the least of all."""
    return _answer(guarantee, epsilon, method, _DELTAS, guarantee.exact_delta)


def _answer(
    guarantee: Part,
    given: float,
    method: Method | None,
    rules: Mapping[Method, Rule],
    closed: Callable[[float], float | None],
) -> Bound:
    if _uncountable(guarantee):
        return rules["basic"](guarantee, given)
    if method is not None:
        return rules[method](guarantee, given)
    if closed(given) is not None:
        return rules["tight"](guarantee, given)
    return _least(guarantee, lambda rule: rules[rule](guarantee, given))


def _uncountable(guarantee: Part) -> bool:
    """Return True if only the plain sum can count the releases."""
    return max([count for _, count in guarantee.components()], default=0) > 10**150


def _least(guarantee: Part, rule: Callable[[Method], Bound]) -> Bound:
    tight = rule("tight")
    exact = all(part.pair_has_curve for part, _ in guarantee.components())  # else the Rényi curve may be lower
    # 1e-3: relative width of a tight answer that leaves nothing to the others
    if exact and tight.method == "tight" and math.isfinite(tight) and tight.low >= tight * (1 - 1e-3):
        return tight
    others = [] if tight.method == "rdp" else [rule("rdp")]
    parts = tuple(guarantee.components())
    is_alone = len(parts) == 1 and parts[0][1] == 1 and not guarantee.is_chain  # basic composition of one is "tight"
    # 32: different guarantees, up to which each may be asked by itself
    if guarantee.cost("approx") is not None or (len(parts) <= 32 and not is_alone):
        others += [rule("basic"), rule("advanced")]
    return min([tight, *others], key=lambda bound: (float(bound), METHODS.index(bound.method)))


# -- tight -----------------------------------------------------------------------------------------


def _tight_epsilon(guarantee: Part, delta: float) -> Bound:
    closed = guarantee.exact_epsilon(delta)
    if closed is not None:
        return Bound(closed, "tight", max(0.0, closed * (1 - 1e-9) - 1e-11) if _is_certified(guarantee) else 0.0)
    totals = directions(guarantee.components())
    if any(total.others for total in totals):
        return _rdp_epsilon(guarantee, delta)
    if delta == 0:
        largest = max(math.inf if total.impossible > 0 else total.largest for total in totals)
        return Bound(min(guarantee.renyi(math.inf), largest), "tight")
    with_low = all(total.is_certified for total in totals)
    bracket = _conditional_epsilon(totals[0], delta, with_low)
    for total in totals[1:]:
        if not _is_enough(total, delta, bracket.high):
            bracket = Certified(*map(max, bracket, _conditional_epsilon(total, delta, with_low)))
    return Bound(bracket.high, "tight", max(0.0, bracket.low) if with_low else 0.0)


def _is_certified(guarantee: Part) -> bool:
    """Return True if every pair is its mechanism's own, see `Bound`."""
    return all(part.pair_is_least for part, _ in guarantee.components())


def _is_enough(total: Total, delta: float, epsilon: float) -> bool:
    if total.impossible == 0 and total.largest <= epsilon:
        return True
    spare = _left(total, delta)
    return spare > 0 and tight_delta(total, epsilon, least=spare, with_low=False).high <= spare


def _conditional_epsilon(total: Total, delta: float, with_low: bool) -> Certified:
    spare = _left(total, delta)
    if spare <= 0:
        return Certified(total.largest if spare == 0 else math.inf, 0.0)
    bracket = tight_epsilon(total, spare, with_low)
    return Certified(min(bracket.high, total.largest), bracket.low)


def _left(total: Total, delta: float) -> float:
    """Return the δ left for finite losses, rounded down; negative if none."""
    if total.impossible == 0:
        return delta
    spare = decimal(delta) - total.impossible
    return down(spare / (1 - total.impossible)) if spare >= 0 and total.impossible < 1 else -1.0


def _tight_delta(guarantee: Part, epsilon: float) -> Bound:
    closed = guarantee.exact_delta(epsilon)
    if closed is not None:
        largest = guarantee.renyi(math.inf)
        lost = 2.0**-49 * (1 + largest) if math.isfinite(largest) else 0.0  # e^ε errs by 1.25·2^−50, losses by 2^−50
        return Bound(closed, "tight", closed_bracket(closed, epsilon, lost).low)
    totals = directions(guarantee.components())
    if any(total.others for total in totals):
        return _rdp_delta(guarantee, epsilon)
    best, with_low = Certified(0.0, 0.0), all(total.is_certified for total in totals)
    for total in totals:
        least, is_possible = 0.0 if total.impossible else best.low, epsilon < total.largest
        finite = tight_delta(total, epsilon, None, least, with_low) if is_possible else Certified(0.0, 0.0)
        best = Certified(*map(max, best, _with_impossible(total, finite)))
    return Bound(best.high, "tight", best.low if with_low else 0.0)


def _with_impossible(total: Total, finite: Certified) -> Certified:
    if total.impossible == 0:
        return finite
    chance = above(total.impossible)
    high, low = (chance + (1 - chance) * number for number in finite)
    return Certified(min(1.0, up(high) if finite.high > 0 else chance), low * (1 - 1e-12))


# -- Rényi -----------------------------------------------------------------------------------------


def _rdp_epsilon(guarantee: Part, delta: float) -> Bound:
    bounds = []
    for total, reverse in _curves(guarantee):
        spare = _left(total, delta)
        least = renyi_to_epsilon(total.log_moment_up, spare if spare > 0 else 0.0, total.knots)
        is_lossless = _is_lossless(total, reverse) and 0 < spare < 1
        bounds.append(_lossless_epsilon(guarantee, total, reverse, spare, least) if is_lossless else least.value)
    return Bound(max(bounds), "rdp")


def _lossless_epsilon(guarantee: Part, total: Total, reverse: Total, delta: float, least: Converted) -> float:
    """Return the ε by the region at the orders for δ at this ε, which differ for large δ."""
    epsilon = _around(guarantee, total, reverse, least).epsilon(delta, least.value)
    again = renyi_to_delta(total.log_moment_up, epsilon, total.knots)
    if _place(again) == _place(least):
        return epsilon
    return _around(guarantee, total, reverse, again).epsilon(delta, epsilon)


def _rdp_delta(guarantee: Part, epsilon: float) -> Bound:
    bounds = []
    for total, reverse in _curves(guarantee):
        least = renyi_to_delta(total.log_moment_up, epsilon, total.knots)
        least_value = least.value
        if _is_lossless(total, reverse):
            least_value = _around(guarantee, total, reverse, least).delta(epsilon, least_value)
        bounds.append(_with_impossible(total, Certified(least_value, 0.0)).high)
    return Bound(max(bounds), "rdp")


def curve_region(guarantee: Part, orders: Array) -> list[Region]:
    """Return the regions of the Rényi curve at `orders` (minus 1), by direction."""
    return [_region(guarantee, total, reverse, orders) for total, reverse in _curves(guarantee)]


def _curves(guarantee: Part) -> list[tuple[Total, Total]]:
    totals = directions(guarantee.components(), curves=True)
    return list(zip(totals, totals[::-1], strict=True))


def _is_lossless(total: Total, reverse: Total) -> bool:
    """Return True if the region of one event applies and helps.

    No loss may be infinite, and "tight" is better than any curve if every part has a known pair.
    """
    if total.impossible or reverse.impossible:
        return False
    return any(part.dominating_pair(1) is None for part, _ in total.others)


def _around(guarantee: Part, total: Total, reverse: Total, best: Converted) -> Region:
    """Return the region near the best order; fixed powers of 2^⅒ make ε and δ consistent."""
    # orders on both sides of the best
    return _region(guarantee, total, reverse, 2.0 ** ((_place(best) + np.arange(-20, 20 + 1)) / 10))


def _place(best: Converted) -> int:
    return round(10 * math.log2(min(max(best.order, 1e-6), 1e6)))


def _region(guarantee: Part, total: Total, reverse: Total, orders: Array) -> Region:
    orders = np.unique([*total.knots, *orders])
    with np.errstate(all="ignore"):  # at huge orders, which give no bound if they overflow
        moments = [side.log_moment_up(orders) for side in (total, reverse)]
    if total.has_first_order:
        orders = np.concatenate([[0.0], orders])
        moments = [np.concatenate([[guarantee.renyi(1.0)], side]) for side in moments]
    known = np.isfinite(moments).any(axis=0)
    return Region(orders[known], np.array(moments)[:, known], guarantee.renyi(math.inf))


# -- basic and advanced ----------------------------------------------------------------------------


def _split(guarantee: Part) -> tuple[list[tuple[Cost, int]], list[tuple[Part, int]]]:
    """Return the parts that are (ε, δ)-DP, and the others."""
    charged, others = [], []
    for part, count in guarantee.components():
        cost = part.cost("approx")
        if cost is None:
            others.append((part, count))
        else:
            charged.append((cost, count))
    return charged, others


def _sums(charged: list[tuple[Cost, int]]) -> tuple[Fraction, Fraction]:
    """Return Σε and Σδ."""
    pairs = [(count * cost[0], count * cost[1]) for cost, count in charged]
    return sum((loss for loss, _ in pairs), Fraction(0)), sum((spent for _, spent in pairs), Fraction(0))


def _evenly(others: list[tuple[Part, int]], spare: float, least: Callable[[Part, float, Method], Bound]) -> float:
    share = spare / sum(count for _, count in others) * (1 - 2.0**-50)
    return math.fsum(count * least(part, share, "tight") for part, count in others)


def _basic_epsilon(guarantee: Part, delta: float) -> Bound:
    """Return Σε at Σδ; other parts share the remaining δ evenly, and groups use a chain."""
    chained = guarantee.chain_epsilon(delta)
    if chained is not None:
        return Bound(chained, "basic")
    charged, others = _split(guarantee)
    epsilon, spent = _sums(charged)
    spare = down(decimal(delta) - spent)
    if spare < 0 or epsilon > LARGEST or (others and (spare == 0 or _uncountable(guarantee))):
        return Bound(math.inf, "basic")
    if not others:
        return Bound(up_decimal(epsilon), "basic")
    return Bound(up(up_decimal(epsilon) + _evenly(others, spare, least_epsilon)), "basic")


def _basic_delta(guarantee: Part, epsilon: float) -> Bound:
    """Return Σδ if Σε ≤ ε; other parts share the rest evenly, and groups use a chain."""
    chained = guarantee.chain_delta(epsilon)
    if chained is not None:
        return Bound(chained, "basic")
    charged, others = _split(guarantee)
    loss, delta = _sums(charged)
    spare = down(decimal(epsilon) - min(loss, LARGEST))
    if spare < 0 or delta >= 1 or (others and _uncountable(guarantee)):
        return Bound(1.0, "basic")
    if not others:
        return Bound(above(delta), "basic")
    return Bound(min(1.0, up(up_decimal(delta) + _evenly(others, spare, least_delta))), "basic")


def _moments(charged: list[tuple[Cost, int]]) -> tuple[float, float, Fraction]:
    """Return Σε·tanh(ε/2), Σε² and Σδ, without underflow to 0."""
    losses = [(float(min(cost[0], LARGEST)), count) for cost, count in charged]
    least = math.ulp(0.0) if any(loss > 0 for loss, _ in losses) else 0.0
    drift = math.fsum(count * (loss * math.tanh(loss / 2)) for loss, count in losses)
    square = math.fsum(count * (loss * loss) for loss, count in losses)
    return max(drift, least), max(square, least), _sums(charged)[1]


def _advanced_epsilon(guarantee: Part, delta: float) -> Bound:
    """Return Σε·tanh(ε/2) + √(2·log(1/δ′)·Σε²) at δ′ = δ − Σδ (docs/theory/composition.md), or infinity."""
    charged, others = _split(guarantee)
    if others:
        return Bound(math.inf, "advanced")
    drift, square, spent = _moments(charged)
    spare = down(decimal(delta) - spent)
    if spare <= 0:
        return Bound(0.0 if square == 0 and spare == 0 else math.inf, "advanced")
    slack = -math.log(spare)
    return Bound(up(drift + math.sqrt(2 * slack) * math.sqrt(square)), "advanced")


def _advanced_delta(guarantee: Part, epsilon: float) -> Bound:
    """Return exp(−(ε − Σε·tanh(ε/2))²/(2Σε²)) + Σδ."""
    charged, others = _split(guarantee)
    if others:
        return Bound(1.0, "advanced")
    drift, square, deltas = _moments(charged)
    spent = above(min(deltas, Fraction(1)))
    if square == 0:
        return Bound(spent, "advanced")
    if epsilon <= drift:
        return Bound(1.0, "advanced")
    far = (epsilon - drift) / math.sqrt(square)
    exponent = far * far / 2
    return Bound(min(1.0, up(max(math.exp(-exponent * (1 - 1e-13)), math.ulp(0.0)) + spent)), "advanced")


_EPSILONS: Mapping[Method, Rule] = dict(
    zip(METHODS, (_basic_epsilon, _advanced_epsilon, _rdp_epsilon, _tight_epsilon), strict=True)
)
_DELTAS: Mapping[Method, Rule] = dict(
    zip(METHODS, (_basic_delta, _advanced_delta, _rdp_delta, _tight_delta), strict=True)
)
