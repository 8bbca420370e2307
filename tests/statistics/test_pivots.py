"""Pivots and their inversion: sets of values that are left open, against brute force, and the widths of draws."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gaugedp as gd
from gaugedp.entropy import research_rng
from gaugedp.mechanisms.laplace import Laplace
from gaugedp.releases.planning import Plan
from gaugedp.statistics import KINDS, deviation
from gaugedp.statistics.base import by_pivot
from gaugedp.statistics.comparison import COMPARISONS
from gaugedp.statistics.deviation import ENDS, MEANS, N_WIDTHS, PLACES
from gaugedp.statistics.inversion import quotients_within, values_within
from gaugedp.statistics.pairs import PLACES as SHARES
from gaugedp.statistics.pairs import NoisePairs, PairWidths, share_places
from gaugedp.tables.aggregate import Coarse
from tests.queries.strategies import examples

DOMAIN = gd.Domain.of(
    A=["x", "y"],
    s=["u", "w", "x"],
    c=[str(i) for i in range(12)],
    V=gd.bounded(-3, 7, 0.5),
    y=gd.bounded(-3, 4),
    x=gd.bounded(0, 10, step=0.1),
)
ROW = gd.PrivacyUnit()
NUMBERS = st.lists(st.integers(-50, 200), min_size=6, max_size=6)
COUNTS = st.lists(st.integers(0, 40), min_size=6, max_size=6)
SHARE, MEAN, DEVIATION = KINDS["share"](6, 3), KINDS["mean"](1, 3.0, 5.0), KINDS["standard deviation"](1, 1.0)


# -- sets of values -------------------------------------------------------------------------------------------------


@given(
    st.lists(st.integers(-(10**4), 10**4), min_size=2, max_size=2),
    st.lists(st.integers(0, 10**4), min_size=5, max_size=5),
)
@examples(200)
def test_quotients_are_open_where_the_gap_is_within_the_curve(values, curve) -> None:
    """By brute force over m, which is between the ends wherever it is open; at the ends the gap is the curve's."""
    (top, bottom), places = values, np.linspace(-1, 1, 5)
    low, high = (
        end[0] for end in quotients_within(*np.array([values], dtype=float).T, np.array([curve], dtype=float), places)
    )
    tried = np.linspace(-1, 1, 4001)
    inside = tried[np.abs(top - tried * bottom) <= np.interp(tried, places, curve) - 1e-9]
    assert not len(inside) or (low <= inside.min() + 1e-12 and inside.max() - 1e-12 <= high)
    for end in (low, high):
        assert math.isinf(end) or abs(top - end * bottom) <= np.interp(end, places, curve) + 1e-6


def test_values_are_searched_from_the_estimate_outwards_to_the_ends_of_the_range() -> None:
    ends = values_within(lambda value: abs(value - 3) <= 1, 3.1, (0.0, 10.0))
    assert ends == pytest.approx((2, 4), abs=0.02)
    assert values_within(lambda value: value >= 2, 3.0, (0.0, np.inf))[1] == np.inf
    assert values_within(lambda value: abs(value - 8) <= 1, 1.0, (0.0, 10.0), is_inside=False)[0] == 1
    assert values_within(lambda _: False, 1.0, (0.0, 10.0), is_inside=False) == (0, 10)


@given(NUMBERS, st.lists(st.floats(0, 60), min_size=4, max_size=4))
@examples(150)
def test_shares_that_counts_leave_open(numbers, curve) -> None:
    numbers, curves = np.array(numbers, dtype=float), np.tile(curve, (6, 1))
    low, high = SHARE.intervals(numbers, np.zeros(6), curves)
    totals, tried, answers = (
        np.tile(numbers.reshape(3, 2).sum(axis=0), 3),
        np.linspace(0, 1, 2001),
        SHARE.answers(numbers),
    )
    for cell in range(6):
        far = np.abs(numbers[cell] - tried * totals[cell]) - np.interp(tried, share_places(4), curve)
        is_open = tried[far <= 1e-9] if totals[cell] > 0 else tried
        expected = np.append(is_open, answers[cell])
        assert (low[cell], high[cell]) == pytest.approx((expected.min(), expected.max()), abs=1e-3)
        assert low[cell] <= expected.min() + 1e-9
        assert high[cell] >= expected.max() - 1e-9


