"""Least mean squared error of one answer that a neighbour changes by 1, for each kind of guarantee."""

import math
from functools import singledispatch
from typing import NamedTuple

import numpy as np

from gaugedp._internal.rounding import PARAMETERS
from gaugedp.bounds.kullback_leibler import least_second_moment
from gaugedp.guarantees import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP

_DOWN = 1 - PARAMETERS  # covers the rounding of the sums below
_SUMMED_TERMS = 10**6  # of the truncated geometric distribution; fewer terms give a smaller bound
_SEARCHED = (0.02, 50.0)  # ρ below which 1/sinh(2ρ) is within 2e-4 of 1/(2ρ), and above which nothing is left


class LeastVariance(NamedTuple):
    """Lower bound on E X² for all X whose distribution and that of X + 1 satisfy a guarantee; and its theorem."""

    value: float
    theorem: str


@singledispatch
def least_variance(guarantee: Guarantee) -> LeastVariance | None:  # noqa: ARG001
    """Return the lower bound for a guarantee, or None if none is known (docs/theory/certificates.md)."""
    return None


@least_variance.register
def _pure(guarantee: PureDP) -> LeastVariance:
    """Variance of the geometric mechanism, 1/(2 sinh²(ε/2)): theorem 4."""
    half = guarantee.epsilon_value / 2
    # below 1e-150, the variance is no float
    value = 0.0 if half > 300 else math.inf if half < 1e-150 else 0.5 / math.sinh(half) ** 2
    return LeastVariance(value * _DOWN, "4 (pure)")


@least_variance.register
def _approx(guarantee: ApproxDP) -> LeastVariance:
    """Least second moment of transformed canonical noise: theorem 5."""
    epsilon, delta = guarantee.epsilon_value, guarantee.delta_value
    if delta == 0:
        return _pure(PureDP(epsilon))
    return LeastVariance(_of_canonical_noise(epsilon, delta) * _DOWN, "5 (epsilon and delta)")


@least_variance.register
def _gaussian(guarantee: GaussianDP) -> LeastVariance:
    """θ(μ)² with θ(μ) = Σ_k φ((k + ½)μ): theorem 2."""
    mu = guarantee.mu
    if mu < 1e-150:
        return LeastVariance(math.inf, "2 (Gaussian)")
    if mu < 1:  # by Poisson summation, where the sum has many terms
        theta = (1 - 2 * math.exp(-2 * math.pi**2 / mu**2)) / mu
    else:
        places = (np.arange(math.ceil(45.0 / mu) + 1) + 0.5) * mu  # the density is 0 beyond
        theta = 2 * float(np.exp(-(places**2) / 2).sum()) / math.sqrt(2 * math.pi)
    return LeastVariance(theta**2 * _DOWN, "2 (Gaussian)")


@least_variance.register
def _concentrated(guarantee: ZCDP) -> LeastVariance:
    """1/sinh(2ρ) where it is close to the best, else the bound for the divergence ρ of order 1: theorem 3."""
    rho = guarantee.rho
    if not _SEARCHED[0] < rho < _SEARCHED[1]:
        value = math.inf if rho == 0 else 0.0 if rho > _SEARCHED[1] else 1 / math.sinh(2 * rho)
    else:
        value = least_second_moment(rho)
    return LeastVariance(value * _DOWN, "3 (zero-concentrated)")


def _of_canonical_noise(epsilon: float, delta: float) -> float:
    """Return 2·∫ (M₂ − M₁²/M₀) dw over 0 < w < ½, M_j(w) = Σ_n n^j·p_n(w), with the densities p_n of theorem 5."""
    if epsilon > 300:
        return 0.0
    delta = max(delta, 1e-300)  # a smaller δ has a larger bound
    centre = (math.expm1(epsilon) + 2 * delta) / (1 + math.exp(epsilon))
    n_full, width = _steps(epsilon, delta, centre)
    n = np.arange(1, min(n_full, _SUMMED_TERMS) + 1, dtype=float)
    weights = centre * np.exp(-epsilon * n)
    squares = 2 * float((n**2 * weights).sum())
    if n_full >= _SUMMED_TERMS:
        return squares
    mass = centre + 2 * float(weights.sum())
    last, edge = n_full + 1, centre * math.exp(-epsilon * (n_full + 1))
    both, one = max(0.0, width - 0.5), min(width, 1 - width)  # lengths in w where two, or one, of the ends have mass
    added = 2 * both * 2 * last**2 * edge
    added += 2 * one * (last**2 * edge - (last * edge) ** 2 / (mass + edge))
    return squares + added


def _steps(epsilon: float, delta: float, centre: float) -> tuple[int, float]:
    """Return the number K of whole steps on each side of the centre, and the width of the last part of a step.

    The mass beyond k whole steps is c·e^{−kε} − δ·(e^{−ε} + … + e^{−kε}), with c the mass beyond the centre.
    """
    outside = (1 - delta) / (1 + math.exp(epsilon))
    if epsilon == 0:
        n_full = math.floor(outside / delta)
        left = outside - n_full * delta
    else:
        n_full = math.floor(math.log1p(outside * math.expm1(epsilon) / delta) / epsilon)
        shares = math.exp(-epsilon) * math.expm1(-n_full * epsilon) / math.expm1(-epsilon)
        left = outside * math.exp(-n_full * epsilon) - delta * shares
    edge = centre * math.exp(-epsilon * (n_full + 1))
    return n_full, min(1.0, max(0.0, left / edge)) if edge > 0 else 0.0
