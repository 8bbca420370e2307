"""The ratio of an error to the least possible one."""

import contextlib
import math
from dataclasses import replace

import numpy as np

from gaugedp._internal.validate import positive
from gaugedp.bodies import Body, Polytope, image
from gaugedp.bounds.projected import lower_bound, projected_lower_bound
from gaugedp.bounds.volume import VolumeBound, staircase_lower_bound
from gaugedp.errors import InvalidRequest

_MOST_BOUNDED, _LARGEST_RANK_BOUNDED = 500, 250  # answers and generators, and rank: a bound takes seconds
_MOST_EPSILON = 6.0  # e^ε − 1 is 402 there, and nothing is left


def least_error(body: Body, scales: np.ndarray, epsilon: float, *, whole: bool) -> float:
    """Return a lower bound of E‖noise/scales‖₂ under ε-DP, or 0."""
    if not isinstance(body, Polytope):
        return 0.0
    if max(body.ambient_dim, body.generators.n_generators) > _MOST_BOUNDED:
        return _by_its_form(body, scales, epsilon) if body.has_closed_form and not whole else 0.0
    scaled = image(body, np.diag(1 / scales)) if (scales != 1).any() else body
    if body.rank > _LARGEST_RANK_BOUNDED or not isinstance(scaled, Polytope):
        return 0.0
    # 45: up to these the bound looks at shadows too, whose facets take a second to list
    few = body.generators.n_generators <= 45
    with contextlib.suppress(InvalidRequest):
        if whole:
            return counts_lower_bound(scaled, epsilon, few)
        return (lower_bound if few else staircase_lower_bound)(scaled, epsilon)
    return 0.0


def counts_error_bound(body: Body, scales: np.ndarray, epsilon: float) -> VolumeBound | float:
    """Return a number below the root of E‖noise/scales‖₂² of every ε-DP mechanism on counts; 0 where none is known.

    The larger of `counts_lower_bound`, as no expected norm is above its root mean square, and of its form for squares:
    √L₂(K, e^ε − 1) − ‖F‖_F/√6, L₂ the bound of `staircase_lower_bound` for the power 2.
    """
    expected = least_error(body, scales, epsilon, whole=True)
    if not expected > 0 or not isinstance(body, Polytope):
        return expected
    scaled = image(body, np.diag(1 / scales)) if (scales != 1).any() else body
    if not isinstance(scaled, Polytope) or scaled.differences:
        return expected
    unit = replace(scaled, factor=1.0)
    with contextlib.suppress(InvalidRequest):
        square = staircase_lower_bound(unit, math.expm1(epsilon) * (1 + 2.0**-50), power=2)
        value = (math.sqrt(square) - _rounding_of(unit)) * (1 - 2.0**-50)
        return max(expected, VolumeBound(value, square.volume, square.rank))
    return expected


def _rounding_of(body: Polytope) -> float:
    """Return ‖F‖_F/√6, rounded up: what randomised rounding of counts adds to an error."""
    return float(np.linalg.norm(body.prepared.columns)) / math.sqrt(6) * (1 + 2.0**-40)


def _by_its_form(body: Body, scales: np.ndarray, epsilon: float) -> float:
    with contextlib.suppress(InvalidRequest):
        return staircase_lower_bound(image(body, np.diag(1 / scales)), epsilon)
    return 0.0


def floor_in_words(ratio: float) -> str:
    """Describe noise relative to the best of its kind, by the ratio of root mean square errors."""
    near = "less than 0.01 %" if ratio < 1.0001 else f"at most {100 * (ratio - 1):.2g} %"
    return f"The best Gaussian noise with this guarantee has a root mean square error {near} smaller."


def counts_lower_bound(body: Polytope, epsilon: float, shadows: bool = True) -> VolumeBound:
    """Bound the error of pure mechanisms for counts from below.

    Use it instead of `lower_bound` if the answers Fx are counts. Every ε-DP mechanism M on counts x ∈ ℕ^n, of which
    units are added or removed, has sup_x E‖M(x) − Fx‖₂ ≥ L. If `shadows` is False, only the body itself is evaluated
    and not its projections, which is faster at high rank.

    Theorem. L(K, ε) = L′(K, e^ε − 1) − ‖F‖_F/√6, where L′ is the bound for real-valued data and F has as columns the
    distinct generators v_j of K = conv{±v_j}. Randomised rounding of a real x makes an (e^ε − 1)-DP mechanism of M, and
    moves the answer by ‖F‖_F/√6 at most, on average over x (docs/theory/lower-bound.md, theorem 4). The bound is near
    L′(K, ε) for small ε.
    """
    positive(epsilon=epsilon)
    if not isinstance(body, Polytope) or body.differences or body.factor < 1:
        raise InvalidRequest(
            f"{body!r} is not the sensitivity of counts, with rows added or removed.",
            "Use lower_bound, which is for real-valued data.",
        )
    unit = replace(body, factor=1.0)
    slope = math.expm1(min(epsilon, _MOST_EPSILON)) * (1 + 2.0**-50)
    bound = projected_lower_bound(unit, slope) if shadows else staircase_lower_bound(unit, slope)
    value = max(0.0, (bound - _rounding_of(unit)) * (1 - 2.0**-50)) if epsilon <= _MOST_EPSILON else 0.0
    return VolumeBound(value, bound.volume, bound.rank)
