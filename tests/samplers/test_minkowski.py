"""Uniform points of sums K + B₂, against areas in closed form; what walks say of themselves."""

import math
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from scipy import stats

from gaugedp import samplers
from gaugedp.bodies import Ellipsoid, LinearImage, LpBall, MinkowskiSum, Polytope
from gaugedp.entropy import research_rng
from gaugedp.samplers.continuous import uniforms
from gaugedp.samplers.tuning import TUNED

ROUNDED = MinkowskiSum(LpBall(2, np.inf), LpBall(2, 2, 0.5))  # a square with round corners


def distance_to_square(points: np.ndarray) -> np.ndarray:
    return np.linalg.norm(np.maximum(np.abs(points) - 1, 0), axis=1)


@pytest.mark.statistical
def test_points_of_a_rounded_square() -> None:
    """6,000 points in the square, along its sides and at corners: areas 4, 4 and π/4. False alarms: 3e-5."""
    points = samplers.uniform(ROUNDED, 6000, research_rng(1))
    assert (distance_to_square(points) <= 0.5 + 1e-8).all()
    beyond = (np.abs(points) > 1).sum(axis=1)
    areas = np.array([4, 4, math.pi / 4])
    counts = [(beyond == number).sum() for number in range(3)]
    assert stats.chisquare(counts, 6000 * areas / areas.sum()).pvalue > 1e-5
    assert stats.kstest(ROUNDED.gauge(points) ** 2, stats.uniform.cdf).pvalue > 1e-5
    corner = distance_to_square(points[beyond == 2]) / 0.5
    assert stats.kstest(corner**2, stats.uniform.cdf).pvalue > 1e-5


@pytest.mark.statistical
def test_points_of_a_hull_and_a_ball_against_rejection_by_distances() -> None:
    """K = conv{±v} in ℝ³, K + B₂: 1,500 points against those of a box whose least squares are at most 1. 3e-5."""
    import scipy.optimize

    hull = np.random.default_rng(3).normal(size=(3, 5)) * 2
    body, rng = MinkowskiSum(Polytope.symmetric_hull(hull), LpBall(3, 2)), research_rng(4)
    half = np.abs(hull).max(axis=1) + 1
    box = (2 * uniforms(3000, rng).reshape(1000, 3) - 1) * half
    columns = np.vstack([np.hstack([hull, -hull, np.zeros((3, 1))]), np.full(11, 1e4)])

    def is_inside(point: np.ndarray) -> bool:
        shares = scipy.optimize.nnls(columns, np.append(point, 1e4))[0]
        return bool(np.linalg.norm(columns[:3] @ shares - point) <= 1)

    expected = box[[is_inside(point) for point in box]]
    points = samplers.uniform(body, 1500, rng)
    for of in (lambda rows: rows[:, 0], lambda rows: rows.sum(axis=1), lambda rows: np.linalg.norm(rows, axis=1)):
        assert stats.ks_2samp(of(points), of(expected)).pvalue > 1e-5


def test_a_flat_sum_and_one_that_needs_a_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    plane = np.array([[1.0, 0], [0, 1], [1, 1]])
    flat = MinkowskiSum(LinearImage(LpBall(2, np.inf), plane), Ellipsoid(plane))
    points = samplers.uniform(flat, 20, research_rng(5))
    assert np.allclose(points[:, 2], points[:, 0] + points[:, 1])
    # as for a body that fills little of its box
    monkeypatch.setattr(import_module("gaugedp.samplers.uniform"), "TUNED", replace(TUNED, pilot_inside=501))
    walked = samplers.uniform(ROUNDED, 3, research_rng(6))
    assert (walked == samplers.ball_walk(ROUNDED, 3, research_rng(6))).all()


@pytest.mark.parametrize("walk", [samplers.ball_walk, samplers.grid_walk, samplers.hit_and_run])
def test_walks_say_that_they_are_mixing(walk) -> None:
    assert "`mixing`" in walk.__doc__
    assert walk(ROUNDED, 3, research_rng(7), burn_in=2, thin=1).shape == (3, 2)
