"""Quantiles against a reference that is written down from the page: law, guarantee and coverage, by enumeration.

The reference knows histograms as lists and computes with floats from exact distances; nothing of it is shared with the
library but `rate` and `shift`, which the tests of calibration check by themselves.
"""

import copy
import math
import pickle
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

import gaugedp as gd
from gaugedp.bodies import Polytope
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import ExponentialLoss
from gaugedp.mechanisms.rank_exponential import RankExponential, Runs, _below, rank_sensitivity
from tests.samplers.fit import of_cells

HALF, LOW, HIGH = Fraction(1, 2), Fraction(1, 10), Fraction(4, 5)
ROW, REPLACED = gd.PrivacyUnit(), gd.PrivacyUnit(neighbours="replace")
PERSON, PERSON_REPLACED = gd.PrivacyUnit("pid", max_rows=2), gd.PrivacyUnit("pid", "replace", 2)
UNITS = [ROW, REPLACED, PERSON, PERSON_REPLACED]
SIDES = (0, -1, 1)
PURE = gd.PureDP(1.0)


def made(shares, unit=ROW, n_values=4, n_groups=1, guarantee=PURE, level=0.95) -> RankExponential:
    domain = gd.Domain.of(g=gd.integers(1, n_groups), v=gd.bounded(0, n_values - 1))
    body = gd.quantiles(domain, "v", *shares, by="g").sensitivity(unit)
    return RankExponential.calibrate(body, guarantee, shares, level)


# -- the reference ---------------------------------------------------------------------------------


def distance(table: list[int], y: int, target: Fraction, side: int) -> Fraction:
    """How far the ranks of y are from the target; beyond the lattice there is nothing to overshoot an end."""
    below, up_to = sum(table[:y]), sum(table[: y + 1])
    above = Fraction(0) if side < 0 and y == 0 else below - target
    beneath = Fraction(0) if side > 0 and y == len(table) - 1 else target - up_to
    return max(above, beneath, Fraction(0))


def law(table: list[int], mechanism: RankExponential, share: Fraction, side: int) -> np.ndarray:
    """The probabilities of one draw, in one cell."""
    target = share * sum(table) + side * mechanism.shift(share)
    rate = float(mechanism.rate(share)) * (1 if side else 2)
    weights = np.array([math.exp(-rate * float(distance(table, y, target, side))) for y in range(len(table))])
    return weights / weights.sum()


def truths(table: list[int], share: Fraction) -> tuple[int, int]:
    """The least and the largest quantile by the definition: at most q·n rows below, at most (1 − q)·n above."""
    n = sum(table)
    results = [y for y in range(len(table)) if sum(table[:y]) <= share * n and sum(table[y + 1 :]) <= (1 - share) * n]
    return results[0], results[-1]


# -- the law ---------------------------------------------------------------------------------------

tables = st.lists(st.integers(0, 5), min_size=2, max_size=12)
shares = st.fractions(Fraction(1, 50), Fraction(49, 50), max_denominator=50)


@given(table=tables, share=shares, side=st.sampled_from(SIDES), whole=st.integers(1, 400))
@settings(max_examples=300, deadline=None)
def test_the_gaps_are_the_distances_in_whole_parts_of_a_row(table, share, side, whole) -> None:
    runs, b = Runs.of(np.array(table)), share.denominator
    shift = side * Fraction(whole, b)
    gaps = np.repeat(runs.gaps(share, shift), runs.lengths)
    assert gaps.tolist() == [b * distance(table, y, share * sum(table) + shift, side) for y in range(len(table))]
    assert gaps.min() == 0, "some value has the target's rank, or lies at the edge that it is beyond"


@given(table=tables, share=shares)
def test_the_values_without_a_gap_are_the_quantiles(table, share) -> None:
    runs = Runs.of(np.array(table))
    zeros = np.flatnonzero(np.repeat(runs.gaps(share, Fraction(0)), runs.lengths) == 0)
    assert (zeros[0], zeros[-1]) == truths(table, share)
    assert len(zeros) == zeros[-1] - zeros[0] + 1


