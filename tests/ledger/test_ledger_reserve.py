"""Reserving and settling."""

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from gaugedp.errors import InvalidRequest, LedgerRefused
from gaugedp.guarantees import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP
from gaugedp.guarantees.budget import UNITS
from gaugedp.ledger import Entry, Ledger, Reservation, Stored, chain
from tests.ledger.kit import SECRET, UNIT, Place, ask, filled, paid, refused, shown


def test_a_reservation_is_spent_at_once(ledger: Ledger) -> None:
    reservation = paid(ledger, 0.5, "first")
    assert reservation == Reservation("first", PureDP(0.5), 3, ledger.tip)
    assert (ledger.spent, ledger.remaining) == (PureDP(0.5), PureDP(1.5))


def test_ten_tenths_fit_and_nothing_more(place: Place) -> None:
    ledger = Ledger.open(place, PureDP(1.0))
    for _ in range(10):
        assert ledger.affords(PureDP(0.1))
        paid(ledger, 0.1)
    assert (ledger.spent, ledger.remaining) == (PureDP(1.0), PureDP(0.0))
    for more in (0.1, 1e-9, 1e-30, 5e-324):
        assert not ledger.affords(PureDP(more))
        with refused("is left", path=place):
            ask(ledger, more)
    paid(ledger, 0.0)


def test_the_refusal_says_asked_left_and_total(place: Place) -> None:
    ledger = Ledger.open(place, PureDP(2))
    paid(ledger, 1.8)
    sentence = f"This release costs PureDP(0.5); PureDP(0.2) of PureDP(2) is left in {shown(place)!r}."
    with refused(sentence, "Request less, or", path=place):
        ask(ledger, 0.5)


@pytest.mark.parametrize(
    ("budget", "requested", "words"),
    [
        (ApproxDP(1, 1e-6), PureDP(1.5), "costs ApproxDP(1.5, 0); ApproxDP(1, 1e-06) of"),
        (ApproxDP(1, 1e-6), ApproxDP(0.5, 1e-5), "costs ApproxDP(0.5, 1e-05)"),
        (ApproxDP(1, 1e-6), 3 * ApproxDP(0.1, 0.5), "costs 3 * ApproxDP(0.1, 0.5)"),
        (ZCDP(0.1), PureDP(1), "costs ZCDP(0.5); ZCDP(0.1) of ZCDP(0.1)"),
        (GaussianDP(1), 2 * GaussianDP(1), "costs GaussianDP(1.415)"),
        (PureDP(1), 10**400 * PureDP(1), "costs 1000"),
        (PureDP(1), ZCDP(0.1), "ZCDP(0.1) cannot be charged to a budget of PureDP(1)"),
    ],
)
def test_every_currency_refuses_in_its_own_words(budget: Guarantee, requested: Guarantee, words: str) -> None:
    ledger = Ledger.in_memory(budget)
    assert not ledger.affords(requested)
    with refused(words):
        ask(ledger, requested)
    assert [entry.kind for entry in ledger.entries()] == ["open"]


def test_the_first_guarantee_with_a_cost_is_charged(ledger: Ledger) -> None:
    guarantees = [GaussianDP(0.5), PureDP(0.25), PureDP(0.5)]
    assert ledger.affords(*guarantees)
    reservation = ledger.reserve(guarantees, table="people", unit=UNIT, request={})
    assert isinstance(reservation, Reservation)
    assert (reservation.guarantee, ledger.spent) == (PureDP(0.25), PureDP(0.25))


def test_composed_guarantees_are_charged_whole(place: Place) -> None:
    ledger = Ledger.open(place, ApproxDP(2, 1e-5))
    guarantee = 3 * ApproxDP(0.1, 1e-6) + PureDP(0.5)
    paid(ledger, guarantee)
    assert ledger.spent == ApproxDP(0.8, 3e-6)
    assert ledger.entries()[-1].guarantee == guarantee


WRONG = {
    "guarantees": [[], PureDP(1), [0.5], "PureDP", None],
    "request": [{"x": math.nan}, {"x": {1, 2}}, {1: "x"}, {"x": SECRET}, [1], "text", {"x": object()}],
    "table": ["", 7, None, "x" * 1001, "a\0", "\ud800"],
    "unit": [None, "rows"],
    "key": ["", 7, "x" * 1001, "a\0b", "\udc80"],
}


