"""Python objects in a pandas column: each is read by its text, and what has none is missing."""

import datetime as dt
import enum
import math
import uuid
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
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


class Spelt(enum.StrEnum):  # equal to "x", and read by its value "y"
    def __new__(cls, text: str, value: str) -> "Spelt":
        member = str.__new__(cls, text)
        member._value_ = value
        return member

    X = ("x", "y")


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
    (np.datetime64("2020-01-02T03"), "2020-01-02 03:00:00"),
    (np.datetime64("2020-01"), "2020-01-01"),
    (dt.timedelta(hours=1), "1:00:00"),
    (pd.Timedelta(1500), "0:00:00.000001500"),
    (pd.Timedelta(500), "0:00:00.000000500"),
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
    (Decimal("1.50E-10"), "0.00000000015"),
    (1e-7, "0.0000001"),
    (Decimal("1.50E-100"), "1.5e-100"),
    (1e-100, "1e-100"),
    (10**39, "1" + "0" * 39),
    (10**40, "1e+40"),
    (1e300, "1e+300"),
    (-(10**40) - 1, "-1" + "0" * 39 + "1"),
    (1e16, "10000000000000000"),
    (Decimal("1e-5000"), None),
    (Decimal("Infinity"), "inf"),
    (-math.inf, "-inf"),
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


ALIKE: list[list[Any]] = [
    [1e16, 10**16, Decimal("1e16"), Fraction(10**16), np.int64(10**16)],
    [2.0**53, 2**53, Decimal(2**53)],
    [2.0**60, 2**60, np.longdouble(2**60)],
    [1e23, int(1e23), Decimal(int(1e23))],
    [10**23, Decimal("1e23")],
    [10**39, Decimal("1E+39"), Fraction(10**39)],
    [10**45, Decimal("1e45"), Decimal("10e44"), Fraction(10**45)],
    [1e300, int(1e300), Decimal(int(1e300)), Fraction(1e300)],
    [Fraction("0.12345678901234567890123"), Decimal("0.12345678901234567890123")],
    [(2**63 + 1) * 2**20, np.ldexp(np.longdouble(2**63 + 1), 20)],
    [10**400, Decimal("1e400"), Fraction(10**400)],
    [1e-7, Decimal("1e-7"), Decimal("0.00000010"), np.float32(1e-7)],
    [
        0.1,
        Decimal("0.1"),
        Decimal("0.10"),
        Decimal.from_float(0.1),
        Fraction(1, 10),
        np.float16(0.1),
        np.longdouble(0.1),
    ],
    [1e-50, Decimal("1e-50"), Decimal("10e-51")],
    [5e-324, Decimal.from_float(5e-324), Fraction(5e-324)],
    [0, 0.0, -0.0, Decimal("-0.00"), Decimal("0E+5000"), np.float32(-0.0), 0j],
    [dt.timedelta(1), pd.Timedelta(1, "D")],
    [dt.timedelta(microseconds=1), pd.Timedelta(1000)],
    [np.datetime64("2020-01-01T05"), np.datetime64("2020-01-01T05:00:00.000"), dt.datetime(2020, 1, 1, 5)],
    [np.datetime64("2020"), np.datetime64("2020-01-01"), dt.date(2020, 1, 1)],
    [dt.datetime(2020, 1, 1), pd.Timestamp("2020-01-01"), np.datetime64("2020-01-01T00")],
]


@pytest.mark.parametrize("values", ALIKE, ids=range(len(ALIKE)))
def test_equal_values_of_different_types_are_one_person(values: list[Any]) -> None:
    assert len({text_of(value, {}) for value in values} - {None}) == 1
    frame = pd.DataFrame({"pid": pd.Series(values, dtype=object), "A": ["m"] * len(values)})
    table = gd.Table.scan(frame, domain=gd.Domain.of(A=["m"]), unit=gd.PrivacyUnit("pid", max_rows=1))
    assert table.totals([Aggregate(("A",))], b"")[0].tolist() == [1]


@pytest.mark.many
@pytest.mark.parametrize("other", [Spelt.X, "x\0", "x\0a", Loud("y"), 1.0, math.nan, pd.NA, True, None], ids=repr)
@pytest.mark.parametrize("place", [0, 3])
@pytest.mark.parametrize("missing", [[], [None], [math.nan]], ids=repr)
def test_no_row_changes_how_another_is_read(other: Any, place: int, missing: list[Any]) -> None:
    """Texts are equal up to a NUL for pandas 2.2, and a member of an enumeration may equal a text it is not read by."""
    values = ["x", "x", "x", *missing]
    values.insert(place, other)
    frame = pd.DataFrame({"A": pd.Series(values, dtype=object), "pid": pd.Series(values, dtype=object)})
    table, per_person = (
        gd.Table.scan(frame, domain=gd.Domain.of(A=["x", "y"]), unit=unit)
        for unit in (None, gd.PrivacyUnit("pid", max_rows=1))
    )
    read = [text_of(value, {}) for value in values]
    counts = [read.count("x"), read.count("y")]
    assert table.totals([Aggregate(("A",))], b"")[0].tolist() == counts
    assert per_person.totals([Aggregate(("A",))], b"")[0].tolist() == [min(count, 1) for count in counts]


