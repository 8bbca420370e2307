"""Pure guarantees that imply guarantees of other kinds."""

import math

import scipy

from gaugedp.guarantees import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP


def pure_within(guarantee: Guarantee) -> PureDP:
    """Return the largest pure guarantee, rounded down, that implies `guarantee`.

    ε for (ε, δ); √(2ρ) for ρ-zCDP (Bun and Steinke 2016, proposition 1.4); log(Φ(μ/2)/Φ(−μ/2)) for μ-GDP, whose
    trade-off curve then passes through the vertex of the pure one.
    """
    match guarantee:
        case ApproxDP(epsilon_value=epsilon):
            return PureDP(epsilon)
        case ZCDP(rho=rho):
            return PureDP(math.sqrt(2 * rho) * (1 - 2.0**-40))
        case GaussianDP(mu=mu):
            return PureDP(_log_odds(mu) * (1 - (2.0**-40 if mu < 50 else 1e-8)))  # more than its cost is rounded up by
        case PureDP():
            return guarantee
    raise TypeError(f"{guarantee!r} is not a single guarantee")


def _log_odds(mu: float) -> float:
    """Return log(Φ(μ/2)/Φ(−μ/2)) = 2·artanh(erf(μ/√8))."""
    if mu < 1:
        return 2 * math.atanh(math.erf(mu / math.sqrt(8)))
    return float(scipy.special.log_ndtr(mu / 2) - scipy.special.log_ndtr(-mu / 2))
