"""Cell of a date, in safe SQL for every engine.

A date or a time is read by its text: its letters are checked first, then its numbers, and everything else is integer
arithmetic. So neither an engine's rules for dates nor a setting of a session has an influence.
"""

from collections.abc import Sequence
from datetime import date

from sqlglot import exp

from gaugedp.domain.dates import DAY, WEEK, Dates
from gaugedp.tables.engine import Sql

_TIME = r"[T ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,9})?)?"
_OFFSET = r"(Z|[+-]([01][0-9]|2[0-3])(:?[0-5][0-9])?)"
ISO = rf"[0-9]{{4}}-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01])({_TIME}{_OFFSET}?)?)?"
_EPOCH = date(1970, 1, 1)


Steps = list[dict[str, Sql]]  # columns by name, each computed from earlier ones


def date_steps(attribute: Dates, text: Sql, name: str) -> tuple[dict[str, Sql], Steps]:
    """Return a text's aliases, and steps to its cell."""
    is_iso = exp.func("REGEXP_FULL_MATCH", text.copy(), exp.Literal.string(ISO), dialect="duckdb")
    iso, year, month, day, place, days, utc, local = (
        exp.column(f"{name}_{part}") for part in ("text", "year", "month", "day", "offset", "days", "utc", "local")
    )
    shortest = 10 if attribute.part in (DAY, WEEK) else 7
    first_of_month = exp.Case().when(_length(iso) >= 10, _number(iso, 9, 2)).else_(exp.convert(1))
    numbers = {year: _number(iso, 1, 4), month: _number(iso, 6, 2), day: first_of_month, place: _offset_place(iso)}
    is_date = exp.and_(_length(iso) >= shortest, year > 0, day <= _days_in(year, month))
    has_offset = place > 0
    # 10^6 days are more than since the year 1
    shifted = exp.paren(utc + _search(utc, attribute.shifts[1:], attribute.shifts[0][1]) + 86_400 * 10**6)
    steps = [
        {column.name: number for column, number in numbers.items()},
        {days.name: exp.Case().when(is_date, _days(year, month, day))},
        {utc.name: exp.Case().when(has_offset, _utc(iso, days, place))},
        {local.name: exp.Case().when(has_offset.copy(), exp.paren(shifted // 86_400) - 10**6).else_(days)},
        {name: exp.cast(_cell(attribute, local), "BIGINT")},
    ]
    return {iso.name: exp.Case().when(is_iso, text)}, steps


def _cell(attribute: Dates, days: Sql) -> Sql:
    starts = [(attribute.start(code) - _EPOCH).days for code in range(attribute.n_inside + 1)]
    if attribute.days:  # a quotient, nonnegative except far below the first cell
        return exp.paren(days - (starts[0] - attribute.days)) // attribute.days - 1
    return exp.Case().when(
        exp.not_(days.is_(exp.null())), _search(days, [(start, code) for code, start in enumerate(starts)], -1)
    )


def _utc(text: Sql, days: Sql, place: Sql) -> Sql:
    """Return the seconds since 1970 of an instant."""
    has_seconds = _letter(text, exp.convert(17)).eq(":")
    seconds = exp.Case().when(has_seconds, _number(text, 18, 2)).else_(exp.convert(0))
    return days * 86_400 + _number(text, 12, 2) * 3600 + _number(text, 15, 2) * 60 + seconds - _offset(text, place)


def _search(value: Sql, choices: Sequence[tuple[int, int]], before: int) -> Sql:
    """Return the second of the last pair with first ≤ `value`."""
    if not choices:
        return exp.convert(before)
    middle = len(choices) // 2
    start, choice = choices[middle]
    below, above = _search(value, choices[:middle], before), _search(value, choices[middle + 1 :], choice)
    return exp.Case(ifs=[exp.If(this=value < start, true=below)], default=above)


def _offset_place(text: Sql) -> Sql:
    offset_place = (
        exp.Case().when(_length(text) <= 10, exp.convert(0)).when(_letter(text, _length(text)).eq("Z"), _length(text))
    )
    for back in (5, 4, 2):
        place = exp.paren(_length(text) - back)
        offset_place = offset_place.when(_letter(text, place).isin("+", "-"), place.copy())
    return offset_place.else_(exp.convert(0))


def _offset(text: Sql, place: Sql) -> Sql:
    behind = exp.paren(_length(text) - exp.paren(place.copy()))  # 0 for Z; 2, 4 or 5 characters
    minutes = exp.Case().when(behind.copy() >= 4, _number(text, _length(text) - 1, 2)).else_(exp.convert(0))
    size = exp.paren(_number(text, exp.paren(place.copy()) + 1, 2) * 3600 + minutes * 60)
    signed = exp.Case().when(_letter(text, place).eq("-"), exp.Neg(this=size)).else_(size.copy())
    return exp.Case().when(behind > 0, signed).else_(exp.convert(0))


def _days(year: Sql, month: Sql, day: Sql) -> Sql:
    """Return the days since 1970 in the Gregorian calendar."""
    is_early = month.copy() <= 2
    y = exp.Case().when(is_early, year - 1).else_(year.copy())
    m = exp.Case().when(is_early.copy(), month + 9).else_(month - 3)
    leap = y.copy() // 4 - y.copy() // 100 + y.copy() // 400
    # from 0000-03-01 to 1970 are 719,468 days
    return exp.paren(y * 365 + leap + exp.paren(m * 153 + 2) // 5 + day - (1 + 719_468))


def _days_in(year: Sql, month: Sql) -> Sql:
    is_leap = exp.or_(exp.and_((year % 4).eq(0), (year % 100).neq(0)), (year % 400).eq(0))
    february = exp.Case().when(is_leap, exp.convert(29)).else_(exp.convert(28))
    days = exp.Case().when(month.eq(2), february).when(month.isin(4, 6, 9, 11), exp.convert(30))
    return days.else_(exp.convert(31))


def _number(text: Sql, start: Sql | int, length: int) -> Sql:
    return exp.cast(exp.Substring(this=text.copy(), start=exp.convert(start), length=exp.convert(length)), "BIGINT")


def _letter(text: Sql, place: Sql) -> Sql:
    return exp.Substring(this=text.copy(), start=place.copy(), length=exp.convert(1))


def _length(text: Sql) -> Sql:
    return exp.Length(this=text.copy())
