"""The recursive mechanism: shares, mixing of levels, depth."""

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.bodies import LpBall, Polytope
from gaugedp.errors import InvalidRequest
from gaugedp.mechanisms.nim import NIM, Nested
from gaugedp.samplers import moments
from tests.samplers.test_facet_walk import signs_matrix

pytestmark = pytest.mark.statistical
ONE = gd.PureDP(1.0)


def long_body(base: float, d: int = 6, n: int = 18) -> Polytope:
    scales = base ** -np.arange(float(d))
    return Polytope.symmetric_hull(scales[:, None] * signs_matrix(d, n))


@pytest.mark.parametrize("base", [1.0, 2.0, 8.0])
def test_the_noise_has_the_mean_square_that_is_computed(base: float) -> None:
    """4,000 draws with a fixed key: within five standard errors, and two percent for what is estimated."""
    for depth in (1, 2, 3):
        mechanism = NIM.calibrate(long_body(base), ONE, depth)
        noise = mechanism.noise
        assert isinstance(noise, Nested)
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
    assert isinstance(mixed, Nested)
    thrown = Nested(mixed.levels, mixed.shares)
    thrown.weights = [1.0] * (len(mixed.levels) - 1) + [0.0]
    assert 0 < mixed.weights[0] < 1
    square = (thrown.draw(20_000, gd.research_rng(1)) ** 2).sum(axis=1).mean()
    assert square > 1.01 * mixed.square


def test_every_level_has_its_share_and_no_more() -> None:
    """Level by level: the noise of level l is that of its projected body at ε_l, exactly 1/ε_l times as long."""
    noise = NIM.calibrate(long_body(2.0), ONE, 3).noise
    assert isinstance(noise, Nested)
    for level, share in zip(noise.levels, noise.shares, strict=True):
        part = gd.bodies.project(long_body(2.0), level.basis)
        rank = part.rank
        expected = np.trace(moments(part).second_moment) * (rank + 1) * (rank + 2)
        assert level.short_square + level.long_square == pytest.approx(expected, rel=1e-6)
        assert 0 < share <= 1


def test_a_walk_makes_the_whole_mixing() -> None:
    body = Polytope.symmetric_hull(signs_matrix(10, 60))
    mechanism = NIM.calibrate(body, ONE, 2)
    assert mechanism.exactness == "mixing"
    assert mechanism.guarantee == gd.ApproxDP(1.0, 1e-9)
    assert mechanism.steps >= max(level.noise.steps(1e-9 / (1 + np.e) / 2) for level in mechanism.noise.levels)
    assert mechanism.prepare(gd.research_rng(0))(np.zeros(10, dtype=int)).shape == (10,)


def test_it_is_for_polytopes() -> None:
    with pytest.raises(InvalidRequest, match="not a polytope"):
        NIM.calibrate(LpBall(3, 2), ONE)
    with pytest.raises(InvalidRequest, match="depth"):
        NIM.calibrate(long_body(1.0), ONE, 0)
