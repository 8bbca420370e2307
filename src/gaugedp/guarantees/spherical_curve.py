"""Privacy profile of spherical Laplace noise, shifted by t.

The density is ∝ e^{−‖z‖₂} in d ≥ 2 dimensions. With θ the angle whose cosine is loss/t, the loss has the density ∝
e^{(t/2)·cos θ}·sin^{d−2}θ·(sin²θ + κ) on [0, π]: docs/theory/knorm_delta.md. `log_error` bounds the quadrature.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy

from gaugedp._internal.bisection import bisected
from gaugedp._internal.rounding import UNIT
from gaugedp._internal.validate import between, non_negative, whole
from gaugedp.accountant.loss import Array
from gaugedp.accountant.rounding import up
from gaugedp.errors import InvalidRequest

LEAST_SHIFT, MOST_SHIFT = 1e-100, 1e3  # beyond, numbers leave the floats
MOST_DIMENSIONS = 10**4
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(32)
_STRIPS = np.geomspace(1e-5, 1.0, 24)  # imaginary extents of the analytic continuation of the integrand
_PRECISION = 2.0**-44  # relative width at which a search ends


class Integral(NamedTuple):
    """Log of an integral, and its relative error."""

    log: float
    error: float


def is_known(shift: float, dimension: int) -> bool:
    """Return True if the quadrature covers this noise."""
    return LEAST_SHIFT <= shift <= MOST_SHIFT and dimension <= MOST_DIMENSIONS


def check_noise(shift: float, dimension: int) -> None:
    """Refuse noise that the quadrature does not cover."""
    whole(minimum=2, dimension=dimension)
    if not is_known(shift, dimension):
        raise InvalidRequest(
            f"Spherical Laplace noise in {dimension} dimensions with ε up to {shift:g} is not supported.",
            f"Pass a scale from {1 / MOST_SHIFT:g} to {1 / LEAST_SHIFT:g}, and at most {MOST_DIMENSIONS:,} dimensions.",
        )


def spherical_delta(shift: float, dimension: int, epsilon: float) -> float:
    """Return δ(ε) of the noise, rounded up.

    It is E_P[(1 − e^{ε−L})₊], 0 for ε ≥ t = `shift`. No smaller shift has a larger one: the density is log-concave.
    """
    gap = shift - epsilon + 2.0**-51 * shift  # so that both may be read as decimals
    if gap <= 0:
        return 0.0
    total, part = _whole(shift, dimension), _integral(shift, dimension, min(gap, 2 * shift))
    log_delta, error = part.log - total.log, part.error + 2 * total.error
    if total.error > 1e-3:
        return 1.0
    if log_delta < -700:  # an underflow is not a guarantee of pure privacy
        return 1e-300
    return min(1.0, up(math.exp(min(log_delta, 0.0)), relative=error))


def spherical_epsilon(shift: float, dimension: int, delta: float) -> float:
    """Return the inverse of the profile, rounded up."""
    if spherical_delta(shift, dimension, 0.0) <= delta:
        return 0.0
    above = shift * (1 + 2.0**-50)
    return bisected(0.0, above, lambda at: spherical_delta(shift, dimension, at) > delta, relative=_PRECISION)[1]


def spherical_shift(epsilon: float, delta: float, dimension: int) -> float:
    """Return the largest shift at (`epsilon`, `delta`), rounded down."""
    non_negative(epsilon=epsilon)
    between(0, 1, delta=delta)
    check_noise(max(epsilon, LEAST_SHIFT), dimension)
    low, high = epsilon, max(2 * epsilon, delta)
    while high < MOST_SHIFT and spherical_delta(high, dimension, epsilon) <= delta:
        low, high = high, 2 * high
    high = min(high, MOST_SHIFT)
    shift, _ = bisected(low, high, lambda at: spherical_delta(at, dimension, epsilon) <= delta, relative=_PRECISION)
    check_noise(shift, dimension)
    return shift


@lru_cache(maxsize=1024)
def excess(shift: float, dimension: int) -> float:
    """Return κ = (d − 1)/x·K_{d/2}(x)/K_{d/2−1}(x), x = t/2, by a recurrence of positive terms."""
    x = shift / 2
    order = (dimension % 2) / -2  # −½ or 0
    ratio = 1.0 if order else float(scipy.special.k1e(x) / scipy.special.k0e(x))
    while order < dimension / 2 - 1:
        order += 1
        ratio = 2 * order / x + 1 / ratio
    return (dimension - 1) / x * ratio


def log_density(angles: Array, shift: float, dimension: int) -> Array:
    """Return the unnormalised log e^{x(cos θ − 1)}·sin^{d−2}θ·(1 + sin²θ/κ) at `angles` in (0, π)."""
    turned = -shift * np.sin(angles / 2) ** 2
    sines = np.sin(angles)
    logs: Array = turned + (dimension - 2) * np.log(sines) + np.log1p(sines**2 / excess(shift, dimension))
    return logs


@lru_cache(maxsize=1024)
def _whole(shift: float, dimension: int) -> Integral:
    return _by_panels(lambda angles: log_density(angles, shift, dimension), math.pi, shift, dimension)


def _integral(shift: float, dimension: int, gap: float) -> Integral:
    """Return the integral of the density times 1 − e^{ε−L}, over L > ε."""
    last = min(math.pi, 2 * math.asin(math.sqrt(gap / (2 * shift)) * (1 - UNIT)) * (1 + 4 * UNIT))

    def log_integrand(angles: Array) -> Array:
        beyond = 2 * shift * np.sin((last + angles) / 2) * np.sin((last - angles) / 2)  # L − ε, without cancelling
        return log_density(angles, shift, dimension) + np.log(-np.expm1(-beyond))

    by_panels = _by_panels(log_integrand, last, shift, dimension)
    if by_panels.error < 1:
        return by_panels
    largest = (dimension - 2) * math.log(math.sin(min(last, math.pi / 2))) + math.log1p(1 / excess(shift, dimension))
    return Integral(math.log(last) + largest + 1e-6 * (1 - largest), 0.0)  # so small that its largest value is enough


def _by_panels(log_integrand: Callable[[Array], Array], last: float, shift: float, dimension: int) -> Integral:
    """Integrate over [0, last] by Gauss-Legendre rules on panels.

    The number of panels follows from an error bound: an analytic f with |f| ≤ M on the ellipse of radius sum ρ has the
    error 64·M·ρ^{2−2n}/(15·(1 − ρ^{−2})) with n nodes (Trefethen 2013, theorem 19.3).
    """
    panels = 8
    while True:
        angles, log_weights = panel_rule(last, panels)
        logs = log_integrand(angles) + log_weights
        peak = float(logs.max())
        log = peak + math.log(float(np.exp(logs - peak).sum()))
        lost = log_error(last, panels, shift / 2, shift, dimension) - log
        # 2**12: panels at most
        if lost < -36.0 or panels >= 2**12:  # log of the relative quadrature error at which panels are enough
            rounding = 2.0**-48 * (64 + 2 * shift + 2 * dimension + abs(peak))
            return Integral(log, rounding + (math.exp(lost) if lost < 600 else math.inf))
        panels *= 2


def panel_rule(last: float, panels: int) -> tuple[Array, Array]:
    """Return angles and log weights on [0, last]."""
    half = last / panels / 2
    angles = (half * (2 * np.arange(panels)[:, None] + 1 + _NODES)).ravel()
    return angles, np.tile(np.log(_WEIGHTS * half), panels)


def log_error(last: float, panels: int, rate: float, shift: float, dimension: int, turn: float = 0.0) -> float:
    """Return the log quadrature error of a tilted density.

    On a panel of width 2h the error is at most 64hMρ^{−62}/(15(1 − ρ^{−2})) if M bounds the integrand in an ellipse of
    parameter ρ around the panel (Trefethen 2013, Approximation Theory and Approximation Practice, theorem 19.3).
    The factor is e^{y·(cos θ − 1)}, y = `rate` + i·`turn`; the integrand may have another 1 − e^{ε−L}. Near each panel,
    Re θ within e of its centre and |Im θ| ≤ s, each part is bounded separately: with a = Re θ, Re cos θ ≤ max(cos
    a·cosh s, cos a) and |sin θ|² ≤ sin² a + sinh² s.
    """
    half = last / panels / 2
    strips = _STRIPS[half < _STRIPS][:, None]
    if not len(strips):
        return math.inf
    radius = strips / half + np.sqrt((strips / half) ** 2 + 1)
    reach = np.sqrt(half**2 + strips**2)
    centres = half * (2 * np.arange(panels) + 1)
    cosines = np.cos(np.clip(centres - reach, 0.0, math.pi))
    nearest = np.minimum(np.maximum(math.pi / 2, centres - reach), centres + reach)  # to where the sine is largest
    squares = np.sin(nearest) ** 2 + np.sinh(strips) ** 2
    largest = rate * (np.maximum(cosines * np.cosh(strips), cosines) - 1) + turn * np.sinh(strips)
    largest += (dimension - 2) / 2 * np.log(squares) + np.log1p(squares / excess(shift, dimension))
    largest += math.log(2) + 2 * shift * reach
    errors = scipy.special.logsumexp(largest + (2 - 2 * len(_NODES)) * np.log(radius), axis=1)
    errors -= np.log1p(-(radius[:, 0] ** -2.0))
    return float(errors.min()) + math.log(64 / 15 * half)
