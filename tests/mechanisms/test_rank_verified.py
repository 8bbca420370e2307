"""Quantiles with verified intervals: what is charged, for whom, and what the intervals hold."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import gaugedp as gd
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import ExponentialLoss
from gaugedp.mechanisms.rank_exponential import RankExponential, Runs
from gaugedp.mechanisms.rank_verified import RankVerified
from tests.samplers import fit

HALF = [Fraction(1, 2)]
SHARES = [Fraction(1, 10), Fraction(1, 2), Fraction(3, 4)]
ROW, REPLACED = gd.PrivacyUnit(), gd.PrivacyUnit(neighbours="replace")
GUARANTEES = [gd.PureDP(1.0), gd.ApproxDP(1.0, 1e-6), gd.ZCDP(0.2), gd.GaussianDP(1.0)]


def made(shares=HALF, guarantee=GUARANTEES[0], unit=ROW, n_values=1001, by=None, **options) -> RankVerified:
    domain = gd.Domain.of(g=["a", "b", "c"], v=gd.bounded(0, n_values - 1))
    body = gd.quantiles(domain, "v", *shares, by=by).sensitivity(unit)
    return RankVerified.calibrate(body, guarantee, shares, **options)


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=repr)
@pytest.mark.parametrize("shares", [HALF, SHARES], ids=len)
def test_the_guarantee_holds_all_three_steps(guarantee, shares) -> None:
    mechanism = made(shares, guarantee)
    (a, b), c = (4, 7) if len(shares) == 1 else (4, 4), 5 if len(shares) == 1 else 3
    parts = [ExponentialLoss(a * mechanism.ranks.epsilon), ExponentialLoss(b * mechanism.ranks.epsilon)]
    assert float(mechanism.guarantee.epsilon(1e-9)) == pytest.approx(
        float((parts[0] + parts[1] + gd.PureDP(c * mechanism.ranks.epsilon)).epsilon(1e-9))
    )
    delta = guarantee.delta_value if isinstance(guarantee, gd.ApproxDP) else 1e-6
    requested, kept = guarantee.epsilon(delta), mechanism.guarantee.epsilon(delta)
    assert guarantee.follows_from(mechanism.guarantee)
    assert kept <= requested * (1 + 1e-9)
    assert kept >= 0.97 * requested or not isinstance(guarantee, gd.PureDP | gd.ApproxDP)
    if isinstance(guarantee, gd.PureDP):
        assert (a + b + c) * mechanism.ranks.epsilon == pytest.approx(1.0, abs=1e-9)
        assert (a + b + c) * Fraction(repr(mechanism.ranks.epsilon)) <= 1


@pytest.mark.parametrize("shares", [HALF, SHARES], ids=len)
def test_each_step_is_drawn_at_its_share(shares, monkeypatch: pytest.MonkeyPatch) -> None:
    """The speeds of both draws are those of the budget, and the counts have the noise of theirs."""
    mechanism, draws = made(shares), []
    original = RankExponential.draw_jointly

    def noted(self, runs, targets, speed, stream):
        draws.append((speed, len(targets)))
        return original(self, runs, targets, speed, stream)

    monkeypatch.setattr(RankExponential, "draw_jointly", noted)
    mechanism.prepare(gd.research_rng(1))(np.full(1001, 5))
    budget, k = mechanism.ranks.budget, len(shares)
    assert draws == [(budget.draws[1], 2 * k), (budget.draws[0], k)]
    assert mechanism.counts.scale * budget.counts * Fraction(repr(mechanism.ranks.epsilon)) == 1


@pytest.mark.parametrize(
    ("unit", "rows"),
    [(ROW, 1), (REPLACED, 2), (gd.PrivacyUnit("pid", max_rows=3), 3), (gd.PrivacyUnit("pid", "replace", 3), 6)],
    ids=str,
)
def test_the_counts_are_for_the_rows_of_the_unit(unit: gd.PrivacyUnit, rows: int) -> None:
    for by in (None, "g"):
        mechanism = made(unit=unit, by=by)
        epsilon = mechanism.ranks.budget.counts * Fraction(repr(mechanism.ranks.epsilon))
        assert mechanism.counts.scale == rows / epsilon


def test_what_covers_what() -> None:
    row, replaced, two = (made(SHARES, unit=unit) for unit in (ROW, REPLACED, gd.PrivacyUnit("pid", max_rows=2)))
    assert replaced.is_valid_for(row.body)
    assert not row.is_valid_for(replaced.body)
    assert two.is_valid_for(replaced.body)
    assert not replaced.is_valid_for(two.body)
    assert not row.is_valid_for(gd.bodies.LpBall(3, 1))
    assert row.recalibrated(row.guarantee) is row
    assert row.recalibrated(gd.PureDP(0.5)).describe() == made(SHARES, gd.PureDP(0.5)).describe()


def test_a_body_whose_ranks_move_no_further_may_move_more_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RankExponential, "is_valid_for", lambda *_: True)
    row, replaced = made(), made(unit=REPLACED)
    assert replaced.is_valid_for(row.body)
    assert not row.is_valid_for(replaced.body)


@pytest.mark.parametrize("shares", [HALF, SHARES], ids=len)
def test_misses_add_up_to_what_is_allowed(shares) -> None:
    """80 % for verified ends, one by one, and 20 % for far ones, of all quantiles of a side and cell together."""
    mechanism, k = made(shares, by="g", level=0.97), len(shares)
    far = {
        3 * k * math.log(1001)
        - float(mechanism.far(share) * mechanism.ranks.answer_speed * mechanism.ranks.rate(share))
        for share in shares
    }
    total = 2 * k * 3 * mechanism.counts.miss + 2 * 3 * math.exp(max(far))
    assert 0.029 < total <= 0.03 * (1 + 1e-9)


def test_the_distance_does_not_depend_on_the_number_of_values() -> None:
    few, many = made(n_values=501), made(n_values=500_001)
    assert few.shifts == many.shifts
    assert few.ordinary_widths().tolist() == [21.0]
    assert many.half_widths(0.95)[0] > few.half_widths(0.95)[0] > 21.0


def test_counts_whose_noise_does_not_fit_are_refused() -> None:
    with pytest.raises(InvalidRequest, match=r"wider than 2\^54"):
        made(guarantee=gd.PureDP(1e-14))
    with pytest.raises(InvalidRequest, match="too small for verified interval ends"):
        made(guarantee=gd.PureDP(4e-14), n_values=10)


def test_the_randomness_is_drawn_before_the_answer_is_seen() -> None:
    mechanism, histogram = made(), np.full(1001, 3)
    first = mechanism.prepare(gd.research_rng(4))(histogram)
    assert (first == mechanism.prepare(gd.research_rng(4))(histogram)).all()
    assert (first[3:] == first[1:3]).all(), "the individual ends are the simultaneous ones"


def spread(n: int, m: int, seed: int) -> np.ndarray:
    return np.bincount(np.random.default_rng(seed).integers(0, m, n), minlength=m)


def atoms(m: int, **rows: int) -> np.ndarray:
    """Return a table with so many rows at each value, written v17=…."""
    table = np.zeros(m, dtype=np.int64)
    for value, count in rows.items():
        table[int(value[1:])] = count
    return table


M = 2001
TABLES = {
    "uniform": spread(1000, M, 1),
    "few rows": spread(15, M, 2),
    "no rows": np.zeros(M, dtype=np.int64),
    "one row": atoms(M, v7=1),
    "atoms at the bounds": atoms(M, v0=200, v2000=200),
    "uneven atoms at the bounds": atoms(M, v0=203, v2000=200),
    "one atom": atoms(M, v1000=300),
    "neighbours of the median": atoms(M, v999=150, v1000=1, v1001=150),
    "a gap at the median": atoms(M, v300=150, v301=2, v1700=152),
    "an atom just below": np.where(np.arange(M) == 990, 140, 0) + spread(150, M, 3),
    "a quarter of zeros": spread(400, M, 4) + atoms(M, v0=130),
    "an atom and its neighbours": atoms(M, v998=90, v999=30, v1000=40, v1001=30, v1002=90),
}


def true_ends(table: np.ndarray, share: Fraction) -> tuple[int, int]:
    """The least and the largest quantile: at most q·n rows below, at most (1 − q)·n above."""
    up_to, n = np.cumsum(table), int(table.sum())
    is_one = ((up_to - table) * share.denominator <= share.numerator * n) & (
        up_to * share.denominator >= share.numerator * n
    )
    places = np.flatnonzero(is_one)
    return int(places[0]), int(places[-1])


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("shares", [HALF, SHARES], ids=len)
def test_intervals_hold_for_every_table(name: str, shares) -> None:
    """150 releases at 0.95, all quantiles at once; a false alarm once in 10^6 at the exact level."""
    mechanism, table = made(shares, n_values=M), TABLES[name]
    low, high = np.array([true_ends(table, share) for share in shares]).T
    held = 0
    for one in mechanism.pool(150, gd.research_rng(len(name))):
        values, lower, upper, *_ = one(table).reshape(5, -1)
        held += bool(((lower <= low) & (high <= upper)).all())
        assert ((lower <= values) & (values <= upper)).all()
        assert (np.diff(values) >= 0).all()
    assert stats.binomtest(held, 150, 0.95, alternative="less").pvalue > 1e-6


@pytest.mark.slow
def test_widths_are_those_that_are_stated() -> None:
    """Rows inside of the median at ε = 1: about twice the stated reach, and at most 60; the answer is 5 rows off."""
    mechanism, table = made(n_values=50_001), spread(1000, 50_001, 5)
    below = np.concatenate([[0], np.cumsum(table)])
    rows = np.array([one(table)[:3] for one in mechanism.pool(150, gd.research_rng(3))])
    inside = below[rows[:, 2] + 1] - below[rows[:, 1]]
    assert np.median(inside) == pytest.approx(2 * mechanism.ordinary_widths()[0], rel=0.15)
    assert np.median(inside) < 60
    assert np.median(np.abs(below[rows[:, 0]] - 500)) <= 5
    assert (inside < 2 * mechanism.half_widths(0.95)[0]).mean() >= 0.95
    assert (inside > 3 * mechanism.ordinary_widths()[0]).mean() < 0.06, "few ends are not verified"


def test_ends_that_are_not_verified_are_far_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is verified, 3k values are drawn last, and the ends are at their far targets."""
    mechanism, table = made(guarantee=gd.PureDP(8.0)), np.full(1001, 40)
    monkeypatch.setattr(type(mechanism.counts), "verify", lambda *_: np.zeros((2, 1), dtype=bool))
    _, lower, upper, *_ = mechanism.prepare(gd.research_rng(2))(table)
    far = float(mechanism.far(HALF[0])) / 40
    assert lower == pytest.approx(500 - far, abs=1.5)
    assert upper == pytest.approx(500 + far, abs=1.5)


