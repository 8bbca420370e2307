"""A reservation that was never settled can be resumed, where that is asked for: paid once, settled once."""

from typing import Any

from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import Guarantee, PureDP
from gaugedp.ledger import Ledger, Reservation, Stored
from tests.ledger.kit import SECRET, UNIT, paid, refused


def resumed(ledger: Ledger, guarantee: Guarantee | None = None, key: str = "a", **other: Any) -> Reservation | Stored:
    facts = {"table": "people", "unit": UNIT, "request": {"query": "SEX"}} | other
    return ledger.reserve([guarantee or PureDP(0.5)], key=key, resume=True, **facts)


def test_a_resumed_reservation_is_the_one_that_was_paid(ledger: Ledger) -> None:
    first = paid(ledger, 0.5, "a")
    tip = ledger.tip
    assert resumed(ledger) == first
    assert (ledger.tip, ledger.spent) == (tip, PureDP(0.5))
    ledger.settle(first, SECRET)
    assert resumed(ledger) == Stored("a", SECRET)
    assert ledger.verify().ok
    assert not ledger.verify().unsettled


def test_it_is_settled_once(ledger: Ledger) -> None:
    first, second = paid(ledger, 0.5, "a"), resumed(ledger)
    assert isinstance(second, Reservation)
    ledger.settle(second, SECRET)
    with refused("already has an answer", "stays spent"):
        ledger.settle(first, b"another answer")
    assert resumed(ledger) == Stored("a", SECRET)


def test_a_spent_budget_does_not_matter(ledger: Ledger) -> None:
    first = paid(ledger, 0.5, "a")
    paid(ledger, 1.5, "b")
    assert resumed(ledger) == first


def test_a_new_key_is_paid(ledger: Ledger) -> None:
    assert isinstance(resumed(ledger, key="new"), Reservation)
    assert ledger.spent == PureDP(0.5)


def test_another_request_guarantee_table_or_unit_is_refused(ledger: Ledger) -> None:
    paid(ledger, 0.5, "a")
    for other in ({"request": {"query": "AGE"}}, {"guarantee": PureDP(0.4)}):
        with refused("another request"):
            resumed(ledger, **other)
    with refused("table"):
        resumed(ledger, table="others")
    with refused(", but must be a privacy unit", kind=InvalidRequest):
        resumed(ledger, unit="row")
    assert ledger.spent == PureDP(0.5)
