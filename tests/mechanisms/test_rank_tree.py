"""Quantiles with intervals from a tree of counts: what is charged, for whom, and what the intervals hold."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import gaugedp as gd
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import ExponentialLoss
from gaugedp.mechanisms import RankExponential, RankTree

DOMAIN = gd.Domain.of(g=["a", "b", "c"], v=gd.bounded(0, 1000))
SHARES = [Fraction(i, 10) for i in range(1, 10)]
ROW = gd.PrivacyUnit()
GUARANTEES = [gd.PureDP(1.0), gd.ApproxDP(1.0, 1e-6), gd.ZCDP(0.2), gd.GaussianDP(1.0)]


def made(guarantee=GUARANTEES[0], unit: gd.PrivacyUnit = ROW, shares=SHARES, by=None, **options) -> RankTree:
    body = gd.quantiles(DOMAIN, "v", *shares, by=by).sensitivity(unit)
    return RankTree.calibrate(body, guarantee, shares, **options)


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=repr)
@pytest.mark.parametrize("count", [1, 9])
def test_the_guarantee_holds_the_draw_and_the_tree(guarantee, count: int) -> None:
    mechanism = made(guarantee, shares=SHARES[:count])
    epsilon, speed = mechanism.ranks.epsilon, 2 if count == 1 else 4
    assert mechanism.guarantee == ExponentialLoss(speed * epsilon) + gd.PureDP(2 * epsilon)
    assert mechanism.tree.epsilon == 2 * epsilon
    delta = guarantee.delta_value if isinstance(guarantee, gd.ApproxDP) else 1e-6
    requested, kept = guarantee.epsilon(delta), mechanism.guarantee.epsilon(delta)
    assert guarantee.follows_from(mechanism.guarantee)
    assert kept <= requested * (1 + 1e-9)
    assert kept >= 0.98 * requested or not isinstance(guarantee, gd.PureDP | gd.ApproxDP)
    if isinstance(guarantee, gd.ZCDP):
        assert speed**2 * epsilon**2 / 8 + 2 * epsilon**2 == pytest.approx(guarantee.rho)


@pytest.mark.parametrize(
    ("unit", "rows"),
    [
        (ROW, 1),
        (gd.PrivacyUnit(neighbours="replace"), 2),
        (gd.PrivacyUnit("pid", max_rows=3), 3),
        (gd.PrivacyUnit("pid", "replace", 3), 6),
    ],
    ids=str,
)
def test_the_tree_is_for_the_rows_of_the_unit(unit: gd.PrivacyUnit, rows: int) -> None:
    """How many counts of a level can move by one: a row that is replaced leaves one count and enters another."""
    for by in (None, "g"):
        assert made(unit=unit, by=by).tree.rows == rows


def test_what_covers_what() -> None:
    """Ranks of 0.1 and 0.9 move by 0.9 for each of two rows, by 1 where one is replaced: two counts move in both."""
    replaced, row, two = (
        made(unit=unit) for unit in (gd.PrivacyUnit(neighbours="replace"), ROW, gd.PrivacyUnit("pid", max_rows=2))
    )
    assert replaced.is_valid_for(row.body)
    assert not row.is_valid_for(replaced.body)
    assert two.is_valid_for(replaced.body)
    assert not replaced.is_valid_for(two.body)
    assert not row.is_valid_for(gd.bodies.LpBall(3, 1))
    few = RankTree(row.ranks, 0.95, row.guarantee)
    assert few.is_valid_for(row.body)


def test_a_body_whose_ranks_move_no_further_may_move_more_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if ranks moved by nothing: the counts of a level still move by 1, and by 2 where a row is replaced."""
    monkeypatch.setattr(RankExponential, "is_valid_for", lambda *_: True)
    row, replaced = made(), made(unit=gd.PrivacyUnit(neighbours="replace"))
    assert replaced.is_valid_for(row.body)
    assert not row.is_valid_for(replaced.body)


def test_misses_add_up_to_what_is_allowed() -> None:
    mechanism = made(by="g", level=0.97, alone=0.9)
    at_once, alone = mechanism._misses
    assert 2 * 27 * at_once == pytest.approx(0.03)
    assert 2 * alone == pytest.approx(0.1)


