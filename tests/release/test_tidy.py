"""Answers as columns and as wide tables: what stands where, what adds up, and what people read."""

import dataclasses
import json
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import gaugedp as gd
from gaugedp.queries.outline import Outline

SEX = gd.categories(["1", "2"])
AGE = gd.bins(0, 60, width=20)
CAPTIONS = gd.Captions(
    title="People",
    columns={"SEX": gd.Caption("sex", labels={"1": "men", "2": "women"}), "PAY": gd.Caption("pay", "euro")},
)
DOMAIN = gd.Domain.of(SEX=SEX, AGE=AGE, PAY=gd.bounded(0, 100)).with_captions(CAPTIONS)
ROWS = {
    "SEX": ["1", "2", "2", "1", "2", "2"] * 20,
    "AGE": [5, 25, 45, 25, 5, 25] * 20,
    "PAY": [10, 20, 30, 40, 50, 60] * 20,
}
COUNTS = np.array([[20, 20, 0], [20, 40, 20]])


def released(text: str, source: object = None, domain: gd.Domain = DOMAIN) -> gd.Release:
    frame = pd.DataFrame(ROWS) if source is None else source
    table = gd.Table.scan(frame, domain=domain, unit=gd.PrivacyUnit())
    ledger = gd.Ledger.open(":memory:", budget=gd.PureDP(1e9))
    return gd.release(gd.query(domain, text), table, ledger=ledger, epsilon=1e6)


def test_each_attribute_has_a_column_and_none_where_a_term_has_it_not() -> None:
    frame = released("count; SEX; SEX*AGE; mean(PAY) by SEX").to_frame()
    assert list(frame.columns) == [
        "SEX", "AGE", "query", "estimate", "lower", "upper", "lower_all", "upper_all", "cell",
    ]  # fmt: skip
    results = [
        tuple(None if pd.isna(value) else value for value in row) for row in frame[["SEX", "AGE", "query"]].values
    ]
    assert results[:4] == [(None, None, "count"), ("1", None, "SEX"), ("2", None, "SEX"), ("1", "[0,20)", "SEX*AGE")]
    assert results[-1] == ("2", None, "mean(PAY) by SEX")
    assert (frame["lower_all"] <= frame["lower"]).all()
    assert (frame["upper_all"] >= frame["upper"]).all()


def test_runs_of_cells_and_shares_of_rows_are_columns() -> None:
    answer = released("ranges(AGE) by SEX; prefix(AGE); quantiles(PAY, 0.1, 0.5) by SEX")
    columns = answer.columns()
    assert columns["AGE"][:4] == ["[0,20)..[0,20)"] * 2 + ["[0,20)..[20,40)"] * 2
    assert "..[40,60]" in columns["AGE"]
    assert columns["quantile"][-4:] == ["0.1", "0.5", "0.1", "0.5"]
    assert [term.measure for term in answer.terms] == ["count", "count", "quantile"]
    assert answer.terms[-1].axes[-1].form == "shares"


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        (pd.DataFrame(ROWS), pd.DataFrame),
        (pl.DataFrame(ROWS), pl.DataFrame),
        (pl.LazyFrame(ROWS), pl.DataFrame),
        (pa.table(ROWS), pa.Table),
    ],
)
def test_a_frame_is_of_the_kind_that_the_rows_came_in(source: object, kind: type) -> None:
    answer = released("SEX*AGE", source)
    assert isinstance(answer.to_frame(), kind)
    assert isinstance(gd.Release.from_json(answer.to_json()).table("SEX*AGE"), kind)


def test_an_attribute_that_is_called_like_a_column_of_ours_has_a_name_of_its_own() -> None:
    domain = gd.Domain.of(estimate=["a", "b"])
    columns = released("estimate", pd.DataFrame({"estimate": ["a", "b", "b"]}), domain).columns()
    assert (columns["estimate (attribute)"], columns["estimate"]) == (["a", "b"], [1, 2])


def test_a_wide_table_has_released_margins_or_sums() -> None:
    table = released("count; SEX; AGE; SEX*AGE").table("SEX*AGE", labels=False)
    assert list(table.columns) == ["SEX", "[0,20)", "[20,40)", "[40,60]", "total"]
    assert table.iloc[:2, 1:4].to_numpy().tolist() == COUNTS.tolist()
    assert table["total"].tolist() == [40, 80, 120]
    alone = released("SEX*AGE")
    assert alone.table("AGE*SEX", labels=False)["total"].tolist() == [40, 60, 20, 120]
    assert list(alone.table("SEX*AGE", "lower").columns) == ["sex", "[0,20)", "[20,40)", "[40,60]"]


def test_a_margin_that_was_released_is_shown_though_it_does_not_add_up() -> None:
    answer = released("SEX; SEX*AGE")
    numbers = answer.numbers.copy()
    numbers[0] += 7
    table = dataclasses.replace(answer, numbers=numbers).table("SEX*AGE")
    assert table["total"].tolist() == [47, 80, 120]
    assert table.iloc[:2, 1:4].to_numpy().sum() == 120


def test_means_have_no_margin_that_was_not_asked() -> None:
    answer = released("mean(PAY) by SEX*AGE")
    assert list(answer.table("SEX*AGE").columns) == ["sex", "[0,20)", "[20,40)", "[40,60]"]
    with_margin = released("mean(PAY) by SEX*AGE; mean(PAY) by SEX").table("mean(PAY) by SEX*AGE")
    assert with_margin["total"].tolist() == pytest.approx([25, 40], rel=1e-3)


