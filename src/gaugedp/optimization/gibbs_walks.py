"""Sets for the Gibbs sampler, with samplers of their regularisers."""

from dataclasses import dataclass, replace

import numpy as np

from gaugedp._internal.bisection import bisected
from gaugedp.bodies import Body, LpBall, SchattenBall
from gaugedp.errors import InvalidRequest
from gaugedp.optimization.geometry import Geometry, Simplex
from gaugedp.optimization.posterior import Posterior
from gaugedp.optimization.tuning import TUNED
from gaugedp.samplers.entropic import EntropicOracle
from gaugedp.samplers.proximal import ProximalSampler
from gaugedp.samplers.separable import SeparableOracle
from gaugedp.samplers.spectral import SpectralOracle
from gaugedp.samplers.split import SplitSampler


@dataclass(frozen=True)
class LpWalk:
    """An ℓ_p or Schatten ball, or if not `in_ball` the smallest Euclidean ball around it."""

    geometry: Geometry
    in_ball: bool

    @property
    def start(self) -> np.ndarray:
        """Starting point (d,), within the geometry's `length` of all points."""
        return np.zeros(self.geometry.ambient_dim)

    @property
    def has_corners(self) -> bool:
        """True if 𝒳 differs from its smallest enclosing Euclidean ball."""
        return self.in_ball and self.geometry.p != 2

    @property
    def ball(self) -> Geometry:
        """The set 𝒳."""
        return self.geometry if self.in_ball else replace(self.geometry, p=2, radius=self.geometry.length, q=None)

    @property
    def _is_euclidean(self) -> bool:
        """True if regulariser and set both belong to ‖·‖₂."""
        return self.geometry.exponent == self.ball.p == 2

    def step(self, losses: float, strength: float) -> float:
        """Return η, about 1/trace of the Hessian; `losses` is the losses' part or a kink's bound."""
        if self._is_euclidean:
            return 1 / (losses + strength * self.geometry.convexity)
        if len(self.geometry.shape) == 1:
            return TUNED.walk_step / (losses + _usual_slope(self.geometry, strength) ** 2 / 16)
        usual, steepest = _regulariser_pace(self.geometry, strength)
        return 1 / max(losses / TUNED.walk_step + usual, max(steepest, _wall_slope(self.ball)) ** 2 / 6)

    def oracle(self, strength: float) -> SeparableOracle | SpectralOracle:
        """Return the sampler of r plus a Gaussian on 𝒳."""
        weight, exponent = strength * self.geometry.weight, self.geometry.exponent
        if len(self.geometry.shape) == 1:
            return SeparableOracle(weight, exponent, self.ball)
        return SpectralOracle(weight, exponent, strength * self.geometry.convexity, self.ball)

    def sampler(self, posterior: Posterior, step: float) -> ProximalSampler | SplitSampler:
        """Return the sampler of the posterior on 𝒳."""
        if self._is_euclidean:
            convexity = posterior.strength * self.geometry.convexity
            return ProximalSampler(posterior, convexity, step, self.geometry.length, self.ball)
        return _split(self, posterior, step)


@dataclass(frozen=True)
class SimplexWalk:
    """The simplex with its entropy."""

    geometry: Simplex

    has_corners = True

    @property
    def start(self) -> np.ndarray:
        """The centre, shape (d,)."""
        return np.full(self.geometry.d, 1 / self.geometry.d)

    def step(self, losses: float, strength: float) -> float:
        """Return the step η, as `LpWalk` does."""
        return TUNED.walk_step / (losses + strength * self.geometry.convexity)

    def oracle(self, strength: float) -> EntropicOracle:
        """Return the sampler of r plus a Gaussian on 𝒳."""
        return EntropicOracle(strength)

    def sampler(self, posterior: Posterior, step: float) -> SplitSampler:
        """Return the sampler of the posterior on 𝒳."""
        return _split(self, posterior, step)


Walk = LpWalk | SimplexWalk  # 𝒳, with the sampler of the distribution on it of exponent losses + `strength`·r


def _split(walk: Walk, posterior: Posterior, step: float) -> SplitSampler:
    convexity, losses = posterior.strength * walk.geometry.convexity, replace(posterior, strength=0.0)
    return SplitSampler(losses, walk.oracle(posterior.strength), convexity, step, walk.geometry.length, TUNED.walk_step)


def walk_of(given: object, in_ball: bool) -> Walk:
    """Return the walk on a geometry, simplex or norm ball."""
    if isinstance(given, LpBall):
        return LpWalk(Geometry((given.d,), given.p, given.size), in_ball)
    if isinstance(given, SchattenBall):
        return LpWalk(_swift(Geometry(given.shape, given.p, given.size)), in_ball)
    if isinstance(given, Geometry):
        return LpWalk(_swift(given), in_ball)
    if isinstance(given, Simplex):
        if given.d == 1 or not in_ball:
            raise InvalidRequest("The simplex requires a dimension of at least 2 and in_ball=True.", "Pass both.")
        return SimplexWalk(given)
    kind = "body that is not an ℓ_p or Schatten ball" if isinstance(given, Body) else type(given).__name__
    raise InvalidRequest(
        f"The set of weights is a {kind}, for which there is no Gibbs sampler.",
        "Pass gaugedp.optimization.Geometry(shape, p, radius) or Simplex(d), or the body LpBall, SchattenBall or "
        "Polytope.symmetric_hull, or an image of one.",
    )


def _swift(geometry: Geometry) -> Geometry:
    """Return matrices with the largest q whose weight is within 10 % of the least."""
    if len(geometry.shape) == 1 or geometry.q is not None or geometry.exponent == 2:
        return geometry
    heaviest = 1.1 * geometry.weight  # bounds are 5 % larger at most, with far fewer steps
    largest, _ = bisected(geometry.exponent, 2.0, lambda q: replace(geometry, q=q).weight <= heaviest, apart=2.0**-40)
    return replace(geometry, q=largest)


def _usual_slope(geometry: Geometry, strength: float) -> float:
    """Return the slope of λr along equal coordinates."""
    q, p = geometry.exponent, geometry.p
    return strength * geometry.weight * geometry.radius * geometry.n_values ** (2 / q - 1 - 1 / p)


def _wall_slope(ball: Geometry) -> float:
    """Return ‖v‖₂ of the slope v that holds a distribution in a Schatten ball, p < 2."""
    return ball.ambient_dim / ball.radius * ball.n_values ** (1 / ball.p - 1 / 2) if ball.p < 2 else 0.0


def _regulariser_pace(geometry: Geometry, strength: float) -> tuple[float, float]:
    """Return the trace of λr's Hessian and the largest ‖λ∇r‖₂.

    The trace is for equal singular values. For q < 2 the second derivative is unbounded, but near singular values of 0
    trials are only rejected more often (docs/theory/gibbs.md).
    """
    q, n_values = geometry.exponent, geometry.n_values
    curvature = strength * geometry.curvature
    if q == 2:
        return curvature, 0.0
    usual = curvature * geometry.ambient_dim * n_values ** (2 / q - 1)
    return usual, strength * geometry.weight * geometry.radius * n_values ** (1 / q - 1 / 2)
