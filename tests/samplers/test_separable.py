"""The exact oracle of a squared norm on a ball: its law by integration, and how many proposals it takes."""

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.optimization.geometry import Geometry
from gaugedp.samplers.separable import SeparableOracle
from gaugedp.samplers.split import SplitSampler
from tests.cases import one_in
from tests.samplers import fit

pytestmark = pytest.mark.statistical
DISC = Geometry((2,), 2)
ORACLES = {
    "line": SeparableOracle(8.0, 1.2, Geometry((1,), 1)),
    "line, a normal law": SeparableOracle(8.0, 2.0, Geometry((1,), 1)),
    "diamond": SeparableOracle(12.0, 1.2, Geometry((2,), 1)),
    "diamond, nearly a diamond's regulariser": SeparableOracle(12.0, 1.02, Geometry((2,), 1)),
    "disc": SeparableOracle(12.0, 1.3, DISC),
    "between": SeparableOracle(4.0, 1.5, Geometry((2,), 1.5)),
    "rounded square": SeparableOracle(4.0, 2.0, Geometry((2,), 4)),
    "square": SeparableOracle(4.0, 2.0, Geometry((2,), math.inf)),
}
PLACES = {"inside": (0.3, -0.2), "near a corner": (1.2, 0.05), "pushed out": (-1.6, 1.2)}


@dataclass
class Slanted:
    """⟨slope, x⟩ + 4·Σ|x_i − 1/3|."""

    slope: np.ndarray
    curvature: ClassVar[float] = math.inf

    def value(self, points: np.ndarray) -> np.ndarray:
        return points @ self.slope + 4 * np.abs(points - 1 / 3).sum(axis=1)

    def gradient(self, points: np.ndarray) -> np.ndarray:
        return self.slope + 4 * np.sign(points - 1 / 3)


def regulariser(oracle: SeparableOracle, points: np.ndarray) -> np.ndarray:
    return oracle.weight / 2 * np.linalg.norm(points, oracle.exponent, axis=1) ** 2


def grid_on(ball: Geometry, draws: np.ndarray) -> np.ndarray:
    """Points of the ball, fine where the draws are and for a fifth of their range around them."""
    count = 40_000 if ball.ambient_dim == 1 else 700
    shares = (np.arange(count) + 0.5) / count
    room = 0.2 * np.ptp(draws, axis=0)
    lows, highs = np.maximum(draws.min(axis=0) - room, -ball.radius), np.minimum(draws.max(axis=0) + room, ball.radius)
    axes = [low + (high - low) * shares for low, high in zip(lows, highs, strict=True)]
    grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, ball.ambient_dim)
    return grid[ball.norm(grid) <= ball.radius]


def misfit(grid: np.ndarray, exponent: np.ndarray, draws: np.ndarray) -> float:
    """Return the least p-value along two directions."""
    return fit.misfit(grid, exponent, draws, np.array([[1.0, 0.3], [-0.4, 1.0]])[:, : grid.shape[1]])


def drawn(oracle: SeparableOracle, place: np.ndarray, step: float) -> np.ndarray:
    return oracle.around(np.tile(place, (12_000, 1)), step).draw(np.arange(12_000), gd.research_rng(3))


@pytest.mark.parametrize("step", [pytest.param(0.01, marks=pytest.mark.thorough), 0.2])
@pytest.mark.parametrize("place", ["inside", "pushed out", pytest.param("near a corner", marks=pytest.mark.thorough)])
@pytest.mark.parametrize("name", ORACLES)
def test_the_oracle_draws_the_law_that_integration_gives(name: str, place: str, step: float) -> None:
    """12,000 draws; over all keys each of the 48 cases fails with a chance of 2e-4. The key is fixed."""
    oracle = ORACLES[name]
    centre = np.array(PLACES[place][: oracle.ball.ambient_dim])
    draws = drawn(oracle, centre, step)
    grid = grid_on(oracle.ball, draws)
    exponent = regulariser(oracle, grid) + ((grid - centre) ** 2).sum(axis=1) / (2 * step)
    assert (oracle.ball.norm(draws) <= oracle.ball.radius).all()
    assert misfit(grid, exponent, draws) > 1e-4


@pytest.mark.parametrize("name", ["line", "diamond", "disc", "square"])
def test_the_test_of_the_oracle_alarms(name: str) -> None:
    """Positive control: a regulariser 30 % too heavy."""
    oracle = ORACLES[name]
    centre = np.array(PLACES["inside"][: oracle.ball.ambient_dim])
    draws = drawn(oracle, centre, 0.2)
    grid = grid_on(oracle.ball, draws)
    exponent = 1.3 * regulariser(oracle, grid) + ((grid - centre) ** 2).sum(axis=1) / 0.4
    assert misfit(grid, exponent, draws) < 1e-6


@pytest.mark.thorough
@pytest.mark.parametrize(
    "slope", [*(pytest.param((push, 0.0), marks=pytest.mark.thorough) for push in (0.5, 7.0)), (4.0, 5.0)]
)
@pytest.mark.parametrize("name", one_in(4, ORACLES))
def test_the_sampler_draws_the_law_of_loss_and_regulariser(name: str, slope: tuple[float, float]) -> None:
    """1,000 chains of 30 steps; over all keys each of the 24 cases fails with a chance of 2e-4. The key is fixed."""
    oracle, d = ORACLES[name], ORACLES[name].ball.ambient_dim
    losses = Slanted(np.array(slope[:d]))
    sampler = SplitSampler(losses, oracle, oracle.weight * (oracle.exponent - 1), 0.1, 1.5)
    draws = sampler.draw((1_000, d), 30, gd.research_rng(11))
    grid = grid_on(oracle.ball, draws)
    assert misfit(grid, losses.value(grid) + regulariser(oracle, grid), draws) > 1e-4


@dataclass(frozen=True)
class CountingBall(Geometry):
    """Counts the points that are looked at."""

    seen: list[int] = field(default_factory=list)

    def norm(self, points: np.ndarray) -> np.ndarray:
        self.seen.append(len(points))
        return super().norm(points)


@pytest.mark.parametrize("push", [0.0, 0.2])
@pytest.mark.parametrize("p", [1, 1.5, 2, 4, math.inf])
@pytest.mark.parametrize("active", [1, 100])
def test_points_on_an_axis_and_in_a_corner_cost_few_proposals(active: int, p: float, push: float) -> None:
    """d = 100: from places with few large entries, and pushed out of the ball along them."""
    ball = CountingBall((100,), p)
    strength = 100 / ball.range
    oracle = SeparableOracle(strength * ball.weight, ball.exponent, ball)
    place = np.zeros((1, 100))
    place[0, :active] = (1 + push) / active ** (1 / p)
    place = place + 0.01 * np.random.default_rng(active).standard_normal((1, 100))
    law = oracle.around(place, 1e-4)
    ball.seen.clear()
    law.draw(np.zeros(10, dtype=int), gd.research_rng(1))
    assert sum(ball.seen) / 10 < 400
