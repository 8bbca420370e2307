"""Standard deviations from released sums, squares and counts: the figures, their intervals, and what a row adds."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gaugedp as gd
from gaugedp.queries import deviation_estimates
from gaugedp.queries.deviation_estimates import ENDS, MEANS, N_WIDTHS, PLACES, deviation_intervals, deviations
from gaugedp.queries.estimates import Estimate
from gaugedp.tables.aggregate import Coarse
from tests.queries.strategies import examples
from tests.queries.stub import StubTable

DOMAIN = gd.Domain.of(A=["x", "y"], V=gd.bounded(-3, 7, 0.5))


def released(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Sums, squares and counts of one cell, without noise."""
    h = (high - low) / 2
    d = values - (high + low) / 2
    return np.array([d.sum(), (2 * d**2 - h**2).sum(), len(values)])


@given(st.lists(st.integers(-6, 14), min_size=1, max_size=9))
@examples(100)
def test_without_noise_it_is_the_standard_deviation(halves: list[int]) -> None:
    values = np.array(halves) / 2
    query = gd.query(DOMAIN, "sd(V)")
    rows = [{"V": DOMAIN.column("V").step * k} for k in halves]
    numbers = query.evaluate(StubTable(DOMAIN, rows), bytes(16))
    exact = query.in_units(numbers.astype(float))
    assert exact == pytest.approx(released(values, -3, 7))
    assert query.estimates[0].answers(exact) == pytest.approx([values.std()], abs=1e-6)


def test_cells_without_rows_have_half_of_half_the_range() -> None:
    assert deviations(np.array([5.0, -1.0, -2.0]), 4.0) == pytest.approx([2.0])
    low, high = deviation_intervals(np.array([5.0, -1.0, -2.0]), np.ones(3), 4.0, None)
    assert (low.tolist(), high.tolist()) == ([0.0], [4.0])


@pytest.mark.slow
@given(st.floats(-1, 1), st.floats(0, 1), st.integers(3, 10**6), st.lists(st.floats(-1, 1), min_size=3, max_size=3))
@examples(300)
def test_a_box_holds_the_truth_wherever_the_noise_is_within_it(
    mean: float, part: float, count: int, noise: list[float]
) -> None:
    """Where each released number is within its width, the interval holds the true deviation."""
    variance = part * (1 - mean**2)
    exact = count * np.array([mean, 2 * (variance + mean**2) - 1, 1.0])
    widths = np.array([4.0, 7.0, 2.0])
    low, high = deviation_intervals(exact + widths * noise, widths, 1.0, None)
    slack = 2e-3 * (high[0] ** 2 - low[0] ** 2) + 1e-9  # between two of 33 means
    assert low[0] ** 2 - slack <= variance <= high[0] ** 2 + slack


def test_more_means_move_no_end_by_a_thousandth(monkeypatch) -> None:
    rng = np.random.default_rng(4)
    means, counts = rng.uniform(-0.9, 0.9, 40), rng.integers(20, 3000, 40)
    variances = rng.uniform(0, 1, 40) * (1 - means**2)
    values = np.concatenate([counts * means, counts * (2 * (variances + means**2) - 1), counts])
    widths = np.repeat([6.0, 6.0, 6.0], 40)
    few = np.array(deviation_intervals(values, widths, 1.0, None)) ** 2
    monkeypatch.setattr(deviation_estimates, "_STEPS", np.linspace(0, 1, 1025))
    many = np.array(deviation_intervals(values, widths, 1.0, None)) ** 2
    assert np.abs(few - many).max() <= 1e-3 * (many[1] - many[0]).max()


def test_curves_narrower_than_the_noise_miss() -> None:
    exact = np.array([0.0, -500.0, 1000.0])  # variance 1/4
    flat = np.full((1, N_WIDTHS), 10.0)
    for shift, holds in ((9.0, True), (25.0, False)):
        low, high = deviation_intervals(exact + np.array([0, shift, 0]), np.ones(3), 1.0, flat)
        assert (low[0] <= 0.5 <= high[0]) == holds
    assert len(ENDS) + len(MEANS) * len(PLACES) == N_WIDTHS


def test_the_noise_of_the_mean_widens_what_is_open() -> None:
    """At m = 1/2, s² = 16·(1 + m²) = 20, A − 4m·B + c·N lies within 10 + 2·20/N."""
    count, mean, variance = 400.0, 0.5, 0.3
    exact = count * np.array([mean, 2 * (variance + mean**2) - 1, 1.0])
    sizes = 4 * np.sqrt(1 + ENDS**2)
    curves = np.concatenate([sizes, np.full(N_WIDTHS - len(ENDS), 10.0)])[None]
    ends = np.concatenate(deviation_intervals(exact, np.ones(3), 1.0, curves)) ** 2
    reach = (10 + 2 * 20 / count) / (2 * count)
    assert ends == pytest.approx([variance - reach, variance + reach])


@pytest.mark.parametrize(
    ("span", "bits", "reach"), [(20, 0, 20), (2**24 - 1, 0, 2**24 - 1), (2**24, 1, 2**23), (2**40 + 3, 17, 2**23)]
)
def test_squares_are_coarse_beyond_24_bits(span: int, bits: int, reach: int) -> None:
    coarse = Coarse(span)
    assert (coarse.bits, coarse.reach) == (bits, reach)
    assert (0 + coarse.half) >> coarse.bits == 0  # the ends stay the ends
    assert (span + coarse.half) >> coarse.bits == coarse.reach


def test_what_is_stored_comes_back_and_nonsense_is_refused() -> None:
    estimate = gd.query(DOMAIN, "sd(V) by A").estimates[0]
    assert estimate == Estimate(2, deviation=5.0)
    assert Estimate.of(estimate.to_dict()) == estimate
    for spoilt in (-1.0, float("inf"), float("nan")):
        with pytest.raises(ValueError):  # noqa: PT011
            Estimate.of({**estimate.to_dict(), "deviation": spoilt})
    with pytest.raises(ValueError):  # noqa: PT011
        Estimate.of({**replace(estimate, parts=2, deviation=0.0).to_dict(), "deviation": 1.0})


@pytest.mark.parametrize(
    ("text", "words"), [("var(V)", "Write sd"), ("stdev(V)", "Write sd"), ("sd(A)", "bounded"), ("sd()", "There is no")]
)
def test_what_is_no_standard_deviation_is_refused(text: str, words: str) -> None:
    with pytest.raises((gd.InvalidRequest, gd.UnknownName), match=words):
        gd.query(DOMAIN, text)
