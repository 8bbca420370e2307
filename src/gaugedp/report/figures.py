"""Numbers as the report sets them: the digits of gaugedp._internal.numbers, with true minus signs and powers of ten."""

import math
import re
from collections.abc import Iterator

from gaugedp._internal import numbers as _numbers
from gaugedp.guarantees import Guarantee

_POWER = re.compile(r"(−?[\d.,]+)e([+-])0*(\d+)")
_RAISED = str.maketrans("-+0123456789", "⁻⁺⁰¹²³⁴⁵⁶⁷⁸⁹")


def typeset(text: str) -> str:
    """Return the text of a number with a true minus sign, and m × 10ᵏ for a power of ten."""
    signed = f"−{text[1:]}" if text.startswith("-") else text
    return _POWER.sub(_raised, signed)


def _raised(match: re.Match[str]) -> str:
    front, sign, power = match.groups()
    raised = f"{sign.removesuffix('+')}{power}".translate(_RAISED)
    return f"10{raised}" if front == "1" else f"{front} × 10{raised}"


def plain(value: float, decimals: int = 0) -> str:
    """Return the number with thousands separators and a true minus sign."""
    return typeset(_numbers.nearest(value, decimals))


def short(value: float) -> str:
    """Return at most four significant digits, such as 83.43, 12,340 or 2.1 × 10⁻⁷."""
    return typeset(_numbers.readable(value))


def at_most(value: float) -> str:
    """Return a number of at least `value`, which is claimed or spent, in few digits."""
    return typeset(_numbers.digits_up(value))


def at_least(value: float) -> str:
    """Return a number of at most `value`, which is proved or left, in few digits."""
    return typeset(_numbers.digits_down(value))


def scientific(value: float) -> str:
    """Return m × 10ᵏ."""
    return typeset(_numbers.scientific(value))


def answer(estimate: float, low: float, high: float) -> tuple[str, str, str]:
    """Return the three as text; the interval is rounded outwards."""
    return next(answers([estimate], [low], [high]))


def answers(
    estimate: _numbers.Column, lower: _numbers.Column, upper: _numbers.Column
) -> Iterator[tuple[str, str, str]]:
    """Yield the answers of a question with the ends of their intervals, which are rounded outwards."""
    for middle, low, high in _numbers.answers(estimate, lower, upper):
        yield typeset(middle), typeset(low), typeset(high)


def percent(share: float) -> str:
    """Return a share that people wrote as a percentage, such as 95 %."""
    return f"{100 * share:g}\u00a0%"


def percent_up(share: float) -> str:
    """Return a percentage, rounded up to a tenth."""
    return f"{min(100.0, math.ceil(share * 1000 - 1e-9) / 10):g}\u00a0%"


def factor_up(epsilon: float) -> str:
    """Return e^epsilon, rounded up, with two or more digits of what it is above 1."""
    if epsilon > 690:
        return "an astronomical number of"
    if 0 < epsilon < 0.7:
        decimals = 1 - math.floor(math.log10(math.expm1(epsilon)))
        return f"{1 + math.ceil(math.expm1(epsilon) * 10.0**decimals - 1e-9) / 10.0**decimals:.{decimals}f}"
    return _three_digits_up(math.exp(epsilon))


def epsilon_at(guarantee: Guarantee, delta: float) -> str:
    """Return ε at δ to three digits, rounded up."""
    value = guarantee.epsilon(delta)
    return _three_digits_up(value) if 0 < value < math.inf else short(value)


def _three_digits_up(value: float) -> str:
    unit = 10.0 ** (2 - math.floor(math.log10(value)))
    return short(math.ceil(value * unit - 1e-9) / unit)
