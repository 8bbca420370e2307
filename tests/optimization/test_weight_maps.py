"""Gibbs samples on polytopes and images of balls: the law of the points, the map of rows, the guarantee."""

import dataclasses

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.bodies import LinearImage, LpBall, Polytope
from gaugedp.errors import InvalidRequest
from gaugedp.optimization import Absolute, Geometry, Gibbs, Logistic

HEXAGON = np.array([[1.0, 0.5, -0.5], [0.0, 0.9, 0.9]])  # a vertex a column, beside their negatives
WIDE = gd.ApproxDP(8.0, 1e-3)


def rows_of(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(6)
    rows = rng.uniform(-1, 1, (n, 2)) * 0.6
    return rows, np.where(rows @ [1.0, 0.3] > 0, 1.0, -1.0)


def octahedron(count: int = 60) -> np.ndarray:
    """A grid of the ℓ₁ ball in three dimensions."""
    axis = (np.arange(count) + 0.5) / count * 2 - 1
    grid = np.stack(np.meshgrid(axis, axis, axis), axis=-1).reshape(-1, 3)
    return grid[np.abs(grid).sum(axis=1) <= 1]


def test_draws_on_a_polytope_have_the_mean_of_their_law_and_lie_in_it() -> None:
    """Quadrature over the weights of the vertices; control: the law of the ℓ₁ ball without the map of the rows."""
    rows, targets = rows_of(40)
    body = Polytope.symmetric_hull(HEXAGON)
    mechanism = Gibbs.calibrate(body, Logistic(), 40, WIDE)
    grid = octahedron()
    logs = -mechanism.posterior(rows, targets).value(grid)
    mean = HEXAGON @ (np.exp(logs - np.logaddexp.reduce(logs)) @ grid)
    draws = mechanism.draw(rows, targets, 100, gd.research_rng(2))
    error = draws.std(axis=0).max() / 100**0.5
    assert draws.shape == (100, 2)
    assert np.abs(draws.mean(axis=0) - mean).max() < 4 * error
    assert (body.gauge(draws) <= 1 + 1e-6).all()
    flat = mechanism.posterior(0 * rows, targets).value(grid)
    assert np.abs(HEXAGON @ (np.exp(-flat - np.logaddexp.reduce(-flat)) @ grid) - mean).max() > 8 * error
    losses = np.logaddexp(0, -(grid @ HEXAGON.T @ rows.T) * targets).mean(axis=1)
    assert np.exp(logs - np.logaddexp.reduce(logs)) @ losses - losses.min() < mechanism.risk_bound()


@pytest.mark.parametrize("excess", [1.0, 2.4])
def test_a_polytope_keeps_its_guarantee_by_integration(excess: float) -> None:
    """Theorem 1 for rows at corners of the dual body; control: a rate that this loss shows to be too high."""
    rows, targets = np.array([[1.0, 0.0], [0.4, -0.7], [-0.8, 0.5]]), np.array([1.0, -1.0, 1.0])
    neighbour = np.concatenate([[[-1.0, 0.0]], rows[1:]])
    mechanism = Gibbs.calibrate(Polytope.symmetric_hull(HEXAGON), Absolute(), 3, gd.PureDP(1.0))
    held = dataclasses.replace(mechanism, rate=mechanism.rate * excess)
    logs = [-held.posterior(each, targets).value(octahedron(30)) for each in (rows, neighbour)]
    logs = [each - np.logaddexp.reduce(each) for each in logs]
    assert (np.ptp(logs[0] - logs[1]) <= 1.0) == (excess == 1.0)


def test_no_row_is_longer_than_the_dual_body_allows() -> None:
    """The largest ⟨vertex, row⟩ is at most row_norm, also for rows that are not finite: these count as 0."""
    rows = np.array([[100.0, 3.0], [np.inf, -np.inf], [np.nan, 1.0], [0.1, 0.2]])
    mechanism = Gibbs.calibrate(Polytope.symmetric_hull(HEXAGON, 2.0), Logistic(), 4, WIDE, row_norm=0.5)
    posterior = mechanism.posterior(rows, np.ones(4))
    assert np.abs(posterior.rows).max() <= 0.5 * (1 + 1e-12)
    assert posterior.rows[3] == pytest.approx(2 * HEXAGON.T @ rows[3])
    assert not posterior.rows[1:3].any()


def test_an_image_of_a_ball_is_that_ball_with_other_rows() -> None:
    """The same key gives M times the sample of rows that M's transpose was applied to."""
    rows, targets = rows_of(40)
    matrix = np.array([[2.0, 0.0], [1.0, 0.5]])
    image = Gibbs.calibrate(LinearImage(LpBall(2, 1.5), matrix), Logistic(), 40, WIDE)
    inner = Gibbs.calibrate(Geometry((2,), 1.5), Logistic(), 40, WIDE)
    points = inner.draw(rows @ matrix, targets, 3, gd.research_rng(4))
    assert image.draw(rows, targets, 3, gd.research_rng(4)) == pytest.approx(points @ matrix.T)
    assert image.steps == inner.steps


def test_a_loss_of_your_own_sees_weights_of_the_polytope() -> None:
    def distance(weights: np.ndarray, rows: np.ndarray, targets: np.ndarray) -> np.ndarray:
        assert weights.shape[1:] == (2,)
        return np.abs((weights * rows).sum(axis=1) - targets)

    mechanism = Gibbs.calibrate(Polytope.symmetric_hull(HEXAGON), distance, 4, gd.ApproxDP(1.0, 1e-3), lipschitz=1.0)
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [-0.5, 0.5]])
    sample = mechanism.sample(rows, np.array([0.5, 0.2, 0.3, 0.0]), gd.research_rng(3))
    assert sample.shape == (2,)
    assert Polytope.symmetric_hull(HEXAGON).gauge(sample[None])[0] <= 1 + 1e-6


def test_a_hull_of_differences_and_rows_of_another_width_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="difference_hull"):
        Gibbs.calibrate(Polytope.difference_hull(HEXAGON), Logistic(), 4, WIDE)
    mechanism = Gibbs.calibrate(Polytope.symmetric_hull(HEXAGON), Logistic(), 4, WIDE)
    with pytest.raises(InvalidRequest, match="4 rows with 2 numbers each"):
        mechanism.sample(np.ones((4, 3)), np.ones(4))
