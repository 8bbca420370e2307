"""The order of acts of everything that charges a ledger: what it draws, when it pays, and when it reads.

Whatever reads a table has paid before, and reads it once; nothing is stored before it was read; noise that is added to
the answers of a question is drawn before payment, and that of a stream is on the disk before the table is read.
"""

from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import gaugedp as gd
from gaugedp.errors import LedgerRefused
from gaugedp.mechanisms import Mechanism, PartitionSelection, Selection
from gaugedp.mechanisms.selection import PreparedChoice
from gaugedp.releases.executing import execute
from gaugedp.releases.streams.noise import StreamNoise
from gaugedp.releases.streams.state import StateFile
from gaugedp.tables.engine import Engine

DOMAIN = gd.Domain.of(sex=["1", "2"], age=gd.integers(0, 9), pay=gd.bounded(0, 10), debt=gd.bounded(-5, 5, 0.5))
UNIT = gd.PrivacyUnit()
BUDGET = gd.ApproxDP(9.0, 1e-3)


def people(n_rows: int = 60) -> pd.DataFrame:
    draw = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "sex": draw.choice(["1", "2"], n_rows),
            "age": draw.integers(0, 10, n_rows),
            "pay": draw.integers(0, 11, n_rows),
            "debt": draw.integers(-10, 11, n_rows) / 2,
            "city": draw.choice(["Bern", "Basel", "Chur"], n_rows),
        }
    )


def table() -> gd.Table:
    return gd.Table.scan(people(), domain=DOMAIN, unit=UNIT)


@pytest.fixture
def acts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is done from now on, in order."""
    done: list[str] = []

    def noting(owner: type, name: str, act: str) -> None:
        original = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *given, **named: (done.append(act), original(*given, **named))[1])

    for owner, name, act in (
        (gd.Ledger, "reserve", "pay"), (gd.Ledger, "settle", "store"), (StateFile, "save", "keep"),
        (Engine, "run", "read"), (Engine, "add_up", "read"),
        (Mechanism, "prepare", "noise"), (Mechanism, "pool", "noise"), (StreamNoise, "draw", "noise"),
        (PartitionSelection, "draw", "noise"), (PreparedChoice, "__call__", "noise"), (Selection, "draw", "noise"),
    ):  # fmt: skip
        noting(owner, name, act)
    return done


def in_short(done: list[str]) -> str:
    return " ".join(act for act, _ in groupby(done))


def released(ledger: gd.Ledger, _: Path) -> None:
    gd.release(gd.query(DOMAIN, "sex; mean(pay)"), table(), ledger=ledger, epsilon=1.0)


def released_quantiles(ledger: gd.Ledger, _: Path) -> None:
    gd.release(gd.query(DOMAIN, "median(pay) by sex"), table(), ledger=ledger, epsilon=1.0)


def released_adaptively(ledger: gd.Ledger, _: Path) -> None:
    gd.release_adaptively(gd.query(DOMAIN, "sex*age"), table(), ledger=ledger, epsilon=1.0, delta=1e-6)


def released_keys(ledger: gd.Ledger, _: Path) -> None:
    domain = gd.Domain.of(city=gd.unknown_keys(most=10))
    keyed = gd.Table.scan(people(), domain=domain, unit=UNIT, name="people")
    gd.release_keys(keyed, "city", gd.ApproxDP(1.0, 1e-6), ledger=ledger)


def opened(ledger: gd.Ledger, folder: Path) -> gd.Stream:
    requested = {"periods": 3, "epsilon": 1.0, "delta": 1e-6}
    return gd.Stream.open(folder / "a.stream", gd.query(DOMAIN, "sex"), UNIT, ledger=ledger, **requested)


def next_period(ledger: gd.Ledger, folder: Path) -> None:
    opened(ledger, folder).next(table())


def mean_of_table(ledger: gd.Ledger, _: Path) -> None:
    from gaugedp.estimators import Mean

    Mean(1.0, neighbours="add_remove", ledger=ledger).fit_table(table(), ["pay", "debt"])


def asked_by_command(plan: Callable[[], Any]) -> Callable[[gd.Ledger, Path], None]:
    def run(ledger: gd.Ledger, _: Path) -> None:
        execute(plan(), ledger, table())

    return run


def model_with_score() -> Any:
    from gaugedp.estimators.table_fit import TableFit
    from gaugedp.estimators.table_rows import TableDesign

    design = TableDesign.of(DOMAIN, ["sex", "pay"], "debt", False)
    return TableFit.plan(design, "linear", UNIT, gd.ApproxDP(1.0, 1e-6), 1.0)


def ratings() -> Any:
    from gaugedp.estimators.ratings_fit import RatingsDesign, RatingsFit

    return RatingsFit.plan(RatingsDesign.of(DOMAIN, ["age", "sex"], "pay"), UNIT, gd.ApproxDP(1.0, 1e-6))


def learned_bounds() -> Any:
    from gaugedp.estimators.table_bounds import TableBounds

    return TableBounds("pay", 1.0, UNIT, gd.PureDP(1.0))


ORDERS: dict[str, tuple[Callable[[gd.Ledger, Path], Any], str]] = {
    "release": (released, "noise pay read store"),
    "release of quantiles": (released_quantiles, "noise pay read store"),
    "release_adaptively": (released_adaptively, "pay read noise store"),
    "release_keys": (released_keys, "pay read noise store"),
    "Stream.open": (opened, "keep pay store keep"),
    "Stream.next": (next_period, "keep pay store keep pay noise keep read store keep"),
    "Mean.fit_table": (mean_of_table, "noise pay read store"),
    "gaugedp fit": (asked_by_command(model_with_score), "noise pay read noise store"),
    "gaugedp fit, ratings": (asked_by_command(ratings), "noise pay read noise store"),
    "gaugedp domain --learn": (asked_by_command(learned_bounds), "pay read noise store"),
}


@pytest.mark.parametrize("name", ORDERS)
def test_it_draws_pays_reads_and_stores_in_this_order(name: str, acts: list[str], tmp_path: Path) -> None:
    act, order = ORDERS[name]
    act(gd.Ledger.in_memory(BUDGET), tmp_path)
    assert in_short(acts) == order


@pytest.mark.parametrize("name", ORDERS)
def test_what_is_refused_reads_nothing(name: str, acts: list[str], tmp_path: Path) -> None:
    ledger = gd.Ledger.in_memory(gd.ApproxDP(1e-4, 1e-9))
    with pytest.raises(LedgerRefused):
        ORDERS[name][0](ledger, tmp_path)
    assert "read" not in acts
    assert "store" not in acts
    assert [entry.kind for entry in ledger.entries()] == ["open"]
