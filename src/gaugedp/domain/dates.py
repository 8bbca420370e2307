"""Dates as cells: days, weeks, months, quarters or years."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import ClassVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from gaugedp._internal.validate import one_of
from gaugedp.domain.attributes import OTHER, Attribute
from gaugedp.errors import InvalidRequest

DAY, WEEK, MONTH, QUARTER, YEAR = PARTS = ("day", "week", "month", "quarter", "year")
_EXAMPLES = {DAY: "2017-01-31", WEEK: "2017-W03", MONTH: "2017-01", QUARTER: "2017-Q1", YEAR: "2017"}
_FORMS = {
    DAY: r"(\d{4})-(\d{2})-(\d{2})",
    WEEK: r"(\d{4})-W(\d{2})",
    MONTH: r"(\d{4})-(\d{2})",
    QUARTER: r"(\d{4})-Q([1-4])",
    YEAR: r"(\d{4})",
}
_MONTHS = {MONTH: 1, QUARTER: 3, YEAR: 12}  # per cell
_MOST_CELLS = 100_000  # cells


@dataclass(frozen=True)
class Dates(Attribute):
    """Attribute with one cell for each calendar period.

    The cells are each `part` (day, week, month, quarter, year) from the one that begins on `first` to the one that
    begins on `last`. A value is a date, a time, or text in ISO form, such as 2017-03-05 or 2017-03-05T10:11:12; 2017-03
    is accepted if cells are months or longer. A time with an offset belongs to its day in `timezone` (default UTC).
    Weeks are those of ISO 8601. Any other value is missing.
    """

    part: str
    first: date
    last: date
    timezone: str | None = None
    outside: str = "drop"
    values_are: ClassVar[str] = "dates"

    @property
    def n_inside(self) -> int:
        """Number of days, weeks, months, quarters or years."""
        if self.part in _MONTHS:
            months = 12 * (self.last.year - self.first.year) + self.last.month - self.first.month
            return months // _MONTHS[self.part] + 1
        return (self.last - self.first).days // self.days + 1

    @property
    def days(self) -> int:
        """Days of a cell, 0 for months or longer."""
        return {DAY: 1, WEEK: 7}.get(self.part, 0)

    def start(self, code: int) -> date:
        """Return the first day of cell `code` ≤ n_inside."""
        if self.part not in _MONTHS:
            return self.first + timedelta(days=self.days * code)
        years, month = divmod(self.first.month - 1 + _MONTHS[self.part] * code, 12)
        return date(self.first.year + years, month + 1, 1)

    @property
    def shifts(self) -> tuple[tuple[int, int], ...]:
        """Offsets of `timezone`: pairs (second since 1970, offset in seconds).

        Each offset applies from its second on.
        """
        zone = ZoneInfo(self.timezone or "UTC")
        ends = (self.start(0) - timedelta(days=1), self.start(self.n_inside) + timedelta(days=1))
        first, last = (int(datetime.combine(end, time(), UTC).timestamp()) for end in ends)
        shifts = [(first, _offset(zone, first))]
        for second in range(first, last, 86_400):
            while _offset(zone, second + 86_400) != shifts[-1][1]:
                change = _change(zone, max(second, shifts[-1][0]), second + 86_400)
                shifts.append((change, _offset(zone, change)))
        return tuple(shifts)

    def inside_label(self, code: int) -> str:
        """Return the cell's text, such as 2017-01."""
        start = self.start(code)
        match self.part:
            case "week":
                year, week, _ = start.isocalendar()
                return f"{year:04}-W{week:02}"
            case "quarter":
                return f"{start.year:04}-Q{(start.month + 2) // 3}"
        return start.isoformat()[: {DAY: 10, MONTH: 7, YEAR: 4}[self.part]]


def dates(first: str, last: str, *, by: str, timezone: str | None = None, outside: str = "drop") -> Dates:
    """Describe a column of dates by calendar periods.

    Use it to count rows by day, week, month, quarter or year. Each period from the first to the last is one cell to
    count in.

    Parameters
    ----------
    first, last : str
        The first and the last period, such as "2017-01-31", "2017-W03", "2017-01", "2017-Q1" or "2017". A day stands
        for the period that contains it.
    by : {"day", "week", "month", "quarter", "year"}
        The length of a period. There may be at most 100,000 periods.
    timezone : str, optional
        The time zone in which days begin, such as "Europe/Ljubljana". It matters for times with an offset from UTC.
        Default UTC.
    outside : {"drop", "other"}
        The rule for all other values: leave the row out, or count it in an additional cell "other". Default "drop".

    Raises
    ------
    InvalidRequest
        If a period cannot be read, `first` is after `last`, or there are too many periods.

    Examples
    --------
    The first three months of 2017 are three cells:

    >>> import gaugedp as gd
    >>> gd.dates("2017-01", "2017-03", by="month").labels
    ('2017-01', '2017-02', '2017-03')
    """
    one_of(PARTS, by=by)
    one_of(("drop", OTHER), outside=outside)
    begin, end = (_start(name, text, by) for name, text in (("from", first), ("to", last)))
    if begin > end:
        raise InvalidRequest(
            f"`from` is {first}, which is after {last}, the value of `to`.", "Choose a `from` that is not after `to`."
        )
    if end.year == date.max.year:
        raise InvalidRequest(f"The dates end in {end.year}, which is too late.", "Choose a `to` before that year.")
    dates = Dates(by, begin, end, _known(timezone), outside)
    if dates.n_inside > _MOST_CELLS:
        raise InvalidRequest(
            f"The dates have {dates.n_inside:,} cells, but at most {_MOST_CELLS:,} are supported.",
            "Use a shorter range or longer periods, such as months instead of days.",
        )
    return dates


def _start(name: str, written: object, part: str) -> date:
    text = str(written) if isinstance(written, str | date | int) else ""
    day = re.fullmatch(_FORMS[DAY], text)
    match = day or re.fullmatch(_FORMS[part], text)
    try:
        if match:
            numbers = [int(number) for number in match.groups()]
            return _floor(date(*numbers) if day else _named(part, numbers), part)
    except ValueError:
        pass
    example = _EXAMPLES[part]
    raise InvalidRequest(f"`{name}` is {written!r}, which is not a {part}.", f"Write {example!r}, or a day in it.")


def _named(part: str, numbers: list[int]) -> date:
    year, number = (*numbers, 1)[:2]
    match part:
        case "week":
            return date.fromisocalendar(year, number, 1)
        case "quarter":
            return date(year, 3 * number - 2, 1)
    return date(year, number, 1)


def _floor(day: date, part: str) -> date:
    if part == WEEK:
        return day - timedelta(days=day.weekday())
    months = _MONTHS.get(part, 0)
    return day if not months else date(day.year, (day.month - 1) // months * months + 1, 1)


def _known(timezone: object) -> str | None:
    try:
        if timezone is None or (isinstance(timezone, str) and ZoneInfo(timezone)):
            return timezone
    except (ZoneInfoNotFoundError, ValueError, OSError):
        pass
    raise InvalidRequest(
        f"`timezone` is {timezone!r}, which is not a known time zone.", 'Pass a name such as "Europe/Ljubljana".'
    )


def _offset(zone: ZoneInfo, second: int) -> int:
    offset = datetime.fromtimestamp(second, zone).utcoffset()
    return int(offset.total_seconds()) if offset is not None else 0


def _change(zone: ZoneInfo, low: int, high: int) -> int:
    """Bisect for the second in (low, high] when the offset changes."""
    before = _offset(zone, low)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _offset(zone, middle) == before else (low, middle)
    return high
