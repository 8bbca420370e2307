"""Expected errors against figures computed elsewhere, and against mpmath."""

import mpmath
import numpy as np
import pytest

import gaugedp as gd
from gaugedp.bodies import LpBall, Polytope

SIZES = [(5, 50), (10, 100), (20, 200), (40, 200)]
LAPLACE = (14.319, 42.368, 122.917, 352.488)
GAUSSIAN = (20.10, 41.21, 83.44, 167.93)


def signs(d: int, n: int) -> Polytope:
    return Polytope.symmetric_hull(np.random.default_rng(1).integers(0, 2, (d, n)) * 2 - 1)


@pytest.mark.parametrize(("size", "laplace", "gaussian"), list(zip(SIZES, LAPLACE, GAUSSIAN, strict=True)))
def test_noise_on_random_signs(size, laplace: float, gaussian: float) -> None:
    assert gd.Laplace.calibrate(signs(*size), gd.PureDP(1)).error() == pytest.approx(laplace, rel=0.01)
    assert gd.Gaussian.calibrate(signs(*size), gd.ApproxDP(1, 1e-6)).error() == pytest.approx(gaussian, rel=0.01)


def test_prefix_sums_with_noise_on_the_cells() -> None:
    body = gd.prefix_sums(gd.Domain.of(x=gd.integers(1, 32)), "x").sensitivity(gd.PrivacyUnit())
    mechanism = gd.Identity.calibrate(body, gd.PureDP(1))
    assert body.rank == body.generators.n_generators  # so that this is the K-norm mechanism
    assert mechanism.error() == pytest.approx(27.2, rel=0.025)


def histogram(epsilon: float):
    body = gd.marginals(gd.Domain.of(x=gd.integers(1, 3)), "x").sensitivity(gd.PrivacyUnit())
    return gd.Laplace.calibrate(body, gd.PureDP(epsilon))


@pytest.mark.parametrize("epsilon", [5.0, 1.0, 0.1, 0.02, 1e-4, 1e-6])
def test_the_mean_size_of_discrete_laplace_noise(epsilon: float) -> None:
    q = mpmath.exp(-epsilon)
    assert histogram(epsilon).error(1) == pytest.approx(float(3 * 2 * q / (1 - q**2)), rel=1e-4)


@pytest.mark.parametrize("epsilon", [3.0, 1.0, 0.2])
def test_the_mean_length_of_discrete_laplace_noise(epsilon: float) -> None:
    body = gd.marginals(gd.Domain.of(x=["1", "2"]), "x").sensitivity(gd.PrivacyUnit())
    k = np.arange(-int(60 / epsilon), int(60 / epsilon) + 1)
    weight = np.exp(-epsilon * np.abs(k))
    weight /= weight.sum()
    exact = weight @ np.hypot.outer(k, k) @ weight
    assert gd.Laplace.calibrate(body, gd.PureDP(epsilon)).error(2) == pytest.approx(exact, rel=1e-4)


def test_the_mean_length_of_normal_noise() -> None:
    d, size, mu = 6, 50.0, 0.01
    mechanism = gd.Gaussian.calibrate(LpBall(d, 2, size), gd.GaussianDP(mu))
    chi = mpmath.sqrt(2) * mpmath.gamma(mpmath.mpf(d + 1) / 2) / mpmath.gamma(mpmath.mpf(d) / 2)
    assert mechanism.error(2) == pytest.approx(float(size / mu * chi), rel=1e-3)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.1, 1e-9), (8.0, 1e-3), (1e-3, 0.1)])
def test_the_calibrated_gaussian_meets_its_delta_exactly(epsilon: float, delta: float) -> None:
    mechanism = gd.Gaussian.calibrate(LpBall(1, 2, 1.0), gd.ApproxDP(epsilon, delta))
    with mpmath.workdps(40):
        step, std = mpmath.mpf(mechanism.lattice_step.denominator), mechanism.runs[0][1].std
        mu = step / (mpmath.mpf(std.numerator) / std.denominator)
        loss = mpmath.mpf(epsilon)
        exact = mpmath.ncdf(mu / 2 - loss / mu) - mpmath.exp(loss) * mpmath.ncdf(-mu / 2 - loss / mu)
    assert 0.99 * delta <= exact <= delta
