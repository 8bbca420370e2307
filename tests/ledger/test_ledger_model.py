"""Random histories against a model of eight lines."""

import tempfile
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from gaugedp.accountant.rounding import up_decimal
from gaugedp.errors import LedgerRefused
from gaugedp.guarantees import Guarantee, PureDP
from gaugedp.ledger import Ledger, Reservation, Stored
from tests.ledger.kit import UNIT
from tests.postgres import missing, shared_server

KEYS = st.sampled_from("abcdef")
COSTS = st.sampled_from(["0", "0.1", "0.2", "0.3", "0.7", "1e-9", "1e-30", "3"])


class History(RuleBasedStateMachine):
    """Reserve, settle and reopen; the model holds exact sums, the requests of keys and their releases."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = self.start()
        self.spent, self.requests = Fraction(0), {}
        self.open: dict[str, Reservation] = {}
        self.released: dict[str, bytes] = {}

    def start(self) -> Ledger:
        return Ledger.in_memory(PureDP(1))

    @rule(key=KEYS, cost=COSTS, query=st.sampled_from(["SEX", "AGE"]))
    def reserve(self, key: str, cost: str, query: str) -> None:
        if key in self.requests:
            replayed = self.requests[key] == (cost, query) and key in self.released
            expected: object = Stored(key, self.released[key]) if replayed else None
        else:
            expected = Reservation if self.spent + Fraction(cost) <= 1 else None
        actual = self.try_reserve(PureDP(float(cost)), query, key)
        if expected is Reservation:
            assert isinstance(actual, Reservation)
            self.spent += Fraction(cost)
            self.requests[key], self.open[key] = (cost, query), actual
        else:
            assert actual == expected

    def try_reserve(self, guarantee: Guarantee, query: str, key: str) -> Reservation | Stored | None:
        try:
            return self.ledger.reserve([guarantee], table="people", unit=UNIT, request={"q": query}, key=key)
        except LedgerRefused:
            return None

    @precondition(lambda self: self.open)
    @rule(data=st.data(), released=st.binary(max_size=20))
    def settle(self, data: st.DataObject, released: bytes) -> None:
        key = data.draw(st.sampled_from(sorted(self.open)))
        tip = self.ledger.settle(self.open.pop(key), released)
        self.released[key] = released
        assert tip == self.ledger.tip

    @rule()
    def reopen(self) -> None:
        self.ledger = self.again()

    def again(self) -> Ledger:
        return self.ledger

    @invariant()
    def it_agrees(self) -> None:
        assert self.ledger.spent == PureDP(up_decimal(self.spent))
        report = self.ledger.verify()
        assert report.ok
        assert set(report.unsettled) == set(self.open)
        charges = sum(sum(entry.charge) for entry in self.ledger.entries())
        assert charges == self.spent * 10**30


class FileHistory(History):
    """The same on a file."""

    def start(self) -> Ledger:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "people.ledger"
        return Ledger.open(self.path, PureDP(1))

    def again(self) -> Ledger:
        return Ledger.open(self.path)

    def teardown(self) -> None:
        self.folder.cleanup()


class ServerHistory(History):
    """The same on a server."""

    def start(self) -> Ledger:
        reason = missing()
        if reason is not None:
            pytest.skip(reason)
        self.url = shared_server().new_ledger()
        return Ledger.open(self.url, PureDP(1))

    def again(self) -> Ledger:
        return Ledger.open(self.url)


TestHistory = History.TestCase
TestHistory.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
TestFileHistory = FileHistory.TestCase
TestFileHistory.settings = settings(max_examples=8, stateful_step_count=15, deadline=None)
TestServerHistory = ServerHistory.TestCase
TestServerHistory.settings = settings(max_examples=3, stateful_step_count=12, deadline=None)