TABLES = {"spread": [1, 0, 2, 3, 1], "tied": [0, 9, 0, 0, 1], "empty": [0, 0, 0, 0, 0], "one row": [0, 0, 0, 1, 0]}
N_DRAWS = 2500


@pytest.mark.statistical
@pytest.mark.parametrize("name", TABLES)
def test_the_draws_follow_the_law(name) -> None:
    """Answer and ends together against the product of their laws; the control expects noise a fifth too small.

    With fresh keys one of the four would alarm falsely once in 250 times; the keys are fixed.
    """
    table = TABLES[name]
    mechanism = made([HALF], n_values=5, guarantee=gd.PureDP(6.0))
    rows = np.array([one(np.array(table))[:3] for one in mechanism.pool(N_DRAWS, gd.research_rng(len(name)))])
    observed = np.bincount(rows @ [25, 5, 1], minlength=125)
    assert of_cells(observed, joint(table, mechanism)) > 1e-3
    louder = made([HALF], n_values=5, guarantee=gd.PureDP(7.5))
    if name in ("spread", "tied"):
        assert of_cells(observed, joint(table, louder)) < 1e-6


def joint(table: list[int], mechanism: RankExponential) -> np.ndarray:
    """P(answer, lower, upper): three draws, and ends that are never on the wrong side of the answer."""
    laws = [law(table, mechanism, HALF, side) for side in SIDES]
    results = np.zeros((5, 5, 5))
    for value, lower, upper in product(range(5), repeat=3):
        chance = laws[0][value] * laws[1][lower] * laws[2][upper]
        results[value, min(lower, value), max(upper, value)] += chance
    return results.ravel()


@pytest.mark.statistical
def test_values_within_a_gap_are_equally_likely() -> None:
    """20,000 values, one row among them, and rates that hardly see it: chi-square over 50 parts of the lattice."""
    table = np.zeros(20_000, dtype=np.int64)
    table[5000] = 1
    mechanism = made([HALF], n_values=20_000, guarantee=gd.PureDP(1e-6))
    draws = [int(one(table)[0]) for one in mechanism.pool(2000, gd.research_rng(3))]
    observed = np.bincount(np.array(draws) // 400, minlength=50)
    assert of_cells(observed, np.full(50, 0.02)) > 1e-3


@pytest.mark.statistical
def test_a_uniform_number_below_a_count() -> None:
    rng = gd.research_rng(5)
    draws = np.array([_below(6, rng) for _ in range(6000)])
    assert of_cells(np.bincount(draws, minlength=6), np.full(6, 1 / 6)) > 1e-3
    assert [_below(1, rng), {_below(2, rng) for _ in range(60)}] == [0, {0, 1}]


def test_several_quantiles_come_out_in_order_and_within_their_ends() -> None:
    mechanism = made([LOW, HALF, HIGH], n_values=40, n_groups=3, guarantee=gd.PureDP(0.5))
    answer = np.arange(120) % 7
    for one in mechanism.pool(30, gd.research_rng(8)):
        values, lower, upper, *alone = one(answer).reshape(5, 3, 3)
        assert np.array_equal(alone, [lower, upper])
        assert (np.diff([values, lower, upper], axis=2) >= 0).all()
        assert (lower <= values).all()
        assert (values <= upper).all()


JOINT = [LOW, HALF, Fraction(3, 4)]


def joint_law(table: list[int], mechanism: RankExponential, side: int) -> np.ndarray:
    """The probabilities of the values of several quantiles, one axis each, from exact distances."""
    speed = 1 if side else 4
    gaps = [
        [
            distance(table, y, share * sum(table) + side * mechanism.shift(share), side) * mechanism.rate(share)
            for y in range(len(table))
        ]
        for share in mechanism.quantiles
    ]
    weights = np.array([math.exp(-speed * float(max(point))) for point in product(*gaps)])
    return (weights / weights.sum()).reshape([len(table)] * len(gaps))


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["spread", "tied"])
@pytest.mark.parametrize("side", SIDES)
def test_quantiles_are_drawn_jointly(name, side) -> None:
    """Three quantiles against their joint law; the control expects noise a fifth too small. Keys are fixed.

    With fresh keys one of the six would alarm falsely once in 160 times.
    """
    table, mechanism = TABLES[name], made(JOINT, n_values=5, guarantee=gd.PureDP(9.0))
    rng, runs = gd.research_rng(7 + side), Runs.of(np.array(table))
    speed = 1 if side else 4
    rows = np.array([mechanism.draw_jointly(runs, mechanism.aims(side), speed, rng) for _ in range(N_DRAWS)])
    observed = np.bincount(rows @ [25, 5, 1], minlength=125)
    weights = joint_law(table, mechanism, side).ravel()
    assert of_cells(observed, weights) > 1e-3
    if side == 0 and name == "spread":
        assert of_cells(observed, weights**1.25 / (weights**1.25).sum()) < 1e-6


