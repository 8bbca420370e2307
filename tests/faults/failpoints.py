"""Faults at every step of a ledger: each statement of each act, each link of the chain, each stage of a release.

The steps are not listed by hand: an act is done once and its steps are noted in order. Then a forked child does the act
again and meets one fault before or after one step, and goes on as a program would; what it was given it says over a
pipe. The parent looks at the ledger after each fault.
"""

import contextlib
import functools
import hashlib
import itertools
import os
import random
import signal
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest import mock

import gaugedp as gd
from gaugedp._internal.postgres import Address
from gaugedp.errors import STAYS_SPENT, UNTOUCHED, GaugedpError
from gaugedp.ledger import Ledger, Reservation, transaction

CHARGE, UNIT, DOMAIN = gd.PureDP(0.001), gd.PrivacyUnit(), gd.Domain.of(sex=["1", "2"])
PER_LEDGER = 40  # faults, then a new ledger is opened
KINDS = {"file": ("kill", "interrupt", "no memory", "engine"), "server": ("kill", "interrupt", "no memory", "backend")}
ACTS = ("reserve", "settle", "look", "release")
ENDINGS = (UNTOUCHED, STAYS_SPENT, "may have been charged.")

STATEMENTS = ("BEGIN", "SELECT", "INSERT", "UPDATE", "COMMIT", "PRAGMA")

Hit = Callable[[str], None]


# -- steps -----------------------------------------------------------------------------------------


class Points:
    """The steps of an act in order; at the one that is armed, the fault happens."""

    def __init__(self, fault: "Fault | None" = None, say: Hit = lambda _: None) -> None:
        self.steps: list[str] = []
        self._fault, self._say = fault, say
        self.connection: Any = None

    def __call__(self, step: str) -> None:
        self.steps.append(step)
        if self._fault is not None and len(self.steps) - 1 == self._fault.place:
            fault, self._fault = self._fault, None
            self._say("struck")
            fault.strike(self.connection)

    def around(self, name: str, act: Callable[..., Any]) -> Callable[..., Any]:
        """`act` with a step before and one after it."""

        def watched(*arguments: Any, **words: Any) -> Any:
            self(f"before {name}")
            outcome = act(*arguments, **words)
            self(f"after {name}")
            return outcome

        return watched


def _name(statement: str) -> str:
    words = statement.split()
    return " ".join(words[:2] if words[0] in ("BEGIN", "PRAGMA", "INSERT", "UPDATE") else words[:1])


@contextlib.contextmanager
def watched(points: Points) -> Iterator[None]:
    """Every statement that any ledger sends, every close, and every link of the chain is a step."""

    class File(sqlite3.Connection):
        def execute(self, statement: str, *values: Any) -> Any:
            points.connection = None
            return points.around(_name(statement), super().execute)(statement, *values)

        def close(self) -> None:
            points("before close")
            super().close()

    plain = sqlite3.connect
    patches = [
        mock.patch("sqlite3.connect", lambda *rest, **words: plain(*rest, **words, factory=File)),
        mock.patch.object(transaction, "extend", points.around("extend the chain", transaction.extend)),
        mock.patch.object(transaction, "link", points.around("link of the chain", transaction.link)),
        *_on_servers(points),
    ]
    with contextlib.ExitStack() as stack:
        for patch in patches:
            stack.enter_context(patch)
        yield


def _on_servers(points: Points) -> list[Any]:
    """The steps of connections to servers, kept ones included; none where psycopg is not installed."""
    if find_spec("psycopg") is None:
        return []
    import psycopg

    connect, execute, close = Address.connect, psycopg.Cursor.execute, psycopg.Connection.close

    def connecting(self: Address, seconds: float) -> Any:
        points("before connect")
        points.connection = connect(self, seconds)
        return points.connection

    def executing(self: Any, query: Any, *values: Any, **words: Any) -> Any:
        if self.connection.info.parameter_status("application_name") != "gaugedp":
            return execute(self, query, *values, **words)
        points.connection = self.connection
        return points.around(_name(str(query)), execute)(self, query, *values, **words)

    def closing(self: Any) -> None:
        if not self.closed and self.info.parameter_status("application_name") == "gaugedp":
            points("before close")
        close(self)

    return [
        mock.patch.object(Address, "connect", connecting),
        mock.patch.object(psycopg.Cursor, "execute", executing),
        mock.patch.object(psycopg.Connection, "close", closing),
    ]


@dataclass(frozen=True)
class Fault:
    """What happens at step number `place` of `act`."""

    act: str
    place: int
    kind: str

    def strike(self, connection: Any) -> None:
        """Let it happen; `connection` is the one to a server, where there is one."""
        match self.kind:
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "interrupt":
                raise KeyboardInterrupt
            case "no memory":
                raise MemoryError
            case "engine":
                error = sqlite3.OperationalError("SECRET disk I/O error")
                error.sqlite_errorcode = random.choice([sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR])
                raise error
            case "backend":
                _end_backend(connection)
            case "crash":
                _end_server(connection)


