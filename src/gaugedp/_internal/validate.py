"""Validation of arguments, once, at the entry points."""

import math
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

import numpy as np

from gaugedp.errors import InvalidRequest


def defect(array: np.ndarray) -> str:
    """Return what may be wrong with an array: entries that are not finite, or else its shape."""
    return f"has shape {array.shape}" if np.isfinite(array).all() else "contains NaN or infinity"


def decimal(value: float | Fraction) -> Fraction:
    """Return the number a person wrote: a float means the shortest decimal that prints as it (0.1 is 1/10)."""
    return Fraction(value) if isinstance(value, Fraction | int) else Fraction(repr(float(value)))


def written(value: object) -> str:
    """Return a number or text as written, else only its type, as arrays may hold data."""
    return repr(value) if isinstance(value, Real | str | None) else f"of type {type(value).__name__}"


def finite(**numbers: object) -> None:
    for name, value in numbers.items():
        if not is_finite(value):
            raise InvalidRequest(f"`{name}` is {written(value)}, but must be a finite number.", "Pass a finite number.")


def is_finite(value: object) -> bool:
    try:
        return isinstance(value, (float, Real)) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # an integer beyond the floats
        return False


def positive(**numbers: Any) -> None:
    for name, value in numbers.items():
        if type(value) is float and 0 < value < math.inf:  # the usual case, first: very many guarantees are built
            continue
        if not (is_finite(value) and value > 0):
            finite(**numbers)
            raise InvalidRequest(f"`{name}` is {written(value)}, but must be above 0.", "Pass a positive number.")


def moderate(**numbers: Any) -> None:
    positive(**numbers)
    for name, value in numbers.items():
        if not 2.0**-200 < value < 2.0**200:
            raise InvalidRequest(
                f"`{name}` is {written(value)}, which is too large or too small for floating-point computations.",
                f"Scale the columns so that `{name}` lies between 1e-60 and 1e60.",
            )


def non_negative(**numbers: Any) -> None:
    for name, value in numbers.items():
        if type(value) is float and 0 <= value < math.inf:
            continue
        if not (is_finite(value) and value >= 0):
            finite(**numbers)
            raise InvalidRequest(
                f"`{name}` is {written(value)}, but must not be negative.", "Pass 0 or a positive number."
            )


def between(low: float, high: float, **numbers: Any) -> None:
    finite(**numbers)
    for name, value in numbers.items():
        if not low < value < high:
            raise InvalidRequest(
                f"`{name}` is {written(value)}, but must lie strictly between {low:g} and {high:g}.",
                "Pass a number in this range.",
            )


def whole(minimum: int = 0, **numbers: object) -> None:
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, (int, Integral)) or value < minimum:
            raise InvalidRequest(
                f"`{name}` is {written(value)}, but must be an integer of at least {minimum}.",
                f"Pass {minimum} or a larger integer.",
            )


def one_of(choices: tuple[str, ...], **values: object) -> None:
    for name, value in values.items():
        if value not in choices:
            raise InvalidRequest(
                f"`{name}` is {written(value)}, which is not a valid option.",
                f"Choose one of: {', '.join(map(repr, choices))}.",
            )
