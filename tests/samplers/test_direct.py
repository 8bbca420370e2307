"""Exact draws against distribution functions that are known, and against rejection from a larger body."""

import numpy as np
import pytest
from scipy import stats

from gaugedp.bodies import Body, Ellipsoid, LinearImage, LpBall, Polytope, SchattenBall, image
from gaugedp.entropy import research_rng
from gaugedp.errors import InvalidRequest
from gaugedp.samplers.continuous import exponentials
from gaugedp.samplers.direct import gammas_above_one, has_direct, uniform_direct
from gaugedp.samplers.gauge_noise import gauge_noise
from tests.bodies.zoo import ZOO, Member

ALARM = 1e-5  # each p-value's chance of a false alarm
KNOWN = [member for member in ZOO if has_direct(member.body)]


def fits(values: np.ndarray, law: object) -> float:
    """Return Kolmogorov's p-value of independent values."""
    return float(stats.kstest(values, law.cdf).pvalue)  # type: ignore[attr-defined]


def gauge_powers(body: Body, draws: np.ndarray) -> np.ndarray:
    return body.gauge(draws) ** body.rank


@pytest.mark.statistical
@pytest.mark.parametrize("shape", [1.0, 1.001, 4 / 3, 1.5, 2.0, 7.3])
def test_gammas(shape: float) -> None:
    """False alarms: 2e-5 a shape."""
    draws = gammas_above_one(shape, 100_000, research_rng(1))
    assert fits(draws, stats.gamma(shape)) > ALARM
    assert fits(gammas_above_one(shape, 7, research_rng(2)), stats.gamma(shape)) > ALARM
    assert gammas_above_one(shape, 0, research_rng(3)).shape == (0,)


@pytest.mark.statistical
def test_gammas_of_another_shape_alarm() -> None:
    """A control: a shape 2 % off."""
    assert fits(gammas_above_one(1.53, 100_000, research_rng(1)), stats.gamma(1.5)) < ALARM


@pytest.mark.statistical
@pytest.mark.parametrize("p", [1, 1.1, 1.5, 2, 3, 20])
@pytest.mark.parametrize("d", [1, 2, 5, 40])
def test_coordinates_of_balls(p: float, d: int) -> None:
    """|z_1|^p ~ Beta(1/p, (d − 1)/p + 1), and |z_1|^p/(|z_1|^p + |z_2|^p) ~ Beta(1/p, 1/p). False alarms: 4e-5 each."""
    draws = uniform_direct(LpBall(d, p, 2.5), 20_000, research_rng(4)) / 2.5
    powers = np.abs(draws) ** p
    assert powers.max() <= 1
    assert fits(powers[:, 0], stats.beta(1 / p, (d - 1) / p + 1)) > ALARM
    assert stats.binomtest(int((draws > 0).sum()), draws.size).pvalue > ALARM
    assert fits(gauge_powers(LpBall(d, p), draws), stats.uniform) > ALARM
    if d > 1 and p <= 3:  # beyond, many shares round to 1
        assert fits(powers[:, 0] / powers[:, :2].sum(axis=1), stats.beta(1 / p, 1 / p)) > ALARM


@pytest.mark.statistical
@pytest.mark.parametrize("p", [1e6, 1e300, np.inf])
def test_the_cube_and_what_is_nearly_one(p: float) -> None:
    """Coordinates are uniform and not correlated. False alarms: 2e-5 each."""
    draws = uniform_direct(LpBall(3, p, 2.0), 20_000, research_rng(5))
    assert fits(draws.ravel(), stats.uniform(-2, 4)) > ALARM
    assert abs(np.corrcoef(draws.T) - np.eye(3)).max() * np.sqrt(20_000) < 4.9


@pytest.mark.statistical
@pytest.mark.parametrize("member", KNOWN, ids=str)
def test_the_zoo(member: Member) -> None:
    """‖z‖^r is uniform on [0, 1]. False alarms: 1e-5 a body."""
    body = member.body
    draws = uniform_direct(body, 4000, research_rng(6))
    assert draws.shape == (4000, body.ambient_dim)
    assert fits(gauge_powers(body, draws), stats.uniform) > ALARM
    scores = draws.mean(axis=0) / (draws.std(axis=0) + 1e-300) * np.sqrt(4000)
    assert np.abs(scores).max() < 5.5
    assert np.linalg.matrix_rank(draws / np.abs(draws).max(axis=0).clip(1e-300)) == body.rank
    assert uniform_direct(body, 0, research_rng(1)).shape == (0, body.ambient_dim)


@pytest.mark.statistical
@pytest.mark.parametrize("member", KNOWN, ids=str)
def test_the_gauge_of_noise_in_floats_is_a_gamma_variable(member: Member) -> None:
    """‖z‖ ~ Gamma(r), in floats also where noise is released by an exact law. False alarms: 1e-5 a body."""
    body = member.body
    gauges = body.gauge(gauge_noise(body).draw(4000, research_rng(13)))
    assert fits(gauges, stats.gamma(body.rank)) > ALARM
    assert fits(gauges, stats.gamma(body.rank + 1)) < ALARM


