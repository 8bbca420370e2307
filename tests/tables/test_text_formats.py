"""A table written in any form of [file] has the totals of the canonical CSV; what is written otherwise is missing."""

import csv
import math
import shutil
import tempfile
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import IO

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gaugedp as gd
from gaugedp.domain.attributes import Attribute, BoundedColumn
from gaugedp.domain.text_format import ENCODINGS, PLAIN, TextFormat
from gaugedp.tables import files
from gaugedp.tables.aggregate import Aggregate
from gaugedp.tables.line_faults import LineCount
from gaugedp.tables.lines import FileLines, frame_lines
from gaugedp.tables.tuning import TableTuning
from tests.tables.engines import ENGINES

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
FORMATS = [
    PLAIN,
    TextFormat(separator=";", decimal=",", encoding="latin-1", date_format="dd.mm.yyyy"),
    TextFormat(separator=";", decimal=",", thousands=".", encoding="windows-1252", date_format="d.m.yyyy"),
    TextFormat(separator="\t", decimal=",", thousands=" ", date_format="yyyy/mm/dd"),
    TextFormat(separator="|", thousands=",", date_format="mm/dd/yyyy", quote="'"),
    TextFormat(separator=",", decimal=",", thousands="'", date_format="d. m. yyyy"),
    TextFormat(separator=";", thousands="’", date_format="ddmmyyyy"),
    TextFormat(decimal=",", encoding="iso-8859-15", date_format="yyyy-d-m"),
    TextFormat(separator=";", encoding="windows-1250", date_format="m-d-yyyy", quote=""),
    TextFormat(separator="\t", decimal=",", thousands=".", encoding="iso-8859-2", date_format="dd mm yyyy"),
]
PLACES = ["Kötzting", "Süd", "n o", 'a"b']
DOMAIN = gd.Domain.of(
    PLACE=gd.categories(PLACES, "other"),
    DAY=gd.dates("2019-12-20", "2020-03-10", by="day", outside="other"),
    MONTH=gd.dates("2019-12", "2020-03", by="month", outside="other"),
    AGE=gd.bins(0, 100, 10, outside="other"),
    SIZE=gd.integers(0, 2000, outside="other"),
    PAY=gd.bounded(-500, 5000, step=0.5),
)
TOTALS = [Aggregate((name,)) for name in DOMAIN.attributes] + [
    Aggregate(("PLACE",), "PAY"),
    Aggregate((), "PAY", present=True),
]


def number(value: float, form: TextFormat, rng: np.random.Generator) -> str:
    """Write a number with the marks of a form, with or without its thousands."""
    whole, _, decimals = f"{abs(value):.{rng.integers(2, 5)}f}".partition(".")
    if form.thousands and rng.random() < 0.7:
        mark = str(rng.choice([" ", "\u202f"])) if form.thousands == " " else form.thousands
        whole = f"{int(whole):,}".replace(",", mark)
    return (
        "-" * (value < 0)
        + whole
        + (f"{form.decimal}{decimals}" if float(f"0.{decimals}") or rng.random() < 0.5 else "")
    )


def day_text(day: date, form: TextFormat) -> str:
    words = {"yyyy": f"{day:%Y}", "mm": f"{day:%m}", "dd": f"{day:%d}", "m": str(day.month), "d": str(day.day)}
    return "".join(words.get(token, token) for token in form.date_tokens) or day.isoformat()


