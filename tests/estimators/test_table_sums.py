"""Fits from sums that a table's engine makes: those of the rows in memory, whatever the engine."""

import numpy as np
import pyarrow as pa
import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest, LedgerRefused, UnknownName
from gaugedp.estimators import LinearRegression, Mean
from gaugedp.estimators.table_fit import TableFit
from gaugedp.estimators.table_rows import TableDesign
from gaugedp.releases.executing import PaidRows, execute
from gaugedp.tables.table import Table
from tests.tables.engines import ENGINES

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
DOMAIN = gd.Domain.of(group=["a", "b"], x=gd.bounded(-10, 10, 0.5), z=gd.bounded(0, 4), wage=gd.bounded(0, 100))
KEY = bytes(16)


def people(n: int = 400) -> pa.Table:
    draw = np.random.default_rng(3)
    x, z = draw.uniform(-12, 12, n).round(2), draw.integers(-1, 6, n)
    wage = (50 + 2 * x + 5 * z + draw.normal(size=n)).round(1)
    return pa.table(
        {"group": draw.choice(["a", "b", "c"], n), "pid": np.arange(n) // 3, "z": z, "wage": wage}
        | {"x": pa.array([None if i % 17 == 0 else value for i, value in enumerate(x)])}
    )


def scanned(engine: str, unit: gd.PrivacyUnit) -> Table:
    return Table.scan(ENGINES[engine](people(), 1), domain=DOMAIN, unit=unit)


ROW = gd.PrivacyUnit()
PERSON = gd.PrivacyUnit("pid", max_rows=2)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_a_regression_from_sums_is_the_one_from_rows(engine: str) -> None:
    table = scanned(engine, PERSON)
    design = TableDesign.of(DOMAIN, ["group", "x", "z"], "wage", by_class=False)
    given = {"epsilon": 2.0, "delta": 1e-6, "row_norm": design.row_norm, "target_bounds": (0, 100)}
    given |= {"neighbours": "add_remove", "random_state": 1}
    rows, target = design.read(PaidRows(table, None, {}), KEY)
    more, middle = design.public_row()
    by_rows = LinearRegression(**given).fit(np.vstack([rows, more]), np.concatenate([target, middle]))
    by_sums = LinearRegression(**given).fit_table(design, PaidRows(table, None, {}), KEY)
    assert by_sums.coef_.tolist() == by_rows.coef_.tolist()
    assert by_sums.intercept_ == by_rows.intercept_
    assert by_sums.guarantee_ == by_rows.guarantee_


def test_a_model_of_a_table_elsewhere_never_lists_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    table = scanned("arrow", ROW)
    design = TableDesign.of(DOMAIN, ["x"], "wage", by_class=False)
    fit = TableFit.plan(design, "linear", ROW, gd.ApproxDP(1.0, 1e-6), None)
    monkeypatch.setattr(PaidRows, "are_elsewhere", True)
    monkeypatch.setattr(Table, "rows", lambda *_: pytest.fail("the rows were listed"))
    actual = execute(fit, None, table, rng=gd.research_rng(2))
    assert set(actual["coefficients"]) == {"x"}


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("unit", [ROW, PERSON, gd.PrivacyUnit("pid", max_rows=3, neighbours="replace")], ids=str)
def test_a_mean_from_sums(engine: str, unit: gd.PrivacyUnit) -> None:
    """At ε = 10^9 the noise is nothing: the mean of the clipped rows, missing values at the middle."""
    table = scanned(engine, unit)
    actual = Mean(epsilon=1e9, neighbours=unit.neighbours, random_state=1).fit_table(table, ["x", "z"])
    _, steps = table.rows([], ["x", "z"], KEY)
    x, z = np.where(steps[:, 0] < 0, 0.0, steps[:, 0] / 2 - 10), steps[:, 1]
    assert actual.n_rows_ == len(steps)
    if unit is ROW:
        np.testing.assert_allclose(actual.mean_, [x.mean(), z.mean()], atol=1e-5)
    low, high = actual.interval(0.99)
    assert (low <= actual.mean_).all()
    assert (actual.mean_ <= high).all()


def test_the_mean_of_a_group_of_rows_has_noise_for_the_group() -> None:
    means = [
        Mean(epsilon=1.0, noise="laplace", neighbours=unit.neighbours, random_state=1).fit_table(
            scanned("arrow", unit), ["x"]
        )
        for unit in (ROW, gd.PrivacyUnit("pid", max_rows=3), gd.PrivacyUnit("pid", max_rows=3, neighbours="replace"))
    ]
    scales = [float(mean.mechanism_.variances.max()) ** 0.5 for mean in means]
    assert scales[1] / scales[0] == pytest.approx(3, rel=0.01)
    assert scales[2] / scales[0] == pytest.approx(6, rel=0.01)
    assert all(mean.guarantee_.epsilon(0) <= 1 for mean in means)
    assert all(mean.guarantee_.epsilon(0) > 0.99 for mean in means)


def test_the_ledger_pays_for_the_unit_before_the_look(monkeypatch: pytest.MonkeyPatch) -> None:
    table = scanned("arrow", PERSON)
    ledger = gd.Ledger.in_memory(gd.PureDP(1.5))
    estimator = Mean(epsilon=1.0, noise="laplace", neighbours="add_remove", ledger=ledger)
    estimator.fit_table(table, ["x"])
    assert ledger.unit == PERSON
    assert ledger.spent.epsilon(0) == pytest.approx(1.0)
    monkeypatch.setattr(Table, "moments", lambda *_, **__: pytest.fail("the table was read"))
    with pytest.raises(LedgerRefused):
        estimator.fit_table(table, ["x"])


@pytest.mark.parametrize(
    ("words", "columns", "refusal"),
    [
        ({"neighbours": "replace"}, ["x"], InvalidRequest),
        ({"neighbours": "add_remove", "bounds": (0, 1)}, ["x"], InvalidRequest),
        ({"neighbours": "add_remove", "missing_indicator": True}, ["x"], InvalidRequest),
        ({"neighbours": "add_remove"}, [], InvalidRequest),
        ({"neighbours": "add_remove"}, ["x", "x"], InvalidRequest),
        ({"neighbours": "add_remove"}, ["group"], UnknownName),
    ],
)
def test_what_cannot_be_asked_is_refused_unread(words, columns, refusal, monkeypatch) -> None:
    monkeypatch.setattr(Table, "moments", lambda *_, **__: pytest.fail("the table was read"))
    with pytest.raises(refusal):
        Mean(epsilon=1.0, **words).fit_table(scanned("arrow", ROW), columns)
