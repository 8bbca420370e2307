"""Bad rows never change what is said: the same exit code, the same messages, the same words around the numbers."""

import gzip
import json
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gaugedp as gd
from tests.cli.kit import DOMAIN, NOTE, PROGRESS, QUESTION, Desk, check_silence

GOOD = b"SEX,AGE,PAY,PID,NOTE\n1,20,300,p,n\n2,30,500,p,n\n"
HEADER = GOOD.splitlines(keepends=True)[0]
BAD_ROWS = {
    "outside": b"3,-5,1e300,p,n\n0,100.5,-7,p,n\n",
    "nan": b"nan,nan,nan,p,n\nNaN,NaN,NaN,p,n\n",
    "infinite": b"inf,inf,inf,p,n\n-inf,-Infinity,-inf,p,n\n1e999,1e999,-1e999,p,n\n",
    "null": b",,,,\nNULL,NULL,NULL,NULL,NULL\n\\N,\\N,\\N,\\N,\\N\n",
    "text": f"{NOTE},{NOTE},{NOTE},{NOTE},{NOTE}\n".encode(),
    "formats": b"1_0,0x1,1;5,p,n\n1 000,12%,$5,p,n\n1,20.,.5,p,n\n+1,-0,1e-999,p,n\n",
    "long numbers": b"1,"
    + b"9" * 5000
    + b","
    + b"9" * 5000
    + b",p,n\n1,1e-99999999999999999999,1e99999999999999,p,n\n",
    "few fields": b"1\n\n1,20\n,\n",
    "many fields": b"1,20,300,p,n,6,7,8\n",
    "open quote": b'1,20,"300,p,n\n1,20,300,p,n\n',
    "odd quotes": b'1"2,"2"0,"3""0"0,p,n\n"",""",""""",p,n\n',
    "no text": b"\xff\xfe,\x80,\xc3(,\xed\xa0\x80,n\n1,\x00,\x00\x00,\x00,n\n",
    "line ends": b"1,20,300,p,n\r\n1,20,300,p,n\r1,20,300,p,n\n\r\n",
    "formula": b"=1+1,@SUM(A1),';DROP TABLE gaugedp_source;--,p,n\n",
    "long field": b"1,20,300,p," + b"x" * 2**20 + b"\n",
    "long line": b"1," + b"2" * 3_000_000 + b",300,p,n\n",
    "no line end": b"1,20,300,p,n",
    "half a line": b"1,2",
}


def masked(text: str) -> str:
    """The text without its numbers, hashes and the spaces that align them."""
    plain = "\n".join(unhinted(text))
    return re.sub(r"[ -]+", " ", re.sub(r"[0-9a-f]{32,}|-?[0-9][0-9.,]*(e[+-]?[0-9]+)?", "#", plain))


def unhinted(text: str) -> list[str]:
    """The lines without the hints, which follow from the noisy numbers."""
    words = r"All counts of |The interval of |.* lies at the (lower|upper) bound of "
    return [line for line in text.splitlines() if not re.match(words, line)]


def public(text: str) -> dict[str, Any]:
    """The facts of a release, without what the noise decides and where the ledger stood."""
    facts = json.loads(text)
    assert len(facts.pop("numbers")) > 0
    del facts["account"]
    return facts


def said(desk: Desk, table: str, flag: str, **chosen: str) -> tuple[Any, ...]:
    done = desk.release(table, *([flag] if flag else []), query=QUESTION, epsilon="0.0001", **chosen)
    check_silence(done)
    progress = [line for line in done.err.splitlines() if not line.startswith("Opened a new ledger")]
    assert progress == PROGRESS
    return done.code, progress, public(done.out) if flag else masked(done.out)


def table_of(desk: Desk, content: bytes, name: str = "other.csv") -> str:
    (desk.folder / name).write_bytes(content)
    return name


@pytest.fixture
def persons(desk: Desk) -> dict[str, str]:
    """The options for a unit of several rows: a ledger and a domain of its own."""
    (desk.folder / "persons.toml").write_text(f"{DOMAIN}[unit]\ncolumn = 'PID'\nmax_rows = 2\n")
    return {"domain": "persons.toml", "ledger": "persons.ledger", "budget": "2"}


