"""Who paid and what for: public, hashed with the entry, and without any part in what a key returns or costs."""

import pickle
from contextlib import closing
from pathlib import Path
from sqlite3 import connect

import pytest

from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import PureDP
from gaugedp.ledger import Ledger, Stored
from tests.ledger.kit import SECRET, UNIT, Place, ask, filled, paid, refused

ANNA = {"by": "Anna Åström", "purpose": "Yearbook 2026: pay by region"}


def test_a_payment_says_who_and_what_for(ledger: Ledger) -> None:
    ledger.settle(paid(ledger.signed(**ANNA), 0.5, "first"), SECRET)
    paid(ledger.signed(by="Bo"), 0.1, "second")
    paid(ledger, 0.1, "third")
    said = {entry.key: (entry.by, entry.purpose) for entry in ledger.entries() if entry.kind == "reserve"}
    assert said == {"first": tuple(ANNA.values()), "second": ("Bo", None), "third": (None, None)}
    assert all(entry.request == {"query": "SEX"} for entry in ledger.entries() if entry.kind == "reserve")
    assert ledger.verify().ok
    assert ledger.spent == PureDP(0.7)


def test_a_signed_handle_is_the_same_ledger(place: Place) -> None:
    ledger = Ledger.open(place, PureDP(2))
    signed = ledger.signed(**ANNA)
    assert signed.is_new
    assert not Ledger.open(place).signed(**ANNA).is_new
    again = pickle.loads(pickle.dumps(signed))
    paid(again, 2.0)
    assert again.entries()[-1].by == ANNA["by"]
    with refused("PureDP(0) of PureDP(2) is left", path=place):
        ask(ledger, 0.1)
    assert signed.signed().entries() == ledger.entries()


def test_without_a_signature_nothing_is_added(ledger: Ledger) -> None:
    """Ledgers without signatures have the bytes that they always had, and older versions verify them."""
    paid(ledger.signed(), 0.1, "a")
    stored = ledger._read(lambda opened: opened.transaction.find("reserve", "a"))
    assert stored is not None
    assert stored.event.request == '{"query":"SEX"}'


def test_a_key_answers_whoever_asks(ledger: Ledger) -> None:
    ledger.settle(paid(ledger.signed(**ANNA), 0.5, "a"), SECRET)
    ledger.settle(paid(ledger, 0.5, "b"), SECRET)
    for key in "ab":
        for other in (ledger, ledger.signed(by="Bo"), ledger.signed(**ANNA)):
            assert ask(other, 0.5, key) == Stored(key, SECRET)
    assert ledger.spent == PureDP(1.0)
    assert ledger.entries()[2].by == ANNA["by"]


def test_a_signature_does_not_make_another_request_the_same(ledger: Ledger) -> None:
    paid(ledger.signed(**ANNA), 0.5, "a")
    for other in (ledger, ledger.signed(**ANNA)):
        with refused("belongs to another request"):
            ask(other, 0.5, "a", request={"query": "AGE"})
        with refused("belongs to another request"):
            ask(other, 0.4, "a")
        with refused("has no answer yet"):
            ask(other, 0.5, "a")


def test_a_resumed_payment_keeps_its_signature(ledger: Ledger) -> None:
    first = paid(ledger.signed(**ANNA), 0.5, "a")
    facts = {"table": "people", "unit": UNIT, "request": {"query": "SEX"}, "key": "a"}
    assert ledger.signed(by="Bo").reserve([PureDP(0.5)], resume=True, **facts) == first
    assert [entry.by for entry in ledger.entries() if entry.kind == "reserve"] == [ANNA["by"]]


def test_a_request_may_not_sign_by_itself(place: Place) -> None:
    ledger = filled(place)
    for forged in ({"by": "Bo", "purpose": None}, "Bo"):
        with refused("has the reserved name 'signed'", "another name", path=place, kind=InvalidRequest):
            ask(ledger, request={"query": "SEX", "signed": forged})


@pytest.mark.parametrize(
    "text",
    ["", " ", "two\nlines", "tab\there", "nul\0", "\u202eright to left", "line\u2028", "\ud800", "a" * 201, 7, b"Bo"],
)
@pytest.mark.parametrize("name", ["by", "purpose"])
def test_what_is_not_a_short_line_is_refused(place: Place, name: str, text: object) -> None:
    ledger = filled(place)
    with refused(
        f"`{name}` must be one line of 1 to 200 printable characters", path=place, kind=InvalidRequest
    ) as caught:
        ledger.signed(**{name: text})
    assert "right to left" not in str(caught.value)


@pytest.mark.parametrize("text", ["a" * 200, "日本語", "می\u200cخواهم", "O’Brien & <b>", "😀"])
def test_every_language_signs(place: Place, text: str) -> None:
    ledger = Ledger.open(place, PureDP(2)).signed(by=text, purpose=f"  {text}  "[:200])
    paid(ledger)
    entry = ledger.entries()[-1]
    assert (entry.by, entry.purpose) == (text, f"  {text}  "[:200].strip())
    assert ledger.verify().ok


def test_one_name_has_one_spelling(ledger: Ledger) -> None:
    paid(ledger.signed(by="A\u030a"))
    assert ledger.entries()[-1].by == "Å"


def test_another_hand_cannot_sign(path: Path) -> None:
    ledger = Ledger.open(path, PureDP(2))
    ledger.settle(paid(ledger.signed(**ANNA), 0.5, "a"), SECRET)
    paid(ledger, 0.1, "b")
    with closing(connect(path)) as connection:
        connection.execute("DROP TRIGGER entry_stays")
        connection.execute("UPDATE entry SET request = replace(request, 'Yearbook', 'Daybook') WHERE kind = 'reserve'")
        connection.commit()
    assert ledger.entries()[2].purpose == "Daybook 2026: pay by region"
    assert "Entry 3 was altered, or does not follow the entry before it." in ledger.verify().problems
    with refused("altered by another program"):
        ask(ledger, 0.5, "a")


def test_a_part_of_that_name_in_an_older_ledger_is_no_signature(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    forms = ["Bo", {"by": 7, "purpose": None}, {"by": "Bo"}, [], None]
    with monkeypatch.context() as patch:
        patch.setattr("gaugedp.ledger.signature.Signature.sign", lambda _, request: request)
        for form in forms:
            paid_for = ledger.reserve([PureDP(0.1)], table="people", unit=UNIT, request={"signed": form})
            assert paid_for is not None
    entries = [entry for entry in ledger.entries() if entry.kind == "reserve"]
    assert [entry.request for entry in entries] == [{"signed": form} for form in forms]
    assert {(entry.by, entry.purpose) for entry in entries} == {(None, None)}
    assert ledger.verify().ok
