"""Lower bounds from nested projections (shadows) of a body."""

import math
from itertools import pairwise

import numpy as np

from gaugedp._internal.validate import defect, positive
from gaugedp.bodies import Body, Ellipsoid, LinearImage, MinkowskiSum, Polytope, Volume, project, volume
from gaugedp.bounds.volume import VolumeBound, bound_from_volume, check_norm, staircase_lower_bound
from gaugedp.errors import InvalidRequest

_FACETS_LISTED = 8  # up to this rank a polytope's volume is by its facets


def lower_bound(body: Body, epsilon: float, norm: float = 2) -> VolumeBound:
    """Return the best known lower bound on the error under ε-DP.

    Use it to see how far a mechanism is from the best possible one. Every ε-DP mechanism has a table with an expected
    error of at least this bound.

    Parameters
    ----------
    body : Body
        The sensitivity body of the query.
    epsilon : float
        The ε of the guarantee.
    norm : float
        The p ≥ 1 of the norm that measures the error. Default 2.

    Notes
    -----
    Let M be an ε-DP mechanism, and Fx the exact answers to a table x. Then sup_x E‖M(x) − Fx‖_p ≥ L for p = `norm`. The
    bound L is the larger of `staircase_lower_bound`, if the volume is known, and a multiple of `projected_lower_bound`,
    because ‖z‖_p ≥ d^{min(0, 1/p − 1/2)}·‖z‖₂ in d dimensions.

    Examples
    --------
    No mechanism with ε = 1 for an ℓ₁ ball in three dimensions has an expected ℓ₂ error below 2.046:

    >>> import gaugedp as gd
    >>> round(gd.bounds.lower_bound(gd.bodies.LpBall(3, 1), epsilon=1.0), 3)
    2.046
    """
    check_norm(norm)
    shadow = projected_lower_bound(body, epsilon)
    if norm == 2:
        return shadow
    share = float(body.ambient_dim) ** (1 / norm - 0.5) * (1 - 2.0**-50) if norm > 2 else 1.0
    smaller = VolumeBound(shadow * share, shadow.volume, shadow.rank)
    return max(smaller, _if_known(body, epsilon, norm) or smaller)


def projected_lower_bound(body: Body, epsilon: float, covariance: np.ndarray | None = None) -> VolumeBound:
    """Bound the error from below by projections of the body.

    Use it for an elongated body. The volume of such a body can be small although its projections (*shadows*) are large.
    Then the shadows give a larger bound than `volume_lower_bound`. The projections are those onto the top eigenvectors
    of `covariance` (d, d), by default the covariance of the generators. The matrix only selects the projections, so any
    matrix gives a valid bound. `volume` and `rank` of the result are those of the best projection, or of the body
    itself, if its volume is certified and adds more than 1 %.

    Notes
    -----
    Theorem (docs/theory/lower-bound.md, theorems 3 and 9; Hardt and Talwar 2010 have the first). Let P be an orthogonal
    projection of rank k, and M an ε-DP mechanism for the answers Fx. Then P·M is an ε-DP mechanism for PFx, so every
    bound L_k for the body PK is one for K. Nested shadows together give

        (sup_x E‖M(x) − Fx‖₂)² ≥ Σ_i e^{s_i},

    where s_i are the slopes of the least concave majorant of k ↦ k·log(L_k²/k), which is 0 at k = 0. This is at least
    every L_k².

    For every body, the shadow of rank 1 in the direction u is a segment of length 2·h_K(u), where h_K is the support. A
    polytope's shadows of rank up to 8 have exact volumes, if its generators are few enough. Larger ones, at about 8
    ranks, are bounded by cross-polytopes.
    """
    bounds = nested_bounds(body, epsilon, covariance)
    sure = [bound for bound in bounds if bound.confidence == 1]
    proved = _together(sure) if sure else staircase_lower_bound(body, epsilon)  # whose error names what is missing
    if len(sure) == len(bounds):
        return proved
    drawn = VolumeBound(_together(bounds), bounds[-1].volume, bounds[-1].rank)
    # 1.01: so much larger a certified bound is taken in place of a proved one
    return drawn if drawn > 1.01 * proved else proved


def nested_bounds(body: Body, epsilon: float, covariance: np.ndarray | None = None) -> list[VolumeBound]:
    """Return the bounds of nested shadows, and last the body's own, if known."""
    positive(epsilon=epsilon)
    values, vectors = _eigenvectors(body, covariance)
    of_body = _if_known(body, epsilon)
    ranks = _ranks(values, drawn=of_body is not None and of_body.kind == "certified")
    bounds = [_shadow_bound(body, vectors[:, :k], epsilon) for k in ranks]
    return [bound for bound in [*bounds, of_body] if bound is not None]