@pytest.mark.parametrize("shares", [JOINT, [Fraction(1, 997), Fraction(500, 991), Fraction(982, 983)]])
def test_parts_are_rounded_distances_over_sensitivities(shares) -> None:
    """Whole where a common denominator is small; else rounded up, which never says that a wrong value is right."""
    mechanism, table = made(shares, PERSON, n_values=5), TABLES["spread"]
    for share in mechanism.quantiles:
        parts = mechanism._parts_off(Runs.of(np.array(table)), share, Fraction(0), 10**9)
        runs = Runs.of(np.array(table)).lengths
        exact = [distance(table, y, share * sum(table), 0) / rank_sensitivity(mechanism.body, share) for y in range(5)]
        assert np.repeat(parts, runs).tolist() == [math.ceil(gap * mechanism._n_parts) for gap in exact]
    assert mechanism._n_parts % (2 * PERSON.max_rows) == 0


def test_distances_end_at_a_public_limit() -> None:
    mechanism = made(JOINT, n_values=5)
    table = np.array([0, 10**9, 0, 0, 5])
    parts = mechanism._parts_off(Runs.of(table), HALF, Fraction(0), mechanism.limit(Fraction(1), 3))
    assert parts.max() == mechanism.limit(Fraction(1), 3)
    assert mechanism.limit(Fraction(1), 3) * mechanism._part_rate(Fraction(1)) > 3 * math.log(5) + 60


# -- the guarantee -----------------------------------------------------------------------------------


def histograms(rows: tuple[int, ...], n_groups: int, n_values: int) -> np.ndarray:
    return np.bincount(rows, minlength=n_groups * n_values).reshape(n_groups, n_values)


def neighbours(unit, n_groups: int, n_values: int):
    """Pairs of tables that differ by one unit: up to 3 other rows, the unit's own rows, and what they become."""
    cells = range(n_groups * n_values)
    units = [rows for size in range(unit.max_rows + 1) for rows in combinations_with_replacement(cells, size)]
    after = units if unit.neighbours == "replace" else [()]
    for others in (rows for size in (0, 3) for rows in combinations_with_replacement(cells, size)):
        for here, there in product(units, after):
            yield tuple(histograms(others + rows, n_groups, n_values) for rows in (here, there))


def loss_range(pair, mechanism, share, side) -> tuple[float, float]:
    """The range of the losses of one draw in all cells together, and the largest loss in size."""
    ranges, tops, bottoms = 0.0, 0.0, 0.0
    for first, other in zip(*pair, strict=True):
        losses = np.log(law(list(first), mechanism, share, side)) - np.log(law(list(other), mechanism, share, side))
        ranges += np.ptp(losses)
        tops, bottoms = tops + losses.max(), bottoms + losses.min()
    return float(ranges), float(max(tops, -bottoms))


@pytest.mark.many
@pytest.mark.parametrize("unit", UNITS, ids=str)
@pytest.mark.parametrize(("n_groups", "n_values"), [(1, 3), (2, 2)])
@pytest.mark.parametrize("share", [HALF, HIGH])
def test_every_draw_has_the_range_it_is_charged_for(unit, n_groups, n_values, share) -> None:
    """All tables of a few rows and all their neighbours, exactly."""
    mechanism = made([share], unit, n_values, n_groups, gd.PureDP(40.0))
    pairs = list(neighbours(unit, n_groups, n_values))[:: 1 if unit.max_rows == 1 else 7]
    for side, epsilon in zip(SIDES, (2 * mechanism.epsilon, mechanism.epsilon, mechanism.epsilon), strict=True):
        results = [loss_range(pair, mechanism, share, side) for pair in pairs]
        assert max(ranges for ranges, _ in results) <= epsilon * (1 + 1e-9)
        assert max(loss for _, loss in results) <= epsilon * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS, ids=str)