@pytest.mark.statistical
@pytest.mark.parametrize("p", [1.3, 2.0, 4.0])
def test_draws_of_another_law_alarm(p: float) -> None:
    """Controls: draws 2 % too small; the law of another p; a ball without the exponential: its boundary."""
    body = LpBall(10, p)
    draws = uniform_direct(body, 20_000, research_rng(7))
    for wrong in (0.98 * draws, uniform_direct(LpBall(10, 1.05 * p), 20_000, research_rng(8))):
        assert fits(gauge_powers(body, wrong), stats.uniform) < ALARM
    boundary = draws / body.gauge(draws)[:, None]
    assert fits(np.minimum(gauge_powers(body, boundary), 1), stats.uniform) < ALARM


@pytest.mark.statistical
def test_ellipsoids_have_the_right_covariance() -> None:
    """E zzᵀ = AAᵀ/(r + 2), flat ellipsoids too; five standard errors a matrix."""
    for matrix in (np.array([[3.0, 1, 0], [0, 1e-2, 2]]), np.array([[1.0, 2, 3], [3, -1, 2], [4, 1, 5], [0, 0, 0]])):
        body = Ellipsoid(matrix)
        draws = uniform_direct(body, 100_000, research_rng(9))
        products = draws[:, :, None] * draws[:, None, :]
        error = products.std(axis=0) / np.sqrt(len(draws))
        apart = products.mean(axis=0) - matrix @ matrix.T / (body.rank + 2)
        assert (np.abs(apart) <= 5 * error + 1e-12).all()


SHAPES = [(2, 2), (2, 3), (3, 2), (4, 4), (1, 5), (6, 1), (7, 2)]


@pytest.mark.statistical
@pytest.mark.parametrize("shape", SHAPES)
def test_spectral_balls_have_the_right_moments(shape: tuple[int, int]) -> None:
    """E Z_ij² = 1/(m + n + 1), entries uncorrelated, and ‖Z‖^{mn} uniform; 5 standard errors and 1e-5."""
    body = SchattenBall(shape, np.inf, 3.0)
    draws = uniform_direct(body, 20_000, research_rng(10)) / 3
    products = draws[:, :, None] * draws[:, None, :]
    error = products.std(axis=0) / np.sqrt(len(draws))
    apart = products.mean(axis=0) - np.eye(body.rank) / (sum(shape) + 1)
    assert np.abs(apart / error).max() < 5
    assert fits(gauge_powers(body, 3 * draws), stats.uniform) > ALARM
    assert np.abs(draws.mean(axis=0)).max() * np.sqrt(20_000 * (sum(shape) + 1)) < 5


@pytest.mark.statistical
@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (3, 2)])
def test_spectral_balls_against_rejection(shape: tuple[int, int]) -> None:
    """Points of the Frobenius ball around the spectral ball, kept where they lie in it. False alarms: 5e-5 a shape."""
    body = SchattenBall(shape, np.inf)
    around = uniform_direct(SchattenBall(shape, 2, np.sqrt(2)), 100_000, research_rng(11))
    kept = around[body.gauge(around) <= 1]
    assert len(kept) > 10_000
    draws = uniform_direct(body, 20_000, research_rng(12))
    for value in (
        lambda rows: rows[:, 0],
        lambda rows: rows[:, 0] * rows[:, -1],
        lambda rows: rows.sum(axis=1),
        lambda rows: np.linalg.svd(rows.reshape(-1, *shape), compute_uv=False)[:, 1],
        lambda rows: np.linalg.svd(rows.reshape(-1, *shape), compute_uv=False).prod(axis=1),
    ):
        assert stats.ks_2samp(value(draws), value(kept)).pvalue > ALARM


@pytest.mark.statistical
def test_blocks_of_other_orthogonal_matrices_alarm() -> None:
    """Controls: the block of a matrix with one row too many or too few."""
    rng = np.random.default_rng(1)
    for n_rows in (4, 6):
        frames = np.linalg.qr(rng.normal(size=(20_000, n_rows, 2)))[0]
        blocks = frames[:, :2].reshape(-1, 4)
        powers = gauge_powers(SchattenBall((2, 2), np.inf), blocks)
        assert fits(np.minimum(powers, 1), stats.uniform) < ALARM


@pytest.mark.statistical
def test_images() -> None:
    """A one-to-one image, of a Schatten ball and of a cube. False alarms: 1e-5 each."""
    tall = np.array([[1.0, 2], [3, -1], [4, 1]])
    for body in (LinearImage(LpBall(2, np.inf), tall), image(SchattenBall((2, 1), np.inf), 1e-6 * tall)):
        assert has_direct(body)
        assert fits(gauge_powers(body, uniform_direct(body, 10_000, research_rng(13))), stats.uniform) > ALARM


@pytest.mark.parametrize(
    "body",
    [
        SchattenBall((2, 2), 1),
        SchattenBall((2, 3), 3),
        Polytope.symmetric_hull(np.eye(2)),
        LinearImage(LpBall(2, np.inf), np.array([[1.0, 2]])),
        LinearImage(SchattenBall((2, 2), 1), np.eye(4)),
    ],
    ids=repr,
)
def test_what_has_no_recipe_is_refused(body: Body) -> None:
    assert not has_direct(body)
    with pytest.raises(InvalidRequest, match="direct uniform sampler"):
        uniform_direct(body, 1, research_rng(1))


def test_exponentials_have_their_tail() -> None:
    """Of 100,000 draws one is beyond 9 but with probability 4e-6; the largest is beyond 30 with 1e-8."""
    assert 9 < exponentials(100_000, research_rng(1)).max() < 30
