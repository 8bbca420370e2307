"""Second moments in closed form, against draws and against what is known apart from them."""

import math

import numpy as np
import pytest
import scipy.integrate

import gaugedp as gd
from gaugedp.bodies import Body, BoxHull, Ellipsoid, LinearImage, LpBall, SchattenBall, image
from gaugedp.samplers import moments, uniform
from gaugedp.samplers.second_moments import mean_square, second_moment

pytestmark = pytest.mark.statistical
TALL = np.array([[1.0, 2, 0], [0, 3, 1], [1, 1, 1], [2, 0, 5]])
BODIES = [
    LpBall(3, 1, 2.0),
    LpBall(2, 1.3),
    LpBall(5, 3, 0.1),
    LpBall(4, 40.0),
    LpBall(3, math.inf, 7.0),
    Ellipsoid(TALL),
    Ellipsoid(TALL.T),
    image(LpBall(3, 3), TALL),
    SchattenBall((2, 3), 2, 3.0),
    SchattenBall((1, 4), 1.5),
    SchattenBall((3, 2), math.inf, 2.0),
    image(SchattenBall((1, 3), math.inf), TALL),
]


def _distance(body: Body, expected: np.ndarray) -> float:
    """The largest difference of a second moment from that of 40,000 draws, in standard errors."""
    draws = uniform(body, 40_000, gd.research_rng(11))
    products = draws[:, :, None] * draws[:, None, :]
    errors = products.std(axis=0) / 200 + 1e-12 * np.abs(expected).max()
    return float((np.abs(products.mean(axis=0) - expected) / errors).max())


@pytest.mark.parametrize("body", BODIES, ids=repr)
def test_closed_forms_agree_with_draws(body: Body) -> None:
    """False alarms: 1e−5 for each of at most 36 entries of 12 bodies; a moment 5 % off must alarm."""
    expected = second_moment(body)
    assert expected is not None
    assert _distance(body, expected) < 4.42
    assert _distance(body, 1.05 * expected) > 4.42


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 7.0, 1e4])
def test_the_mean_square_on_a_disc_is_an_integral(p: float) -> None:
    """By the width 2·(1 − x^p)^{1/p} of the disc at x."""
    edge = [1 - 1e-2, 1 - 1e-4, 1 - 1e-6]
    area = scipy.integrate.quad(lambda x: (1 - x**p) ** (1 / p), 0, 1, points=edge)[0]
    square = scipy.integrate.quad(lambda x: x**2 * (1 - x**p) ** (1 / p), 0, 1, points=edge)[0]
    assert mean_square(LpBall(2, p, 3.0)) == pytest.approx(9 * square / area, rel=1e-6)


def test_moments_in_closed_form_are_exact() -> None:
    body = Ellipsoid(np.diag([1.0, 1e-4]))
    assert moments(body).kind == "exact"
    assert moments(body).second_moment == pytest.approx(np.diag([1.0, 1e-8]) / 4, rel=1e-14)


@pytest.mark.parametrize(
    "body",
    [LinearImage(LpBall(3, 3), np.ones((1, 3))), SchattenBall((2, 2), 3), BoxHull.of([0.0, 0], [1.0, 2])],
    ids=repr,
)
def test_other_bodies_have_none_here(body: Body) -> None:
    assert second_moment(body) is None