@pytest.mark.parametrize(("n_groups", "n_values"), [(1, 3), (2, 2)])
def test_a_joint_draw_has_the_range_of_one(unit, n_groups, n_values) -> None:
    """Three quantiles at once, tables of a few rows and their neighbours: the range of ε, not three times it."""
    mechanism = made(JOINT, unit, n_values, n_groups, gd.PureDP(60.0))
    pairs = list(neighbours(unit, n_groups, n_values))[:: 3 if unit.max_rows == 1 else 41]
    largest = 0.0
    for side, epsilon in zip(SIDES, (4 * mechanism.epsilon, mechanism.epsilon, mechanism.epsilon), strict=True):
        for pair in pairs:
            losses = [
                np.log(joint_law(list(a), mechanism, side) / joint_law(list(b), mechanism, side))
                for a, b in zip(*pair, strict=True)
            ]
            largest = max(largest, sum(float(np.ptp(loss)) for loss in losses) / epsilon)
    assert 0.4 < largest <= 1 + 1e-9


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_parts_of_neighbours_differ_by_one_sensitivity(unit) -> None:
    """In whole numbers, rounding and limit included, over two cells: what the guarantee of the draws rests on."""
    shares = [Fraction(1, 997), HALF, Fraction(982, 983)]
    mechanism = made(shares, unit, 2, 2, gd.PureDP(1.0))
    largest = 0
    for pair in list(neighbours(unit, 2, 2))[:: 1 if unit.max_rows == 1 else 7]:
        for side in SIDES:
            moved = sum(cell_moves(mechanism, a, b, side) for a, b in zip(*pair, strict=True))
            largest = max(largest, moved)
    assert 0 < largest <= mechanism._n_parts


def cell_moves(mechanism: RankExponential, here: np.ndarray, there: np.ndarray, side: int) -> int:
    limit = mechanism.limit(Fraction(1), 3)
    tables = [Runs.of(np.array(table)) for table in (here, there)]
    results = []
    for share in mechanism.quantiles:
        shift = side * mechanism.shift(share)
        first, other = (np.repeat(mechanism._parts_off(runs, share, shift, limit), runs.lengths) for runs in tables)
        results.append(int(np.abs(first - other).max()))
    return max(results)


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_the_bound_on_the_range_is_reached(unit) -> None:
    """Rows in the middle, and a unit beside them: with a sensitivity a tenth smaller the guarantee would be false."""
    mechanism = made([HALF], unit, 5, guarantee=gd.PureDP(1.0))
    here, there = [0, 0, 30, 0, 0], [0, 0, 30, 0, 0]
    here[0] += unit.max_rows
    if unit.neighbours == "replace":
        there[4] += unit.max_rows
    ranges, _ = loss_range((np.array([here]), np.array([there])), mechanism, HALF, 0)
    assert ranges > 0.9 * 2 * mechanism.epsilon


def test_a_row_that_changes_its_cell_moves_both() -> None:
    mechanism = made([HALF], REPLACED, 5, 2, gd.PureDP(1.0))
    here, there = np.array([[0, 0, 30, 0, 0]] * 2), np.array([[0, 0, 30, 0, 0]] * 2)
    here[0, 0] += 1
    there[1, 0] += 1
    ranges, _ = loss_range((here, there), mechanism, HALF, 0)
    assert 0.9 * 2 * mechanism.epsilon < ranges <= 2 * mechanism.epsilon * (1 + 1e-9)


