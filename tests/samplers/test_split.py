"""The sampler by tangents where a bound on the losses' curvature spares looks at them: the law, by integration."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from scipy import stats

import gaugedp as gd
from gaugedp.entropy import Entropy
from gaugedp.samplers.continuous import normals
from gaugedp.samplers.split import SplitSampler

pytestmark = pytest.mark.statistical
WEIGHT, STEP, STEPS, RUNS = 2.0, 0.2, 20, 400


@dataclass
class Bowl:
    """2·log cosh(x − 1): its second derivative is at most 2, or `curvature` as it is claimed; looks are counted."""

    curvature: float
    looks: list[int] = field(default_factory=list)  # one for each time, tangents' included

    def value(self, points: np.ndarray) -> np.ndarray:
        self.looks.append(len(points))
        return WEIGHT * np.log(np.cosh(points[:, 0] - 1))

    def gradient(self, points: np.ndarray) -> np.ndarray:
        return WEIGHT * np.tanh(points - 1)


@dataclass
class Normal:
    """The law ∝ e^{−x²/2 − ‖x − y‖²/(2η)}."""

    centre: np.ndarray
    deviation: float

    def draw(self, rows: np.ndarray, rng: Entropy) -> np.ndarray:
        return self.centre[rows] + self.deviation * normals(len(rows), rng)[:, None]


class Square:
    """The oracle of x²/2 on the line."""

    def around(self, places: np.ndarray, step: float) -> Normal:
        return Normal(places / (1 + step), (step / (1 + step)) ** 0.5)


def ends(potential: Bowl, key: int) -> np.ndarray:
    """The ends of runs of two chains each: tangents are kept from step to step."""
    one, rng = SplitSampler(potential, Square(), 1.0, STEP, 4.0), gd.research_rng(key)
    return np.concatenate([one.draw((2, 1), STEPS, rng)[:, 0] for _ in range(RUNS)])


def test_looks_that_are_spared_leave_the_law_alone() -> None:
    """800 ends on 8 cells of equal probability, at 1e-4; the key is fixed. Control: a curvature of 0 is claimed."""
    grid = np.linspace(-4, 5, 20_001)
    density = np.exp(-WEIGHT * np.log(np.cosh(grid - 1)) - grid**2 / 2)
    cells = grid[np.searchsorted(np.cumsum(density) / density.sum(), np.arange(1, 8) / 8)]
    for curvature, is_right in ((WEIGHT, True), (0.0, False)):
        potential = Bowl(curvature)
        seen = np.bincount(np.searchsorted(cells, ends(potential, 4)), minlength=8)
        level = stats.chisquare(seen).pvalue
        assert level > 1e-4 if is_right else level < 1e-8
    assert len(potential.looks) == RUNS  # the control looks for its tangent alone
    curious, spared = Bowl(np.inf), Bowl(WEIGHT)
    for potential in (curious, spared):
        SplitSampler(potential, Square(), 1.0, STEP, 4.0).draw((1, 1), 1_000, gd.research_rng(1))
    assert len(spared.looks) < 0.7 * len(curious.looks)
