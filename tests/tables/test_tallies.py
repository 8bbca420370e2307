"""Many tables counted from the rows are those that the engine counts by grouping."""

import cProfile
import pstats
from collections import Counter
from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import pytest

from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.domain.attributes import categories, integers
from gaugedp.tables import statement
from gaugedp.tables.aggregate import Aggregate
from gaugedp.tables.statement import Aggregation, Tallies
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
        monkeypatch.setattr(statement, "TUNED", replace(statement.TUNED, many_tables=1, joint_cells=0))

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
    from gaugedp.domain.attributes import bounded

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


@pytest.mark.parametrize("seed", range(20))
def test_tables_of_any_sizes_hold_each_row_once(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By one product of matrices, some rows at a time, and table by table, as a dictionary of cells counts them."""
    draw = np.random.default_rng(seed)
    sizes = tuple(draw.integers(1, 6, int(draw.integers(2, 7))).tolist())
    sets = [part for size in range(4) for part in permutations(range(len(sizes)), size)]
    tables = tuple(sets[i] for i in draw.permutation(len(sets))[:12])
    n_rows = int(draw.integers(0, 60))
    batch = {f"a{i}": draw.integers(0, size, n_rows) for i, size in enumerate(sizes)}
    expected = [Counter(zip(*(batch[f"a{i}"].tolist() for i in table), strict=True)) for table in tables if table]
    for cells, entries in ((0, 1), (10**9, 1), (10**9, 2**22)):
        monkeypatch.setattr(statement, "TUNED", replace(statement.TUNED, product_cells=cells))
        monkeypatch.setattr(statement, "PRODUCT_ENTRIES", entries * sum(sizes))
        tallies = Tallies(sizes, tables)
        counted = [part for table, part in zip(tables, tallies.cut(tallies(batch)), strict=True) if table]
        shapes = [[sizes[i] for i in table] for table in tables if table]
        for part, shape, rows in zip(counted, shapes, expected, strict=True):
            assert {cell: n for cell, n in np.ndenumerate(part.reshape(shape)) if n} == dict(rows)


def test_a_product_of_matrices_counts_whole_numbers_exactly() -> None:
    assert statement.PRODUCT_ENTRIES <= 2**24


def test_thousands_of_tables_are_listed_in_proportion() -> None:
    """Four times the tables are at most six times the calls; to list the attributes for each would make it sixteen."""

    def calls(n_columns: int) -> int:
        domain = Domain.of(**{f"q{i}": integers(0, 1) for i in range(n_columns)})
        totals = tuple(map(Aggregate, combinations(domain.attributes, 2)))
        profile = cProfile.Profile()
        profile.runcall(lambda: Aggregation(domain, PrivacyUnit(), {}, totals).tallies)
        return pstats.Stats(profile).total_calls  # type: ignore[attr-defined]

    assert calls(60) < 6 * calls(30)