def _end_backend(connection: Any) -> None:
    """The server ends the process that serves this connection, which is told nothing."""
    import psycopg

    if connection is not None and not connection.closed:
        with contextlib.closing(psycopg.connect(connection.info.dsn, autocommit=True)) as other:
            other.execute("SELECT pg_terminate_backend(%s, 5000)", [connection.info.backend_pid])


def _end_server(connection: Any) -> None:
    """The whole server stops at once, writing nothing more."""
    import psycopg

    server = int(Path(connection.info.host, "data", "postmaster.pid").read_text().split()[0])
    os.kill(server, signal.SIGQUIT)
    with contextlib.suppress(psycopg.Error):
        while connection.pgconn.status == psycopg.pq.ConnStatus.OK:
            connection.pgconn.exec_(b"SELECT 1")


# -- what a child does -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Doing:
    """A program on the ledger at `place`, asking under `key`. What it is guaranteed it says to `say`."""

    place: str
    table: Path
    say: Hit
    key: str

    def act(self, act: str, points: Points) -> None:
        """Do one act, with steps at `points`; what comes before it or after it is done without."""
        ledger = Ledger.open(self.place)
        if act == "release":
            return self._release(ledger, points)
        actual = self._reserve(ledger) if act == "settle" else None
        with watched(points):
            if act == "look":
                return self.say(f"looked {ledger.spent!r} {len(ledger.entries())}")
            if act == "settle":
                return self._settle(ledger, actual)
            actual = self._reserve(ledger)
        return self._settle(ledger, actual)

    def _reserve(self, ledger: Ledger) -> Reservation:
        self.say(f"asking {self.key}")
        actual = ledger.reserve([CHARGE], table="people", unit=UNIT, request={"query": "sex"}, key=self.key)
        assert isinstance(actual, Reservation)
        self.say(f"reserved {self.key} {actual.tip}")
        return actual

    def _settle(self, ledger: Ledger, found: Reservation | None) -> None:
        assert found is not None
        tip = ledger.settle(found, self.key.encode())
        self.say(f"settled {self.key} {tip} {hashlib.sha256(self.key.encode()).hexdigest()}")

    def _release(self, ledger: Ledger, points: Points) -> None:
        """A whole release, whose stages are steps."""
        table, question = gd.Table.scan(self.table, domain=DOMAIN, name="people"), gd.marginals(DOMAIN, ("sex",))
        self.say(f"asking {self.key}")
        answer = gd.release(question, table, ledger=ledger, epsilon=0.001, key=self.key, on_stage=points)
        points("show")
        said = hashlib.sha256(answer.to_json().encode()).hexdigest()
        self.say(f"settled {self.key} {ledger.entries()[-1].tip} {said}")


def live(place: str, table: Path, fault: Fault, say: Hit) -> None:
    """Meet the fault; then, if still alive, do the same again as if nothing had been, under another key."""
    for number, points in enumerate((Points(fault, say), Points())):
        try:
            Doing(place, table, say, f"{os.getpid()}-{number}").act(fault.act, points)
        except GaugedpError as refusal:
            say(f"refused {refusal}")
        except (KeyboardInterrupt, MemoryError) as error:
            say(f"raised {type(error).__name__}")


