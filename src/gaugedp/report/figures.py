"""Numbers for reports, with minus signs and powers of ten."""

import math
from collections.abc import Iterator

from gaugedp._internal import numbers as _numbers
from gaugedp._internal.language import localised, say, typeset
from gaugedp.guarantees import Guarantee


def plain(value: float, decimals: int = 0) -> str:
    """Format a number with thousands separators."""
    return typeset(_numbers.nearest(value, decimals))


def short(value: float) -> str:
    """Format at most four significant digits, such as 83.43 or 12,340."""
    return typeset(_numbers.readable(value))


def at_most(value: float) -> str:
    """Round a claimed or spent number up to few digits."""
    return typeset(_numbers.digits_up(value))


def at_least(value: float) -> str:
    """Round a proved or remaining number down to few digits."""
    return typeset(_numbers.digits_down(value))


def scientific(value: float) -> str:
    """Format as m × 10ᵏ."""
    return typeset(_numbers.scientific(value))


def answer(estimate: float, low: float, high: float) -> tuple[str, str, str]:
    """Format an estimate and its interval, rounded outwards."""
    return next(answers([estimate], [low], [high]))


def in_a_sentence(*triples: tuple[float, float, float]) -> list[tuple[str, ...]]:
    """Format estimates and intervals with fewer decimals, which a reader remembers: the same for all."""
    places = min(_places(*triple) for triple in triples)
    return [
        (plain(estimate, places), *map(typeset, _numbers.interval(low, high, places)))
        for estimate, low, high in triples
    ]


def _places(estimate: float, low: float, high: float) -> int:
    # digits of the half-width: two in a sentence
    few, usual = (_numbers.decimals([estimate], [low], [high], digits) for digits in (2, 3))
    readable = 3 - math.floor(math.log10(abs(estimate) or 1.0))
    return max(min(few, readable), min(usual, 0))


def answers(
    estimate: _numbers.Column, lower: _numbers.Column, upper: _numbers.Column
) -> Iterator[tuple[str, str, str]]:
    """Yield formatted answers with intervals, rounded outwards."""
    for middle, low, high in _numbers.answers(estimate, lower, upper):
        yield typeset(middle), typeset(low), typeset(high)


def percent(share: float) -> str:
    """Format a share as a percentage, such as 95%."""
    return say("numbers.percent", number=localised(f"{100 * share:g}"))


def percent_up(share: float) -> str:
    """Format a percentage, rounded up to a tenth."""
    return percent(min(1.0, math.ceil(share * 1000 - 1e-9) / 1000))


def factor_up(epsilon: float) -> str:
    """Format e^epsilon, rounded up. The part above 1 has at least two digits."""
    if epsilon > 690:
        return say("privacy.astronomical")
    if 0 < epsilon < 0.7:
        decimals = 1 - math.floor(math.log10(math.expm1(epsilon)))
        return plain(1 + math.ceil(math.expm1(epsilon) * 10.0**decimals - 1e-9) / 10.0**decimals, decimals)
    return _three_digits_up(math.exp(epsilon))


def epsilon_at(guarantee: Guarantee, delta: float) -> str:
    """Format ε at δ to three digits, rounded up."""
    value = guarantee.epsilon(delta)
    return _three_digits_up(value) if 0 < value < math.inf else short(value)


def _three_digits_up(value: float) -> str:
    unit = 10.0 ** (2 - math.floor(math.log10(value)))
    return short(math.ceil(value * unit - 1e-9) / unit)