def _together(bounds: list[VolumeBound]) -> VolumeBound:
    best = max(bounds)
    corners = [(0, 0.0)]
    for bound in sorted(bounds, key=lambda bound: bound.rank):
        if bound > 0:
            corner = bound.rank, bound.rank * (2 * math.log(bound / best) - math.log(bound.rank))
            while len(corners) > 1 and _slope(corners[-2], corners[-1]) <= _slope(corners[-1], corner):
                corners.pop()
            corners.append(corner)
    square = sum((second[0] - first[0]) * math.exp(_slope(first, second)) for first, second in pairwise(corners))
    # 2.0**-40: of a bound from several: more than their bases and sums lose by rounding
    return VolumeBound(best * max(1.0, math.sqrt(square) * (1 - 2.0**-40)), best.volume, best.rank)


def _slope(left: tuple[int, float], right: tuple[int, float]) -> float:
    return (right[1] - left[1]) / (right[0] - left[0])


def _if_known(body: Body, epsilon: float, norm: float = 2) -> VolumeBound | None:
    try:
        return staircase_lower_bound(body, epsilon, norm)
    except InvalidRequest:
        return None


def _shadow_bound(body: Body, basis: np.ndarray, epsilon: float) -> VolumeBound | None:
    if basis.shape[1] == 1:
        length = math.log(2 * float(body.support(basis.T)[0])) + math.log1p(-1e-12)  # the support is computed
        bound = bound_from_volume(Volume(length, "exact"), 1, epsilon)
    else:
        shadow = project(body, basis)
        try:
            bound = bound_from_volume(volume(shadow), shadow.rank, epsilon)
        except InvalidRequest:
            return None
    stretch = max(1.0, float(np.linalg.norm(basis, 2))) * (1 + 2.0**-45)  # P is a projection up to rounding
    return VolumeBound(bound / stretch, bound.volume, bound.rank)


def _ranks(values: np.ndarray, drawn: bool, *, flat: float = 1e-200) -> list[int]:
    """Return the ranks k of promising shadows, by k·(λ_1⋯λ_k)^{1/2k}."""
    rank = len(values)
    # 8: shadows above this rank are tried at so many ranks only
    high = np.geomspace(_FACETS_LISTED + 1, max(rank, _FACETS_LISTED + 1), 8).astype(int)
    every = np.arange(1, rank + 1)
    expected = every * np.exp(np.cumsum(np.log(np.maximum(values, flat * values.max(initial=flat)))) / (2 * every))
    # 6: up to this rank a shadow takes milliseconds, and the smaller share is asked for
    # share of the best expected bound: only the choice depends on it
    share = np.where(every <= 6, 0.4, 0.5)
    # 0.9: of the body's own, where that comes from draws, which lose little
    least = np.maximum(share * expected.max(initial=0), 0.9 * expected[-1] if drawn else 0.0)
    worth = {1, *every[expected >= least].tolist()}  # the segment costs nothing
    return [k for k in [*range(1, _FACETS_LISTED + 1), *np.unique(high).tolist()] if k < rank and k in worth]


def _eigenvectors(body: Body, covariance: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the covariance's eigenvalues and eigenvectors (d, rank), decreasing."""
    span = body.span
    matrix = _spread(body) if covariance is None else np.asarray(covariance, dtype=float)
    if matrix.shape != (body.ambient_dim,) * 2 or not np.isfinite(matrix).all():
        raise InvalidRequest(
            f"The covariance {defect(matrix)}, but must be a finite square matrix.",
            f"Pass finite numbers of shape ({len(span)}, {len(span)}).",
        )
    values, vectors = np.linalg.eigh(span.T @ matrix @ span)
    return values[::-1], span @ vectors[:, ::-1]


def _spread(body: Body) -> np.ndarray:
    """Return a covariance (d, d) with roughly the body's directions."""
    match body:
        case Polytope():  # the generators' second moment, or n·Σvvᵀ − (Σv)(Σv)ᵀ for differences (up to a factor)
            columns = body.columns()
            columns = columns / (np.abs(columns).max() or 1.0)
            total = columns.sum(axis=1) if body.differences else np.zeros(len(columns))
            return columns @ columns.T - np.outer(total, total) / (columns.shape[1] + body.with_zero)
        case Ellipsoid():
            return body.matrix @ body.matrix.T
        case LinearImage():
            return body.matrix @ _spread(body.body) @ body.matrix.T
        case MinkowskiSum():
            return _spread(body.one) + _spread(body.other)
    return body.span @ body.span.T
