"""`gaugedp predict`: the lines of a file in their order, each with what the model says of it; nothing is spent."""

import csv
import gzip
import io
import json
import shutil
from pathlib import Path

import pytest

import gaugedp as gd
from gaugedp.errors import UNTOUCHED, InvalidRequest
from tests.cli.kit import Desk, check_sentence

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from gaugedp.estimators.table_rows import TableDesign

ACS = Path(__file__).resolve().parents[2] / "examples" / "acs"
DOMAIN = """
[attributes]
SEX = { values = ["1", "2"], outside = "other" }
KIND = { values = ["a", "b", "c"], outside = "drop" }
AGE = { low = 0, high = 100, width = 50, outside = "other" }
[columns]
PAY = { low = 0, high = 1000, step = 1, missing = "drop", unknown = [777] }
WORTH = { low = -10, high = 30, step = 0.5, missing = 4 }
"""
LINES = [
    ["1", "a", "49.5", "100", "1.5", 'said "x", y'],
    ["2", "b", "50", "5000", "", ""],
    ["9", "c", "", "777.0", "-99", "last"],
    ["1", "z", "3", "1", "1", "no cell"],
    ["2", "a", "100", " 20 ", "29.7", "é"],
]
NUMBERS = [(100, 1.5), (1000, 4), (500, -10), None, (20, 29.5)]  # as the domain reads them; None where no cell
CELLS = [("1", "a", "[0,50)"), ("2", "b", "[50,100]"), ("other", "c", "other"), None, ("2", "a", "[50,100]")]


