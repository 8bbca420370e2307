"""The text of a Python object: how the cells of a pandas column of objects are read, whatever they are.

A refusal would depend on the cells, so there is none: an object without a text of its own is missing.
"""

import math
import re
import sys
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Context, Decimal
from enum import Enum
from numbers import Complex, Integral, Real
from uuid import UUID

import numpy as np

_TRAILING_ZEROS = re.compile(r"([.][0-9]*?)0+(?![0-9])")  # of the fraction of a second


def text_of(value: object, truths: Mapping[str, str]) -> str | None:
    """Return the text of an object, as a file would hold it; None for what has none, and for too long a number.

    It cannot fail, and depends on the value alone: the address of an object would make a person of every row. `truths`
    are the texts for "true" and "false", where they are others.
    """
    try:
        return _text(value, truths)
    except (ValueError, ArithmeticError):
        return None


def _text(value: object, truths: Mapping[str, str]) -> str | None:
    match value:
        case Enum():
            return _text(value.value, truths)
        case str():
            return str.__str__(value) if value.isascii() or _is_unicode(value) else None
        case bool() | np.bool_():
            truth = str(bool(value)).lower()
            return truths.get(truth, truth)
        case date() | time() | np.datetime64():
            return _time_text(value)
        case timedelta() | UUID():
            return str(value)
        case np.timedelta64():
            return None
        case bytes():
            return value.decode("utf-8", "backslashreplace")
    return _number_text(value) if isinstance(value, Complex | Decimal) else _pandas_text(value)


def _number_text(value: Complex | Decimal) -> str | None:
    match value:
        case Integral():
            return str(int(value))
        case Decimal() if value.is_finite():
            return _decimal_text(value)
        case np.floating():  # a short float is the number that it prints as
            return _float_text(float(str(value)))
        case Real() | Decimal():
            return _float_text(float(value))
    return _float_text(float(value.real)) if value.imag == 0 else None


def _decimal_text(number: Decimal) -> str:
    """Return the digits without zeros at the end of a fraction: 1.0 and 1.00 are one number."""
    if number == number.to_integral_value() and number.adjusted() < sys.float_info.max_10_exp:
        return str(int(number))
    return str(number.normalize(Context(prec=len(number.as_tuple().digits))))


def _float_text(number: float) -> str | None:
    """Return whole numbers without a point, so that they match the category of that number; None for NaN."""
    if math.isnan(number):
        return None
    return str(int(number)) if abs(number) < 2**53 and number.is_integer() else repr(number)


def _time_text(value: date | time | np.datetime64) -> str | None:
    """Return a date or a time as engines write it; None for what is no time."""
    if value != value:  # noqa: PLR0124  # NaT
        return None
    text = value.isoformat(" ") if isinstance(value, datetime) else str(value).replace("T", " ")
    return _TRAILING_ZEROS.sub(lambda found: found[1].rstrip("."), text)


def _pandas_text(value: object) -> str | None:
    pandas = sys.modules["pandas"]
    return str(value) if isinstance(value, pandas.Period | pandas.Interval) else None


def _is_unicode(text: str) -> bool:
    """Whether the text can be written in UTF-8 (a lone surrogate cannot)."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
