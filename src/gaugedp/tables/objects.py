"""Text of a Python object, for pandas columns of objects.

A refusal would depend on the cells, so there is none: an object without a text of its own is missing.
"""

import math
import re
import sys
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, Inexact, localcontext
from enum import Enum
from numbers import Complex, Rational, Real
from typing import Any
from uuid import UUID

import numpy as np

_TRAILING_ZEROS = re.compile(r"([.][0-9]*?)0+(?![0-9])")  # of fractional seconds
_PLAIN_DIGITS = 40  # digits before or after the point without exponent: more than DuckDB's widest decimal has
_EXPONENT_FROM = 10**_PLAIN_DIGITS
_MOST_DIGITS = 4000  # digits of a number with a text: Python writes no integers of more than 4,300
_DATE_UNITS, _COARSE_UNITS = "YMWD", "hm"  # NumPy's units of dates, and of times without seconds


def text_of(value: object, truths: Mapping[str, str]) -> str | None:
    """Return the text of an object, or None.

    None means that it has no text, or is too long a number. The function cannot fail, and depends only on the value:
    the address of an object would make every row a different person. Equal numbers have the same text, whatever their
    types. A date and a datetime at midnight have different ones, as in columns of their types. `truths` are the texts
    for "true" and "false", if they differ.
    """
    try:
        return _text(value, truths)
    except (ValueError, ArithmeticError):
        return None


def is_text(value: object) -> bool:
    """Return True if an object was text before it was read."""
    return is_text(value.value) if isinstance(value, Enum) else isinstance(value, str | bytes)


def _text(value: object, truths: Mapping[str, str]) -> str | None:
    match value:
        case Enum():
            return _text(value.value, truths)
        case str():
            return str.__str__(value) if value.isascii() or _is_unicode(value) else None
        case bool() | np.bool_():
            truth = str(bool(value)).lower()
            return truths.get(truth, truth)
        case date() | time() | timedelta() | np.datetime64():
            return _time_text(value)
        case UUID():
            return str(value)
        case np.timedelta64():
            return None
        case bytes():
            return value.decode("utf-8", "backslashreplace")
    return _number_text(value) if isinstance(value, Complex | Decimal) else _pandas_text(value)


def _number_text(value: Complex | Decimal) -> str | None:
    match value:
        case Rational() if value.denominator == 1:
            return _integer_text(int(value.numerator))
        case np.floating():
            return _numpy_text(value)
        case Decimal() if value.is_finite():
            return _float_text(float(value)) if float(value) == value else _decimal_text(value)
        case Rational() if float(value) != value and (exact := _as_decimal(value)) is not None:
            return _decimal_text(exact)
        case Real() | Decimal():
            return _float_text(float(value))
    return _text(value.real, {}) if value.imag == 0 else None


def _as_decimal(value: Rational) -> Decimal | None:
    with localcontext(prec=_MOST_DIGITS, Emax=MAX_EMAX, Emin=MIN_EMIN) as context:
        quotient = Decimal(int(value.numerator)) / int(value.denominator)
        return None if context.flags[Inexact] else quotient


def _numpy_text(value: np.floating[Any]) -> str | None:
    number = float(str(value)) if value.itemsize < np.dtype(float).itemsize else float(value)
    is_long = number != value and value.itemsize > np.dtype(float).itemsize and np.isfinite(value)
    if is_long and value.is_integer():
        return _integer_text(int(value))
    return _decimal_text(Decimal(str(value))) if is_long else _float_text(number)


def _integer_text(number: int) -> str | None:
    return str(number) if abs(number) < _EXPONENT_FROM else _decimal_text(Decimal(number))


def _float_text(number: float) -> str | None:
    if number.is_integer():
        return _integer_text(int(number))
    text = repr(number)
    return None if math.isnan(number) else _decimal_text(Decimal(text)) if "e" in text else text


def _decimal_text(number: Decimal) -> str | None:
    """Return the digits without trailing zeros, or None if long.

    Beyond `_PLAIN_DIGITS` places, it has an exponent; a number that equals a float then has its shortest digits.
    """
    if number == 0:
        return "0"
    if abs(number.adjusted()) >= _MOST_DIGITS:
        return None
    short = number.normalize(Context(prec=len(number.as_tuple().digits)))
    if abs(short.adjusted()) < _PLAIN_DIGITS:
        return format(short, "f")
    near = float(number)
    return str(Decimal(repr(near)) if near == number else short).lower()


def _time_text(value: date | time | timedelta | np.datetime64) -> str | None:
    if value != value:  # noqa: PLR0124  # NaT
        return None
    if isinstance(value, timedelta):
        return _duration_text(value)
    if isinstance(value, np.datetime64):
        unit = np.datetime_data(value.dtype)[0]
        value = value.astype("M8[D]" if unit in _DATE_UNITS else "M8[s]" if unit in _COARSE_UNITS else value.dtype)
    text = value.isoformat(" ") if isinstance(value, datetime) else str(value).replace("T", " ")
    return _TRAILING_ZEROS.sub(lambda found: found[1].rstrip("."), text)


def _duration_text(value: timedelta) -> str:
    text = str(timedelta(value.days, value.seconds, value.microseconds))
    nanoseconds = getattr(value, "nanoseconds", 0)
    return f"{text if value.microseconds else text + '.000000'}{nanoseconds:03}" if nanoseconds else text


def _pandas_text(value: object) -> str | None:
    pandas = sys.modules["pandas"]
    return str(value) if isinstance(value, pandas.Period | pandas.Interval) else None


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
