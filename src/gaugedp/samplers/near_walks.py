"""Ball and grid walks: each step proposes a nearby point, and stays if it lies outside.

Each proposal takes one gauge, for a polytope a linear program. The distribution after finitely many steps is only near
the stationary one. docs/theory/walks.md
"""

from dataclasses import dataclass

import numpy as np

from gaugedp._internal.validate import positive
from gaugedp.bodies import Body
from gaugedp.entropy import Entropy, system_rng
from gaugedp.samplers.continuous import normals, uniforms
from gaugedp.samplers.walks import chart, gathered


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
    rng: Entropy | None = None,
    *,
    radius: float | None = None,
    burn_in: int | None = None,
    thin: int | None = None,
) -> np.ndarray:
    """Draw nearly uniform points of a body by short steps.

    Use it for experiments only; no mechanism uses it. Each step of this random walk proposes a uniform point of a small
    ball around the current point, and moves there if the point lies in the body.

    Parameters
    ----------
    body : Body
        A body in ℝ^d whose gauge, which shows which points lie inside, is known. Below, r is its rank, the number of
        dimensions that it spans.
    size : int
        The number of points to draw.
    rng : Entropy, optional
        The source of randomness. The default is that of the operating system.
    radius : float, optional
        The radius of the small ball, in units of a basis of points on the boundary. Default 1/√r.
    burn_in : int, optional
        The number of steps from the origin before the first point. Default 10·r².
    thin : int, optional
        The number of steps per point. Default r².

    Returns
    -------
    array, shape (size, d)
        The points, of which successive ones are dependent.

    Raises
    ------
    InvalidRequest
        If a number is out of range, or the body has no gauge.

    Notes
    -----
    The draws are `mixing`: a walk of infinite length is uniform on the body (Metropolis and others 1953), but no number
    of steps is proved to be sufficient. If a proposal lies outside the body, the current point counts again. The
    program of Lodrant (2019, appendix A) instead proposes until a point is accepted, which visits the boundary too
    rarely.

    Examples
    --------
    All points lie in the octahedron, so the sum of their absolute coordinates is at most 1:

    >>> from gaugedp.bodies import LpBall
    >>> from gaugedp.samplers import ball_walk
    >>> points = ball_walk(LpBall(3, 1), 4, burn_in=20)
    >>> points.shape, bool((abs(points).sum(axis=1) <= 1).all())
    ((4, 3), True)
    """
    basis = chart(body)
    rank = basis.shape[1]
    length = rank**-0.5 if radius is None else radius
    positive(radius=length)
    walk = BallWalk(body, basis, length, np.zeros((1, rank)))
    return gathered(walk, size, _or(burn_in, 10 * rank**2), _or(thin, rank**2), rng or system_rng())


def grid_walk(
    body: Body,
    size: int,
    rng: Entropy | None = None,
    *,
    spacing: float | None = None,
    burn_in: int | None = None,
    thin: int | None = None,
) -> np.ndarray:
    """Draw nearly uniform lattice points of a body.

    Use it for experiments only; no mechanism uses it. A lattice is a grid of equally spaced points, and each step of
    this random walk moves to a neighbouring point of the lattice.

    Parameters
    ----------
    body : Body
        A body in ℝ^d whose gauge is known. Below, r is its rank, the number of dimensions that it spans.
    size : int
        The number of points to draw.
    rng : Entropy, optional
        The source of randomness. The default is that of the operating system.
    spacing : float, optional
        The distance of lattice points, in units of a basis of points on the boundary. Default 1/(2r).
    burn_in : int, optional
        The number of steps before the first point. Default 10·r³.
    thin : int, optional
        The number of steps per point. Default r³.

    Returns
    -------
    array, shape (size, d)
        The points.

    Notes
    -----
    The draws are `mixing`: a walk of infinite length is uniform on the lattice points that it can reach (Dyer, Frieze
    and Kannan 1991). Successive points are dependent.

    Examples
    --------
    The coordinates are multiples of a quarter:

    >>> from gaugedp import research_rng
    >>> from gaugedp.bodies import LpBall
    >>> from gaugedp.samplers import grid_walk
    >>> grid_walk(LpBall(2, 2), 3, research_rng(1), spacing=0.25).tolist()
    [[-0.25, -0.25], [0.0, 0.0], [0.25, 0.25]]
    """
    basis = chart(body)
    rank = basis.shape[1]
    width = 0.5 / rank if spacing is None else spacing
    positive(spacing=width)
    walk = GridWalk(body, basis, width, np.zeros((1, rank), dtype=np.int64))
    return gathered(walk, size, _or(burn_in, 10 * rank**3), _or(thin, rank**3), rng or system_rng())


def _or(value: int | None, default: int) -> int:
    return default if value is None else value


def _in_ball(count: int, rank: int, rng: Entropy) -> np.ndarray:
    """Return points uniform in the Euclidean ball: a uniform direction, times U^(1/rank)."""
    directions = normals(count * rank, rng).reshape(count, rank)
    lengths = uniforms(count, rng) ** (1 / rank)
    return directions * (lengths / np.linalg.norm(directions, axis=1))[:, None]
