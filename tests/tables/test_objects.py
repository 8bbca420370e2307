"""Python objects in a pandas column: each is read by its text, and what has none is missing."""

import datetime as dt
import enum
import uuid
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import gaugedp as gd
from gaugedp.errors import UnreadableTable
from gaugedp.tables.aggregate import Aggregate
from gaugedp.tables.objects import text_of


class Sex(enum.Enum):
    MALE = "m"


class Code(enum.IntEnum):
    ONE = 1


class Word(enum.StrEnum):
    YES = "yes"


class Loud(str):
    def __str__(self) -> str:
        return "loud"


IDS = [uuid.UUID(int=2**100 + i) for i in range(5)]
UTC = dt.UTC
TEXTS: list[tuple[Any, str | None]] = [
    (IDS[0], str(IDS[0])),
    (b"male", "male"),
    ("é".encode(), "é"),
    (b"\xff1", "\\xff1"),
    (dt.time(1, 2), "01:02:00"),
    (dt.time(1, 2, 3, 500000), "01:02:03.5"),
    (dt.date(2020, 1, 2), "2020-01-02"),
    (dt.datetime(2020, 1, 2), "2020-01-02 00:00:00"),
    (dt.datetime(2020, 1, 2, 10, 0, 0, 120000, tzinfo=UTC), "2020-01-02 10:00:00.12+00:00"),
    (pd.Timestamp("2020-01-02 00:00:00.000000010"), "2020-01-02 00:00:00.00000001"),
    (np.datetime64("2020-01-02T03:00:00.000"), "2020-01-02 03:00:00"),
    (dt.timedelta(hours=1), "1:00:00"),
    (pd.Period("2020-01", "M"), "2020-01"),
    (pd.Interval(0, 5), "(0, 5]"),
    (Sex.MALE, "m"),
    (Code.ONE, "1"),
    (Word.YES, "yes"),
    (Loud("quiet"), "quiet"),
    (True, "true"),
    (np.bool_(False), "false"),
    (np.float32(0.7), "0.7"),
    (np.int8(3), "3"),
    (2.0, "2"),
    (-0.0, "0"),
    (1 + 0j, "1"),
    (1 + 1j, None),
    (Fraction(1, 2), "0.5"),
    (Decimal("2.00"), "2"),
    (Decimal("1.50"), "1.5"),
    (Decimal("1E+2"), "100"),
    (Decimal("1.50E-10"), "1.5E-10"),
    (Decimal("12345678901234567890123456789012345.10"), "12345678901234567890123456789012345.1"),
    (Decimal("NaN"), None),
    (Decimal("sNaN"), None),
    (10**5000, None),
    (float("nan"), None),
    (pd.NaT, None),
    (pd.NA, None),
    (np.datetime64("NaT"), None),
    (None, None),
    ("\ud800", None),
    ([1], None),
    ({"a": 1}, None),
    ((1,), None),
    ({1}, None),
    (np.array([1, 2]), None),
    (object(), None),
]


@pytest.mark.parametrize(("value", "text"), TEXTS, ids=range(len(TEXTS)))
def test_an_object_is_read_by_its_text(value: Any, text: str | None) -> None:
    assert text_of(value, {}) == text


def test_truth_is_written_as_the_domain_writes_it() -> None:
    assert text_of(np.bool_(True), {"true": "yes", "false": "no"}) == "yes"
    assert text_of("true", {"true": "yes"}) == "true"


def test_people_and_categories_that_are_objects_are_counted() -> None:
    """Five people of two rows each, of whom one row counts; once every count was 0, and paid for."""
    frame = pd.DataFrame({"pid": IDS * 2, "A": [Sex.MALE] * 10})
    assert frame.dtypes.eq(object).all()
    table = gd.Table.scan(frame, domain=gd.Domain.of(A=["m"]), unit=gd.PrivacyUnit("pid"))
    assert table.totals([Aggregate(("A",))], b"")[0].tolist() == [5]


def test_a_column_of_objects_is_never_refused_for_what_is_in_it() -> None:
    for value, _ in TEXTS:
        column = np.empty(1, dtype=object)
        column[0] = value
        frame = pd.DataFrame({"A": pd.Series(column, dtype=object)})
        for fact in (["x"], gd.integers(0, 5), gd.dates("2020-01-01", "2020-02-01", by="day")):
            assert len(gd.Table.scan(frame, domain=gd.Domain.of(A=fact)).totals([Aggregate(())], b"")) == 1


CUT = pd.cut(pd.Series([1, 5, 9]), [0, 5, 10])
REFUSED = [
    pd.DataFrame({"A": CUT}),
    pd.DataFrame({"A": pd.to_timedelta([1, 2])}),
    pd.DataFrame({"A": pd.Categorical(pd.to_timedelta([1, 2]))}),
    pd.DataFrame({"A": pd.period_range("2020-01", periods=2, freq="M")}),
    pd.DataFrame({"A": pd.arrays.IntervalArray.from_breaks([0, 1, 2])}),
    pd.DataFrame({"A": pd.Series([b"x"], dtype=pd.ArrowDtype(pa.binary()))}),
    pd.DataFrame({"A": pd.Series([[1]], dtype=pd.ArrowDtype(pa.list_(pa.int64())))}),
    pl.DataFrame({"A": pl.Series([IDS[0]], dtype=pl.Object)}),
    pl.DataFrame({"A": [b"x"]}),
    pl.DataFrame({"A": [dt.timedelta(1)]}),
    pl.DataFrame({"A": [[1]]}),
    pa.table({"A": [b"x"]}),
    pa.table({"A": [dt.timedelta(1)]}),
    pa.table({"A": [{"a": 1}]}),
]


@pytest.mark.parametrize("frame", REFUSED, ids=lambda frame: str(frame)[:60])
def test_a_type_without_a_text_is_refused_before_anything_is_paid(frame: Any) -> None:
    for domain, unit in ((gd.Domain.of(A=["x", "(0, 5]", "2020-01"]), None), (gd.Domain.of(), gd.PrivacyUnit("A"))):
        with pytest.raises(UnreadableTable, match=r"Column 'A' .*Convert the column.*nothing was spent"):
            gd.Table.scan(frame, domain=domain, unit=unit)


def test_categories_are_read_as_the_type_that_they_have() -> None:
    values = pd.Series([1, 2, None, 2], dtype="Int64").astype("category")
    frame = pd.DataFrame(
        {"A": values, "B": pd.Categorical([0.5, None, 1.0, 1.0]), "C": pd.Categorical([True, None] * 2)}
    )
    domain = gd.Domain.of(A=["01", "2"], B=gd.bins(0, 1, 0.5), C=["yes", "no"])
    table = gd.Table.scan(frame, domain=domain)
    found = [table.totals([Aggregate((name,))], b"")[0].tolist() for name in "ABC"]
    assert found == [[1, 2], [0, 3], [2, 0]]


def test_times_are_alike_in_every_frame() -> None:
    times = [dt.time(1, 2), dt.time(3, 4, 5, 250000)]
    frames = [pa.table({"A": times}), pl.DataFrame({"A": times}), pd.DataFrame({"A": times})]
    for frame in [*frames, pa.table({"A": pa.array(times, pa.time64("ns"))})]:
        table = gd.Table.scan(frame, domain=gd.Domain.of(A=["01:02:00", "03:04:05.25"]))
        assert table.totals([Aggregate(("A",))], b"")[0].tolist() == [1, 1]