def test_the_error_is_that_of_three_values_per_quantile() -> None:
    """Above the mean distance of an answer that is drawn with far ends, by at most the bound's looseness."""
    mechanism, table = made(guarantee=gd.PureDP(4.0), n_values=201), np.full(201, 3)
    runs, far = Runs.of(table), mechanism.far(HALF[0])
    targets = [(HALF[0], side * far) for side in (0, -1, 1)]
    drawn = [mechanism.ranks.draw_jointly(runs, targets, 4, gd.research_rng(i))[0] for i in range(200)]
    gaps = [max(3 * y - 301.5, 301.5 - 3 * y - 3, 0) for y in drawn]
    assert np.mean(gaps) < mechanism.error(1)
    assert mechanism.mean_square() == mechanism.error() ** 2


# -- the joint draw with several targets of one quantile -------------------------------------------


def joint_law(mechanism: RankVerified, table: np.ndarray, targets: list, speed: int) -> np.ndarray:
    """P(y_1, …, y_n) ∝ e^{−(speed·ε/2)·max_j d_j/Δ_j}, from distances in whole parts of a sensitivity."""
    ranks, runs = mechanism.ranks, Runs.of(table)
    limit = ranks.limit(Fraction(speed), len(targets))
    parts = [np.repeat(ranks._parts_off(runs, *target, limit), runs.lengths) for target in targets]
    farthest = parts[0]
    for more in parts[1:]:
        farthest = np.maximum(farthest[..., None], more)
    weights = np.exp(-float(ranks._part_rate(Fraction(speed))) * farthest)
    return weights / weights.sum()