@pytest.mark.parametrize(("name", "wrong"), [(name, each) for name, wrong in WRONG.items() for each in wrong])
def test_what_is_wrong_is_named_and_not_repeated(ledger: Ledger, name: str, wrong: Any) -> None:
    given = {"guarantees": [PureDP(0.1)], "table": "people", "unit": UNIT, "request": {}} | {name: wrong}
    with refused("JSON" if name == "request" else name, kind=InvalidRequest):
        ledger.reserve(**given)
    assert ledger.spent == PureDP(0)


def test_requests_are_kept(ledger: Ledger) -> None:
    requested = {"query": "SEX; ü \ud800", "shape": (2, 3), "deep": {"a": [None, True, 0.1, 10**40]}}
    ask(ledger, request=requested)
    assert ledger.entries()[-1].request == {**requested, "shape": [2, 3]}


def test_charges_are_whole_units_of_any_size(place: Place) -> None:
    ledger = Ledger.open(place, PureDP(1e300))
    paid(ledger, 1e299)
    paid(ledger, 1e-30)
    assert [entry.charge for entry in ledger.entries()[2:]] == [(int(Fraction("1e299")) * UNITS,), (1,)]
    assert ledger.verify().ok


# -- keys ------------------------------------------------------------------------------------------


def test_a_settled_key_returns_the_release_at_no_cost(ledger: Ledger) -> None:
    ledger.settle(paid(ledger, 0.5, "a"), SECRET)
    entries = ledger.entries()
    stored = ask(ledger, 0.5, "a")
    assert stored == Stored("a", SECRET)
    assert SECRET.decode() not in repr(stored)
    assert (ledger.entries(), ledger.spent) == (entries, PureDP(0.5))


def test_what_a_key_stored_is_read_without_asking_again(place: Place) -> None:
    ledger = filled(place)
    entries = ledger.entries()
    assert ledger.stored("key-1") == SECRET
    assert ledger.entries() == entries
    paid(ledger, 0.1, "unanswered")
    for key in ("unanswered", "unknown"):
        with pytest.raises(InvalidRequest, match=f"Nothing is stored under the key '{key}'"):
            ledger.stored(key)
    for no_key in ("\ud800", "", 3):
        with pytest.raises(InvalidRequest, match="The key is not a text"):
            ledger.stored(no_key)  # type: ignore[arg-type]


def test_a_settled_key_is_answered_when_nothing_is_left(ledger: Ledger) -> None:
    ledger.settle(paid(ledger, 2, "a"), SECRET)
    assert ask(ledger, 2, "a") == Stored("a", SECRET)


def test_the_order_of_a_requests_keys_does_not_matter(ledger: Ledger) -> None:
    ledger.settle(ask(ledger, 0.5, "a", request={"x": 1, "y": (1, 2)}), SECRET)  # type: ignore[arg-type]
    assert ask(ledger, 0.5, "a", request={"y": [1, 2], "x": 1}) == Stored("a", SECRET)


def test_an_unsettled_key_is_refused_and_stays_spent(place: Place) -> None:
    ledger = Ledger.open(place, PureDP(2))
    paid(ledger, 0.5, "a")
    for again in (ledger, Ledger.open(place)):
        with refused("'a'", f"at {ledger.entries()[2].time} and has no answer yet", "wait", "new key", path=place):
            ask(again, 0.5, "a")
        assert again.spent == PureDP(0.5)


def test_a_key_of_another_request_is_refused(place: Place) -> None:
    ledger = filled(place)
    with refused("'key-1'", "another request", path=place):
        ask(ledger, 0.1, "key-1", request={"query": "AGE"})
    with refused("'key-1'", "another request", path=place):
        ask(ledger, 0.2, "key-1")


def test_keys_are_fresh_where_none_is_given(ledger: Ledger) -> None:
    assert len({paid(ledger, 0.001).key for _ in range(50)}) == 50


# -- settling --------------------------------------------------------------------------------------