@pytest.mark.parametrize("unit", UNITS, ids=str)
@pytest.mark.parametrize("n_groups", [1, 2])
@pytest.mark.parametrize("share", [LOW, HALF, HIGH])
def test_the_sensitivity_is_the_support_of_the_body(unit, n_groups, share) -> None:
    """Over every direction that the distances of all cells together can move in, signs included."""
    body = made([share], unit, 3, n_groups).body
    one_cell = [
        sign * np.array([(x < cut) - float(share) for x in range(3)]) for cut in range(1, 3) for sign in (1, -1)
    ]
    directions = np.array([np.concatenate(parts) for parts in product(one_cell, repeat=n_groups)])
    assert body.support(directions).max() == pytest.approx(float(rank_sensitivity(body, share)))


def test_what_covers_what() -> None:
    mechanism = made([HALF], REPLACED)
    assert mechanism.is_valid_for(made([HALF], ROW).body)
    assert not made([HALF], ROW).is_valid_for(mechanism.body)
    assert not mechanism.is_valid_for(made([HALF], ROW, n_values=5).body)
    assert not mechanism.is_valid_for(gd.bodies.LpBall(4, 1, 1.0))
    assert not mechanism.is_valid_for(made([HALF], PERSON_REPLACED).body)


# -- calibration -----------------------------------------------------------------------------------

GUARANTEES = [gd.PureDP(1.0), gd.PureDP(0.3), gd.ApproxDP(1.0, 1e-6), gd.ApproxDP(0.1, 1e-9), gd.ZCDP(0.1)]


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=repr)
@pytest.mark.parametrize("count", [1, 3, 9])
def test_what_is_asked_is_kept_and_nearly_used(guarantee, count) -> None:
    mechanism = made([Fraction(i + 1, 10) for i in range(count)], guarantee=guarantee)
    epsilon = mechanism.epsilon
    speed = 2 if count == 1 else 4
    assert mechanism.guarantee == ExponentialLoss(speed * epsilon) + 2 * ExponentialLoss(epsilon)
    match guarantee:
        case gd.PureDP(epsilon_value=requested):
            spent, most = float(mechanism.guarantee.epsilon(0.0)), requested
        case gd.ApproxDP(epsilon_value=requested, delta_value=delta):
            spent, most = float(mechanism.guarantee.epsilon(delta)), requested
            assert epsilon >= requested / (speed + 2) * (1 - 1e-9)
        case gd.ZCDP(rho=rho):
            spent, most = float(mechanism.guarantee.cost("zcdp")[0]), rho
    assert most * (1 - 2e-4) < spent <= most


def test_a_gaussian_guarantee_is_kept_by_a_pure_one() -> None:
    mechanism = made([HALF], guarantee=gd.GaussianDP(0.5))
    pure = float(mechanism.guarantee.epsilon(0.0))
    assert math.log(scipy.special.ndtr(0.25) / scipy.special.ndtr(-0.25)) == pytest.approx(pure, rel=1e-9)


def test_rates_and_shifts() -> None:
    mechanism = made([LOW, HALF], PERSON, n_values=1001, n_groups=3, guarantee=gd.PureDP(0.6), level=0.99)
    assert mechanism.epsilon == 0.1
    assert mechanism.rate(LOW) == Fraction(1, 10) / (2 * 2 * Fraction(9, 10))
    assert mechanism.rate(HALF) == Fraction(1, 10) / 2
    for share in (LOW, HALF):
        least = math.log(1001**2 * 2 * 3 / 0.01) / float(mechanism.rate(share))
        assert least < mechanism.shift(share) < least + 1 / share.denominator + 1e-6
        assert (mechanism.shift(share) * share.denominator).denominator == 1


BAD_CALLS = [
    (lambda: made([HALF], guarantee=gd.PureDP(1e-19), n_values=100), "too small for quantiles"),
    (lambda: made([HALF], guarantee=gd.RenyiDP([2.0], [0.1])), "Quantiles do not support"),
    (lambda: RankExponential.calibrate(gd.bodies.LpBall(4, 1, 1.0), gd.PureDP(1), [HALF]), "of a histogram"),
    (lambda: RankExponential.calibrate(Polytope.symmetric_hull(np.eye(4)), gd.PureDP(1), [HALF]), "of a histogram"),
    (lambda: RankExponential.calibrate(made([HALF]).body, gd.PureDP(1), []), "must name at least one"),
    (lambda: RankExponential.calibrate(made([HALF]).body, gd.PureDP(1), [HALF, HALF]), "must name at least one"),
    (lambda: RankExponential.calibrate(made([HALF]).body, gd.PureDP(1), [Fraction(1)]), "between 0 and 1"),
    (lambda: RankExponential.calibrate(made([HALF]).body, gd.PureDP(1), [HALF], level=1.0), "between 0 and 1"),
]


