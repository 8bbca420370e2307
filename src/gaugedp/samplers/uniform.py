"""Uniform distribution on a body: draws and moments."""

import math
from dataclasses import dataclass

import numpy as np

from gaugedp._internal.validate import whole
from gaugedp.bodies import Body, MinkowskiSum
from gaugedp.entropy import Entropy, research_rng, system_rng
from gaugedp.samplers.continuous import uniforms
from gaugedp.samplers.direct import has_direct, uniform_direct
from gaugedp.samplers.gauge_noise import gauge_noise
from gaugedp.samplers.near_walks import ball_walk
from gaugedp.samplers.tuning import TUNED


def uniform(body: Body, size: int, rng: Entropy | None = None) -> np.ndarray:
    """Draw uniform points of a body.

    Use it to estimate properties of a body, such as its moments, or to simulate noise with its shape.

    Parameters
    ----------
    body : Body
        The body in ℝ^d.
    size : int
        The number of points to draw.
    rng : Entropy, optional
        The source of randomness. The default is that of the operating system.

    Returns
    -------
    array, shape (size, d)
        The points.

    Notes
    -----
    Draws are exact and independent for balls, ellipsoids, and polytopes that span at most 8 dimensions or have as many
    generators as their rank. For other polytopes a random walk draws them, so they are nearly uniform and correlated.
    For a `MinkowskiSum`, points of a box are drawn until one lies in the sum. If fewer than 3 of 500 points of the box
    do, `ball_walk` draws the points instead.

    Examples
    --------
    All points lie in the ball, whose radius is 2:

    >>> import numpy as np
    >>> from gaugedp.bodies import LpBall
    >>> from gaugedp.samplers import uniform
    >>> points = uniform(LpBall(3, 2, 2.0), size=5)
    >>> points.shape, bool((np.linalg.norm(points, axis=1) <= 2).all())
    ((5, 3), True)
    """
    whole(minimum=1, size=size)
    stream = system_rng() if rng is None else rng
    if isinstance(body, MinkowskiSum):
        return _uniform_sum(body, size, stream)
    return uniform_direct(body, size, stream) if has_direct(body) else gauge_noise(body).uniform(size, stream)


def _uniform_sum(body: MinkowskiSum, size: int, rng: Entropy) -> np.ndarray:
    """Return points by rejection from a box (docs/theory/walks.md, theorem 3), or by a ball walk if few are accepted.

    The box has the axes of an orthonormal basis of the span. Which of the two it is depends on the body alone.
    """
    accepted = len(_accepted(body, TUNED.pilot_points, research_rng(2412)))
    if accepted < TUNED.pilot_inside:
        return ball_walk(body, size, rng)
    found = np.empty((0, body.ambient_dim))
    while (missing := size - len(found)) > 0:
        found = np.vstack([found, _accepted(body, 1 + missing * TUNED.pilot_points // accepted, rng)[:missing]])
    return found


def _accepted(body: MinkowskiSum, trials: int, rng: Entropy) -> np.ndarray:
    axes = body.span.T
    corners = (2 * uniforms(trials * body.rank, rng).reshape(trials, body.rank) - 1) * body.support(axes)
    points = corners @ axes
    return points[body.gauge(points) <= 1]


@dataclass(frozen=True, eq=False)
class UniformMoments:
    """Mean length and second moments of a random point.

    `moments` returns it for a point that is uniform in a body. The numbers determine the expected error of K-norm
    noise, which has the shape of the body.

    Attributes
    ----------
    rank : int
        The number of dimensions that the body spans.
    mean_norm : float
        The expected Euclidean length of the point, estimated from random draws with a public seed.
    standard_error : float
        The standard error of this estimate.
    second_moment : array, shape (d, d)
        The expected products of pairs of coordinates.
    kind : str
        "exact" if the second moments are exact up to rounding, and "estimated" if they come from the draws too.
    autocorrelation_time : float
        The autocorrelation time of the random walk that made the draws, in steps, or 0 if no walk did.
    """

    rank: int
    mean_norm: float
    standard_error: float
    second_moment: np.ndarray
    kind: str
    autocorrelation_time: float = 0.0


def moments(body: Body) -> UniformMoments:
    """Return moments of a random point of a body.

    The moments are the mean length and the mean products of coordinates of a point that is uniform in the body. Use
    them to compute the expected error of K-norm noise, which has the shape of the body. They are computed only once for
    each body.

    Parameters
    ----------
    body : Body
        The body in ℝ^d.

    Returns
    -------
    UniformMoments
        The expected length (`mean_norm`) and the matrix of second moments (`second_moment`), of shape (d, d).

    Notes
    -----
    K-norm noise with ε = 1 is a uniform point of the body, times an independent random size (Hardt and Talwar 2010).
    The size has the distribution Gamma(r + 1) for a body of rank r. Its expected length is therefore r + 1 times that
    of the point, and its second moments are (r + 1)(r + 2) times those of the point.

    Examples
    --------
    A uniform point of the unit disc has the expected length 2/3:

    >>> from gaugedp.bodies import LpBall
    >>> from gaugedp.samplers import moments
    >>> round(moments(LpBall(2, 2)).mean_norm, 2), moments(LpBall(2, 2)).second_moment.round(2).tolist()
    (0.67, [[0.25, 0.0], [0.0, 0.25]])
    """
    noise = gauge_noise(body)
    lengths = np.linalg.norm(noise.trials, axis=2).mean(axis=1) / (noise.rank + 1)
    exact = noise.second_moment
    flat = noise.trials.reshape(-1, body.ambient_dim)
    estimated = flat.T @ flat / len(flat) / ((noise.rank + 1) * (noise.rank + 2))
    return UniformMoments(
        noise.rank,
        float(lengths.mean()),
        float(lengths.std(ddof=1)) / math.sqrt(len(lengths)),
        estimated if exact is None else exact,
        "estimated" if exact is None else "exact",
        noise.autocorrelation_time,
    )
