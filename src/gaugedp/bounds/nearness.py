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


def least_error(body: Body, scales: np.ndarray, epsilon: float, *, whole: bool) -> float:
    """Return a lower bound of E‖noise/scales‖₂ under ε-DP, or 0."""
    if not isinstance(body, Polytope):
        return 0.0
    if max(body.ambient_dim, body.generators.n_generators) > 500:  # a bound takes seconds
        return _by_its_form(body, scales, epsilon) if body.has_closed_form and not whole else 0.0
    scaled = image(body, np.diag(1 / scales)) if (scales != 1).any() else body
    if body.rank > 250 or not isinstance(scaled, Polytope):
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
    √(L₂(tK, tε) − ‖F‖_F²·v(ε)) for a small t, L₂ the bound of `staircase_lower_bound` for the power 2.
    """
    expected = least_error(body, scales, epsilon, whole=True)
    if not expected > 0 or not isinstance(body, Polytope):
        return expected
    scaled = image(body, np.diag(1 / scales)) if (scales != 1).any() else body
    if not isinstance(scaled, Polytope) or scaled.differences:
        return expected
    unit = replace(scaled, factor=1.0)
    with contextlib.suppress(InvalidRequest):
        part = _part(epsilon)
        square = staircase_lower_bound(unit, epsilon * part, power=2)
        left = max(0.0, square * part**2 * (1 - 2.0**-50) - _spread(unit, epsilon) ** 2)
        return max(expected, VolumeBound(math.sqrt(left) * (1 - 2.0**-50), square.volume, square.rank))
    return expected


def _part(epsilon: float) -> float:
    """Return the t by which body and ε are multiplied."""
    return 2.0**-20 if epsilon > 2.0**-20 else 1.0  # the bound is then within 1e-6 of its limit at 0


def _spread(body: Polytope, epsilon: float) -> float:
    """Return ‖F‖_F·√v(ε), rounded up: the root mean square of F·V, V the variables that make counts real.

    v(ε) = 2/ε² − 1/(2 sinh²(ε/2)) ≤ 1/6 is the variance of the density ∝ sinh(ε(1 − |v|)) on [−1, 1].
    """
    # 0.1: below it the digits of the difference are lost, and v is 1/6 to 1e-4; 600: above it sinh² overflows
    epsilon = min(epsilon, 600.0)
    variance = 2 / epsilon**2 - 0.5 / math.sinh(epsilon / 2) ** 2 if epsilon > 0.1 else 1 / 6
    return float(np.linalg.norm(body.prepared.columns)) * math.sqrt(variance) * (1 + 2.0**-36)


def _by_its_form(body: Body, scales: np.ndarray, epsilon: float) -> float:
    with contextlib.suppress(InvalidRequest):
        return staircase_lower_bound(image(body, np.diag(1 / scales)), epsilon)
    return 0.0


def floor_in_words(ratio: float) -> str:
    """Describe noise relative to the best of its kind, by the ratio of root mean square errors."""
    near = "less than 0.01 %" if ratio < 1.0001 else f"at most {100 * (ratio - 1):.2g} %"
    return f"The best Gaussian noise with this guarantee has a root mean square error {near} smaller."


def counts_lower_bound(body: Polytope, epsilon: float, shadows: bool = True) -> VolumeBound:
    """Return a lower bound on the error of counts under ε-DP.

    Use it instead of `lower_bound` if the answers are counts, which are integers, and units are added or removed. Every
    ε-DP mechanism has a table with an expected ℓ₂ error of at least this bound. If `shadows` is False, only the body
    itself is evaluated and not its projections, which is faster at high rank.

    Notes
    -----
    Theorem (docs/theory/lower-bound.md, theorem 4). Every ε-DP mechanism M on counts x ∈ ℕ^n has sup_x E‖M(x) − Fx‖₂ ≥
    L = L′(tK, tε) − ‖F‖_F·√v(ε) for every 0 < t ≤ 1, where Fx are the answers. Here L′ is the bound for real-valued
    data, F has the distinct generators v_j of the body K = conv{±v_j} as columns, and v(ε) = 2/ε² − 1/(2 sinh²(ε/2)) ≤
    1/6. The reason is that independent variables V_j of variance v, added to the counts, make the noise tε-DP for the
    real data of tK, and F·V has the root mean square ‖F‖_F·√v.

    Examples
    --------
    The bound for ten counts is smaller than that for real-valued data, which does not apply to noise on integers:

    >>> import gaugedp as gd
    >>> body = gd.query(gd.Domain.of(age=gd.bins(0, 100, 10)), "age").sensitivity(gd.PrivacyUnit())
    >>> [round(bound(body, 1.0), 2) for bound in (gd.bounds.counts_lower_bound, gd.bounds.lower_bound)]
    [2.76, 4.02]
    """
    positive(epsilon=epsilon)
    if not isinstance(body, Polytope) or body.differences or body.factor < 1:
        raise InvalidRequest(
            f"This bound holds for counts of added or removed rows, but {body!r} is not the sensitivity body of "
            "such a query.",
            "Use lower_bound, which applies to every body.",
        )
    unit = replace(body, factor=1.0)
    part = _part(epsilon)
    bound = (projected_lower_bound if shadows else staircase_lower_bound)(unit, epsilon * part)
    value = max(0.0, (bound * part - _spread(unit, epsilon)) * (1 - 2.0**-50))
    return VolumeBound(value, bound.volume, bound.rank)
