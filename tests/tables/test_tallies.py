"""Many tables counted from the rows are those that the engine counts by grouping."""

from itertools import combinations

import numpy as np
import pytest

from gaugedp.attributes import categories, integers
from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.tables import statement
from gaugedp.tables.aggregate import Aggregate
from gaugedp.tables.statement import Tallies
from gaugedp.tables.table import Table
from tests.tables.sources import make

DOMAIN = Domain.of(a=integers(1, 5), b=categories(["x", "y"], "other"), c=integers(0, 3), d=integers(0, 6, "other"))
SETS = [part for size in range(4) for part in combinations(DOMAIN.attributes, size)] + [("c", "a")]
TOTALS = [Aggregate(names) for names in SETS]
TYPES = {"pid": int, "a": int, "b": str, "c": int, "d": int}
UNITS = [PrivacyUnit(), PrivacyUnit("pid", max_rows=1), PrivacyUnit("pid", "replace", 3)]


def rows(n: int = 400) -> list[dict]:
    draw = np.random.default_rng(5)
    kinds = ["x", "y", "z", None]
    return [
        {
            "pid": None if i == 7 else int(draw.integers(60)),
            "a": int(draw.integers(0, 6)),
            "b": kinds[int(draw.integers(4))],
            "c": int(draw.integers(0, 5)),
            "d": int(draw.integers(0, 9)),
        }
        for i in range(n)
    ]


@pytest.fixture
def from_rows(monkeypatch):
    """Return a function after which every question of counts is many."""

    def switch() -> None:
        monkeypatch.setattr(statement, "MANY_TABLES", 1)
        monkeypatch.setattr(statement, "JOINT_CELLS", 0)

    return switch


@pytest.mark.parametrize("unit", UNITS, ids=str)
@pytest.mark.parametrize("kind", ["csv", "parquet", "pandas"])
def test_rows_are_counted_as_the_engine_groups_them(kind: str, unit: PrivacyUnit, tmp_path, from_rows) -> None:
    table = Table.scan(make(kind, rows(), TYPES, tmp_path), domain=DOMAIN, unit=unit)
    grouped = table.totals(TOTALS, b"key")
    from_rows()
    counted = table.totals(TOTALS, b"key")
    assert [part.tolist() for part in counted] == [part.tolist() for part in grouped]
    assert counted[0].sum() > 30
    assert {part.dtype for part in counted} == {np.dtype(np.int64)}


@pytest.mark.parametrize("count", [1, 3])
def test_buckets_and_empty_tables_are_counted_too(count: int, tmp_path, from_rows) -> None:
    from_rows()
    table = Table.scan(make("parquet", rows(), TYPES, tmp_path), domain=DOMAIN, unit=UNITS[1])
    whole = table.totals(TOTALS, b"key")
    parts = table.in_buckets(count).totals(TOTALS, b"key")
    assert [part.tolist() for part in parts] == [part.tolist() for part in whole]
    empty = Table.scan(make("pandas", [], TYPES, tmp_path), domain=DOMAIN)
    assert not any(part.any() for part in empty.totals(TOTALS, b"key"))
    assert [len(part) for part in empty.totals(TOTALS, b"key")] == [len(part) for part in whole]


def test_sums_are_left_to_the_engine(tmp_path, from_rows) -> None:
    from gaugedp.attributes import bounded

    domain = Domain({"a": DOMAIN.attribute("a")}, {"c": bounded(0, 3, missing=0)})
    totals = [Aggregate(("a",)), Aggregate(("a",), "c"), Aggregate((), "c", present=True)]
    table = Table.scan(make("pandas", rows(), TYPES, tmp_path), domain=domain)
    grouped = table.totals(totals, b"key")
    from_rows()
    assert [part.tolist() for part in table.totals(totals, b"key")] == [part.tolist() for part in grouped]


def test_a_row_is_one_in_one_cell_of_every_table() -> None:
    tallies = Tallies((3, 4), ((0,), (1, 0), ()))
    batch = {"a0": np.array([2]), "a1": np.array([1])}
    tables = tallies.cut(tallies(batch))
    assert [np.flatnonzero(table).tolist() for table in tables] == [[2], [5], [0]]
    assert [table.sum() for table in tables] == [1, 1, 1]
