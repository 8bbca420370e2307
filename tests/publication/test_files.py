"""What an office prints: labels, flags, sheets, metadata, corrections. And what is refused before it costs."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.cli.main import run
from gaugedp.errors import GaugedpError
from gaugedp.releases.publication.publication import Publication
from gaugedp.releases.tidy.flags import Flag
from tests.publication.kit import DOMAIN, contents, published, written

pytest.importorskip("matplotlib", reason="matplotlib is not installed: the extra gaugedp[report]")

CROSSED = """
[[tables]]
title = "By sex and age"
query = "SEX*AGE; SEX; AGE; count"

[[tables]]
title = "Pay"
query = "median(PAY); mean(PAY) by SEX"
"""
MARKED = "{{ when = 'half-width > {}', mark = 'u', text = '{}' }}"
FLAGGED = """epsilon = 2.0
consistent = true
non_negative = true
round = 5
date = 2026-11-29
contact = "info@office.example"
licence = "CC BY 4.0"
next_release = "2027-11-29"
importance = { "SEX" = 10 }
flags = [
  { when = "relative half-width > 0.02", mark = "u", text = "use with caution" },
  { when = "estimate < 11", mark = ":", text = "too small", suppress = true },
]
"""


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def out(desk: Path) -> Path:
    written(desk, CROSSED, FLAGGED)
    path = desk / "publication.toml"
    path.write_text(path.read_text("utf-8").replace('"parquet"', '"parquet", "xlsx"'), "utf-8")
    assert published(desk) == 0
    return desk / "out"


def test_tables_have_labels_flags_and_add_up_to_multiples_of_five(out: Path) -> None:
    lines = rows(out / "tables" / "01-by-sex-and-age.csv")
    assert list(lines[0])[:4] == ["SEX", "SEX label", "AGE", "query"]
    assert {line["SEX label"] for line in lines} == {"men", "women", ""}
    shown = {(line["query"], line["cell"]): line for line in lines}
    numbers = {key: float(line["estimate"]) for key, line in shown.items() if line["estimate"]}
    assert all(number % 5 == 0 for number in numbers.values())
    hidden = [line for line in lines if line["flag"] == ":"]
    assert hidden, "men of 20 to 40: no row"
    assert all(line["estimate"] == line["lower"] == line["raw"] == "" for line in hidden)
    assert numbers["SEX", "SEX=1"] + numbers["SEX", "SEX=2"] == numbers["count", "all"]


def test_the_page_shows_marks_dates_and_no_suppressed_number(out: Path) -> None:
    for name in ("index.html", "press.html"):
        page = (out / name).read_text("utf-8")
        assert "Released: 2026-11-29 · Next release: 2027-11-29 · Contact: info@office.example" in page
        assert "nan" not in page.lower().replace("nanum", "")
        assert "The mark “u” means “use with caution”." in page
        assert re.search(r"\d<sup>u</sup> \(", page), "in a sentence"
    page = (out / "index.html").read_text("utf-8")
    assert "use with caution" in page
    assert "Suppressed numbers are not included in this comparison." in page
    assert "<sup>u</sup>" in page


def test_workbooks_have_a_sheet_for_each_table(out: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed: the extra gaugedp[excel]")
    book = openpyxl.load_workbook(out / "tables" / "01-by-sex-and-age.xlsx")
    assert book.sheetnames == ["By sex and age", "answers", "notes"]
    sheet = book["By sex and age"]
    lines = list(sheet.iter_rows(values_only=True))
    assert sheet.freeze_panes == "A4"
    assert lines[0][0] == "By sex and age"
    assert lines[1][0] == "Number of rows: SEX, by AGE"
    assert lines[2] == ("SEX", "0 to under 20", "20 to under 40", "40 to 60", "total")
    assert (sheet.page_setup.fitToWidth, sheet.print_title_rows) == (1, "$1:$3")
    assert [line[0] for line in lines[3:]][:3] == ["men", "women", "total"]
    assert lines[-1][0] == "The mark “:” in place of a number means “too small”."
    total = sum(line[-1] for line in lines[3:5])
    assert lines[5][-1] == total
    assert lines[3][2] == ":", "a suppressed number is its mark"
    assert sheet.column_dimensions["A"].width > 3
    notes = {line[0]: line[1] for line in book["notes"].iter_rows(values_only=True)}
    assert {"Title", "Date", "Contact", "Licence", "Privacy guarantee", "Method", "Mark", "Ledger entry"} <= set(notes)
    assert notes["Privacy guarantee"].endswith("ε = 2")


def test_json_stat_describes_its_numbers(out: Path) -> None:
    facts = json.loads((out / "tables" / "01-by-sex-and-age.json-stat.json").read_text("utf-8"))
    assert (facts["version"], facts["class"]) == ("2.0", "collection")
    for dataset in facts["link"]["item"]:
        assert np.prod(dataset["size"]) == len(dataset["value"])
        for name, size in zip(dataset["id"], dataset["size"], strict=True):
            category = dataset["dimension"][name]["category"]
            assert len(category["index"]) == len(category["label"]) == size
        assert set(map(int, dataset.get("status", {}))) <= set(range(len(dataset["value"])))
    cells = facts["link"]["item"][0]
    assert cells["dimension"]["SEX"]["category"]["label"] == {"1": "men", "2": "women"}
    assert None in cells["value"]


def test_sdmx_and_csvw_name_all_columns(out: Path) -> None:
    lines = rows(out / "tables" / "01-by-sex-and-age.sdmx.csv")
    keys = [(line["MEASURE"], line["SEX"], line["AGE"]) for line in lines]
    assert len(set(keys)) == len(keys) == 6 + 2 + 3 + 1, "each observation has a key of its own"
    assert keys[-1] == ("count", "_T", "_T")
    tables = json.loads((out / "metadata.csvw.json").read_text("utf-8"))["tables"]
    assert [table["url"] for table in tables] == ["tables/01-by-sex-and-age.csv", "tables/02-pay.csv"]
    for table in tables:
        heads = list(rows(out / table["url"])[0])
        assert [column["titles"] for column in table["tableSchema"]["columns"]] == heads
        names = [column["name"] for column in table["tableSchema"]["columns"]]
        assert len(set(names)) == len(names)
    catalogue = json.loads((out / "catalogue.dcat.json").read_text("utf-8"))
    assert catalogue["dct:license"] == "CC BY 4.0"
    email = {"@id": "mailto:info@office.example"}
    assert catalogue["dcat:contactPoint"] == {
        "@type": "vcard:Kind",
        "vcard:fn": email["@id"][7:],
        "vcard:hasEmail": email,
    }
    links = [part["dcat:downloadURL"] for part in catalogue["dcat:distribution"]]
    assert {"@id": "tables/01-by-sex-and-age.csv"} in links
    assert all(list(link) == ["@id"] for link in links)
    assert check(out) == []


def test_codes_are_codes_in_sheets_too_and_names_of_sheets_end_with_a_word(desk: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed: the extra gaugedp[excel]")
    title = "Persons by sex and also by their age in years"
    path = written(desk, CROSSED.replace("By sex and age", title), 'epsilon = 2.0\nlabels = "codes"')
    path.write_text(path.read_text("utf-8").replace('"parquet"', '"xlsx"'), "utf-8")
    address = "https://creativecommons.org/licenses/by/4.0/"
    path.write_text(f'licence = "{address}"\n{path.read_text("utf-8")}', "utf-8")
    assert published(desk) == 0
    (file,) = (desk / "out" / "tables").glob("01-*.xlsx")
    sheet = openpyxl.load_workbook(file).worksheets[0]
    heads, *lines = sheet.iter_rows(min_row=3, values_only=True)
    assert heads == ("SEX", "[0,20)", "[20,40)", "[40,60]", "total")
    assert [line[0] for line in lines[:3]] == ["1", "2", "total"]
    assert sheet.title == "Persons by sex and also by"
    assert json.loads((desk / "out" / "catalogue.dcat.json").read_text("utf-8"))["dct:license"] == {"@id": address}


def check(folder: Path) -> list[str]:
    from gaugedp.releases.publication.folder import check_folder

    return check_folder(folder)


def corrected(desk: Path, *more: str, key: str = "p2", ledger: str = "l") -> int:
    path = desk / "publication.toml"
    path.write_text(path.read_text("utf-8").replace('key = "p1"', f'key = "{key}"'), "utf-8")
    where = ["--ledger", str(desk / ledger), "--out", str(desk / "new")]
    return run(["publish", str(path), *where, *more])


def test_a_correction_names_what_it_replaces_and_both_charges(desk: Path) -> None:
    written(desk, head="epsilon = 1.0")
    assert published(desk) == 0
    written(desk, CROSSED, "epsilon = 1.0")
    assert corrected(desk, "--supersedes", str(desk / "out"), "--reason", "Ages were wrong.") == 0
    page = (desk / "new" / "erratum.html").read_text("utf-8")
    for text in ("Ages were wrong.", "removed", "By sex and age", "ε = 1", "cannot be taken back"):
        assert text in page
    assert "This publication corrects “" in (desk / "new" / "index.html").read_text("utf-8")
    facts = json.loads((desk / "new" / "manifest.json").read_text("utf-8"))["supersedes"]
    assert facts["ledger"]["key"] == "p1"
    assert {line["change"] for line in facts["tables"]} == {"removed", "new", "released again, with new noise"}
    assert check(desk / "new") == []
    before = contents(desk / "new")
    assert corrected(desk, "--supersedes", str(desk / "out"), "--reason", "Ages were wrong.") == 0
    assert contents(desk / "new") == before


@pytest.mark.parametrize("wrong", ["reason", "key", "changed", "other ledger", "no folder"])
def test_a_wrong_correction_costs_nothing(desk: Path, wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    written(desk, head="epsilon = 1.0")
    assert published(desk) == 0
    spent = gd.Ledger.open(desk / "l").spent
    more = [] if wrong == "reason" else ["--reason", "x"]
    if wrong == "changed":
        (desk / "out" / "index.html").write_text("", "utf-8")
    folder = desk / ("nowhere" if wrong == "no folder" else "out")
    name = "l2" if wrong == "other ledger" else "l"
    extra = ["--budget", "5"] if wrong == "other ledger" else []
    key = "p1" if wrong == "key" else "p2"
    assert corrected(desk, "--supersedes", str(folder), *more, *extra, key=key, ledger=name) == 2
    assert "Nothing was read" in capsys.readouterr().err
    assert gd.Ledger.open(desk / "l").spent == spent
    assert not (desk / "l2").exists()
    assert not (desk / "new").exists()


@pytest.mark.parametrize(
    ("head", "says"),
    [
        ("consistent = 'yes'", "true or false"),
        ("round = -5", "`round` is -5"),
        ("round = 2.5", "`round` is 2.5"),
        ("labels = 'words'", "codes, labels, both"),
        ("flags = { when = 'x' }", "Write rules with when, mark and text"),
        ("flags = [{ when = 'half > 3', mark = 'u' }]", "`when` is 'half > 3'"),
        ("flags = [{ when = 'relative half-width >', mark = 'u' }]", "relative half-width > 0.2"),
        ("flags = [{ when = 'half-width > 3' }]", "`mark` ('')"),
        ("flags = [{ when = 'half-width > 3', mark = '  ' }]", "not all spaces"),
        ("flags = [{ when = 'half-width > 3', mark = 'u', supress = true }]", "suppress"),
        ("importance = { SX = 3 }", "SX"),
        ("importance = { SEX = -1 }", "above 0"),
        ("importance = 'SEX'", "above 0"),
        ("date = 2026", "`date` is '2026', which is not a date"),
        ("date = '29.11.2026'", "`date` is '29.11.2026', which is not a date"),
        ("date = '2026-02-31'", "`date` is '2026-02-31', which is not a date"),
        ("date = 2026-11-29T10:00:00", "which is not a date"),
        ("next_release = '2026-13'", "`next_release` is '2026-13', which is not a date"),
        ("date = 2026-11-29\nnext_release = '2026-10'", "`next_release` is 2026-10, which is before `date`"),
        (f"flags = [{MARKED.format(2, 'low')}, {MARKED.format(3, 'high')}]", "The mark 'u' of flags has two meanings"),
        ("title", "The publication file '"),
    ],
)
def test_wrong_keys_are_refused_before_anything_is_read(
    desk: Path,
    head: str,
    says: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    written(desk, head=f"epsilon = 1.0\n{head}")
    assert published(desk) == 2
    err = capsys.readouterr().err
    assert says in err
    assert "Nothing was read" in err
    assert not (desk / "l").exists()


def test_importance_as_text_or_table_is_the_same(desk: Path) -> None:
    plans = [
        Publication.load(written(desk, CROSSED, f"epsilon = 1.0\nimportance = {given}")).plan()
        for given in ("'SEX=4000; AGE=2'", "{ SEX = 4000, AGE = 2 }")
    ]
    terms = [{term["query"]: term["interval_95"] for term in plan.terms()} for plan in plans]
    assert terms[0] == terms[1]
    plain = Publication.load(written(desk, CROSSED, "epsilon = 1.0")).plan().terms()
    assert terms[0] != {term["query"]: term["interval_95"] for term in plain}


@pytest.mark.parametrize(
    ("when", "marks"),
    [
        ("relative half-width > 0.2", [False, True, True]),
        ("half-width > 3", [False, True, False]),
        ("half-width < 3", [True, False, False]),
        ("estimate < 10", [False, False, True]),
    ],
)
def test_rules_compare_released_numbers(when: str, marks: list[bool]) -> None:
    estimate, half = np.array([100.0, 20.0, 0.0]), np.array([2.0, 5.0, 3.0])
    assert Flag(when, "u").applies(estimate, estimate - half, estimate + half).tolist() == marks


def test_a_table_has_flags_of_its_own(desk: Path) -> None:
    own = 'flags = [{ when = "half-width > 0", mark = "p", text = "about pay" }]\n'
    written(desk, CROSSED + own, FLAGGED)
    assert published(desk) == 0
    answer = gd.Release.from_json((desk / "out" / "release.json").read_text("utf-8"))
    marks = dict(zip(answer.labels.questions(), answer.marks()[0], strict=True))
    assert [marks[text] for text in ("median(PAY)", "mean(PAY) by SEX")] == ["p", "p"]
    assert "p" not in {marks[text] for text in ("SEX*AGE", "SEX", "AGE", "count")}
    notes = [
        (desk / "out" / "tables" / f"{name}.json-stat.json").read_text("utf-8")
        for name in ("01-by-sex-and-age", "02-pay")
    ]
    assert [["about pay" in text, "too small" in text] for text in notes] == [[False, True], [True, False]]


def test_a_mark_of_a_margin_is_explained_below_the_table(desk: Path) -> None:
    """The margin is a term of another table, which has the rule."""
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed: the extra gaugedp[excel]")
    own = 'flags = [{ when = "half-width > 0", mark = "m", text = "about margins" }]\n'
    tables = '[[tables]]\ntitle = "A"\nquery = "SEX*AGE"\nflags = []\n[[tables]]\ntitle = "B"\nquery = "SEX"\n'
    whole = DOMAIN.replace('"2"], l', '"2"], outside = "other", l').replace(
        "width = 20", 'width = 20, outside = "other"'
    )
    (desk / "domain.toml").write_text(whole, "utf-8")
    path = written(desk, tables + own, "epsilon = 2.0\nconsistent = true")
    path.write_text(path.read_text("utf-8").replace('"parquet"', '"xlsx"'), "utf-8")
    assert published(desk) == 0
    sheet = openpyxl.load_workbook(desk / "out" / "tables" / "01-a.xlsx").worksheets[0]
    marked = [cell.number_format for line in sheet.iter_rows() for cell in line if " m" in cell.number_format]
    assert len(marked) == 3, "the totals of men, women and others"
    assert "The mark “m” means “about margins”." in [line[0] for line in sheet.iter_rows(values_only=True)]


@pytest.mark.parametrize("query", ["SEX", "mean(PAY) by SEX"])
def test_a_map_has_no_place_for_a_suppressed_number(desk: Path, query: str) -> None:
    areas = [(cell, [[[x, 0], [x + 1, 0], [x + 1, 1], [x, 1], [x, 0]]]) for cell, x in (("1", 0), ("2", 1), ("3", 2))]
    features = [
        {"type": "Feature", "id": cell, "geometry": {"type": "Polygon", "coordinates": rings}} for cell, rings in areas
    ]
    (desk / "areas.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}), "utf-8")
    (desk / "domain.toml").write_text(
        DOMAIN.replace('["1", "2"],', '["1", "2", "3"], geography = "areas.geojson",'), "utf-8"
    )
    for least in (50, 1000):  # one is suppressed, and all are
        rule = f'flags = [{{ when = "estimate < {least}", mark = "n", suppress = true }}]'
        written(desk, f'[[tables]]\ntitle = "M"\nquery = "{query}"\n{rule}')
        assert published(desk, f"out{least}") == 0
        page = (desk / f"out{least}" / "index.html").read_text("utf-8")
        assert ('class="map"' in page) == (least == 50)
        assert "nan" not in page.lower()
        (desk / "l").unlink()


def test_flags_do_not_change_what_is_charged_or_stored(desk: Path, out: Path) -> None:
    answer = gd.Release.from_json((out / "release.json").read_text("utf-8"))
    assert answer.processing == ("consistent", "non_negative", "rounded to 5")
    with pytest.raises(GaugedpError):
        Flag.of({"when": "estimate < 1", "mark": ""})
    plain = Publication.load(written(desk, CROSSED, "epsilon = 2.0")).plan()
    assert plain.mechanism.guarantee == answer.guarantee


GERMAN = FLAGGED.replace('text = "use with caution"', 'text = "mit Vorsicht"').replace(
    'text = "too small"', 'text = "zu klein"'
)


def test_a_publication_is_written_in_its_language(desk: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed: the extra gaugedp[excel]")
    written(desk, CROSSED, f'{GERMAN}language = "de"')
    path = desk / "publication.toml"
    path.write_text(path.read_text("utf-8").replace('"parquet"', '"xlsx"'), "utf-8")
    assert published(desk) == 0
    for name, words in (("index.html", "Ergebnisse"), ("press.html", "Für die Presse")):
        page = (desk / "out" / name).read_text("utf-8")
        assert words in page
        assert "Veröffentlicht: 29. November 2026 · Nächste Veröffentlichung: 29. November 2027" in page
    assert "By sex and age: Summen nach AGE" in page
    assert "Das Zeichen „:“ anstelle einer Zahl bedeutet „zu klein“." in (desk / "out" / "index.html").read_text(
        "utf-8"
    )
    book = openpyxl.load_workbook(desk / "out" / "tables" / "01-by-sex-and-age.xlsx")
    assert book.sheetnames == ["By sex and age", "Ergebnisse", "Hinweise"]
    assert next(book.worksheets[0].iter_rows(min_row=3, values_only=True))[-1] == "Insgesamt"
    english = desk / "english"
    assert run(["publish", str(path), "--ledger", str(desk / "l"), "--out", str(english), "--language", "en"]) == 0
    assert "For the press" in (english / "press.html").read_text("utf-8")
    for name in ("tables/01-by-sex-and-age.csv", "tables/02-pay.sdmx.csv"):
        assert (english / name).read_bytes() == (desk / "out" / name).read_bytes()


@pytest.mark.parametrize("where", ["publication", "publish", "release"])
def test_an_unknown_language_costs_nothing(desk: Path, where: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(desk, head='epsilon = 1.0\nlanguage = "xx"' if where == "publication" else "epsilon = 1.0")
    paid = ["--ledger", str(desk / "l"), "--budget", "3", "--out", str(desk / "out.csv")]
    asked = ["publish", str(path), *paid]
    if where == "release":
        table = [str(desk / "people.csv"), "--domain", str(desk / "domain.toml")]
        asked = ["release", *table, "--query", "SEX", "--epsilon", "1", *paid]
    assert run([*asked, *([] if where == "publication" else ["--language", "xx"])]) == 2
    err = capsys.readouterr().err
    assert "`language` is 'xx', which is not available. Choose one of en, de, fr, es, sl." in err
    assert "Nothing was read" in err
    assert not (desk / "l").exists()


OWN_STEPS = """
[[tables]]
title = "By sex and age"
query = "SEX*AGE; count"
round = 10

