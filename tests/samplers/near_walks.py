"""Walks in a body that step to a point nearby and stay where they are when it lies outside.

They are slow, and here to check the samplers of the library: each proposal costs a gauge, for a polytope a linear
program. The law after finitely many steps is only near the stationary one. docs/theory/walks.md
"""

from dataclasses import dataclass

import numpy as np

from gaugedp._internal.validate import positive
from gaugedp.bodies import Body
from gaugedp.entropy import Entropy
from gaugedp.samplers.continuous import normals, uniforms
from tests.samplers.walks import chart, gathered


@dataclass(eq=False)
class BallWalk:
    """Metropolis: propose a point uniform in the ball of radius `radius` around x, in coordinates of a chart."""

    body: Body
    chart: np.ndarray
    radius: float
    places: np.ndarray

    def step(self, rng: Entropy) -> None:
        """Move to the proposals that lie in the body; the other walks stay, which is what makes the law uniform."""
        proposals = self.places + self.radius * _in_ball(len(self.places), self.chart.shape[1], rng)
        inside = self.body.gauge(proposals @ self.chart.T) <= 1
        self.places[inside] = proposals[inside]

    def points(self) -> np.ndarray:
        """Return chart·places."""
        return self.places @ self.chart.T


@dataclass(eq=False)
class GridWalk:
    """Metropolis on the lattice spacing·ℤ^r, in coordinates of a chart: propose one of 2r neighbours."""

    body: Body
    chart: np.ndarray
    spacing: float
    places: np.ndarray

    def step(self, rng: Entropy) -> None:
        """Move with chance 1/2 to the neighbours in the body; the other walks stay (half the time: no parity)."""
        count, rank = self.places.shape
        choice = (uniforms(count, rng) * 4 * rank).astype(np.int64)
        proposals = self.places.copy()
        proposals[np.arange(count), choice % rank] += np.array([1, -1, 0, 0])[choice // rank]
        inside = self.body.gauge(self.spacing * proposals @ self.chart.T) <= 1
        self.places[inside] = proposals[inside]

    def points(self) -> np.ndarray:
        """Return spacing·chart·places."""
        return self.spacing * self.places @ self.chart.T


def ball_walk(
    body: Body,
    size: int,
    rng: Entropy,
    *,
    radius: float | None = None,
    burn_in: int | None = None,
    thin: int | None = None,
) -> np.ndarray:
    """Return `size` points of one ball walk, shape (size, d); its stationary law is uniform on the body.

    Begins at the origin, takes `burn_in` steps (10·rank² where None) and then returns every `thin`-th point
    (every rank²-th): dependent draws. `radius` is that of the ball, in coordinates of `chart` (1/√rank).
    """
    basis = chart(body)
    rank = basis.shape[1]
    length = rank**-0.5 if radius is None else radius
    positive(radius=length)
    walk = BallWalk(body, basis, length, np.zeros((1, rank)))
    return gathered(walk, size, _or(burn_in, 10 * rank**2), _or(thin, rank**2), rng)


def grid_walk(
    body: Body,
    size: int,
    rng: Entropy,
    *,
    spacing: float | None = None,
    burn_in: int | None = None,
    thin: int | None = None,
) -> np.ndarray:
    """Return `size` points of one grid walk, shape (size, d) (Dyer, Frieze and Kannan 1991).

    Its stationary law is uniform on the points of a lattice that lie in the body and can be reached: near the uniform
    law on the body where `spacing`, in coordinates of `chart`, is small (1/(2·rank) where None). `burn_in` and `thin`
    are 10·rank³ and rank³ where None.
    """
    basis = chart(body)
    rank = basis.shape[1]
    width = 0.5 / rank if spacing is None else spacing
    positive(spacing=width)
    walk = GridWalk(body, basis, width, np.zeros((1, rank), dtype=np.int64))
    return gathered(walk, size, _or(burn_in, 10 * rank**3), _or(thin, rank**3), rng)


def _or(value: int | None, default: int) -> int:
    return default if value is None else value


def _in_ball(count: int, rank: int, rng: Entropy) -> np.ndarray:
    """Return points uniform in the Euclidean ball: a uniform direction, times U^(1/rank)."""
    directions = normals(count * rank, rng).reshape(count, rank)
    lengths = uniforms(count, rng) ** (1 / rank)
    return directions * (lengths / np.linalg.norm(directions, axis=1))[:, None]