def table(n_rows: int, share_of_zeros: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    values = np.clip(rng.lognormal(5.5, 0.7, n_rows), 0, 1000).astype(int)
    values[: int(share_of_zeros * n_rows)] = 0
    return np.bincount(values, minlength=1001)


@pytest.mark.slow
@pytest.mark.parametrize(("n_rows", "zeros"), [(300, 0.0), pytest.param(20_000, 0.25, marks=pytest.mark.thorough)])
def test_intervals_hold_each_alone_and_all_at_once(n_rows: int, zeros: float) -> None:
    """400 releases, at 1e-6 for each quantile and for all."""
    histogram = table(n_rows, zeros, 5)
    quantiles = [int(np.flatnonzero(np.cumsum(histogram) >= share * n_rows)[0]) for share in SHARES]
    mechanism, alone, at_once = made(), np.zeros(9), 0
    for one in mechanism.pool(400, gd.research_rng(6)):
        values, *ends = one(histogram).reshape(5, 9)
        holds = [(lower <= quantiles) & (quantiles <= upper) for lower, upper in (ends[:2], ends[2:])]
        at_once += bool(holds[0].all())
        alone += holds[1]
        assert ((ends[0] <= ends[2]) & (ends[2] <= values) & (values <= ends[3]) & (ends[3] <= ends[1])).all()
        assert (np.diff(values) >= 0).all()
    assert stats.binomtest(at_once, 400, 0.95, alternative="less").pvalue > 1e-6
    for count in alone:
        assert stats.binomtest(int(count), 400, 0.95, alternative="less").pvalue > 1e-6


def test_the_answers_are_those_of_the_joint_draw() -> None:
    """The same law as the draw of `RankExponential` at the same ε, and its error."""
    mechanism = made()
    other = RankExponential.calibrate(mechanism.body, gd.PureDP(1.0), SHARES)
    assert mechanism.ranks.epsilon == other.epsilon
    assert mechanism.error() == other.error()
    assert mechanism.mean_square() == pytest.approx(other.error() ** 2)
    histogram = table(300, 0.0, 7)
    drawn = mechanism.ranks.draw_answers(histogram, gd.research_rng(3))
    assert drawn == sorted(other.draw_jointly(_runs(histogram), other.aims(0), 4, gd.research_rng(3)))


def _runs(histogram: np.ndarray):
    from gaugedp.mechanisms.rank_exponential import Runs

    return Runs.of(histogram)


@pytest.mark.slow
def test_the_ends_are_within_the_stated_ranks() -> None:
    """200 releases at 0.9, of each quantile alone; with a fifth of that as the stated width, most are not."""
    histogram, mechanism = table(20_000, 0.0, 8), made()
    below = np.concatenate([[0], np.cumsum(histogram)])
    wide = mechanism.half_widths(0.9)
    targets = np.array([float(share) * 20_000 for share in SHARES])
    far = []
    for one in mechanism.pool(200, gd.research_rng(9)):
        lower, upper = one(histogram).reshape(5, 9)[3:]
        far.append(np.maximum.reduce([targets - below[lower + 1], below[upper] - targets, np.zeros(9)]))
    within = (np.array(far) <= wide).mean(axis=0)
    assert (within >= 0.9).all()
    assert (np.array(far) <= wide / 5).mean() < 0.5
    assert (mechanism.half_widths(0.9, simultaneous=True) > wide).all()


def test_a_plan_takes_the_shorter_intervals() -> None:
    """One quantile of many values has the shortest intervals from verified ends; few values, or nine, from a tree."""
    several = gd.plan(gd.quantiles(DOMAIN, "v", *SHARES), ROW, epsilon=1.0).mechanism
    single = gd.plan(gd.quantiles(DOMAIN, "v", 0.5), ROW, epsilon=1.0).mechanism
    few = gd.plan(gd.quantiles(gd.Domain.of(v=gd.bounded(0, 9)), "v", 0.5), ROW, epsilon=1.0).mechanism
    assert (several.name, single.name, few.name) == ("RankTree", "RankVerified", "RankTree")
    other = RankExponential.calibrate(several.body, gd.PureDP(1.0), SHARES)
    assert several.half_widths(0.95).max() < 0.5 * other.half_widths(0.95).max()


def test_counts_whose_noise_does_not_fit_are_refused_before_anything_is_paid() -> None:
    with pytest.raises(InvalidRequest, match=r"wider than 2\^54"):
        made(gd.PureDP(2e-15), shares=[Fraction(1, 2)])
    query = gd.quantiles(DOMAIN, "v", 0.5)
    table = gd.Table.scan(pd.DataFrame({"g": ["a"], "v": [3]}), domain=DOMAIN)
    answer = gd.release(query, table, ledger=gd.Ledger.in_memory(gd.PureDP(1)), epsilon=2e-15)
    assert answer.facts["mechanism"]["name"] == "RankExponential"


def test_the_randomness_is_drawn_before_the_answer_is_seen() -> None:
    mechanism, histogram = made(), table(300, 0.0, 1)
    rng = gd.research_rng(4)
    prepared = mechanism.prepare(rng)
    after = rng.bytes(8)
    assert after != gd.research_rng(4).bytes(8)
    first = prepared(histogram)
    assert (first == mechanism.prepare(gd.research_rng(4))(histogram)).all()
