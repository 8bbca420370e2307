"""The one door: what happens in which order, what is kept, and what is refused."""

import dataclasses
import json
import pickle
import traceback
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import gaugedp as gd
from gaugedp.bodies import LpBall
from gaugedp.entropy import Entropy
from gaugedp.errors import STAYS_SPENT, UNTOUCHED, GaugedpError, InvalidRequest, LedgerRefused, UnreadableTable
from gaugedp.guarantees import PureDP
from gaugedp.ledger import Ledger
from gaugedp.mechanisms.base import Mechanism
from gaugedp.queries.linear import Workload
from gaugedp.queries.rules import query_rules
from gaugedp.releases.releasing import LEVELS, Release
from gaugedp.tables.duckdb.engine import DuckDBEngine
from gaugedp.tables.table import Table

SECRET = "SECRET-7731"
DOMAIN = gd.Domain.of(SEX=["1", "2"], AGE=gd.bins(0, 100, width=10), PAY=gd.bounded(0, 1000))
UNIT = gd.PrivacyUnit()
QUERY = gd.query(DOMAIN, "SEX; mean(PAY) by SEX; sum(PAY)")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    rows = [f"{1 + i % 2},{i},{10 * i},{SECRET}-{i}" for i in range(90)]
    (tmp_path / "people.csv").write_text("\n".join(["SEX,AGE,PAY,NOTE", *rows]))
    return tmp_path / "people.csv"


@pytest.fixture
def table(path: Path) -> Table:
    return Table.scan(path, domain=DOMAIN, unit=UNIT, name="people")


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.open(tmp_path / "people.ledger", PureDP(2))


def spy(monkeypatch: pytest.MonkeyPatch, owner: type, name: str, note: Callable[[], object]) -> None:
    """Call `note` after each call of a method."""
    method = getattr(owner, name)

    def noted(*words: Any, **more: Any) -> Any:
        actual = method(*words, **more)
        note()
        return actual

    monkeypatch.setattr(owner, name, noted)


# -- the order of acts -----------------------------------------------------------------------------


