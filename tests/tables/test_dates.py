"""Dates are the same cells on every engine, whatever they are written as, and whatever the session's rules are."""

import re
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

import gaugedp as gd
from gaugedp.domain.attributes import Attribute
from gaugedp.tables.aggregate import Aggregate
from gaugedp.tables.table import Table
from tests.tables.engines import ENGINES

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
UNIT = gd.PrivacyUnit()
ZONE = "Europe/Ljubljana"
CELLS = {
    "day": ("2017-02-20", "2017-04-10"),
    "week": ("2016-W50", "2017-W20"),
    "month": ("2016-11", "2017-12"),
    "quarter": ("2016-Q4", "2018-Q1"),
    "year": ("2015", "2018"),
}
TEXTS = [
    "2017-03-05", "2017-02-28", "2017-02-29", "2016-02-29", "2017-02-30", "2017-13-01", "2017-00-10", "2017-03-00",
    "2017-04-31", "2017-03-32", " 2017-03-05", "2017-03-05 ", "20170305", "2017-3-5", "2017/03/05", "05.03.2017",
    "2017-03", "2017-3", "2017-03-", "2017", "2017-W10", "2017-Q1", "", "N", "NaT", "infinity", "0000-01-01",
    "0001-01-01", "9999-12-31", "10000-01-01", "-2017-03-05", "+2017-03-05", "0044-03-15 (BC)", "2017-03-05T10:11",
    "2017-03-05T10:11:12", "2017-03-05 10:11:12", "2017-03-05T10:11:12.5", "2017-03-05T10:11:12.123456789",
    "2017-03-05T10:11:12.", "2017-03-05T24:00", "2017-03-05T23:59:60", "2017-03-05T10", "2017-03-05t10:11:12",
    "2017-03-05T10:11:12Z", "2017-03-05T10:11Z", "2017-03-05T10:11:12z", "2017-03-31T22:30:00Z",
    "2017-03-31T21:59:59Z", "2017-03-31T22:00:00Z", "2017-03-31T23:30:00-02:00", "2017-03-31T23:30:00-0200",
    "2017-03-31T23:30:00-02", "2017-04-01T01:30:00+05:30", "2017-04-01T01:30+0530", "2017-04-01 01:30:00+02",
    "2017-04-01T01:30:00+2", "2017-04-01T01:30:00+02:60", "2017-04-01T01:30:00+24", "2016-12-31T23:00:00Z",
    "2016-12-31T22:59:59Z", "2017-03-26T00:59:59Z", "2017-03-26T01:00:00Z", "2017-01-01Z", "2017-01-01+02:00",
    "2017-03-05\n", "2017-03-05\x00x", "２０１７-03-05", "2017-03-05T10:11:12 Z", "2017-03-05  10:11:12", None,
]  # fmt: skip
FORM = re.compile(
    r"(\d{4})-(\d\d)(?:-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.\d{1,9})?)?(?:(Z)|([+-])(\d\d)(?::?(\d\d))?)?)?)?",
    re.ASCII,
)


def day_of(text: str | None, part: str, zone: str | None) -> date | None:
    """The day of a text by Python's own calendar, None where it is none."""
    match = FORM.fullmatch(text or "")
    if match is None or (match[3] is None and part in ("day", "week")):
        return None
    year, month, day, hour, minute, second = (int(match[i] or (1 if i == 3 else 0)) for i in range(1, 7))
    try:
        moment = datetime(year, month, day, hour, minute, second)
        if match[7] or match[8]:
            if int(match[9] or 0) > 23 or int(match[10] or 0) > 59:
                return None
            offset = timedelta(hours=int(match[9] or 0), minutes=int(match[10] or 0))
            utc = moment + offset if match[8] == "-" else moment - offset
            return utc.replace(tzinfo=UTC).astimezone(ZoneInfo(zone or "UTC")).date()
    except ValueError:
        return None
    return moment.date()


def cell_of(day: date | None, part: str) -> str | None:
    if day is None:
        return None
    match part:
        case "day":
            return day.isoformat()
        case "week":
            return "{}-W{:02}".format(*day.isocalendar()[:2])
        case "month":
            return f"{day.year:04}-{day.month:02}"
        case "quarter":
            return f"{day.year:04}-Q{(day.month + 2) // 3}"
    return f"{day.year:04}"


