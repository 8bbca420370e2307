"""Counts beside other counts: differences, ratios, index numbers and changes, with intervals that hold."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gaugedp as gd
from gaugedp.errors import InvalidRequest, UnknownName
from gaugedp.queries.comparison_estimates import COMPARISONS, comparison_intervals, comparisons
from gaugedp.queries.estimates import Estimate, all_answers
from gaugedp.queries.share_estimates import share_places
from tests.queries.strategies import examples
from tests.queries.stub import StubTable

DOMAIN = gd.Domain.of(a=["u", "w", "x"], b=["p", "q"], c=gd.bins(0, 4, width=2), one=["all"], v=gd.bounded(0, 10))
ROWS = st.lists(st.fixed_dictionaries({"a": st.integers(0, 2), "b": st.integers(0, 1)}), max_size=14)
COUNTS = st.lists(st.integers(0, 40), min_size=6, max_size=6)
WIDTHS = st.lists(st.integers(0, 60).map(lambda half: half / 2), min_size=6, max_size=6)
KINDS = st.sampled_from(COMPARISONS)


def expected(kind: str, own: float, other: float) -> float:
    """By the definition; where there is nothing to divide by, both are at least 1."""
    ratio = own / other if other else max(own, 1.0)
    return {"difference": own - other, "ratio": ratio, "index": 100 * ratio, "change": 100 * ratio - 100}[kind]


def pairs(kind: str, table: np.ndarray) -> list[tuple[float, float]]:
    """What each answer compares, of a table (3, groups)."""
    return [
        (table[part, group], table[part - 1 if kind == "change" else 0, group])
        for part in (1, 2)
        for group in range(table.shape[1])
    ]


@given(ROWS, KINDS, st.booleans())
@examples(80)
def test_without_noise_they_are_what_the_rows_say(rows, kind, grouped) -> None:
    query = gd.comparisons(DOMAIN, kind, "a", by="b" if grouped else None)
    cells = [[{"a": part} | ({"b": group} if grouped else {}) for group in range(1 + grouped)] for part in range(3)]
    table = np.array([[sum(cell.items() <= row.items() for row in rows) for cell in part] for part in cells])
    evaluated = query.evaluate(StubTable(DOMAIN, [{**row, "c": 0, "one": 0} for row in rows]), bytes(16))
    wanted = [expected(kind, *pair) for pair in pairs(kind, table)]
    assert all_answers(query.estimates, evaluated.astype(float)) == pytest.approx(wanted)


@pytest.mark.parametrize("kind", COMPARISONS)
def test_text_asks_what_the_builder_asks_and_releases_the_counts_of_the_cells(kind: str) -> None:
    query, counts = gd.query(DOMAIN, f"{kind}(a) by b"), gd.query(DOMAIN, "a*b")
    same = gd.comparisons(DOMAIN, kind, "a", by=["b"])
    assert (query.digest(), query.labels) == (same.digest(), same.labels)
    assert query.pieces == counts.pieces
    assert [cell for _, cell in query.labels] == [f"a={part}, b={group}" for part in "wx" for group in "pq"]
    (outline,) = query.outlines
    assert (outline.measure, outline.reference, outline.shape) == (kind, "u", (2, 2))
    assert type(outline).of(json.loads(json.dumps(outline.to_dict()))).reference == "u"
    assert Estimate.of(query.estimates[0].to_dict()) == query.estimates[0]


def test_an_axis_of_numbers_keeps_the_borders_of_the_cells_that_are_shown() -> None:
    (outline,) = gd.query(DOMAIN, "change(c)").outlines
    assert (list(outline.axes[0].texts), outline.axes[0].borders) == (["[2,4]"], (2.0, 4.0))


@given(COUNTS, WIDTHS, KINDS, st.data())
@examples(200)
def test_the_interval_holds_when_all_counts_are_within_their_widths(counts, widths, kind, data) -> None:
    widths, true = np.array(widths), np.array(counts, dtype=float)
    off = np.array(data.draw(st.lists(st.integers(-8, 8), min_size=6, max_size=6)))
    low, high = comparison_intervals(true + off / 8 * widths, kind, 3, widths, None)
    for place, (own, other) in enumerate(pairs(kind, true.reshape(3, 2))):
        if other > 0 or kind == "difference":
            wanted = expected(kind, own, other)
            slack = 1e-9 * max(1, abs(wanted))
            assert low[place] - slack <= wanted <= high[place] + slack


@given(st.lists(st.integers(-50, 200), min_size=6, max_size=6), st.lists(st.floats(1, 60), min_size=8, max_size=8))
@examples(150)
def test_with_curves_the_interval_is_the_set_of_ratios_that_the_counts_leave_open(numbers, curve) -> None:
    """By brute force: ratios m ≤ 1 with |own − m·other| ≤ q(m), those above with |other − own/m| ≤ r(1/m)."""
    counts, curves = np.array(numbers, dtype=float), np.tile(curve, (4, 1))
    low, high = comparison_intervals(counts, "ratio", 3, np.zeros(6), curves)
    answers, places = comparisons(counts, "ratio", 3), share_places(4)
    tried = np.linspace(0, 1, 2001)
    for place, (own, other) in enumerate(pairs("ratio", counts.reshape(3, 2))):
        below = tried[np.abs(own - tried * other) <= np.interp(tried, places, curve[:4]) - 1e-9]
        above = tried[np.abs(other - tried * own) <= np.interp(tried, places, curve[4:]) - 1e-9]
        with np.errstate(divide="ignore"):
            is_open = np.concatenate([below, 1 / above, [answers[place]]])
        assert low[place] <= is_open.min() + 1e-9
        assert high[place] >= is_open.max() * (1 - 1e-9)
        for end in (low[place], high[place]):
            is_below = end <= 1 and abs(own - end * other) <= np.interp(end, places, curve[:4]) + 1e-6
            is_above = end >= 1 and abs(other - own / end) <= np.interp(1 / end, places, curve[4:]) + 1e-6
            assert end == answers[place] or is_below or is_above


def test_differences_lie_within_the_width_of_the_difference_itself_in_whole_rows() -> None:
    curves = np.tile([9.0, 8, 7, 6.9, 9, 9, 9, 9], (4, 1))
    low, high = comparison_intervals(np.array([1.0, 2, 10, 20, 3, 3]), "difference", 3, np.zeros(6), curves)
    assert (low.tolist(), high.tolist()) == ([3, 12, -4, -5], [15, 24, 8, 7])


def test_one_that_has_no_upper_end_is_said_and_read_back() -> None:
    frame = pd.DataFrame({"a": ["u"] * 3 + ["w"] * 900, "b": "p", "c": 1, "one": "all", "v": 1})
    table = gd.Table.scan(frame, domain=DOMAIN)
    query = gd.query(DOMAIN, "ratio(a); change(a) by b")
    release = gd.release(query, table, ledger=gd.Ledger.in_memory(gd.PureDP(1)), epsilon=0.01)
    assert np.isinf(release.interval()[1]).any()
    again = gd.Release.from_json(release.to_json())
    assert (again.interval()[1] == release.interval()[1]).all()
    assert any("no upper end" in remark for remark in release.remarks(query))
    assert "∞" in release._repr_html_()


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("change(one)", InvalidRequest, "one has one cell"),
        ("change(v)", UnknownName, "'v'"),
        ("growth(a)", UnknownName, "Write change"),
        ("rate(a)", UnknownName, "ratio"),
        ("change(a) by a", InvalidRequest, "twice"),
    ],
)
def test_what_cannot_be_compared_is_refused(text: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        gd.query(DOMAIN, text)


def test_another_kind_is_refused() -> None:
    with pytest.raises(UnknownName, match="difference"):
        gd.comparisons(DOMAIN, "quotient", "a")


def test_the_worst_of_a_plan_is_that_of_its_own_intervals() -> None:
    widths = np.full(6, 9.0)
    half = Estimate(4, parts=3, comparison="ratio").half_length(widths, 1000)
    low, high = comparison_intervals(np.full(6, 1000.0), "ratio", 3, widths, None)
    assert half == pytest.approx(float((high - low).max()) / 2)
    assert Estimate(4, parts=3, comparison="ratio").half_length(widths, 5) == np.inf
