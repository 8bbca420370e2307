"""Directed rounding of floats."""

import math
from fractions import Fraction

from gaugedp._internal.validate import decimal

LEAST_SURE = 1e-290  # floats below it may have lost digits: no lower bound is read off them
LARGEST = Fraction(math.nextafter(math.inf, 0))
_ROOT_BITS = 1200  # enough for all digits of roots of the least floats


def up(value: float, relative: float = 2.0**-48) -> float:
    """Return `value` raised by a `relative` rounding slack."""
    return value if value == 0 else math.nextafter(value * (1 + relative), math.inf)


def up_decimal(exact: Fraction) -> float:
    """Return the least float that prints as at least `exact`."""
    if exact > LARGEST:
        return math.inf
    value = float(exact)
    return value if decimal(value) >= exact else math.nextafter(value, math.inf)


def above(exact: Fraction) -> float:
    """Return the least float ≥ `exact`, as a decimal and in binary."""
    value = up_decimal(exact)
    return value if math.isinf(value) or Fraction(value) >= exact else math.nextafter(value, math.inf)


def above_either(as_decimals: Fraction, as_floats: Fraction) -> float:
    """Return a float ≥ the first as a decimal and ≥ the second in binary."""
    value = up_decimal(max(as_decimals, Fraction(0)))
    while not math.isinf(value) and Fraction(value) < as_floats:
        value = math.nextafter(value, math.inf)
    return value


def down(exact: Fraction) -> float:
    """Return the largest float that is not above `exact`."""
    value = float(max(min(exact, LARGEST), -LARGEST))
    return value if Fraction(value) <= exact else math.nextafter(value, -math.inf)


def down_decimal(exact: Fraction) -> float:
    """Return the largest float that prints as at most `exact`."""
    value = float(min(exact, LARGEST))
    return value if decimal(value) <= exact else math.nextafter(value, -math.inf)


def root_decimal(square: Fraction, towards: float) -> float:
    """Return the root of `square`, rounded `towards` 0 or infinity."""
    root = float(min(Fraction(math.isqrt(int(square * 4**_ROOT_BITS)), 2**_ROOT_BITS), LARGEST))
    while (decimal(root) ** 2 - square) * (1 if towards else -1) < 0:
        root = math.nextafter(root, towards)
    return root
