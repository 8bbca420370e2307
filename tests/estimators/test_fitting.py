"""`gd.fit`: what `gaugedp fit` does, from Python."""

import doctest
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import gaugedp as gd

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from gaugedp.errors import GaugedpError, LedgerRefused
from gaugedp.estimators.stored_model import load_model
from gaugedp.tables.table import Table

DOMAIN = gd.Domain.of(
    sex=["1", "2"], age=gd.bounded(0, 100), pay=gd.bounded(0, 10), who=[f"u{i}" for i in range(9)], what=["a", "b", "c"]
)


def table(unit: gd.PrivacyUnit | None = None) -> gd.Table:
    i = np.arange(900)
    columns = {"sex": np.where(i % 3 == 0, "1", "2"), "age": i % 90, "pay": i % 90 / 9, "pid": i // 2}
    names = {"who": [f"u{n}" for n in i % 9], "what": [["a", "b", "c"][n] for n in i // 9 % 3]}
    return Table.scan(pd.DataFrame({**columns, **names}), domain=DOMAIN, unit=unit or gd.PrivacyUnit(), name="people")


@pytest.fixture
def ledger() -> gd.Ledger:
    return gd.Ledger.in_memory(gd.ApproxDP(20.0, 1e-3))


FITS = {
    "linear": {"target": "pay", "features": ["age", "sex"]},
    "linear, lasso": {"target": "pay", "features": ["age"], "norm": "l1", "radius": 1.0},
    "ridge": {"target": "pay", "features": "age"},
    "logistic": {"target": "sex", "features": ["age"], "delta": 1e-6, "score": 0.5},
    "ratings": {"target": "pay", "features": ["who", "what"]},
}


@pytest.mark.parametrize("case", FITS)
def test_a_model_is_fitted_charged_stored_and_restored(case: str, ledger: gd.Ledger) -> None:
    given, model = {"epsilon": 4.0, "key": "k", **FITS[case]}, case.partition(",")[0]
    stages: list[str] = []
    first = gd.fit(model, table(), ledger, on_stage=stages.append, **given)
    assert stages == ["plan", "pay", "look", "store"]
    assert first["facts"]["account"]["charged"] == repr(ledger.entries()[-2].guarantee)
    assert ledger.spent.epsilon(1e-6) == pytest.approx(4.0)
    again = gd.fit(model, table(), ledger=ledger, **given)
    assert json.dumps(again) == json.dumps(first) == ledger.stored("k").decode()
    assert ledger.spent.epsilon(1e-6) == pytest.approx(4.0)


def test_its_example_runs() -> None:
    (example,) = doctest.DocTestFinder().find(gd.fit, "fit", globs={})
    assert doctest.DocTestRunner().run(example) == doctest.TestResults(0, len(example.examples))
    assert len(example.examples) > 3


def test_a_fit_is_read_back_as_a_model(ledger: gd.Ledger, tmp_path: Path) -> None:
    document = gd.fit("linear", table(), ledger, target="pay", features=["age"], epsilon=10.0)
    (tmp_path / "m.json").write_text(json.dumps(document))
    assert load_model(str(tmp_path / "m.json"), DOMAIN).design.features == ("age",)


def test_a_unit_of_persons_is_protected(ledger: gd.Ledger) -> None:
    unit = gd.PrivacyUnit("pid", max_rows=2)
    document = gd.fit("linear", table(unit), ledger, target="pay", features=["age"], epsilon=1.0)
    assert ledger.unit == unit
    assert document["facts"]["protects"] == str(unit)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model": "lassoo"}, "`model` is 'lassoo'.*'poisson', 'ratings'"),
        ({"table": "people.csv"}, "`table` is of type str"),
        ({"ledger": "people.ledger"}, "`ledger` is of type str"),
        ({"target": "PAY"}, "no bounded column 'PAY'"),
        ({"features": []}, "the features are: none"),
        ({"target": None}, "one of them is of type NoneType"),
        ({"target": ["pay"]}, "is of type list"),
        ({"features": 5}, "is of type int"),
        ({"features": [b"age"], "model": "logistic"}, "is of type bytes"),
        ({"reference": 5}, "is of type int"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"radius": 1.0, "model": "ridge"}, "does not have a `radius`"),
        ({"model": "ratings", "features": ["who", "what"], "score": 1.0}, "does not accept a score"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(change: dict, words: str, ledger: gd.Ledger, monkeypatch) -> None:
    monkeypatch.setattr(Table, "rows", lambda *_: pytest.fail("the table was read"))
    given = {
        "model": "linear",
        "table": table(),
        "ledger": ledger,
        "target": "pay",
        "features": ["age"],
        "epsilon": 1.0,
    }
    with pytest.raises(GaugedpError, match=words):
        gd.fit(**{**given, **change})
    assert len(ledger.entries()) == 1


def test_a_refused_fit_reads_nothing(ledger: gd.Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Table, "rows", lambda *_: pytest.fail("the table was read"))
    with pytest.raises(LedgerRefused):
        gd.fit("linear", table(), ledger, target="pay", features=["age"], epsilon=30.0)