@pytest.mark.parametrize("unit", [ROW, REPLACED], ids=str)
@pytest.mark.parametrize("shares", [HALF, [Fraction(9, 10)], [Fraction(1, 4), Fraction(1, 2)]], ids=str)
def test_no_neighbour_moves_a_draw_by_more_than_its_share(shares, unit) -> None:
    """The range of the losses of proposals, and of answers with far ends, over all tables of up to three rows."""
    mechanism = made(shares, gd.PureDP(3.0), unit, n_values=4)
    far = [(q, side * mechanism.far(q)) for side in (-1, 1) for q in shares]
    steps = [(mechanism.shifts, mechanism.ranks.budget.draws[1]), ([(q, Fraction(0)) for q in shares] + far, 4)]
    pairs = list(neighbours(unit))
    for targets, speed in steps:
        near, loss = targets[: 4 if len(shares) > 1 else 3], 0.0
        for here, there in pairs:
            ratio = np.log(joint_law(mechanism, here, near, speed) / joint_law(mechanism, there, near, speed))
            loss = max(loss, float(np.ptp(ratio)))
        assert 0.5 * speed * mechanism.ranks.epsilon < loss <= speed * mechanism.ranks.epsilon * (1 + 1e-9)


def neighbours(unit: gd.PrivacyUnit):
    """Yield tables of four values whose rows differ by one that is added, or changes its value."""
    for rows in np.ndindex(4, 4, 4):
        table = np.bincount(rows, minlength=4)
        for value in range(4):
            if unit.neighbours == "replace":
                yield table, np.bincount((*rows[:2], value), minlength=4)
            else:
                yield table, table + np.bincount([value], minlength=4)


@pytest.mark.statistical
def test_proposals_follow_their_law() -> None:
    """Chi-square of 3,000 pairs of ends; the control expects noise a fifth too small. The keys are fixed."""
    mechanism, table = made(guarantee=gd.PureDP(9.0), n_values=6), np.array([1, 3, 0, 2, 1, 1])
    speed, runs, rng = mechanism.ranks.budget.draws[1], Runs.of(table), gd.research_rng(3)
    pairs = [mechanism.ranks.draw_jointly(runs, mechanism.shifts, speed, rng) for _ in range(3000)]
    observed = np.bincount(np.array(pairs) @ [6, 1], minlength=36)
    law = joint_law(mechanism, table, mechanism.shifts, speed).ravel()
    assert fit.of_cells(observed, law) > 1e-3
    assert fit.of_cells(observed, law**1.25 / (law**1.25).sum()) < 1e-6
