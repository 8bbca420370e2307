"""The cube mechanism: noise shaped like a surrounding box."""

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
import scipy

from gaugedp._internal.bisection import bisected
from gaugedp._internal.validate import between
from gaugedp.bodies import Body, Ellipsoid, LinearImage, LpBall, Polytope, Product, SchattenBall
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import Guarantee
from gaugedp.mechanisms.base import lattice_radius
from gaugedp.mechanisms.body_limits import MANY_ANSWERS, MOST_ANSWERS, TOO_WIDE
from gaugedp.mechanisms.noise_laws import BoxLaw
from gaugedp.mechanisms.noise_widths import mean_root
from gaugedp.mechanisms.norm_noise import NormNoise, pure_or_approx
from gaugedp.mechanisms.pure_within import pure_within
from gaugedp.mechanisms.remember import remembered
from gaugedp.samplers.gauge_noise import gauge_noise

_SUMMED_SIDE = 1.0  # in lattice steps, up to which sums over the lattice are taken


@dataclass(frozen=True, eq=False, repr=False)
class Cube(NormNoise):
    """Noise for answers that one unit can change independently.

    Use it under pure differential privacy if one unit can change all answers at once, in almost any combination. The
    possible changes then nearly fill a box, and the noise is a random point of a box of random size. It is a K-norm
    mechanism, that is, noise with the shape of a set K that contains the changes.

    Notes
    -----
    Let Δ be the largest |z_i|/w_i over all changes z that one unit can cause and all answers i, where w_i is the weight
    of answer i (default 1). The density of the noise at a point z is proportional to exp(−ε·max_i|z_i|/(w_i·Δ)).
    Therefore the release is ε-DP. For d answers, the noise is a uniform point of the box with half sides w_i·Δ/ε, times
    a random size with the distribution Gamma(d + 1) (Steinke and Ullman 2017). Draws are rounded exactly
    (docs/theory/reals.md).

    Examples
    --------
    If one unit can change three answers by up to 1 each, the expected length of the noise is far below that of Laplace
    noise:

    >>> import gaugedp as gd
    >>> import numpy as np
    >>> body = gd.bodies.LpBall(3, np.inf)
    >>> [round(noise.calibrate(body, gd.PureDP(1)).error(), 2) for noise in (gd.Cube, gd.Laplace)]
    [3.84, 6.32]
    """

    name: ClassVar[str] = "Cube"
    plan_order: ClassVar[int] = 6

    @classmethod
    def calibrate(cls, body: Body, guarantee: Guarantee, weights: np.ndarray | None = None) -> "Cube":
        """Return the mechanism for PureDP(ε) or ApproxDP(ε, δ).

        Only ε is used.
        """
        epsilon, satisfied = pure_or_approx(guarantee, walks=False)
        step, radius = lattice_radius(body, np.inf, weights)
        box: Body = LpBall(body.ambient_dim, np.inf)
        if weights is not None:
            box = LinearImage(box, np.diag(np.asarray(weights, dtype=float)))
        return cls(body, satisfied, box, gauge_noise(box), epsilon, float(radius * step) * (1 + 2.0**-40), step)

    @classmethod
    def candidates(cls, body: Body, guarantee: Guarantee, weights: np.ndarray | None = None) -> "Iterator[Cube]":
        """Yield one mechanism for 2 to 2,000 answers."""
        with contextlib.suppress(InvalidRequest):  # noise beyond 64 bits
            if 1 < body.ambient_dim <= MOST_ANSWERS:
                yield cls.calibrate(body, pure_within(guarantee), weights)

    @classmethod
    def why_not(cls, body: Body, guarantee: Guarantee, weights: np.ndarray | None = None) -> str:  # noqa: ARG003
        """Return the reason why there is no candidate."""
        if body.ambient_dim == 1:
            return "identical to Laplace for one answer"
        return MANY_ANSWERS if body.ambient_dim > MOST_ANSWERS else TOO_WIDE

    @cached_property
    def variances(self) -> np.ndarray:
        """Variances of the noise of each answer, with its rounding."""
        sides, places = np.unique(self._sides, return_inverse=True)
        squares = np.array([_rounded_square(self.noise.rank, float(side)) for side in sides])
        return squares[places] * float(self.step) ** 2

    @remembered
    def error(self, norm: float = 2, weights: np.ndarray | None = None) -> float:
        """Return the expected norm of noise/weights.

        It is computed by quadrature or, for narrow noise, from trial draws, to a relative error of some thousandths.
        Rounding increases the mean square by 1/12 for each answer, and the ℓ₂ norm accordingly.
        """
        if norm != 2 or self._sides.min() < 1:
            return super().error(norm, weights)
        scales, d = np.ones(self.noise.rank) if weights is None else weights, self.noise.rank
        each, counts = np.unique(self._sides / scales, return_counts=True)
        mean = float(each**2 @ counts) / 3
        length = mean_root(mean, lambda t: _log_moment(t, each) @ counts)
        added = float((1 / scales**2).sum()) / 12 / ((d + 1) * (d + 2) * mean)
        return (d + 1) * length * math.sqrt(1 + added) * float(self.step)

    def half_widths(self, level: float, simultaneous: bool = False) -> np.ndarray:
        """Return exact half-widths of intervals, with rounding.

        They are quantiles of R·w_i·U_i or, if `simultaneous`, of max |z_i|/w_i ~ Gamma(d).
        """
        between(0, 1, level=level)
        d = self.noise.rank
        reach = float(scipy.special.gammaincinv(d, level)) if simultaneous else _reach(d, level)
        return np.ceil(reach * (1 + 1e-12) * self._sides - 0.5).clip(0) * float(self.step)

    def noise_law(self) -> BoxLaw:
        """Return the box whose sides the draws use."""
        sides = np.broadcast_to(self._lattice, self.noise.rank)
        starts = np.flatnonzero(np.concatenate([[True], sides[1:] != sides[:-1]]))
        counts = np.diff(np.append(starts, len(sides))).tolist()
        return BoxLaw(tuple(zip(counts, (Fraction(float(side)) for side in sides[starts]), strict=True)))

    @property
    def _sides(self) -> np.ndarray:
        """The half sides over ε in lattice steps, shape (d,)."""
        sides = np.diag(self.shape.matrix) if isinstance(self.shape, LinearImage) else np.ones(self.noise.rank)
        return self._scale * sides

    def is_valid_for(self, body: Body) -> bool:
        """Return True if lattices agree and the radius suffices."""
        if body.ambient_dim != self.body.ambient_dim:
            return False
        weights = np.diag(self.shape.matrix) if isinstance(self.shape, LinearImage) else None
        step, radius = lattice_radius(body, np.inf, weights)
        return step == self.step and radius * step <= Fraction(self.scale_factor)

    @property
    def _is_scale_proved(self) -> bool:
        return _is_radius_proved(self.body)

    def describe(self) -> str:
        """Return the largest half side over ε."""
        return f"uniform on a cube, times Gamma({self.noise.rank + 1}), scale {self.scale_factor / self.epsilon:.6g}"


