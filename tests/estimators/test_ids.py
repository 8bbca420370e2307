"""Ids are read one by one: no row changes how another is read. Keys are fixed."""

import contextlib
from decimal import Decimal
from uuid import UUID

import numpy as np
import pytest

from gaugedp.errors import InvalidRequest

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from gaugedp.estimators.ids import Ids, key, read_columns, read_ids, same_ids
from gaugedp.estimators.matrix_completion import MatrixCompletion

FIRST = [
    *(1, 7.0, 0.5, -3, None, float("nan"), float("inf"), "zzz", "7", "7.0", "", " ", "nan", 2**53, 2**60, 10**400),
    *(-(10**20), 1e300, np.int8(3), np.uint64(2**63), np.float16(2), np.float32(2), np.longdouble(3), np.longdouble(1)),
    *(True, np.bool_(False), [1, 2], [], (), {}, object(), b"x", Decimal(7), Decimal("NaN"), 1j, 7 + 0j),
    *(np.str_("ann"), np.array([1, 2]), UUID(int=7), "x" * 5000, "9" * 5000, "a\0b", "\ud800"),
]
RESTS = {  # the other rows, and where they are among the ids
    "whole numbers": ([3, 0, 7, 11, -1], [3, 0, 7, -1, -1]),
    "floats": ([3.0, 0.0, -0.0, 7.0, 7.5, 11.0], [3, 0, 0, 7, -1, -1]),
    "digits": (["3", "07", " 7 ", "7.0", "11"], [3, -1, 7, 7, -1]),
    "all kinds": ([3, "7", 7.0, None, "nan", "x", np.int8(2), float("nan")], [3, 7, 7, -1, -1, -1, 2, -1]),
}
LISTS = [10, list(range(10)), [str(one) for one in range(10)], np.arange(10.0), [0, 1.0, "2", *range(3, 10)]]


def tables(rows: list):
    """The same rows in all that may hold them; what cannot is left out."""
    pandas = pytest.importorskip("pandas")
    yield rows
    yield [tuple(row) for row in rows]
    results = np.empty((len(rows), 2), dtype=object)
    for place, row in enumerate(rows):
        results[place, 0], results[place, 1] = row
    yield results
    with contextlib.suppress(ValueError, OverflowError, TypeError):
        yield np.array(rows)
    if any(isinstance(one, str) and "\ud800" in one for row in rows for one in row):
        return
    frame = pandas.DataFrame({name: pandas.Series([row[side] for row in rows]) for side, name in enumerate("ui")})
    yield frame
    yield frame.astype(object)
    yield frame.convert_dtypes()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("kind", RESTS)
@pytest.mark.parametrize("side", [0, 1])
def test_the_first_row_changes_no_other(kind: str, side: int) -> None:
    """In either column, of every kind, in every table, for every way to write the public list."""
    pandas = pytest.importorskip("pandas")
    rest, expected = RESTS[kind]
    lists = [Ids("users", given) for given in LISTS]
    for first in (*FIRST, pandas.NA, pandas.NaT, pandas.Timestamp("2020"), np.timedelta64(3, "D")):
        head = [1, 1]
        head[side] = first
        for table in tables([head, *([one, one] for one in rest)]):
            if getattr(getattr(table, "dtype", None), "kind", "O") in "mM":
                continue
            for column in read_columns(table):
                for ids in lists:
                    assert ids.places(column)[1:].tolist() == expected, (first, type(table))


def test_the_first_row_changes_no_other_where_ids_are_names_or_too_large() -> None:
    ids = Ids("users", ["ann", "bob", "7", 8, "0.5", "007", str(2**60), "1e5"])
    assert ids.values.tolist() == ["0.5", "7", "8", "007", str(2**60), "1e5", "ann", "bob"]
    rest = ["bob", 7, 8.0, 0.5, "007", str(2**60), "1e5", 100_000, "Bob"]
    for first in (*FIRST, float(2**60)):
        for table in tables([[first, 1], *([one, 1] for one in rest)]):
            assert ids.places(read_columns(table)[0])[1:].tolist() == [7, 1, 2, 0, 3, 4, 5, -1, -1]
    for first in (1, 1.0, None, "zzz", 10**400):
        lists = [[first, 1], *([2**60 + one, 1] for one in (-1, 0, 1))]
        for table in tables(lists):
            if np.asarray(table).dtype.kind != "U":  # text by now: what was no text before cannot be told
                assert (ids.places(read_columns(table)[0])[1:] == -1).all()


