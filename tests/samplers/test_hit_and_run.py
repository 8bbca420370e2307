"""Hit-and-run against linear programs (where its lines end) and against exact values (where it is in the long run)."""

from functools import cache
from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats

from gaugedp.bodies import Body, LinearImage, LpBall, Polytope, SchattenBall
from gaugedp.entropy import Entropy, research_rng
from gaugedp.errors import InvalidRequest
from gaugedp.samplers.continuous import exponentials, normals
from gaugedp.samplers.diagnostics import autocorrelation_time
from gaugedp.samplers.direct import uniform_direct
from gaugedp.samplers.hit_and_run import GaugeWalk, PolytopeWalk, hit_and_run
from gaugedp.samplers.walks import gathered
from tests.bodies.zoo import ZOO, Member
from tests.cases import one_in
from tests.samplers.dependent import estimate
from tests.samplers.uniformity import gauge_power_test, odd_functionals

CHAINS = 128
NOISE = np.random.default_rng(7).normal(size=(5, 8))


def signs(d: int, n: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 2, (d, n)) * 2.0 - 1


def two_way(n_values: int) -> np.ndarray:
    """The two-way marginals of three attributes: rank 19 for 3 values, and very degenerate."""
    cells = list(product(range(n_values), repeat=3))
    kinds = [(pair, values) for pair in combinations(range(3), 2) for values in product(range(n_values), repeat=2)]
    return np.array([[float((cell[i], cell[j]) == values) for cell in cells] for (i, j), values in kinds])


EXACT = {  # (generators, E‖noise‖₂ at ε = 1, its standard error): from the list of facets, or independent long walks
    "signs (5, 50)": (signs(5, 50), 7.5386, 0.0003),  # the cube without two corners: 4·10^7 points of the cube
    "uniform (5, 30)": (np.random.default_rng(3).uniform(-1, 1, (5, 30)), 4.9678, 0.0016),
    "signs (10, 100)": (signs(10, 100), 18.812, 0.009),
    "marginals 3x3x3": (two_way(3), 11.18, 0.004),
}
LENGTHS = {"signs (5, 50)": 25, "uniform (5, 30)": 25, "signs (10, 100)": 12, "marginals 3x3x3": 8}
DEGENERATE = ("signs (5, 50)", "signs (10, 100)")


class Redrawn:
    """A control: hit-and-run that also redraws the coordinates in the current cone, at the same gauge."""

    def __init__(self, walk: PolytopeWalk) -> None:
        self.walk = walk

    def step(self, rng: Entropy) -> None:
        self.walk.step(rng)
        shares = self.walk.lanes.shares
        mixture = exponentials(shares.size, rng).reshape(shares.shape)
        shares[:] = mixture * (shares.sum(axis=1) / mixture.sum(axis=1))[:, None]

    def points(self) -> np.ndarray:
        return self.walk.points()


@cache
def draws_of(name: str, redraw: bool = False) -> np.ndarray:
    """Return draws (CHAINS, length, d)."""
    length = LENGTHS[name]
    body, rng = Polytope.symmetric_hull(EXACT[name][0]), research_rng(5)
    walk: PolytopeWalk | Redrawn = PolytopeWalk.started(body, CHAINS, rng)
    walk = Redrawn(walk) if redraw else walk
    draws = gathered(walk, CHAINS * length, 5 * body.rank, 5, rng)
    return draws.reshape(CHAINS, length, -1)


def score(name: str, draws: np.ndarray) -> float:
    """Return how many standard errors (r + 1)·E‖z‖ is from the exact value."""
    matrix, expected, error = EXACT[name]
    factor = np.linalg.matrix_rank(matrix) + 1
    actual = estimate(np.linalg.norm(draws, axis=2))
    return (factor * actual.mean - expected) / np.hypot(error, factor * actual.standard_error)


# -- each step ---------------------------------------------------------------------------------------

BODIES = {
    **{name: Polytope.symmetric_hull(matrix) for name, (matrix, _, _) in EXACT.items()},
    "scaled differences": Polytope.difference_hull(signs(4, 9), factor=3),
    "differences or nothing": Polytope.difference_hull(two_way(2), with_zero=True),
    "units": Polytope.symmetric_hull(np.diag([1e-9, 1.0, 1e9]) @ signs(3, 8)),
    "thin": Polytope.symmetric_hull(np.array([[1.0, 1.0, 0.5], [0.0, 1e-6, 2e-6]])),
    "nearly twice the same": Polytope.difference_hull(np.hstack([two_way(2)[:5], two_way(2)[:5] + 1e-9 * NOISE])),
    "line": Polytope.symmetric_hull(np.array([[1.0, -3.0, 2.0]])),
    "cross-polytope": Polytope.symmetric_hull(np.eye(6)),
    "permutations": Polytope.symmetric_hull(np.array([row for row in product((-1.0, 0, 1), repeat=4) if any(row)]).T),
}


