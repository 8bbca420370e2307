"""Keys and their counts: the same on every engine, each person bounded, and nobody's rows decide about another's."""

import random
from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest

import gaugedp as gd
from gaugedp.domain.attributes import OTHER
from gaugedp.errors import InvalidRequest, UnreadableTable
from gaugedp.tables.keys import count_keys, is_key
from tests.tables.engines import ENGINES
from tests.tables.sources import KINDS, as_arrow, make

TYPES = {"pid": int, "city": str, "size": int, "share": float}
CITIES = ["Zürich", "Bern", "Bern ", "a'b", None, OTHER, "", "tab\tx", "x" * 200, "x" * 201, "${a}"]
SHARES = [1.0, 2.5, -0.0, None, float("nan"), float("inf"), 2.0**53, -7.0, 1.0, 1e300, 12.0]
ROWS = [
    {"pid": i % 4 if i % 6 else None, "city": city, "size": i % 3, "share": share}
    for i, (city, share) in enumerate(zip(CITIES * 3, SHARES * 3, strict=True))
]
UNITS = [gd.PrivacyUnit(), gd.PrivacyUnit("pid", max_rows=100)]


def scanned(source: object, name: str, unit: gd.PrivacyUnit = UNITS[0]) -> gd.Table:
    return gd.Table.scan(source, domain=gd.Domain.of(**{name: gd.unknown_keys(5)}), unit=unit, name="t")


def counted(table: gd.Table, row_key: bytes = b"key") -> dict[str, int]:
    keys, counts = count_keys(table, *table.domain.attributes, row_key)
    assert keys == sorted(keys)
    return dict(zip(keys, counts.tolist(), strict=True))


def expected(name: str, unit: gd.PrivacyUnit) -> dict[str, int]:
    """By hand: a row's key, and each person once for a key."""
    pairs = [(row["pid"], _key(row[name])) for row in ROWS]
    if unit.column is not None:
        pairs = sorted({pair for pair in pairs if None not in pair})
    return dict(Counter(key for _, key in pairs if key is not None and is_key(key)))


def _key(value: object) -> str | None:
    if isinstance(value, float):
        return str(int(value)) if abs(value) < 2**53 and value.is_integer() else None
    return None if value is None else str(value)


@pytest.mark.many
@pytest.mark.parametrize("name", ["city", "size", "share"])
@pytest.mark.parametrize("unit", UNITS, ids=["row", "person"])
@pytest.mark.parametrize("kind", [*KINDS, *(f"engine {name}" for name in ENGINES)])
def test_every_engine_has_the_keys_by_hand(kind, unit, name, tmp_path) -> None:
    if kind in {"csv", "tsv"} and name == "share":
        pytest.skip("a text is a key as it is written")
    engine = kind.removeprefix("engine ")
    source = ENGINES[engine](as_arrow(ROWS, TYPES), 1) if engine in ENGINES else make(kind, ROWS, TYPES, tmp_path)
    assert counted(scanned(source, name, unit)) == expected(name, unit)


def people(n_people: int = 200) -> dict[str, list]:
    draw = random.Random(5)
    own = [(person, f"k{draw.randrange(30)}") for person in range(n_people) for _ in range(draw.choice([1, 2, 5, 12]))]
    return {"pid": [person for person, _ in own], "city": [key for _, key in own]}


@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("kind", [int, str, float], ids=["numbers", "texts", "floats"])
def test_a_person_has_at_most_max_rows_keys_each_once(max_rows, kind) -> None:
    rows = people()
    own = defaultdict(set)
    for person, key in zip(rows["pid"], rows["city"], strict=True):
        own[person].add(key)
    table = pa.table({"pid": [kind(person) for person in rows["pid"]], "city": rows["city"]})
    actual = counted(scanned(table, "city", gd.PrivacyUnit("pid", max_rows=max_rows)))
    assert sum(actual.values()) == sum(min(max_rows, len(keys)) for keys in own.values())
    person = max(own, key=lambda person: len(own[person]))
    rest = table.filter(pa.compute.not_equal(table["pid"], kind(person)))
    without = counted(scanned(rest, "city", gd.PrivacyUnit("pid", max_rows=max_rows)))
    changes = Counter(actual) - Counter(without)  # nobody else's keys change
    assert sum(changes.values()) == max(changes.values()) * max_rows == max_rows
    assert not Counter(without) - Counter(actual)


