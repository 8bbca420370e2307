"""The exact oracle of a squared Schatten norm on a Schatten ball of 2 × 2 matrices, against integration."""

import math

import numpy as np
import pytest
from scipy import stats

import gaugedp as gd
from gaugedp.optimization.geometry import Geometry
from gaugedp.samplers.spectral import SpectralOracle
from gaugedp.samplers.split import SplitSampler

pytestmark = pytest.mark.statistical
SHAPE, STEP = (2, 2), 0.2
ORACLES = {
    "nuclear": SpectralOracle(8.0, 1.2, 8.0 * 0.2, Geometry(SHAPE, 1)),
    "between": SpectralOracle(6.0, 1.5, 6.0 * 0.5, Geometry(SHAPE, 1.5)),
    "frobenius": SpectralOracle(4.0, 1.3, 4.0 * 0.3, Geometry(SHAPE, 2)),
    "operator": SpectralOracle(4.0, 2.0, 4.0, Geometry(SHAPE, math.inf)),
}
PLACES = {"inside": (0.3, -0.2, 0.1, 0.2), "low rank": (0.7, 0.0, 0.0, 0.0), "pushed out": (1.1, 0.2, -0.3, 0.9)}


def exponent(oracle: SpectralOracle, points: np.ndarray) -> np.ndarray:
    return oracle.value(np.linalg.svd(points.reshape(-1, 2, 2), compute_uv=False))


def misfit(points: np.ndarray, weights: np.ndarray, places: np.ndarray) -> float:
    """The least p-value of chi-square tests on 10 cells of equal probability of three statistics of a matrix."""
    levels = []
    for part in (lambda x: x[:, 0] + x[:, 3], lambda x: x[:, 1] - 0.4 * x[:, 0], Geometry(SHAPE, 1).norm):
        order = np.argsort(part(points))
        shares = np.cumsum(weights[order]) / weights.sum()
        ends = part(points)[order][np.searchsorted(shares, np.arange(1, 10) / 10)]
        expected = np.bincount(np.searchsorted(ends, part(points)), weights, 10)
        seen = np.bincount(np.searchsorted(ends, part(places)), minlength=10)
        spread = expected.sum() ** 2 / (weights**2).sum()  # points as many as these weighed ones are worth
        expected *= len(places) / expected.sum()
        levels.append(stats.chi2.sf(((seen - expected) ** 2 / expected).sum() / (1 + len(places) / spread), 9))
    return min(levels)


def uniform(ball: Geometry, count: int) -> np.ndarray:
    """Points of the ball, independent and uniform in it, by rejection from a cube."""
    points = np.random.default_rng(3).uniform(-ball.radius, ball.radius, (count, 4))
    return points[ball.norm(points) <= ball.radius]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", ORACLES)
def test_the_oracle_draws_the_law_that_integration_gives(name: str, place: str) -> None:
    """6,000 draws; over all keys each of the 12 cases fails with a chance of 4e-4. The key is fixed."""
    oracle = ORACLES[name]
    centre = np.array(PLACES[place])
    draws = oracle.around(np.tile(centre, (6_000, 1)), STEP).draw(np.arange(6_000), gd.research_rng(3))
    grid = uniform(oracle.ball, 400_000)
    for factor, is_right in ((1.0, True), (1.6, False)):  # control: a regulariser 60 % too heavy
        logs = -factor * exponent(oracle, grid) - ((grid - centre) ** 2).sum(axis=1) / (2 * STEP)
        level = misfit(grid, np.exp(logs - logs.max()), draws)
        assert level > 1e-4 if is_right else level < 1e-4
    assert (oracle.ball.norm(draws) <= oracle.ball.radius).all()


class Slanted:
    """⟨slope, x⟩ + 3·Σ|x_i − 1/5|."""

    slope, curvature = np.array([1.0, -0.5, 0.0, 2.0]), math.inf

    def value(self, points: np.ndarray) -> np.ndarray:
        return points @ self.slope + 3 * np.abs(points - 0.2).sum(axis=1)

    def gradient(self, points: np.ndarray) -> np.ndarray:
        return self.slope + 3 * np.sign(points - 0.2)


