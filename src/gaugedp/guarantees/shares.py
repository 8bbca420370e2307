"""Shares of a guarantee, which never exceed the whole."""

import math
from fractions import Fraction

from gaugedp._internal.rounding import PARAMETERS
from gaugedp._internal.validate import decimal
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.approx import ApproxDP
from gaugedp.guarantees.base import Guarantee
from gaugedp.guarantees.gaussian import GaussianDP
from gaugedp.guarantees.pure import PureDP
from gaugedp.guarantees.zcdp import ZCDP


def part(number: float, share: Fraction) -> float:
    """Return `share` of a number, rounded down so that the decimals of all shares never exceed it."""
    exact = decimal(number) * share
    unit = Fraction(10) ** (math.floor(math.log10(exact)) - 12 + 1)  # 12 significant digits
    return float(exact // unit * unit)


def share_of(guarantee: Guarantee, share: Fraction) -> Guarantee:
    """Return one release's share of ε and δ, of ρ, or of μ².

    If the shares add up to at most 1, all releases together satisfy `guarantee`.
    """
    match guarantee:
        case _ if share == 1:
            return guarantee
        case PureDP(epsilon_value=epsilon) if epsilon > 0:
            return PureDP(part(epsilon, share))
        case ApproxDP(epsilon_value=epsilon, delta_value=delta) if epsilon > 0 and delta > 0:
            return ApproxDP(part(epsilon, share), part(delta, share))
        case ZCDP(rho=rho) if rho > 0:
            return ZCDP(part(rho, share))
        case GaussianDP(mu=mu) if mu > 0:
            return GaussianDP(mu * math.sqrt(share) * (1 - PARAMETERS))
    raise InvalidRequest(
        f"The guarantee {guarantee!r} cannot be divided between several mechanisms.",
        "Pass a positive epsilon (with an optional delta), rho or mu.",
    )


def equal_shares(count: int) -> tuple[Fraction, ...]:
    """Return `count` equal shares of 1."""
    return (Fraction(1, count),) * count
