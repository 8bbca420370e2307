"""Uniform points of Minkowski sums, such as K + B₂."""

import numpy as np

from gaugedp.bodies.derived import MinkowskiSum
from gaugedp.entropy import Entropy, research_rng
from gaugedp.samplers.continuous import uniforms
from gaugedp.samplers.near_walks import ball_walk
from gaugedp.samplers.tuning import TUNED


def uniform_sum(body: MinkowskiSum, size: int, rng: Entropy) -> np.ndarray:
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