@pytest.fixture
def good(desk: Desk, said_of_good: dict[str, Any]) -> dict[str, Any]:
    """What is said of rows without a fault, by flag."""
    for flag in ("", "--json"):
        if flag not in said_of_good:
            said_of_good[flag] = said(desk, table_of(desk, GOOD), flag)
    return said_of_good


@pytest.fixture(scope="module")
def said_of_good() -> dict[str, Any]:
    return {}


@pytest.mark.slow
@pytest.mark.parametrize("rows", BAD_ROWS.values(), ids=BAD_ROWS)
def test_bad_rows_of_a_csv_file(desk: Desk, good: dict[str, Any], rows: bytes) -> None:
    assert said(desk, table_of(desk, GOOD + rows), "") == good[""]
    assert said(desk, table_of(desk, HEADER + rows + GOOD), "--json") == good["--json"]


@pytest.mark.slow
def test_bad_rows_where_a_person_has_several(desk: Desk, persons: dict[str, str]) -> None:
    expected = said(desk, table_of(desk, GOOD), "", **persons)
    short = {name: rows for name, rows in BAD_ROWS.items() if len(rows) < 2**20}
    for rows in (short["null"], short["text"], short["no text"], short["open quote"], b"".join(short.values())):
        assert said(desk, table_of(desk, GOOD + rows), "", **persons) == expected


@pytest.mark.slow
@pytest.mark.parametrize("content", [HEADER, HEADER.strip(), HEADER + b"\n\n"])
def test_an_empty_table_is_answered_like_any_other(desk: Desk, good: dict[str, Any], content: bytes) -> None:
    for flag, expected in good.items():
        assert said(desk, table_of(desk, content), flag) == expected


@pytest.mark.slow
def test_a_tsv_file_and_a_packed_one(desk: Desk, good: dict[str, Any]) -> None:
    expected = good[""]
    rows = b"".join(BAD_ROWS.values())
    assert said(desk, table_of(desk, (GOOD + rows).replace(b",", b"\t"), "other.tsv"), "") == expected
    assert said(desk, table_of(desk, gzip.compress(GOOD + rows), "other.csv.gz"), "") == expected


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.binary(max_size=200), st.text(alphabet='1290.,"\n\r-einfax \t', max_size=200).map(str.encode)))
def test_any_bytes_as_rows(desk: Desk, rows: bytes) -> None:
    done = desk.release(table_of(desk, HEADER + rows), query="SEX; mean(PAY) by AGE", epsilon="0.0001")
    assert (done.code, done.err.splitlines()) == (0, PROGRESS)
    check_silence(done)
    assert len(unhinted(done.out)) == 2 + 2 + 10 + 1 + 5 + 2


# -- parquet ---------------------------------------------------------------------------------------

