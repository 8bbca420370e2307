"""At most max_rows rows of a person are kept, evenly, and only the key decides which."""

import math
import random
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.domain.attributes import bounded, categories, integers
from gaugedp.tables.bounding import Field, pack
from gaugedp.tables.table import Aggregate, Table
from tests.tables.sources import KINDS, make

DOMAIN = Domain.of(kind=["A", "B", "C"], day=integers(0, 364), amount=bounded(0, 1000))
UNIT = PrivacyUnit("pid", max_rows=3)
TYPES = {"pid": int, "kind": str, "day": int, "amount": int}
TOTALS = [Aggregate(("kind",)), Aggregate(("day",)), Aggregate(("kind",), "amount"), Aggregate(())]


def people(seed, n=400):
    draw = random.Random(seed)
    rows = []
    for person in range(n):
        for _ in range(draw.choice([1, 2, 3, 4, 10, 60])):
            day, amount = draw.randrange(365), draw.randrange(-10, 1010)
            rows.append({"pid": person, "kind": draw.choice("AABC"), "day": day, "amount": amount})
    return rows


def answers(source, key=b"key", totals=TOTALS, unit=UNIT):
    return [answer.tolist() for answer in Table.scan(source, domain=DOMAIN, unit=unit).totals(totals, key)]


def kept_of(kinds, key, n_people=1, max_rows=3):
    table = pa.table({"pid": np.repeat(np.arange(n_people), len(kinds)), "kind": list(kinds) * n_people})
    domain = Domain.of(kind=sorted(set(kinds)))
    return Table.scan(table, domain=domain, unit=PrivacyUnit("pid", max_rows=max_rows)).totals(
        [Aggregate(("kind",))], key
    )[0]


def test_each_person_keeps_the_lesser_of_max_rows_and_their_rows(tmp_path):
    rows = people(1)
    sizes = Counter(row["pid"] for row in rows)
    domain = Domain.of(pid=integers(0, 399))
    for max_rows in (1, 3, 1000):
        table = Table.scan(
            make("arrow", rows, TYPES, tmp_path), domain=domain, unit=PrivacyUnit("pid", max_rows=max_rows)
        )
        assert table.totals([Aggregate(("pid",))], b"k")[0].tolist() == [min(max_rows, sizes[i]) for i in range(400)]


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_rows_does_not_matter_and_the_key_does(kind, tmp_path):
    rows = people(2)
    first = answers(make(kind, rows, TYPES, tmp_path))
    random.Random(3).shuffle(rows)
    source = make(kind, rows, TYPES, tmp_path)
    assert answers(source) == first
    assert answers(source, b"another key") != first
    assert sum(first[0]) == sum(first[1]) == first[3][0]


def test_frames_and_parquet_keep_the_same_rows(tmp_path):
    rows = people(4)
    kept = [answers(make(kind, rows, TYPES, tmp_path)) for kind in KINDS if kind not in {"csv", "tsv"}]
    assert all(each == kept[0] for each in kept)


def test_threads_do_not_matter(monkeypatch, tmp_path):
    import duckdb

    source = make("arrow", people(5, 3000), TYPES, tmp_path)
    many, connect = answers(source), duckdb.connect
    monkeypatch.setattr(duckdb, "connect", lambda **named: connect(config={**named.get("config", {}), "threads": 1}))
    assert answers(source) == many


def test_a_person_left_alone_by_the_others(tmp_path):
    """The rows kept of one person do not depend on anyone else: what a neighbouring table may change is theirs."""
    rows = people(6, 50)
    more = [{**row, "pid": row["pid"] + 1000} for row in people(7, 80)]
    parts = [answers(make("arrow", part, TYPES, tmp_path), totals=[Aggregate(("day",))])[0] for part in (rows, more)]
    together = answers(make("arrow", rows + more, TYPES, tmp_path), totals=[Aggregate(("day",))])[0]
    assert np.add(*parts).tolist() == together


@pytest.mark.parametrize("kind", KINDS)
def test_rows_without_a_person_are_left_out_before_the_choice(kind, tmp_path):
    rows = [{"pid": None, "kind": "A", "day": 1, "amount": 1}] * 5 + [{"pid": 7, "kind": "C", "day": 1, "amount": 1}]
    rows += [{"pid": 7, "kind": "Z", "day": 1, "amount": 1}] * 50  # fits no cell, so it takes nobody's place
    assert answers(make(kind, rows, TYPES, tmp_path), totals=[Aggregate(("kind",))], unit=PrivacyUnit("pid")) == [
        [0, 0, 1]
    ]