@pytest.mark.many
@pytest.mark.parametrize("name", BODIES)
def test_lines_end_where_linear_programs_say(name: str) -> None:
    """From points with gauge below 1, to points with gauge 1: by convexity there is one such end."""
    body, rng = BODIES[name], research_rng(11)
    walk = PolytopeWalk.started(body, 8, rng)
    for _ in range(20):
        walk.step(rng)
    before = walk.points()
    lines = normals(walk.lanes.shares.size, rng).reshape(walk.lanes.shares.shape)
    far = walk.lanes.advance(lines, np.full(8, np.inf))
    np.testing.assert_allclose(walk.points(), before + far[:, None] * (lines @ walk.chart.T), rtol=1e-7, atol=1e-13)
    np.testing.assert_allclose(body.gauge(walk.points()), 1, rtol=1e-6)
    assert (body.gauge(before) < 1 + 1e-6).all()


@pytest.mark.many
@pytest.mark.parametrize("name", BODIES)
def test_a_state_is_an_optimal_basis(name: str) -> None:
    """After 40 steps: inverses, no broken constraint, and the gauge that a linear program finds."""
    body, rng = BODIES[name], research_rng(12)
    walk = PolytopeWalk.started(body, 8, rng)
    for _ in range(40):
        walk.step(rng)
    lanes, every = walk.lanes, np.arange(8)[:, None]
    facets = np.moveaxis(lanes.columns[:, lanes.basis], 0, 1) * lanes.signs[:, None, :]
    np.testing.assert_allclose(
        facets @ lanes.inverse, np.broadcast_to(np.eye(facets.shape[1]), facets.shape), atol=1e-9
    )
    assert np.abs(lanes.products).max() < 1 + 1e-7
    np.testing.assert_allclose(lanes.products[every, lanes.basis], lanes.signs, atol=1e-9)
    assert lanes.shares.min() >= 0
    np.testing.assert_allclose(body.gauge(walk.points()), lanes.shares.sum(axis=1), rtol=1e-6, atol=1e-9)


def test_a_line_that_stops_early() -> None:
    """There and back again, across many cones."""
    walk = PolytopeWalk.started(BODIES["signs (10, 100)"], 16, research_rng(13))
    before = walk.points()
    lines = normals(160, research_rng(14)).reshape(16, 10)
    reach = 0.7 * walk.lanes.twice().advance(np.concatenate([lines, -lines]), np.full(32, np.inf))[:16]
    np.testing.assert_allclose(walk.lanes.advance(lines, reach), reach)
    moved = walk.points()
    assert np.linalg.norm(moved - before, axis=1).min() > 1e-3
    np.testing.assert_allclose(walk.lanes.advance(-lines, reach), reach)
    np.testing.assert_allclose(walk.points(), before, atol=1e-9)


@pytest.mark.parametrize("member", one_in(5, ZOO), ids=str)
def test_every_body_is_walked_in(member: Member) -> None:
    body = member.body
    draws = hit_and_run(body, 11, research_rng(1), chains=4, burn_in=3, thin=2)
    assert draws.shape == (11, body.ambient_dim)
    assert (body.gauge(draws) <= 1 + 1e-6).all()
    assert np.ptp(draws, axis=0).any()


def test_rows_come_walk_after_walk() -> None:
    """Each walk's rows are those of a longer run with the same seed: the first 3 of 5."""
    body = LpBall(3, 1.5)
    few = hit_and_run(body, 6, research_rng(2), chains=2, burn_in=0, thin=1).reshape(2, 3, 3)
    more = hit_and_run(body, 10, research_rng(2), chains=2, burn_in=0, thin=1).reshape(2, 5, 3)
    np.testing.assert_array_equal(few, more[:, :3])
    assert hit_and_run(body, 0, research_rng(2)).shape == (0, 3)


@pytest.mark.parametrize(
    ("body", "settings"),
    [
        (LpBall(2, 3), {"chains": 0}),
        (LpBall(2, 3), {"thin": 0}),
        (LpBall(2, 3), {"burn_in": -1}),
        (Polytope.difference_hull(np.ones((2, 3))), {}),
        (LinearImage(LpBall(2, 3), np.ones((1, 2))), {}),
    ],
    ids=repr,
)
def test_refusals(body: Body, settings: dict[str, int]) -> None:
    with pytest.raises(InvalidRequest):
        hit_and_run(body, 5, research_rng(1), **settings)


