"""What the custodian is shown: every misfit, on every engine, marked as not private, and nothing paid or kept."""

from pathlib import Path

import pyarrow as pa
import pytest

import gaugedp as gd
from gaugedp.cli.main import run
from gaugedp.tables.custodian import NOT_PRIVATE
from tests.tables.engines import ENGINES

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
DOMAIN = gd.Domain.of(
    SEX=["1", "2"],
    AGE=gd.bins(0, 100, width=10),
    WHEN=gd.dates("2017-01", "2017-12", by="month"),
    PAY=gd.bounded(0, 1000, missing=0),
)
UNIT = gd.PrivacyUnit("pid", max_rows=1)
ROWS = {
    "SEX": ["1", "M", "2", "M", None, "2 "],
    "AGE": [30, 200, 20, 10, 40, -1],
    "WHEN": ["2017-03-05", "2017-02-30", "2016-12-31", "5.3.2017", None, "2017-06"],
    "PAY": ["100", None, "x", "5000", "-3", "1,250"],
    "pid": ["a", "b", None, "a", "a", "c"],
}
WANTED = {
    ("SEX", "no value"): 1, ("SEX", "out of domain"): 3, ("AGE", "out of domain"): 2, ("WHEN", "no value"): 1,
    ("WHEN", "out of domain"): 3, ("PAY", "no value"): 1, ("PAY", "not a number"): 2, ("PAY", "below 0"): 1,
    ("PAY", "above 1000"): 1, ("pid", "no person"): 1, ("pid", "more than 1 per person"): 2,
}  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
def test_every_misfit_is_found(engine: str) -> None:
    table = gd.Table.scan(ENGINES[engine](pa.table(ROWS), 1), domain=DOMAIN, unit=UNIT)
    actual = gd.check(table)
    assert actual.n_rows == 6
    assert {(finding.column, finding.problem): finding.rows for finding in actual.findings} == WANTED
    misfits = next(finding for finding in actual.findings if (finding.column, finding.rows) == ("SEX", 3))
    assert misfits.examples == (() if engine in ("spark", "postgres") else (("M", 2), ("2 ", 1)))


def test_a_table_that_fits_has_no_finding() -> None:
    rows = {"SEX": ["1"], "AGE": [30], "WHEN": ["2017-03-05"], "PAY": [3], "pid": ["a"]}
    assert gd.check(gd.Table.scan(pa.table(rows), domain=DOMAIN, unit=UNIT)).findings == ()


def test_an_empty_table_has_none_either() -> None:
    actual = gd.check(gd.Table.scan(pa.table(ROWS).slice(0, 0), domain=DOMAIN, unit=UNIT))
    assert (actual.n_rows, actual.findings) == (0, ())


def test_no_figure_is_in_what_is_printed_by_itself() -> None:
    actual = gd.check(gd.Table.scan(pa.table(ROWS), domain=DOMAIN, unit=UNIT))
    assert "not private" in repr(actual)
    assert not any(letter.isdigit() for letter in repr(actual))


def test_the_command_marks_what_it_shows_and_writes_nothing(tmp_path: Path, capsys, monkeypatch) -> None:
    (tmp_path / "people.csv").write_text("SEX\n1\nM\n2\n", "utf-8")
    (tmp_path / "domain.toml").write_text("[attributes]\nSEX = ['1', '2']\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    assert run(["check", "people.csv", "--domain", "domain.toml"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(NOT_PRIVATE)
    assert "'M' (1)" in out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["domain.toml", "people.csv"]


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(gd.InvalidRequest, match=r"Pass gd\.Table\.scan"):
        gd.check("people.csv")  # type: ignore[arg-type]


def test_a_tree_is_checked_once_in_the_column_that_tells_it() -> None:
    domain = gd.Domain.of(TRACT=gd.tree({"REGION": ["N", "S"], "TRACT": ["1", "2"]}))
    custody = gd.check(gd.Table.scan(pa.table({"TRACT": ["1", "2", "3", "3"]}), domain=domain))
    assert [(finding.column, finding.problem, finding.rows) for finding in custody.findings] == [
        ("TRACT", "out of domain", 2)
    ]


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_that_are_made_one_are_looked_at_as_rows_and_as_persons(engine: str) -> None:
    table = gd.Table.scan(ENGINES[engine](pa.table(ROWS), 1), domain=DOMAIN, unit=UNIT)
    visits = gd.PerPerson.count(gd.integers(1, 2))
    actual = gd.check(gd.by_person(table, "pid", visits=visits, sex=gd.PerPerson.max("SEX")))
    rows = {key: number for key, number in WANTED.items() if key[0] != "pid"}
    assert {(finding.column, finding.problem): finding.rows for finding in actual.findings} == {
        **rows, ("pid", "no person"): 1, ("visits", "out of domain"): 1, ("sex", "no value"): 2
    }  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
def test_codes_for_unknown_values_are_no_numbers_beyond_bounds(engine: str) -> None:
    domain = gd.Domain.of(PAY=gd.bounded(0, 1234567, unknown=[-1, 9999999]), AGE=gd.bounded(0, 9, 0.5, unknown=[-1]))
    rows = {"PAY": [-1, 5, 9999999, -2, 1234568, None], "AGE": [-1.0, float("nan"), 3.0, 10.0, -0.5, 1.0]}
    actual = gd.check(gd.Table.scan(ENGINES[engine](pa.table(rows), 1), domain=domain))
    found = {(finding.column, finding.problem): finding.rows for finding in actual.findings}
    assert found == {
        ("PAY", "no value"): 1, ("PAY", "code for missing"): 2, ("PAY", "below 0"): 1, ("PAY", "above 1234567"): 1,
        ("AGE", "no value"): 1, ("AGE", "code for missing"): 1, ("AGE", "below 0"): 1, ("AGE", "above 9"): 1,
    }  # fmt: skip


def test_a_long_value_is_not_cut_without_a_mark() -> None:
    table = gd.Table.scan(pa.table({"SEX": ["x" * 41, "y" * 40]}), domain=gd.Domain.of(SEX=["1"]))
    assert [value for value, _ in gd.check(table).findings[0].examples] == ["x" * 40 + "…", "y" * 40]


def test_what_cannot_be_read_spends_nothing(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("SEX\n1\n", "utf-8")
    table = gd.Table.scan(path, domain=gd.Domain.of(SEX=["1"]))
    path.unlink()
    with pytest.raises(gd.UnreadableTable, match=r"Nothing was spent\.$"):
        gd.check(table)
