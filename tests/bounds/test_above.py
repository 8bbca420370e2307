"""Upper bounds on volumes, the isotropic position and moments of noise, against closed forms and draws."""

import math

import numpy as np
import pytest

import gaugedp as gd
from gaugedp import samplers
from gaugedp.bodies import Ellipsoid, LinearImage, LpBall, Polytope, volume
from gaugedp.bounds import isotropic_position, volume_upper_bound
from gaugedp.errors import InvalidRequest

RNG = np.random.default_rng(50)
HULLS = [
    *(Polytope.symmetric_hull(np.eye(d)) for d in (1, 2, 5, 8)),
    *(Polytope.symmetric_hull(RNG.integers(0, 2, (d, n)) * 2.0 - 1) for d, n in ((2, 4), (4, 9), (5, 40), (6, 20))),
    *(Polytope.symmetric_hull(np.diag(np.geomspace(1, 1e-4, d)) @ RNG.normal(size=(d, 3 * d)), 2.0) for d in (3, 5)),
    Polytope.symmetric_hull(RNG.normal(size=(6, 3)) @ RNG.normal(size=(3, 8))),
    Polytope.difference_hull(RNG.normal(size=(4, 6))),
]


@pytest.mark.parametrize("body", HULLS, ids=repr)
def test_no_volume_is_above_its_bound(body: Polytope) -> None:
    """Exact volumes, by lists of facets: the bound is above them, by a factor of at most 1.8 to the rank."""
    exact = volume(body)
    assert exact.kind == "exact"
    assert exact.log_volume <= volume_upper_bound(body) + 1e-9 <= exact.log_volume + body.rank * math.log(1.8)


@pytest.mark.parametrize("body", [LpBall(3, 2), "a hull"], ids=repr)
def test_volumes_of_other_bodies_are_refused(body) -> None:
    with pytest.raises(InvalidRequest, match="more than one point"):
        volume_upper_bound(body)


def test_the_orders_of_both_bounds() -> None:
    """2 by the cube where n is vast, and at most 13·√(log(n/d)/d), at n = 4d and 8d."""
    cube = Polytope.symmetric_hull(np.array(np.meshgrid(*[[-1.0, 1.0]] * 4)).reshape(4, -1))
    assert volume_upper_bound(cube) == pytest.approx(4 * math.log(2))
    for d, ratio in ((10, 4), (60, 4), (60, 8)):
        body = Polytope.symmetric_hull(RNG.integers(0, 2, (d, ratio * d)) * 2.0 - 1)
        assert math.exp(volume_upper_bound(body) / d) <= min(2, 13 * math.sqrt(math.log(ratio) / d)) * (1 + 1e-6)


@pytest.mark.parametrize(
    "body",
    [Ellipsoid(RNG.normal(size=(4, 3))), LinearImage(LpBall(3, np.inf), RNG.normal(size=(3, 3))), LpBall(5, 1)],
    ids=repr,
)
def test_the_map_makes_bodies_isotropic(body) -> None:
    position = isotropic_position(body)
    spread = position.map @ samplers.moments(body).second_moment @ position.map.T
    assert np.allclose(spread, position.deviation**2 * np.eye(body.rank))
    assert abs(np.linalg.det(position.map @ body.span)) == pytest.approx(1)
    assert position.kind == "exact"
    covariance = body.span.T @ samplers.moments(body).second_moment @ body.span
    assert gd.bounds.is_approximately_isotropic(covariance, position.c * (1 + 1e-9))
    assert position.c == pytest.approx(1) or not gd.bounds.is_approximately_isotropic(covariance, position.c * 0.999)


def test_constants_are_those_of_the_round_body() -> None:
    for made, plain, power in ((Ellipsoid(RNG.normal(size=(3, 3))), LpBall(3, 2), 2), (LpBall(2, 1), LpBall(2, 1), 1)):
        assert isotropic_position(made).constant == pytest.approx(isotropic_position(plain).constant), power
    assert isotropic_position(LpBall(6, np.inf, 3.0)).constant == pytest.approx(1 / math.sqrt(12))


def test_the_bound_on_noise_is_attained_by_isotropic_bodies() -> None:
    body = LpBall(4, np.inf)
    mechanism = gd.KNorm.calibrate(body, gd.PureDP(0.5))
    assert isotropic_position(body).root_mean_square(0.5) == pytest.approx(math.sqrt(mechanism.mean_square()), rel=2e-3)
    long = LinearImage(body, np.diag([9.0, 1, 1, 1]))
    error = math.sqrt(gd.KNorm.calibrate(long, gd.PureDP(0.5)).mean_square())
    assert isotropic_position(long).root_mean_square(0.5) >= error


@pytest.mark.parametrize("power", [0.5, 1, 2, 3])
@pytest.mark.parametrize("d", [1, 4])
def test_moments_of_noise_of_a_ball(d: int, power: float) -> None:
    """Γ(d + 1 + p)/(Γ(d + 1)·ε^p)·d/(d + p), within five standard errors of 64,000 draws; false alarms: 1e-6 each."""

    def exact(p: float) -> float:
        return math.gamma(d + 1 + p) / math.gamma(d + 1) * 6**p * d / (d + p)

    mechanism = gd.KNorm.calibrate(LpBall(d, 2, 3.0), gd.PureDP(0.5))
    error = math.sqrt((exact(2 * power) / exact(power) ** 2 - 1) / 64_000)
    assert mechanism.moment(power) == pytest.approx(exact(power), rel=5 * error + 1e-3)


def test_moments_in_other_norms() -> None:
    """E‖z‖_∞ on the cube is d/(d + 1), and E‖z‖_1 is d/2."""
    mechanism = gd.KNorm.calibrate(LpBall(3, np.inf), gd.PureDP(1.0))
    assert mechanism.moment(1, np.inf) == pytest.approx(4 * 3 / 4, rel=0.02)
    assert mechanism.moment(1, 1) == pytest.approx(4 * 3 / 2, rel=0.02)
    assert mechanism.moment(1) == mechanism.error()
    for arguments in ((0,), (1, 0.5)):
        with pytest.raises(InvalidRequest):
            mechanism.moment(*arguments)