@pytest.mark.parametrize("kind", ["?", "i1", "u2", "i8", "u8", "f2", "f4", "f8", "g", "c16"])
def test_arrays_of_numbers_are_read_as_one_by_one(kind: str) -> None:
    rng = np.random.default_rng(1)
    edges = [0, 1, -1, 0.5, 2**53 - 1, 2**53, 2**53 + 1, -(2**53), 2**62 + 1, np.nan, np.inf, 1e300]
    numbers = np.concatenate([np.array(edges, dtype="g"), rng.integers(-99, 99, 50), rng.standard_normal(50)])
    kept = numbers if np.dtype(kind).kind in "fc" else numbers[np.isfinite(numbers) & (np.abs(numbers) < 2**63)]
    with np.errstate(all="ignore"):
        column = kept.astype(np.int64).astype(kind) if np.dtype(kind).kind in "biu" else kept.astype(kind)
    actual, texts = read_ids(column)
    alone = [key(one) for one in column]
    assert texts == {}
    assert np.array_equal(actual, np.array([np.nan if one is None else one for one in alone]), equal_nan=True)
    assert np.array_equal(actual, read_ids(column.astype(object))[0], equal_nan=True)


def test_public_ids_are_the_same_however_they_are_written() -> None:
    """Whole numbers come back as such, others as numbers or as text."""
    pandas = pytest.importorskip("pandas")
    for column in ([3, 1, 2], [3.0, 1.0, 2.0], [2, 1, 3, 1.0]):
        for given in (column, tuple(column), set(column), np.array(column), pandas.Series(column)):
            values = Ids("users", given).values
            assert values.dtype.kind == "i"
            assert values.tolist() == [1, 2, 3]
    assert Ids("users", ["3", 1, "2"]).values.tolist() == ["1", "2", "3"]
    assert Ids("users", np.array([0.5, 2.0])).values.tolist() == [0.5, 2.0]
    assert Ids("users", np.array(["b", 10, 9.0], dtype=object)).values.tolist() == ["9", "10", "b"]
    assert Ids("users", ["10", "9"]).values.tolist() == ["9", "10"]
    assert Ids("users", [10, 9.0, 9]).values.tolist() == [9, 10]


@pytest.mark.parametrize("bad", [[2**53], [float(2**53)], [1, None], ["a", ""], [1, float("nan")], [[1]], ["inf"]])
def test_public_lists_hold_ids_only(bad: list) -> None:
    with pytest.raises(InvalidRequest, match="An id in `users` must be"):
        Ids("users", bad)


def test_one_id_is_found_among_others() -> None:
    column = read_columns([["7", 0], [7, 0], ["x", 0], [None, 0], [" x", 0]])[0]
    assert same_ids(column, 7.0).tolist() == [True, True, False, False, False]
    assert same_ids(column, "x").tolist() == [False, False, True, False, True]
    assert not same_ids(column, None).any()


def test_a_row_without_an_id_leaves_the_model_of_the_others() -> None:
    """The whole fit, the same noise: text ids that are public, whole numbers in the table, one of them missing."""
    rng = np.random.default_rng(2)
    rows, stars = np.stack([rng.integers(0, 50, 2000), rng.integers(0, 40, 2000)], axis=1).tolist(), [5.0] * 2001
    names = [str(one) for one in range(50)]
    model = MatrixCompletion(1.0, 1e-6, rating_bounds=(1, 5), users=names, items=40, random_state=1)
    expected = model.fit(rows, stars[1:]).item_offsets_
    for first in (None, "zzz", float("nan"), 2**60):
        for table in tables([[first, 1], *rows]):
            assert (model.fit(table, stars).item_offsets_ == expected).all()
