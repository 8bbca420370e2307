"""A domain file to fill in, from the names of the columns alone."""

import csv
import gzip
import time
import tomllib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gaugedp as gd
from gaugedp.cli.main import run
from gaugedp.domain.text_format import TextFormat
from gaugedp.tables.headers import doubts

SECRET = "SECRET7731"


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(f'sex,yearly income,"a ""b""",age\n{SECRET},1,2,3\n')
    return path


def test_it_holds_names_and_no_value_and_reads_as_it_is(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["domain", str(people), "--out", str(people.with_suffix(".toml"))]) == 0
    text = people.with_suffix(".toml").read_text()
    assert SECRET not in text + capsys.readouterr().out
    for name in ("# sex = ", '# "yearly income" = ', '# "a \\"b\\"" = ', "# age = "):
        assert text.count(name) == 2
    assert gd.Domain.load(people.with_suffix(".toml")).name == "people"


def test_filled_in_it_answers_a_question(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["domain", str(people)]) == 0
    text = capsys.readouterr().out.replace('# sex = ["…", "…"]', 'sex = ["f", "m"]')
    text = text.replace(
        '# "yearly income" = { low = 0, high = …, step = 1, missing = "drop" }',
        '"yearly income" = { low = 0, high = 9 }',
    )
    people.with_suffix(".toml").write_text(text)
    assert run(["plan", "--domain", str(people.with_suffix(".toml")), "--query", "sex", "--epsilon", "1"]) == 0


def test_names_that_a_question_holds_in_quotes_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "people.csv").write_text(f"Income (EUR),Sex*Age,Net income\n{SECRET},1,2\n")
    assert run(["domain", str(tmp_path / "people.csv")]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith('# "')]
    told = [line.endswith("  # in a query, put this name in double quotes") for line in lines]
    assert told == [True, True, False] * 2


def test_parquet_has_names_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pq.write_table(pa.table({"sex": [SECRET], "age": [3]}), tmp_path / "people.parquet")
    assert run(["domain", str(tmp_path / "people.parquet")]) == 0
    shown = capsys.readouterr().out
    assert "# age = " in shown
    assert SECRET not in shown


@pytest.mark.parametrize("name", ["nothing.csv", "people.xlsx"])
def test_what_is_no_table_is_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["domain", str(tmp_path / name)]) == 2
    assert "Nothing was read" in capsys.readouterr().err


