"""--by and --purpose: in the ledger, wherever it is paid."""

import json

import pytest

from tests.cli.kit import Desk, check_sentence

WHO = ("--by", "Anna", "--purpose", "Yearbook, table 3")
STREAM = "--domain domain.toml --query SEX --rho 0.1 --ledger zcdp.ledger --budget rho=1 --periods 4"


def said(desk: Desk, ledger: str) -> list[tuple[str, str]]:
    done = desk.gaugedp("ledger", "show", ledger, "--json")
    lines = json.loads(done.out)["entries"]
    return [(line["by"], line["purpose"]) for line in lines if line["kind"] == "reserve"]


def test_a_release_is_signed(desk: Desk) -> None:
    assert desk.release("people.csv", *WHO, key="a").code == 0
    assert desk.release(key="b").code == 0
    assert desk.release("people.csv", "--by", "Bo", key="a").code == 0  # stored: it costs nothing
    assert said(desk, "people.ledger") == [("", ""), ("Anna", "Yearbook, table 3"), ("", "")]
    shown = desk.gaugedp("ledger", "show", "people.ledger").out
    assert "Yearbook, table 3" in shown
    assert "purpose" in shown


def test_without_signatures_no_column_is_shown(desk: Desk) -> None:
    shown = desk.gaugedp("ledger", "show", "people.ledger").out
    assert "key" in shown
    assert "purpose" not in shown


def test_a_stream_is_signed_when_it_is_paid_and_for_each_period(desk: Desk) -> None:
    opened = desk.gaugedp("stream", "open", "year.stream", *STREAM.split(), *WHO)
    assert opened.code == 0, opened.err
    done = desk.gaugedp("stream", "next", "year.stream", "people.csv", "--by", "Bo")
    assert done.code == 0, done.err
    assert said(desk, "zcdp.ledger") == [("Anna", "Yearbook, table 3"), ("Bo", "")]


def test_a_fit_is_signed(desk: Desk) -> None:
    words = "--domain domain.toml --model linear --target PAY --features SEX --epsilon 0.5 --ledger people.ledger"
    done = desk.gaugedp("fit", "people.csv", *words.split(), *WHO)
    assert done.code == 0, done.err
    assert said(desk, "people.ledger")[-1] == ("Anna", "Yearbook, table 3")


@pytest.mark.parametrize("flag", ["--by", "--purpose"])
def test_a_refused_signature_makes_no_ledger(desk: Desk, flag: str) -> None:
    done = desk.release("people.csv", flag, "two\nlines", ledger="new.ledger", budget="2")
    check_sentence(done, 2, f"`{flag[2:]}` must be one line of 1 to 200 printable characters")
    assert not (desk.folder / "new.ledger").exists()