def test_labels_stand_in_place_of_codes() -> None:
    answer = released("SEX; SEX*AGE")
    assert answer.to_frame(labels=True)["SEX"].tolist()[:2] == ["men", "women"]
    assert answer.table("AGE*SEX").columns.tolist() == ["AGE", "men", "women", "total"]
    assert answer.captions.unit("PAY") == ""
    assert answer.captions.title == "People"
    assert released("sum(PAY)").captions.unit("PAY") == "euro"


def test_captions_change_no_question() -> None:
    plain = gd.Domain.of(**{**DOMAIN.attributes, **DOMAIN.columns})
    first, other = (gd.query(domain, "SEX*AGE; mean(PAY) by SEX") for domain in (DOMAIN, plain))
    assert first.digest() == other.digest()
    assert plain == DOMAIN


def test_a_release_of_before_there_were_outlines_is_read() -> None:
    facts = json.loads(released("SEX; SEX*AGE").to_json())
    old = {name: fact for name, fact in facts.items() if name not in ("terms", "captions", "frame")}
    answer = gd.Release.from_json(json.dumps(old))
    assert answer.columns()["cell (attribute)"][0] == "SEX=1"
    assert [term.measure for term in answer.terms] == ["count", "count"]


@pytest.mark.parametrize(
    "change", [lambda terms: terms[:1], lambda terms: [{**terms[0], "axes": []}, *terms[1:]], lambda _: 7]
)
def test_outlines_of_other_answers_are_refused(change) -> None:
    facts = json.loads(released("SEX; SEX*AGE").to_json())
    facts["terms"] = change(facts["terms"])
    with pytest.raises(gd.InvalidRequest, match="not a release"):
        gd.Release.from_json(json.dumps(facts))


def test_a_table_that_was_not_asked_is_refused_with_those_that_were() -> None:
    answer = released("SEX; SEX*AGE; prefix(AGE)")
    with pytest.raises(gd.InvalidRequest, match=r"Choose one of: SEX; SEX\*AGE\."):
        answer.table("AGE")
    with pytest.raises(gd.InvalidRequest, match="no column 'width'"):
        answer.table("SEX", "width")


def test_an_outline_is_read_back() -> None:
    for outline in gd.query(DOMAIN, "count; ranges(AGE) by SEX; mean(PAY) by SEX; AGE").outlines:
        again = Outline.of(json.loads(json.dumps(outline.to_dict())))
        assert (again.text, again.names, again.shape, again.measure) == (
            outline.text,
            outline.names,
            outline.shape,
            outline.measure,
        )
        assert [list(axis.texts) for axis in again.axes] == [list(axis.texts) for axis in outline.axes]
    assert again.axes[0].borders == (0, 20, 40, 60)


def test_a_sheet_holds_the_columns_and_no_formula(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed: the extra gaugedp[excel]")
    domain = gd.Domain.of(A=["=1+1", "b"])
    answer = released("A", pd.DataFrame({"A": ["=1+1", "b", "b"]}), domain)
    answer.save_excel(tmp_path / "answers.xlsx")
    with ZipFile(tmp_path / "answers.xlsx") as book:  # the same answers make the same file
        assert {part.date_time[0] for part in book.infolist()} == {1980}
        assert b"dcterms:" not in book.read("docProps/core.xml").split(b">", 1)[1].replace(b'xmlns:dcterms="', b"")
    sheet = openpyxl.load_workbook(tmp_path / "answers.xlsx")["answers"]
    head, first, second = sheet.iter_rows()
    assert [cell.value for cell in head] == list(answer.columns())
    assert (first[0].value, first[0].data_type) == ("=1+1", "s")
    assert second[2].value == 2


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('SEX = { values = ["1"], labels = { "3" = "x" } }', "3"),
        ('SEX = { values = ["1"], labels = "x" }', "`labels` in attribute SEX"),
        ('SEX = { values = ["1"], phrase = 3 }', "phrase` in attribute SEX"),
        ('SEX = { values = ["1"], phrase = { "2" = "x" } }', "cell of attribute SEX"),
        ('SEX = { values = ["1"], label = 3 }', "abel in attribute SEX"),
        ('SEX = { values = ["1"], lables = {} }', "lables"),
        ('M = { date = "month", from = "2017-13", to = "2018-01" }', "not a month"),
    ],
)
def test_a_domain_file_with_wrong_words_is_refused(tmp_path: Path, line: str, says: str) -> None:
    path = tmp_path / "domain.toml"
    path.write_text(f"[attributes]\n{line}\n", encoding="utf-8")
    with pytest.raises(gd.GaugedpError, match=says):
        gd.Domain.load(path)


def test_a_domain_file_with_words_for_people_is_read(tmp_path: Path) -> None:
    path = tmp_path / "domain.toml"
    path.write_text(
        """title = "T"\nsource = "S"\n[attributes]
SEX = { values = ["1", "2"], labels = { "1" = "men" }, label = "sex" }
M = { date = "month", from = "2017-01", to = "2017-12" }\nAGE = { low = 0, high = 60, width = 20, unit = "years" }
[columns]\nPAY = { low = 0, high = 9, unit = "euro" }\n""",
        encoding="utf-8",
    )
    domain = gd.Domain.load(path)
    assert domain.attributes["M"] == gd.dates("2017-01", "2017-12", by="month")
    words = domain.captions
    assert (words.title, words.source, words.name("SEX"), words.cell("SEX", "1"), words.cell("SEX", "2")) == (
        "T",
        "S",
        "sex",
        "men",
        "2",
    )
    assert (words.unit("AGE"), words.unit("PAY")) == ("years", "euro")
