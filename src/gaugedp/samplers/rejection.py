"""Noise of a polytope by rejection from a box."""

import numpy as np

from gaugedp._internal.rounding import PARAMETERS
from gaugedp.bodies.frame import sums_above
from gaugedp.bodies.polytope import Polytope
from gaugedp.entropy import Entropy, research_rng
from gaugedp.errors import InvalidRequest
from gaugedp.samplers.body_noise import GaugeNoise
from gaugedp.samplers.continuous import gammas, uniforms
from gaugedp.samplers.tuning import TUNED


class RejectionNoise(GaugeNoise):
    """R·U with U drawn on a full-rank polytope by rejection.

    R ~ Gamma(r + 1); there is no walk. Theorem (docs/theory/walks.md). Points are uniform on the box Π[−h_i, h_i], h_i
    the support of axis i; the first of gauge at most 1 is uniform on the body. A draw takes vol box/vol K trials on
    average, `expected_trials` by a public key; neither depends on data. Public trial draws are those of `walk`.
    """

    def __init__(self, body: Polytope, walk: GaugeNoise) -> None:
        if body.rank < body.ambient_dim:
            raise InvalidRequest(
                "Some answers are combinations of others, so K-norm noise cannot be drawn by rejection.",
                "Use KNorm with walk=True, or Matrix.",
            )
        self.body, self.walk, self.rank = body, walk, body.rank
        self.half = body.support(np.eye(body.rank)) * (1 + PARAMETERS)
        n_points, least = TUNED.pilot_points, TUNED.pilot_inside
        accepted = int(self._surely_inside(self._proposals(n_points, research_rng(2411))).sum())
        if accepted < least:
            raise InvalidRequest(
                f"Drawing K-norm noise by rejection takes too long: fewer than {least} of {n_points} proposals are "
                "accepted.",
                "Use KNorm with walk=True, or Cube or Matrix.",
            )
        self.expected_trials = n_points / accepted
        self.price = f", by rejection, {self.expected_trials:.3g} trials a draw"

    def draw(self, size: int, rng: Entropy) -> np.ndarray:
        """Return independent draws."""
        return gammas(self.rank + 1, size, rng)[:, None] * self.uniform(size, rng)

    def uniform(self, size: int, rng: Entropy) -> np.ndarray:
        """Return independent draws."""
        batches: list[np.ndarray] = []
        missing = size
        while missing > 0:
            points = self._proposals(min(256, 1 + int(missing * self.expected_trials)), rng)
            inside = points[self._inside(points)][:missing]
            batches.append(inside)
            missing -= len(inside)
        return np.concatenate(batches)

    def _trials(self, rng: Entropy) -> np.ndarray:  # noqa: ARG002
        return self.walk.trials

    def _proposals(self, size: int, rng: Entropy) -> np.ndarray:
        return (2 * uniforms(size * self.rank, rng).reshape(size, self.rank) - 1) * self.half

    def _inside(self, points: np.ndarray) -> np.ndarray:
        """Return True for gauges ≤ 1, by sums or else linear programs."""
        inside = self._surely_inside(points)
        inside[~inside] = self.body.gauge(points[~inside]) <= 1 if not inside.all() else True
        return inside

    def _surely_inside(self, points: np.ndarray) -> np.ndarray:
        coordinates = self.body.prepared.frame.coordinates(points)[0]
        columns = self.body.representation
        padded = np.pad(coordinates, ((0, 0), (0, len(columns) - self.rank)))
        return sums_above(columns, padded) <= self.body.coefficient_radius