def test_random_numbers_have_one_text_where_they_are_equal() -> None:
    """Of numbers of all sizes: the float, its exact decimal and fraction; neighbouring integers stay apart."""
    rng = np.random.default_rng(3)
    for number in (rng.standard_normal(2000) * 10.0 ** rng.integers(-60, 60, 2000)).tolist():
        alike = [number, Decimal(number), np.longdouble(number), Fraction(number), Decimal(repr(number))]
        texts = [text_of(value, {}) for value in alike]
        assert len(set(texts[:4])) == 1, number
        assert float(texts[0] or "") == float(texts[4] or "") == number
        whole = int(number * 10**40)
        assert text_of(whole, {}) == text_of(Decimal(whole), {}) != text_of(whole + 1, {}), whole


def test_a_small_decimal_is_in_its_category() -> None:
    values = [Decimal("0.0000001"), Decimal("0.5"), 1e-7]
    frame = pd.DataFrame({"A": pd.Series(values, dtype=object)})
    table = gd.Table.scan(frame, domain=gd.Domain.of(A=["0.0000001", "0.5"]))
    assert table.totals([Aggregate(("A",))], b"")[0].tolist() == [2, 1]


def test_two_spellings_of_truth_are_read_from_one_column(tmp_path: Path) -> None:
    """An attribute says yes and no, a lookup table true and false, or 1 and 0: each counts as typed booleans do."""
    for words in (("true", "false"), ("1", "0"), ("TRUE", "FALSE"), ("yes", "no")):
        (tmp_path / "look.csv").write_text(f"F,X,K\n{words[0]},5,a\n{words[1]},2,b\n")
        (tmp_path / "d.toml").write_text(
            '[attributes]\nF = ["yes", "no"]\nK = { look_up = "look.csv", on = "F" }\n'
            '[columns]\nX = { look_up = "look.csv", on = "F", low = 0, high = 9, missing = "drop" }\n'
        )
        values = [True, np.bool_(True), False, None]
        typed = pd.Series([True, True, False, None], dtype="boolean")
        for column in (pd.Series(values, dtype=object), pd.Series(values, dtype=object).astype("category"), typed):
            table = gd.Table.scan(pd.DataFrame({"F": column}), domain=gd.Domain.load(tmp_path / "d.toml"))
            totals = table.totals([Aggregate(("F",)), Aggregate(("K",)), Aggregate((), "X")], b"")
            assert [total.tolist() for total in totals] == [[2, 1], [2, 1], [-3]]


def test_a_text_is_no_boolean_where_two_facts_spell_truth(tmp_path: Path) -> None:
    (tmp_path / "look.csv").write_text("F,K\ntrue,a\nfalse,b\n")
    (tmp_path / "d.toml").write_text(
        '[attributes]\nF = ["yes", "no"]\nK = { look_up = "look.csv", on = "F", outside = "other" }\n'
    )
    frame = pd.DataFrame({"F": pd.Series(["yes", "no", True, "true"], dtype=object)})
    table = gd.Table.scan(frame, domain=gd.Domain.load(tmp_path / "d.toml"))
    assert table.totals([Aggregate(("F",))], b"")[0].tolist() == [2, 1]
    assert table.totals([Aggregate(("K",))], b"")[0].tolist() == [2, 0, 2]


def test_truth_is_written_as_the_domain_writes_it() -> None:
    assert text_of(np.bool_(True), {"true": "yes", "false": "no"}) == "yes"
    assert text_of("true", {"true": "yes"}) == "true"


def test_people_and_categories_that_are_objects_are_counted() -> None:
    """Five people of two rows each, of whom one row counts; once every count was 0, and paid for."""
    frame = pd.DataFrame({"pid": IDS * 2, "A": [Sex.MALE] * 10})
    assert frame.dtypes.eq(object).all()
    table = gd.Table.scan(frame, domain=gd.Domain.of(A=["m"]), unit=gd.PrivacyUnit("pid"))
    assert table.totals([Aggregate(("A",))], b"")[0].tolist() == [5]


@pytest.mark.slow
def test_a_column_of_objects_is_never_refused_for_what_is_in_it() -> None:
    columns = {f"A{i}": np.empty(1, dtype=object) for i in range(len(TEXTS))}
    for column, (value, _) in zip(columns.values(), TEXTS, strict=True):
        column[0] = value
    frame = pd.DataFrame({name: pd.Series(column, dtype=object) for name, column in columns.items()})
    for fact in (gd.categories(["x"]), gd.integers(0, 5), gd.dates("2020-01-01", "2020-02-01", by="day")):
        table = gd.Table.scan(frame, domain=gd.Domain.of(**dict.fromkeys(columns, fact)))
        assert len(table.totals([Aggregate((name,)) for name in columns], b"")) == len(columns)


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
