"""K-norm noise of balls and ellipsoids under (epsilon, delta): its width, its guarantee, and where a plan takes it."""

import math

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.bodies import Ellipsoid, LpBall, Polytope, SchattenBall
from gaugedp.estimators.mean import Mean
from gaugedp.guarantees import SphericalLaplaceLoss
from gaugedp.guarantees.parse_guarantee import chargeable
from gaugedp.guarantees.spherical_curve import spherical_delta
from gaugedp.mechanisms.choose import candidates, choose

ASKED = gd.ApproxDP(1.0, 1e-6)
BODIES = {
    "ball": LpBall(10, 2, 3.0),
    "disc": LpBall(2, 2, 0.3),
    "ellipsoid": Ellipsoid(np.diag([1.0, 5.0, 2.0]) + 0.5),
    "matrices": SchattenBall((2, 3), 2, 1.0),
}


@pytest.fixture(params=BODIES)
def mechanism(request) -> gd.KNorm:
    return gd.KNorm.calibrate(BODIES[request.param], ASKED)


def gauge_of_noise(mechanism: gd.KNorm) -> float:
    """The mean length of the noise in the body's own gauge: r over the rate."""
    drawn = mechanism.sample_noise(40_000, gd.research_rng(5))
    return float(mechanism.body.gauge(drawn).mean())


def test_the_noise_has_the_width_that_its_loss_needs(mechanism: gd.KNorm) -> None:
    rank = mechanism.body.rank
    rate = rank / gauge_of_noise(mechanism)
    assert rate == pytest.approx(1 / mechanism.guarantee.scale, rel=0.012), "of 40,000 draws, three deviations or more"
    assert spherical_delta(rate, rank, 1.0) == pytest.approx(1e-6, rel=0.9) or rank < 4, "too steep for these draws"


def test_the_guarantee_keeps_what_was_asked(mechanism: gd.KNorm) -> None:
    assert isinstance(mechanism.guarantee, SphericalLaplaceLoss)
    assert mechanism.guarantee.dimension == mechanism.body.rank
    assert mechanism.guarantee.delta(1.0) <= 1e-6
    assert mechanism.guarantee.delta(1.0) >= 1e-6 * (1 - 1e-6), "nothing is wasted"
    assert mechanism.guarantee.epsilon(1e-6) <= 1.0 + 1e-12
    assert mechanism.exactness == "exact"
    assert 1 / mechanism.epsilon >= mechanism.guarantee.scale * (1 - 1e-15), "the scale of its loss"
    assert mechanism.scale_factor > 1, "the body that the lattice makes larger, and rounding"


def test_the_charge_is_what_was_asked_and_nothing_less_is_claimed(mechanism: gd.KNorm) -> None:
    assert chargeable(mechanism.guarantee, ASKED) == [ASKED, mechanism.guarantee]
    account = gd.Ledger.open(":memory:", gd.ApproxDP(2.0, 1e-5), table="people", unit=gd.PrivacyUnit())
    with pytest.raises(gd.errors.InvalidRequest, match="does not follow from"):
        chargeable(mechanism.guarantee, gd.ApproxDP(0.9, 1e-6))
    del account


def test_it_is_calibrated_anew(mechanism: gd.KNorm) -> None:
    other = mechanism.recalibrated(gd.ApproxDP(0.5, 1e-9))
    assert other.guarantee.delta(0.5) <= 1e-9
    assert other.epsilon < mechanism.epsilon
    again = other.recalibrated(mechanism.guarantee)
    assert (again.epsilon, again.guarantee) == (mechanism.epsilon, mechanism.guarantee)
    assert mechanism.recalibrated(gd.PureDP(1.0)).epsilon == 1.0
    assert mechanism.recalibrated(gd.ApproxDP(1.0, 0.0)).guarantee == gd.PureDP(1.0)
    with pytest.raises(gd.errors.InvalidRequest):
        mechanism.recalibrated(SphericalLaplaceLoss(1.0, mechanism.body.rank + 1))


def test_where_the_loss_is_not_known_it_is_pure() -> None:
    assert gd.KNorm.calibrate(LpBall(5, 2), gd.ApproxDP(1e6, 1e-6)).guarantee == gd.PureDP(1e6)
    assert gd.KNorm.calibrate(LpBall(20_000, 2), ASKED).guarantee == gd.PureDP(1.0)
    at_zero = gd.KNorm.calibrate(LpBall(5, 2), gd.ApproxDP(0.0, 0.01))
    assert at_zero.guarantee.delta(0.0) <= 0.01
    assert gd.KNorm.calibrate(LpBall(5, 2), gd.ApproxDP(1.0, 1e-305)).guarantee.delta(1.0) <= 1e-305


@pytest.mark.parametrize("epsilon", [1.0, 0.1])
@pytest.mark.parametrize("d", [2, 3, 5, 10])
def test_it_errs_less_than_pure_and_gaussian_noise(d: int, epsilon: float) -> None:
    requested, body = gd.ApproxDP(epsilon, 1e-6), LpBall(d, 2)
    length = d * gd.KNorm.calibrate(body, requested).guarantee.scale
    assert length < d / epsilon, "pure noise"
    assert length < gd.Gaussian.calibrate(body, requested).error()


@pytest.mark.parametrize("body", [LpBall(3, 2), Ellipsoid(np.diag([1.0, 5.0, 2.0]))], ids=repr)
def test_a_plan_takes_it_where_it_is_best(body) -> None:
    weighed = list(candidates(body, ASKED))
    best, reason = choose(weighed, [mechanism.error() for mechanism in weighed])
    assert isinstance(best, gd.KNorm)
    assert "against" in reason
    assert not any(isinstance(mechanism, gd.KNorm) for mechanism in candidates(body, gd.PureDP(1.0)))


def test_a_mean_of_rows_in_a_ball_takes_it() -> None:
    rows = gd.research_rng(1)
    data = np.array([rows.integer(8) for _ in range(3000)]).reshape(1000, 3) / 512.0
    mean = Mean(row_norm=1.0, epsilon=1.0, delta=1e-6, random_state=1).fit(data)
    assert mean.solver_ == "KNorm"
    assert isinstance(mean.mechanism_.guarantee, SphericalLaplaceLoss)


def test_ellipsoids_around_a_polytope_take_the_delta_too() -> None:
    body = Polytope.symmetric_hull(np.diag(1000.0 ** np.arange(3)) @ np.random.default_rng(3).normal(size=(3, 5)))
    mechanism = gd.EllipsoidNoise.calibrate(body, gd.ApproxDP(1.0, 1e-3))
    assert mechanism.guarantee.delta(1.0) <= 1e-3
    assert mechanism.error() < gd.EllipsoidNoise.calibrate(body, gd.PureDP(1.0)).error() / 1.04
    assert any(isinstance(offered.guarantee, SphericalLaplaceLoss) for offered in candidates(body, ASKED))


@pytest.mark.parametrize("body", [LpBall(3, 1), LpBall(3, math.inf), LpBall(1, 2)], ids=repr)
def test_other_bodies_keep_epsilon_alone(body) -> None:
    assert gd.KNorm.calibrate(body, ASKED).guarantee == gd.PureDP(1.0)