PEOPLE = [
    (pa.array([1.0, 1.0, float("nan"), 2.5, -0.0]), 3),
    (pa.array(["a", "a", None, "b", "é"]), 3),
    (pa.array([2**63 - 1, 2**63 - 1, None, -(2**63), 0]), 3),
    (pa.array([2**64 - 1, 2**64 - 1, None, 0, 1], pa.uint64()), 3),
    (pa.array([True, True, None, False, False]), 2),
]


@pytest.mark.parametrize(("ids", "expected"), PEOPLE)
def test_people_may_have_any_plain_type(ids, expected):
    table = pa.table({"pid": ids, "kind": ["A"] * 5})
    answer = Table.scan(table, domain=Domain.of(kind=["A"]), unit=PrivacyUnit("pid")).totals([Aggregate(())], b"")
    assert answer[0].tolist() == [expected]


def test_wide_contents_are_kept_whole():
    """Contents of more than 62 bits take several integers to sort by, and come back as they were."""
    names = [f"c{i}" for i in range(4)]
    domain = Domain(
        {name: categories(["0", "1"]) for name in names}, {f"m{i}": bounded(-(2**39), 2**39) for i in range(4)}
    )
    rows = {**{name: ["0", "1", "1"] for name in names}, **{f"m{i}": [2**39, -(2**39), i] for i in range(4)}}
    table = Table.scan(pa.table({**rows, "pid": [1, 1, 2]}), domain=domain, unit=PrivacyUnit("pid", max_rows=2))
    totals = [Aggregate((name,)) for name in names] + [Aggregate(("c0",), f"m{i}") for i in range(4)]
    got = [answer.tolist() for answer in table.totals(totals, b"")]
    assert got == [[1, 2]] * 4 + [[2**40, 2 * i - 2**40] for i in range(4)]


def test_a_missing_number_stays_missing():
    rows = pa.table({"pid": [1, 1, 2, 2], "x": [None, 0, 5, None]})
    table = Table.scan(rows, domain=Domain.of(x=bounded(0, 10)), unit=PrivacyUnit("pid", max_rows=2))
    got = table.totals([Aggregate(()), Aggregate((), "x", present=True), Aggregate((), "x")], b"")
    assert [answer.tolist() for answer in got] == [[4], [2], [-10 + 0]]


def test_packing_fills_words_and_never_overflows():
    fields = [Field(f"a{i}", 2**31) for i in range(5)]
    assert [len(word) for word in pack(fields)] == [2, 2, 1]
    assert pack([Field("a", 2**62), Field("b", 2)]) == [[Field("a", 2**62)], [Field("b", 2)]]


@pytest.mark.statistical
def test_every_row_is_as_likely_as_any_other():
    """9 rows of A and 1 of B, max_rows 3: B stays with probability 0.3. False-alarm rate 1e-6 for each key."""
    for key in range(4):
        n_people = 20_000
        kept = kept_of("A" * 9 + "B", bytes([key]), n_people)
        assert kept.sum() == 3 * n_people
        assert stats.binomtest(int(kept[1]), n_people, 0.3).pvalue > 1e-6


@pytest.mark.statistical
def test_few_people_under_many_keys():
    """The same with 100 people and 12 keys, so that the key makes the choice even. False-alarm rate 1e-6."""
    stays = sum(int(kept_of("A" * 9 + "B", f"key {i}".encode(), 100)[1]) for i in range(12))
    assert stats.binomtest(stays, 1200, 0.3).pvalue > 1e-6


@pytest.mark.statistical
@pytest.mark.parametrize(("n", "max_rows"), [(5, 2), (7, 3), (6, 5)])
def test_every_subset_is_as_likely_as_any_other(n, max_rows):
    """Chi-square over all subsets of a person's n different rows, 40,000 people. False-alarm rate 1e-6 for each key."""
    n_people = 40_000
    domain = Domain.of(pid=integers(0, n_people - 1), row=integers(0, n - 1))
    table = pa.table({"pid": np.repeat(np.arange(n_people), n), "row": np.tile(np.arange(n), n_people)})
    scanned = Table.scan(table, domain=domain, unit=PrivacyUnit("pid", max_rows=max_rows))
    for key in (b"first", b"second"):
        cells = scanned.totals([Aggregate(("pid", "row"))], key)[0].reshape(n_people, n)
        subsets = Counter((cells @ 2 ** np.arange(n)).tolist())
        assert len(subsets) == math.comb(n, max_rows)
        assert stats.chisquare(list(subsets.values())).pvalue > 1e-6
