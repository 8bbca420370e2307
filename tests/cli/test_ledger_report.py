"""`gaugedp ledger report`: the page of a year."""

from contextlib import closing
from datetime import UTC, datetime
from sqlite3 import connect

import pytest

from tests.cli.kit import NOTE, Desk, check_sentence

pytest.importorskip("matplotlib", reason="matplotlib is not installed: the extra gaugedp[report]")


def test_the_page_is_written_and_the_ledger_is_verified(desk: Desk) -> None:
    assert desk.release("people.csv", "--by", "Anna", "--purpose", "Yearbook").code == 0
    done = desk.gaugedp("ledger", "report", "people.ledger", "--out", "year.html")
    assert (done.code, done.err) == (0, "")
    assert "entries, all valid." in done.out
    page = (desk.folder / "year.html").read_text("utf-8")
    assert "Yearbook" in page
    assert "Anna" in page
    assert NOTE not in page
    year = datetime.now(UTC).year
    assert f"Privacy budget, {year}" in page
    assert desk.gaugedp("ledger", "report", "people.ledger", "--year", "1999", "--out", "1999.html").code == 0
    assert "There were no charges in 1999." in (desk.folder / "1999.html").read_text("utf-8")


def test_an_altered_ledger_is_reported_with_exit_code_3(desk: Desk) -> None:
    with closing(connect(desk.folder / "people.ledger")) as connection:
        connection.execute("DROP TRIGGER entry_stays")
        connection.execute("UPDATE entry SET time = '2026-01-01T00:00:00+00:00' WHERE number = 3")
        connection.commit()
    done = desk.gaugedp("ledger", "report", "people.ledger", "--out", "year.html")
    assert done.code == 3
    assert "Entry 3 was altered" in done.out
    assert "altered by another program" in (desk.folder / "year.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("people.ledger", "--out", "year.csv"), ".html"),
        (("people.ledger", "--out", "people.ledger"), "also the ledger"),
        (("people.ledger", "--out", "nowhere/year.html"), "cannot be written"),
        (("people.ledger", "--year", "MMXXVI", "--out", "year.html"), "`year` is 'MMXXVI'"),
        (("people.ledger", "--year", "0", "--out", "year.html"), "`year` is 0"),
        (("no.ledger", "--out", "year.html"), "There is no ledger"),
        ((":memory:", "--out", "year.html"), "in memory"),
    ],
)
def test_wrong_words_write_nothing(desk: Desk, words: tuple[str, ...], said: str) -> None:
    before = desk.files()
    check_sentence(desk.gaugedp("ledger", "report", *words), 2, said)
    assert desk.files() == before