@pytest.mark.parametrize("name", ["nuclear", "operator"])
def test_the_sampler_draws_the_law_of_loss_and_regulariser(name: str) -> None:
    """3,000 chains of 25 steps; the key is fixed. Control: the losses left out."""
    oracle = ORACLES[name]
    one = SplitSampler(Slanted(), oracle, oracle.convexity, 0.1, 2.0)
    draws = one.draw((3_000, 4), 25, gd.research_rng(11))
    grid = uniform(oracle.ball, 400_000)
    for share in (1.0, 0.0):
        logs = -share * Slanted().value(grid) - exponent(oracle, grid)
        level = misfit(grid, np.exp(logs - logs.max()), draws)
        assert level > 1e-4 if share else level < 1e-6


@pytest.mark.parametrize("place", PLACES)
def test_a_chain_by_itself_draws_the_same_law(place: str) -> None:
    """600 draws one by one; the key is fixed. Control: a regulariser twice as heavy."""
    oracle, rng, centre = ORACLES["nuclear"], gd.research_rng(5), np.array(PLACES[place])
    law = oracle.around(centre[None], STEP)
    draws = np.concatenate([law.draw(np.zeros(1, dtype=int), rng) for _ in range(600)])
    grid = uniform(oracle.ball, 400_000)
    for factor, is_right in ((1.0, True), (4.0, False)):
        logs = -factor * exponent(oracle, grid) - ((grid - centre) ** 2).sum(axis=1) / (2 * STEP)
        level = misfit(grid, np.exp(logs - logs.max()), draws)
        assert level > 1e-4 if is_right else level < 1e-4


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", ORACLES)
def test_the_ball_lies_in_the_half_space_and_below_the_envelope(name: str, place: str) -> None:
    oracle, centre = ORACLES[name], np.array([PLACES[place]])
    half, grid = oracle.around(centre, STEP).half, uniform(oracle.ball, 20_000)
    along = (grid - half.means) @ half.walls[0] * math.sqrt(half.precision)
    assert (along <= -half.cuts[0] + 1e-9).all()
    assert along.max() > -half.cuts[0] - 1.0
    true = exponent(oracle, grid) + ((grid - centre) ** 2).sum(axis=1) / (2 * STEP)
    envelope = half.heights[0] + half.precision * ((grid - half.means) ** 2).sum(axis=1) / 2
    assert (true >= envelope - 1e-9).all()
    assert (true - envelope).min() < 0.5


@pytest.mark.parametrize("scale", [0.01, 0.3])
def test_compiled_proposals_are_those_of_numpy_and_no_norm_is_below_its_bound(scale: float) -> None:
    compiled = pytest.importorskip("gaugedp.samplers.spectral_compiled")
    n, rng = 6, np.random.default_rng(4)
    place, rows = rng.standard_normal((2, n * n)) / 40, np.repeat([0, 1], 50)
    oracle = SpectralOracle(8.0, 1.2, 1.6, Geometry((n, n), 1))
    half = oracle.around(place, scale**2 / 40).half
    depths = half.depths(rows, gd.research_rng(1))
    points, logs = half.propose(rows, depths, gd.research_rng(2))
    stream = gd.research_rng(2)
    words = np.stack([stream.words(50 * n * n) for _ in range(3)])
    other, others, lengths = compiled.proposals(half, rows, depths, words)
    assert other == pytest.approx(points, abs=1e-12)
    assert others == pytest.approx(logs, rel=1e-12)
    assert (lengths <= oracle.ball.norm(points)).all()
    assert (lengths > 0.99 * oracle.ball.norm(points)).mean() > 0.9 or scale > 0.01


def test_the_compiled_count_of_zeros_goes_on_into_the_next_word() -> None:
    compiled = pytest.importorskip("gaugedp.samplers.spectral_compiled")
    words = [np.uint64(word) for word in (2**63, 2**62 + 5, 1, 0, 0)]
    assert [compiled._zeros(word, np.uint64(2**9)) for word in words] == [0, 1, 63, 65, 65]