@given(COUNTS)
@examples(60)
def test_shares_at_an_end_are_those_of_a_table_within_the_widths(counts) -> None:
    counts = np.array(counts, dtype=float)
    low, high = SHARE.intervals(counts, np.full(6, 3.0))
    for cell in range(6):
        for end, side in ((low[cell], -1), (high[cell], 1)):
            moved = np.maximum(counts - side * 3, 0)
            moved[cell] = max(counts[cell] + side * 3, 0)
            if moved.reshape(3, 2)[:, cell % 2].sum() > 0:
                assert SHARE.answers(moved)[cell] == pytest.approx(end)


def test_where_a_total_is_not_positive_no_share_is_known() -> None:
    numbers = np.array([5.0, 1, -9, 1, -3, 2])
    assert SHARE.answers(numbers) == pytest.approx([1 / 3, 0.25, 1 / 3, 0.25, 1 / 3, 0.5])
    low, high = SHARE.intervals(numbers, np.ones(6), np.full((6, 4), 0.1))
    assert (low[[0, 2, 4]].tolist(), high[[0, 2, 4]].tolist()) == ([0, 0, 0], [1, 1, 1])


@given(NUMBERS, st.lists(st.floats(1, 60), min_size=8, max_size=8))
@examples(150)
def test_ratios_that_counts_leave_open(numbers, curve) -> None:
    """By brute force: ratios m ≤ 1 with |own − m·other| ≤ q(m), those above with |other − own/m| ≤ r(1/m)."""
    ratio, counts, places = COMPARISONS["ratio"](4, 3), np.array(numbers, dtype=float), share_places(4)
    low, high = ratio.intervals(counts, np.zeros(6), np.tile(curve, (4, 1)))
    answers, tried = ratio.answers(counts), np.linspace(0, 1, 2001)
    for place, (own, other) in enumerate(zip(*ratio.compared(counts), strict=True)):
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


def test_a_difference_lies_within_its_own_width_in_whole_rows_and_a_ratio_beside_nothing_has_no_end() -> None:
    curves, counts = np.tile([9.0, 8, 7, 6.9, 9, 9, 9, 9], (4, 1)), np.array([1.0, 2, 10, 20, 3, 3])
    low, high = COMPARISONS["difference"](4, 3).intervals(counts, np.zeros(6), curves)
    assert (low.tolist(), high.tolist()) == ([3, 12, -4, -5], [15, 24, 8, 7])
    assert COMPARISONS["ratio"](4, 3).half_length(np.full(6, 9.0), 5) == np.inf


def test_a_mean_has_the_whole_range_where_the_count_may_be_zero() -> None:
    two = KINDS["mean"](2, 3.0, 5.0)
    low, high = two.intervals(np.array([4.0, 4, 2, 100]), np.array([1.0, 1, 2, 2]))
    assert (low[0], high[0]) == (-2, 8)
    assert (low[1], high[1]) == pytest.approx((3 + 3 / 102, 3 + 5 / 98))
    assert KINDS["mean"](3, 3.0, 5.0).answers(np.array([9.0, -9, 100, 0, -4, 1])).tolist() == [3, 3, 8]


@pytest.mark.slow
@given(st.floats(-1, 1), st.floats(0, 1), st.integers(3, 10**6), st.lists(st.floats(-1, 1), min_size=3, max_size=3))
@examples(300)
def test_a_box_holds_the_true_deviation_wherever_the_noise_is_within_it(mean, part, count, noise) -> None:
    variance = part * (1 - mean**2)
    exact = count * np.array([mean, 2 * (variance + mean**2) - 1, 1.0])
    widths = np.array([4.0, 7.0, 2.0])
    low, high = DEVIATION.intervals(exact + widths * noise, widths)
    slack = 2e-3 * (high[0] ** 2 - low[0] ** 2) + 1e-9  # between two of 33 means
    assert low[0] ** 2 - slack <= variance <= high[0] ** 2 + slack


