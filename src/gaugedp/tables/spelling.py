"""Categories that values of a kind can match, by type alone."""

import re
import sys
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

from gaugedp._internal.validate import decimal
from gaugedp.tables.engine import Kind

# equal in every engine's regular expressions, and linear-time with backtracking
DECIMAL_NUMBER = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"
_DAY, _TIME = r"-?[0-9]{4,}-[0-9]{2}-[0-9]{2}", r"[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{0,8}[1-9])?"
_FORMS = {  # as every engine writes them
    Kind.UUID: r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    Kind.DATE: _DAY,
    Kind.TIME: _TIME,
    Kind.TIMESTAMP: f"{_DAY} {_TIME}",
}
_WORDS = [(write(yes), write(no)) for yes, no in (("true", "false"), ("yes", "no"))
          for write in (str.lower, str.title, str.upper)]  # fmt: skip
_DIGITS = ("1", "0")
EXACT = 2**53  # floats represent integers exactly up to here
MARKS = {"true": "\x1ftrue", "false": "\x1ffalse"}  # for Python's booleans, if facts spell them differently
EXAMPLES = {
    Kind.BOOLEAN: '"true" and "false", "yes" and "no", or "1" and "0"',
    Kind.UUID: '"0f8fad5b-d9cb-469f-a165-70867728950e"',
    Kind.DATE: '"2020-01-31"',
    Kind.TIME: '"13:05:00"',
    Kind.TIMESTAMP: '"2020-01-31 13:05:00" (or describe days, months or years as dates)',
    Kind.INTEGER: '"12"',
    Kind.REAL: '"12" or "0.5"',
    Kind.MIXED: '"12" or "0.5"',
    Kind.WIDE: '"12" or "0.5"',
    Kind.SHORT_REAL: '"12" or "0.5"',
}


def can_match(kind: Kind, categories: Sequence[str]) -> bool:
    """Return True if values of the kind can match."""
    match kind:
        case Kind.TEXT | Kind.READ:
            return True
        case Kind.BOOLEAN:
            return bool(truths(categories))
        case Kind.INTEGER | Kind.REAL | Kind.MIXED | Kind.WIDE | Kind.SHORT_REAL:
            return bool(category_numbers(categories, whole=kind is Kind.INTEGER))
    return any(re.fullmatch(_FORMS[kind], text) for text in categories)


def truths(categories: Sequence[str]) -> dict[str, str]:
    """Return the categories that mean "true" and "false".

    The spelling with the most categories wins, the first of equals; 1 and 0 need both, because 1 may be one code of
    many.
    """
    found = set(categories)
    pair = max(_WORDS, key=lambda words: len(found.intersection(words)))
    pair = _DIGITS if found.isdisjoint(pair) and found.issuperset(_DIGITS) else pair
    return {truth: text for truth, text in zip(("true", "false"), pair, strict=True) if text in found}


def category_numbers(categories: Sequence[str], whole: bool) -> dict[Fraction, int]:
    """Return the codes of numeric categories; first spellings win."""
    numbers: dict[Fraction, int] = {}
    for code, text in enumerate(categories):
        if not re.fullmatch(DECIMAL_NUMBER, text) or abs(float(text)) > (2.0**63 if whole else sys.float_info.max):
            continue
        exact = Decimal(text)  # a fraction of "1e-999999999" would exhaust the memory
        if not whole:
            numbers.setdefault(decimal(float(text)), code)
        elif exact == exact.to_integral_value() and -(2**63) <= exact < 2**63:
            numbers.setdefault(Fraction(int(exact)), code)
    return numbers