def _is_radius_proved(body: Body) -> bool:
    if isinstance(body, Product):
        return all(map(_is_radius_proved, body.parts))
    return isinstance(body, Polytope | LpBall | Ellipsoid | SchattenBall)


def _log_moment(t: np.ndarray, sides: np.ndarray) -> np.ndarray:
    """Return log E e^(−t·(w·U)²), U uniform on [−1, 1]."""
    u = np.sqrt(np.multiply.outer(t, sides**2))
    return np.log(np.where(u > 1e-8, math.sqrt(math.pi) / 2 * _erf(u) / np.maximum(u, 1e-8), 1 - u**2 / 3))


def _erf(x: np.ndarray) -> np.ndarray:
    if x.size <= 10_000:  # numbers, of which math.erf takes a millisecond
        return np.array([math.erf(each) for each in x.ravel()]).reshape(x.shape)
    return np.asarray(scipy.special.erf(x))


def _reach(d: int, level: float) -> float:
    """Return y with P(R·|U| ≤ y) = level, by bisection.

    From above. R ~ Gamma(d + 1), U uniform on [−1, 1].
    """

    def is_passed(y: float) -> bool:
        return float(_beyond(d, y)) > 1 - level

    return bisected(0.0, float(scipy.special.gammaincinv(d + 1, level)), is_passed, relative=1e-12)[1]


def _rounded_square(d: int, side: float) -> float:
    """Return E N² = Σ (2k + 1)·P(|N| > k) for N = round(side·R·U), or (d + 1)(d + 2)·side²/3 + 1/12 for wide noise."""
    if side > _SUMMED_SIDE:
        return (d + 1) * (d + 2) * side**2 / 3 + 1 / 12
    k = np.arange(math.ceil(side * float(scipy.special.gammainccinv(d + 1, 1e-18))) + 1)
    return float((2 * k + 1) @ _beyond(d, (k + 0.5) / side))


def _beyond(d: int, y: np.ndarray | float) -> np.ndarray:
    """Return P(R·|U| > y) = E (1 − y/R)₊ = Q(d + 1, y) − y/d·Q(d, y), Q the upper incomplete gamma function over Γ."""
    return np.maximum(scipy.special.gammaincc(d + 1, y) - y / d * scipy.special.gammaincc(d, y), 0.0)
