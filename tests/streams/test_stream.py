"""A stream from its opening to its last period: what it answers, what it costs, what it refuses."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gaugedp as gd
from gaugedp._internal.runs import unfold
from gaugedp.bodies import Polytope
from gaugedp.errors import InvalidRequest, LedgerRefused, UnreadableTable
from gaugedp.mechanisms import Matrix
from gaugedp.mechanisms.strategies.dense import Dense
from gaugedp.releases.streams import stream as stream_file
from gaugedp.releases.streams.state import StateFile
from tests.streams.kit import BUDGET, DOMAIN, PRICE, UNIT, opened, table

LOUD = {"mu": 1e4}  # noise far below one row
RICH = gd.GaussianDP(1e5)


@pytest.fixture
def ledger() -> gd.Ledger:
    return gd.Ledger.in_memory(BUDGET)


def test_values_and_running_totals(tmp_path: Path) -> None:
    stream = opened(tmp_path, gd.Ledger.in_memory(RICH), "sex; sum(pay)", **LOUD)
    for period, size in enumerate((10, 4, 0, 6), start=1):
        answer = stream.next(table(size))
        assert answer.period == period
        assert answer.values.tolist() == [size / 2, size / 2, 5 * size]
    assert answer.running.tolist() == [10, 10, 100]
    assert answer.labels == [("sex", "sex=1"), ("sex", "sex=2"), ("sum(pay)", "all")]


def test_running_totals_are_the_sums_of_the_periods(tmp_path: Path, ledger: gd.Ledger) -> None:
    stream = opened(tmp_path, ledger)
    answers = [stream.next(table(size)) for size in (10, 4, 7, 6)]
    for number, answer in enumerate(answers, start=1):
        assert answer.running.tolist() == sum(earlier.values for earlier in answers[:number]).tolist()
        assert (answer.values == np.rint(answer.values)).all()


def test_a_reopened_stream_goes_on_where_it_stood(tmp_path: Path, ledger: gd.Ledger) -> None:
    first = opened(tmp_path, ledger).next(table(10))
    stream = opened(tmp_path, ledger)
    assert stream.answered == 1
    second = gd.Stream.load(tmp_path / "a.stream", gd.query(DOMAIN, "sex; age"), UNIT, ledger=ledger).next(table(4))
    assert (second.running - second.values).tolist() == first.running.tolist()
    assert stream.answer(1).to_json() == first.to_json()


def test_all_periods_have_one_price(tmp_path: Path, ledger: gd.Ledger) -> None:
    stream = opened(tmp_path, ledger)
    assert ledger.spent == BUDGET
    for _ in range(4):
        opened(tmp_path, ledger).next(table(3))
    assert ledger.spent == BUDGET
    with pytest.raises(InvalidRequest, match="a second horizon is charged again"):
        stream.next(table(3))
    with pytest.raises(LedgerRefused, match="costs"):
        gd.Stream.open(
            tmp_path / "b.stream",
            gd.query(DOMAIN, "sex"),
            UNIT,
            ledger=ledger,
            periods=4,
            **PRICE,  # type: ignore[arg-type]
        )
    assert not (tmp_path / "b.stream").exists()


def test_a_period_that_is_named_is_read_once(tmp_path: Path, ledger: gd.Ledger) -> None:
    stream = opened(tmp_path, ledger)
    first = stream.next(table(10), period=1)
    assert stream.next(table(600), period=1).to_json() == first.to_json()
    with pytest.raises(InvalidRequest, match="Period 3 comes after period 2"):
        stream.next(table(10), period=3)
    with pytest.raises(InvalidRequest, match="Period 2 has not been answered yet"):
        stream.answer(2)
    assert stream.answered == 1


@pytest.mark.slow
def test_intervals_hold_the_truth_as_often_as_they_say(tmp_path: Path) -> None:
    """160 numbers at 95 %: fewer than 136 within has a probability below 1e-6; all 160 below 3e-4."""
    ledger = gd.Ledger.in_memory(RICH)
    stream = opened(tmp_path, ledger, "sex; age", periods=16, mu=0.2)
    within = 0
    for period in range(1, 17):
        answer = stream.next(table(30), rng=gd.research_rng(period))
        truth = np.array([15, 15, 10, 10, 10])
        for (low, high), true in ((answer.interval(), truth), (answer.running_interval(), truth * period)):
            within += int(((low <= true) & (true <= high)).sum())
    assert 136 <= within < 160


def test_intervals_widen_with_the_level_and_with_all_at_once(tmp_path: Path, ledger: gd.Ledger) -> None:
    answer = opened(tmp_path, ledger).next(table(30))
    for interval in (answer.interval, answer.running_interval):
        widths = [
            float(np.subtract(*interval(level, together)[::-1]).sum())
            for level, together in ((0.9, False), (0.95, False), (0.95, True))
        ]
        assert widths == sorted(set(widths))
    with pytest.raises(InvalidRequest, match="level"):
        answer.interval(1.0)


def test_an_answer_is_read_back(tmp_path: Path, ledger: gd.Ledger) -> None:
    answer = opened(tmp_path, ledger, "sex; sum(pay)").next(table(30))
    again = gd.StreamAnswer.from_json(answer.to_json())
    assert again.columns() == answer.columns()
    assert again.to_json() == answer.to_json()
    answer.save_csv(tmp_path / "answer.csv")
    head = (tmp_path / "answer.csv").read_text().splitlines()[0]
    assert head == "period,query,cell,estimate,lower,upper,running,running_lower,running_upper"
    assert list(answer.to_frame().columns) == head.split(",")
    with pytest.raises(InvalidRequest, match="not a stream answer"):
        gd.StreamAnswer.from_json("{}")


def test_research_noise_is_stamped(tmp_path: Path, ledger: gd.Ledger) -> None:
    stream = opened(tmp_path, ledger)
    assert stream.next(table(3)).facts["research_seed"] is None
    seeded = stream.next(table(3), rng=gd.research_rng(5))
    assert [seeded.facts["research_seed"], stream.next(table(3)).facts["research_seed"]] == [5, 5]
    assert stream.answer(1).facts["research_seed"] is None


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"text": "sex"}, "query"),
        ({"periods": 5}, "horizon"),
        ({"mu": 0.1}, "guarantee"),
        ({"periods_per_person": 2}, "number of periods per person"),
    ],
)
def test_a_stream_is_opened_again_as_it_was(
    tmp_path: Path, ledger: gd.Ledger, change: dict[str, object], word: str
) -> None:
    opened(tmp_path, ledger)
    with pytest.raises(InvalidRequest, match=f"was opened with a different {word}"):
        opened(tmp_path, ledger, **change)  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [1.0, "1", None, 0, -3])
def test_a_stream_is_opened_again_with_whole_numbers(tmp_path: Path, ledger: gd.Ledger, number: object) -> None:
    opened(tmp_path, ledger)
    for change in ({"periods": number}, {"periods_per_person": number}):
        with pytest.raises(InvalidRequest, match="1 or a larger integer"):
            opened(tmp_path, ledger, **change)  # type: ignore[arg-type]


def test_another_unit_is_refused(tmp_path: Path, ledger: gd.Ledger) -> None:
    opened(tmp_path, ledger)
    other = gd.PrivacyUnit(neighbours="replace")
    with pytest.raises(InvalidRequest, match="a different unit"):
        gd.Stream.load(tmp_path / "a.stream", gd.query(DOMAIN, "sex; age"), other, ledger=ledger)
    with pytest.raises(InvalidRequest, match="The table and the stream differ in their"):
        opened(tmp_path, ledger).next(table(3, other))


def test_another_ledger_is_refused(tmp_path: Path, ledger: gd.Ledger) -> None:
    opened(tmp_path, ledger)
    other = gd.Ledger.in_memory(BUDGET)
    with pytest.raises(LedgerRefused, match="was not charged to this ledger"):
        opened(tmp_path, other)
    assert other.spent == gd.ApproxDP(0, 0)


def test_a_payment_for_something_else_under_the_same_key_is_refused(tmp_path: Path, ledger: gd.Ledger) -> None:
    opened(tmp_path, ledger)
    key = ledger.entries()[-1].key
    other = gd.Ledger.in_memory(BUDGET)
    gd.release(gd.query(DOMAIN, "sex"), table(3), ledger=other, epsilon=0.01, key=key)
    with pytest.raises(LedgerRefused, match="was not charged to this ledger"):
        opened(tmp_path, other)


def test_a_stream_answers_from_its_own_state_alone(tmp_path: Path) -> None:
    """Else its noise, which is little, would be paid at the price of the other, which is low."""
    ledger = gd.Ledger.in_memory(RICH)
    dear = opened(tmp_path, ledger, **LOUD)
    (tmp_path / "a.stream").unlink()
    cheap = opened(tmp_path, ledger, mu=0.01)
    entries = len(ledger.entries())
    for act in (lambda: dear.next(table(3)), lambda: dear.next(table(3), period=1), lambda: dear.answer(1)):
        with pytest.raises(InvalidRequest, match="now contains a different stream"):
            act()
    assert len(ledger.entries()) == entries
    assert cheap.next(table(3)).guarantee == gd.GaussianDP(0.01)


def test_a_stream_keeps_to_the_factor_of_its_state(tmp_path: Path, ledger: gd.Ledger) -> None:
    """Another process may have opened it in the same moment, with another factor."""
    stream = opened(tmp_path, ledger)
    file = StateFile.at(tmp_path / "a.stream")
    state = file.existing()
    file.save(replace(state, factor=tuple(tuple(2 * x for x in row) for row in state.factor)))
    with pytest.raises(InvalidRequest, match="now contains a different stream"):
        stream.next(table(3))
    assert opened(tmp_path, ledger).next(table(3)).period == 1


def test_more_periods_a_person_mean_more_noise(tmp_path: Path) -> None:
    sizes = []
    for per_person in (1, 2, 4):
        folder = tmp_path / str(per_person)
        folder.mkdir()
        stream = opened(folder, gd.Ledger.in_memory(BUDGET), periods_per_person=per_person)
        assert stream.periods_per_person == per_person
        sizes.append(float(np.sqrt(np.mean([stream.deviations(t)[1] ** 2 for t in range(1, 5)]))))
    assert sizes == sorted(set(sizes))


def test_a_missing_stream_and_wrong_kinds(tmp_path: Path, ledger: gd.Ledger) -> None:
    question = gd.query(DOMAIN, "sex")
    with pytest.raises(InvalidRequest, match="There is no stream"):
        gd.Stream.load(tmp_path / "none", question, UNIT, ledger=ledger)
    with pytest.raises(InvalidRequest, match="` is of type"):
        gd.Stream.open(tmp_path / "a", "sex", UNIT, ledger=ledger, periods=3, epsilon=1.0)  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest, match="needs a δ"):
        gd.Stream.open(tmp_path / "a", question, UNIT, ledger=ledger, periods=3, epsilon=1.0)
    assert ledger.spent == gd.ApproxDP(0, 0)


def test_a_table_that_cannot_be_read_leaves_the_period_open(tmp_path: Path, ledger: gd.Ledger) -> None:
    stream = opened(tmp_path, ledger)
    file = tmp_path / "month.csv"
    file.write_text("sex,age,pay\n1,1,3\n")
    month = gd.Table.scan(file, domain=DOMAIN, unit=UNIT)
    file.unlink()
    with pytest.raises(UnreadableTable):
        stream.next(month)
    assert stream.answered == 0
    assert stream.next(table(3)).period == 1


def test_a_stream_goes_on_where_strategies_are_computed_otherwise(
    tmp_path: Path, ledger: gd.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another processor may find another L for the same body, and B is that of the state."""
    first = opened(tmp_path, ledger).next(table(3), rng=gd.research_rng(1))
    state = StateFile.at(tmp_path / "a.stream").existing()
    monkeypatch.setattr(stream_file, "time_factor", None)  # not asked again
    monkeypatch.setattr(Matrix, "calibrate", with_another_strategy)
    again = opened(tmp_path, ledger)
    second = again.next(table(30), rng=gd.research_rng(2))
    later = StateFile.at(tmp_path / "a.stream").existing()
    assert later.factor == state.factor
    assert later.draws[0] == state.draws[0]
    assert (second.running - second.values).tolist() == first.running.tolist()
    turned, variances = again._noise.mechanism, later.variances
    np.testing.assert_allclose(variances[1], turned.scale**2 * turned.strategy.squares)
    assert not np.allclose(variances[0], variances[1])
    factor = again._noise.factor
    expected = factor.radius * np.sqrt(factor.matrix[1, :2] ** 2 @ variances)
    np.testing.assert_allclose(unfold(second.facts["deviations"]["running"]), expected)