TYPED: dict[str, tuple[dict[str, pa.DataType], list[tuple[Any, ...]]]] = {
    "floats": (
        {"SEX": pa.string(), "AGE": pa.float64(), "PAY": pa.float64()},
        [(None, None, None), ("1", np.nan, np.nan), ("2", np.inf, -np.inf), (NOTE, 1e308, -1e308), ("1", -0.0, 5e-324)],
    ),
    "integers": (
        {"SEX": pa.int64(), "AGE": pa.int64(), "PAY": pa.int64()},
        [(None, None, None), (2**63 - 1, -(2**63), 2**63 - 1), (-1, 101, -(2**63))],
    ),
    "texts": (
        {"SEX": pa.string(), "AGE": pa.string(), "PAY": pa.string()},
        [
            (None, None, None),
            ("", "", ""),
            (NOTE, NOTE, NOTE),
            ("\0", "1" * 5000, "1e" + "9" * 50),
            ("1", "nan", "inf"),
        ],
    ),
    "decimals": (
        {"SEX": pa.string(), "AGE": pa.decimal128(38, 2), "PAY": pa.decimal128(38, 2)},
        [(None, None, None), ("1", Decimal(10) ** 35, -(Decimal(10) ** 35)), (NOTE, Decimal("0.01"), None)],
    ),
    "unsigned": (
        {"SEX": pa.uint64(), "AGE": pa.uint64(), "PAY": pa.float32()},
        [(2**64 - 1, 2**64 - 1, np.float32(3e38)), (None, None, np.float32("nan"))],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", TYPED)
def test_bad_rows_of_a_parquet_file(desk: Desk, good: dict[str, Any], kind: str) -> None:
    types, rows = TYPED[kind]
    schema = pa.schema(list(types.items()))

    def write(rows: list[tuple[Any, ...]]) -> str:
        columns = [[row[i] for row in rows] for i in range(len(types))]
        arrays = [pa.array(column, kind) for column, kind in zip(columns, types.values(), strict=True)]
        pq.write_table(pa.Table.from_arrays(arrays, schema=schema), desk.folder / "other.parquet")
        return "other.parquet"

    code, progress, text = good[""]
    text = "\n".join(line for line in text.split("\n") if not line.startswith("Malformed lines"))
    for content in ([], rows):
        assert said(desk, write(content), "") == (code, progress, text), "all but the rule of text files"


# -- frames ----------------------------------------------------------------------------------------

ODD: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "nan": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "text": lambda: NOTE,
    "bytes": lambda: b"\xff",
    "list": lambda: [NOTE],
    "dictionary": lambda: {NOTE: 1},
    "missing": lambda: pd.NA,
    "no time": lambda: pd.NaT,
    "complex": lambda: 1j,
    "surrogate": lambda: "\udcff",
    "true": lambda: True,
    "type": lambda: object,
    "long integer": lambda: 10**400,
}


@pytest.fixture(scope="module")
def people() -> gd.Domain:
    return gd.Domain.of(SEX=["1", "2"], AGE=gd.bins(0, 100, width=10), PAY=gd.bounded(0, 1000))


def answered(people: gd.Domain, frame: pd.DataFrame) -> dict[str, Any]:
    table = gd.Table.scan(frame, domain=people, unit=gd.PrivacyUnit(), name="people")
    ledger = gd.Ledger.in_memory(gd.PureDP(2))
    return public(gd.release(gd.query(people, QUESTION), table, ledger=ledger, epsilon=1).to_json())


GOOD_FRAME = pd.DataFrame({"SEX": ["1", "2"], "AGE": [20, 30], "PAY": [300.0, 500.0]})


@pytest.fixture(scope="module")
def usual(people: gd.Domain) -> dict[str, Any]:
    return answered(people, GOOD_FRAME)


@pytest.mark.slow
@pytest.mark.parametrize("make", ODD.values(), ids=ODD)
def test_odd_objects_in_a_frame(people: gd.Domain, usual: dict[str, Any], make: Callable[[], Any]) -> None:
    odd = pd.Series([make(), 20], dtype=object)
    assert answered(people, pd.DataFrame({"SEX": odd, "AGE": odd, "PAY": odd})) == usual


@pytest.mark.slow
@pytest.mark.parametrize("value", [10**5000, Fraction(10**400)], ids=["long integer", "large fraction"])
def test_numbers_that_have_no_text_in_a_frame(people: gd.Domain, usual: dict[str, Any], value: Any) -> None:
    odd = pd.Series([value, 20], dtype=object)
    assert answered(people, GOOD_FRAME.assign(AGE=odd)) == usual


@pytest.mark.slow
def test_numbers_and_nothing_in_a_frame(people: gd.Domain, usual: dict[str, Any]) -> None:
    wild = pd.DataFrame({"SEX": [np.nan, 3e38], "AGE": [np.inf, -np.inf], "PAY": [np.nan, -np.inf]})
    assert answered(people, wild) == usual
    assert answered(people, GOOD_FRAME.iloc[:0]) == usual
    assert answered(people, wild.astype("float32")) == usual


def test_the_comparison_sees_other_words() -> None:
    assert masked("SEX=1  -17.5  3e-05") == masked("SEX=2 4    -1")
    assert masked("SEX 17 left out") != masked("SEX 17 counted")
