"""The sets that the Gibbs sampler walks on, each with what draws its regulariser."""

from dataclasses import dataclass, replace

import numpy as np

from gaugedp._internal.bisection import bisected
from gaugedp.bodies import Body, LpBall, SchattenBall
from gaugedp.errors import InvalidRequest
from gaugedp.optimization.geometry import Geometry, Simplex
from gaugedp.optimization.posterior import Posterior
from gaugedp.samplers.entropic import EntropicOracle
from gaugedp.samplers.proximal import ProximalSampler
from gaugedp.samplers.separable import SeparableOracle
from gaugedp.samplers.spectral import SpectralOracle
from gaugedp.samplers.split import SplitSampler

_BOLDNESS = 4.0  # η times the trace of the losses' Hessian at most: fewer steps, of e^{c/2} trials or so at the worst
_HEAVIER = 1.1  # the weight of a matrix's regulariser over the least: bounds 5 % larger at most, and far fewer steps


@dataclass(frozen=True)
class LpWalk:
    """The ball of an ℓ_p or Schatten norm, or the least Euclidean ball around it where `in_ball` is False."""

    geometry: Geometry
    in_ball: bool

    @property
    def start(self) -> np.ndarray:
        """A point of 𝒳, shape (d,), from which no other is further than the geometry's `length`."""
        return np.zeros(self.geometry.ambient_dim)

    @property
    def has_corners(self) -> bool:
        """Return whether 𝒳 is another set than the least Euclidean ball around it."""
        return self.in_ball and self.geometry.p != 2

    @property
    def ball(self) -> Geometry:
        """𝒳."""
        return self.geometry if self.in_ball else replace(self.geometry, p=2, radius=self.geometry.length, q=None)

    @property
    def _is_euclidean(self) -> bool:
        """Return whether regulariser and set are those of ‖·‖₂."""
        return self.geometry.exponent == self.ball.p == 2

    def step(self, losses: float, strength: float) -> float:
        """Return η, about 1/trace of the Hessian of all; `losses` is that of the losses, or what a kink allows."""
        if self._is_euclidean:
            return 1 / (losses + strength * self.geometry.convexity)
        if len(self.geometry.shape) == 1:
            return _BOLDNESS / (losses + _usual_slope(self.geometry, strength) ** 2 / 16)
        usual, steepest = _regulariser_pace(self.geometry, strength)
        return 1 / max(losses / _BOLDNESS + usual, max(steepest, _wall_slope(self.ball)) ** 2 / 6)

    def oracle(self, strength: float) -> SeparableOracle | SpectralOracle:
        """Return what draws r and a Gaussian on 𝒳."""
        weight, exponent = strength * self.geometry.weight, self.geometry.exponent
        if len(self.geometry.shape) == 1:
            return SeparableOracle(weight, exponent, self.ball)
        return SpectralOracle(weight, exponent, strength * self.geometry.convexity, self.ball)

    def sampler(self, posterior: Posterior, step: float) -> ProximalSampler | SplitSampler:
        """Return what draws the law of the posterior on 𝒳."""
        if self._is_euclidean:
            convexity = posterior.strength * self.geometry.convexity
            return ProximalSampler(posterior, convexity, step, self.geometry.length, self.ball)
        return _split(self, posterior, step)


@dataclass(frozen=True)
class SimplexWalk:
    """The simplex, with its entropy."""

    geometry: Simplex

    has_corners = True

    @property
    def start(self) -> np.ndarray:
        """The centre, shape (d,)."""
        return np.full(self.geometry.d, 1 / self.geometry.d)

    def step(self, losses: float, strength: float) -> float:
        """Return η, as `LpWalk` does."""
        return _BOLDNESS / (losses + strength * self.geometry.convexity)

    def oracle(self, strength: float) -> EntropicOracle:
        """Return what draws r and a Gaussian on 𝒳."""
        return EntropicOracle(strength)

    def sampler(self, posterior: Posterior, step: float) -> SplitSampler:
        """Return what draws the law of the posterior on 𝒳."""
        return _split(self, posterior, step)


Walk = LpWalk | SimplexWalk  # 𝒳, and how the law with the exponent losses + `strength`·r on it is drawn


def _split(walk: Walk, posterior: Posterior, step: float) -> SplitSampler:
    convexity, losses = posterior.strength * walk.geometry.convexity, replace(posterior, strength=0.0)
    return SplitSampler(losses, walk.oracle(posterior.strength), convexity, step, walk.geometry.length, _BOLDNESS)


def walk_of(given: object, in_ball: bool) -> Walk:
    """Return the walk on a geometry, on the simplex, or on a body that is the ball of a norm; refuse what is none."""
    if isinstance(given, LpBall):
        return LpWalk(Geometry((given.d,), given.p, given.size), in_ball)
    if isinstance(given, SchattenBall):
        return LpWalk(_swift(Geometry(given.shape, given.p, given.size)), in_ball)
    if isinstance(given, Geometry):
        return LpWalk(_swift(given), in_ball)
    if isinstance(given, Simplex):
        if given.d == 1 or not in_ball:
            raise InvalidRequest("The simplex is a point, or has no ball.", "Give d of at least 2, and in_ball=True.")
        return SimplexWalk(given)
    kind = "body that is no ball of an ℓ_p or a Schatten norm" if isinstance(given, Body) else type(given).__name__
    raise InvalidRequest(
        f"The geometry is of type {kind}.",
        "Give gaugedp.optimization.Geometry(shape, p, radius) or Simplex(d), or the body LpBall, SchattenBall or "
        "Polytope.symmetric_hull, or an image of one.",
    )


def _swift(geometry: Geometry) -> Geometry:
    """Return matrices with the largest q, where none is given, whose weight is within `_HEAVIER` of the least."""
    if len(geometry.shape) == 1 or geometry.q is not None or geometry.exponent == 2:
        return geometry
    heaviest = _HEAVIER * geometry.weight
    largest, _ = bisected(geometry.exponent, 2.0, lambda q: replace(geometry, q=q).weight <= heaviest, apart=2.0**-40)
    return replace(geometry, q=largest)


def _usual_slope(geometry: Geometry, strength: float) -> float:
    """Return the slope of λr along a coordinate at the end of the ball where all are alike."""
    q, p = geometry.exponent, geometry.p
    return strength * geometry.weight * geometry.radius * geometry.n_values ** (2 / q - 1 - 1 / p)


def _wall_slope(ball: Geometry) -> float:
    """Return ‖v‖₂ of the slope v that keeps a law on a Schatten ball, p < 2, where all singular values are alike."""
    return ball.ambient_dim / ball.radius * ball.n_values ** (1 / ball.p - 1 / 2) if ball.p < 2 else 0.0


def _regulariser_pace(geometry: Geometry, strength: float) -> tuple[float, float]:
    """Return the trace of λr's Hessian where all singular values are alike, and the largest ‖λ∇r‖₂ on the ball.

    For q < 2 the second derivative has no bound: where singular values are near 0 trials are rejected more often, and
    that is all (docs/theory/gibbs.md).
    """
    q, n_values = geometry.exponent, geometry.n_values
    curvature = strength * geometry.curvature
    if q == 2:
        return curvature, 0.0
    usual = curvature * geometry.ambient_dim * n_values ** (2 / q - 1)
    return usual, strength * geometry.weight * geometry.radius * n_values ** (1 / q - 1 / 2)
