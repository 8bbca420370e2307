"""What every engine must answer alike: tables, each with a domain, a unit and totals."""

import datetime
import math
import random
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np
import pyarrow as pa

from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.domain.attributes import bins, bounded, categories, integers
from gaugedp.domain.hierarchies import tree
from gaugedp.tables.aggregate import Aggregate
from tests.tables.sources import as_arrow
from tests.tables.test_table import DOMAIN, TOTALS, TYPES, random_rows

ROW = PrivacyUnit()


@dataclass(frozen=True)
class Case:
    table: pa.Table
    domain: Domain
    totals: list
    unit: PrivacyUnit = ROW

    @property
    def rows(self):
        """The rows as the reference reads them: labels as text, short floats as the number that they print as."""
        return [{name: _plain(value) for name, value in row.items()} for row in _short(self.table).to_pylist()]


def _short(table):
    for i, field in enumerate(table.schema):
        if field.type == pa.float32():
            values = [None if value is None else float(str(np.float32(value))) for value in table[i].to_pylist()]
            table = table.set_column(i, field.name, pa.array(values, pa.float64()))
    return table


def _plain(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, datetime.date):
        return str(value)
    return value


def plain():
    """Clipping, NaN, NULL, infinities, absent cells, text with quotes, edges of bins, joint histograms."""
    return Case(as_arrow(random_rows(11, 800), TYPES), DOMAIN, TOTALS)


def empty():
    return Case(as_arrow([], TYPES), DOMAIN, TOTALS)


IDS = {
    "integers": [0, 1, -1, 7, 2**31, -(2**31), 2**62, -(2**62) - 5, 2**63 - 1, -(2**63), None],
    "floats": [0.0, -0.0, 1.5, 1.25, -3.5, 1e300, -1e300, 2.0**63, -(2.0**63), 2.0**62, math.inf, math.nan, None],
    "texts": ["", "a", "A", "é", "a ", "${env:HOME}", "日本", "'; --", "\\", None],
}
PEOPLE = Domain.of(
    kind=categories(["A", "B"], outside="other"),
    day=integers(0, 30),
    amount=bounded(0, 100),
    share=bounded(-1, 1, 0.25),
)


def people(kind, max_rows=3):
    """Heavy users: people of up to 40 rows, many of them alike, of whom `max_rows` stay by the keyed hash."""
    draw = random.Random(kind)
    ids = [who for who in IDS[kind] for _ in range(draw.choice([1, 2, 3, 4, 40]))]
    draw.shuffle(ids)
    n = len(ids)
    table = pa.table(
        {
            "pid": ids,
            "kind": [draw.choice(["A", "B", "C", None]) for _ in range(n)],
            "day": [draw.randrange(-1, 32) for _ in range(n)],
            "amount": [draw.choice([None, -5, 3, 50, 1000]) for _ in range(n)],
            "share": [draw.choice([None, math.nan, -0.125, 0.125, 0.4, 3.0]) for _ in range(n)],
        }
    )
    totals = [
        Aggregate(()),
        Aggregate(("kind", "day")),
        Aggregate(("kind",), "amount"),
        Aggregate((), "share"),
        Aggregate((), "share", squared=True),
        Aggregate(("kind",), "amount", squared=True),
        Aggregate((), "share", each=True),
    ]
    return Case(table, PEOPLE, totals, PrivacyUnit("pid", max_rows=max_rows))


def squares_of_people():
    """Steps of people's rows that fit 32 bits, whose squares do not."""
    draw = random.Random("squares")
    table = pa.table({"pid": [draw.randrange(40) for _ in range(200)], "cost": [0.0, 250.0, 499.99, 1e6] * 50})
    totals = [Aggregate((), "cost", squared=True), Aggregate((), "cost"), Aggregate((), "cost", coarse=True)]
    return Case(table, Domain.of(cost=bounded(0, 500, 0.01)), totals, PrivacyUnit("pid", max_rows=3))


TEXTS = [
    "1", " 1", "1 ", "+1", "-1", "1.", ".5", "1e0", "1E+2", "0x1", "1d", "1f", "1_0", "", " ", "nan", "NaN", "inf",
    "-INF", "Infinity", "infinit", "1e999", "-1e999", "1e-400", "\u0667", "1\n", "\t1\r\n", "1\x0b", "\x0b1", "1\u00a0",
    "--1", "1 2", "9223372036854775808", "99999999999999999999999", "0.30000000000000004", "${env:HOME}", "{x}",
    "a'b", 'a"b', "a\\b", "a\\'b", "a`b", "a%b", "日本", "é", "e\u0301", "A", "a", "/* a */", "-- a", "a;b",
    "true", "null", None,
]  # fmt: skip


