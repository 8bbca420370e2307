"""One row a person, made of all rows of the person: the same on every engine, and of that person's rows alone."""

import datetime
import math
import random
from collections import defaultdict

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import gaugedp as gd
from gaugedp.domain.hierarchies import tree
from gaugedp.tables.aggregate import Aggregate
from gaugedp.tables.table import Table
from tests.tables.conformance import IDS
from tests.tables.engines import ENGINES
from tests.tables.reference import inside_code, measure, number
from tests.tables.sources import KINDS, make

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
KEY = b"people"
DATES = gd.dates("2024-01-01", "2024-03-31", by="day")
ROWS = gd.Domain.of(
    region=["N", "S", "E"],
    ill=gd.categories(["no", "mild", "severe"], outside="other"),
    day=DATES,
    age=gd.bins(0, 100, 10),
    whole=gd.integers(-2, 7),
    area=tree({"part": ["x", "x", "y"], "area": ["11", "12", "21"]}),
    amount=gd.bounded(-5, 500, 0.25, unknown=[99]),
    points=gd.bounded(-10, 10, missing=2),
)
PERSON = gd.PerPerson
MADE = {
    "visits": PERSON.count(gd.integers(1, 6)),
    "many": PERSON.count(gd.bins(0, 40, 4, outside="other")),
    "severe": PERSON.count(gd.bounded(0, 5), "ill", "mild", "severe"),
    "ever": PERSON.any("ill", "severe"),
    "worst": PERSON.max("ill"),
    "first": PERSON.min("day"),
    "youngest": PERSON.min("age"),
    "part": PERSON.max("part"),
    "home": PERSON.last("area", "day"),
    "last": PERSON.last("region", "day"),
    "latest": PERSON.last("amount", "day"),
    "by amount": PERSON.last("whole", "amount"),
    "spent": PERSON.sum("amount", gd.bounded(-10, 900, 0.5)),
    "spent in bins": PERSON.sum("amount", gd.bins(0, 1000, 250)),
    "score": PERSON.sum("points", gd.integers(-20, 20)),
    "best": PERSON.max("points"),
    "least": PERSON.min("amount", gd.bins(-5, 500, 101, outside="other")),
}
GROUPS = [  # totals of one look speak of the same persons: those that have all of the cells
    [Aggregate(()), Aggregate((), "latest"), Aggregate((), "latest", present=True), Aggregate((), "best", each=True)],
    [Aggregate(("many",)), Aggregate(("worst",)), Aggregate(("ever", "least")), Aggregate(("ever",), "spent")],
    [Aggregate(("visits",)), Aggregate(("home",)), Aggregate(("part",)), Aggregate(("home",), "severe")],
    [Aggregate(("last", "first")), Aggregate(("youngest",))],
    [Aggregate(("by amount",)), Aggregate(("spent in bins",)), Aggregate(("score",))],
]


def rows_of(ids, seed=5):
    draw = random.Random(seed)
    days = [datetime.date(2023, 12, 30) + datetime.timedelta(days=30 * i) for i in range(5)]
    people = [who for who in ids for _ in range(draw.choice([1, 2, 3, 12]))]
    draw.shuffle(people)
    return [
        {
            "pid": who,
            "region": draw.choice(["N", "S", "E", "W", None]),
            "ill": draw.choice(["no", "no", "mild", "severe", "unknown", None]),
            "day": draw.choice([*days, None]),
            "age": draw.choice([-1.0, 0.0, 9.5, 10.0, 100.0, 101.0, math.nan, None]),
            "whole": draw.choice([-3, -2, 0, 7, 8, None]),
            "area": draw.choice(["11", "12", "21", "22", None]),
            "amount": draw.choice([None, math.nan, -7.0, 0.125, 0.375, 99.0, 100.1, 1e6, math.inf]),
            "points": draw.choice([-11, -3, 0, 4, 12, None]),
        }
        for who in people
    ]