def forked(work: Callable[[Hit], None]) -> list[str]:
    """What `work` said in a child of its own, line by line, until it ended."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            work(lambda line: os.write(writing, line.replace("\n", " ").encode() + b"\n"))
        except BaseException as error:  # a child has nobody else to tell
            os.write(writing, f"failed {type(error).__name__} {error}\n".encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as lines:
        said = lines.read().splitlines()
    os.waitpid(child, 0)
    return said


# -- what is checked -------------------------------------------------------------------------------


class Inspector:
    """What must be true of a ledger after every fault; `counts` tells how often what happened."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.before = ledger.entries()
        self.guaranteed: dict[str, str] = {}
        self.tips: set[str] = set()
        self.counts: Counter[str] = Counter()

    def look(self, said: list[str]) -> None:
        """Check what a child left against what it said."""
        entries, report = self.ledger.entries(), self.ledger.verify()
        assert report.ok, report.problems
        assert entries[: len(self.before)] == self.before, "an entry was changed, lost or given back"
        kept = {kind: {entry.key for entry in entries if entry.kind == kind} for kind in ("reserve", "settle")}
        requested, reserved = self._hear(said)
        assert reserved <= kept["reserve"], "an acknowledged reservation was lost"
        assert self.guaranteed.keys() <= kept["settle"], "an acknowledged release was lost"
        assert self.tips <= {entry.tip for entry in entries}
        assert self.ledger.spent == gd.PureDP(len(kept["reserve"]) / 1000), "the sum is not that of the entries"
        new = {entry.key for entry in entries[len(self.before) :] if entry.kind == "reserve"}
        assert new <= requested, "something was spent that nobody asked for"
        self._check_refusals(said, kept["reserve"])
        self.counts["acknowledged"] += len(reserved)
        self.counts["spent in vain"] += len(new - kept["settle"])
        self.before = entries

    def close(self) -> None:
        """Every acknowledged release is found under its key, byte for byte."""
        for key, said in list(self.guaranteed.items())[-5:]:
            row = self.ledger._store.run(lambda one, key=key: one.find("settle", key), write=False)
            assert hashlib.sha256(row.event.released).hexdigest() == said

    def _hear(self, said: list[str]) -> tuple[set[str], set[str]]:
        requested, reserved = set(), set()
        for word, *rest in map(str.split, said):
            assert word != "failed", said
            if word == "asking":
                requested.add(rest[0])
            if word in ("reserved", "settled"):
                reserved.add(rest[0])
                self.tips.add(rest[1])
            if word == "settled":
                self.guaranteed[rest[0]] = rest[2]
            self.counts[word] += word in ("refused", "raised")
        return requested, reserved

    def _check_refusals(self, said: list[str], kept: set[str | None]) -> None:
        """Every refusal is a sentence; where it says that nothing was spent, nothing was."""
        requested = None
        for line in said:
            word, _, rest = line.partition(" ")
            requested = rest.split()[0] if word == "asking" else requested
            if word == "refused":
                assert rest.endswith(ENDINGS), rest
                assert not any(private in rest for private in ("SECRET", "sqlite", "psycopg", "Traceback")), rest
                assert not rest.endswith(UNTOUCHED) or requested not in kept, "a charge was kept and denied"
            if word in ("refused", "raised"):
                requested = None  # what follows speaks of another try


def run(
    count: int, store: str, new_place: Callable[[], str], table: Path, mend: Callable[[], object] | None = None
) -> Counter[str]:
    """Let `count` faults happen on ledgers of one store, over all steps of all acts, and return counts.

    `new_place` gives the place of a new ledger. Every step comes up once before any comes up again. With `mend`, which
    starts the server again, one in ten of the faults of kind "backend" is a crash of the whole server.
    """
    table.write_text("sex\n" + "1\n2\n" * 20)
    steps = {act: _steps(act, _opened(new_place(), 1000), table) for act in ACTS}
    faults, total = _faults(steps, store, 0 if mend is None else 10), Counter(steps=sum(map(len, steps.values())))
    for number in itertools.count():
        place = _opened(new_place(), 0.03 if number % 3 == 2 else 1000)  # one in three runs out
        inspector = Inspector(Ledger.open(place))
        for fault in itertools.islice(faults, PER_LEDGER):
            said = forked(functools.partial(live, place, table, fault))
            if fault.kind == "crash" and mend is not None:
                mend()
            inspector.look(said)
            total.update([fault.kind, "faults"] if "struck" in said else ["not reached"])
            if total["faults"] == count:
                break
        inspector.close()
        total += inspector.counts
        if total["faults"] == count:
            return total
    raise AssertionError("unreachable")


def _opened(place: str, budget: float) -> str:
    Ledger.open(place, gd.PureDP(budget), table="people", unit=UNIT)
    return place


def _steps(act: str, place: str, table: Path) -> list[str]:
    """The steps of an act, by doing it once in a child."""

    def once(say: Hit) -> None:
        points = Points()
        Doing(place, table, lambda _: None, "first").act(act, points)
        for step in points.steps:
            say(f"step {step}")

    steps = [line.partition(" ")[2] for line in forked(once) if line.startswith("step ")]
    assert steps, f"{act} has no steps"
    return steps


def _faults(steps: dict[str, list[str]], store: str, crash_each: int) -> Iterator[Fault]:
    """Every step in an order of chance, again and again, each time with another kind of fault that can happen there."""
    places = [(act, place) for act, names in steps.items() for place in range(len(names))]
    random.Random(7).shuffle(places)
    backends = itertools.count(1)
    for turn in itertools.count():
        for number, (act, place) in enumerate(places):
            possible = _possible(steps[act][place], KINDS[store])
            kind = possible[(number + turn) % len(possible)]
            crashes = kind == "backend" and crash_each and next(backends) % crash_each == 0
            yield Fault(act, place, "crash" if crashes else kind)


def _possible(step: str, kinds: tuple[str, ...]) -> list[str]:
    """What can happen at a step: an engine fails at a statement only, and there most often."""
    *general, special = kinds
    at_statement = step.startswith("before ") and step.split()[1] in STATEMENTS
    return [special, general[0], special, *general[1:]] if at_statement else general
