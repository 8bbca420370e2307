"""`gaugedp sql`: translated without a table, answered and paid with one."""

import json

import pytest

import gaugedp as gd
from tests.cli.kit import Desk, check_sentence

STATEMENT = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"
ASKED = ("--domain", "domain.toml", "--ledger", "a.ledger", "--budget", "2", "--epsilon", "1", "--key", "k")


def test_without_a_table_it_is_translated_and_nothing_is_written(desk: Desk) -> None:
    before = desk.files()
    done = desk.gaugedp("sql", STATEMENT, "--domain", "domain.toml")
    assert (done.code, done.out, done.err) == (0, "SEX\n", "")
    assert desk.files() == before


def test_with_a_table_it_is_the_release_of_that_question(desk: Desk) -> None:
    done = desk.gaugedp("sql", STATEMENT, "people.csv", *ASKED, "--json")
    assert done.code == 0
    assert gd.Release.from_json(done.out).facts["query"] == "SEX"
    again = desk.gaugedp("release", "people.csv", *ASKED, "--query", "SEX", "--json")
    assert json.loads(again.out)["numbers"] == json.loads(done.out)["numbers"], "the same request, stored and free"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((STATEMENT + " LIMIT 3",), "LIMIT is not supported."),
        ((STATEMENT, "people.csv", "--epsilon", "1"), "--ledger is missing"),
        (("SELECT height, COUNT(*) FROM people GROUP BY height",), "There is no attribute 'height'."),
    ],
)
def test_refusals(desk: Desk, words: tuple[str, ...], sentence: str) -> None:
    before = desk.files()
    done = desk.gaugedp("sql", *words, "--domain", "domain.toml")
    check_sentence(done, 2, sentence)
    assert desk.files() == before