def test_more_means_move_no_end_by_a_thousandth(monkeypatch) -> None:
    rng = np.random.default_rng(4)
    means, counts = rng.uniform(-0.9, 0.9, 40), rng.integers(20, 3000, 40)
    variances = rng.uniform(0, 1, 40) * (1 - means**2)
    values = np.concatenate([counts * means, counts * (2 * (variances + means**2) - 1), counts])
    statistic, widths = KINDS["standard deviation"](40, 1.0), np.repeat([6.0, 6.0, 6.0], 40)
    few = np.array(statistic.intervals(values, widths)) ** 2
    monkeypatch.setattr(deviation, "_STEPS", np.linspace(0, 1, 1025))
    many = np.array(statistic.intervals(values, widths)) ** 2
    assert np.abs(few - many).max() <= 1e-3 * (many[1] - many[0]).max()


def test_the_noise_of_the_mean_widens_what_is_open() -> None:
    """At m = 1/2, s² = 16·(1 + m²) = 20, A − 4m·B + c·N lies within 10 + 2·20/N."""
    count, mean, variance = 400.0, 0.5, 0.3
    exact = count * np.array([mean, 2 * (variance + mean**2) - 1, 1.0])
    sizes = 4 * np.sqrt(1 + ENDS**2)
    curves = np.concatenate([sizes, np.full(N_WIDTHS - len(ENDS), 10.0)])[None]
    ends = np.concatenate(DEVIATION.intervals(exact, np.ones(3), curves)) ** 2
    reach = (10 + 2 * 20 / count) / (2 * count)
    assert ends == pytest.approx([variance - reach, variance + reach])
    assert DEVIATION.answers(np.array([5.0, -1.0, -2.0])).tolist() == [0.5]
    assert [end[0] for end in DEVIATION.intervals(np.array([5.0, -1.0, -2.0]), np.ones(3))] == [0, 1]


@pytest.mark.parametrize(
    ("span", "bits", "reach"), [(20, 0, 20), (2**24 - 1, 0, 2**24 - 1), (2**24, 1, 2**23), (2**40 + 3, 17, 2**23)]
)
def test_squares_are_coarse_beyond_24_bits(span: int, bits: int, reach: int) -> None:
    coarse = Coarse(span)
    assert (coarse.bits, coarse.reach) == (bits, reach)
    assert (0 + coarse.half) >> coarse.bits == 0  # the ends stay the ends
    assert (span + coarse.half) >> coarse.bits == coarse.reach


# -- widths from draws ----------------------------------------------------------------------------------------------

CASES = [
    ("mean(V)", {"epsilon": 0.5}),
    ("mean(V) by s", {"mu": 0.7}),
    ("mean(y); mean(x)", {"epsilon": 3}),  # coarse: |a − m·b| has atoms, and a chord is no bound by itself
    ("mean(y)", {"rho": 2}),
    ("share(s) by A", {"epsilon": 1}),
    ("share(s) by A", {"epsilon": 2}),  # coarse
    ("prefix(c); share(s) by A", {"mu": 1}),
    ("mean(V); share(s) by A; s", {"epsilon": 1}),
    ("change(c)", {"epsilon": 1}),
    ("ratio(c)", {"rho": 0.1}),
    ("prefix(c); index(s) by A", {"mu": 1}),
]
DRAWS, LEVELS = 40_000, (0.5, 0.8, 0.9, 0.95, 0.99)


def planned(text: str, guarantee: dict) -> Plan:
    return gd.plan(gd.query(DOMAIN, text), ROW, **guarantee)


def pairs_of(plan: Plan, start: int, statistic) -> tuple[np.ndarray, np.ndarray]:
    """Return draws of the noise above and below the line of each answer's quotient, shapes (draws, n)."""
    rows = plan.mechanism.sample_noise(DRAWS, research_rng(99)) * plan.query.steps.sizes
    rows = rows[:, start : start + statistic.n_released]
    if statistic.pivot == "quotients":
        top, bottom = np.split(rows, 2, axis=1)
        return top, statistic.half_range * bottom
    if statistic.pivot == "shares":
        table = rows.reshape(DRAWS, statistic.parts, -1)
        return rows, np.broadcast_to(table.sum(axis=1, keepdims=True), table.shape).reshape(DRAWS, -1)
    own, other = statistic.compared(np.arange(statistic.n_released))
    return rows[:, own], rows[:, other]


