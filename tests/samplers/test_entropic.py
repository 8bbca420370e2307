"""The exact oracle of the entropy on the simplex, against integration; and draws from under three tangents."""

import numpy as np
import pytest
from scipy.special import xlogy

import gaugedp as gd
from gaugedp.samplers.entropic import EntropicOracle, ThreeTangents
from gaugedp.samplers.split import SplitSampler
from tests.samplers import fit

pytestmark = pytest.mark.statistical
PLACES = {"inside": (0.3, 0.5, 0.2), "near a corner": (1.3, -0.2, 0.1), "pushed out": (0.1, -0.2, 0.9)}


def grid_on_simplex(d: int) -> np.ndarray:
    count = 20_000 if d == 2 else 700
    axis = (np.arange(count) + 0.5) / count
    first = np.stack(np.meshgrid(*[axis] * (d - 1)), axis=-1).reshape(-1, d - 1)
    points = np.column_stack([first, 1 - first.sum(axis=1)])
    return points[points[:, -1] > 0]


def misfit(grid: np.ndarray, exponent: np.ndarray, draws: np.ndarray) -> float:
    """Return the least p-value along the coordinates."""
    return fit.misfit(grid, exponent, draws, np.eye(grid.shape[1]))


@pytest.mark.parametrize(("strength", "step"), [(12.0, 0.02), (60.0, 0.3)])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("d", [2, 3])
def test_the_oracle_draws_the_law_that_integration_gives(d: int, place: str, strength: float, step: float) -> None:
    """4,000 draws; over all keys each of the 12 cases fails with a chance of 3e-4. Control: 40 % more entropy."""
    centre, grid = np.array(PLACES[place][:d]), grid_on_simplex(d)
    draws = EntropicOracle(strength).around(centre[None], step).draw(np.zeros(4_000, dtype=int), gd.research_rng(3))
    assert draws.min() >= 0
    assert draws.sum(axis=1) == pytest.approx(1, abs=1e-12)
    gauss = ((grid - centre) ** 2).sum(axis=1) / (2 * step)
    entropy = strength * xlogy(grid, grid).sum(axis=1)
    assert misfit(grid, entropy + gauss, draws) > 1e-4
    if strength > 50:
        assert misfit(grid, 1.4 * entropy + gauss, draws) < 1e-6


class Slanted:
    """⟨slope, x⟩ + 3·‖x − 1/3‖²."""

    slope, curvature = np.array([2.0, -1.0, 0.5]), 6.0

    def value(self, points: np.ndarray) -> np.ndarray:
        return points @ self.slope + 3 * ((points - 1 / 3) ** 2).sum(axis=1)

    def gradient(self, points: np.ndarray) -> np.ndarray:
        return self.slope + 6 * (points - 1 / 3)


def test_the_sampler_draws_the_law_of_loss_and_entropy() -> None:
    """800 chains of 12 steps; the key is fixed. Control: the losses left out."""
    sampler = SplitSampler(Slanted(), EntropicOracle(4.0), 8.0, 0.1, 1.0)
    draws, grid = sampler.draw((800, 3), 12, gd.research_rng(5)), grid_on_simplex(3)
    entropy = 4 * xlogy(grid, grid).sum(axis=1)
    assert misfit(grid, Slanted().value(grid) + entropy, draws) > 1e-4
    assert misfit(grid, entropy, draws) < 1e-6


@pytest.mark.parametrize("d", [40, 400])
def test_many_coordinates_have_the_moments_of_the_uniform_law(d: int) -> None:
    """λ of nearly 0, and η of nearly ∞: uniform on the simplex, where E x_i² = 2/(d² + d)."""
    law = EntropicOracle(1e-6).around(np.full((1, d), 1 / d), 1e9)
    draws = law.draw(np.zeros(200, dtype=int), gd.research_rng(1))
    squares = (draws**2).sum(axis=1)
    assert abs(squares.mean() - 2 / (d + 1)) < 5 * squares.std() / 200**0.5
    assert draws.sum(axis=1) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("touches", [(0.1, 0.5, 0.9), (0.45, 0.5, 0.55), (0.7, 0.8, 0.9), (0.2, 0.2, 0.2)])
@pytest.mark.parametrize("rate", [1e-9, 4.0, 20.0])
def test_any_three_tangents_give_the_same_law(touches: tuple[float, ...], rate: float) -> None:
    """The density e^{−rate·(x − ½)²/2 − x} on [0, 1] by integration; control: without its slope."""
    law = ThreeTangents(
        lambda x, _: rate * (x - 0.5) ** 2 / 2 + x, lambda x, _: rate * (x - 0.5) + 1, np.array(touches)[:, None], 0, 1
    )
    draws = law.draw(np.zeros(8_000, dtype=int), gd.research_rng(2))[:, None]
    grid = (np.arange(20_000)[:, None] + 0.5) / 20_000
    square = rate * (grid[:, 0] - 0.5) ** 2 / 2
    assert misfit(grid, square + grid[:, 0], draws) > 1e-4
    assert misfit(grid, square, draws) < 1e-4 or rate > 100
