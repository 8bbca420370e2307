"""Public tables that say more of a column: unique keys, rows without one missing, the same on every engine."""

import pyarrow as pa
import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest, UnknownName
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


def test_rows_without_a_match_are_left_out_of_the_question_and_counted_elsewhere() -> None:
    domain = gd.Domain.of(**gd.look_up(PLACES, on="PLACE"))
    table = gd.Table.scan(pa.table(ROWS), domain=domain)
    assert table.totals([Aggregate(("KIND",))], b"")[0].tolist() == [3, 1]
    assert table.totals([Aggregate(())], b"")[0].tolist() == [7]
    rules = gd.query(domain, "KIND*COAST").rules
    assert "Rows whose KIND is missing or outside its cells are left out of the whole question." in rules


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
        ({**PLACES, "KIND": ["town"]}, "unlike lengths"),
        ({**PLACES, "KIND": ["town", "", "town", "town"]}, "empty field"),
        ({"PLACE": ["7"]}, "Name PLACE and more"),
        ({"KIND": ["town"], "COAST": ["no"]}, "Name PLACE and more"),
        ("nowhere.csv", "cannot be read"),
        (["7"], "of type list"),
    ],
)
def test_what_does_not_fit_is_refused(table: object, words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        gd.look_up(table, on="PLACE")
