"""The exact oracle of a squared Schatten norm on a Schatten ball of 2 × 2 matrices, against integration."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

import gaugedp as gd
from gaugedp.entropy import Entropy
from gaugedp.optimization.geometry import Geometry
from gaugedp.samplers.continuous import exponentials
from gaugedp.samplers.spectral import SpectralLaw, SpectralOracle
from gaugedp.samplers.split import SplitSampler
from tests.cases import one_in

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


@pytest.mark.thorough
@pytest.mark.parametrize("place", one_in(3, reversed(PLACES)))
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
    """1,000 chains of 25 steps; the key is fixed. Control: the losses left out."""
    oracle = ORACLES[name]
    sampler = SplitSampler(Slanted(), oracle, oracle.convexity, 0.1, 2.0)
    draws = sampler.draw((1_000, 4), 25, gd.research_rng(11))
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


class Straight(SpectralLaw):
    """A law whose proposals are those of numpy."""

    def _proposals(self, rows: np.ndarray, rng: Entropy) -> tuple[np.ndarray, np.ndarray]:
        points, logs = self.half.propose(rows, self.half.depths(rows, exponentials(len(rows), rng), rng), rng)
        matrices, places = (part.reshape(-1, *self.oracle.ball.shape) for part in (points, self.places[rows]))
        return points, exponentials(len(rows), rng) >= self._exponents(matrices, matrices - places) - logs


def cubes(radius: float) -> tuple[SpectralOracle, SpectralLaw]:
    """3 × 3 matrices near a corner of the nuclear ball."""
    oracle = SpectralOracle(8.0, 1.2, 1.6, Geometry((3, 3), 1, radius))
    place = np.array([0.7, 0.1, 0, -0.1, 0.3, 0.05, 0.1, 0, 0.05])
    return oracle, oracle.around(np.tile(place, (4_000, 1)), 0.02)


def test_compiled_proposals_of_matrices_have_the_law_of_those_of_numpy() -> None:
    """4,000 draws each: two-sample tests of seven numbers, each at 1e-4. Control: a ball that is 15 % smaller."""
    pytest.importorskip("gaugedp.samplers.spectral_compiled")
    rows = np.arange(4_000)
    oracle, law = cubes(1.0)
    straight = Straight(oracle, law.places, law.values, law.step, law.half).draw(rows, gd.research_rng(1))
    for radius, is_right in ((1.0, True), (0.85, False)):
        points = cubes(radius)[1].draw(rows, gd.research_rng(2))
        parts = [
            (x[:, 0], x[:, 1] - x[:, 3], x[:, 1] + x[:, 3], x[:, 5], x[:, 8], oracle.ball.norm(x), (x**2).sum(axis=1))
            for x in (points, straight)
        ]
        level = min(stats.ks_2samp(*pair).pvalue for pair in zip(*parts, strict=True))
        assert level > 1e-4 if is_right else level < 1e-4


def proposed(n: int, scale: float, radius: float, waits: np.ndarray) -> tuple[SpectralLaw, np.ndarray, tuple]:
    """500 proposals for each of two places near the wall of a unit ball, kept or not in one of another radius."""
    compiled = pytest.importorskip("gaugedp.samplers.spectral_compiled")
    places, rows = np.random.default_rng(4).standard_normal((2, n * n)) / 2 / n, np.repeat([0, 1], 500)
    law = SpectralOracle(8.0, 1.2, 1.6, Geometry((n, n), 1)).around(places, scale**2)
    depths = law.half.depths(rows, exponentials(1000, gd.research_rng(1)), gd.research_rng(1))
    other = dataclasses.replace(law, oracle=dataclasses.replace(law.oracle, ball=Geometry((n, n), 1, radius)))
    return law, depths, compiled.proposals(other, rows, depths, waits, gd.research_rng(2))


def test_compiled_proposals_are_normal_but_for_their_depths() -> None:
    n, eye = 4, np.eye(4)
    law, depths, (near, matrices, logs) = proposed(n, 0.05, 50.0, np.full(1000, np.inf))
    rows = np.repeat([0, 1], 500)
    noise = (matrices - law.half.mean_values[rows][:, None] * eye) * law.half.precision**0.5
    assert (near == np.arange(1000)).all()
    assert logs == pytest.approx(law.half.heights[rows] + (noise**2).sum(axis=(1, 2)) / 2)
    assert np.trace(noise, axis1=1, axis2=2) / 2 == pytest.approx(-depths, abs=1e-9)
    whole = noise + (depths + np.random.default_rng(1).standard_normal(1000))[:, None, None] * eye / 2
    assert stats.kstest(whole.ravel(), "norm").pvalue > 1e-3
    flat = whole.reshape(1000, n * n)
    assert np.abs(flat.T @ flat / 1000 - np.eye(n * n)).max() < 5 * (2 / 1000) ** 0.5
    spectral_compiled = pytest.importorskip("gaugedp.samplers.spectral_compiled")
    sizes = law.half.bases[1][rows] + spectral_compiled._FLOOR / 2 / law.half.precision**0.5
    skew = (matrices - matrices.transpose(0, 2, 1)) / (sizes[:, :, None] + sizes[:, None])
    aside = skew @ skew - np.trace(skew @ skew, axis1=1, axis2=2)[:, None, None] * eye / n
    along = (aside * whole).sum(axis=(1, 2)) / np.linalg.norm(aside, axis=(1, 2))
    assert stats.kstest(along, "norm").pvalue > 1e-3


@pytest.mark.parametrize("scale", [0.003, 0.05])
def test_bounds_leave_out_no_matrix_and_keep_none_that_the_density_does_not(scale: float) -> None:
    """The same words with a ball that holds all, with one whose wall is amid their norms, and with real waits."""
    law, _, (_, matrices, logs) = proposed(6, scale, 50.0, np.full(1000, np.inf))
    norms = np.linalg.svd(matrices, compute_uv=False).sum(axis=1)
    radius = float(np.median(norms))
    near = proposed(6, scale, radius, np.full(1000, np.inf))[2][0]
    assert (near == np.flatnonzero(norms <= radius)).all()
    waits = exponentials(1000, gd.research_rng(3))
    aside = matrices - law.values[np.repeat([0, 1], 500)][:, None] * np.eye(6)
    wide = dataclasses.replace(law, oracle=dataclasses.replace(law.oracle, ball=Geometry((6, 6), 1, radius)))
    is_kept = waits >= wide._exponents(matrices, aside) - logs
    near, _, given = proposed(6, scale, radius, waits)[2]
    assert set(near[np.isinf(given)]) <= set(np.flatnonzero(is_kept)) <= set(near)
    assert 50 < is_kept.sum() < 550
    assert np.isinf(given).mean() > 0.95


@pytest.mark.parametrize("angle", [0.1, 1.0, 3.0])
def test_the_bound_on_a_nuclear_norm_is_attained_by_a_turned_plane_and_never_passed(angle: float) -> None:
    compiled = pytest.importorskip("gaugedp.samplers.spectral_compiled")
    turn = angle * np.array([[0.0, -1.0], [1.0, 0.0]])
    whole = np.eye(2) + turn + turn @ turn / 2
    least = compiled._least(turn, turn, turn @ turn, np.diag(whole).copy(), 0.0)[0]
    assert least == pytest.approx(np.linalg.norm(whole, "nuc"), rel=1e-9)
    rng = np.random.default_rng(3)
    for _ in range(200):
        matrix, noise = rng.standard_normal((5, 5)), rng.standard_normal((5, 5))
        skew, middle = angle * (noise - noise.T) / 4, rng.standard_normal(5)
        aside = skew @ skew - np.trace(skew @ skew) / 5 * np.eye(5)
        flat = matrix + matrix.T - 2 * np.trace(matrix) / 5 * np.eye(5)
        along = float((flat * aside).sum() / np.linalg.norm(aside))
        bound = compiled._least(matrix - matrix.T, skew, skew @ skew, middle, along)[0]
        assert bound <= np.linalg.norm(matrix - matrix.T + flat + np.diag(middle), "nuc")


def test_compiled_directions_are_those_of_cosine_and_sine() -> None:
    compiled = pytest.importorskip("gaugedp.samplers.spectral_compiled")
    for word in np.random.default_rng(1).integers(2**64, size=300, dtype=np.uint64):
        angle = math.pi / 4 * (int(word) >> 11) / 2**53
        near, far = (math.cos(angle), math.sin(angle))[:: 1 - 2 * (int(word) & 1)]
        expected = (near * (1 - (int(word) & 2)), far * (1 - (int(word) & 4) / 2))
        assert compiled._direction(word) == pytest.approx(expected, abs=2e-16)


def test_the_compiled_count_of_zeros_goes_on_into_the_next_word() -> None:
    compiled = pytest.importorskip("gaugedp.samplers.spectral_compiled")
    words = [np.uint64(word) for word in (2**63, 2**62 + 5, 1, 0, 0)]
    assert [compiled._zeros(word, np.uint64(2**9)) for word in words] == [0, 1, 63, 65, 65]