def test_which_keys_of_a_person_count_is_even_and_the_row_key_decides() -> None:
    """Each of 4 keys in 400 of 1600, within 5 deviations; persons of one key are no guide to another's."""
    table = pa.table({"pid": np.repeat(np.arange(1600), 4), "city": list("abcd") * 1600})
    unit = gd.PrivacyUnit("pid", max_rows=1)
    first, second = (counted(scanned(table, "city", unit), row_key) for row_key in (b"one", b"two"))
    assert first != second
    assert all(abs(count - 400) < 5 * (1600 * 3 / 16) ** 0.5 for count in first.values())


def test_buckets_change_nothing() -> None:
    table = scanned(pa.table(people()), "city", gd.PrivacyUnit("pid", max_rows=2))
    assert counted(table.in_buckets(3)) == counted(table)


def test_another_column_s_missing_values_leave_no_row_out() -> None:
    domain = gd.Domain.of(city=gd.unknown_keys(5), sex=["1"])
    table = gd.Table.scan(pa.table({"city": ["a", "a"], "sex": ["1", None]}), domain=domain)
    assert count_keys(table, "city", b"k")[1].tolist() == [2]


def test_a_table_without_rows_has_no_keys() -> None:
    assert counted(scanned(pa.table({"city": pa.array([], pa.string())}), "city")) == {}


def test_texts_that_are_none_are_no_keys_and_no_failure(monkeypatch) -> None:
    """As an engine gives them that does not check: bytes."""
    from gaugedp.tables.duckdb.engine import DuckDBEngine

    texts = [b"\xff", b"Bern", bytearray("Zürich".encode())]
    given = {"key_text": np.array(texts, dtype=object), "n": np.array([5, 6, 7])}
    monkeypatch.setattr(DuckDBEngine, "_run", lambda *_: given)
    assert counted(scanned(pa.table({"city": ["a"]}), "city")) == {"Bern": 6, "Zürich": 7}


def test_a_database_that_does_not_know_its_texts_is_refused(monkeypatch) -> None:
    from gaugedp.releases.partition_selection import selection
    from gaugedp.tables.duckdb.engine import DuckDBEngine

    monkeypatch.setattr(DuckDBEngine, "gives_texts", False)
    with pytest.raises(UnreadableTable, match="SQL_ASCII"):
        selection(scanned(pa.table({"city": ["a"]}), "city"), "city", gd.ApproxDP(1.0, 1e-6))


def test_columns_that_are_no_categories_are_refused() -> None:
    with pytest.raises(UnreadableTable, match="cannot be compared with categories"):
        scanned(pa.table({"city": [[1], [2]]}), "city")


def test_texts_that_a_collation_takes_for_equal_are_different_keys() -> None:
    """Else the spelling of one person could stand for the texts of all."""
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (k VARCHAR COLLATE NOCASE)")
    connection.execute("INSERT INTO t SELECT 'aLiCe' UNION ALL SELECT 'alice' FROM range(20)")
    table = gd.Table.scan(connection.table("t"), domain=gd.Domain.of(k=gd.unknown_keys(100)), name="t")
    names, counts = count_keys(table, "k", bytes(16))
    assert dict(zip(names, counts.tolist(), strict=True)) == {"aLiCe": 1, "alice": 20}


def test_a_value_of_persons_is_not_made_of_keys_that_nobody_knows() -> None:
    rows = gd.Table.scan(
        pa.table({"k": ["x"], "p": [1]}), domain=gd.Domain.of(k=gd.unknown_keys(9)), unit=gd.PrivacyUnit("p"), name="t"
    )
    with pytest.raises(InvalidRequest, match="Release them first"):
        gd.by_person(rows, "p", k=gd.PerPerson.max("k"))
