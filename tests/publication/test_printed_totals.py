"""Printed totals: the numbers of a sheet add up, and pages name the tables that do not add up with each other."""

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import gaugedp as gd
from gaugedp.cli.main import run
from gaugedp.releases.publication.publication import Publication
from tests.publication.kit import published, written

pytest.importorskip("matplotlib", reason="matplotlib is not installed: the extra gaugedp[report]")
openpyxl: Any = pytest.importorskip("openpyxl", reason="openpyxl is not installed: the extra gaugedp[excel]")

AREAS = "REGION,DISTRICT\nnorth,hill\nnorth,lake\nsouth,bay\n"
TABLES = "".join(
    f'[[tables]]\ntitle = "{text}"\nquery = "{text}"\n' for text in ("REGION", "REGION*SEX", "DISTRICT*SEX")
)
STEPS = "epsilon = 1.0\nconsistent = true\nnon_negative = true\nround = 5\n"
APART = "Parts add up to their totals only within each of these groups of tables: "
ROWS, ALONE = "These groups of tables are not based on exactly the same records", "was adjusted or rounded separately"


def areas(desk: Path, outside: str, tables: str = TABLES) -> Path:
    """Publish counts of rows of which some have no district and some no sex; return the folder."""
    (desk / "areas.csv").write_text(AREAS, "utf-8")
    (desk / "people.csv").write_text("DISTRICT,SEX\nhill,1\nhill,2\nlake,1\nbay,2\nbay,9\n?,2\n" * 400, "utf-8")
    rules = f'{{ tree = "areas.csv", outside = "{outside}" }}', f'{{ values = ["1", "2"], outside = "{outside}" }}'
    (desk / "domain.toml").write_text("[attributes]\nDISTRICT = {}\nSEX = {}\n".format(*rules), "utf-8")
    path = written(desk, tables, STEPS)
    path.write_text(path.read_text("utf-8").replace('"parquet"', '"xlsx"'), "utf-8")
    assert published(desk) == 0
    return desk / "out"


def lines(out: Path, number: int) -> list[tuple[Any, ...]]:
    """Return the lines of the sheet of a table, with its totals; they add up along both axes."""
    (path,) = (out / "tables").glob(f"{number:02}-*.xlsx")
    sheet = openpyxl.load_workbook(path).worksheets[0]
    shown = [line for line in sheet.iter_rows(min_row=4, values_only=True) if isinstance(line[-1], int)]
    for line in shown if len(shown[0]) > 2 else []:
        assert sum(line[1:-1]) == line[-1]
    for column in list(zip(*shown, strict=True))[1:]:
        assert sum(column[:-1]) == column[-1]
    return shown


def said(out: Path) -> str:
    """Return what the page says about sums, which the notes of each sheet say, too."""
    text = (out / "index.html").read_text("utf-8")
    about = text[text.index(APART) :].partition("</p>")[0] if APART in text else ""
    for path in (out / "tables").glob("*.xlsx"):
        notes = [line[1] for line in openpyxl.load_workbook(path)["notes"].iter_rows(values_only=True)]
        assert [text for text in notes if APART in text] == [about] * bool(about)
    return about


def test_three_tables_without_left_out_rows_add_up_exactly(desk: Path, capsys) -> None:
    out = areas(desk, "other")
    regions, by_sex, districts = (lines(out, number) for number in (1, 2, 3))
    assert [line[-1] for line in regions] == [line[-1] for line in by_sex]
    north = [sum(pair) for pair in zip(*(line[1:] for line in districts[:2]), strict=True)]
    assert north == list(by_sex[0][1:])
    assert districts[-1][1:] == by_sex[-1][1:]
    assert all(number % 5 == 0 for line in [*regions, *by_sex, *districts] for number in line[1:])
    with next((out / "tables").glob("02-*n-sex.csv")).open(encoding="utf-8") as file:
        assert sum(int(line["estimate"]) for line in csv.DictReader(file)) == by_sex[-1][-1]
    assert said(out) == ""
    assert APART not in capsys.readouterr().out


def test_a_table_of_other_rows_gives_no_margin(desk: Path, capsys) -> None:
    out = areas(desk, "drop")
    regions, by_sex, districts = (lines(out, number) for number in (1, 2, 3))
    assert regions[-1][-1] > by_sex[-1][-1] + 200, "400 rows without a sex, and noise of tens at most"
    assert by_sex[-1] == districts[-1]
    groups = f"{APART}“REGION”; “REGION*SEX” and “DISTRICT*SEX”. {ROWS}"
    assert said(out).startswith(groups)
    assert ALONE not in said(out)
    assert run(["publish", str(desk / "publication.toml"), "--dry-run"]) == 0
    assert groups in capsys.readouterr().out


def test_a_table_rounded_otherwise_gives_no_margin(desk: Path) -> None:
    out = areas(desk, "other", TABLES.replace('"REGION*SEX"\n[[', '"REGION*SEX"\nround = 7\n[['))
    assert all(number % 7 == 0 for line in lines(out, 2) for number in line[1:])
    assert lines(out, 1)[-1][-1] % 5 == 0
    groups = f"{APART}“REGION” and “DISTRICT*SEX”; “REGION*SEX”. Each of these groups of tables {ALONE}"
    assert said(out) == f"{groups}, so numbers may differ between groups."


def test_only_tables_of_counts_are_said_to_be_rounded(desk: Path) -> None:
    tables = '[[tables]]\nquery = "SEX; mean(PAY)"\n[[tables]]\nquery = "mean(PAY) by SEX; share(AGE)"\n'
    written(desk, tables, STEPS)
    assert published(desk) == 0
    page = (desk / "out" / "index.html").read_text("utf-8")
    done = page[page.index("After the noise was added") :].partition("The charts")[0]
    assert done.count("counts were rounded to multiples of 5") == 1
    assert done.index("in table 1, ") < done.index("counts were rounded") < done.index("in table 2, ")
    written(desk, '[[tables]]\nquery = "median(PAY)"\n', STEPS)
    assert Publication.load(desk / "publication.toml").steps == [()], "no step changes a median"


@pytest.mark.parametrize("wrong", [{"sets": [[["SEX"]], [3]]}, {"sets": 3}, {"because": ["moon"]}])
def test_a_release_with_wrong_sets_of_tables_is_refused(wrong: dict[str, Any]) -> None:
    domain = gd.Domain.of(SEX=["1", "2"])
    rows = gd.Table.scan(pa.table({"SEX": ["1", "2"]}), domain=domain, name="rows")
    answer = gd.release(gd.query(domain, "SEX"), rows, ledger=gd.Ledger.in_memory(gd.PureDP(1)), epsilon=1)
    assert gd.Release.from_json(answer.to_json()).sets == {}
    with pytest.raises(gd.errors.InvalidRequest, match="not a release"):
        gd.Release.from_json(json.dumps({**json.loads(answer.to_json()), "agreement": wrong}))
