"""The one connection that a process keeps to a ledger on a server: threads, forks, and a server that went away."""

import gc
import multiprocessing
import os
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from gaugedp._internal.postgres import Address
from gaugedp.guarantees import PureDP
from gaugedp.ledger import Ledger
from gaugedp.ledger import postgres_schema as schema
from tests.ledger.kit import SECRET, ask, filled, paid, refused
from tests.postgres import Server, private_server

OURS = "SELECT pid FROM pg_stat_activity WHERE application_name = 'gaugedp' ORDER BY pid"
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


@pytest.fixture(scope="module")
def server() -> Any:
    """A server whose connections are ours alone."""
    from tests.postgres import missing

    if missing() is not None:
        pytest.skip(str(missing()))
    with private_server() as one:
        yield one


def connections(server: Server) -> set[int]:
    """The processes of the server that serve ledgers of this process."""
    return {pid for (pid,) in server.execute(OURS)}


def gone(server: Server, process: int) -> bool:
    """Whether a process of the server ends."""
    deadline = time.monotonic() + 10
    while process in connections(server) and time.monotonic() < deadline:
        time.sleep(0.02)
    return process not in connections(server)


def line_of(ledger: Ledger) -> int:
    """The process of the server that serves the ledger."""
    actual: int = ledger._store.run(lambda transaction: transaction._connection.info.backend_pid, write=False)  # type: ignore[attr-defined]
    return actual


@pytest.mark.slow
def test_one_connection_serves_one_ledger_and_ends_with_it(server: Server) -> None:
    before = connections(server)
    ledger = filled(server.new_ledger())
    mine = line_of(ledger)
    ledger.settle(paid(ledger, 0.1, "next"), SECRET)
    assert (ledger.verify().ok, line_of(ledger)) == (True, mine)
    assert connections(server) - before == {mine}
    del ledger
    gc.collect()
    assert gone(server, mine)


def test_threads_share_it_in_turn(server: Server) -> None:
    ledger = Ledger.open(server.new_ledger(), PureDP(100))
    threads = [threading.Thread(target=lambda: [paid(ledger, 0.1) for _ in range(5)]) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.spent.epsilon(0) == pytest.approx(3.0)
    assert ledger.verify().ok


def away_between(server: Server, how: str) -> Callable[[], Any]:
    """What breaks the kept connections between two transactions."""
    if how == "restarted":
        return lambda: server.restart("fast")
    return lambda: server.execute(f"SELECT pg_terminate_backend(pid) FROM ({OURS}) AS ours")


@pytest.mark.parametrize("how", ["restarted", "ended"])
def test_a_connection_that_broke_between_two_transactions_is_made_anew(server: Server, how: str) -> None:
    ledger = filled(server.new_ledger())
    spent = ledger.spent
    lose = away_between(server, how)
    lose()
    reservation = paid(ledger, 0.1, "after")
    lose()
    ledger.settle(reservation, SECRET)
    lose()
    assert ledger.spent.epsilon(0) == pytest.approx(spent.epsilon(0) + 0.1)
    assert ledger.verify().ok
    assert not ledger.verify().unsettled


def test_a_server_that_stays_away_is_said_to(server: Server) -> None:
    ledger = filled(server.new_ledger())
    server.stop()
    try:
        with refused("cannot be reached", "nothing was spent"):
            ask(ledger, 0.1)
    finally:
        server.start()
    assert paid(ledger, 0.1)


@pytest.mark.parametrize("moment", ["is_there", "lock"])
def test_a_connection_that_breaks_within_a_transaction_spends_nothing_and_is_not_used_again(
    server: Server, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    ledger = filled(server.new_ledger())
    before = ledger.spent
    act, broken = getattr(schema, moment), []

    def breaking(connection: Any, *rest: Any) -> Any:
        if not broken:
            broken.append(connection.info.backend_pid)
            server.execute(f"SELECT pg_terminate_backend({broken[0]})")
        return act(connection, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(schema, moment, breaking)
        with refused("nothing was spent"):
            ask(ledger, 0.5, "torn")
    assert ledger.spent == before
    assert paid(ledger, 0.5, "torn")
    assert broken[0] not in connections(server)


def test_what_fails_within_a_transaction_leaves_no_open_one(server: Server) -> None:
    ledger = filled(server.new_ledger())
    for _ in range(3):
        with refused("is left"):
            ask(ledger, 50.0)
    assert server.execute("SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'") == [(0,)]
    assert paid(ledger, 0.1)


def spend_in_child(ledger: Ledger, number: int) -> None:
    for i in range(number):
        ledger.settle(paid(ledger, 0.1, f"child {os.getpid()} {i}"), SECRET)


@needs_fork
def test_a_fork_has_a_connection_of_its_own_and_leaves_the_parents_alone(server: Server) -> None:
    ledger = filled(server.new_ledger())
    mine, before = line_of(ledger), connections(server)
    children = [multiprocessing.get_context("fork").Process(target=spend_in_child, args=(ledger, 3)) for _ in range(3)]
    for child in children:
        child.start()
    for i in range(3):
        paid(ledger, 0.1, f"parent {i}")
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0, 0, 0]
    assert line_of(ledger) == mine, "the parent's connection goes on"
    assert all(gone(server, process) for process in connections(server) - before), "the children's have ended"
    assert ledger.verify().ok
    assert ledger.spent.epsilon(0) == pytest.approx(0.3 + 1.2)


@pytest.mark.slow
@needs_fork
def test_a_fork_that_only_ends_does_not_end_the_parents_connection(server: Server) -> None:
    ledger = filled(server.new_ledger())
    mine = line_of(ledger)
    process = os.fork()
    if process == 0:
        try:
            del ledger
            gc.collect()
        finally:
            os._exit(0)
    assert os.waitpid(process, 0)[1] == 0
    assert ledger.verify().ok
    assert line_of(ledger) == mine


def test_a_ledger_that_is_used_within_its_own_transaction_has_another_connection(server: Server) -> None:
    ledger = filled(server.new_ledger())
    mine = line_of(ledger)
    inner, other = ledger._store.run(lambda _: (ledger.spent, line_of(ledger)), write=False)
    assert (inner, other != mine) == (ledger.spent, True)
    assert paid(ledger, 0.1)


def test_rights_that_were_taken_away_are_gone(server: Server) -> None:
    """Rights are checked by the server for each statement, on the kept connection too."""
    place = server.new_ledger()
    name = place.rpartition("=")[2]
    filled(place)
    server.execute(
        "CREATE ROLE passing LOGIN", f"GRANT USAGE ON SCHEMA {name} TO passing",
        f"GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA {name} TO passing",
    )  # fmt: skip
    ledger = Ledger.open(place.replace("keeper", "passing"))
    assert paid(ledger, 0.1)
    server.execute(f"REVOKE ALL ON ALL TABLES IN SCHEMA {name} FROM passing")
    with refused("may not be used by this user"):
        ask(ledger, 0.1)


def test_a_password_in_the_place_of_the_database_is_not_shown() -> None:
    """Nor is any other name with more than letters, digits and the signs of an address."""
    for written, shown in (("people", "people"), ("people%20password=hunter2", ""), ("p%40ss", "")):
        assert Address.parse(f"postgresql://host/{written}", "table")[0].shown == f"postgresql://host/{shown}"
