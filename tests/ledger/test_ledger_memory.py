"""A ledger in memory: one act at a time, whatever the threads do."""

import threading

import pytest

from gaugedp.errors import LedgerRefused
from gaugedp.guarantees import PureDP
from gaugedp.ledger import Ledger
from gaugedp.ledger.chain import LedgerEvent, extend
from gaugedp.ledger.store import Transaction
from tests.ledger.kit import paid


def test_one_act_at_a_time() -> None:
    ledger, inside, go_on, acts = Ledger.in_memory(PureDP(1)), threading.Event(), threading.Event(), list[str]()

    def slow(_: object) -> None:
        inside.set()
        go_on.wait(60)
        acts.append("slow")

    threads = [threading.Thread(target=ledger._store.run, args=[act]) for act in (slow, lambda _: acts.append("quick"))]
    threads[0].start()
    inside.wait(60)
    threads[1].start()
    threads[1].join(0.2)  # it would be done by now
    go_on.set()
    for thread in threads:
        thread.join()
    assert acts == ["slow", "quick"]


def test_an_act_within_an_act_is_refused_and_undoes_nothing() -> None:
    """As of a handler of signals: what the outer act reserved stays reserved."""
    ledger = Ledger.in_memory(PureDP(1))

    def signalled(transaction: Transaction) -> None:
        transaction.append(*extend(transaction.head(), LedgerEvent("bind", request="{}")))
        with pytest.raises(LedgerRefused, match="in the middle of another transaction"):
            paid(ledger, 0.5)

    ledger._store.run(signalled)
    assert [entry.kind for entry in ledger.entries()] == ["open", "bind"]
    assert ledger.verify().entries == 2