@pytest.fixture
def table(desk: Desk) -> Desk:
    (desk.folder / "facts.toml").write_text(DOMAIN, "utf-8")
    with (desk.folder / "lines.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["SEX", "KIND", "AGE", "PAY", "WORTH", "NOTE"], *LINES])
    return desk


def model(desk: Desk, kind: str, target: str, features: str) -> dict:
    """Fit, put numbers that can be told apart into the place of what was fitted, and write the model."""
    words = ("--epsilon", "1", "--ledger", "new.ledger", "--budget", "9", "--out", "model.json")
    requested = ("--domain", "facts.toml", "--model", kind, "--target", target, "--features", features)
    assert desk.gaugedp("fit", "lines.csv", *requested, *words).code == 0
    actual = json.loads((desk.folder / "model.json").read_text("utf-8"))
    for i, name in enumerate(actual["coefficients"]):
        number = round((-1) ** i * (1 + i / 7), 3)
        classes = actual["classes"] if isinstance(actual["intercept"], dict) else None
        actual["coefficients"][name] = (
            {label: number * (2 - j) for j, label in enumerate(classes)} if classes else number
        )
    (desk.folder / "model.json").write_text(json.dumps(actual), "utf-8")
    return actual


def predict(desk: Desk, table: str = "lines.csv", *words: str, domain: str = "facts.toml"):
    return desk.gaugedp("predict", table, "--model", "model.json", "--domain", domain, *words)


def predicted(desk: Desk, table: str = "lines.csv", *words: str) -> list[list[str]]:
    done = predict(desk, table, *words)
    assert done.code == 0, done.err
    return list(csv.reader(io.StringIO(done.out)))


def test_numbers_are_added_up_line_by_line(table: Desk) -> None:
    actual = model(table, "linear", "PAY", "SEX, KIND, AGE, WORTH")
    header, *rows = predicted(table)
    assert header == ["SEX", "KIND", "AGE", "PAY", "WORTH", "NOTE", "predicted_PAY"]
    assert [row[:-1] for row in rows] == LINES, "every line as it stands, in the order of the file"
    weights = actual["coefficients"]
    for row, cells, numbers in zip(rows, CELLS, NUMBERS, strict=True):
        if cells is None or numbers is None:
            assert row[-1] == ""
            continue
        of_cells = sum(weights[f"{name}={cell}"] for name, cell in zip(("SEX", "KIND", "AGE"), cells, strict=True))
        total = actual["intercept"] + of_cells + weights["WORTH"] * numbers[1]
        assert float(row[-1]) == pytest.approx(min(max(total, 0), 1000), abs=1e-9)


def test_a_missing_number_without_one_of_its_own_is_the_middle(table: Desk) -> None:
    actual = model(table, "svc", "SEX", "PAY")
    actual["coefficients"]["PAY"], actual["intercept"] = {"1": 1.0, "2": 0.0, "other": 0.0}, {
        "1": 0.0, "2": 499.5, "other": 0.0,
    }  # fmt: skip
    (table.folder / "model.json").write_text(json.dumps(actual), "utf-8")
    assert [row[-1] for row in predicted(table)[1:]] == ["2", "1", "1", "2", "2"], "1000 and the middle, 500, are above"


@pytest.mark.parametrize("kind", ["logistic", "svc"])
def test_the_largest_sum_of_several_classes_is_predicted(table: Desk, kind: str) -> None:
    actual = model(table, kind, "KIND", "SEX, WORTH")
    weights, start = actual["coefficients"], actual["intercept"]
    for row, cells, numbers in zip(predicted(table)[1:], CELLS, NUMBERS, strict=True):
        if cells is None or numbers is None:
            continue
        sums = {
            label: start[label] + weights[f"SEX={cells[0]}"][label] + weights["WORTH"][label] * numbers[1]
            for label in "abc"
        }
        assert row[-1] == max(sums, key=sums.__getitem__)
    assert predicted(table)[4][-1] in "abc", "the target's own cell is not asked for"


@pytest.mark.parametrize("kind", ["logistic", "svc"])
@pytest.mark.parametrize("target", ["KIND", "PAIR"])
def test_scores_go_with_the_predictions(table: Desk, kind: str, target: str) -> None:
    """Of three classes and of two: the predicted one has the highest; probabilities add up to 1."""
    two = DOMAIN.replace("[columns]", 'PAIR = ["u", "v"]\n[columns]')
    (table.folder / "facts.toml").write_text(two, "utf-8")
    lines = [
        ["SEX", "KIND", "AGE", "PAY", "WORTH", "PAIR"],
        *([*line[:-1], "uv"[i % 2]] for i, line in enumerate(LINES)),
    ]
    with (table.folder / "lines.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(lines)
    actual = model(table, kind, target, "SEX, WORTH")
    header, *rows = predicted(table, "lines.csv", "--scores")
    classes = actual["classes"]
    assert header[-len(classes) - 1 :] == [f"predicted_{target}", *(f"score_{label}" for label in classes)]
    for row in rows:
        predicted_class, *scores = row[-len(classes) - 1 :]
        numbers = [float(score) for score in scores]
        assert classes[max(range(len(classes)), key=numbers.__getitem__)] == predicted_class
        if kind == "logistic":
            assert sum(numbers) == pytest.approx(1)
            assert min(numbers) >= 0
        elif len(classes) == 2:
            assert numbers[0] == -numbers[1]
    assert [row[: len(header) - len(classes) - 1] for row in rows] == lines[1:]


def test_a_line_without_a_prediction_has_no_scores(table: Desk) -> None:
    model(table, "logistic", "SEX", "KIND")
    row = predicted(table, "lines.csv", "--scores")[4]
    assert row[-4:] == ["", "", "", ""]


def test_numbers_have_no_scores(table: Desk) -> None:
    model(table, "linear", "PAY", "SEX")
    check_sentence(predict(table, "lines.csv", "--scores"), 2, "--scores")


def test_the_example_is_predicted_as_the_score_says(desk: Desk) -> None:
    for name in ("acs_ma2018.csv", "domain.toml"):
        shutil.copyfile(ACS / name, desk.folder / f"acs-{name}")
    requested = ("--target", "OWN_RENT", "--features", "HOUSING_TYPE, MSP, POVPIP", "--model", "logistic")
    paid = ("--epsilon", "4", "--delta", "1e-6", "--ledger", "acs.ledger", "--budget", "9,1e-5", "--out", "model.json")
    assert desk.gaugedp("fit", "acs-acs_ma2018.csv", "--domain", "acs-domain.toml", *requested, *paid).code == 0
    spent = desk.ledger("acs.ledger").spent
    assert predict(desk, "acs-acs_ma2018.csv", "--out", "out.csv", domain="acs-domain.toml").code == 0
    assert desk.ledger("acs.ledger").spent == spent, "nothing is paid"
    with (desk.folder / "out.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    with (desk.folder / "acs-acs_ma2018.csv").open(encoding="utf-8", newline="") as file:
        assert [list(row.values())[:-1] for row in rows] == list(csv.reader(file))[1:]
    right = sum(row["OWN_RENT"] == row["predicted_OWN_RENT"] for row in rows) / len(rows)
    assert 0.8 < right < 0.85, "without privacy 0.82; the most frequent class is right for 0.74"


def test_parquet_lines_too(table: Desk) -> None:
    duckdb = pytest.importorskip("duckdb")
    model(table, "linear", "PAY", "SEX, WORTH")
    expected = predicted(table)
    lines = (table.folder / "lines.csv").as_posix()
    with duckdb.connect() as connection:
        connection.execute(f"COPY (FROM read_csv('{lines}', all_varchar=true)) TO '{lines[:-4]}.parquet'")
    assert predicted(table, "lines.parquet") == expected


@pytest.mark.parametrize(
    "line",
    [b"1,a\n", b"2,a,1,1,1,\xff\n", b"2,a,1,1,1,x,more\n", b'2,a,1,1,1,"open\n2,a,1,1,1,x\n', b"2,a,1,50,000,1,x\n"],
)
def test_a_line_that_is_not_well_formed_is_refused(table: Desk, line: bytes) -> None:
    model(table, "linear", "PAY", "SEX")
    with (table.folder / "lines.csv").open("ab") as file:
        file.write(line + b"2,a,1,1,1,kept\n")
    done = predict(table, "lines.csv", "--out", "out.csv")
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines()[-1].startswith("Some lines of the file cannot be read, and none may be left out. ")
    assert not (table.folder / "out.csv").exists()


def test_names_of_other_columns_do_not_matter(table: Desk) -> None:
    model(table, "linear", "PAY", "SEX")
    (table.folder / "odd.csv").write_text(",SEX,A,A,a,f0\n0,1,x,y,z,w\n", "utf-8")
    header, line = predicted(table, "odd.csv")
    assert header == ["", "SEX", "A", "A", "a", "f0", "predicted_PAY"]
    assert line[:-1] == ["0", "1", "x", "y", "z", "w"]


def test_parquet_columns_that_no_fit_would_read_are_refused(table: Desk) -> None:
    duckdb = pytest.importorskip("duckdb")
    model(table, "linear", "PAY", "SEX, WORTH")
    place = (table.folder / "typed.parquet").as_posix()
    for kind, worth in (("true or false", "true"), ("dates", "DATE '2020-01-01'"), ("lists", "[1, 2]")):
        with duckdb.connect() as connection:
            connection.execute(f"COPY (SELECT '1' AS SEX, {worth} AS WORTH) TO '{place}'")
        check_sentence(predict(table, "typed.parquet"), 2, f"Column 'WORTH' holds {kind}", "cannot be read as numbers")
    with duckdb.connect() as connection:
        odd = "0.1::FLOAT AS A, '2020-01-01 00:00:00+00'::TIMESTAMPTZ AS B"
        connection.execute(f"COPY (SELECT '1' AS SEX, 2 AS WORTH, {odd}) TO '{place}'")
    assert predicted(table, "typed.parquet")[1][:3] == ["1", "2", "0.1"]


def test_features_of_one_name_are_refused() -> None:
    domain = gd.Domain.of(**{"a": ["b=c", "d"], "a=b": ["c", "e"]}, PAY=gd.bounded(0, 1))
    assert TableDesign.of(domain, ["a"], "PAY", by_class=False).n_features == 2
    with pytest.raises(InvalidRequest, match="Two features of the model would have the"):
        TableDesign.of(domain, ["a", "a=b"], "PAY", by_class=False)


def test_what_is_missing_is_told(table: Desk) -> None:
    model(table, "linear", "PAY", "SEX, KIND, AGE, WORTH")
    assert predict(table).err.splitlines()[1:] == [
        "1 of 5 lines have no prediction: out of domain in KIND.",
        "WORTH: 1 of 5 lines have no number and count as 4.",
    ]
    model(table, "svc", "SEX", "PAY")
    assert predict(table).err.splitlines()[1:] == ["PAY: 1 of 5 lines have no number and count as 500."]


def test_names_with_commas_stand_in_quotes(table: Desk) -> None:
    text = (table.folder / "lines.csv").read_text("utf-8").replace("WORTH", '"WORTH, EUR"', 1)
    (table.folder / "lines.csv").write_text(text, "utf-8")
    _replace(table.folder, "WORTH", '"WORTH, EUR"')
    actual = model(table, "linear", "PAY", 'SEX, "WORTH, EUR"')
    assert set(actual["coefficients"]) == {"SEX=1", "SEX=2", "SEX=other", "WORTH, EUR"}
    assert len(predicted(table)) == 6
    words = (
        "--domain",
        "facts.toml",
        "--model",
        "linear",
        "--target",
        "PAY",
        "--epsilon",
        "1",
        "--ledger",
        "l",
        "--budget",
        "9",
    )
    done = table.gaugedp("fit", "lines.csv", "--features", "SEX, WORTH, EUR", *words)
    check_sentence(
        done, 2, "There is no attribute or bounded column 'WORTH'.", 'Perhaps it is "WORTH, EUR": a name with'
    )


def test_long_files_keep_their_order(table: Desk) -> None:
    model(table, "linear", "PAY", "SEX")
    with (table.folder / "long.csv").open("w", encoding="utf-8") as file:
        file.write("SEX,AT\n" + "".join(f"{1 + i % 2},{i}\n" for i in range(40_000)))
    rows = predicted(table, "long.csv")[1:]
    assert [int(row[1]) for row in rows] == list(range(40_000))
    assert len({(row[0], row[2]) for row in rows}) == 2


@pytest.mark.many
@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda f: (f / "model.json").unlink(), ("The model 'model.json' cannot be read.",)),
        (lambda f: (f / "model.json").write_text("{}"), ("'model.json' is not a model.", "gaugedp fit --out")),
        (lambda f: (f / "model.json").write_text("[" * 10_000), ("'model.json' is not a model.",)),
        (lambda f: _change(f, lambda one: one["coefficients"].pop("SEX=2")), ("'model.json' is not a model.",)),
        (lambda f: _change(f, lambda one: one.update(intercept="no")), ("'model.json' is not a model.",)),
        (lambda f: _change(f, lambda one: one.update(facts="design")), ("'model.json' is not a model.",)),
        (lambda f: _change(f, lambda one: one.update(model="forest")), ("`model` is 'forest',",)),
        (lambda f: _replace(f, "step = 0.5", "step = 1"), ("The domain file differs from",)),
        (lambda f: _replace(f, '["1", "2"]', '["2", "1"]'), ("The domain file differs from",)),
        (lambda f: _replace(f, "WORTH =", "WEALTH ="), ("The domain file differs from",)),
        (lambda f: (f / "lines.csv").write_text("SEX,NOTE\n1,x\n"), ("There is no column 'WORTH'.",)),
        (lambda f: (f / "lines.csv").write_text("SEX,WORTH,predicted_PAY\n"), ("has a column 'predicted_PAY'",)),
        (
            lambda f: (f / "lines.csv").write_text("SEX,WORTH,worth\n"),
            ("Column names are repeated or differ only in case: 'WORTH', 'worth'.",),
        ),
        (lambda f: _change(f, lambda one: one["facts"].update(features=[["SEX"]])), ("The domain file differs",)),
        (lambda f: _change(f, lambda one: one.update(intercept=10**400)), ("'model.json' is not a model.",)),
        (lambda f: _change(f, lambda one: one.update(intercept=float("nan"))), ("'model.json' is not a model.",)),
    ],
)
def test_bad_input_is_refused_and_nothing_is_written(table: Desk, spoil, words: tuple[str, ...]) -> None:
    model(table, "linear", "PAY", "SEX, WORTH")
    spoil(table.folder)
    before = table.files()
    for requested in ((), ("--out", "out.csv")):
        check_sentence(predict(table, "lines.csv", *requested), 2, *words)
    assert table.files() == before