@pytest.fixture
def acts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is done, in order, once each time it begins."""
    done: list[str] = []
    for owner, name, act in (
        (Entropy, "bytes", "random"),
        (Mechanism, "prepare", "drawn"),
        (Ledger, "reserve", "paid"),
        (Table, "totals", "looked"),
        (Ledger, "settle", "stored"),
    ):
        spy(monkeypatch, owner, name, lambda act=act: done.append(act))
    return done


def test_noise_first_pay_second_look_third(table: Table, ledger: Ledger, acts: list[str]) -> None:
    gd.release(QUERY, table, ledger=ledger, epsilon=0.5, on_stage=acts.append)
    short = [act for act, before in zip(acts, [None, *acts], strict=False) if act != before]
    assert short == ["plan", "random", "drawn", "random", "pay", "paid", "look", "looked", "store", "stored"]


def test_the_payment_is_on_the_disk_before_the_look(
    table: Table, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def look(*_: object) -> None:
        assert Ledger.open(tmp_path / "people.ledger").spent == PureDP(0.5)
        raise KeyboardInterrupt

    monkeypatch.setattr(Table, "totals", look)
    with pytest.raises(KeyboardInterrupt):
        gd.release(QUERY, table, ledger=ledger, epsilon=0.5)


def test_the_answer_is_stored_before_it_is_returned(table: Table, ledger: Ledger, acts: list[str]) -> None:
    answer = gd.release(QUERY, table, ledger=ledger, epsilon=0.5, key="first")
    assert acts[-1] == "stored"
    actual = ledger.reserve([PureDP(0.5)], table="people", unit=UNIT, request=ledger.entries()[2].request, key="first")
    assert actual.released.decode() == answer.to_store()


@pytest.mark.parametrize("guarantee", [{"epsilon": 2.5}, {"rho": 0.1}, {"mu": 0.1}], ids=str)
def test_a_refused_payment_never_looks(
    table: Table, ledger: Ledger, acts: list[str], guarantee: dict[str, float]
) -> None:
    before = ledger.entries()
    with pytest.raises(LedgerRefused):
        gd.release(QUERY, table, ledger=ledger, **guarantee)
    assert "looked" not in acts
    assert ledger.entries() == before


# -- a look that fails -----------------------------------------------------------------------------


def test_a_failing_look_is_paid_and_says_nothing_of_its_cause(
    table: Table, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    import duckdb

    def fail(*_: object) -> None:
        raise duckdb.ConversionException(f"Could not convert string '{SECRET}' to INT")

    monkeypatch.setattr(DuckDBEngine, "_run", fail)
    with pytest.raises(UnreadableTable) as caught:
        gd.release(QUERY, table, ledger=ledger, epsilon=0.5)
    error = caught.value
    assert str(error).endswith(STAYS_SPENT)
    assert (error.__cause__, error.__context__) == (None, None)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (UnreadableTable, str(error))
    said = [str(error), repr(error), repr(vars(error)), *traceback.format_exception(error)]
    assert not any(SECRET in text for text in said)
    assert SECRET.encode() not in pickle.dumps(error)
    assert ledger.spent == PureDP(0.5)
    assert len(ledger.verify().unsettled) == 1


def test_a_file_that_went_away_after_the_scan(table: Table, path: Path, ledger: Ledger) -> None:
    path.unlink()
    with pytest.raises(UnreadableTable, match="stays spent"):
        gd.release(QUERY, table, ledger=ledger, epsilon=0.5)
    assert ledger.spent == PureDP(0.5)


def test_a_ledger_that_fails_after_the_look_does_not_deny_the_payment(
    table: Table, ledger: Ledger, tmp_path: Path
) -> None:
    def act(stage: str) -> None:
        if stage == "store":
            (tmp_path / "people.ledger").rename(tmp_path / "away")

    with pytest.raises(LedgerRefused) as caught:
        gd.release(QUERY, table, ledger=ledger, epsilon=0.5, on_stage=act)
    assert str(caught.value).endswith(STAYS_SPENT)


def test_a_ledger_that_cannot_be_read_after_paying_does_not_deny_the_payment(
    table: Table, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: Ledger) -> None:
        raise LedgerRefused("The ledger cannot be read.", "Try again.")

    monkeypatch.setattr(Ledger, "balance", property(fails))
    with pytest.raises(LedgerRefused) as caught:
        gd.release(QUERY, table, ledger=ledger, epsilon=0.5)
    assert str(caught.value).endswith(STAYS_SPENT)
    assert UNTOUCHED not in str(caught.value)


def test_a_huge_budget_does_not_lose_the_answer(table: Table) -> None:
    ledger = Ledger.in_memory(gd.GaussianDP(1e301))
    gd.release(QUERY, table, ledger=ledger, mu=0.1)


# -- keys ------------------------------------------------------------------------------------------


def test_the_same_key_gives_the_same_bytes_for_nothing(table: Table, ledger: Ledger, acts: list[str]) -> None:
    first = gd.release(QUERY, table, ledger=ledger, epsilon=0.5, key="a")
    looks = acts.count("looked")
    again = gd.release(QUERY, table, ledger=ledger, epsilon=0.5, key="a")
    assert again.to_json() == first.to_json()
    assert (acts.count("looked"), ledger.spent) == (looks, PureDP(0.5))


@pytest.mark.slow
@pytest.mark.parametrize(
    "other",
    [
        {"epsilon": 0.25},
        {"epsilon": 0.5, "rng": gd.research_rng(1)},
        {"epsilon": 0.5, "query": gd.query(DOMAIN, "SEX")},
        {"mechanism": gd.plan(QUERY, UNIT, epsilon=0.6).mechanism},
    ],
    ids=["guarantee", "seed", "question", "mechanism"],
)
def test_a_key_of_another_request_is_refused(table: Table, ledger: Ledger, other: dict[str, Any]) -> None:
    gd.release(QUERY, table, ledger=ledger, epsilon=0.5, key="a")
    with pytest.raises(LedgerRefused, match="belongs to another request"):
        gd.release(other.pop("query", QUERY), table, ledger=ledger, key="a", **other)
    assert ledger.spent == PureDP(0.5)


# -- a mechanism of one's own ----------------------------------------------------------------------


def test_a_mechanism_from_a_plan_is_taken(table: Table, ledger: Ledger) -> None:
    chosen = gd.plan(QUERY, UNIT, epsilon=0.5)
    answer = gd.release(QUERY, table, ledger=ledger, mechanism=chosen.mechanism)
    assert (answer.guarantee, ledger.spent) == (PureDP(0.5), PureDP(0.5))
    assert answer.facts["mechanism"]["name"] == chosen.mechanism.name


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("SEX", UNIT),
        ("sum(PAY); SEX; mean(PAY) by SEX", UNIT),
        ("SEX; mean(PAY) by SEX; sum(PAY)", gd.PrivacyUnit("NOTE", max_rows=2)),
        ("SEX; mean(PAY) by SEX; sum(PAY)", gd.PrivacyUnit(neighbours="replace")),
    ],
)
def test_a_mechanism_of_another_question_or_unit_is_refused(
    path: Path, ledger: Ledger, text: str, unit: gd.PrivacyUnit
) -> None:
    mechanism = gd.plan(QUERY, UNIT, epsilon=0.5).mechanism
    table = Table.scan(path, domain=DOMAIN, unit=unit, name="people")
    with pytest.raises(InvalidRequest, match="calibrated for a different query or unit") as caught:
        gd.release(gd.query(DOMAIN, text), table, ledger=ledger, mechanism=mechanism)
    assert str(caught.value).endswith(UNTOUCHED)
    assert len(ledger.entries()) == 1


def test_a_mechanism_with_another_lattice_is_told_its_step(table: Table, ledger: Ledger) -> None:
    """Of the same rank and radius, but made for answers in real numbers."""
    body = QUERY.sensitivity(UNIT)
    real = gd.Laplace.calibrate(LpBall(body.ambient_dim, 1, body.radius(1)), PureDP(0.5))
    with pytest.raises(InvalidRequest, match=rf"lattice step is {real.lattice_step}, but a release needs 1") as caught:
        gd.release(QUERY, table, ledger=ledger, mechanism=real)
    assert "query.sensitivity(unit)" in str(caught.value)
    assert len(ledger.entries()) == 1


def test_a_plan_is_taken_for_its_own_question_and_unit(path: Path, table: Table, ledger: Ledger) -> None:
    made = gd.plan(QUERY, UNIT, epsilon=0.5)
    answer = gd.release(QUERY, table, ledger=ledger, planned=made)
    assert answer.facts["candidates"] == made.table()
    other = Table.scan(path, domain=DOMAIN, unit=gd.PrivacyUnit("NOTE", max_rows=1), name="people")
    for question, source in ((gd.query(DOMAIN, "SEX"), table), (QUERY, other)):
        with pytest.raises(InvalidRequest, match="for a different query or unit"):
            gd.release(question, source, ledger=ledger, planned=made)
    assert ledger.spent == PureDP(0.5)


def test_a_plan_for_a_question_with_the_same_body_is_refused() -> None:
    """Its mechanism would fit; what it says of the answers would not."""
    domain, ledger = gd.Domain.of(A=["1", "2"], B=["1", "2"]), Ledger.in_memory(PureDP(1))
    table = Table.scan(pd.DataFrame({"A": ["1"], "B": ["2"]}), domain=domain, unit=UNIT, name="pairs")
    made = gd.plan(gd.query(domain, "A"), UNIT, epsilon=0.5)
    with pytest.raises(InvalidRequest, match="for a different query or unit"):
        gd.release(gd.query(domain, "B"), table, ledger=ledger, planned=made)
    assert ledger.spent == PureDP(0)


def test_noise_drawn_ahead_is_for_its_own_mechanism_and_one_answer(table: Table, ledger: Ledger) -> None:
    planned, faint = gd.plan(QUERY, UNIT, epsilon=0.5), gd.plan(QUERY, UNIT, epsilon=1.5)
    with pytest.raises(InvalidRequest, match="prepared by a different mechanism"):
        gd.release(QUERY, table, ledger=ledger, planned=planned, noise=faint.mechanism.pool(1)[0])
    noise = planned.mechanism.pool(1)[0]
    gd.release(QUERY, table, ledger=ledger, planned=planned, noise=noise)
    with pytest.raises(InvalidRequest, match="has already been used"):
        gd.release(QUERY, table, ledger=ledger, planned=planned, noise=noise)
    assert ledger.spent == PureDP(0.5)


def test_what_contradicts_itself_is_refused(table: Table, ledger: Ledger) -> None:
    mechanism = gd.plan(QUERY, UNIT, epsilon=0.5).mechanism
    other = gd.query(gd.Domain.of(SEX=["1", "2", "3"]), "SEX")
    for request in (
        {"query": QUERY, "mechanism": mechanism, "epsilon": 0.5},
        {"query": other, "epsilon": 0.5},
        {"query": QUERY},
    ):
        with pytest.raises(InvalidRequest):
            gd.release(request.pop("query"), table, ledger=ledger, **request)
    assert len(ledger.entries()) == 1


# -- what is published -----------------------------------------------------------------------------


def released(table: Table, query: gd.queries.Query = QUERY, **more: Any) -> Release:
    return gd.release(query, table, ledger=Ledger.in_memory(PureDP(100)), epsilon=0.5, **more)


def test_a_research_stream_is_stamped(table: Table) -> None:
    answer = released(table, rng=gd.research_rng(7))
    assert answer.facts["research_seed"] == 7
    assert json.loads(answer.to_json())["research_seed"] == 7
    assert released(table, rng=gd.research_rng(7)).values.tolist() == answer.values.tolist()
    assert released(table).facts["research_seed"] is None


def test_a_ledger_in_memory_says_so(table: Table, ledger: Ledger) -> None:
    assert released(table).facts["account"]["durable"] is False
    assert gd.release(QUERY, table, ledger=ledger, epsilon=0.5).facts["account"]["durable"] is True


def test_the_account_is_that_of_the_payment(table: Table, ledger: Ledger) -> None:
    account = gd.release(QUERY, table, ledger=ledger, epsilon=0.5).facts["account"]
    entry = ledger.entries()[account["entry"] - 1]
    assert (entry.kind, entry.tip, repr(entry.guarantee)) == ("reserve", account["tip"], account["charged"])
    assert entry.key == account["key"]
    assert (account["budget"], account["spent"], account["remaining"]) == ("PureDP(2)", "PureDP(0.5)", "PureDP(1.5)")


def test_json_holds_everything(table: Table) -> None:
    answer = released(table)
    again = Release.from_json(answer.to_json())
    assert again.to_json() == answer.to_json()
    assert (again.labels, again.estimates, again.guarantee) == (answer.labels, answer.estimates, answer.guarantee)
    assert again.values.tolist() == answer.values.tolist()
    for level in (0.5, 0.95):
        for together in (False, True):
            for first, other in zip(again.interval(level, together), answer.interval(level, together), strict=True):
                assert first.tolist() == other.tolist()


def test_numbers_beyond_64_bits_stay_whole(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    large = [2**70, -(2**70), 2**63, 0, 1, 2**80, 3]
    monkeypatch.setattr(Workload, "evaluate", lambda *_: np.array(large, dtype=object))
    answer = released(table)
    again = Release.from_json(answer.to_json())
    assert [int(number) for number in again.numbers] == [int(number) for number in answer.numbers]
    assert all(abs(int(number) - exact) < 10**6 for number, exact in zip(again.numbers, large, strict=True))
    assert again.to_json() == answer.to_json()
    assert np.isfinite(again.values).all()


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "null", "7", '{"format": "gaugedp-release-1"}', '{"format": 2}', SECRET]
)
def test_other_text_is_no_release(text: str) -> None:
    with pytest.raises(InvalidRequest, match="not a release"):
        Release.from_json(text)


def test_a_damaged_release_is_no_release(table: Table) -> None:
    facts = json.loads(released(table).to_json())
    for name in ("numbers", "labels", "estimates", "guarantee", "steps", "widths"):
        with pytest.raises(InvalidRequest, match="not a release"):
            Release.from_json(json.dumps({key: value for key, value in facts.items() if key != name}))
    with pytest.raises(InvalidRequest, match="not a release"):
        Release.from_json(json.dumps({**facts, "numbers": facts["numbers"][:-1]}))


def test_a_frame_holds_the_answers(table: Table) -> None:
    pytest.importorskip("pandas", reason="a frame needs pandas")
    answer = released(table)
    frame = answer.to_frame(0.9)
    low, high = answer.interval(0.9)
    assert list(frame.columns)[-7:] == ["query", "estimate", "lower", "upper", "lower_all", "upper_all", "cell"]
    assert list(zip(frame["query"], frame["cell"], strict=True)) == answer.labels
    for name, values in (("estimate", answer.values), ("lower", low), ("upper", high)):
        assert frame[name].tolist() == values.tolist()


def test_labels_and_values_run_alike(table: Table) -> None:
    answer = released(table, gd.query(DOMAIN, "SEX*AGE; mean(PAY) by SEX"), rng=gd.research_rng(3))
    assert answer.labels[:2] == [("SEX*AGE", "SEX=1, AGE=[0,10)"), ("SEX*AGE", "SEX=1, AGE=[10,20)")]
    assert answer.labels[-2:] == [("mean(PAY) by SEX", "SEX=1"), ("mean(PAY) by SEX", "SEX=2")]
    assert len(answer.labels) == len(answer.values) == 22
    assert len(answer.numbers) == 24  # of a mean, a sum and a count
    exact = gd.release(QUERY, table, ledger=Ledger.in_memory(PureDP(1e9)), epsilon=1e6).values
    assert exact[:2].tolist() == [45, 45]
    assert exact[2:].round(3).tolist() == [440, 450, 40050]


# -- intervals -------------------------------------------------------------------------------------


STATED = LEVELS[:-1]  # the last serves means only


def widths(answer: Release, level: float, together: bool = False) -> np.ndarray:
    low, high = answer.interval(level, together)
    assert (low <= answer.values).all()
    assert (answer.values <= high).all()
    return high - low


def test_intervals_grow_with_the_level_and_all_at_once_are_wider(table: Table) -> None:
    answer = released(table, rng=gd.research_rng(5))
    for narrow, wide in pairwise(STATED):
        assert (widths(answer, narrow) <= widths(answer, wide)).all()
    for level in STATED:  # a mean alone takes the widths of its parts at a higher level
        assert (widths(answer, level) <= 1.05 * widths(answer, level, True)).all()
    assert (widths(answer, 0.95)[[0, 4]] < widths(answer, 0.95, True)[[0, 4]]).all()


def test_a_level_between_is_raised_to_the_next(table: Table) -> None:
    answer = released(table, gd.query(DOMAIN, "SEX; sum(PAY)"))
    assert (widths(answer, 0.93) == widths(answer, 0.95)).all()
    assert (widths(answer, 0.93) > widths(answer, 0.9)).all()
    assert (widths(answer, 0.01) == widths(answer, 0.5)).all()


@pytest.mark.many
@pytest.mark.parametrize("level", [0, 1, -1, 0.9999, 95, float("nan"), float("inf"), "0.95", None, True])
def test_an_unknown_level_is_refused(table: Table, level: Any) -> None:
    with pytest.raises(InvalidRequest, match="`level` is"):
        released(table).interval(level)


def test_the_interval_of_a_mean_is_within_those_of_its_sum_and_count(table: Table) -> None:
    answer = released(table, gd.query(DOMAIN, "mean(PAY)"), rng=gd.research_rng(3))
    mechanism = gd.plan(gd.query(DOMAIN, "mean(PAY)"), UNIT, epsilon=0.5).mechanism
    (sum_,), (count,) = answer.numbers[:1].astype(float), answer.numbers[1:].astype(float)
    before = 0.0
    for level in (0.5, 0.95, 0.999):
        sum_width, count_width = mechanism.half_widths((1 + level) / 2)
        corners = [(sum_ + a * sum_width) / 2 / (count + b * count_width) for a in (-1, 1) for b in (-1, 1)]
        low, high = answer.interval(level)
        slack = 0.02 * (max(corners) - min(corners))  # of the far quantile of a quotient, which public draws tell
        assert max(0, 500 + min(corners) - slack) <= low[0] < high[0] <= min(1000, 500 + max(corners) + slack)
        assert high[0] - low[0] > before
        before = high[0] - low[0]


def test_a_release_of_before_there_were_quotients_shows_wider_means(table: Table) -> None:
    answer = released(table, gd.query(DOMAIN, "mean(PAY); SEX"))
    facts = json.loads(answer.to_json())
    again = Release.from_json(answer.to_json())
    assert [end.tolist() for end in again.interval(0.9)] == [end.tolist() for end in answer.interval(0.9)]
    for spoilt in ({"0.95": [[1, 2.0]]}, {"0.95": [[10**9, 2.0]]}, {"0.95": [[9, float("nan")]]}, 7):
        with pytest.raises(InvalidRequest, match="not a release"):
            Release.from_json(json.dumps({**facts, "widths": {**facts["widths"], "quotients": spoilt}}))
    del facts["widths"]["quotients"]
    older = Release.from_json(json.dumps(facts))
    assert (
        older.interval(0.9)[1][0] - older.interval(0.9)[0][0] > answer.interval(0.9)[1][0] - answer.interval(0.9)[0][0]
    )
    assert older.interval(0.9)[0][1:].tolist() == answer.interval(0.9)[0][1:].tolist()


# -- nothing is shown by accident ------------------------------------------------------------------


def test_repr_shows_no_number(table: Table) -> None:
    answer = released(table, rng=gd.research_rng(9))
    guarantee = f"{answer.guarantee!r}, {answer.exactness}"
    assert repr(answer) == f"Release('SEX; mean(PAY) by SEX; sum(PAY)', 5 answers, {guarantee})"
    assert repr(table).startswith("<Table 'people': a CSV file")


def test_an_empty_table_is_answered(tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text("SEX,AGE,PAY\n")
    table = Table.scan(tmp_path / "empty.csv", domain=DOMAIN, unit=UNIT, name="people")
    answer = gd.release(QUERY, table, ledger=Ledger.in_memory(PureDP(1e9)), epsilon=1e6)
    assert answer.values[[0, 1, 4]].tolist() == [0, 0, 0]
    assert (answer.interval(0.95)[0][2:4].tolist(), answer.interval(0.95)[1][2:4].tolist()) == ([0, 0], [1000, 1000])


def test_errors_of_the_door_are_of_one_kind() -> None:
    assert all(issubclass(kind, GaugedpError) for kind in (InvalidRequest, LedgerRefused, UnreadableTable))


def test_a_plan_put_together_by_hand_does_not_underpay(table: Table) -> None:
    ledger = Ledger.in_memory(gd.ApproxDP(1, 1e-3))
    made = gd.plan(QUERY, UNIT, epsilon=0.5, delta=1e-6)
    gaussian = next(candidate.mechanism for candidate in made.candidates if candidate.mechanism.name == "Gaussian")
    honest = dataclasses.replace(made, mechanism=gaussian)
    cheap = dataclasses.replace(honest, requested=gd.ApproxDP(0.001, 1e-9))
    with pytest.raises(InvalidRequest, match="does not follow from"):
        gd.release(QUERY, table, ledger=ledger, planned=cheap)
    assert ledger.spent == gd.ApproxDP(0, 0)
    gd.release(QUERY, table, ledger=ledger, planned=honest)
    assert ledger.spent == gd.ApproxDP(0.5, 1e-6)


def test_the_rules_are_those_of_the_unit_the_source_and_the_question(path: Path) -> None:
    table = Table.scan(path, domain=DOMAIN, unit=gd.PrivacyUnit("NOTE"))
    rules = released(table).facts["rules"]
    assert rules == [*table.unit.rules, *table.rules, *query_rules(QUERY)]
    assert any("Rows whose NOTE is missing are left out" in rule for rule in rules)
    assert any("Malformed lines are left out" in rule for rule in rules)
