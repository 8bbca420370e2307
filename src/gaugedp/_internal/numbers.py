"""The printed form of numbers, the same everywhere."""

import math
from collections.abc import Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

import numpy as np

Column = Sequence[float] | np.ndarray

_SIGNIFICANT = 4  # significant digits of any other
_EXACT = Context(prec=700)  # digits enough for every float


def exact(value: float) -> str:
    """Return the shortest text that parses to the same number."""
    return repr(float(value)).removesuffix(".0")


def digits_up(value: float | str) -> str:
    """Round up to four significant digits, unless six suffice."""
    return _rounded(value, ROUND_CEILING)


def digits_down(value: float | str) -> str:
    """Round down to four significant digits, unless six suffice."""
    return _rounded(value, ROUND_FLOOR)


def readable(value: float) -> str:
    """Return at most four significant digits, such as 12,340."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value).replace("inf", "∞")
    if not 1e-3 <= abs(value) < 1e12:
        return scientific(value)
    decimals = max(0, _SIGNIFICANT - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def scientific(value: float) -> str:
    """Return three significant digits and a power of ten."""
    mantissa, power = f"{value:.2e}".split("e")
    return f"{float(mantissa):g}e{power}"


def decimals(estimate: Column, lower: Column, upper: Column, digits: int = 3) -> int:
    """Return the decimals that a query's intervals justify: `digits` of the half width."""
    numbers = np.array([estimate, lower, upper], dtype=float)
    numbers = numbers[:, ~np.isnan(numbers).any(axis=0)]
    half = (numbers[2] - numbers[1]) / 2
    half = half[(half > 0) & np.isfinite(half)]
    # 1e-4: of a question's widest interval: narrower ones do not lengthen all its numbers
    finest = max(half.min(), 1e-4 * half.max()) if half.size else 10.0**-_SIGNIFICANT
    worth = min(9, digits - 1 - math.floor(math.log10(finest)))  # decimals at most
    return next((some for some in range(worth) if (np.round(numbers, some) == numbers).all()), worth)


def interval(lower: float, upper: float, places: int) -> tuple[str, str]:
    """Return the interval ends to `places` decimals, rounded outwards."""
    return _fixed(lower, places, ROUND_FLOOR), _fixed(upper, places, ROUND_CEILING)


def nearest(value: float, places: int) -> str:
    """Return a number to `places` decimals."""
    return _fixed(value, places, ROUND_HALF_EVEN)


def answers(estimate: Column, lower: Column, upper: Column, *others: Column) -> Iterator[tuple[str, ...]]:
    """Yield a query's answers, interval ends and `others` as text."""
    places = decimals(estimate, lower, upper)
    for middle, low, high, *more in zip(estimate, lower, upper, *others, strict=True):
        yield (nearest(middle, places), *interval(low, high, places), *(nearest(value, places) for value in more))


def _rounded(value: float | str, direction: str) -> str:
    number = Decimal(value if isinstance(value, str) else exact(value))
    # 6: significant digits up to which a number is shown in full: people write no longer ones
    if number.is_finite() and len(number.normalize().as_tuple().digits) > 6:
        number = Context(prec=_SIGNIFICANT, rounding=direction).plus(number)
    return exact(float(number))


def _fixed(value: float, places: int, direction: str) -> str:
    if value == math.inf:
        return "∞"
    number = Decimal(repr(float(value))).quantize(Decimal((0, (1,), -places)), direction, _EXACT)
    text = f"{number:,.{max(places, 0)}f}"
    return text if number else text.lstrip("-")
