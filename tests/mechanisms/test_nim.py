"""The recursive mechanism: shares, mixing of levels, depth."""

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.bodies import Body, Ellipsoid, LinearImage, LpBall, Polytope, SchattenBall
from gaugedp.bounds import lower_bound
from gaugedp.errors import InvalidRequest
from gaugedp.mechanisms.nim import NIM, NestedNoise
from gaugedp.samplers import moments
from gaugedp.samplers.gauge_noise import RadialNoise
from tests.samplers.test_facet_walk import signs_matrix

pytestmark = pytest.mark.statistical
ONE = gd.PureDP(1.0)
LENGTHS = np.geomspace(1, 1e-4, 8)
TURN = np.linalg.qr(np.random.default_rng(1).normal(size=(8, 8)))[0]
LONG_BODIES = {
    "ellipsoid": Ellipsoid(TURN @ np.diag(LENGTHS)),
    "box": LinearImage(LpBall(8, np.inf, 2.0), np.diag(LENGTHS)),
    "between": LinearImage(LpBall(8, 3), np.diag(LENGTHS[::-1])),
    "round": LinearImage(LpBall(8, 1.5), np.diag(LENGTHS)),
}


def long_body(base: float, d: int = 6, n: int = 18) -> Polytope:
    scales = base ** -np.arange(float(d))
    return Polytope.symmetric_hull(scales[:, None] * signs_matrix(d, n))


@pytest.mark.parametrize("name", LONG_BODIES)
def test_noise_of_balls_has_the_mean_square_that_is_computed(name: str) -> None:
    """20,000 draws with a fixed key: within five standard errors; nothing is estimated."""
    mechanism = NIM.calibrate(LONG_BODIES[name], ONE)
    noise = mechanism.noise
    assert isinstance(noise, NestedNoise)
    squares = (noise.draw(20_000, gd.research_rng(4)) ** 2).sum(axis=1)
    assert abs(squares.mean() - noise.square) < 5 * squares.std() / 20_000**0.5


@pytest.mark.parametrize("base", [1.0, 2.0, 8.0])
def test_the_noise_has_the_mean_square_that_is_computed(base: float) -> None:
    """4,000 draws with a fixed key: within five standard errors, and two percent for what is estimated."""
    for depth in (2, 3):
        mechanism = NIM.calibrate(long_body(base), ONE, depth)
        noise = mechanism.noise
        assert isinstance(noise, NestedNoise)
        squares = (mechanism.sample_noise(4000, gd.research_rng(depth)) ** 2).sum(axis=1)
        expected = noise.square * mechanism.scale_factor**2
        assert abs(squares.mean() - expected) < 5 * squares.std() / 4000**0.5 + 0.02 * expected
        assert mechanism.error() <= np.sqrt(expected) * 1.02
        assert noise.shares.sum() == pytest.approx(1)


def test_one_level_is_the_k_norm_mechanism() -> None:
    body = long_body(1.5)
    assert NIM.calibrate(body, ONE, 1).error() == pytest.approx(gd.KNorm.calibrate(body, ONE).error(), rel=0.02)


def test_the_depth_is_the_best_there_is() -> None:
    for base, deep in ((1.0, False), (8.0, True)):
        best = NIM.calibrate(long_body(base), ONE)
        errors = [NIM.calibrate(long_body(base), ONE, depth).error() for depth in (1, 2, 3)]
        assert best.error() <= min(errors) * 1.03
        assert (best.depth > 1) == deep


def test_it_beats_the_k_norm_on_long_bodies_and_loses_nothing_elsewhere() -> None:
    for base, ratio in ((1.0, 1.02), (2.0, 1.0), (8.0, 0.65)):
        body = long_body(base)
        assert NIM.calibrate(body, ONE).error() < ratio * gd.KNorm.calibrate(body, ONE).error()


def test_levels_that_answer_twice_are_mixed() -> None:
    """With the weights of the later answers put to 1, as in the source, the error is larger."""
    mechanism = NIM.calibrate(long_body(2.0), ONE, 2)
    mixed = mechanism.noise
    assert isinstance(mixed, NestedNoise)
    thrown = NestedNoise(mixed.levels, mixed.shares)
    thrown.weights = [1.0] * (len(mixed.levels) - 1) + [0.0]
    assert 0 < mixed.weights[0] < 1
    square = (thrown.draw(20_000, gd.research_rng(1)) ** 2).sum(axis=1).mean()
    assert square > 1.01 * mixed.square


