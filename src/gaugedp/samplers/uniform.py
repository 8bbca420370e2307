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
    """Draw uniform points of a body, shape (size, d).

    Use it to estimate properties of a body, such as its moments, or to simulate noise that is shaped to it.

    Parameters
    ----------
    body : Body
        The body in ℝ^d.
    size : int
        The number of points to draw.
    rng : Entropy, optional
        The source of random bits. By default the operating system's.

    Notes
    -----
    Draws are exact and independent for balls, ellipsoids, and polytopes of rank at most 8 or with as many generators as
    their rank. For other polytopes they are nearly uniform and correlated, because a walk over facets draws them (see
    `gauge_noise`). Points of a `MinkowskiSum` are drawn from a box around it, until one lies in the sum (rejection).
    This is exact, and is used if at least 3 of 500 points of the box lie in the sum; otherwise `ball_walk` draws them.

    Examples
    --------
    Five points of a ball around the origin:

    >>> from gaugedp.bodies import LpBall
    >>> from gaugedp.samplers import uniform
    >>> uniform(LpBall(3, 2.0), size=5).shape
    (5, 3)
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
    """Moments of a random point that is uniform in a body.

    They determine the expected error of K-norm noise that is shaped to the body. For a uniform point Z, `mean_norm` is
    E‖Z‖₂ and `second_moment` is the matrix E ZZᵀ, shape (d, d). `kind` states how the second moment is known: "exact"
    up to rounding, or "estimated" from random draws with a public seed. `mean_norm` always comes from such draws, and
    `standard_error` is its standard error. `autocorrelation_time`, in steps, is that of the walk that made the draws,
    or 0 if no walk did.
    """

    rank: int
    mean_norm: float
    standard_error: float
    second_moment: np.ndarray
    kind: str
    autocorrelation_time: float = 0.0


def moments(body: Body) -> UniformMoments:
    """Return the moments of a random point that is uniform in a body.

    Use it to compute the expected error of K-norm noise. The moments are computed only once for each body.

    Notes
    -----
    The density of K-norm noise N is proportional to e^{−‖z‖_K}. For a body K of rank r, E‖N‖₂ = (r + 1)·E‖Z‖₂ and E NNᵀ
    = (r + 1)(r + 2)·E ZZᵀ. The reason is that N is R·Z, where R ~ Gamma(r + 1) is independent of the uniform point Z
    (Hardt and Talwar 2010).
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
        getattr(noise, "autocorrelation_time", 0.0) if noise.walks else 0.0,
    )