def test_settling_moves_the_tip_and_costs_nothing(ledger: Ledger) -> None:
    reservation = paid(ledger, 0.5)
    tip = ledger.settle(reservation, SECRET)
    assert (ledger.tip, ledger.spent) == (tip, PureDP(0.5))
    assert tip != reservation.tip


def test_any_bytes_are_kept(ledger: Ledger) -> None:
    for number, released in enumerate([b"", b"\0", bytes(range(256)) * 5000]):
        ledger.settle(paid(ledger, 0.1, str(number)), released)
        assert ask(ledger, 0.1, str(number)) == Stored(str(number), released)
    assert ledger.verify().ok


def test_settling_twice_is_refused(place: Place) -> None:
    ledger = Ledger.open(place, PureDP(2))
    reservation = paid(ledger, 0.5, "a")
    ledger.settle(reservation, SECRET)
    for released in (SECRET, b"other"):
        with refused("'a'", "already has an answer", path=place):
            ledger.settle(reservation, released)
    assert ask(ledger, 0.5, "a") == Stored("a", SECRET)


def test_an_unknown_reservation_is_refused(place: Place, tmp_path: Path) -> None:
    ledger = Ledger.open(place, PureDP(2))
    own = paid(ledger, 0.5, "a")
    foreign = paid(Ledger.open(tmp_path / "other.ledger", PureDP(2)), 0.5, "a")
    for wrong in (
        foreign,
        Reservation("b", own.guarantee, own.number, own.tip),
        Reservation("a", own.guarantee, 9, own.tip),
    ):
        with refused("has no reservation", path=place):
            ledger.settle(wrong, SECRET)


@pytest.mark.parametrize("released", ["text", None, bytearray(b"x")])
def test_a_release_is_bytes(ledger: Ledger, released: Any) -> None:
    reservation = paid(ledger)
    with refused("bytes", "stays spent", kind=InvalidRequest):
        ledger.settle(reservation, released)
    with refused("reservation", kind=InvalidRequest):
        ledger.settle("a", SECRET)  # type: ignore[arg-type]


# -- entries and the clock -------------------------------------------------------------------------


def test_entries_tell_everything_but_the_release(place: Place) -> None:
    ledger = filled(place, 1)
    opening, binding, reserve, settle = ledger.entries()
    assert (opening.number, opening.kind, opening.charge) == (1, "open", (0,))
    assert (binding.number, binding.kind) == (2, "bind")
    assert binding.request == {"table": "people", "unit": UNIT.to_dict()}
    charge = (UNITS // 10,)
    assert reserve == Entry(3, "reserve", "key-0", PureDP(0.1), charge, {"query": "SEX"}, reserve.time, reserve.tip)
    assert (settle.number, settle.kind, settle.key, settle.tip) == (4, "settle", "key-0", ledger.tip)
    assert SECRET.decode() not in repr(ledger.entries()) + repr(ledger)
    assert reserve.time.endswith("+00:00")


def test_a_clock_that_runs_backwards_changes_nothing(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    from datetime import UTC, datetime

    class Backwards:
        year = 9000

        @classmethod
        def now(cls, zone: Any) -> datetime:
            cls.year -= 1000
            return datetime(cls.year, 1, 1, tzinfo=UTC if zone else None)

    monkeypatch.setattr(chain, "datetime", Backwards)
    ledger.settle(paid(ledger, 0.5, "a"), SECRET)
    assert ask(ledger, 0.5, "a") == Stored("a", SECRET)
    with refused("is left"):
        ask(ledger, 1.6)
    assert ledger.verify().ok


def test_a_delta_that_does_not_fit_is_named() -> None:
    ledger = Ledger.in_memory(ApproxDP(3, 1e-5))
    given = {"table": "people", "unit": UNIT, "request": {"query": "SEX"}}
    ledger.reserve([ApproxDP(1, 1e-5)], **given)
    with pytest.raises(LedgerRefused, match="Use a smaller delta, or none: the epsilon would fit"):
        ledger.reserve([ApproxDP(1, 1e-6)], **given)
    with pytest.raises(LedgerRefused, match="Request less, or use the answers"):
        ledger.reserve([ApproxDP(2.5, 0)], **given)
    ledger.reserve([PureDP(1)], **given)