def rows_of(seed: int) -> list[dict[str, object]]:
    """Return random rows; None is missing, and text in the place of a number or a date has none in any form."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, object]] = []
    for _ in range(60):
        day = date(2019, 12, 15) + timedelta(days=int(rng.integers(0, 90)))
        pay = round(float(rng.normal(800, 1500)), 1)
        facts: dict[str, object] = {
            "PLACE": str(rng.choice(PLACES)), "DAY": day, "MONTH": day, "AGE": float(rng.integers(-5, 105)),
            "SIZE": float(rng.integers(-100, 2500)), "PAY": pay,
        }  # fmt: skip
        for name in facts:
            if rng.random() < 0.08:
                facts[name] = rng.choice(["", "n/a", "1.2.3,4,5", "20200230x"])
        rows.append(facts)
    return rows


def write(path: Path, rows: list[dict[str, object]], form: TextFormat, seed: int) -> Path:
    rng = np.random.default_rng(seed)

    def text(value: object) -> str:
        if isinstance(value, date):
            return day_text(value, form) + str(rng.choice(["", " 10:11", "T23:59:59"]))
        return number(value, form, rng) if isinstance(value, float) else str(value)

    lines = [[*DOMAIN.attributes, "PAY"], *([text(row[name]) for name in (*DOMAIN.attributes, "PAY")] for row in rows)]
    options = {"quotechar": form.quote} if form.quote else {"quoting": csv.QUOTE_NONE, "quotechar": None}
    with path.open("w", encoding=form.encoding, newline="", errors="replace") as file:
        separator = form.separator or ("\t" if path.suffix == ".tsv" else ",")
        csv.writer(file, delimiter=separator, **options).writerows(lines)
    return path


def totals(source: object, form: TextFormat) -> list[list[int]]:
    table = gd.Table.scan(source, domain=replace(DOMAIN, text_format=form))
    return [total.tolist() for total in table.totals(TOTALS, b"")]


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: "".join(map(str, vars(form).values())))
def test_any_form_has_the_totals_of_the_canonical_file(form: TextFormat, tmp_path: Path) -> None:
    seed = FORMATS.index(form)
    rows = rows_of(seed)
    expected = totals(write(tmp_path / "plain.csv", rows, PLAIN, seed), PLAIN)
    assert sum(expected[0]) > 40, "the canonical file is read"
    path = write(tmp_path / "other.csv", rows, form, seed + 1)
    assert totals(path, form) == expected
    lines = FileLines.open(str(path), replace(DOMAIN, text_format=form), ["AGE"], ["PAY"])
    read = [
        (line[0], pay) for batch in lines.batches() for line, pay in zip(batch.cells, batch.steps[:, 0], strict=True)
    ]
    assert len(read) == len(rows)
    assert np.bincount([cell for cell, _ in read if cell >= 0], minlength=10).tolist() == expected[3]


AWKWARD = ["x", "y", "y\ry", "y\r", "\ry", "\r\r", "y\ny", "\n", "y\r\ny", "y\n\r", 'y"\ry', "y\x85x", "\fy", "5\r", ""]


@pytest.mark.parametrize("chunk", [1, 2**18])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=repr)
@pytest.mark.parametrize("form", [PLAIN, TextFormat(encoding="latin-1", quote="'")], ids=lambda form: form.encoding)
def test_a_row_of_one_column_is_one_row(form: TextFormat, end: str, chunk: int, tmp_path: Path, monkeypatch) -> None:
    """Python's csv module quotes line ends of the file's kind only; the engine ends a line at all kinds."""
    monkeypatch.setattr(files, "TUNED", TableTuning(text_bytes=chunk))
    domain = replace(gd.Domain.of(A=gd.categories(["x", "y"], "other")), text_format=form)

    def counts(values: list[str]) -> np.ndarray:
        with (tmp_path / "rows.csv").open("w", encoding=form.encoding, newline="") as file:
            writer = csv.writer(file, lineterminator=end, quotechar=form.quote)
            writer.writerows([["A"], *([value] for value in values)])
        table = gd.Table.scan(tmp_path / "rows.csv", domain=domain)
        assert len(values) == 1 or gd.check(table).lines == LineCount(len(values), (), ())
        return table.totals([Aggregate(("A",))], b"")[0]

    of_each = [counts([value]) for value in AWKWARD]
    assert [of.sum() for of in of_each] == [1] * len(AWKWARD)
    assert of_each[0].tolist() == [1, 0, 0]
    assert of_each[2].tolist() == [0, 0, 1]
    values = [*AWKWARD, *AWKWARD[::-1]]
    assert counts(values).tolist() == (2 * sum(of_each)).tolist()


@pytest.mark.parametrize("packing", ["gz", "zst"])
@pytest.mark.parametrize("form", FORMATS[:2], ids=lambda form: form.encoding)
def test_packed_files_are_read_as_they_are(packing: str, form: TextFormat, tmp_path: Path) -> None:
    path = write(tmp_path / "rows.csv", rows_of(5), form, 5)
    packed = tmp_path / f"rows.csv.{packing}"
    with pa.CompressedOutputStream(str(packed), {"gz": "gzip", "zst": "zstd"}[packing]) as file:
        file.write(path.read_bytes())
    assert totals(packed, form) == totals(path, form)
    table = gd.Table.scan(packed, domain=replace(DOMAIN, text_format=form))
    assert gd.check(table).lines == LineCount(60, (), ())


@pytest.mark.parametrize("engine", ["arrow", "duckdb", "spark"])
@pytest.mark.parametrize("form", FORMATS[1:5], ids=lambda form: form.date_format)
def test_numbers_and_dates_in_text_are_read_on_every_engine(engine: str, form: TextFormat, tmp_path: Path) -> None:
    rows = rows_of(7)
    expected = totals(write(tmp_path / "plain.csv", rows, PLAIN, 7), PLAIN)
    path = write(tmp_path / "other.csv", rows, form, 8)
    with path.open(encoding=form.encoding, newline="") as file:
        head, *lines = csv.reader(file, delimiter=form.separator, quotechar=form.quote)
    texts = {name: pa.array([line[i] or None for line in lines]) for i, name in enumerate(head)}
    assert totals(ENGINES[engine](pa.table(texts), 1), form) == expected


def as_objects(rows: list[dict[str, object]], rng: np.random.Generator) -> pd.DataFrame:
    """Return a frame of objects, in which equal numbers and days have several types."""
    kinds = {float: [float, Decimal, np.float64, Fraction], date: [lambda day: day, pd.Timestamp, np.datetime64]}

    def cell(value: object) -> object:
        choices = kinds.get(type(value), [str])
        return choices[rng.integers(len(choices))](value)

    return pd.DataFrame({name: pd.Series([cell(row[name]) for row in rows], dtype=object) for name in rows[0]})


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: "".join(map(str, vars(form).values())))
def test_a_value_is_read_by_itself_whatever_else_its_column_holds(form: TextFormat, tmp_path: Path) -> None:
    """A number is no text in the stated form: typed columns, objects, and objects among texts have the same totals."""
    rng = np.random.default_rng(FORMATS.index(form))
    rows = [row for row in rows_of(3) if {*map(type, row.values())} == {str, float, date}]
    written = write(tmp_path / "rows.csv", rows_of(4), replace(form, encoding="utf-8"), 4).read_text("utf-8")
    options = {"quotechar": form.quote} if form.quote else {"quoting": csv.QUOTE_NONE}
    lines = list(csv.DictReader(written.splitlines(), delimiter=form.separator or ",", **options))
    typed, objects, texts = pd.DataFrame(rows).astype({"DAY": "M8[s]", "MONTH": "M8[s]"}), as_objects(rows, rng), (
        pd.DataFrame(lines, dtype=object)
    )  # fmt: skip
    expected, of_texts = totals(typed, form), np.concatenate(totals(texts, form))
    assert sum(expected[1][:-1]) > 20 < sum(of_texts[:4]), "both are read"
    arrow = pa.Table.from_pandas(typed)
    dictionaries = pa.table({name: pc.dictionary_encode(arrow[name]) for name in arrow.column_names})
    for same in (objects, typed.astype("category"), pl.from_arrow(arrow), dictionaries, ENGINES["duckdb"](arrow, 1)):
        assert totals(same, form) == expected
    assert totals(objects.astype("category"), form) == expected
    mixed = pd.concat([objects, texts], ignore_index=True).sample(frac=1, random_state=5)
    for each in (mixed, mixed.astype("category")):
        assert (np.concatenate(totals(each, form)) == np.concatenate(expected) + of_texts).all()
    cells, steps = frame_lines(mixed, replace(DOMAIN, text_format=form), ["DAY"], ["PAY"])
    assert np.bincount(cells[:, 0], minlength=len(expected[1])).tolist() == totals(mixed, form)[1]
    assert np.count_nonzero(steps >= 0) == totals(mixed, form)[-1][0]


def table_of(folder: Path, texts: list[str], form: TextFormat, **facts: Attribute | BoundedColumn) -> gd.Table:
    path = folder / "rows.csv"
    path.write_text("\n".join(["X;Y", *(f"{text};1" for text in texts)]) + "\n", "utf-8")
    return gd.Table.scan(path, domain=replace(gd.Domain.of(**facts), text_format=replace(form, separator=";")))


NUMBERS = {
    "1.250,5": 1250.5, "1250,5": 1250.5, ",5": 0.5, "-3,": -3, " 7 ": 7, "+1e3": 1000, "1.000.000": 1e6,
    "inf": math.inf,
    "1.25": None, "12.50": None, "1.2500": None, "1..250": None, ".250": None, "1,250.5": None, "1,2,3": None,
    "1.250.5": None, "1250.500": None, "€5": None, "1 250": None, "": None, "1'250": None, "0x1": None,
}  # fmt: skip


def test_a_number_has_groups_of_three_and_one_decimal_mark(tmp_path: Path) -> None:
    """Where the point separates thousands, 12.50 is no number, and not 1250: a wrong form is noticed."""
    column = gd.bounded(-10, 2_000_000, step=0.5)
    table = table_of(tmp_path, list(NUMBERS), TextFormat(decimal=",", thousands="."), X=column)
    steps = table.rows([], ["X"], b"")[1][:, 0]
    expected = [-1 if value is None else 2 * min(value, 2e6) + 20 for value in NUMBERS.values()]
    assert sorted(steps.tolist()) == sorted(expected)


def test_decimal_commas_are_not_read_as_thousands(tmp_path: Path) -> None:
    """Prices of 3,50 would become 350, and be clipped; `check` counts them as no numbers."""
    texts = [f"{i},{j:02}" for i in range(10) for j in range(0, 100, 7)]
    table = table_of(tmp_path, texts, TextFormat(thousands=","), X=gd.bounded(0, 100, step=0.01))
    (finding,) = gd.check(table).findings
    assert (finding.problem, finding.rows) == ("not a number", len(texts))
    right = table_of(tmp_path, texts, TextFormat(decimal=","), X=gd.bounded(0, 100, step=0.01))
    assert not gd.check(right).findings


def test_days_are_not_read_as_months(tmp_path: Path) -> None:
    days = [date(2020, 1, 1) + timedelta(days=i) for i in range(366)]
    dates = gd.dates("2020-01-01", "2020-12-31", by="day")
    texts = [f"{day:%m/%d/%Y}" for day in days]
    swapped = table_of(tmp_path, texts, TextFormat(date_format="dd/mm/yyyy"), X=dates)
    (finding,) = gd.check(swapped).findings
    assert (finding.problem, finding.rows) == ("out of domain", 366 - 144)
    right = table_of(tmp_path, texts, TextFormat(date_format="mm/dd/yyyy"), X=dates)
    assert right.totals([Aggregate(("X",))], b"")[0].tolist() == [1] * 366


def test_other_dates_are_missing(tmp_path: Path) -> None:
    texts = [
        "2020-01-05",
        "5.1.2020",
        "05.01.20",
        "05.01.2020x",
        "05-01-2020",
        "32.01.2020",
        "29.02.2019",
        "05.13.2020",
    ]
    dates = gd.dates("2019", "2021", by="year", outside="other")
    table = table_of(tmp_path, texts, TextFormat(date_format="dd.mm.yyyy"), X=dates)
    assert table.totals([Aggregate(("X",))], b"")[0].tolist() == [0, 0, 0, len(texts)]


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(body=st.binary(max_size=60), encoding=st.sampled_from(ENCODINGS), quote=st.sampled_from(['"', "'", ""]))
def test_no_bytes_make_a_file_of_any_encoding_fail(body: bytes, encoding: str, quote: str, tmp_path_factory) -> None:
    path = tmp_path_factory.mktemp("bytes") / "rows.csv"
    path.write_bytes(b"A;B\nx;1\n" + body)
    form = TextFormat(separator=";", encoding=encoding, quote=quote, decimal=",", thousands=".", date_format="d.m.yyyy")
    domain = replace(
        gd.Domain.of(A=gd.dates("2020", "2021", by="year", outside="other"), B=gd.bounded(0, 9)), text_format=form
    )
    table = gd.Table.scan(path, domain=domain)
    n_rows = int(table.totals([Aggregate(())], b"")[0][0])
    assert n_rows >= (1 if body[:1] in (b"", b"\n") else 0)
    assert gd.check(table).n_rows == n_rows


def test_a_byte_without_a_letter_leaves_out_its_line_alone(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_bytes(b"A;B\nS\xfcd;1\n\x81;2\nx;3\n")
    domain = gd.Domain.of(A=gd.categories(["Süd"], "other")).with_text_format(separator=";", encoding="windows-1252")
    table = gd.Table.scan(tmp_path / "rows.csv", domain=domain)
    assert table.totals([Aggregate(("A",))], b"")[0].tolist() == [1, 1]
    assert gd.check(table).lines.n_lost == 1


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="files are opened by their names")
def test_a_killed_process_leaves_no_copy(tmp_path: Path, monkeypatch) -> None:
    def copied(content: IO[bytes], copy: IO[bytes]) -> None:
        copy.write(content.read())
        left.extend(path for path in (tmp_path / "spilled").rglob("*") if path.is_file())
        copies.append(copy.tell())

    left, copies = list[Path](), list[int]()
    (tmp_path / "spilled").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "spilled"))
    monkeypatch.setattr(shutil, "copyfileobj", copied)
    path = write(tmp_path / "rows.csv", rows_of(5), FORMATS[1], 5)
    assert sum(totals(path, FORMATS[1])[0]) > 20
    assert (left, copies) == ([], [len(path.read_bytes().decode("latin-1").encode())])
    assert not list((tmp_path / "spilled").iterdir())


def test_another_form_is_another_request() -> None:
    """A key would otherwise return the answer about numbers that were read in another way."""
    for text in ("count", "mean(PAY) by PLACE", "median(PAY)"):
        plain, other = (gd.query(DOMAIN.with_text_format(**facts), text).digest() for facts in ({}, {"decimal": ","}))
        assert plain == gd.query(DOMAIN, text).digest() != other
