"""Means: computed from a centred sum and a count, with intervals that hold whenever both are within their widths."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gaugedp as gd
from gaugedp.queries.estimates import Estimate, all_answers, split
from tests.queries.strategies import examples
from tests.queries.stub import StubTable

KEY = bytes(16)
DOMAIN = gd.Domain.of(s=["u", "w"], v=gd.bounded(-2, 8, step=0.5), z=gd.bounded(0, 10, missing=4))
VALUES = st.one_of(st.none(), st.integers(-4, 16).map(lambda k: Fraction(k, 2)))
ROWS = st.lists(st.fixed_dictionaries({"s": st.sampled_from([0, 1, None]), "v": VALUES, "z": st.none()}), max_size=9)


def raw(query, rows) -> np.ndarray:
    steps = np.array([float(step) for step in query.steps])
    return query.evaluate(StubTable(query.domain, rows), KEY).astype(float) * steps


def true_means(rows, groups) -> list[float | None]:
    """The mean of v over the rows of each group that have a value, the bounds' middle where there are none."""
    means = []
    for group in groups:
        values = [row["v"] for row in rows if row["v"] is not None and row["s"] in group]
        means.append(float(sum(values) / len(values)) if values else 3.0)
    return means


@given(ROWS)
@examples(60)
def test_without_noise_the_mean_is_the_mean(rows) -> None:
    by_group = gd.bounded_means(DOMAIN, "v", by="s")
    assert all_answers(by_group.estimates, raw(by_group, rows)) == pytest.approx(true_means(rows, [{0}, {1}]))
    total = gd.bounded_means(DOMAIN, "v")
    assert all_answers(total.estimates, raw(total, rows)) == pytest.approx(true_means(rows, [{0, 1, None}]))


def test_a_missing_value_that_counts_is_in_the_mean() -> None:
    query = gd.bounded_means(DOMAIN, "z")
    rows = [{"s": 0, "v": None, "z": None}, {"s": 0, "v": None, "z": Fraction(10)}]
    assert all_answers(query.estimates, raw(query, rows)).tolist() == [7.0]


@given(ROWS, st.data())
@examples(100)
def test_the_interval_holds_the_mean_when_sum_and_count_are_within_their_widths(rows, data) -> None:
    query = gd.bounded_means(DOMAIN, "v", by="s")
    exact = raw(query, rows)
    widths = np.array(data.draw(st.lists(st.floats(0, 30), min_size=4, max_size=4)))
    share = np.array(data.draw(st.lists(st.floats(-1, 1), min_size=4, max_size=4)))
    (estimate,) = query.estimates
    low, high = estimate.intervals(exact + share * widths, widths)
    means = np.array(true_means(rows, [{0}, {1}]))
    counted = exact[2:] > 0
    assert (low[counted] <= means[counted] + 1e-9).all()
    assert (means[counted] <= high[counted] + 1e-9).all()
    assert ((low >= -2) & (high <= 8) & (low <= high)).all()


@given(
    st.lists(st.integers(-(10**6), 10**6), min_size=4, max_size=4),
    st.lists(st.integers(0, 10**6), min_size=4, max_size=4),
)
@examples(100)
def test_the_estimate_lies_in_its_own_interval(values, widths) -> None:
    estimate = Estimate(2, (3.0, 5.0))
    values, widths = np.array(values, dtype=float), np.array(widths, dtype=float)
    answers = estimate.answers(values)
    low, high = estimate.intervals(values, widths)
    assert ((low - 1e-9 <= answers) & (answers <= high + 1e-9)).all()
    assert ((answers >= -2) & (answers <= 8)).all()


def test_an_interval_is_as_wide_as_the_bounds_where_the_count_may_be_zero() -> None:
    low, high = Estimate(2, (3.0, 5.0)).intervals(np.array([4.0, 4, 2, 100]), np.array([1.0, 1, 2, 2]))
    assert (low[0], high[0]) == (-2, 8)
    assert (low[1], high[1]) == pytest.approx((3 + 3 / 102, 3 + 5 / 98))


def test_the_middle_stands_where_the_count_is_not_positive() -> None:
    assert Estimate(3, (3.0, 5.0)).answers(np.array([9.0, -9, 100, 0, -4, 1])).tolist() == [3, 3, 8]


def test_counts_and_sums_pass_through() -> None:
    estimate = Estimate(2)
    values, widths = np.array([1.0, -2]), np.array([0.5, 3])
    assert estimate.answers(values).tolist() == [1, -2]
    assert [end.tolist() for end in estimate.intervals(values, widths)] == [[0.5, -5], [1.5, 1]]


def test_a_stack_is_cut_into_its_terms() -> None:
    query = gd.query(DOMAIN, "s; mean(v) by s; count")
    values = np.array([5.0, 6, 10, -12, 5, 6, 11])
    assert [len(part) for part in split(query.estimates, values)] == [2, 4, 1]
    assert all_answers(query.estimates, values).tolist() == [5, 6, 5, 1, 11]
    assert query.n_released == 7
    assert query.n_answers == 5


@given(st.integers(1, 50), st.one_of(st.none(), st.tuples(st.floats(-10, 10), st.floats(0.1, 10))))
@examples(30)
def test_an_estimate_survives_json(n_answers, ratio) -> None:
    estimate = Estimate(n_answers, ratio)
    assert Estimate.of(estimate.to_dict()) == estimate


def test_all_terms_of_a_stack_speak_of_the_same_rows() -> None:
    rows = [{"s": None, "v": Fraction(1), "z": None}, {"s": 0, "v": None, "z": None}]
    assert raw(gd.query(DOMAIN, "count"), rows).tolist() == [2]
    assert raw(gd.query(DOMAIN, "count; s"), rows).tolist() == [1, 1, 0]  # the row without s is left out of both


@given(
    st.lists(st.integers(-(10**4), 10**4), min_size=2, max_size=2),
    st.lists(st.integers(0, 10**4), min_size=5, max_size=5),
)
@examples(200)
def test_the_interval_of_a_quotient_is_where_the_gap_is_within_the_curve(values, curve) -> None:
    estimate, places = Estimate(1, (3.0, 5.0)), np.linspace(-5, 5, 4001)
    (total, count), widths = values, np.interp(places, np.linspace(-5, 5, 5), curve)
    inside = places[np.abs(total - places * count) <= widths]
    low, high = estimate.intervals(np.array(values, dtype=float), np.zeros(2), np.array([curve], dtype=float))
    answer = estimate.answers(np.array(values, dtype=float))[0]
    expected = np.append(inside + 3, answer)
    near = 2 * (places[1] - places[0])
    assert low[0] <= expected.min() + 1e-9
    assert high[0] >= expected.max() - 1e-9
    assert low[0] >= expected.min() - near or abs(count) < 1 or _is_thin(total, count, curve)
    assert high[0] <= expected.max() + near or abs(count) < 1 or _is_thin(total, count, curve)
    assert -2 <= low[0] <= answer <= high[0] <= 8


def _is_thin(total: int, count: int, curve: list[int]) -> bool:
    """Whether all that is within lies between two of the 4,001 places: then only more of them would show it."""
    places = np.linspace(-5, 5, 400_001)
    inside = np.abs(total - places * count) <= np.interp(places, np.linspace(-5, 5, 5), curve)
    return not inside.any() or np.diff(np.flatnonzero(np.diff(inside.astype(int)))).min(initial=10**6) < 300