def counted(engine: str, table: pa.Table, attribute: Attribute) -> dict[str, int]:
    domain = gd.Domain.of(when=attribute)
    (counts,) = Table.scan(ENGINES[engine](table, 1), domain=domain, unit=UNIT).totals([Aggregate(("when",))], b"key")
    return {label: count for label, count in zip(attribute.labels, counts.tolist(), strict=True) if count}


def wanted(days: list[date | None], part: str, attribute: Attribute) -> dict[str, int]:
    cells = [cell_of(day, part) for day in days]
    return dict(Counter(cell if cell in attribute.labels else "other" for cell in cells))


@pytest.mark.many
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("part", CELLS)
@pytest.mark.parametrize("zone", [None, ZONE])
def test_texts(engine: str, part: str, zone: str | None) -> None:
    attribute = gd.dates(*CELLS[part], by=part, timezone=zone, outside="other")
    texts = [text for text in TEXTS if text is None or "\x00" not in text]  # PostgreSQL has no such text
    days = [day_of(text, part, zone) for text in texts]
    assert sum(day is not None for day in days) > 20
    assert counted(engine, pa.table({"when": texts}), attribute) == wanted(days, part, attribute)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["date", "time", "instant"])
def test_typed_columns(engine: str, kind: str) -> None:
    moments = [datetime(2016, 12, 31, 22, 30) + timedelta(hours=7 * hours) for hours in range(200)]
    zone = ZONE if kind == "instant" else None
    attribute = gd.dates("2017-01-01", "2017-02-10", by="day", timezone=zone, outside="other")
    types = {"date": pa.date32(), "time": pa.timestamp("us"), "instant": pa.timestamp("us", "UTC")}
    values = [moment.date() if kind == "date" else moment for moment in moments] + [None]
    days = [
        moment.replace(tzinfo=UTC).astimezone(ZoneInfo(zone)).date() if zone else moment.date() for moment in moments
    ]
    actual = counted(engine, pa.table({"when": pa.array(values, types[kind])}), attribute)
    assert actual == wanted([*days, None], "day", attribute)


def test_a_change_of_the_clock_is_found_to_the_second() -> None:
    shifts = gd.dates("2017-01", "2017-12", by="month", timezone=ZONE).shifts
    changes = [datetime.fromtimestamp(second, UTC).isoformat() for second, _ in shifts[1:]]
    assert changes == ["2017-03-26T01:00:00+00:00", "2017-10-29T01:00:00+00:00"]
    assert [offset for _, offset in shifts] == [3600, 7200, 3600]


@pytest.mark.parametrize(
    ("first", "last", "options", "says"),
    [
        ("2017-05", "2017-01", {"by": "month"}, "not after `to`"),
        ("2017-W01", "2017-12", {"by": "month"}, "not a month"),
        ("2017-W54", "2018-W02", {"by": "week"}, "not a week"),
        ("2017-01", "2017-12", {"by": "fortnight"}, "fortnight"),
        ("2017-01", "2017-12", {"by": "month", "timezone": "Mars/Crater"}, "Mars/Crater"),
        ("0001-01-01", "9998-12-31", {"by": "day"}, "at most 100,000"),
        ("2017", "9999", {"by": "year"}, "which is too late"),
        (2017.5, "2018", {"by": "year"}, "not a year"),
    ],
)
def test_what_is_no_date_is_refused(first: object, last: str, options: dict[str, str], says: str) -> None:
    with pytest.raises(gd.InvalidRequest, match=re.escape(says)):
        gd.dates(first, last, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("part", CELLS)
def test_labels_and_first_days(part: str) -> None:
    attribute = gd.dates(*CELLS[part], by=part)
    assert (attribute.labels[0], attribute.labels[-1]) == CELLS[part]
    assert [cell_of(attribute.start(code), part) for code in range(attribute.n_cells)] == list(attribute.labels)
    assert gd.dates(attribute.first.isoformat(), attribute.last.isoformat(), by=part) == attribute