@pytest.mark.parametrize(("call", "words"), BAD_CALLS, ids=[words for _, words in BAD_CALLS])
def test_bad_calls_are_refused(call, words) -> None:
    with pytest.raises(InvalidRequest, match=words):
        call()


# -- intervals and errors --------------------------------------------------------------------------


def every_table(n_values: int, most_rows: int):
    for size in range(most_rows + 1):
        for rows in combinations_with_replacement(range(n_values), size):
            yield np.bincount(rows, minlength=n_values).tolist()


@pytest.mark.parametrize("share", [LOW, HALF, HIGH])
@pytest.mark.parametrize("epsilon", [2.0, 30.0])
def test_the_ends_hold_every_quantile_of_every_small_table(share, epsilon) -> None:
    """Exactly, by the law: all tables of at most 6 rows on 4 values. Without the rule for the edges it fails."""
    mechanism = made([share], n_values=4, guarantee=gd.PureDP(epsilon))
    allowed, worst, control = 0.05 / 2, 0.0, 0.0
    for table in every_table(4, 6):
        least, largest = truths(table, share)
        worst = max(worst, law(table, mechanism, share, -1)[least + 1 :].sum())
        worst = max(worst, law(table, mechanism, share, 1)[:largest].sum())
        control = max(control, without_edges(table, mechanism, share)[least + 1 :].sum())
    assert worst <= allowed
    assert control > 4 * allowed


def without_edges(table: list[int], mechanism: RankExponential, share: Fraction) -> np.ndarray:
    target = share * sum(table) - mechanism.shift(share)
    weights = [math.exp(-float(mechanism.rate(share) * distance(table, y, target, 0))) for y in range(len(table))]
    return np.array(weights) / sum(weights)


RNG = np.random.default_rng(11)
SHAPES = {
    "skewed": np.minimum(RNG.exponential(60, 2000), 999).astype(int),
    "tied": RNG.choice([0, 0, 0, 500, 999], 2000),
    "constant": np.full(300, 412),
    "at the upper edge": np.full(300, 999),
    "two values": np.repeat([100, 900], 150),
    "three rows": np.array([3, 700, 998]),
    "empty": np.array([], dtype=int),
}


@pytest.mark.statistical
@pytest.mark.parametrize("name", SHAPES)
def test_intervals_hold_all_at_once(name) -> None:
    """200 releases of three quantiles at 95 %: at most 20 may miss (more have a chance below 0.5 % at exactly 95 %)."""
    table = np.bincount(SHAPES[name], minlength=1000)
    mechanism = made([LOW, HALF, HIGH], n_values=1000, guarantee=gd.PureDP(2.0))
    ends = np.array([truths(table.tolist(), share) for share in mechanism.quantiles]).T
    missed, off = 0, []
    for one in mechanism.pool(200, gd.research_rng(len(name))):
        values, lower, upper, *_ = one(table).reshape(5, -1)
        missed += bool((lower > ends[0]).any() or (upper < ends[1]).any())
        off.append([ranks_off(table, y, share) for y, share in zip(values, mechanism.quantiles, strict=True)])
    assert missed <= 20
    assert np.linalg.norm(off, axis=1).mean() <= mechanism.error()
    assert np.abs(off).sum(axis=1).mean() <= mechanism.error(norm=1)


def ranks_off(table: np.ndarray, y: int, share: Fraction) -> float:
    return float(distance(table.tolist(), int(y), share * int(table.sum()), 0))


