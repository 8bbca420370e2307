"""Noise by rejection from a box: its law against exact laws and walks, its price, and what it refuses."""

import numpy as np
import pytest
import scipy.stats

import gaugedp as gd
from gaugedp.bodies import Polytope, volume
from gaugedp.errors import InvalidRequest
from gaugedp.samplers.gauge_noise import FacetNoise, gauge_noise
from gaugedp.samplers.rejection import RejectionNoise
from tests.cases import one_in
from tests.samplers.test_facet_walk import signs_matrix

pytestmark = pytest.mark.statistical
ONE = gd.PureDP(1.0)
COLUMNS = np.diag([1.0, 5.0, 0.2]) @ np.random.default_rng(4).normal(size=(3, 8))
SMALL = {
    "sums": Polytope.symmetric_hull(COLUMNS, 3.0),
    "differences": Polytope.difference_hull(COLUMNS, 0.5),
    "with zero": Polytope.difference_hull(COLUMNS, 2.0, with_zero=True),
}
WIDE = Polytope.symmetric_hull(signs_matrix(10, 100))


@pytest.fixture(scope="module", params=one_in(3, SMALL))
def pair(request: pytest.FixtureRequest) -> tuple[RejectionNoise, FacetNoise, np.ndarray]:
    """Noise by rejection, noise by the list of facets, and 1,500 uniform points by rejection."""
    facets = gauge_noise(SMALL[request.param])
    assert isinstance(facets, FacetNoise)
    noise = RejectionNoise(SMALL[request.param], facets)
    return noise, facets, noise.uniform(1500, gd.research_rng(1))


@pytest.mark.thorough
def test_draws_are_uniform(pair: tuple[RejectionNoise, FacetNoise, np.ndarray]) -> None:
    """‖U‖_K^r is uniform on [0, 1], and functionals have the law of draws by facets; false alarms 1e−5 each of 4.

    Points that are 4 % too long alarm.
    """
    noise, facets, points = pair
    gauges = noise.body.gauge(points)
    assert gauges.max() <= 1 + 1e-6
    assert scipy.stats.kstest(gauges**3, "uniform").pvalue > 1e-5
    assert scipy.stats.kstest((1.04 * gauges) ** 3, "uniform").pvalue < 1e-5
    others = facets.uniform(20_000, gd.research_rng(2))
    for direction in np.linalg.inv(np.linalg.cholesky(facets.second_moment)):
        assert scipy.stats.ks_2samp(points @ direction, others @ direction).pvalue > 1e-5


@pytest.mark.thorough
def test_the_noise_has_the_second_moment_of_the_facets(pair: tuple[RejectionNoise, FacetNoise, np.ndarray]) -> None:
    """Whitened, the mean of ‖R·U‖² is 60 (r = 3) within five standard errors; a fifth less alarms."""
    noise, facets, _ = pair
    whitened = noise.draw(600, gd.research_rng(3)) @ np.linalg.inv(np.linalg.cholesky(facets.second_moment)).T
    squares = (whitened**2).sum(axis=1)
    error = squares.std() / 600**0.5
    assert abs(squares.mean() - 60) < 5 * error
    assert abs(0.64 * squares.mean() - 60) > 5 * 0.64 * error


def test_the_price_is_a_ratio_of_volumes(pair: tuple[RejectionNoise, FacetNoise, np.ndarray]) -> None:
    """500 public points: the share in the body within five standard errors."""
    noise, _, _ = pair
    share = volume(noise.body).value / np.prod(2 * noise.half)
    assert abs(1 / noise.expected_trials - share) < 5 * (share * (1 - share) / 500) ** 0.5 + 0.01


def test_without_a_walk_the_k_norm_is_pure() -> None:
    mechanism = gd.KNorm.calibrate(WIDE, ONE, walk=False)
    assert (mechanism.guarantee, mechanism.exactness, mechanism.steps) == (ONE, "idealized", 0)
    assert gd.KNorm.calibrate(WIDE, gd.ApproxDP(1.0, 1e-6), walk=False).guarantee == ONE
    assert mechanism.recalibrated(gd.PureDP(0.1)).guarantee == gd.PureDP(0.1)
    assert "by rejection" in mechanism.describe()
    assert gd.KNorm.calibrate(WIDE, ONE).exactness == "mixing"


def test_it_is_as_long_as_noise_by_the_walk() -> None:
    """1,000 independent draws against the walk's mean length: within five standard errors and one percent."""
    mechanism = gd.KNorm.calibrate(WIDE, ONE, walk=False)
    lengths = np.linalg.norm(mechanism.releasable(1000, gd.research_rng(5)), axis=1) * float(mechanism.lattice_step)
    expected = gd.KNorm.calibrate(WIDE, ONE).error()
    assert mechanism.error() == expected
    assert abs(lengths.mean() - expected) < 5 * lengths.std() / 1000**0.5 + 0.01 * expected


def test_an_answer_has_noise_of_its_own() -> None:
    mechanism = gd.KNorm.calibrate(WIDE, ONE, walk=False)
    answers = [mechanism.prepare(gd.research_rng(key))(np.zeros(10, dtype=int)) for key in (1, 2)]
    assert answers[0].dtype == np.int64
    assert (answers[0] != answers[1]).any()


def test_bodies_that_take_no_walk_are_as_they_were() -> None:
    body = SMALL["sums"]
    assert isinstance(gd.KNorm.calibrate(body, ONE, walk=False).noise, FacetNoise)


def test_what_it_refuses() -> None:
    flat = Polytope.symmetric_hull(np.vstack([signs_matrix(10, 60), signs_matrix(10, 60)[:1]]))
    with pytest.raises(InvalidRequest, match="combinations of others"):
        RejectionNoise(flat, gauge_noise(flat))
    assert gd.KNorm.calibrate(flat, ONE, walk=False).exactness == "exact"
    with pytest.raises(InvalidRequest, match="too long"):
        gd.KNorm.calibrate(Polytope.symmetric_hull(signs_matrix(30, 60)), ONE, walk=False)
