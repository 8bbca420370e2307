"""`gaugedp rows`: rows from what a ledger stores, with their counts beside the released ones; nothing is spent."""

import csv

import pytest

import gaugedp as gd
from tests.cli.kit import Desk, check_sentence

ASKED = ("--domain", "domain.toml", "--ledger", "a.ledger", "--budget", "20", "--epsilon", "4", "--key", "k")
FILES = ("r.csv", "b.csv")


@pytest.fixture
def paid(desk: Desk) -> Desk:
    done = desk.gaugedp("release", "people.csv", *ASKED, "--query", "SEX*AGE; sum(PAY)")
    assert done.code == 0
    return desk


def test_rows_are_written_beside_the_released_counts_and_the_ledger_stays(paid: Desk) -> None:
    before = paid.files()
    done = paid.gaugedp("rows", "a.ledger", "--key", "k", "--out", "r.csv", "--seed", "1", "--beside", "b.csv")
    assert (done.code, done.err) == (0, "")
    after = paid.files()
    assert {name: text for name, text in after.items() if name in before} == before
    read, lines = (list(csv.DictReader((paid.folder / name).read_text("utf-8").splitlines())) for name in FILES)
    assert set(read[0]) == {"SEX", "AGE"}
    assert len(lines) == 20
    cells = [f"SEX={row['SEX']}, AGE=[{int(row['AGE']) // 10 * 10},{int(row['AGE']) // 10 * 10 + 10})" for row in read]
    counted = {line["cell"].replace("]", ")"): int(line["rows"]) for line in lines}
    assert {cell: cells.count(cell) for cell in counted} == counted
    for said in ("SEX=1, AGE=[0,10)", "of 20 counts of the rows lie within", f"{len(read)} rows, 2 columns"):
        assert said in done.out
    assert "Nothing was read and nothing was spent." in done.out


def test_the_same_seed_writes_the_same_file_and_rows_may_be_chosen(paid: Desk) -> None:
    for name in ("one.csv", "two.csv"):
        assert paid.gaugedp("rows", "a.ledger", "--key", "k", "--out", name, "--seed", "7", "--rows", "33").code == 0
    files = paid.files()
    assert files["one.csv"] == files["two.csv"]
    assert len((paid.folder / "one.csv").read_text(encoding="utf-8").splitlines()) == 34


def test_several_keys_are_one_table_of_rows_in_parquet(paid: Desk) -> None:
    again = [word if word != "k" else "second" for word in ASKED]
    assert paid.gaugedp("release", "people.csv", *again, "--query", "SEX").code == 0
    done = paid.gaugedp("rows", "a.ledger", "--key", "k", "--key", "second", "--out", "r.parquet")
    assert done.code == 0
    assert "of 22 counts" in done.out
    domain = gd.Domain.load(paid.folder / "domain.toml")
    gd.Table.scan(paid.folder / "r.parquet", domain=gd.Domain(domain.attributes))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("a.ledger", "--key", "x", "--out", "r.csv"), "Nothing is stored under the key 'x'."),
        (("people.ledger", "--key", "first", "--out", "r.csv"), "The text is not a release in JSON"),
        (("a.ledger", "--key", "k", "--out", "r.xlsx"), "ends in .xlsx,"),
        (("a.ledger", "--key", "k", "--out", "a.ledger"), "is also the ledger"),
        (("a.ledger", "--key", "k", "--out", "r.csv", "--rows", "0"), "n_rows"),
        (("a.ledger", "--key", "k", "--out", "r.csv", "--rows", "1.5"), "`rows` is '1.5',"),
        (("a.ledger", "--key", "k", "--out", "r.csv", "--seed", "-1"), "seed"),
    ],
)
def test_refusals(paid: Desk, words: tuple[str, ...], sentence: str) -> None:
    before = paid.files()
    check_sentence(paid.gaugedp("rows", *words), 2, sentence)
    assert paid.files() == before


@pytest.mark.slow
def test_tables_that_are_chosen_are_paid_once_and_rows_made_of_them(desk: Desk) -> None:
    price = ("--domain", "domain.toml", "--ledger", "a.ledger", "--epsilon", "4", "--delta", "1e-6", "--key", "k")
    requested = ("--query", "SEX*AGE", "--adaptive")
    first = desk.gaugedp("release", "people.csv", *price, *requested, "--budget", "4,1e-6")
    assert first.code == 0, first.err
    for said in ("SEX*AGE  SEX=1, AGE=[0,10)", "ApproxDP(4, 1e-06)", "exact"):
        assert said in first.out
    again = desk.gaugedp("release", "people.csv", *price, *requested)
    assert (again.code, "answer" in again.out) == (0, True)
    assert len([entry for entry in desk.ledger("a.ledger").entries() if entry.guarantee is not None]) == 1
    assert desk.gaugedp("rows", "a.ledger", "--key", "k", "--out", "r.csv").code == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--query", "SEX", "--epsilon", "1"), "Pass delta as well as epsilon"),
        (("--query", "sum(PAY)", "--rho", "1"), "sum(PAY) is not a table of counts"),
        (("--query", "SEX", "--rho", "1", "--importance", "SEX=2"), "`importance` is set in the query, but"),
    ],
)
def test_what_cannot_be_chosen_from_makes_no_ledger(desk: Desk, words: tuple[str, ...], sentence: str) -> None:
    before = desk.files()
    options = ("--domain", "domain.toml", "--ledger", "new.ledger", "--budget", "9,1e-6", "--adaptive")
    check_sentence(desk.gaugedp("release", "people.csv", *options, *words), 2, sentence)
    assert desk.files() == before
