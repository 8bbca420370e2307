"""`[person]` in a domain file: every command is about persons, each made of all the rows of the person."""

import pytest

import gaugedp as gd
from tests.cli.kit import ROWS as TABLE
from tests.cli.kit import Desk, check_sentence

ROWS = """
[unit]
column = "PID"
{more}
[attributes]
SEX = ["1", "2"]
AGE = {{ low = 0, high = 100, width = 10, label = "age" }}
[columns]
PAY = {{ low = 0, high = 1000 }}
"""
PEOPLE = """
[person]
visits = { count = true, from = 0, to = 3, label = "visits to the office", labels = { "0" = "none" } }
twos = { count = "SEX", is = "2", low = 0, high = 4 }
ever_old = { any = "AGE", is = ["[80,90)", "[90,100]"] }
eldest = { max = "AGE" }
paid = { sum = "PAY", low = 0, high = 1500 }
pay_in_bins = { sum = "PAY", low = 0, high = 1500, width = 500, outside = "other" }
least = { min = "PAY" }
"""


def put(desk: Desk, people: str = PEOPLE, more: str = "") -> None:
    (desk.folder / "domain.toml").write_text(ROWS.format(more=more) + people, "utf-8")


def test_a_release_is_about_persons_and_says_so(desk: Desk) -> None:
    put(desk)
    new = {"ledger": "persons.ledger", "budget": "9000"}
    done = desk.release("people.csv", "--json", **new, query="visits; count", epsilon="4000")
    assert done.code == 0, done.err
    facts = gd.Release.from_json(done.out).facts
    assert abs(gd.Release.from_json(done.out).values[-1] - len({row[3] for row in TABLE})) < 1  # all have two rows
    assert facts["unit"]["as_one"] is True
    assert "visits is the number of a PID's rows." in facts["rules"]
    assert facts["captions"]["columns"]["visits"]["labels"] == {"0": "none"}
    told = desk.release("people.csv", **new, query="pay_in_bins*ever_old")
    assert "Protected: the rows of one PID (aggregated into one row), added or removed." in told.out
    assert "each PID counts once" in told.out
    assert desk.ledger("persons.ledger").unit == gd.PrivacyUnit("PID")


def test_rows_and_persons_share_a_ledger(desk: Desk) -> None:
    """The same people are protected, with one row each or with all rows as one: one ledger adds up what both spend."""
    put(desk)
    shared = {"ledger": "both.ledger", "budget": "2"}
    assert desk.release("people.csv", **shared, query="visits").code == 0
    put(desk, "")
    assert desk.release("people.csv", **shared, query="SEX").code == 0
    ledger = desk.ledger("both.ledger")
    assert ledger.spent == gd.PureDP(1.0)
    assert not ledger.unit.as_one
    put(desk, more="max_rows = 2")
    assert (desk.release("people.csv", **shared, query="visits")).code == 2
    put(desk, "", more="max_rows = 2")
    check_sentence(desk.release("people.csv", **shared, query="SEX"), 3, "max_rows is fixed with the ledger")


@pytest.mark.parametrize(
    ("people", "words"),
    [
        ("[person]", "[person]"),
        ("[person]\nx = 3", "{ count = true, from = 0, to = 50 }"),
        ("[person]\nx = { count = true }", "gd.integers(0, 50)"),
        ("[person]\nx = { count = true, max = 'PAY' }", "Use one of count, sum"),
        ("[person]\nx = { count = 3, from = 0, to = 1 }", "in quotes"),
        ("[person]\nx = { sum = 'SEX', low = 0, high = 3 }", "SEX has no bounds"),
        ("[person]\nx = { sum = 'PAI', low = 0, high = 3 }", "Did you mean 'PAY'?"),
        ("[person]\nx = { any = 'SEX' }", 'is = "yes"'),
        ("[person]\nx = { any = 'SEX', is = '3' }", "no cell of SEX '3'"),
        ("[person]\nx = { any = 'PAY', is = '3' }", "is not an attribute"),
        ("[person]\nx = { last = 'SEX' }", 'order = "DATE"'),
        ("[person]\nx = { max = 'SEX', order = 'AGE' }", 'order = "DATE"'),
        ("[person]\nx = { max = 'SEX', from = 0, to = 1 }", "Omit them here"),
        ("[person]\nx = { sum = 'PAY', values = ['1', '2'] }", "gd.integers, gd.bins or gd.bounded"),
        ("[person]\nx = { sum = 'PAY', low = 0 }", "no bounds"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(desk: Desk, people: str, words: str) -> None:
    put(desk, people)
    check_sentence(desk.release("people.csv", query="x"), 2, words)


def test_a_question_about_rows_is_told_from_one_about_persons(desk: Desk) -> None:
    put(desk)
    check_sentence(desk.release("people.csv", query="SEX"), 2, "SEX is a column of rows", "visits")
    check_sentence(desk.release("people.csv", query="mean(PAY)"), 2, "PAY is a column of rows", "paid")
    put(desk, people=PEOPLE, more="max_rows = 2")
    check_sentence(desk.release("people.csv", query="visits"), 2, "omit `max_rows`")


def test_other_commands_are_about_persons_too(desk: Desk) -> None:
    put(desk)
    plan = desk.gaugedp("plan", "--domain", "domain.toml", "--query", "visits", "--epsilon", "1")
    assert plan.code == 0, plan.err
    assert "aggregated into one row" in plan.out
    checked = desk.gaugedp("check", "people.csv", "--domain", "domain.toml")
    assert checked.code == 0, checked.err
    assert "every value is in the domain" in checked.out
    words = (
        "--model",
        "linear",
        "--target",
        "paid",
        "--features",
        "eldest",
        "--epsilon",
        "1",
        "--ledger",
        "people.fit",
    )
    fitted = desk.gaugedp("fit", "people.csv", "--domain", "domain.toml", *words, "--budget", "1", "--details")
    assert fitted.code == 0, fitted.err
    assert "All rows of each PID are aggregated into one row" in fitted.out


def test_one_row_is_said_in_the_singular(desk: Desk) -> None:
    (desk.folder / "d.toml").write_text('[attributes]\nA = ["1"]\n')
    for rows, words in ((1, "1 row: every value"), (2, "2 rows: every value"), (0, "0 rows: every value")):
        (desk.folder / "one.csv").write_text("A\n" + "1\n" * rows)
        assert words in desk.gaugedp("check", "one.csv", "--domain", "d.toml").out
