"""Public tables that say more of a column: unique keys, rows without one missing, the same on every engine."""

from itertools import combinations_with_replacement

import pyarrow as pa
import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest, UnknownName
from gaugedp.queries.rules import query_rules
from gaugedp.tables.aggregate import Aggregate
from tests.tables.engines import ENGINES

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
PLACES = {
    "PLACE": ["7", "8", "9", "10"],
    "KIND": ["town", "village", "town", "village"],
    "COAST": ["yes", "yes", "no", "no"],
}
ROWS = {"PLACE": ["7", "9", "8", "11", None, "9", " 7"], "pid": [1, 1, 2, 3, 4, 5, 6]}


def test_cells_are_told_by_the_key() -> None:
    kind = gd.look_up(PLACES, on="PLACE")["KIND"]
    assert (kind.values, kind.finest, kind.starts) == (("town", "village"), ("7", "9", "8", "10"), (0, 2))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", [pa.string(), pa.int64()])
def test_every_engine_reads_the_same_cells(engine: str, kind: pa.DataType) -> None:
    texts = ROWS["PLACE"] if kind == pa.string() else ["7", "9", "8", "11", None, "9", "12"]
    rows = pa.table({**ROWS, "PLACE": pa.array(texts).cast(kind)})
    place = gd.categories(PLACES["PLACE"], outside="other")
    domain = gd.Domain.of(PLACE=place, **gd.look_up(PLACES, on="PLACE", outside="other"))
    table = gd.Table.scan(ENGINES[engine](rows, 1), domain=domain)
    totals = [Aggregate(("KIND",)), Aggregate(("COAST", "KIND")), Aggregate(("PLACE", "KIND")), Aggregate(("PLACE",))]
    kinds, both, crossed, places = (answer.tolist() for answer in table.totals(totals, b""))
    assert (kinds, places) == ([3, 1, 3], [1, 1, 2, 0, 3])
    assert both == [1, 1, 0, 2, 0, 0, 0, 0, 3]
    assert crossed == [1, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3]


def priced(**facts: object) -> gd.Domain:
    """A domain in which the place tells a price of 3, 20, 6 or 1 half units: one is clipped and one is rounded."""
    prices = {"PLACE": PLACES["PLACE"], "PRICE": ["1.5", "20", "3", "0.4"]}
    return gd.Domain.of(**gd.look_up(prices, on="PLACE", PRICE=gd.bounded(0, 10, step=0.5, **facts)))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", [pa.string(), pa.int64()])