def test_an_empty_table_gives_the_whole_lattice_as_interval() -> None:
    mechanism = made([HALF], n_values=1000)
    rows = [one(np.zeros(1000, dtype=np.int64)) for one in mechanism.pool(100, gd.research_rng(1))]
    assert sum((lower, upper) == (0, 999) for _, lower, upper, *_ in rows) >= 88
    assert len({int(row[0]) for row in rows}) > 60, "the answer is any value"


def test_the_reach_of_intervals() -> None:
    """Ends of 300 releases are within the stated ranks; with a tenth of them as the stated width, most are not."""
    table = np.bincount(SHAPES["skewed"], minlength=1000)
    mechanism = made([HALF], n_values=1000, guarantee=gd.PureDP(2.0))
    width = mechanism.half_widths(0.9)
    assert width.shape == (1,)
    ends = np.array([one(table)[1:] for one in mechanism.pool(300, gd.research_rng(4))])
    off = np.array([[ranks_off(table, y, HALF) for y in row] for row in ends]).max(axis=1)
    assert (off <= width[0]).mean() >= 0.9
    assert (off <= width[0] / 10).mean() < 0.5
    assert mechanism.half_widths(0.9, simultaneous=True)[0] == width[0]
    grouped = made([HALF], n_values=1000, n_groups=5, guarantee=gd.PureDP(2.0))
    assert (grouped.half_widths(0.9, simultaneous=True) > grouped.half_widths(0.9)).all()


# -- once ------------------------------------------------------------------------------------------


def test_prepared_quantiles_are_used_once_and_cannot_be_copied(monkeypatch) -> None:
    prepared, other = made([HALF]).pool(2, gd.research_rng(1))
    table = np.array([1, 2, 0, 1])
    for act in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="used only once"):
            act(prepared)
    with pytest.raises(InvalidRequest, match="shape"):
        prepared(np.zeros(5, dtype=int))
    prepared(table)
    assert prepared.is_used
    with pytest.raises(InvalidRequest, match="has already been used"):
        prepared(table)
    monkeypatch.setattr("gaugedp.entropy._forks", 1)
    monkeypatch.setattr("gaugedp.mechanisms.base.fork_count", lambda: 1)
    with pytest.raises(InvalidRequest, match="before the process forked"):
        other(table)


def test_the_randomness_is_drawn_before_the_answer_is_seen() -> None:
    """What is prepared does not depend on what is drawn from the stream afterwards, nor on the order of use."""
    table, draws = np.array([5, 2, 0, 1]), []
    for late in (False, True):
        stream = gd.research_rng(9)
        first, second = made([HALF], guarantee=gd.PureDP(0.01)).pool(2, stream)
        if late:
            stream.bytes(1000)
        order = (second, first) if late else (first, second)
        results = [one(table).tolist() for one in order]
        draws.append(results[::-1] if late else results)
    assert draws[0] == draws[1]
    assert first.seed == 9


def test_quantiles_of_many_digits_are_refused() -> None:
    """Ranks in units of 10^-17 rows would leave 64 bits."""
    body = gd.marginals(gd.Domain.of(v=gd.integers(1, 6)), "v").sensitivity(gd.PrivacyUnit())
    for quantile in (Fraction(1, 10**17), Fraction(1, 2) + Fraction(1, 10**17)):
        with pytest.raises(InvalidRequest, match="A quantile has more than six decimals"):
            gd.RankExponential.calibrate(body, gd.PureDP(8.0), [quantile])


def test_units_of_so_many_rows_that_shares_do_not_fit_are_refused() -> None:
    """Products of parts and sensitivities stay below 2^62, and refused is what does not."""
    domain = gd.Domain.of(v=gd.bounded(0, 100))
    question = gd.quantiles(domain, "v", 0.123457, 0.5)
    for rows in (1000, 10**6):
        unit = gd.PrivacyUnit("pid", "replace", rows)
        mechanism = next(question.mechanisms.candidates(unit, gd.PureDP(1.0)))
        assert mechanism.ranks._largest_product < 2**62
    with pytest.raises(InvalidRequest, match="too many rows for quantiles"):
        next(question.mechanisms.candidates(gd.PrivacyUnit("pid", "replace", 4 * 10**6), gd.PureDP(1.0)))