def with_another_strategy(body: Polytope, guarantee: gd.GaussianDP, weights: None = None) -> Matrix:
    """Independent noise, which is valid too."""
    mechanism = ORIGINAL(body, guarantee, weights)
    strategy = Dense(np.eye(body.ambient_dim), body.radius(2), "independent noise")
    return replace(mechanism, strategy=strategy, scale=mechanism.scale / mechanism.strategy.radius * strategy.radius)


ORIGINAL = Matrix.calibrate


def test_a_period_is_a_whole_number_that_the_stream_has(tmp_path: Path, ledger: gd.Ledger) -> None:
    stream = opened(tmp_path, ledger)
    stream.next(table(3))
    entries = len(list(ledger.entries()))
    for period in (1.0, "1", True, 0, 5):
        with pytest.raises(InvalidRequest):
            stream.next(table(3), period=period)  # type: ignore[arg-type]
    assert len(list(ledger.entries())) == entries


def test_what_is_public_beside_the_numbers_depends_on_no_row_and_no_noise(tmp_path: Path) -> None:
    """Answers of other tables with other noise differ in their numbers, and in names that are drawn for them."""
    facts = []
    for place, (size, seed) in enumerate([(6, 1), (6, 2), (60, 3)]):
        (folder := tmp_path / str(place)).mkdir()
        stream = opened(folder, gd.Ledger.in_memory(BUDGET))
        answers = [json.loads(stream.next(table(size), rng=gd.research_rng(seed)).to_json()) for _ in range(2)]
        facts.append([without(answer, "numbers", "totals", "stream", "draw", "research_seed") for answer in answers])
    assert facts[0] == facts[1] == facts[2]


def without(facts: dict, *names: str) -> dict:
    return {name: fact for name, fact in facts.items() if name not in names}


def test_each_period_has_noise_of_its_own(tmp_path: Path) -> None:
    """Before it is mixed over time: draws of 300 periods, none like another. A false alarm: 1e-6."""
    stream = opened(tmp_path, gd.Ledger.in_memory(BUDGET), periods=3)
    rng, pairs = gd.research_rng(4), []
    for _ in range(300):
        state = stream._state()
        first = stream._draw(state, rng)
        state = replace(state.begun(first), answered=1)
        pairs.append([first.question, stream._draw(state, rng).question])
    first, second = np.array(pairs).transpose(1, 0, 2)
    correlations = (first * second).mean(axis=0) / (first.std(axis=0) * second.std(axis=0))
    assert np.abs(correlations).max() < 5.5 / math.sqrt(300)
    assert len(np.unique(np.array(pairs).reshape(-1, first.shape[1]), axis=0)) == 600
