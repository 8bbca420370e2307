"""A fit computes with rows after it has paid, and is refused by the types and shapes of rows alone."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gaugedp as gd

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from gaugedp import estimators
from gaugedp.errors import LedgerRefused
from gaugedp.estimators.base import PrivateEstimator
from gaugedp.estimators.scoring import ScoreReport
from tests.estimators.test_every_release import CASES, DELTA, LINEAR, SLOPED, TWO, tables

pytestmark = pytest.mark.filterwarnings("ignore::gaugedp.estimators.TooFewRows")
MOVES = {"column_stack", "vstack", "hstack", "concatenate", "shape", "broadcast_to"}  # numbers, without a look at them
NAMED = pytest.mark.parametrize("case", [*CASES, "scores of classes", "scores of numbers"])


class Watched(np.ndarray):
    """Rows that note when somebody computes with them: to cut, copy or measure their shape is nothing.

    What NumPy makes a plain array of (`ascontiguousarray`) is out of sight, as where rows are pulled into a ball.
    """

    acts: list[str]

    def __array_finalize__(self, base: Any) -> None:
        self.acts = getattr(base, "acts", [])

    def note(self) -> None:
        if self.size > 0:
            self.acts.append("read")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **named: Any) -> Any:
        self.note()
        named["out"] = tuple(map(plain, named.get("out") or ())) or None
        return getattr(ufunc, method)(*map(plain, inputs), **named)

    def __array_function__(self, function: Callable[..., Any], types: Any, given: Any, named: Any) -> Any:
        if function.__name__ in MOVES:
            return super().__array_function__(function, types, given, named)
        self.note()
        return function(*map(plain, given), **{name: plain(value) for name, value in named.items()})

    def tolist(self) -> list[Any]:
        self.note()
        return super().tolist()


def plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(map(plain, value))
    return value.view(np.ndarray) if isinstance(value, Watched) else value


def made(case: str, **given: Any) -> Any:
    """A model that was not fitted, or a report on one that was."""
    if case in CASES:
        name, parameters, _, epsilon = CASES[case]
        return getattr(estimators, name)(epsilon=epsilon, delta=DELTA, random_state=1, **parameters, **given)
    rows = np.random.default_rng(2).uniform(-1, 1, (40, 3))
    if case == "scores of numbers":
        model = estimators.Ridge(10.0, DELTA, random_state=1, **LINEAR).fit(rows, rows[:, 0])
    else:
        model = estimators.LogisticRegression(10.0, DELTA, random_state=1, **TWO).fit(rows, rows[:, 0] > 0)
    return ScoreReport(model, 1.0, random_state=1, **given)


def table_for(case: str) -> Any:
    name, _, n_rows, _ = CASES.get(case, (case, {}, 40, 1.0))
    return tables(name, "opposite", "replace", n_rows)[0]


@pytest.fixture
def acts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What fits do from now on."""
    done: list[str] = []
    read, reserve = PrivateEstimator._rows, gd.Ledger.reserve

    def rows(model: PrivateEstimator, X: Any) -> np.ndarray:
        if model.ledger is None:  # a trial before payment, or a part of a search after it
            return read(model, X)
        watched = read(model, X).view(Watched)
        watched.acts = done
        return watched

    def paying(*given: Any, **named: Any) -> Any:
        done.append("pay")
        return reserve(*given, **named)

    monkeypatch.setattr(PrivateEstimator, "_rows", rows)
    monkeypatch.setattr(gd.Ledger, "reserve", paying)
    return done


@NAMED
def test_rows_are_computed_with_after_payment(case: str, acts: list[str]) -> None:
    made(case, ledger=gd.Ledger.in_memory(gd.ApproxDP(100.0, 0.5))).fit(*table_for(case))
    assert acts[0] == "pay"
    assert acts.count("pay") == 1
    is_mean = case in SLOPED or "pure mean" in case  # of the target, which is released alone
    reads_none = case.startswith("Additive") or is_mean
    if "bounds" in CASES.get(case, ("", {}))[1] and "learned" not in case and not reads_none:
        assert "read" in acts, "a control"


@NAMED
def test_a_refused_fit_computes_with_no_row(case: str, acts: list[str]) -> None:
    ledger = gd.Ledger.in_memory(gd.ApproxDP(1e-6, 1e-12))
    model = made(case, ledger=ledger)
    with pytest.raises(LedgerRefused):
        model.fit(*table_for(case))
    assert "read" not in acts
    assert not hasattr(model, "release_")


# -- tables that have little to say -----------------------------------------------------------------------


def all_alike(rows: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.repeat(rows[:1], len(rows), axis=0), np.repeat(target[:1], len(target))


def far_away(rows: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.full(rows.shape, 1e300), np.full(len(target), -1e300)


def all_missing(rows: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.full(rows.shape, np.nan), np.full(len(target), np.nan)


ODD: dict[str, Callable[..., tuple[np.ndarray, np.ndarray]]] = {
    "all alike": all_alike,
    "far away": far_away,
    "all missing": all_missing,
}


@pytest.mark.parametrize("odd", ODD)
@NAMED
def test_no_table_is_refused_for_its_numbers(case: str, odd: str) -> None:
    """Users and items of ratings, too, are cells of tables: those that are none count for nothing."""
    spent, entries = [], []
    for table in (table_for(case), ODD[odd](*table_for(case))):
        ledger = gd.Ledger.in_memory(gd.ApproxDP(100.0, 0.5))
        made(case, ledger=ledger).fit(*table)
        spent.append(ledger.spent)
        entries.append([(entry.kind, entry.request) for entry in ledger.entries() if entry.kind != "open"])
    assert spent[0] == spent[1]
    assert entries[0] == entries[1]