def texts():
    """Text as numbers and as categories, whatever the signs in it."""
    domain = Domain.of(
        cell=categories([text for text in TEXTS if text], outside="other"),
        bin=bins(-10, 110, 10, outside="other"),
        whole=integers(0, 200, outside="other"),
        amount=bounded(0, 1000, 0.5, missing=7),
        dropped=bounded(-1, 1, 0.1),
    )
    table = pa.table({name: pa.array(TEXTS * 3, pa.string()) for name in [*domain.attributes, *domain.columns]})
    totals = [Aggregate((name,)) for name in domain.attributes] + [
        Aggregate(("whole",), "amount"),
        Aggregate((), "dropped"),
    ]
    return Case(table, domain, [*totals, Aggregate((), "dropped", present=True)])


def types():
    """Dates, times, booleans, decimals, short floats and integers of every size."""
    dates = [datetime.date(2020, 1, 1), datetime.date(1969, 12, 31), datetime.date(1, 1, 1), None]
    floats = [0.1, 0.7, 1.6934536e16, 1.0825053e14, 1e-5, 3.3e38, 1e-45, -0.3, 0.30000001, math.inf, math.nan, None]
    n = math.lcm(len(dates), len(floats))
    decimals = [Decimal(text) for text in ("0.10", "0.30", "-12.34", "99999.99", "0.00")] + [None]
    columns = {
        "date": pa.array(dates * (n // len(dates)), pa.date32()),
        "flag": pa.array([True, False, None] * (n // 3)),
        "exact": pa.array(decimals * (n // 6), pa.decimal128(10, 2)),
        "money": pa.array(decimals * (n // 6), pa.decimal128(10, 2)),
        "short": pa.array(floats, pa.float32()),
        "near": pa.array(floats, pa.float32()),
        "tiny": pa.array([-128, 127, 0, None] * (n // 4), pa.int8()),
        "small": pa.array([-(2**31), 2**31 - 1, 5, None] * (n // 4), pa.int32()),
        "large": pa.array([-(2**63), 2**63 - 1, 2**53 + 1, None] * (n // 4), pa.int64()),
    }
    edges = [
        float(str(np.float32(value))) for value in sorted(value for value in floats if value and math.isfinite(value))
    ]
    domain = Domain.of(
        date=["2020-01-01", "1969-12-31", "0001-01-01"],
        flag=categories(["true", "false"], outside="other"),
        exact=bins(-20, 100, 0.1, outside="other"),
        short=bins(edges=edges, outside="other"),
        near=bounded(0, 1, 1e-10),
        money=bounded(-10, 10, 0.01),
        tiny=integers(-128, 127, outside="other"),
        small=bins(-(2**31), 2**31, 2**30, outside="other"),
        large=categories([str(2**63 - 1), str(2**53 + 1), str(2**53)], outside="other"),
    )
    totals = [Aggregate((name,)) for name in domain.attributes] + [Aggregate((), "near"), Aggregate((), "money")]
    return Case(pa.table(columns), domain, [*totals[1:], Aggregate((), "money", each=True)])


def nested():
    """Areas of every level, told by a column of text, of whole numbers and of decimals, with and without a person."""
    codes = ["11", "12", "21", "22", "31", "40"]
    columns = {"region": ["a", "a", "b", "b", "b", "c"], "district": ["p", "q", "r", "r", "s", "t"]}
    trees = {
        name: tree({**{f"{name} {level}": areas for level, areas in columns.items()}, name: codes}, outside)
        for name, outside in (("text", "other"), ("whole", "drop"), ("real", "other"))
    }
    draw = random.Random(4)
    chosen = [draw.choice([11, 12, 21, 22, 31, 40]) for _ in range(300)]
    texts = [draw.choice([str(code), str(code), f"{code} ", "99", None]) for code in chosen]
    table = pa.table(
        {
            "text": texts,
            "whole": pa.array([draw.choice([code, code, None]) for code in chosen], pa.int64()),
            "real": pa.array([draw.choice([code, code + 0.5, math.nan, None]) for code in chosen], pa.float64()),
            "v": [draw.choice([1, 2, 3, None]) for _ in chosen],
        }
    )
    names = [f"{name} {level}" for name in trees for level in columns]
    totals = [Aggregate((name,)) for name in [*names, *trees]]
    totals += [Aggregate(("text region", "whole district")), Aggregate(("real region",), "v")]
    return Case(table, Domain.of(**trees, v=bounded(0, 5)), totals)


def unknown():
    """Codes for an unknown number, in columns of every kind: as text, as whole, decimal, short and long numbers."""
    codes, numbers = [99, -1, 0.3, 1e300], [99, -1, 98, 0, 5, 2**53 + 1, None]
    table = pa.table(
        {
            "whole": pa.array(numbers, pa.int64()),
            "halves": pa.array(numbers, pa.int64()),
            "tiny": pa.array([99, -1, 98, 0, 5, 100, None], pa.int8()),
            "exact": pa.array([Decimal(x) for x in ("99.00", "-1", "0.30", "0.31", "5", "98")] + [None]),
            "short": pa.array([99, -1, 0.3, 0.31, math.inf, math.nan, None], pa.float32()),
            "long": pa.array([99, -1, 0.3, 1e300, -math.inf, math.nan, None]),
            "text": pa.array(["99", " 99.0 ", "-1e0", "0.30", "98", "ninety-nine", None]),
        }
    )
    steps = {"whole": 1, "halves": 0.5, "tiny": 1, "exact": 0.01, "short": 0.01, "long": 0.01, "text": 0.5}
    facts = {name: bounded(-5, 98, step, unknown=codes) for name, step in steps.items()}
    facts["halves"] = bounded(-5, 98, 0.5, missing=7, unknown=codes)
    return Case(
        table, Domain.of(**facts), [Aggregate((), name, **more) for name in steps for more in ({}, {"present": True})]
    )


def large():
    """Sums beyond 2^63, of numbers clipped from near the ends of 64 bits, once the rows are repeated `TIMES`."""
    table = pa.table({"x": pa.array(np.full(1000, 2**62))})
    return Case(
        table,
        Domain.of(x=bounded(-(2**40), 2**40)),
        [Aggregate((), "x"), Aggregate((), "x", squared=True), Aggregate(())],
    )


def weights(max_rows=None):
    """Weights that are clipped, missing, text or not whole, and products beyond 2^32 steps of persons' rows."""
    draw = random.Random("weights")
    n = 400
    heavy = ["0.5", " 2.25 ", "7", "-3", "1e9", "none", None, "inf", "nan", "10.01"]
    table = pa.table(
        {
            "pid": [draw.randrange(60) for _ in range(n)],
            "kind": [draw.choice(["A", "B", "C", None]) for _ in range(n)],
            "cost": [draw.choice([-1.0, 0.0, 123.45, 5e5, 1e7, math.nan, None]) for _ in range(n)],
            "few": pa.array([draw.choice([0, 1, 2, 9, None]) for _ in range(n)], pa.int32()),
            "weight": [draw.choice(heavy) for _ in range(n)],
        }
    )
    domain = Domain.of(kind=categories(["A", "B"], outside="other"), cost=bounded(-100, 10**6, 0.01), few=bounded(0, 3))
    domain = domain.with_weights("weight", bounded(0.25, 10, 0.01))
    of = [
        ("few", {}),
        ("cost", {}),
        ("cost", {"present": True}),
        ("cost", {"squared": True}),
        ("cost", {"coarse": True}),
    ]
    of += [("few", {"each": True})]
    totals = [Aggregate(by, None, weighted=power) for by in ((), ("kind",)) for power in (1, 2)]
    totals += [Aggregate(("kind",), name, weighted=1, **more) for name, more in of]
    totals += [Aggregate((), name, weighted=2, **more) for name, more in of[:5]]
    totals += [Aggregate(("kind",)), *(Aggregate((), "cost", **more) for more in ({}, of[3][1], of[4][1]))]
    unit = ROW if max_rows is None else PrivacyUnit("pid", max_rows=max_rows)
    return Case(table, domain, totals, unit)


DESIGNS = {"no design": {}, "strata": {"strata": "area"}, "clusters": {"clusters": "block"}}
DESIGNS["both"] = {name: place for design in DESIGNS.values() for name, place in design.items()}
WEIGHTED = "weighted count by kind; mean(cost) by kind; sum(cost); share(kind); median(few); unweighted mean(few); kind"


def survey(design, max_rows=None):
    """Persons of blocks in areas, some in none that is listed, with weights and values as in `weights`."""
    of, draw = weights(max_rows), random.Random("survey")
    blocks = {"area": [area for area in "NSW" for _ in range(3)], "block": list("123456789")}
    places = [draw.choice([*blocks["block"], "10", " 1", None]) for _ in range(of.table.num_rows)]
    nested = Domain.of(kind=of.domain.attribute("kind"), block=tree(blocks))
    columns = {name: fact for name, fact in of.domain.columns.items() if name != "weight"}
    domain = replace(nested, columns=columns).with_weights("weight", of.domain.column("weight"), **DESIGNS[design])
    return Case(of.table.append_column("block", pa.array(places)), domain, [], of.unit)


TIMES = 5000
CASES = {
    "plain": plain,
    "empty": empty,
    **{f"people by {kind}": lambda kind=kind: people(kind) for kind in IDS},
    "squares of people": squares_of_people,
    "texts": texts,
    "types": types,
    "unknown": unknown,
    "nested": nested,
    "weights": weights,
    "weights of people": lambda: weights(3),
}
