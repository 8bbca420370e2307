"""A ledger in memory: one act at a time, whatever the threads do."""

import threading

from gaugedp.guarantees import PureDP
from gaugedp.ledger import Ledger


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