def test_every_level_has_its_share_and_no_more() -> None:
    """Level by level: the noise of level l is that of its projected body at ε_l, exactly 1/ε_l times as long."""
    noise = NIM.calibrate(long_body(2.0), ONE, 3).noise
    assert isinstance(noise, NestedNoise)
    for level, share in zip(noise.levels, noise.shares, strict=True):
        part = gd.bodies.project(long_body(2.0), level.basis)
        rank = part.rank
        expected = np.trace(moments(part).second_moment) * (rank + 1) * (rank + 2)
        assert level.short_square + level.long_square == pytest.approx(expected, rel=1e-6)
        assert 0 < share <= 1
    assert noise.shares.sum() <= 1 + 1e-12


def test_a_walk_makes_the_whole_mixing() -> None:
    body = Polytope.symmetric_hull(signs_matrix(10, 60))
    mechanism = NIM.calibrate(body, ONE, 2)
    assert mechanism.exactness == "mixing"
    assert mechanism.guarantee == gd.ApproxDP(1.0, 1e-9)
    assert mechanism.steps >= max(level.noise.steps(1e-9 / (1 + np.e) / 2) for level in mechanism.noise.levels)
    assert mechanism.prepare(gd.research_rng(0))(np.zeros(10, dtype=int)).shape == (10,)


@pytest.mark.parametrize("name", LONG_BODIES)
def test_every_level_has_the_shadow_of_the_body(name: str) -> None:
    """Each level's own body: of gauge at most 1 where a neighbour's answer may lie, and exactly 1 in its direction."""
    body = LONG_BODIES[name]
    noise = NIM.calibrate(body, ONE, 3).noise
    assert isinstance(noise, NestedNoise)
    assert [level.basis.shape[1] for level in noise.levels] == [8, 4, 2]
    for level in noise.levels:
        assert np.abs(level.basis.T @ level.basis - np.eye(level.basis.shape[1])).max() < 1e-14
        directions = np.random.default_rng(2).normal(size=(200, level.basis.shape[1]))
        farthest = body.argmax(directions @ level.basis.T) @ level.basis
        assert isinstance(level.noise, RadialNoise)
        assert level.noise.body.gauge(farthest) == pytest.approx(np.ones(200), rel=1e-6)


@pytest.mark.parametrize("name", LONG_BODIES)
def test_long_balls_and_ellipsoids_have_less_noise_than_the_k_norm(name: str) -> None:
    body = LONG_BODIES[name]
    mechanism = NIM.calibrate(body, ONE)
    kind = "idealized" if name == "ellipsoid" else "exact"
    assert (mechanism.depth > 1, mechanism.exactness, mechanism.guarantee) == (True, kind, ONE)
    assert mechanism.error() < 0.9 * gd.KNorm.calibrate(body, ONE).error()
    assert mechanism.error() > lower_bound(body, 1.0)


def test_an_allowed_delta_is_not_used() -> None:
    body = LONG_BODIES["ellipsoid"]
    assert NIM.calibrate(body, gd.ApproxDP(1.0, 1e-6)).guarantee == ONE


@pytest.mark.parametrize(
    "body", [LpBall(6, 3), LpBall(6, 2), LpBall(6, np.inf), SchattenBall((2, 3), np.inf)], ids=repr
)
def test_round_bodies_have_one_level(body: Body) -> None:
    mechanism = NIM.calibrate(body, ONE)
    assert mechanism.depth == 1
    assert mechanism.exactness == gd.KNorm.calibrate(body, ONE).exactness
    assert mechanism.error() == pytest.approx(gd.KNorm.calibrate(body, ONE).error(), rel=1e-5)


@pytest.mark.parametrize("shortest", [1e-9, 1e-7])
def test_one_direction_may_not_be_too_short(shortest: float) -> None:
    """Rounding is relative to the longest: also where the short half has a long direction beside it."""
    matrix = np.diag([1.0, 1.0, 1e-2, shortest]) @ np.random.default_rng(0).normal(size=(4, 7))
    for body in (Polytope.symmetric_hull(matrix), Ellipsoid(np.diag([1.0, 1.0, 1e-2, shortest]))):
        with pytest.raises(InvalidRequest, match="The body is so long and thin that the noise"):
            NIM.calibrate(body, ONE)


def test_what_it_refuses() -> None:
    with pytest.raises(InvalidRequest, match="There is no K-norm noise"):
        NIM.calibrate(SchattenBall((2, 3), np.inf), ONE, 2)
    with pytest.raises(InvalidRequest, match="There is no K-norm noise"):
        NIM.calibrate(SchattenBall((2, 3), 3), ONE)
    with pytest.raises(InvalidRequest, match="Pass a body"):
        NIM.calibrate(np.eye(3), ONE)
    with pytest.raises(InvalidRequest, match="depth"):
        NIM.calibrate(long_body(1.0), ONE, 0)
