"""Released shares: they and their intervals follow from the counts alone, and hold as often as they say."""

import json

import numpy as np
import pandas as pd
import pytest

import gaugedp as gd
from gaugedp.entropy import research_rng
from gaugedp.errors import InvalidRequest
from gaugedp.releases.streams.noise import StreamNoise
from gaugedp.report.terms import read_terms

DOMAIN = gd.Domain.of(A=["u", "w", "x"], B=["p", "q"], PAY=gd.bounded(0, 100))
UNIT = gd.PrivacyUnit()
COUNTS = np.array([[400, 6], [90, 1], [10, 0]])


@pytest.fixture(scope="module")
def table() -> gd.Table:
    cells = [(a, b) for i, a in enumerate("uwx") for j, b in enumerate("pq") for _ in range(COUNTS[i, j])]
    frame = pd.DataFrame(cells, columns=["A", "B"]).assign(PAY=50)
    return gd.Table.scan(frame, domain=DOMAIN, unit=UNIT)


def released(table: gd.Table, text: str, epsilon: float = 1.0, **more) -> gd.Release:
    return gd.release(
        gd.query(DOMAIN, text), table, ledger=gd.Ledger.in_memory(gd.PureDP(epsilon)), epsilon=epsilon, **more
    )


def test_the_answers_follow_from_the_released_counts(table) -> None:
    answer = released(table, "share(A) by B", epsilon=5.0)
    counts = answer.numbers.reshape(3, 2).astype(float)
    assert answer.values.reshape(3, 2)[:, 0] == pytest.approx(counts[:, 0] / counts[:, 0].sum())
    assert answer.columns()["B"] == ["p", "q"] * 3
    assert set(answer.columns()["query"]) == {"share(A) by B"}
    assert (answer.terms[0].measure, answer.terms[0].names) == ("share", ("A", "B"))


def test_json_gives_back_shares_and_intervals(table) -> None:
    answer = released(table, "share(A) by B; A; mean(PAY) by B; median(PAY)", epsilon=8.0)
    again = gd.Release.from_json(answer.to_json())
    assert again.values.tolist() == answer.values.tolist()
    for at_once in (False, True):
        ends = [release.interval(0.9, simultaneous=at_once) for release in (answer, again)]
        assert [end.tolist() for end in ends[0]] == [end.tolist() for end in ends[1]]
        low, high = (end[:6] for end in ends[0])
        assert ((low <= answer.values[:6]) & (answer.values[:6] <= high)).all()
    facts = json.loads(answer.to_json())
    for spoilt in ({"0.95": [[1, 2.0]]}, {"0.95": [[9, float("nan")]]}, 7):
        with pytest.raises(InvalidRequest, match="not a release"):
            gd.Release.from_json(json.dumps({**facts, "widths": {**facts["widths"], "shares": spoilt}}))


def test_without_curves_single_intervals_are_those_that_hold_at_once(table) -> None:
    answer = released(table, "share(A) by B")
    facts = json.loads(answer.to_json())
    del facts["widths"]["shares"]
    bare = gd.Release.from_json(json.dumps(facts))
    assert [end.tolist() for end in bare.interval(0.95)] == [end.tolist() for end in answer.interval(0.95, True)]
    short = np.subtract(*answer.interval(0.95)[::-1])[::2]
    assert (short < np.subtract(*bare.interval(0.95)[::-1])[::2]).all()


def test_the_plan_says_what_a_share_of_a_thousand_rows_may_be_off_by() -> None:
    plan = gd.plan(gd.query(DOMAIN, "share(A) by B"), UNIT, epsilon=1)
    single, at_once = plan.terms()[0]["of_1000_rows"]
    assert 0.002 < single < 0.006 < at_once < 0.05
    assert any(remark.startswith("Shares: for a group of 1,000 rows") for remark in plan.remarks())
    both = gd.plan(gd.query(DOMAIN, "share(A); mean(PAY)"), UNIT, epsilon=1)
    assert any(remark.startswith("Means and shares: ") for remark in both.remarks())


@pytest.mark.parametrize("guarantee", [{"epsilon": 1}, {"rho": 0.05}], ids=str)
def test_counts_beside_their_shares_and_changes_cost_no_more(guarantee) -> None:
    """The noise is drawn once, and fits all terms."""
    alone = gd.plan(gd.query(DOMAIN, "B*A"), UNIT, **guarantee)
    beside = gd.plan(gd.query(DOMAIN, "B*A; share(A) by B; change(B) by A"), UNIT, **guarantee)
    widest = max(max(term["interval_95"]) for term in beside.terms())
    assert widest <= 1.2 * max(alone.terms()[0]["interval_95"])


def test_processing_works_on_the_counts(table) -> None:
    """Without negative counts shares are between 0 and 1 and add up to 1; the intervals stay those of the raw ones."""
    query = gd.query(DOMAIN, "share(A) by B; A; B")
    answer = gd.release(query, table, ledger=gd.Ledger.in_memory(gd.PureDP(1)), epsilon=1)
    done = answer.processed("consistent", "non_negative", query=query)
    shares, counts = done.values[:6].reshape(3, 2), done.values[6:9]
    assert shares.sum(axis=0) == pytest.approx([1, 1])
    assert (shares >= 0).all()
    assert shares @ done.values[9:] == pytest.approx(counts, abs=0.01)
    assert [end.tolist() for end in done.interval()] == [end.tolist() for end in answer.interval()]
    alone = answer.processed("non_negative")
    kept = np.maximum(answer.numbers[:6], 0).reshape(3, 2)
    assert alone.values[:6].reshape(3, 2) == pytest.approx(kept / kept.sum(axis=0))


def test_the_report_calls_them_shares_of_rows(table) -> None:
    (term,) = read_terms(released(table, "share(A) by B"))
    assert (term.measure, term.names) == ("Percentage of rows", ("A", "B"))
    assert term.meaning == "Percentage of rows by A and B"
    assert read_terms(released(table, "share(A)"))[0].names == ("A",)


def test_a_wide_table_has_no_sums_of_shares(table) -> None:
    wide = released(table, "share(A) by B").table("share(A) by B")
    assert list(wide.columns) == ["A", "p", "q"]
    assert len(wide) == 3


def test_where_there_are_too_few_rows_it_is_said(table) -> None:
    query = gd.query(DOMAIN, "share(A) by B")
    answer = gd.release(query, table, ledger=gd.Ledger.in_memory(gd.PureDP(1)), epsilon=0.001, rng=research_rng(3))
    assert any("share(A) by B is the whole range" in line for line in answer.remarks(query))
    assert not any("may be 0" in line for line in answer.remarks(query))
    good = gd.release(query, table, ledger=gd.Ledger.in_memory(gd.PureDP(10)), epsilon=10)
    assert good.remarks(query) == []


def test_a_stream_answers_no_shares() -> None:
    with pytest.raises(InvalidRequest, match="A stream answers counts and sums, but the"):
        StreamNoise.calibrate(gd.query(DOMAIN, "share(A)"), UNIT, gd.ZCDP(1), None)  # type: ignore[arg-type]
