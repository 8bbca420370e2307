"""The rows of a table, as integers: what the reference gives, whatever the source and its order."""

import random
from collections import Counter

import numpy as np
import pytest

from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.domain.attributes import bounded, categories, integers
from gaugedp.errors import InvalidRequest, UnknownName
from gaugedp.tables.duckdb.engine import DuckDBEngine
from gaugedp.tables.table import Aggregate, Table
from tests.tables.reference import coded
from tests.tables.sources import KINDS, make
from tests.tables.test_table import DOMAIN, TYPES, random_rows

ATTRIBUTES, COLUMNS = ["sex", "age", "code"], ["debt", "income", "loss"]
PEOPLE = Domain.of(kind=["A", "B"], day=integers(0, 30), amount=bounded(0, 100), note=categories(["x"], "other"))
PEOPLE_TYPES = {"pid": int, "kind": str, "day": int, "amount": int, "note": str}


def listed(table: Table, attributes: list[str], columns: list[str], key: bytes = b"key") -> list[tuple[int, ...]]:
    cells, steps = table.rows(attributes, columns, key)
    assert (cells.dtype, steps.dtype) == (np.int64, np.int64)
    assert cells.shape[1:] + steps.shape[1:] == (len(attributes), len(columns))
    return [tuple(row) for row in np.hstack([cells, steps]).tolist()]


def expected(rows: list[dict]) -> list[tuple[int, ...]]:
    """Cells and steps of each row by the reference, which gives twice a value's distance from the middle."""
    totals = [Aggregate(tuple(ATTRIBUTES)), *(Aggregate((), name) for name in COLUMNS)]
    spans = {name: DOMAIN.column(name).high_steps - DOMAIN.column(name).low_steps for name in COLUMNS}
    results = []
    for codes in coded(DOMAIN, totals, rows):
        steps = (-1 if codes[name] is None else (codes[name] + spans[name]) // 2 for name in COLUMNS)
        results.append((*(codes[name] for name in ATTRIBUTES), *steps))
    return sorted(results)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_rows_agree_with_the_reference_in_any_order(kind, tmp_path):
    rows = random_rows(1, 600)
    wanted = expected(rows)
    assert {-1} < {row[4] for row in wanted}, "some rows have no income"
    assert len(wanted) < len(rows), "some rows have no sex"
    for seed in (1, 2):
        random.Random(seed).shuffle(rows)
        table = Table.scan(make(kind, rows, TYPES, tmp_path), domain=DOMAIN)
        assert listed(table, ATTRIBUTES, COLUMNS) == wanted


def test_rows_of_attributes_or_of_columns_alone(tmp_path):
    rows = random_rows(2, 300)
    table = Table.scan(make("arrow", rows, TYPES, tmp_path), domain=DOMAIN)
    assert len(listed(table, [], ["income"])) == 300, "a row without an income is listed"
    assert listed(table, ["age", "code"], []) == sorted(listed(table, ["age", "code"], []))


def people(seed: int, n: int = 150, first: int = 0) -> list[dict]:
    draw = random.Random(seed)
    return [
        {"pid": pid, "kind": draw.choice("AB"), "day": draw.randrange(31), "amount": draw.choice([None, 5, 99])}
        | {"note": draw.choice("xy")}
        for pid in range(first, first + n)
        for _ in range(draw.choice([1, 2, 3, 9]))
    ]


def scanned(rows: list[dict], folder, max_rows: int = 2, kind: str = "arrow") -> Table:
    unit = PrivacyUnit("pid", max_rows=max_rows)
    return Table.scan(make(kind, rows, PEOPLE_TYPES, folder), domain=PEOPLE, unit=unit)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_person_adds_at_most_max_rows_by_the_key_and_not_by_the_order(kind, tmp_path):
    rows = people(3)
    chosen = (["kind", "day", "note"], ["amount"])
    first = listed(scanned(rows, tmp_path, kind=kind), *chosen)
    assert len(first) == sum(min(2, count) for count in Counter(row["pid"] for row in rows).values())
    assert listed(scanned(rows, tmp_path, kind=kind), *chosen, key=b"other") != first
    random.Random(4).shuffle(rows)
    assert listed(scanned(rows, tmp_path, kind=kind), *chosen) == first


def test_the_rows_of_a_person_depend_on_nobody_else(tmp_path):
    first, second = people(5), people(6, first=1000)
    apart = [row for part in (first, second) for row in listed(scanned(part, tmp_path), ["day"], ["amount"])]
    assert listed(scanned(first + second, tmp_path), ["day"], ["amount"]) == sorted(apart)


def test_rows_and_totals_speak_of_the_same_rows(tmp_path):
    table = scanned(people(7), tmp_path)
    cells, steps = table.rows(["kind", "day"], ["amount"], b"key")
    joint, present, values = table.totals(
        [Aggregate(("kind", "day")), Aggregate((), "amount", present=True), Aggregate((), "amount", each=True)], b"key"
    )
    assert np.bincount(cells @ [31, 1], minlength=62).tolist() == joint.tolist()
    assert (steps >= 0).sum() == present[0]
    assert np.bincount(steps[steps >= 0], minlength=101).tolist() == values.tolist()


def test_a_table_without_rows(tmp_path):
    cells, steps = scanned([], tmp_path).rows(["kind"], ["amount"], b"key")
    assert (cells.shape, steps.shape) == ((0, 1), (0, 1))


@pytest.mark.parametrize(
    ("attributes", "columns", "refusal"),
    [
        (["colour"], [], UnknownName),
        (["kind"], ["day"], UnknownName),
        (["amount"], [], UnknownName),
        (["kind", "kind"], [], InvalidRequest),
        (["kind"], ["amount", "amount"], InvalidRequest),
        ([], [], InvalidRequest),
    ],
)
def test_a_wrong_request_is_refused_before_anything_is_read(attributes, columns, refusal, tmp_path, monkeypatch):
    table = scanned(people(8), tmp_path)
    monkeypatch.setattr(DuckDBEngine, "run", lambda *_: pytest.fail("the table was read"))
    with pytest.raises(refusal):
        table.rows(attributes, columns, b"key")