def test_it_does_not_write_over_what_it_reads(table: Desk) -> None:
    model(table, "linear", "PAY", "SEX")
    for name in ("lines.csv", "model.json", "facts.toml"):
        check_sentence(predict(table, "lines.csv", "--out", name), 2, f"--out names {name!r}, which is also the ")


def test_an_engine_that_fails_says_nothing_of_the_rows(table: Desk) -> None:
    model(table, "linear", "PAY", "SEX")
    packed = gzip.compress(b"SEX,AT\n" + b"".join(b"1,%d\n" % i for i in range(400_000)))
    (table.folder / "cut.csv.gz").write_bytes(packed[: len(packed) - 6000])
    done = predict(table, "cut.csv.gz", "--out", "out.csv")
    assert done.code == 2
    assert done.err.splitlines()[-1].startswith("Some lines of the file cannot be read, and none may be left out. ")
    assert UNTOUCHED not in done.err
    assert not (table.folder / "out.csv").exists()


def _change(folder: Path, how) -> None:
    actual = json.loads((folder / "model.json").read_text("utf-8"))
    how(actual)
    (folder / "model.json").write_text(json.dumps(actual), "utf-8")


def _replace(folder: Path, old: str, new: str) -> None:
    text = (folder / "facts.toml").read_text("utf-8")
    assert old in text
    (folder / "facts.toml").write_text(text.replace(old, new), "utf-8")
