"""The staircase: its law written down, exact privacy, the best of all laws, and what a plan makes of it."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.optimize

import gaugedp as gd
from gaugedp.audit import goodness_of_fit
from gaugedp.bodies import LpBall, Polytope
from gaugedp.errors import InvalidRequest
from gaugedp.mechanisms.staircase import StaircaseLaw

EPSILONS = (0.05, 1.0, 4.0, 40.0)
PERIODS = (1, 2, 7, 50)


def answer(period: int) -> Polytope:
    """The body of a count of units with so many rows."""
    domain = gd.Domain.of(a=["x", "y"])
    return gd.count(domain).sensitivity(gd.PrivacyUnit("pid", max_rows=period))


def weights(law: StaircaseLaw, k: np.ndarray) -> np.ndarray:
    """Probabilities on the integers, but for their sum."""
    periods, place = np.divmod(np.abs(k), law.period)
    return np.exp(-float(law.epsilon) * (periods + (place >= law.stair)))


@pytest.mark.parametrize("period", PERIODS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_its_moments_and_its_coverage_are_those_of_the_law(epsilon: float, period: int) -> None:
    reach = int(period * (60 / epsilon + 3))
    k = np.arange(-reach, reach + 1)
    for stair in {1, period // 2 + 1, period}:
        law = StaircaseLaw(Fraction(epsilon), period, stair)
        shares = weights(law, k) / weights(law, k).sum()
        assert shares @ np.abs(k) == pytest.approx(law.mean_size, rel=1e-9)
        assert shares @ k.astype(float) ** 2 == pytest.approx(law.variance, rel=1e-9)
        widths = np.arange(3 * period)
        inside = [shares[np.abs(k) <= width].sum() for width in widths]
        assert law.coverage(widths) == pytest.approx(inside, abs=1e-12)


@pytest.mark.parametrize("period", PERIODS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_stair_is_the_best_one(epsilon: float, period: int) -> None:
    laws = [StaircaseLaw(Fraction(epsilon), period, stair) for stair in range(1, period + 1)]
    chosen = gd.Staircase.calibrate(answer(period), gd.PureDP(epsilon)).law
    assert chosen.mean_size == pytest.approx(min(law.mean_size for law in laws), rel=1e-13)


@pytest.mark.parametrize("period", PERIODS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_it_keeps_its_guarantee_between_all_neighbours(epsilon: float, period: int) -> None:
    """No output is more than e^ε times likelier under a neighbour, and some are so much."""
    law = gd.Staircase.calibrate(answer(period), gd.PureDP(epsilon)).law
    k = np.arange(-4 * period, 4 * period + 1)
    losses = [np.abs(np.log(weights(law, k) / weights(law, k - apart))).max() for apart in range(1, period + 1)]
    assert max(losses) == pytest.approx(epsilon, rel=1e-12)


@pytest.mark.parametrize("body", [LpBall(1, 2, 0.7), LpBall(1, 1, 3e5)], ids=str)
def test_rounded_answers_are_no_further_apart_than_a_period(body: LpBall) -> None:
    mechanism = gd.Staircase.calibrate(body, gd.PureDP(1.0))
    places = np.random.default_rng(4).uniform(-50, 50, 20_000) * body.size
    steps = np.round(np.stack([places, places + body.size]) / float(mechanism.lattice_step))
    assert mechanism.law.period - 2 <= np.diff(steps, axis=0).max() <= mechanism.law.period


def least_error(epsilon: float, period: int, reach: int) -> float:
    """Least E|N| of all ε-DP laws on −reach … reach that go on beyond, falling by e^ε a period: a linear program."""
    n, ratio = 2 * reach + 1, np.exp(-epsilon)
    size = np.abs(np.arange(-reach, reach + 1)).astype(float)
    tail = size > reach - period  # stands for itself and all that follows at distances of a period
    mass = np.where(tail, 1 / (1 - ratio), 1.0)
    cost = np.where(tail, size / (1 - ratio) + period * ratio / (1 - ratio) ** 2, size)
    pairs = [(i, j) for i in range(n) for j in range(max(0, i - period), min(n, i + period + 1)) if i != j]
    ratios = np.zeros((len(pairs), n))
    for row, (i, j) in enumerate(pairs):
        ratios[row, i], ratios[row, j] = ratio, -1.0
    actual = scipy.optimize.linprog(cost, ratios, np.zeros(len(pairs)), mass[None], [1.0], method="highs")
    return float(actual.fun)


@pytest.mark.parametrize("period", [1, 2, 3, 5])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_no_law_errs_less(epsilon: float, period: int) -> None:
    error = gd.Staircase.calibrate(answer(period), gd.PureDP(epsilon)).error()
    assert least_error(epsilon, period, 6 * period) == pytest.approx(error, rel=1e-5)  # the solver rounds


@pytest.mark.parametrize(("epsilon", "period"), [(1.0, 7), (3.0, 50), (0.01, 2), (1.0, 2**40)])
def test_draws_follow_the_law(epsilon: float, period: int) -> None:
    """False alarms: 1e-6 each. Noise a tenth too small alarms, and so does the other ratio of the stairs."""
    law = StaircaseLaw.narrowest(Fraction(epsilon), period)
    assert goodness_of_fit.fit(law.draw(100_000, gd.research_rng(1)), law) > 1e-6
    smaller = StaircaseLaw(law.epsilon * 10 / 9, law.period, law.stair)
    assert goodness_of_fit.fit(smaller.draw(100_000, gd.research_rng(2)), law) < 1e-6
    if epsilon == 1:
        wider = StaircaseLaw(law.epsilon, law.period, law.period)
        assert goodness_of_fit.fit(wider.draw(100_000, gd.research_rng(3)), law) < 1e-6


def test_a_plan_takes_it_where_it_errs_least() -> None:
    domain = gd.Domain.of(a=["x", "y"], v=gd.bounded(0, 100))
    person = gd.PrivacyUnit("pid", max_rows=3)
    for query, unit in ((gd.query(domain, "sum(v)"), gd.PrivacyUnit()), (gd.count(domain), person)):
        plan = gd.plan(query, unit, epsilon=4)
        errors = {candidate.mechanism.name: candidate.error for candidate in plan.candidates}
        assert plan.mechanism.name == "Staircase"
        assert errors["Staircase"] < 0.75 * errors["Laplace"]
    assert (
        gd.plan(gd.count(domain), gd.PrivacyUnit(), epsilon=4).left_out["Staircase"]
        == "identical to Laplace for this query"
    )
    assert gd.plan(gd.query(domain, "a"), person, epsilon=4).left_out["Staircase"] == "for one answer"


def test_for_counts_of_rows_it_is_laplace_noise() -> None:
    staircase, laplace = (kind.calibrate(answer(1), gd.PureDP(0.7)) for kind in (gd.Staircase, gd.Laplace))
    assert staircase.variances == pytest.approx(laplace.variances, rel=1e-12)
    assert staircase.half_widths(0.95) == laplace.half_widths(0.95)


def test_what_it_is_not_for_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="a single answer"):
        gd.Staircase.calibrate(LpBall(2, 1), gd.PureDP(1.0))
    with pytest.raises(InvalidRequest, match="wider than 2\\^54"):
        gd.Staircase.calibrate(answer(10**6), gd.PureDP(1e-12))