def as_table(rows):
    kinds = {"day": pa.date32(), "age": pa.float64(), "amount": pa.float64(), "whole": pa.int64(), "points": pa.int64()}
    names = {name: kinds.get(name, pa.string()) for name in rows[0] if name != "pid"}
    columns = {name: pa.array([row[name] for row in rows], kind) for name, kind in names.items()}
    return pa.table({"pid": pa.array([row["pid"] for row in rows]), **columns})


def scanned(source):
    return gd.by_person(Table.scan(source, domain=ROWS, unit=gd.PrivacyUnit("pid")), "pid", **MADE)


def steps_of(name, row):
    """A clipped value in steps, None for none: what the reference counts twice, from the middle of the bounds."""
    column = ROWS.columns[name]
    centred = measure(column, row[name])
    return None if centred is None else (centred + column.low_steps + column.high_steps) // 2


def code_of(name, row):
    if name in ROWS.columns:
        return steps_of(name, row)
    attribute, value = ROWS.attributes[name], row[ROWS.source(name)]
    if name == "day":
        code = (value - attribute.first).days if value is not None else -1
        return code if 0 <= code < attribute.n_inside else None
    return inside_code(attribute, value)


def last(name, order, rows):
    pairs = [(code_of(order, row), code_of(name, row)) for row in rows]
    return max((pair for pair in pairs if None not in pair), default=(None, None))[1]


def in_range(low, high, value):
    return value if low <= value <= high else None


