"""The one path that charges and reads, with a measurement that counts rows and notes what is done."""

from collections.abc import Callable

import pandas as pd
import pytest

import gaugedp as gd
from gaugedp.entropy import Entropy
from gaugedp.errors import LedgerRefused
from gaugedp.ledger import Ledger
from gaugedp.releases.executing import Charge, Measurement, PaidRows, execute
from gaugedp.tables.aggregate import Rows

DOMAIN = gd.Domain.of(sex=["1", "2"])
PERSON = gd.PrivacyUnit("pid", max_rows=2)


class Counting:
    """The number of rows with noise of a known seed; `done` is what was done, in order."""

    encode, decode = staticmethod(str), staticmethod(int)

    def __init__(self, resume: bool = False, trouble: BaseException | None = None) -> None:
        self.resume, self.trouble = resume, trouble
        self.done: list[str] = []

    def prepare(self, table: Rows, rng: Entropy) -> tuple[Charge, Callable[[PaidRows], int]]:
        noise = rng.integer(3)
        self.done.append("draw")

        def evaluate(rows: PaidRows) -> int:
            self.done.append("read")
            if self.trouble is not None:
                raise self.trouble
            return int(rows.answers(gd.count(table.domain), bytes(16))[0]) + noise

        return Charge([gd.PureDP(0.5)], table.name, table.unit, {"count": True}, self.resume), evaluate


def table(unit: gd.PrivacyUnit | None = None) -> gd.Table:
    frame = pd.DataFrame({"sex": ["1", "2"] * 50, "pid": range(100)})
    return gd.Table.scan(frame, domain=DOMAIN, unit=unit or gd.PrivacyUnit(), name="people")


@pytest.fixture
def ledger() -> Ledger:
    return gd.Ledger.in_memory(gd.PureDP(1.0))


def kinds(ledger: Ledger) -> list[str]:
    return [entry.kind for entry in ledger.entries()]


def test_noise_is_drawn_before_the_charge_and_rows_are_read_after_it(ledger: Ledger) -> None:
    measurement = Counting()
    execute(measurement, ledger, table(), on_stage=measurement.done.append)
    assert measurement.done == ["draw", "pay", "look", "read", "store"]
    assert kinds(ledger) == ["open", "bind", "reserve", "settle"] or kinds(ledger) == ["open", "reserve", "settle"]


def test_a_counting_is_a_measurement(ledger: Ledger) -> None:
    measurement: Measurement[int] = Counting()
    assert 100 <= execute(measurement, ledger, table(), rng=gd.research_rng(1)) < 108


def test_the_same_key_restores_and_reads_nothing(ledger: Ledger) -> None:
    first, again = Counting(), Counting()
    assert execute(first, ledger, table(), "k") == execute(again, ledger, table(), "k")
    assert again.done == ["draw"]
    assert ledger.spent == gd.PureDP(0.5)


def test_what_is_refused_is_not_read(ledger: Ledger) -> None:
    for _ in range(2):
        execute(Counting(), ledger, table())
    refused = Counting()
    with pytest.raises(LedgerRefused):
        execute(refused, ledger, table())
    assert refused.done == ["draw"]


def test_a_ledger_of_another_unit_is_refused_and_nothing_read() -> None:
    persons, measurement = gd.Ledger.in_memory(gd.PureDP(1.0), unit=PERSON), Counting()
    with pytest.raises(LedgerRefused):
        execute(measurement, persons, table())
    assert measurement.done == ["draw"]
    assert persons.spent == gd.PureDP(0.0)


def test_a_killed_evaluation_stays_charged_and_stores_nothing(ledger: Ledger) -> None:
    with pytest.raises(KeyboardInterrupt):
        execute(Counting(trouble=KeyboardInterrupt()), ledger, table(), "k")
    assert ledger.spent == gd.PureDP(0.5)
    assert "settle" not in kinds(ledger)


def test_a_killed_evaluation_is_resumed_only_where_that_is_asked(ledger: Ledger) -> None:
    with pytest.raises(KeyboardInterrupt):
        execute(Counting(trouble=KeyboardInterrupt()), ledger, table(), "k")
    stopped = Counting()
    with pytest.raises(LedgerRefused):
        execute(stopped, ledger, table(), "k")
    assert stopped.done == ["draw"]
    assert execute(Counting(resume=True), ledger, table(), "k") >= 100
    assert ledger.spent == gd.PureDP(0.5)


def test_without_a_ledger_nothing_is_charged() -> None:
    measurement = Counting()
    assert execute(measurement, None, table(), rng=gd.research_rng(1)) >= 100
    assert measurement.done == ["draw", "read"]


def test_paid_rows_show_no_row() -> None:
    assert "people" not in repr(PaidRows(table(), None, {}))
