"""Ball and grid walks: what they leave invariant, and that what they must not do is noticed."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from scipy import stats

from gaugedp.bodies import Body, Ellipsoid, LinearImage, LpBall, Polytope
from gaugedp.entropy import Entropy, research_rng
from gaugedp.errors import InvalidRequest
from gaugedp.samplers.continuous import normals, uniforms
from gaugedp.samplers.direct import uniform_direct
from gaugedp.samplers.near_walks import BallWalk, GridWalk, ball_walk, grid_walk
from gaugedp.samplers.walks import chart
from tests.bodies.zoo import ZOO, Member
from tests.cases import one_in
from tests.samplers.dependent import estimate
from tests.samplers.uniformity import gauge_power_test, odd_functionals

SIGNS = np.random.default_rng(1).integers(0, 2, (5, 50)) * 2.0 - 1


@pytest.mark.parametrize("member", ZOO, ids=str)
def test_charts_are_bases_in_the_body(member: Member) -> None:
    basis = chart(member.body)
    assert basis.shape == (member.body.ambient_dim, member.body.rank)
    gauges = member.body.gauge(basis.T)
    assert (gauges > 0.1).all()
    assert (gauges <= 1 + 1e-6).all()


@pytest.mark.many
@pytest.mark.parametrize("member", one_in(5, ZOO), ids=str)
def test_walks_stay_in_the_body_and_move(member: Member) -> None:
    body = member.body
    for draws in (
        ball_walk(body, 8, research_rng(1), burn_in=20, thin=2),
        grid_walk(body, 8, research_rng(1), burn_in=20, thin=2),
    ):
        assert draws.shape == (8, body.ambient_dim)
        assert (body.gauge(draws) <= 1 + 1e-9).all()
        assert np.ptp(draws, axis=0).any()


@pytest.mark.parametrize("walk", [ball_walk, grid_walk])
def test_refusals(walk: type) -> None:
    projection = LinearImage(LpBall(2, 3), np.ones((1, 2)))
    for arguments in ({"thin": 0}, {"burn_in": -1}):
        with pytest.raises(InvalidRequest):
            walk(LpBall(2, 2), 5, research_rng(1), **arguments)
    with pytest.raises(InvalidRequest, match="several points"):
        walk(projection, 5, research_rng(1))
    with pytest.raises(InvalidRequest):
        walk(LpBall(2, 2), -1, research_rng(1))


def test_a_step_needs_a_size() -> None:
    with pytest.raises(InvalidRequest, match="radius"):
        ball_walk(LpBall(2, 2), 5, research_rng(1), radius=0)
    with pytest.raises(InvalidRequest, match="spacing"):
        grid_walk(LpBall(2, 2), 5, research_rng(1), spacing=-1)


# -- ball walk ---------------------------------------------------------------------------------------


class Retried(BallWalk):
    """A control: proposes again until a proposal lies in the body."""

    def step(self, rng: Entropy) -> None:
        missing = np.arange(len(self.places))
        before = self.places.copy()
        while len(missing):
            proposals = normals(before[missing].size, rng).reshape(len(missing), -1)
            lengths = uniforms(len(missing), rng) ** (1 / before.shape[1])
            proposals *= (self.radius * lengths / np.linalg.norm(proposals, axis=1))[:, None]
            self.places[missing] = before[missing] + proposals
            missing = missing[self.body.gauge(self.places[missing] @ self.chart.T) > 1]


def walked(kind: type[BallWalk], body: Body, radius: float, steps: int) -> np.ndarray:
    """Return 4,000 independent walks after so many steps, begun uniform."""
    rng = research_rng(2)
    basis = chart(body)
    places = np.linalg.lstsq(basis, uniform_direct(body, 4000, rng).T, rcond=None)[0].T
    walk = kind(body, basis, radius, places)
    for _ in range(steps):
        walk.step(rng)
    return walk.points()


KNOWN = [LpBall(5, np.inf), LpBall(4, 1, 3.0), LpBall(8, 2), Ellipsoid(np.array([[1.0, 2], [3, -1], [4, 1]]))]


@pytest.mark.statistical
@pytest.mark.parametrize("body", KNOWN, ids=repr)
@pytest.mark.parametrize("radius", [0.2, 0.7])
def test_the_ball_walk_keeps_the_uniform_law(body: Body, radius: float) -> None:
    """Independent draws after 40 steps. False alarms: 1e-5 each."""
    draws = walked(BallWalk, body, radius, 40)
    assert stats.kstest(body.gauge(draws) ** body.rank, stats.uniform.cdf).pvalue > 1e-5
    direct = uniform_direct(body, 20_000, research_rng(3))
    assert stats.ks_2samp(draws[:, 0], direct[:, 0]).pvalue > 1e-5
    assert stats.ks_2samp(draws.sum(axis=1), direct.sum(axis=1)).pvalue > 1e-5


@pytest.mark.statistical
@pytest.mark.parametrize("body", KNOWN, ids=repr)
def test_retrying_until_accepted_alarms(body: Body) -> None:
    """A control: it leaves the boundary too often, where few proposals lie in the body."""
    draws = walked(Retried, body, 0.7, 40)
    powers = body.gauge(draws) ** body.rank
    assert powers.mean() < 0.48
    assert stats.kstest(powers, stats.uniform.cdf).pvalue < 1e-5
    assert gauge_power_test(body, draws[:, None, :]).p_value < 1e-5


@pytest.mark.statistical
def test_one_ball_walk_in_a_degenerate_polytope() -> None:
    """One walk of linear programs; (r + 1)·E‖z‖ = 7.5386 within 3 standard errors (false alarms: 0.3 %)."""
    body = Polytope.symmetric_hull(SIGNS)
    draws = ball_walk(body, 240, research_rng(4), radius=0.8, burn_in=60, thin=5)
    actual = estimate(np.linalg.norm(draws, axis=1))
    assert abs(6 * actual.mean - 7.5386) < 3 * 6 * actual.standard_error
    assert actual.standard_error < 0.1 * actual.mean
    assert gauge_power_test(body, draws).p_value > 1e-4
    assert odd_functionals(draws).p_value > 1e-4


# -- grid walk ---------------------------------------------------------------------------------------


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("body", "spacing"), [(LpBall(2, 1), 0.3), (LpBall(3, 2, 9.0), 0.4), (LpBall(2, np.inf), 0.5)], ids=repr
)
def test_the_grid_walk_is_uniform_on_the_lattice(body: LpBall, spacing: float) -> None:
    """3,000 independent walks after 400 steps from the origin: every lattice point as often. False alarms: 1e-5."""
    walk = GridWalk(body, chart(body), spacing, np.zeros((3000, body.d), dtype=np.int64))
    rng = research_rng(5)
    for _ in range(400):
        walk.step(rng)
    reach = int(1 / spacing)
    lattice = [point for point in product(range(-reach, reach + 1), repeat=body.d)]
    inside = [point for point in lattice if np.linalg.norm(np.array(point), body.p) * spacing <= 1 + 1e-12]
    counts = Counter(map(tuple, walk.places.tolist()))
    assert set(counts) <= set(inside)
    assert stats.chisquare([counts[point] for point in inside]).pvalue > 1e-5


@pytest.mark.statistical
def test_a_fine_grid_is_near_the_body() -> None:
    """E‖z‖₂ on the disc is 2/3; 2,000 walks, 5 standard errors and the lattice's own 1 %."""
    walk = GridWalk(LpBall(2, 2), np.eye(2), 0.1, np.zeros((2000, 2), dtype=np.int64))
    rng = research_rng(6)
    for _ in range(600):
        walk.step(rng)
    lengths = np.linalg.norm(walk.points(), axis=1)
    assert abs(lengths.mean() - 2 / 3) < 5 * lengths.std() / np.sqrt(2000) + 0.007
