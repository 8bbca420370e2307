"""The volume bound where the data are counts: whole numbers, on which a mechanism may do better at large ε."""

import math
from dataclasses import replace

import numpy as np

from gaugedp._validate import positive
from gaugedp.bodies.polytope import Polytope
from gaugedp.bounds.projected import projected_lower_bound
from gaugedp.bounds.volume import VolumeBound, staircase_lower_bound
from gaugedp.errors import InvalidRequest

_MOST_EPSILON = 6.0  # e^ε − 1 is 402 there, and nothing is left


def counts_lower_bound(body: Polytope, epsilon: float, shadows: bool = True) -> VolumeBound:
    """Return L such that every ε-DP mechanism on counts x ∈ ℕ^n has sup_x E‖M(x) − Fx‖₂ ≥ L; units come and go.

    Theorem. L(K, ε) = L′(K, e^ε − 1) − ‖F‖_F/√6, L′ the bound for real-valued data and F the distinct generators v_j
    of K = conv{±v_j}: randomised rounding of a real x makes an (e^ε − 1)-DP mechanism of M and moves the answer by
    ‖F‖_F/√6 at most, on the average over x (docs/theory/lower-bound.md, theorem 4). It is near L′(K, ε) for small ε
    and 0 for large. Without `shadows` only the body itself is looked at, which is quicker at high rank.
    """
    positive(epsilon=epsilon)
    if not isinstance(body, Polytope) or body.differences or body.factor < 1:
        raise InvalidRequest(
            f"{body!r} is not the body of counts of which one is added or removed.",
            "Use lower_bound, which is for real-valued data.",
        )
    unit = replace(body, factor=1.0)
    slope = math.expm1(min(epsilon, _MOST_EPSILON)) * (1 + 2.0**-50)
    bound = projected_lower_bound(unit, slope) if shadows else staircase_lower_bound(unit, slope)
    rounding = float(np.linalg.norm(unit.prepared.columns)) / math.sqrt(6) * (1 + 2.0**-40)
    value = max(0.0, (bound - rounding) * (1 - 2.0**-50)) if epsilon <= _MOST_EPSILON else 0.0
    return VolumeBound(value, bound.volume, bound.rank)