def test_the_table_is_not_written_over(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = people.read_text()
    assert run(["domain", str(people), "--out", str(people)]) == 2
    assert people.read_text() == before
    assert "also the table" in capsys.readouterr().err


def test_what_was_filled_in_is_not_written_over(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = people.with_suffix(".toml")
    assert run(["domain", str(people), "--out", str(made)]) == 0
    said = capsys.readouterr().out
    assert f"gaugedp plan --domain {made} --query count --epsilon 1" in said
    assert run(said.splitlines()[-1].split()[1:]) == 0, "as it is, before anything is filled in"
    made.write_text("# mine\n")
    assert run(["domain", str(people), "--out", str(made)]) == 2
    assert "already exists" in capsys.readouterr().err
    assert made.read_text() == "# mine\n"


@pytest.mark.parametrize(("mark", "encoding"), [(";", "windows-1252"), ("\t", "utf-8"), ("|", "utf-8"), (",", "utf-8")])
def test_the_first_line_suggests_separator_and_encoding(
    mark: str, encoding: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And nothing else is read: no row, and so neither the decimal mark nor the form of dates."""
    (tmp_path / "people.csv").write_bytes(f"größe{mark}age\n{SECRET}{mark}3,5\n".encode(encoding))
    assert run(["domain", str(tmp_path / "people.csv")]) == 0
    said = capsys.readouterr().out
    assert SECRET not in said
    form = TextFormat.of(tomllib.loads(said).get("file", {}))
    assert form == TextFormat(separator="" if mark == "," else mark, encoding=encoding)
    assert '# größe = ["…", "…"]'.replace("größe", '"größe"') in said


def test_a_header_in_ascii_leaves_the_encoding_open(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The rows may be in Latin-1, which the first line cannot show; the draft also names the quotes."""
    (tmp_path / "people.csv").write_bytes("city;age\nMünchen;3\n".encode("latin-1"))
    assert run(["domain", str(tmp_path / "people.csv")]) == 0
    said = capsys.readouterr().out
    assert tomllib.loads(said)["file"] == {"separator": ";"}
    for line in ('# encoding = "latin-1"', '# quote = "\'"'):
        assert line in said
        assert TextFormat.of(tomllib.loads(line.removeprefix("# ")))


def test_a_file_that_nobody_filled_in_says_where(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = people.with_suffix(".toml")
    assert run(["domain", str(people), "--out", str(made)]) == 0
    for query, section in (("sex", "attributes"), ("mean(age)", "columns")):
        assert run(["plan", "--domain", str(made), "--query", query, "--epsilon", "1"]) == 2
        assert f"fill in a line of [{section}] and remove its #" in capsys.readouterr().err


def test_areas_of_all_levels_are_planned_and_released(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    Path("areas.csv").write_text("REGION,DISTRICT,TRACT\nN,a,1\nN,b,2\nS,c,3\n")
    Path("domain.toml").write_text('[attributes]\nSEX = ["m", "f"]\nTRACT = { tree = "areas.csv" }\n')
    Path("people.csv").write_text("TRACT,SEX\n" + "1,m\n2,f\n3,f\n" * 500)
    request = ["--domain", "domain.toml", "--query", "REGION; DISTRICT*SEX; TRACT", "--epsilon", "2"]
    assert run(["plan", *request]) == 0
    ledger = ["--ledger", "people.ledger", "--budget", "2"]
    assert run(["release", "people.csv", *request, *ledger, "--out", "answers.csv"]) == 0
    assert Path("answers.csv").read_text().count("\n") == 1 + 2 + 6 + 3
    capsys.readouterr()


HEADERS = {
    "Novak,34,female": "a number (field 2)",
    "a,-1.5e3,12 %,€5": "a number (field 2 and 2 more)",
    "a,nan": "a number (field 2)",
    "a,A": "a repeated name (field 1 and 1 more)",
    "SEX,PAY,": "no name (field 3)",
    "a, ,b": "no name (field 2)",
    "x,2024-03-01": "a date or time (field 2)",
    "x,1.3.2024": "a date or time (field 2)",
    "x,12:30": "a date or time (field 2)",
    '"A,B",C': "a separator in a name (field 1)",
    "a\x00,b": "a control character (field 1)",
    "alice@x.org,Boston,617-555-1234": "an address (field 1), a number (field 3)",
    "https://x.org/alice,b": "an address (field 1)",
    "0f8fad5b-d9cb-469f-a165-70867728950e,M": "an identifier (field 1)",
    "x,{0F8FAD5B-D9CB-469F-A165-70867728950E}": "an identifier (field 2)",
    "x,0f8fad5bd9cb469fa16570867728950e": "an identifier (field 2)",
    "x,00:1b:44:11:3a:b7": "an identifier (field 2)",
    "x,DE89370400440532013000": "an identifier (field 2)",
    "x,+44 20 7946 0958": "a number (field 2)",
    "x,(617) 555-1234": "a number (field 2)",
    "x,617.555.1234": "a number (field 2)",
    "x,192.168.0.1": "a number (field 2)",
    "−5,x": "a number (field 1)",
    "x,−1.5e−3": "a number (field 2)",
    "x,(5)": "a number (field 2)",
    "x,18-24": "a number (field 2)",
    "x,≥ 65": "a number (field 2)",
    "x,-Inf": "a number (field 2)",
    "x,EUR 5": "a number (field 2)",
    "12kg,(5),TRUE": "a number with a unit (field 1), a number (field 2), a truth value (field 3)",
    "x,5ft 11ft": "a number with a unit (field 2)",
    "x,37.2°C": "a number with a unit (field 2)",
    "x,3.5mg/l": "a number with a unit (field 2)",
    "x,1.5k": "a number with a unit (field 2)",
    "Smith,M,12 Main St": "a number before a word (field 3)",
    "x,3 Mar 2024": "a number before a word (field 2)",
    "x,03MAR2024": "a date or time (field 2)",
    "x,3-Mar-24": "a date or time (field 2)",
    "a,\u202eb": "a control character (field 2)",
}


@pytest.mark.parametrize("form", [".csv", ".parquet"])
@pytest.mark.parametrize("header", HEADERS)
def test_names_that_may_be_a_row_are_refused_without_being_shown(
    header: str, form: str, tmp_path: Path, capsys
) -> None:
    names = next(csv.reader([header]))
    path, out = tmp_path / f"people{form}", tmp_path / "people.toml"
    if form == ".csv":
        path.write_text(f"{header}\n1,2,3,4\n", "utf-8")
    elif all(names) and len({name.lower() for name in names}) == len(names):
        pq.write_table(pa.table({name: [1] for name in names}), path)
    else:
        return
    assert run(["domain", str(path), "--out", str(out)]) == 2
    said = capsys.readouterr().err
    assert HEADERS[header] in said
    assert said.endswith("Nothing was written.\n")
    assert not any(name in said.replace(str(path), "") for name in names if len(name) > 2)
    assert not out.exists()
    assert run(["domain", str(path), "--out", str(out), "--header-confirmed"]) == 0


USUAL = [
    "PAY_1", "x1", "2nd visit", "Alter (Jahre)", "größe", "a.b", "A/B", "e-mail", "Q3 2024", "income_2020", "q1",
    "2nd_income", "2020_income", "1st", "1a", "12b", "3d", "5k", "5yr", "24h", "_1", "_c0", "V161086", "B01001_001E",
    "PM2.5", "CO2", "h1n1", "No", "NA", "yes/no", "income (2020)", "age>65", "% male", "#", "Unnamed: 0",
    "e-mail @work", "weight (kg)", "kg", "km2", "EUR", "nanny", "info", "March", "2010-dollars", "may2024", "truth",
    "Null hypothesis", "face:feed", "deadbeef", "visit 12", "5-year rate", "1st-3rd grade",
]  # fmt: skip


@pytest.mark.parametrize("name", USUAL)
def test_usual_names_need_no_confirmation(name: str, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(f"sex,{name}\n1,2\n", "utf-8")
    assert run(["domain", str(tmp_path / "people.csv")]) == 0


def test_long_fields_are_read_in_linear_time() -> None:
    for field in ("a@" + "b." * 50_000 + "@", "1kg " * 25_000 + "x", "1" * 100_000, "ab:" * 30_000 + "z", "." * 10**5):
        started = time.process_time()
        doubts([field])
        assert time.process_time() - started < 3


OTHERS = {
    b"PK\x03\x04rest": "a workbook", b"\xd0\xcf\x11\xe0": "an old workbook", b"<!DOCTYPE html>": "a web page",
    b" <table>": "a web page", b'[{"a": 1}]': "JSON", b'{\n "a": 1}': "JSON", b"\xff\xfea\x00": "UTF-16",
    b"\x1f\x8b\x08": "gzip", b"PAR1\x15": "a Parquet file", b"SQLite format 3\x00": "a database",
    b"%PDF-1.7": "a document",
}  # fmt: skip


@pytest.mark.parametrize("start", OTHERS, ids=OTHERS.values())
def test_other_files_under_the_name_of_text_are_recognised(start: bytes, tmp_path: Path, capsys) -> None:
    content = start + SECRET.encode()
    for name, stored in (("a.csv", content), ("a.tsv", content), ("a.csv.gz", gzip.compress(content))):
        (tmp_path / name).write_bytes(stored)
        assert run(["domain", str(tmp_path / name), "--header-confirmed"]) == 2
        said = capsys.readouterr().err
        assert OTHERS[start] in said
        assert SECRET not in said


def test_names_in_square_brackets_are_names(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("[id],[name]\n1,2\n", "utf-8")
    assert run(["domain", str(tmp_path / "people.csv")]) == 0
