"""Releases of quantiles: the order of acts, what is paid, what is published, and what fits what."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import gaugedp as gd
from gaugedp.entropy import Entropy
from gaugedp.errors import UNTOUCHED, InvalidRequest
from gaugedp.guarantees import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiBudget
from gaugedp.ledger import Ledger
from gaugedp.releases.answer import Release
from gaugedp.tables.table import Table

DOMAIN = gd.Domain.of(SEX=["1", "2"], PAY=gd.bounded(0, 1000, 0.5))
N_ROWS = 6000
QUERY = gd.query(DOMAIN, "quantiles(PAY, 0.1, 0.5, 0.9) by SEX")
UNITS = [
    gd.PrivacyUnit(),
    gd.PrivacyUnit(neighbours="replace"),
    gd.PrivacyUnit("pid", max_rows=2),
    gd.PrivacyUnit("pid", "replace", 1),
]


def frame() -> pd.DataFrame:
    """Pay is 0 to 600 for one sex and 400 to 1000 for the other; a few rows break every rule."""
    rng = np.random.default_rng(5)
    sex = rng.integers(1, 3, N_ROWS)
    pay = 400 * (sex - 1) + 600 * rng.random(N_ROWS)
    pay[:60], pay[60:120] = np.nan, np.tile([-1e300, np.inf], 30)
    return pd.DataFrame({"SEX": sex.astype(str), "PAY": pay, "pid": np.arange(N_ROWS) // 3})


FRAME = frame()


@pytest.fixture
def table() -> Table:
    return Table.scan(FRAME, domain=DOMAIN, unit=UNITS[0], name="people")


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.open(tmp_path / "people.ledger", PureDP(4))


def truth(shares: list[float]) -> np.ndarray:
    """The quantiles by pandas, of the rows that count, clipped and rounded."""
    pay = (FRAME["PAY"].clip(0, 1000) * 2).round() / 2
    grouped = pay.groupby(FRAME["SEX"])
    return np.concatenate([one.dropna().quantile(shares, interpolation="lower") for _, one in grouped])


@pytest.mark.many
@pytest.mark.parametrize("unit", UNITS, ids=str)
@pytest.mark.parametrize(
    "guarantee", [{"epsilon": 4.0}, {"epsilon": 2.0, "delta": 1e-6}, {"rho": 0.5}, {"mu": 3.0}], ids=str
)
def test_answers_are_near_the_truth_for_every_unit_and_guarantee(unit: gd.PrivacyUnit, guarantee: dict) -> None:
    """Of 3000 rows a sex, or 1000 where one row a person is kept, each within a tenth of the range."""
    made = gd.plan(QUERY, unit, **guarantee)
    source = Table.scan(FRAME, domain=DOMAIN, unit=unit, name="people")
    account = Ledger.in_memory(made.requested)
    answer = gd.release(QUERY, source, ledger=account, planned=made, rng=gd.research_rng(2))
    assert np.abs(answer.values - truth([0.1, 0.5, 0.9])).max() < 100
    lower, upper = answer.interval()
    assert ((lower <= answer.values) & (answer.values <= upper)).all()
    assert (upper - lower).max() < 700
    assert answer.exactness == "exact"
    assert account.remaining != made.requested


def test_every_engine_gives_the_same(tmp_path: Path) -> None:
    import polars as pl

    FRAME.to_csv(tmp_path / "people.csv", index=False)
    FRAME.to_parquet(tmp_path / "people.parquet")
    sources: list[Any] = [tmp_path / "people.csv", tmp_path / "people.parquet", FRAME, pl.from_pandas(FRAME)]
    answers = [
        gd.release(
            QUERY,
            Table.scan(source, domain=DOMAIN, unit=UNITS[1], name="people"),
            ledger=Ledger.in_memory(PureDP(1)),
            epsilon=1,
            rng=gd.research_rng(4),
        )
        for source in sources
    ]
    assert len({tuple(answer.numbers.tolist()) for answer in answers}) == 1


def test_entropy_is_drawn_before_the_payment_and_the_payment_before_the_look(
    table: Table, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    acts: list[str] = []
    stream = gd.research_rng(1)

    def note(owner: type, name: str, act: Any) -> None:
        method = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda self, *a, **k: (acts.append(act(self)), method(self, *a, **k))[1])

    note(Entropy, "bytes", lambda self: "drawn" if self is stream else "used")
    note(Ledger, "reserve", lambda _: "paid")
    note(Table, "totals", lambda _: "looked")
    gd.release(QUERY, table, ledger=ledger, epsilon=0.5, rng=stream)
    assert acts[:4] == ["drawn", "drawn", "paid", "looked"]
    assert set(acts[4:]) == {"used"}, "the stream itself is not touched after the look"


BUDGETS = [
    (PureDP(4), {"epsilon": 0.5}, PureDP(0.5), 1e-9),
    (ApproxDP(1, 1e-5), {"epsilon": 0.5, "delta": 1e-6}, ApproxDP(0.5, 1e-6), 0),
    (ZCDP(0.5), {"rho": 0.1}, ZCDP(0.1), 1e-9),
    (ZCDP(0.5), {"epsilon": 1.0}, ZCDP(8.5 / 121), 1e-9),  # 2·(4/11)²/8 + (3/11)²/2: verified intervals
    (GaussianDP(1), {"mu": 0.5}, GaussianDP(0.5), None),
]


@pytest.mark.slow
@pytest.mark.parametrize(("budget", "guarantee", "spent", "near"), BUDGETS, ids=repr)
def test_what_is_charged(table: Table, budget: Any, guarantee: dict, spent: Any, near: float | None) -> None:
    account = Ledger.in_memory(budget)
    gd.release(QUERY, table, ledger=account, **guarantee)
    actual, expected = account.spent.to_dict(), spent.to_dict()
    for name, number in expected.items():
        if isinstance(number, float):
            assert 0 < actual[name] <= number * (1 + 1e-12)
            assert near is None or actual[name] >= number * (1 - near - 1e-12)


def test_a_budget_by_orders_takes_the_exact_curve(table: Table) -> None:
    account = Ledger.in_memory(RenyiBudget(1.0, 1e-6))
    answer = gd.release(QUERY, table, ledger=account, epsilon=0.5)
    assert answer.facts["account"]["charged"] == repr(answer.guarantee)


def test_a_plan_by_hand_cannot_be_charged_for_less(table: Table, ledger: Ledger) -> None:
    """Its own guarantee must imply what it claims to have been asked for."""
    from dataclasses import replace

    made = gd.plan(QUERY, UNITS[0], epsilon=1.0)
    for requested in (PureDP(0.01), ApproxDP(0.01, 1e-6), ZCDP(1e-4), GaussianDP(0.01)):
        with pytest.raises(InvalidRequest, match="does not follow from"):
            gd.release(QUERY, table, ledger=ledger, planned=replace(made, requested=requested))
    assert float(ledger.spent.epsilon(0.0)) == 0
    gd.release(QUERY, table, ledger=ledger, planned=replace(made, requested=ApproxDP(1.0, 1e-6)))
    assert float(ledger.spent.epsilon(0.0)) == pytest.approx(1.0)


def test_the_same_key_gives_the_same_bytes_for_nothing(table: Table, ledger: Ledger) -> None:
    first = gd.release(QUERY, table, ledger=ledger, epsilon=0.5, key="a")
    again = gd.release(QUERY, table, ledger=ledger, epsilon=0.5, key="a")
    assert again.to_json() == first.to_json()
    assert float(ledger.spent.epsilon(0.0)) == pytest.approx(0.5)


# -- what fits what --------------------------------------------------------------------------------


def test_only_its_own_mechanism_answers_a_question(table: Table, ledger: Ledger) -> None:
    body = QUERY.sensitivity(UNITS[0])
    counts = gd.query(DOMAIN, "SEX")
    others = [
        gd.Laplace.calibrate(body, PureDP(1)),
        gd.plan(gd.query(DOMAIN, "quantiles(PAY, 0.1, 0.5, 0.8) by SEX"), UNITS[0], epsilon=1).mechanism,
        gd.plan(gd.query(DOMAIN, "quantiles(PAY, 0.1, 0.5, 0.9, level=0.99) by SEX"), UNITS[0], epsilon=1).mechanism,
        gd.plan(gd.query(DOMAIN, "quantiles(PAY, 0.1, 0.5, 0.9)"), UNITS[0], epsilon=1).mechanism,
        gd.RankExponential.calibrate(body, PureDP(1), QUERY.quantiles, first=7),
    ]
    chosen = gd.plan(QUERY, UNITS[0], epsilon=1).mechanism
    for query, mechanism in [*((QUERY, other) for other in others), (counts, chosen)]:
        with pytest.raises(InvalidRequest, match="calibrated for a different query or unit"):
            gd.release(query, table, ledger=ledger, mechanism=mechanism)
    assert len(ledger.entries()) == 1
    answer = gd.release(QUERY, table, ledger=ledger, mechanism=chosen)
    assert answer.facts["reason"] == "chosen by the caller"


# -- what is published -----------------------------------------------------------------------------


def released(table: Table, text: str = QUERY.text, **more: Any) -> Release:
    return gd.release(gd.query(DOMAIN, text), table, ledger=Ledger.in_memory(PureDP(100)), epsilon=2, **more)


def test_json_holds_everything(table: Table) -> None:
    answer = released(table)
    again = Release.from_json(answer.to_json())
    assert again.to_json() == answer.to_json()
    assert again.columns() == answer.columns()
    assert answer.estimates[0].to_dict() == {"kind": "quantile", "answers": 6, "level": 0.95}
    facts = json.loads(answer.to_json())
    for broken in ({"numbers": facts["numbers"][:-1]}, {"estimates": [{"answers": 6, "ratio": None, "ends": 0.5}]}):
        with pytest.raises(InvalidRequest, match="not a release"):
            Release.from_json(json.dumps({**facts, **broken}))


def test_values_are_multiples_of_the_step(table: Table) -> None:
    answer = released(table)
    assert set((answer.values * 2) % 1) == {0.0}
    assert answer.numbers.min() >= 0
    assert answer.numbers.max() <= 2000


def test_a_column_that_starts_below_zero() -> None:
    domain = gd.Domain.of(t=gd.bounded(-40, -10, 0.1))
    source = Table.scan(pd.DataFrame({"t": [-25.3] * 500}), domain=domain)
    answer = gd.release(gd.query(domain, "median(t)"), source, ledger=Ledger.in_memory(PureDP(9)), epsilon=9)
    assert answer.columns()["estimate"] == [-25.3]
    assert [end.tolist() for end in answer.interval()] == [[-25.3], [-25.3]]


def test_intervals_are_released_at_a_level(table: Table) -> None:
    answer = released(table, "median(PAY)")
    first = [end.tolist() for end in answer.interval()]
    assert [end.tolist() for end in answer.interval(0.5)] == first
    assert [end.tolist() for end in answer.interval(0.95, simultaneous=True)] == first
    for ask in (answer.interval, answer.to_frame, answer.columns):
        with pytest.raises(
            InvalidRequest, match=r"released at level 0\.95, but 0\.99 is requested\. Request at most 0\.95"
        ):
            ask(0.99)
    assert len(released(table, "median(PAY, level=0.99)").interval(0.99)) == 2


def test_an_empty_table_is_answered(ledger: Ledger) -> None:
    source = Table.scan(FRAME[:0], domain=DOMAIN, unit=UNITS[0], name="people")
    answer = gd.release(QUERY, source, ledger=ledger, epsilon=1, rng=gd.research_rng(6))
    lower, upper = answer.interval()
    assert (lower[[0, 3]] == 0).all()
    assert (upper[[2, 5]] == 1000).all()
    assert ((answer.values >= 0) & (answer.values <= 1000)).all()


def test_processing_changes_no_quantile(table: Table, ledger: Ledger) -> None:
    answer = released(table)
    shown = answer.processed("rounded", "non_negative")
    assert shown.values.tolist() == answer.values.tolist()
    with pytest.raises(InvalidRequest, match="applies to linear queries") as caught:
        gd.release(QUERY, table, ledger=ledger, epsilon=1, processing="consistent")
    assert str(caught.value).endswith(UNTOUCHED)
    assert len(ledger.entries()) == 1


# -- plans -----------------------------------------------------------------------------------------


def test_a_plan_speaks_of_rows() -> None:
    made = gd.plan(QUERY, UNITS[0], epsilon=1)
    assert "rows" in made.reason
    assert (made.lower_bound, made.bound_facts()) == (0.0, None)
    assert "No lower bound is known" in str(made)
    facts = made.to_dict()
    assert facts["in_rows"] is True
    assert gd.plan(gd.query(DOMAIN, "SEX"), UNITS[0], epsilon=1).to_dict()["in_rows"] is False
    (term,), (row,) = facts["terms"], facts["candidates"]
    assert term["interval_95"] == [row["interval_95"]]
    assert row["interval_95"] < row["simultaneous_95"]
    assert row["interval_95"] == made.mechanism.half_widths(0.95).max(), "not times the column's step"
    small = gd.Domain.of(PAY=gd.bounded(0, 9))
    assert gd.plan(gd.query(small, "median(PAY)"), UNITS[0], epsilon=1).lower_bound == 0.0


def test_a_plan_for_an_error_in_rows() -> None:
    made = gd.plan(QUERY, UNITS[0], error=500.0)
    assert made.error <= 500 < gd.plan(QUERY, UNITS[0], epsilon=made.epsilon * 0.98).error


def test_errors_fall_as_epsilon_grows() -> None:
    rows = gd.compare(gd.query(DOMAIN, "median(PAY)"), UNITS[0], epsilons=(0.5, 1, 2)).table()
    assert rows[0]["RankVerified"] == pytest.approx(2 * rows[1]["RankVerified"])
    assert rows[1]["RankVerified"] == pytest.approx(2 * rows[2]["RankVerified"])


# -- without intervals -----------------------------------------------------------------------------


@pytest.mark.parametrize("guarantee", [{"epsilon": 1.0}, {"rho": 0.1}, {"mu": 0.5}, {"epsilon": 1, "delta": 1e-6}])
def test_without_intervals_the_answers_take_the_whole_budget(table: Table, guarantee: dict) -> None:
    """One draw, nearer than with intervals; the interval shown is the range; JSON and the ledger keep it."""
    alone = gd.query(DOMAIN, "median(PAY) by SEX without interval")
    made = gd.plan(alone, UNITS[0], **guarantee)
    assert made.mechanism.name == "RankExponential"
    assert repr(made.mechanism.guarantee).count("ExponentialLoss") == 1
    assert made.error < gd.plan(gd.query(DOMAIN, "median(PAY) by SEX"), UNITS[0], **guarantee).error / 3
    answer = gd.release(alone, table, ledger=Ledger.in_memory(made.requested), **guarantee)
    low, high = answer.interval(0.999, simultaneous=True)
    assert (low.tolist(), high.tolist()) == ([0.0, 0.0], [1000.0, 1000.0])
    assert np.abs(answer.values - truth([0.5])).max() < 50
    for text in (answer.to_json(), answer.to_store()):
        assert Release.from_json(text).values.tolist() == answer.values.tolist()
    assert "No intervals are released" in str(made)


def test_a_stack_with_and_without_intervals(table: Table) -> None:
    query = gd.query(DOMAIN, "median(PAY) without interval; quantiles(PAY, 0.25, 0.75); SEX; mean(PAY)")
    answer = gd.release(query, table, ledger=Ledger.in_memory(PureDP(4)), epsilon=4)
    low, high = answer.interval()
    assert (low[0], high[0]) == (0.0, 1000.0)
    assert (high[1:3] - low[1:3]).max() < 400
    assert len(answer.values) == 6
    assert Release.from_json(answer.to_json()).interval()[1].tolist() == high.tolist()


# -- the report ------------------------------------------------------------------------------------


def test_the_report_shows_quantiles(table: Table) -> None:
    from gaugedp.report.html import render

    page = render(released(table))
    assert "Quantiles of PAY by SEX and level" in page
    assert "Errors and intervals are in ranks" in page
    assert "ε = 2" in page
    assert "one row of a sum counts like one row of a count" not in page
    median = render(released(table, "median(PAY, level=0.99)"))
    assert "Median PAY overall" in median
    assert "Errors and intervals are in ranks" not in render(released(table, "SEX"))
