"""Rounding of floats to a stated side."""

import math
from fractions import Fraction

from gaugedp._internal.validate import decimal

LEAST_SURE = 1e-290  # floats below it may have lost digits: no lower bound is read off them
LARGEST = Fraction(math.nextafter(math.inf, 0))
_ROOT_BITS = 1200  # roots of the least floats keep all their digits


def up(value: float, relative: float = 2.0**-48) -> float:
    """Return `value` raised by a `relative` slack that covers the rounding of a few operations."""
    return value if value == 0 else math.nextafter(value * (1 + relative), math.inf)


def up_decimal(exact: Fraction) -> float:
    """Return the least float whose decimal is at least `exact` (a float means the decimal that prints as it)."""
    if exact > LARGEST:
        return math.inf
    value = float(exact)
    return value if decimal(value) >= exact else math.nextafter(value, math.inf)


def above(exact: Fraction) -> float:
    """Return the least float that is not below `exact`, read as a decimal or as the binary fraction it is."""
    value = up_decimal(exact)
    return value if math.isinf(value) or Fraction(value) >= exact else math.nextafter(value, math.inf)


def above_either(as_decimals: Fraction, as_floats: Fraction) -> float:
    """Return a float that is not below the first when read as a decimal, nor below the second when read as it is."""
    value = up_decimal(max(as_decimals, Fraction(0)))
    while not math.isinf(value) and Fraction(value) < as_floats:
        value = math.nextafter(value, math.inf)
    return value


def down(exact: Fraction) -> float:
    """Return the largest float that is not above `exact`."""
    value = float(max(min(exact, LARGEST), -LARGEST))
    return value if Fraction(value) <= exact else math.nextafter(value, -math.inf)


def down_decimal(exact: Fraction) -> float:
    """Return the largest float whose decimal is at most `exact`."""
    value = float(min(exact, LARGEST))
    return value if decimal(value) <= exact else math.nextafter(value, -math.inf)


def root_decimal(square: Fraction, towards: float) -> float:
    """Return the float nearest to the root of `square` whose decimal lies on the side `towards`: 0 or infinity."""
    root = float(min(Fraction(math.isqrt(int(square * 4**_ROOT_BITS)), 2**_ROOT_BITS), LARGEST))
    while (decimal(root) ** 2 - square) * (1 if towards else -1) < 0:
        root = math.nextafter(root, towards)
    return root
