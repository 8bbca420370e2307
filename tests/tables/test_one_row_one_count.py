"""What one row can do to the rows of others: nothing. Each case once broke this."""

import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import gaugedp as gd
from gaugedp.tables.aggregate import Aggregate

DOMAIN = gd.Domain.of(S=["a", "b", "c"])
ROW, PERSON = gd.PrivacyUnit(), gd.PrivacyUnit(column="pid")
KEY = bytes(16)
BUFFER = 32_000_000  # bytes that the engine hands to one scanner


def counts(source: object, unit: gd.PrivacyUnit = ROW) -> list[int]:
    return gd.Table.scan(source, domain=DOMAIN, unit=unit).totals([Aggregate(("S",))], KEY)[0].tolist()


def test_the_text_of_a_quoted_field_is_never_taken_for_rows(tmp_path: Path) -> None:
    """A scanner that starts in the middle of the field would see rows that are none."""
    plain, path = "a,1\n", tmp_path / "large.csv"
    before = plain * (BUFFER // len(plain) - 40_000)
    path.write_text(f'S,T\n{before}a,"zzz\n' + "b,2\n" * 80_000 + f'zzz"\n{plain * 1000}')
    rows = len(before) // len(plain) + 1 + 1000
    assert counts(path) == [rows, 0, 0]


WIDE = {
    "unsigned": np.array([2**63, 2**63 + 1], dtype=np.uint64),
    "decimal": pa.array([10**17, 10**17 + 1], pa.decimal128(20, 0)),
}


@pytest.mark.parametrize("ids", WIDE.values(), ids=WIDE)
def test_people_whose_ids_are_equal_as_floats_stay_two(ids: object) -> None:
    table = pa.table({"pid": pa.array(ids), "S": ["a", "b"]})
    assert counts(table, PERSON) == [1, 1, 0]


def test_people_whose_ids_differ_in_case_stay_two() -> None:
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("SET default_collation = 'nocase'")
        connection.execute("CREATE TABLE rows AS SELECT * FROM (VALUES ('x', 'a'), ('X', 'b')) AS t(pid, S)")
        assert counts(connection.table("rows"), PERSON) == [1, 1, 0]


def test_an_id_of_one_person_in_two_rows_is_one_person() -> None:
    """The control: with one id twice, one row goes."""
    frame = pd.DataFrame({"pid": np.array([2**63, 2**63], dtype=np.uint64), "S": ["a", "a"]})
    assert counts(frame, PERSON) == [1, 0, 0]


def test_threads_never_share_bytes() -> None:
    stream, drawn = gd.research_rng(1), []
    threads = [threading.Thread(target=lambda: drawn.extend(stream.bytes(16) for _ in range(4000))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(drawn)) == len(drawn) == 16_000