def held(tops: np.ndarray, bottoms: np.ndarray, curves: np.ndarray, places: np.ndarray) -> float:
    """Return how often |top − p·bottom| is within its width, at and between places: the least of all."""
    tried = np.concatenate([places, (places[:-1] + places[1:]) / 2, places[:-1] + np.diff(places) / 7])
    widths = np.array([np.interp(tried, places, curve) for curve in curves])
    gaps = (np.abs(tops - p * bottoms) <= width + 1e-9 for p, width in zip(tried, widths.T, strict=True))
    return min(float(gap.mean(axis=0).min()) for gap in gaps)


@pytest.mark.statistical
@pytest.mark.parametrize(("text", "guarantee"), CASES, ids=str)
def test_widths_hold_as_often_as_they_say_and_a_fifth_less_do_not(text: str, guarantee: dict) -> None:
    """Of some 10^4 shares for each level, 5.5 standard errors: a false alarm in 10^3 runs."""
    plan = planned(text, guarantee)
    ((pivot, ((start, statistic), *_)),) = list(by_pivot(plan.query.estimates).items())[:1]
    tops, bottoms = pairs_of(plan, start, statistic)
    for level in LEVELS:
        error = 5.5 * math.sqrt(level * (1 - level) / DRAWS)
        curves = plan.curves(level)[pivot][: statistic.n_answers]
        ways = [(tops, bottoms, curves)]
        if pivot == "comparisons":
            below, above = np.hsplit(curves, 2)
            ways = [(tops, bottoms, below), (bottoms, tops, above)]
        places = np.linspace(-1, 1, curves.shape[1]) if pivot == "quotients" else SHARES
        assert min(held(*way, places) for way in ways) >= level - error, level
        step = _lattice(plan, start, statistic) if pivot == "quotients" else 0.0
        narrow = min(held(*way[:2], 0.8 * (way[2] - step).clip(0), places) for way in ways)
        assert level < 0.9 or narrow < level - error, "below 0.9 coarse noise is mostly 0, and any width would do"


def _lattice(plan: Plan, start: int, statistic) -> float:
    sizes = plan.query.steps.sizes
    return float(plan.mechanism.lattice_step) * (
        sizes[start] + statistic.half_range * sizes[start + statistic.n_answers]
    )


def test_widths_of_means_are_narrower_than_both_widths_together_and_alike_for_like_noise() -> None:
    plan = planned("mean(V) by s", {"rho": 0.1})
    curves = plan.curves(0.95)["quotients"]
    each = plan.mechanism.half_widths(0.975) * plan.query.steps.sizes
    assert (curves[:, -1] < 0.75 * (each[:3] + 5 * each[3:])).all()
    assert (curves == curves[0]).all()
    above = plan._trials["quotients"][0].widths(0.99999)
    assert above[0, 0] == pytest.approx(
        (plan.mechanism.half_widths(0.999995) * plan.query.steps.sizes)[[0, 3]] @ [1, 5]
    )


@pytest.mark.parametrize("text", ["mean(V)", "share(s)", "change(s)", "sd(V)"])
def test_walks_and_long_lists_have_no_widths_but_those_of_means(text: str) -> None:
    query = gd.query(DOMAIN, text)
    noise = gd.plan(query, ROW, epsilon=1).mechanism
    (terms,) = by_pivot(query.estimates).values()

    class Walk:
        exactness, half_widths, form, n_answers = "mixing", noise.half_widths, noise.form, noise.n_answers
        variances, lattice_step = noise.variances, noise.lattice_step

    class Long(Walk):
        exactness, n_answers = noise.exactness, 20_000

    for kind in (Walk, Long) if text != "mean(V)" else (Walk,):
        trials = terms[0][1].trials(kind(), query.steps.sizes, terms)
        widths = trials and trials.widths(0.9)
        both = noise.half_widths(0.95) * query.steps.sizes * [1, 5] if text == "mean(V)" else None
        expected = None if both is None else both[0] + both[1] * np.abs(np.linspace(-1, 1, 9))
        assert widths is None if expected is None else widths[0] == pytest.approx(expected)
    high = gd.plan(query, ROW, epsilon=1).curves(0.99999)
    assert high == {} or text == "mean(V)"