# -- the long run ------------------------------------------------------------------------------------


@pytest.mark.statistical
@pytest.mark.parametrize("name", EXACT)
def test_exact_expectations(name: str) -> None:
    """(r + 1)·E‖z‖ within 3 standard errors (false alarms: 0.3 %), which are below 1 %; p-values above 1e-4."""
    draws = draws_of(name)
    assert abs(score(name, draws)) < 3
    assert estimate(np.linalg.norm(draws, axis=2)).standard_error < 0.01 * np.linalg.norm(draws, axis=2).mean()
    assert odd_functionals(draws).p_value > 1e-4
    assert gauge_power_test(Polytope.symmetric_hull(EXACT[name][0]), draws[:6]).p_value > 1e-4


@pytest.mark.statistical
@pytest.mark.parametrize("name", DEGENERATE)
def test_redrawing_in_the_cone_alarms(name: str) -> None:
    """A control: on degenerate bodies it is off by 3 % and 9 %; odd functionals cannot see it."""
    draws = draws_of(name, redraw=True)
    assert abs(score(name, draws)) > 8
    assert odd_functionals(draws).p_value > 1e-4


@pytest.mark.statistical
def test_redrawing_in_the_cone_is_harmless_where_every_facet_is_a_simplex() -> None:
    """So the control above alarms because of degeneracy. False alarms: 0.3 %."""
    assert abs(score("uniform (5, 30)", draws_of("uniform (5, 30)", redraw=True))) < 3


@pytest.mark.statistical
def test_shrunken_draws_alarm() -> None:
    """A control: draws scaled by 0.9."""
    draws = 0.9 * draws_of("signs (5, 50)")
    assert abs(score("signs (5, 50)", draws)) > 8
    assert gauge_power_test(Polytope.symmetric_hull(signs(5, 50)), draws[:6]).p_value < 1e-4


@pytest.mark.statistical
@pytest.mark.parametrize("body", [LpBall(4, 1), LpBall(3, np.inf, 7.0), SchattenBall((2, 3), np.inf)], ids=repr)
def test_the_uniform_law_is_kept(body: Body) -> None:
    """Walks that begin uniform are uniform after any number of steps: 2,000 independent ones. False alarms: 5e-5."""
    rng = research_rng(21)
    walk = GaugeWalk(body, 2000)
    walk.places = uniform_direct(body, 2000, rng) @ np.linalg.inv(walk.chart).T
    for _ in range(3):
        walk.step(rng)
    direct = uniform_direct(body, 20_000, rng)
    assert stats.kstest(body.gauge(walk.points()) ** body.rank, stats.uniform.cdf).pvalue > 1e-5
    for row in np.vstack([np.eye(body.rank)[:2], np.ones(body.rank)]):
        assert stats.ks_2samp(walk.points() @ row, direct @ row).pvalue > 1e-5
    assert stats.ks_2samp(np.abs(walk.points()).sum(axis=1), np.abs(direct).sum(axis=1)).pvalue > 1e-5


@pytest.mark.statistical
@pytest.mark.parametrize("body", [SchattenBall((2, 2), 1), SchattenBall((2, 2), 3)], ids=repr)
def test_schatten_balls_without_a_recipe(body: SchattenBall) -> None:
    """From the origin, 400 walks, against rejection from the spectral ball. False alarms: 4e-5."""
    around = uniform_direct(SchattenBall((2, 2), np.inf), 40_000, research_rng(22))
    kept = around[body.gauge(around) <= 1]
    draws = hit_and_run(body, 400, research_rng(23), chains=400, burn_in=20, thin=1)
    assert stats.kstest(body.gauge(draws) ** 4, stats.uniform.cdf).pvalue > 1e-5
    for value in (lambda rows: rows[:, 1], lambda rows: rows[:, 0] * rows[:, 3] - rows[:, 1] * rows[:, 2]):
        assert stats.ks_2samp(value(draws), value(kept)).pvalue > 1e-5


@pytest.mark.slow
def test_random_combinations_fit_long_bodies() -> None:
    """In other units the walk is the same one: a body stretched by 1e6 mixes as the round one."""
    times = []
    for scale in (1.0, 1e6):
        body = Polytope.symmetric_hull(np.diag([1.0, 1.0, scale]) @ np.random.default_rng(4).normal(size=(3, 9)))
        draws = hit_and_run(body, 4000, research_rng(24), chains=20, burn_in=20, thin=1)
        times.append(autocorrelation_time(draws.reshape(20, -1, 3)[:, :, 2]))
    assert times[1] == pytest.approx(times[0], rel=0.05)
    assert times[0] < 10
