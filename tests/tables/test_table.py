"""The totals of a table agree with the reference, for every kind of source."""

import cProfile
import pstats
import random

import numpy as np
import pytest

from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.domain.attributes import bins, bounded, categories, integers
from gaugedp.errors import InvalidRequest, UnknownName
from gaugedp.tables.engine import Column, Kind
from gaugedp.tables.frames import make_frame
from gaugedp.tables.statement import Aggregation
from gaugedp.tables.table import Aggregate, Table
from gaugedp.tables.tuning import TableTuning
from tests.tables.reference import reference_totals
from tests.tables.sources import KINDS, make

DOMAIN = Domain.of(
    sex=["1", "2"],
    region=categories(["north", "süd", "o'est", 'e"ast', "N"], outside="other"),
    code=categories([str(i) for i in range(20, 0, -1)], outside="other"),
    age=bins(0, 100, 10, outside="other"),
    share=bins(0, 1, 0.1, outside="other"),
    score=bins(edges=[-1.5, 0, 0.1, 0.3, 7], outside="other"),
    grade=integers(-3, 12),
    income=bounded(0, 2000, step=1),
    debt=bounded(-10, 5, step=0.5, missing=-2.5),
    loss=bounded(-300, 600, step=300, missing=0),
)
TYPES = {
    **dict.fromkeys(["sex", "region"], str),
    **dict.fromkeys(["code", "age", "loss"], int),
    **dict.fromkeys(["share", "score", "grade", "income", "debt"], float),
}
TOTALS = [
    Aggregate(()),
    Aggregate(("sex",)),
    Aggregate(("age", "sex")),
    Aggregate(("sex", "age")),
    Aggregate(("region", "code")),
    Aggregate(("share", "score", "grade")),
    Aggregate(("sex",), "income"),
    Aggregate((), "debt"),
    Aggregate(("age",), "loss"),
    Aggregate(("sex",), "income", present=True),
    Aggregate(("sex",), "income", each=True),
    Aggregate((), "debt", each=True),
    Aggregate(("age", "sex"), "loss", each=True),
]
VALUES = TOTALS[-3:]
ODD = [None, float("nan"), float("inf"), -float("inf"), 1e300, -1e300, -0.0]
EDGES = [i / 10 for i in range(12)] + [0.30000000000000004, 0.7999999999999999, 1.0000000000000002]