def test_every_engine_adds_up_the_numbers_of_the_keys(engine: str, kind: pa.DataType) -> None:
    texts = ROWS["PLACE"] if kind == pa.string() else ["7", "9", "8", "11", None, "9", "12"]
    rows = ENGINES[engine](pa.table({**ROWS, "PLACE": pa.array(texts).cast(kind)}), 1)
    for domain, n in ((priced(), 4), (priced(missing=0), 7)):
        table = gd.Table.scan(rows, domain=domain)
        assert table.totals([Aggregate((), "PRICE")], b"")[0].tolist() == [2 * (3 + 6 + 20 + 6) - 20 * n]
        assert table.rows([], ["PRICE"], b"")[1].ravel().tolist() == sorted([3, 6, 6, 20, *[n // 7 - 1] * 3])


def test_a_row_adds_no_more_than_a_number_of_its_own_would() -> None:
    """Over all tables of up to three rows: one row more moves the sum by half the span at most, which is reached."""
    places = [*PLACES["PLACE"], "11", None]
    tables = [rows for n in range(4) for rows in combinations_with_replacement(places, n)]
    rows = [(place, number) for number, table in enumerate(tables) for place in table]
    frame = pa.table({"PLACE": [place for place, _ in rows], "table": [number for _, number in rows]})
    domain = gd.Domain.of(table=gd.integers(0, len(tables) - 1), **priced().columns)
    sums = gd.Table.scan(frame, domain=domain).totals([Aggregate(("table",), "PRICE")], b"")[0].tolist()
    by_rows = {tuple(sorted(table, key=str)): total for table, total in zip(tables, sums, strict=True)}
    moves = [
        total - by_rows[rows[:place] + rows[place + 1 :]]
        for rows, total in by_rows.items()
        for place in range(len(rows))
    ]
    assert (
        max(map(abs, moves)) == 20
    )  # in half steps: a price goes from 0 to 20 steps, and the sum is of what is beyond 10


def test_persons_add_up_what_their_places_cost() -> None:
    rows = gd.Table.scan(pa.table(ROWS), domain=priced(), unit=gd.PrivacyUnit("pid"))
    people = gd.by_person(rows, "pid", paid=gd.PerPerson.sum("PRICE", gd.bounded(0, 4, step=0.5)))
    paid = [8, 8, 0, 0, 6, 0]  # person 1 has 9 halves and person 2 has 20, clipped to 8
    assert people.totals([Aggregate((), "paid")], b"")[0].tolist() == [2 * sum(paid) - 8 * len(paid)]


def test_a_key_that_is_not_listed_is_shown_to_the_custodian() -> None:
    from gaugedp.tables.custodian import check

    problems = {
        (each.column, each.problem, each.rows)
        for each in check(gd.Table.scan(pa.table(ROWS), domain=priced())).findings
    }
    assert problems == {("PRICE", "no value", 1), ("PRICE", "out of domain", 2)}


def test_another_price_makes_another_question() -> None:
    other = gd.Domain.of(**gd.look_up({"PLACE": ["7"], "PRICE": ["1"]}, on="PLACE", PRICE=gd.bounded(0, 10, step=0.5)))
    assert gd.query(other, "sum(PRICE)").digest() != gd.query(priced(), "sum(PRICE)").digest()


def test_the_domain_file_names_the_prices(tmp_path) -> None:
    (tmp_path / "prices.csv").write_text("PLACE,PRICE\n7,1.5\n8,20\n9,3\n10,0.4\n", "utf-8")
    column = 'PRICE = { look_up = "prices.csv", on = "PLACE", low = 0, high = 10, step = 0.5 }'
    (tmp_path / "domain.toml").write_text(f"[columns]\n{column}\n", "utf-8")
    assert gd.Domain.load(tmp_path / "domain.toml").columns == priced().columns
    for word in ('on = "PLACE", ', "low = 0, "):
        (tmp_path / "domain.toml").write_text(f"[columns]\n{column.replace(word, '')}\n", "utf-8")
        with pytest.raises(InvalidRequest):
            gd.Domain.load(tmp_path / "domain.toml")


@pytest.mark.parametrize("price", ["dear", "nan", "inf", "1e400"])
def test_what_is_no_number_is_refused(price: str) -> None:
    with pytest.raises(InvalidRequest, match="PRICE in the lookup table"):
        gd.look_up({"PLACE": ["7"], "PRICE": [price]}, on="PLACE", PRICE=gd.bounded(0, 10))


def test_a_number_needs_a_column_and_no_codes() -> None:
    with pytest.raises(UnknownName, match="'PRICE'"):
        gd.look_up(PLACES, on="PLACE", PRICE=gd.bounded(0, 10))
    with pytest.raises(InvalidRequest, match="come from a public lookup table, so"):
        gd.look_up({"PLACE": ["7"], "PRICE": ["1"]}, on="PLACE", PRICE=gd.bounded(0, 10, unknown=[99]))


def test_rows_without_a_match_are_left_out_of_the_question_and_counted_elsewhere() -> None:
    domain = gd.Domain.of(**gd.look_up(PLACES, on="PLACE"))
    table = gd.Table.scan(pa.table(ROWS), domain=domain)
    assert table.totals([Aggregate(("KIND",))], b"")[0].tolist() == [3, 1]
    assert table.totals([Aggregate(())], b"")[0].tolist() == [7]
    rules = query_rules(gd.query(domain, "KIND*COAST"))
    assert "Rows whose KIND is missing or out of domain are left out of the whole query." in rules


def test_persons_have_the_kind_of_their_last_place() -> None:
    domain = gd.Domain.of(**gd.look_up(PLACES, on="PLACE"))
    rows = gd.Table.scan(pa.table(ROWS), domain=domain, unit=gd.PrivacyUnit("pid"))
    people = gd.by_person(rows, "pid", in_town=gd.PerPerson.any("KIND", "town"), best=gd.PerPerson.max("COAST"))
    counts = people.totals([Aggregate(("in_town",))], b"")[0].tolist()
    assert counts == [4, 2]
    assert people.totals([Aggregate(("best",))], b"")[0].tolist() == [1, 2]


def test_a_release_of_levels_and_look_ups_is_answered() -> None:
    domain = gd.Domain.of(PLACE=PLACES["PLACE"], **gd.look_up(PLACES, on="PLACE"))
    table = gd.Table.scan(pa.table(ROWS), domain=domain)
    ledger = gd.Ledger.in_memory(gd.PureDP(100))
    answer = gd.release(gd.query(domain, "KIND*COAST; PLACE"), table, ledger=ledger, epsilon=50)
    assert answer.processed("consistent", query=gd.query(domain, "KIND*COAST; PLACE")).values.shape == (8,)
    assert "nested" not in answer.facts


def test_the_domain_file_names_the_table(tmp_path) -> None:
    lines = [",".join(line) for line in [list(PLACES), *map(list, zip(*PLACES.values(), strict=True))]]
    (tmp_path / "places.csv").write_text("\n".join(lines), "utf-8")
    text = '[attributes]\nPLACE = ["7"]\nKIND = { look_up = "places.csv", on = "PLACE", outside = "other" }\n'
    (tmp_path / "domain.toml").write_text(text, "utf-8")
    read = gd.Domain.load(tmp_path / "domain.toml").attribute("KIND")
    assert read == gd.look_up(PLACES, on="PLACE", outside="other")["KIND"]
    (tmp_path / "domain.toml").write_text(text.replace("KIND", "KINDS"), "utf-8")
    with pytest.raises(UnknownName, match="Did you mean 'KIND'"):
        gd.Domain.load(tmp_path / "domain.toml")
    for broken in ("places.csv", 'places.csv", on = 3, x = "'):
        (tmp_path / "domain.toml").write_text(text.replace('places.csv", on = "PLACE', broken), "utf-8")
        with pytest.raises((InvalidRequest, UnknownName)):
            gd.Domain.load(tmp_path / "domain.toml")


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({**PLACES, "PLACE": ["7", "7", "8", "9"]}, "appears twice"),
        ({**PLACES, "KIND": ["town"]}, "different lengths"),
        ({**PLACES, "KIND": ["town", "", "town", "town"]}, "field of the lookup table is empty"),
        ({"PLACE": ["7"]}, "Name the column of the keys PLACE"),
        ({"KIND": ["town"], "COAST": ["no"]}, "Name the column of the keys PLACE"),
        ("nowhere.csv", "cannot be read"),
        (["7"], "of type list"),
    ],
)
def test_what_does_not_fit_is_refused(table: object, words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        gd.look_up(table, on="PLACE")