def bin_of(value, low, width, n):
    is_inside = value is not None and low <= value <= low + n * width
    return min(int((value - low) // width), n - 1) if is_inside else None


def made(rows):
    """The cells, and the clipped values in steps, of a person; None for none."""

    def codes(name):
        return [code for row in rows if (code := code_of(name, row)) is not None]

    total, points = sum(codes("amount")), sum(codes("points"))
    least = min(codes("amount"), default=None)
    return {
        "visits": None if len(rows) > 6 else len(rows) - 1,
        "many": 10 if (place := bin_of(len(rows), 0, 4, 10)) is None else place,
        "severe": min(sum(code in (1, 2) for code in codes("ill")), 5),
        "ever": int(2 in codes("ill")),
        "worst": max(codes("ill"), default=3),
        "first": min(codes("day"), default=None),
        "youngest": min(codes("age"), default=None),
        "part": max(codes("part"), default=None),
        "home": last("area", "day", rows),
        "last": last("region", "day", rows),
        "latest": last("amount", "day", rows),
        "by amount": last("whole", "amount", rows),
        "spent": min(max(math.floor(total / 2 + 0.5) if total >= 0 else -math.floor(-total / 2 + 0.5), -20), 1800),
        "spent in bins": bin_of(total / 4, 0, 250, 4),
        "score": None if abs(points) > 20 else points + 20,
        "best": max(codes("points"), default=None),
        "least": 5 if least is None else bin_of(least / 4, -5, 101, 5),
    }


def wanted(rows, totals, domain):
    people = defaultdict(list)
    for row in rows:
        if row["pid"] is not None and not (isinstance(row["pid"], float) and math.isnan(row["pid"])):
            people[row["pid"]].append(row)
    persons = [made(of_one) for of_one in people.values()]
    used = {name for total in totals for name in total.attributes}
    kept = [person for person in persons if all(person[name] is not None for name in used)]
    return [_total(kept, total, domain) for total in totals]


def _total(persons, total, domain):
    shape, column = domain.shape(total.attributes), total.column
    if total.each:
        bounded = domain.columns[column]
        values = [person[column] - bounded.low_steps for person in persons if person[column] is not None]
        return np.bincount(values, minlength=bounded.high_steps - bounded.low_steps + 1).tolist()
    cells = np.zeros(shape, dtype=object)
    for person in persons:
        cell = tuple(person[name] for name in total.attributes)
        if column is None or (total.present and person[column] is not None):
            cells[cell] += 1
        elif not total.present and person[column] is not None:
            bounded = domain.columns[column]
            cells[cell] += 2 * person[column] - bounded.low_steps - bounded.high_steps
    return cells.ravel().tolist()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("buckets", [1, pytest.param(3, marks=pytest.mark.thorough)])
def test_every_engine_makes_the_same_persons(kind, engine, buckets):
    rows = rows_of(IDS[kind])
    table = scanned(ENGINES[engine](as_table(rows), 1)).in_buckets(buckets)
    for totals in GROUPS:
        assert [answer.tolist() for answer in table.totals(totals, KEY)] == wanted(rows, totals, table.domain)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_source_makes_the_same_persons(kind, tmp_path):
    types = {"pid": str, "region": str, "ill": str, "day": str, "age": float, "whole": int, "area": str}
    rows = [
        {**row, "day": None if row["day"] is None else str(row["day"]), "amount": number(row["amount"])}
        for row in rows_of(["a", "b", "c", "d e", None])
    ]
    source = make(kind, rows, {**types, "amount": float, "points": int}, tmp_path)
    days = [{**row, "day": row["day"] and datetime.date.fromisoformat(row["day"])} for row in rows]
    table = scanned(source)
    for totals in GROUPS:
        assert [answer.tolist() for answer in table.totals(totals, KEY)] == wanted(days, totals, table.domain)


@pytest.mark.parametrize("kind", IDS)
def test_persons_in_buckets_are_the_same_persons(kind):
    table = scanned(as_table(rows_of(IDS[kind])))
    parts, totals = table.in_buckets(3), GROUPS[1]
    assert [n.tolist() for n in parts.totals(totals, KEY)] == [n.tolist() for n in table.totals(totals, KEY)]
    names = (["ever"], ["spent", "severe"])
    assert [part.tolist() for part in parts.rows(*names, KEY)] == [part.tolist() for part in table.rows(*names, KEY)]
    sums = (each.moments(["spent", "severe"], KEY) for each in (parts, table))
    assert len({(each.n_rows, *each.first, *each.second.ravel()) for each in sums}) == 1


def test_two_private_tables_are_stacked_and_joined_on_the_person():
    """Each person is in one row with what both tables say, however many rows they have in each."""
    draw = random.Random(8)
    visits = [(draw.randrange(9), draw.choice("NS")) for _ in range(20)]
    bought = [(draw.randrange(4, 12), draw.randrange(30)) for _ in range(20)]
    stack = {
        "pid": [who for who, _ in visits + bought],
        "origin": ["visits"] * len(visits) + ["bought"] * len(bought),
        "region": [region for _, region in visits] + [None] * len(bought),
        "paid": [None] * len(visits) + [paid for _, paid in bought],
    }
    domain = gd.Domain.of(origin=["visits", "bought"], region=["N", "S"], paid=gd.bounded(0, 20))
    people = gd.by_person(
        Table.scan(pa.table(stack), domain=domain, unit=gd.PrivacyUnit("pid")),
        "pid",
        north=PERSON.any("region", "N"),
        bought=PERSON.count(gd.integers(0, 9), "origin", "bought"),
        paid=PERSON.sum("paid", gd.bounded(0, 50)),
    )
    joint, sums = np.zeros((2, 10), dtype=int), 0
    for who in {who for who, _ in visits} | {who for who, _ in bought}:
        paid = [min(price, 20) for person, price in bought if person == who]
        joint[int((who, "N") in visits), len(paid)] += 1
        sums += 2 * min(sum(paid), 50) - 50
    totals = [Aggregate(("north", "bought")), Aggregate((), "paid")]
    assert [each.tolist() for each in people.totals(totals, KEY)] == [joint.ravel().tolist(), [sums]]


def test_other_persons_make_another_question():
    """A ledger gives a stored answer for the same question alone: what persons are made of belongs to it."""
    texts = set()
    for cells in (["yes"], ["no"]):
        for names in (["no", "yes"], ["yes", "no"]):
            made = {"ill": PERSON.any("ill", *cells), "n": PERSON.count(gd.bounded(0, 3), "ill", *cells)}
            domain = gd.Domain.of(ill=names).by_person(gd.PrivacyUnit("pid"), made)
            texts |= {gd.query(domain, text).digest() for text in ("ill", "sum(n)", "median(n)")}
    assert len(texts) == 4 * 3


def test_neither_the_order_of_rows_nor_the_key_matters():
    rows = rows_of(IDS["texts"])
    table, mixed = (scanned(as_table(each)) for each in (rows, random.Random(1).sample(rows, len(rows))))
    for totals in GROUPS[:3]:
        pairs = zip(table.totals(totals, KEY), mixed.totals(totals, b"another key"), strict=True)
        assert all(first.tolist() == other.tolist() for first, other in pairs)


def test_sums_beyond_64_bits_are_cut_far_beyond_all_bounds():
    """A person whose 2^23 rows have 2^40 each, of either sign: no engine's error tells of such a person."""
    rows = duckdb.sql(f"""
        SELECT 1 AS pid, {2**40} AS x FROM range({2**23 + 1}) UNION ALL SELECT 2, {-(2**40)} FROM range({2**23 + 1})
        UNION ALL SELECT 3, unnest([-1, 5, 1])
    """)
    table = Table.scan(rows, domain=gd.Domain.of(x=gd.bounded(-(2**40), 2**40)), unit=gd.PrivacyUnit("pid"))
    people = gd.by_person(table, "pid", x=PERSON.sum("x", gd.bounded(0, 10)))
    assert people.totals([Aggregate((), "x", each=True)], KEY)[0].tolist() == [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]


# -- what one person can change ----------------------------------------------------------------------

SMALL = gd.Domain.of(
    table=gd.integers(0, 10**7), region=["N", "S"], ill=["no", "yes"], day=gd.integers(1, 2), cost=gd.bounded(0, 2)
)
SMALL_MADE = {
    "visits": PERSON.count(gd.integers(1, 2, outside="other")),
    "ever": PERSON.any("ill", "yes"),
    "last": PERSON.last("region", "day"),
    "worst": PERSON.max("ill"),
    "cost": PERSON.sum("cost", gd.bounded(0, 4)),
    "most": PERSON.max("cost"),
}
ALPHABET = [("N", "yes", 1, 2.0), ("S", "no", 2, 1.0), ("S", None, 1, None), (None, "yes", 2, 3.0)]
QUESTIONS = ("visits; worst", "ever*last", "sum(cost); count", "sum(most) by ever", "prefix(visits); mean(cost)")


def person_tables(most=3):
    """All rows that a person may have: up to three, in any order alike."""
    from itertools import combinations_with_replacement

    return [rows for n in range(most + 1) for rows in combinations_with_replacement(ALPHABET, n)]


def small_table(people):
    """Rows of (person, row) as a frame, the order of rows being turned about."""
    rows = [(who, *row) for who, of_one in people for row in of_one][::-1]
    names = ["pid", "region", "ill", "day", "cost"]
    kinds = [pa.string(), pa.string(), pa.string(), pa.int64(), pa.float64()]
    columns = zip(names, kinds, zip(*rows, strict=True) if rows else [()] * len(names), strict=True)
    return pa.table({name: pa.array(list(values), kind) for name, kind, values in columns})


def small_people(people, unit):
    facts = {name: fact for name, fact in {**SMALL.attributes, **SMALL.columns}.items() if name != "table"}
    return gd.by_person(Table.scan(small_table(people), domain=gd.Domain.of(**facts), unit=unit), "pid", **SMALL_MADE)


def all_tables():
    """All tables of three people of up to three rows each, in one frame in no order, each with people of its own."""
    tables = person_tables()
    n = len(tables)
    codes = np.arange(n**3)
    people = np.stack(np.unravel_index(codes, (n, n, n)), axis=1)
    sizes = np.array([len(rows) for rows in tables])[people]
    table = np.repeat(codes, sizes.sum(axis=1))
    person = np.repeat(np.arange(3 * n**3), sizes.ravel())
    rows = np.concatenate([[ALPHABET.index(row) for row in tables[i]] for i in range(n)]).astype(int)
    starts = np.concatenate([[0], np.cumsum([len(rows) for rows in tables])])
    within = np.arange(len(person)) - np.repeat(np.cumsum(sizes.ravel()) - sizes.ravel(), sizes.ravel())
    kinds = rows[np.repeat(starts[people.ravel()], sizes.ravel()) + within]
    region, ill, day, cost = (np.array(column, dtype=object)[kinds] for column in zip(*ALPHABET, strict=True))
    frame = pa.table(
        {"pid": person, "table": table, "region": region, "ill": ill, "day": day.astype(int), "cost": cost}
    )
    return frame.take(np.random.default_rng(3).permutation(len(frame))), n


@pytest.fixture(scope="module")
def answers():
    """The answers of all tables, from one look each: shape (35, 35, 35, answers)."""
    frame, n = all_tables()
    domain = gd.Domain.of(**{**SMALL.attributes, **SMALL.columns, "table": gd.integers(0, n**3 - 1)})
    scan = Table.scan(frame, domain=domain, unit=gd.PrivacyUnit("pid"))
    people = gd.by_person(scan, "pid", table=PERSON.max("table"), **SMALL_MADE)
    names = ("visits", "ever", "last", "worst")
    totals = [
        Aggregate(("table", "visits")),
        Aggregate(("table", "ever", "last")),
        Aggregate(("table", "worst")),
        Aggregate(("table",), "cost"),
        Aggregate(("table", "ever"), "most"),
        Aggregate(("table",), "most", present=True),
    ]
    assert set(people.domain.made) == {"table", "cost", "most", *names}
    values = [people.totals([total], KEY)[0].astype(np.int64).reshape(n**3, -1) for total in totals]
    return np.concatenate(values, axis=1).reshape(n, n, n, -1)


@pytest.mark.slow
def test_a_person_moves_all_totals_by_one_row(answers):
    """Each total moves by one row's part: brute force over all tables of three people of up to three rows."""
    tables = len(answers)
    rows = answers[1:, 0, 0]  # what a person alone adds, whatever the rows
    assert (answers[0, 0, 0] == 0).all()
    alone = np.concatenate([np.zeros_like(rows[:1]), rows])
    added = alone[:, None, None] + alone[None, :, None] + alone[None, None, :]
    assert (answers == added).all()
    assert rows[:, :3].sum(axis=1).tolist() == [1] * (tables - 1)  # one cell of visits, never more
    assert rows[:, 3:7].sum(axis=1).max() == 1
    assert rows[:, 7:9].sum(axis=1).max() == 1
    assert np.abs(rows[:, 9]).max() == 4
    assert np.abs(rows[:, 10:12]).sum(axis=1).max() == 2


@pytest.fixture(scope="module")
def scans():
    """One of three people has each of the rows that a person may have, none first."""
    others = [("b", ALPHABET[:1]), ("c", ALPHABET[1:])]
    return [small_people([("a", rows), *others], gd.PrivacyUnit("pid")) for rows in person_tables(2)]


@pytest.mark.slow
@pytest.mark.parametrize("text", QUESTIONS)
def test_what_a_person_changes_lies_in_the_body(text, scans):
    question = gd.query(scans[0].domain, text)
    nobody, *answers = (question.evaluate(people, KEY).astype(np.int64) for people in scans)
    changes = {
        "add_remove": np.array(answers) - nobody,
        "replace": np.array([answer - other for answer in answers for other in answers]),
    }
    for neighbours, pairs in changes.items():
        gauges = question.sensitivity(gd.PrivacyUnit("pid", neighbours)).gauge(np.unique(pairs, axis=0))
        assert gauges.max() == pytest.approx(1, abs=1e-6)  # it is reached: no smaller body of this shape would do


def test_a_body_that_is_too_small_is_seen():
    """The control: where all rows of a person count, one that has two moves the histogram by two."""
    rows = gd.Domain.of(ill=["no", "yes"])
    tables = [[("b", ALPHABET[:1])], [("a", ALPHABET[:1] * 2), ("b", ALPHABET[:1])]]
    scans = [Table.scan(small_table(people), domain=rows, unit=gd.PrivacyUnit("pid", max_rows=2)) for people in tables]
    first, other = (gd.query(rows, "ill").evaluate(scan, KEY) for scan in scans)
    assert gd.query(rows, "ill").sensitivity(gd.PrivacyUnit("pid")).gauge((other - first)[None]) == pytest.approx(2)