def random_rows(seed, n):
    draw = random.Random(seed)
    either = lambda usual, odd: draw.choice(odd) if draw.random() < 0.1 else draw.choice(usual)  # noqa: E731
    return [
        {
            "sex": either(["1", "2"], [None, "3", "secret"]),
            "region": either(["north", "süd", "o'est", 'e"ast', "N"], [None, "N ", "NORTH", "a,b\tc"]),
            "code": either(range(1, 21), [None, 0, -1, 10**15]),
            "age": either(range(0, 101), [None, -1, 101, 2**63 - 1, -(2**63)]),
            "share": either(EDGES, ODD),
            "score": either([-1.5, 0.0, 0.1, 0.2, 0.3, 6.999, 7.0], [*ODD, 7.5]),
            "grade": either([float(i) for i in range(-3, 13)], [*ODD, 0.5, 13.0]),
            "income": either([draw.uniform(-50, 2050), 0.5, 1.5, 2.5], ODD),
            "debt": either([draw.uniform(-12, 7), 0.25, -0.25], ODD),
            "loss": either(range(-400, 700, 50), [None, 2**63 - 1, -(2**63)]),
        }
        for _ in range(n)
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_totals_agree_with_the_reference(kind, tmp_path):
    rows = random_rows(1, 1200)
    table = Table.scan(make(kind, rows, TYPES, tmp_path), domain=DOMAIN)
    for totals in (TOTALS, TOTALS[:1], TOTALS[4:5], TOTALS[6:7], VALUES, VALUES[:1], VALUES[1:2]):
        answers = table.totals(totals, b"key")
        for answer, expected in zip(answers, reference_totals(DOMAIN, totals, rows), strict=True):
            assert answer.dtype == expected.dtype
            np.testing.assert_array_equal(answer, expected)


def n_values(total):
    facts = DOMAIN.columns[total.column] if total.each else None
    return 1 if facts is None else facts.high_steps - facts.low_steps + 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_table_is_answered_with_zeros(kind, tmp_path):
    table = Table.scan(make(kind, [], TYPES, tmp_path), domain=DOMAIN, unit=PrivacyUnit("sex", max_rows=2))
    for totals in (TOTALS, TOTALS[:1], TOTALS[6:7], VALUES[:1]):
        for answer, total in zip(table.totals(totals, b"key"), totals, strict=True):
            assert answer.shape == (DOMAIN.n_cells(total.attributes) * n_values(total),)
            assert not answer.any()


@pytest.mark.parametrize("kind", KINDS)
def test_any_column_name_is_only_a_name(kind, tmp_path):
    names = ['a "quoted" one', "semi; DROP TABLE x; --", "größe", "select", "it's", "x0", "person", "n"]
    domain = Domain({name: categories(["a", "b'; --"]) for name in names})
    rows = [dict.fromkeys(names, value) for value in ("a", "a", "b'; --", "c")]
    table = Table.scan(make(kind, rows, dict.fromkeys(names, str), tmp_path), domain=domain)
    assert [answer.tolist() for answer in table.totals([Aggregate((name,)) for name in names], b"")] == [[2, 1]] * len(
        names
    )


@pytest.mark.parametrize("outside", ["drop", "other"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_number_that_is_none_is_missing_where_all_others_are_inside(kind, outside, tmp_path):
    """The range of numbers in Parquet leaves NaN out: DuckDB took it to be between the bounds, or to be a number."""
    facts = (
        bins(-2, 8, 0.5, outside=outside),
        bins(0, 3, 1, outside=outside),
        bins(edges=[-1, 0, 0.75], outside=outside),
        integers(-1, 7, outside=outside),
        categories(["0.5"], outside=outside),
    )
    domain = Domain({f"a{i}": fact for i, fact in enumerate(facts)}, {"v": bounded(-2, 8, 0.5)})
    for value in (0.5, 0.0, 2.0):
        rows = [dict.fromkeys([*domain.attributes, "v"], number) for number in (float("nan"), value, float("nan"))]
        table = Table.scan(make(kind, rows, dict.fromkeys(rows[0], float), tmp_path), domain=domain)
        requested = [*(Aggregate((name,)) for name in domain.attributes), Aggregate((), "v", present=True)]
        for total in requested:
            assert table.totals([total], b"")[0].tolist() == reference_totals(domain, [total], rows)[0].tolist(), total


def test_sums_are_exact_beyond_64_bits(tmp_path):
    domain = Domain.of(x=bounded(0, 2**40))
    rows = [{"x": 2**50}] * 300_000
    table = Table.scan(make("arrow", rows, {"x": int}, tmp_path), domain=domain)
    relation = Table.scan(make("relation", rows[:3], {"x": int}, tmp_path), domain=domain)
    assert table.totals([Aggregate((), "x")], b"")[0].tolist() == [300_000 * 2**40]
    assert relation.totals([Aggregate((), "x")], b"")[0].tolist() == [3 * 2**40]


def test_a_sum_above_2_to_the_62_is_exact():
    import duckdb

    relation = duckdb.connect().sql("SELECT 1e300 AS x FROM range(16777217)")  # 2^24 + 1 rows of 2^40
    answer = Table.scan(relation, domain=Domain.of(x=bounded(0, 2**40))).totals([Aggregate((), "x")], b"")[0]
    assert answer.tolist() == [2**64 + 2**40]


@pytest.mark.parametrize("kind", ["parquet", "polars", "pandas", "arrow"])
def test_numbers_match_categories_written_as_the_same_number(kind, tmp_path):
    domain = Domain.of(x=["9", "N", "2.50", "-1"])
    for values, expected in (([9, 9, -1, 2, None], [2, 0, 0, 1]), ([9.0, 2.5, -1.0, float("nan")], [1, 0, 1, 1])):
        source = make(kind, [{"x": value} for value in values], {"x": type(values[0])}, tmp_path)
        assert Table.scan(source, domain=domain).totals([Aggregate(("x",))], b"")[0].tolist() == expected


def test_booleans_and_dates_match_by_their_text():
    import duckdb

    relation = duckdb.connect().sql("SELECT i > 1 AS b, DATE '2020-01-01' + CAST(i AS INT) AS d FROM range(3) t(i)")
    table = Table.scan(relation, domain=Domain.of(b=["true", "false"], d=["2020-01-02", "2020-01-01"]))
    assert [answer.tolist() for answer in table.totals([Aggregate(("b",)), Aggregate(("d",))], b"")] == [[0, 2], [1, 1]]


@pytest.mark.parametrize("width", [0.1, 0.01, 0.05, 0.3, 0.7, 0.001])
def test_a_value_on_a_decimal_edge_opens_its_bin(width):
    import pyarrow as pa

    from gaugedp._internal.validate import decimal

    attribute = bins(-width * 0, float(decimal(width) * 900), width)
    edges = [float(decimal(width) * i) for i in range(901)]
    below = [float(np.nextafter(edge, -1)) for edge in edges[1:]]
    domain = Domain.of(x=attribute)
    for values, expected in ((edges, [1] * 899 + [2]), (below, [1] * 900)):
        answer = Table.scan(pa.table({"x": values}), domain=domain).totals([Aggregate(("x",))], b"")[0]
        assert answer.tolist() == expected


@pytest.mark.parametrize(("low", "width"), [(0, 1), (0, 3), (0, 5000), (-7, 49), (10**15, 7), (-(10**15), 11)])
def test_a_number_just_below_a_whole_edge_is_in_the_bin_below(low, width):
    import pyarrow as pa

    edges = [float(low + width * i) for i in range(901)]
    below = [float(np.nextafter(edge, -np.inf)) for edge in edges[1:]]
    domain = Domain.of(x=bins(low, low + 900 * width, width))
    for values, expected in ((edges, [1] * 899 + [2]), (below, [1] * 900)):
        answer = Table.scan(pa.table({"x": values}), domain=domain).totals([Aggregate(("x",))], b"")[0]
        assert answer.tolist() == expected


def test_short_floats_stand_for_the_decimals_they_print_as():
    import pyarrow as pa

    values = pa.array([i / 10 for i in range(10)], pa.float32())
    answer = Table.scan(pa.table({"x": values}), domain=Domain.of(x=bins(0, 1, 0.1))).totals([Aggregate(("x",))], b"")[
        0
    ]
    assert answer.tolist() == [1] * 10


@pytest.mark.parametrize("joint", [4, 10**9])
def test_grouping_sets_agree_with_and_without_joint_counts(joint, monkeypatch, tmp_path):
    monkeypatch.setattr("gaugedp.tables.statement.TUNED", TableTuning(joint_cells=joint))
    rows = random_rows(2, 500)
    answers = Table.scan(make("arrow", rows, TYPES, tmp_path), domain=DOMAIN).totals(TOTALS, b"")
    for answer, expected in zip(answers, reference_totals(DOMAIN, TOTALS, rows), strict=True):
        np.testing.assert_array_equal(answer, expected)


def test_many_categories_are_all_found():
    import pyarrow as pa

    names = [f"name-{i * 7919 % 1000}" for i in range(1000)]
    answer = Table.scan(pa.table({"x": [*names, "name-", "zz"]}), domain=Domain.of(x=names)).totals(
        [Aggregate(("x",))], b""
    )
    assert answer[0].tolist() == [1] * 1000


def test_a_wrong_total_is_refused_before_anything_is_read(tmp_path):
    table = Table.scan(make("csv", [], TYPES, tmp_path), domain=DOMAIN)
    (tmp_path / "rows.csv").unlink()
    wrong = [(("sexx",), None, UnknownName), ((), "age", UnknownName), (("sex", "sex"), None, InvalidRequest)]
    for attributes, column, error in wrong:
        with pytest.raises(error, match="Nothing was read and nothing was spent"):
            table.totals([Aggregate(attributes, column)], b"")
    assert table.totals([], b"") == []


def test_a_table_shows_facts_and_no_rows(tmp_path):
    rows = random_rows(3, 5)
    for kind, words in (("csv", "a CSV file"), ("pandas", "a pandas DataFrame"), ("lazy", "a polars LazyFrame")):
        table = Table.scan(make(kind, rows, TYPES, tmp_path), domain=DOMAIN, name="people")
        assert repr(table) == f"<Table 'people': {words}, 7 attributes, protecting one row, added or removed>"


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_source_is_not_changed(kind, tmp_path):
    rows = random_rows(4, 50)
    source = make(kind, rows, TYPES, tmp_path)
    before = str(source)
    table = Table.scan(source, domain=DOMAIN)
    first, second = table.totals(TOTALS, b""), table.totals(TOTALS, b"")
    assert str(source) == before
    assert all((a == b).all() for a, b in zip(first, second, strict=True))


def test_a_statement_over_many_categories_is_made_in_proportion():
    """Four times the categories are at most five times the calls; copying at each step would make it nine."""

    def calls(n_categories):
        domain = Domain.of(x=[f"category {i:05d}" for i in range(n_categories)])
        types = {"x": Column("x", Kind.TEXT, "text"), "pid": Column("pid", Kind.INTEGER, "numbers")}
        plan, profile = Aggregation(domain, PrivacyUnit("pid"), types, (Aggregate(("x",)),)), cProfile.Profile()
        profile.runcall(lambda: plan.statement(b"key"))
        return pstats.Stats(profile).total_calls  # type: ignore[attr-defined]

    calls(10)  # whatever is only made once
    assert calls(2000) < 5 * calls(500)


def test_a_row_outside_one_attribute_is_in_no_grouping() -> None:
    """A row whose A is no category is left out of the marginal of B too, whether cells are grouped jointly or not."""
    domain = Domain.of(A=categories(["x", "y"]), B=categories(["u", "v"]))
    frame = make_frame({"A": ["x", "y", "other", None, "x"], "B": ["u", "v", "u", "v", "w"]})
    expected = [Aggregate(("A",)), Aggregate(("B",))]
    of_a, of_b = Table.scan(frame, domain=domain).totals(expected, b"key")
    assert (of_a.tolist(), of_b.tolist()) == ([1, 1], [1, 1])


def test_rows_outside_the_categories_take_no_place_of_a_person() -> None:
    """Of a person with many rows outside the categories and one in them, that one is always kept."""
    domain, unit = Domain.of(A=categories(["x", "y"])), PrivacyUnit("p", max_rows=1)
    frame = make_frame({"A": ["z"] * 30 + ["y"], "p": [1] * 31})
    table = Table.scan(frame, domain=domain, unit=unit)
    assert all(table.totals([Aggregate(("A",))], bytes([key]))[0].tolist() == [0, 1] for key in range(9))


def test_values_of_a_frame_that_are_no_text_are_in_no_cell() -> None:
    """Of a categorical and of a column of texts: each value is made a text once, and what is none is missing."""
    pandas = pytest.importorskip("pandas")
    codes = pandas.Categorical(["x", None, ("t",), "y", "x"], categories=["x", ("t",), "y"])
    frame = pandas.DataFrame({"A": codes, "B": ["u", None, "v", "u", "w"]})
    domain = Domain.of(A=categories(["y", "x"]), B=categories(["v", "u"]))
    for name, counts in (("A", [1, 2]), ("B", [1, 2])):
        assert Table.scan(frame, domain=domain).totals([Aggregate((name,))], b"key")[0].tolist() == counts
