"""Shares: counts over the totals of their groups, with intervals that hold whenever the counts are within widths."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gaugedp as gd
from gaugedp.errors import InvalidRequest, UnknownName
from gaugedp.queries.estimates import Estimate, all_answers, curves_of, quotient_terms, share_terms, split
from gaugedp.queries.share_estimates import share_intervals, share_places, shares
from tests.queries.strategies import examples
from tests.queries.stub import StubTable

DOMAIN = gd.Domain.of(a=["u", "w", "x"], b=["p", "q"], c=gd.bins(0, 4, width=2), v=gd.bounded(0, 10))
CELLS = st.fixed_dictionaries({"a": st.integers(0, 2), "b": st.integers(0, 1), "c": st.integers(0, 1)})
ROWS = st.lists(CELLS, max_size=12)
COUNTS = st.lists(st.integers(0, 40), min_size=6, max_size=6)
NUMBERS = st.lists(st.integers(-50, 200), min_size=6, max_size=6)
WIDTHS = st.lists(st.floats(0, 30), min_size=6, max_size=6)


def exact(query, rows) -> np.ndarray:
    return query.evaluate(StubTable(DOMAIN, rows), bytes(16)).astype(float)


def true_shares(rows, of: str, by: str) -> list[float]:
    """Row by row: the share of each cell of `of` in each cell of `by` (or all), a third each where there are none."""
    results = []
    for cell in range(3):
        for group in ({0}, {1}) if by else ({0, 1},):
            chosen = [row[of] for row in rows if not by or row[by] in group]
            results.append(chosen.count(cell) / len(chosen) if chosen else 1 / 3)
    return results


@given(ROWS, st.sampled_from(["", "b", "c"]))
@examples(80)
def test_without_noise_the_share_is_the_share(rows, by) -> None:
    query = gd.shares(DOMAIN, "a", by=by or None)
    assert all_answers(query.estimates, exact(query, rows)) == pytest.approx(true_shares(rows, "a", by))


@given(ROWS)
@examples(30)
def test_shares_of_crossed_attributes_by_none_add_up_to_those_of_each(rows) -> None:
    joint, single = gd.query(DOMAIN, "share(a*b)"), gd.query(DOMAIN, "share(a)")
    both = all_answers(joint.estimates, exact(joint, rows)).reshape(3, 2)
    assert both.sum(axis=1) == pytest.approx(all_answers(single.estimates, exact(single, rows)))


@pytest.mark.parametrize("text", ["share(a) by b", "share(a)", "share(a) by b*c", "share(a*c) by b"])
def test_text_asks_what_the_builder_asks_and_releases_the_counts_of_the_cells(text: str) -> None:
    query = gd.query(DOMAIN, text)
    of, _, by = text.removeprefix("share(").partition(")")
    by = by.removeprefix(" by ")
    same = gd.shares(DOMAIN, of.split("*"), by=by.split("*") if by else None)
    assert (query.digest(), query.labels) == (same.digest(), same.labels)
    counts = gd.query(DOMAIN, "*".join(filter(None, [of, by])))
    assert query.digest() != counts.digest(), "another question"
    assert [piece for piece in query.pieces] == [piece for piece in counts.pieces], "of the same numbers"
    for unit in (gd.PrivacyUnit(), gd.PrivacyUnit(neighbours="replace")):
        first, other = (question.sensitivity(unit) for question in (query, counts))
        assert [first.radius(p) for p in (1, 2)] == [other.radius(p) for p in (1, 2)]
    assert query.outlines[0].measure == "share"
    assert query.outlines[0].names == counts.outlines[0].names


@given(COUNTS, WIDTHS, st.data())
@examples(150)
def test_the_interval_holds_the_share_when_all_counts_are_within_their_widths(counts, widths, data) -> None:
    widths = np.array(widths)
    off = np.array(data.draw(st.lists(st.floats(-1, 1), min_size=6, max_size=6)))
    low, high = share_intervals(np.array(counts) + off * widths, 3, widths, None)
    true = shares(np.array(counts, dtype=float), 3)
    assert (low <= true + 1e-9).all()
    assert (true <= high + 1e-9).all()
    assert ((low >= 0) & (high <= 1)).all()


@given(COUNTS)
@examples(60)
def test_ends_are_reached_by_tables_within_the_widths(counts) -> None:
    """No slack: the share at an end is that of a table whose counts are as far off as they may be."""
    counts, widths = np.array(counts, dtype=float), np.full(6, 3.0)
    low, high = share_intervals(counts, 3, widths, None)
    for cell in range(6):
        for end, side in ((low[cell], -1), (high[cell], 1)):
            moved = np.maximum(counts - side * widths, 0)
            moved[cell] = max(counts[cell] + side * widths[cell], 0)
            if moved.reshape(3, 2)[:, cell % 2].sum() > 0:
                assert shares(moved, 3)[cell] == pytest.approx(end)


@given(NUMBERS, st.lists(st.floats(0, 60), min_size=4, max_size=4))
@examples(150)
def test_with_curves_the_interval_is_the_set_of_shares_that_the_counts_leave_open(numbers, curve) -> None:
    """By brute force: of 2,001 shares, those with |count − p·total| ≤ q(p) are in it, and its ends are near such."""
    numbers, curves = np.array(numbers, dtype=float), np.tile(curve, (6, 1))
    low, high = share_intervals(numbers, 3, np.zeros(6), curves)
    totals, tried = np.tile(numbers.reshape(3, 2).sum(axis=0), 3), np.linspace(0, 1, 2001)
    answers = shares(numbers, 3)
    for cell in range(6):
        far = np.abs(numbers[cell] - tried * totals[cell]) - np.interp(tried, share_places(4), curve)
        is_open = tried[far <= 1e-9] if totals[cell] > 0 else tried
        expected = np.append(is_open, answers[cell])
        assert low[cell] <= expected.min() + 1e-9
        assert high[cell] >= expected.max() - 1e-9
        assert low[cell] >= expected.min() - 1e-3
        assert high[cell] <= expected.max() + 1e-3


def test_where_the_total_is_not_positive_nothing_is_known() -> None:
    numbers = np.array([5.0, 1, -9, 1, -3, 2])
    answers = shares(numbers, 3)
    assert answers[[0, 2, 4]].tolist() == [1 / 3] * 3
    assert answers[[1, 3, 5]] == pytest.approx([0.25, 0.25, 0.5])
    low, high = share_intervals(numbers, 3, np.ones(6), np.full((6, 4), 0.1))
    assert (low[[0, 2, 4]].tolist(), high[[0, 2, 4]].tolist()) == ([0, 0, 0], [1, 1, 1])


def test_the_worst_group_of_a_plan_is_that_of_its_own_intervals() -> None:
    widths = np.array([3.0, 9, 3, 9, 3, 9])
    worst = 0.0
    for share in np.linspace(0, 1, 401):
        counts = 100 * np.array([share, share, (1 - share) / 2, (1 - share) / 2, (1 - share) / 2, (1 - share) / 2])
        low, high = share_intervals(counts, 3, widths, None)
        worst = max(worst, float((high - low)[:2].max()) / 2)
    assert Estimate(6, parts=3).half_length(widths, 100) == pytest.approx(worst, rel=0.02)


def test_an_estimate_survives_json_and_spoilt_ones_do_not() -> None:
    estimate = Estimate(6, parts=3)
    facts = estimate.to_dict()
    assert Estimate.of(facts) == estimate
    assert "parts" not in Estimate(6).to_dict(), "old questions are written as before"
    for spoilt in ({"parts": 4}, {"parts": -3}, {"ratio": [0, 1]}, {"ends": 0.95}):
        with pytest.raises(ValueError):  # noqa: PT011
            Estimate.of({**facts, **spoilt})


def test_curves_go_to_the_terms_of_their_kind() -> None:
    query = gd.query(DOMAIN, "share(a); a; mean(v) by b; share(b) by c")
    of_means, of_shares = np.arange(2.0)[:, None], np.arange(10.0, 17.0)[:, None]
    parts = curves_of(query.estimates, {"quotients": of_means, "shares": of_shares})
    assert [None if part is None else part.ravel().tolist() for part in parts] == [
        [10, 11, 12],
        None,
        [0, 1],
        [13, 14, 15, 16],
    ]
    assert curves_of(query.estimates, {}) == [None] * 4
    assert share_terms(query.estimates) == [(0, 3, 3), (10, 4, 2)]
    assert quotient_terms(query.estimates) == [(6, 2, 5.0)]
    assert [len(part) for part in split(query.estimates, np.zeros(query.n_released))] == [3, 3, 4, 4]


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("share()", InvalidRequest, "The share names no attribute. Give one"),
        ("share(a) by a", InvalidRequest, "names an attribute twice"),
        ("share(v)", UnknownName, "There is no attribute 'v'."),
        ("share(a) by b, c", InvalidRequest, "write by b\\*c"),
        ("shares(a)", UnknownName, "Write share."),
        ("proportion(a) by b", UnknownName, "Write share."),
        ("share(a); share(a)", InvalidRequest, "A term is asked twice"),
        ("share(a) by b per c", UnknownName, "There is no attribute"),
        ("var(v)", UnknownName, "Write sd"),
    ],
)
def test_what_is_no_share_is_refused(text: str, error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        gd.query(DOMAIN, text)


def test_a_builder_without_attributes_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="names no attribute"):
        gd.shares(DOMAIN, ())
