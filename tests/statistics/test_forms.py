"""Intervals of quotients end where theorem 1 of derived.md says: narrower ones would hold too seldom."""

import numpy as np
import pytest

from gaugedp.statistics.comparison import MeanDifference, MeanRatio
from gaugedp.statistics.forms import FormPivot, FormQuotient, Highest, beyond
from gaugedp.statistics.inequality import Gini, Lorenz

MISSES = 0.05
VALUES = np.array([5.0, 15, 25, 35])


(GINI,), (HALF,) = Gini.quotients(VALUES), Lorenz.quotients(VALUES, [0.5])
DIFFERENCE, RATIO = MeanDifference.quotient(0, 50, 1), MeanRatio.quotient(50, 50, 1)


def draws(*scales: float) -> np.ndarray:
    rng = np.random.default_rng(11)
    return np.array(scales) * np.rint(rng.laplace(scale=2, size=(4000, len(scales))))


def test_an_end_of_a_linear_quotient_is_where_the_noise_reaches() -> None:
    noise, numbers = draws(1, 1), np.array([50.0, 100])
    share = FormQuotient(Highest(np.array([[1.0, 0]])), Highest(np.array([[0, 1.0]])), 0.0, 1.0, 0.5)
    ends = FormPivot(share, noise).ends(numbers, MISSES)
    assert ends[0] < 0.5 < ends[1]
    for end in ends:
        reach = beyond(np.abs(noise[:, 0] - end * noise[:, 1]), MISSES)
        assert np.abs(numbers[0] - end * numbers[1]) == pytest.approx(float(reach), abs=0.3)


@pytest.mark.parametrize(
    ("figure", "noise", "numbers"),
    [
        (DIFFERENCE, draws(50, 1, 50, 1), np.array([400.0, 80, -200, 80])),
        (GINI, draws(2, 2, 2, 2), np.array([30.0, 20, 15, 10])),
        (HALF, draws(2, 2, 2, 2), np.array([30.0, 20, 15, 10])),
    ],
    ids=["difference", "gini", "lowest"],
)
def test_an_end_is_where_the_form_of_noisy_numbers_reaches_from_the_nearest_ones(figure, noise, numbers) -> None:
    for end in FormPivot(figure, noise).ends(numbers, MISSES):
        assert figure.low < end < figure.high, "the range does not cut it"
        near = figure.nearest(numbers, end, np.cov(noise.T))
        reach = beyond(np.array([abs(figure.gap(near + row, end) - figure.gap(near, end)) for row in noise]), MISSES)
        assert abs(figure.gap(numbers, end)) == pytest.approx(reach, rel=0.01)


@pytest.mark.parametrize("figure", [DIFFERENCE, GINI, HALF], ids=["difference", "gini", "lowest"])
def test_the_nearest_numbers_have_the_figure_and_no_others_are_nearer(figure) -> None:
    numbers, spread = np.array([30.0, 20, 15, 10]), np.diag([4.0, 1, 2, 1])
    value = 1.02 * figure.value(numbers)
    near = figure.nearest(numbers, value, spread)
    assert figure.gap(near, value) == pytest.approx(0, abs=0.01 * abs(figure.gap(numbers, value)))
    along = spread @ (figure.top.gradient(near) - value * figure.bottom.gradient(near))
    steps = (near - numbers) / along
    assert steps == pytest.approx(steps.mean(), rel=0.02)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.77])
def test_the_lowest_rows_are_those_of_the_rows_one_by_one(share) -> None:
    rng = np.random.default_rng(3)
    for counts in rng.integers(1, 9, (20, 4)):
        rows = np.repeat(VALUES, counts)
        whole = int(share * len(rows))
        total = rows[:whole].sum() + (share * len(rows) - whole) * rows[whole]
        assert Lorenz.quotients(VALUES, [share])[0].value(counts.astype(float)) == pytest.approx(total / rows.sum())


@pytest.mark.parametrize(
    ("figure", "numbers"),
    [(GINI, -np.ones(4)), (HALF, np.zeros(4)), (RATIO, np.array([9.0, 1, -60, 1]))],
    ids=["gini", "lowest", "ratio"],
)
def test_where_the_number_below_the_line_is_not_positive_ends_hold_all_that_is_open(figure, numbers) -> None:
    interval = FormPivot(figure, draws(*4 * [2.0]))
    low, high = interval.ends(numbers, 0.05)
    tried = np.linspace(figure.low, min(figure.high, 1000.0), 301)
    is_open = [interval.leaves_open(numbers, 0.05, value) for value in tried]
    assert low <= figure.value(numbers) <= high
    assert all(low - 1e-9 <= value <= high + 1e-9 for value in tried[is_open])
