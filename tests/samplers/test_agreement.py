"""Where two samplers run on a body they agree: the walk over facets, hit-and-run, and the list of all facets."""

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.bodies import Polytope
from gaugedp.samplers.facets import MOST_HULL_POINTS
from gaugedp.samplers.gauge_noise import FacetNoise, WalkNoise
from gaugedp.samplers.hit_and_run import hit_and_run
from tests.cases import one_in
from tests.samplers.dependent import estimate
from tests.samplers.test_facet_walk import signs_matrix, two_way_marginals

pytestmark = pytest.mark.statistical

BODIES = {
    "random, rank 2": Polytope.symmetric_hull(np.random.default_rng(0).normal(size=(2, 7))),
    "random, rank 4": Polytope.symmetric_hull(np.random.default_rng(1).uniform(-1, 1, (4, 12))),
    "signs, rank 5": Polytope.symmetric_hull(signs_matrix(5, 50)),
    "signs, rank 10": Polytope.symmetric_hull(signs_matrix(10, 100)),
    "marginals 2 x 2 x 2, flat": Polytope.symmetric_hull(two_way_marginals(2, 2, 2)),
    "marginals 3 x 3 x 3, flat": Polytope.symmetric_hull(two_way_marginals(3, 3, 3)),
    "twins": Polytope.symmetric_hull(np.array([[1.0, 1, 0, 0], [0, 1e-4, 1, 1], [0, 0, 0, 1]])),
    "thin": Polytope.symmetric_hull(np.diag([1.0, 1e-5, 1e4]) @ signs_matrix(3, 9)),
    "replaced": Polytope.difference_hull(
        np.array([[1.0, 0, 0, 1, 2], [0, 1, 0, 1, 1], [0, 0, 1, 1, 0]]), with_zero=True
    ),
    "factor": Polytope.symmetric_hull(np.random.default_rng(4).normal(size=(3, 8)), factor=7.0),
}


def scaled_lengths(body: Polytope, points: np.ndarray) -> np.ndarray:
    """Lengths in coordinates of a basis of generators, in which no direction is tiny."""
    ready = body.distinct
    coordinates, inside = ready.frame.coordinates(points.reshape(-1, body.ambient_dim))
    assert inside.all()
    return np.linalg.norm(coordinates, axis=1).reshape(points.shape[:-1]) / body.factor


def by_noise(noise, body: Polytope) -> tuple[float, float]:
    means = scaled_lengths(body, noise.trials).mean(axis=1) / (noise.rank + 1)
    return float(means.mean()), float(means.std(ddof=1)) / len(means) ** 0.5


def by_hit_and_run(body: Polytope) -> tuple[float, float]:
    rank, chains = body.rank, 20
    points = hit_and_run(body, chains * 60, gd.research_rng(5), chains=chains, thin=max(2, rank // 2))
    actual = estimate(scaled_lengths(body, points).reshape(chains, -1))
    return actual.mean, actual.standard_error


@pytest.mark.thorough
@pytest.mark.parametrize("name", one_in(3, BODIES))
def test_samplers_agree(name: str) -> None:
    """E‖Z‖ in coordinates: each pair within 3.5 of their standard errors, on every body (29 pairs: 1 % false alarm)."""
    body = BODIES[name]
    ready = body.distinct
    results = {"walk": by_noise(WalkNoise(ready, body.factor), body), "hit and run": by_hit_and_run(body)}
    if ready.coordinates.shape[1] <= MOST_HULL_POINTS.get(ready.rank, 0):
        results["list"] = by_noise(FacetNoise(ready, body.factor), body)
    for one, (mean, error) in results.items():
        for other, (their_mean, their_error) in results.items():
            assert abs(mean - their_mean) <= 3.5 * np.hypot(error, their_error), (one, other, results)


def test_noise_a_tenth_too_small_is_seen() -> None:
    """The positive control, on the body with the fewest draws a direction."""
    body = BODIES["marginals 3 x 3 x 3, flat"]
    mean, error = by_noise(WalkNoise(body.prepared, 1.0), body)
    their_mean, their_error = by_hit_and_run(body)
    assert abs(0.9 * mean - their_mean) > 3.5 * np.hypot(error, their_error)