def test_widths_of_shares_are_those_of_the_cells_own_term() -> None:
    widths = planned("share(s) by A; share(c)", {"epsilon": 1}).curves(0.95)["shares"]
    assert widths.shape == (18, len(SHARES))
    assert widths[0, -1] < widths[-1, -1], "the total of twelve cells is noisier than that of three"


def test_unlike_cells_that_count_as_one_kind_get_the_largest_widths() -> None:
    rows = np.random.default_rng(3).normal(size=(4000, 2)) * [1, 5]
    one_kind, cells = np.zeros(2, dtype=int), np.arange(2)
    terms = [NoisePairs(rows, rows.sum(axis=1, keepdims=True), cells, one_kind, one_kind)]
    both = PairWidths(terms, one_tells=False).widths(0.9)
    assert (both[0] == both[1]).all()
    gaps = np.abs(rows[:, 1])
    assert np.mean(gaps <= both[0, 0]) >= 0.9
    assert np.mean(gaps <= PairWidths(terms, one_tells=True).widths(0.9)[1, 0]) < 0.5


@pytest.mark.statistical
def test_one_cell_tells_nothing_of_cells_with_a_little_more_noise() -> None:
    """Widths of counts are whole numbers and may be the same where the noise is not."""
    query = gd.query(DOMAIN, "share(s)")
    noise = Laplace.calibrate(query.sensitivity(ROW), gd.PureDP(1.1), weights=np.array([1.0, 1.0, 1.3]))
    assert np.unique(noise.half_widths(0.95)).size == 1
    widths = KINDS["share"].trials(noise, query.steps.sizes, [(0, query.estimates[0])]).widths(0.99)
    noises = noise.sample_noise(DRAWS, research_rng(4))
    assert np.mean(np.abs(noises[:, 2]) <= widths[2, 0]) >= 0.99


def test_the_noise_of_sums_and_of_counts_widens_what_deviations_are_open() -> None:
    """Widths at m = ±1 and at c = 3 are far above those at m = 0 and c = 0."""
    (curve,) = planned("sd(V)", {"rho": 0.1}).curves(0.95)["deviations"]
    grid = curve[len(ENDS) :].reshape(len(MEANS), len(PLACES))
    middle, no_count = len(MEANS) // 2, list(PLACES).index(0)
    assert grid[middle, -1] > 2 * grid[middle, no_count]
    assert min(grid[0, no_count], grid[-1, no_count]) > 3 * grid[middle, no_count]


def test_widths_of_deviations_leave_a_step_of_the_lattice_for_what_is_between_places() -> None:
    """Chords lie above quantiles of continuous noise alone. With noise of few steps the room is seen at the places."""
    plan = gd.plan(gd.query(gd.Domain.of(V=gd.bounded(0, 100)), "sd(V)"), ROW, epsilon=30.0)
    widths = plan.curves(0.95)["deviations"][0, len(ENDS) :].reshape(len(MEANS), len(PLACES))
    steps = plan.query.steps.sizes / [50.0, 2500.0, 1.0]
    e_sum, e_square, e_count = (plan.mechanism.sample_noise(20_000, research_rng(13)) * steps).T
    for place, mean in enumerate(MEANS):
        for other, c in enumerate(PLACES):
            gaps = np.abs(e_square - 4 * mean * e_sum + c * e_count)
            room = float(plan.mechanism.lattice_step) * steps @ [abs(4 * mean), 1, abs(c)]
            assert widths[place, other] >= np.quantile(gaps, 0.94) + 0.9 * room
