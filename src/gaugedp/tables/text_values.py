"""Numbers and dates in text, rewritten in the form that every engine reads.

The text is checked first, and any other text is missing: 3,50 is not 350 where the comma separates thousands.
"""

import re

from sqlglot import exp

from gaugedp.domain.text_format import PLAIN, TextFormat
from gaugedp.tables.engine import Sql
from gaugedp.tables.spelling import DECIMAL_NUMBER

_SPACES = (" ", "\u00a0", "\u202f")  # a space that separates thousands may be one that does not break
_SHAPES = {"yyyy": "([0-9]{4})", "mm": "([0-9]{2})", "dd": "([0-9]{2})", "m": "([0-9]{1,2})", "d": "([0-9]{1,2})"}


def number_text(text: Sql, form: TextFormat) -> Sql:
    """Return the decimal number of a text with a point and no thousands, or NULL."""
    is_number = _matches(text, rf"[ \t\n\r\f]*({_number(form)}|[+-]?(?i:inf(inity)?))[ \t\n\r\f]*")
    marks = _SPACES if form.thousands == " " else (form.thousands,) * bool(form.thousands)
    plain = text.copy()  # engines ignore the spaces around a number
    for mark in marks:
        plain = exp.func("REPLACE", plain, exp.Literal.string(mark), exp.Literal.string(""))
    if form.decimal != ".":
        plain = exp.func("REPLACE", plain, exp.Literal.string(form.decimal), exp.Literal.string("."))
    return exp.Case().when(is_number, plain)


def date_text(text: Sql, form: TextFormat) -> Sql:
    """Return the ISO text of a date in the form `date_format`, or NULL; a time may follow."""
    if not form.date_format:
        return text
    shape = "".join(_SHAPES.get(token, f"[{token}]") for token in form.date_tokens)
    order = [token[0] for token in form.date_tokens if token in _SHAPES]
    parts = "-0".join(f"\\{order.index(part) + 1}" for part in "ymd" if part in order)  # the 0 goes if it is the third
    padded = _replaced(text, f"^{shape}", parts)
    groups = range(2, len(order) + 1)
    iso = _replaced(padded, "^([0-9]{4})" + "-0?([0-9]{2})" * len(groups), "-".join(f"\\{i}" for i in (1, *groups)))
    return exp.Case().when(_matches(text, f"{shape}([T ].*)?"), iso)


def _number(form: TextFormat) -> str:
    """Return the pattern of a number; groups between thousands marks have three digits."""
    if (form.decimal, form.thousands) == (PLAIN.decimal, PLAIN.thousands):
        return DECIMAL_NUMBER
    mark = "".join(_SPACES) if form.thousands == " " else form.thousands
    whole = rf"([0-9]+|[0-9]{{1,3}}([{mark}][0-9]{{3}})+)" if mark else "[0-9]+"
    point = re.escape(form.decimal)
    return rf"[+-]?({whole}({point}[0-9]*)?|{point}[0-9]+)([eE][+-]?[0-9]+)?"


def _matches(text: Sql, pattern: str) -> Sql:
    return exp.func("REGEXP_FULL_MATCH", text.copy(), exp.Literal.string(pattern), dialect="duckdb")


def _replaced(text: Sql, pattern: str, by: str) -> Sql:
    """Return the text with its beginning replaced; a single mention of it, as engines copy expressions."""
    return exp.func(
        "REGEXP_REPLACE", text.copy(), exp.Literal.string(pattern), exp.Literal.string(by), dialect="duckdb"
    )