[[tables]]
title = "By age"
query = "AGE"
consistent = false
non_negative = false
round = false

[[tables]]
title = "By sex"
query = "SEX"
"""


def test_tables_have_steps_of_their_own(desk: Path) -> None:
    written(desk, OWN_STEPS, "epsilon = 2.0\nconsistent = true\nnon_negative = true\nround = 5")
    assert published(desk) == 0
    cells, by_age, by_sex = (
        [float(line["estimate"]) for line in rows(desk / "out" / "tables" / f"{name}.csv")]
        for name in ("01-by-sex-and-age", "02-by-age", "03-by-sex")
    )
    assert all(number % 10 == 0 for number in cells)
    assert sum(cells[:-1]) == cells[-1]
    assert all(number % 5 == 0 for number in by_sex)
    answer = gd.Release.from_json((desk / "out" / "release.json").read_text("utf-8"))
    raw = dict(zip(answer.labels, answer.raw, strict=True))
    assert by_age == [raw[label] for label in answer.labels if label[0] == "AGE"], "as released"
    page = (desk / "out" / "index.html").read_text("utf-8")
    for text in ("in table 1, ", "multiples of 10", "in table 3, ", "multiples of 5"):
        assert text in page
    assert "in table 2" not in page


def test_steps_for_all_tables_are_those_of_each(desk: Path) -> None:
    whole = Publication.load(written(desk, CROSSED, "epsilon = 1.0\nround = 5"))
    each = Publication.load(written(desk, CROSSED.replace("query =", "round = 5\nquery ="), "epsilon = 1.0"))
    assert [table.processing for table in whole.tables] == [table.processing for table in each.tables]
    assert whole.plan().query.digest() == each.plan().query.digest(), "steps cost nothing"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("round = -1", "`round` of table 1 is -1"),
        ("consistent = 1", "`consistent` of table 1 is 1"),
        ("rond = 5", "rond"),
    ],
)
def test_wrong_steps_of_a_table_are_refused(desk: Path, line: str, says: str, capsys) -> None:
    written(desk, f"[[tables]]\nquery = 'SEX'\n{line}", "epsilon = 1.0")
    assert published(desk) == 2
    assert says in capsys.readouterr().err
    assert not (desk / "l").exists()
