"""Volumes of bodies in their span: exact, or lower bounds."""

import math
from dataclasses import dataclass
from functools import lru_cache, singledispatch

import numpy as np

from gaugedp.bodies.base import Body
from gaugedp.bodies.box_hull import BoxHull
from gaugedp.bodies.derived import LinearImage
from gaugedp.bodies.ellipsoid import Ellipsoid
from gaugedp.bodies.frame import Frame
from gaugedp.bodies.lp import LpBall
from gaugedp.bodies.polytope import Polytope
from gaugedp.bodies.product import Product
from gaugedp.bodies.schatten import SchattenBall
from gaugedp.errors import InvalidRequest

_HULL_ROUNDING = 1e-9
_MOST_HULL_POINTS = {2: 10**6, 3: 50_000, 4: 5000, 5: 1000, 6: 300, 7: 120, 8: 90}
_MOST_FACETS = 300_000  # expected for a hull: some seconds, with those before it


@dataclass(frozen=True)
class Volume:
    """Logarithm of the volume of a body, with its accuracy.

    `gd.bodies.volume` returns it. For a flat body, it is the volume within the subspace that the body spans. `value` is
    the volume itself, and `kind` states how accurate it is:

    - "exact" means that the volume is known up to rounding, and `log_error` bounds the error of its logarithm.
    - "lower" means that the true volume is at least this large.
    - "certified" means the same, but with probability `confidence` over the public random numbers that were used.
    - "estimate" means that the volume was estimated from random draws, with `standard_error` as the standard error of
      its logarithm.

    Examples
    --------
    >>> from gaugedp.bodies import LpBall, volume
    >>> volume(LpBall(2, 2)).kind, round(volume(LpBall(2, 2)).value, 4)
    ('exact', 3.1416)
    """

    log_volume: float
    kind: str
    standard_error: float | None = None
    log_error: float = 0.0
    confidence: float = 1.0

    @property
    def value(self) -> float:
        """The volume, or infinity or zero beyond the floats."""
        try:
            return math.exp(self.log_volume)
        except OverflowError:
            return math.inf


@singledispatch
def volume(body: Body) -> Volume:
    """Return the volume of a body.

    Use it to see how large a sensitivity body is, because a large volume forces every mechanism with pure differential
    privacy to make large errors. `gd.bounds.lower_bound` computes the resulting bound on the error. For a flat body,
    the result is the volume within the subspace that the body spans.

    Parameters
    ----------
    body : Body
        A ball, an ellipsoid or a polytope, or an image of one of these under a matrix of full column rank.

    Returns
    -------
    Volume
        The logarithm of the volume. Its attribute `kind` is "exact", or "lower" for a lower bound.

    Raises
    ------
    InvalidRequest
        If no formula for the volume of this kind of body is known.

    Notes
    -----
    The volume of a polytope with dependent generators is a lower bound if the polytope spans more than 8 dimensions or
    has many facets. All other volumes are exact, unless directions are so similar that rounding matters.

    Examples
    --------
    The disc of radius 1 has the area π:

    >>> from gaugedp.bodies import LpBall, volume
    >>> round(volume(LpBall(2, 2)).value, 4)
    3.1416
    """
    raise InvalidRequest(f"No formula for the volume of {body!r} is known.", "Use a ball, an ellipsoid or a polytope.")


@volume.register
def _(body: LpBall) -> Volume:
    """Return (2Γ(1 + 1/p)·radius)^d / Γ(1 + d/p)."""
    inverse = 1 / body.p
    log_factor = math.log(2) + math.lgamma(1 + inverse) + math.log(body.size)
    return Volume(body.d * log_factor - math.lgamma(1 + body.d * inverse), "exact")


@volume.register
def _(body: SchattenBall) -> Volume:
    low, high = sorted(body.shape)
    if low == 1 or body.p == 2:
        return volume(LpBall(body.ambient_dim, 2, body.size))
    if not math.isinf(body.p):
        raise InvalidRequest(
            f"The volume of a Schatten ball is known only for p = 2 and p = infinity, but p is {body.p:g}.",
            "Use a ball with one of these values.",
        )
    # log π^{mn/2}·∏_{j<m} Γ(1 + j/2)/Γ(1 + (n + j)/2) = log vol{σ_1(Z) ≤ 1}, after Selberg
    gammas = [math.lgamma(1 + j / 2) - math.lgamma(1 + (high + j) / 2) for j in range(low)]
    log_spectral = low * high / 2 * math.log(math.pi) + math.fsum(gammas)
    return Volume(log_spectral + body.ambient_dim * math.log(body.size), "exact")


@volume.register
def _(body: Ellipsoid) -> Volume:
    """Return vol(B₂^r)·√det(BᵀB)."""
    return _stretched(volume(LpBall(body.rank, 2)), body.frame)


@volume.register
def _(body: LinearImage) -> Volume:
    """Return the volume in span K, times √det((M·S)ᵀ(M·S)) for an orthonormal basis S."""
    if body.rank < body.body.rank:
        raise InvalidRequest(
            "The volume of this image of a body is not known, because the columns of the matrix are linearly "
            "dependent.",
            "Use a matrix of full column rank.",
        )
    return _stretched(volume(body.body), Frame(body.matrix @ body.body.span))


@volume.register
def _(body: BoxHull) -> Volume:
    return Volume(body.log_volume, "exact")


@volume.register
def _(body: Product) -> Volume:
    parts = [volume(part) for part in body.parts]
    log, error = math.fsum(part.log_volume for part in parts), math.fsum(part.log_error for part in parts)
    is_exact = all(part.kind == "exact" for part in parts)
    return Volume(log, "exact", log_error=error) if is_exact else Volume(_rounded_down(log), "lower")


@volume.register
def _(body: Polytope) -> Volume:
    generators = body.distinct
    rank, count = generators.coordinates.shape
    cross = Volume(rank * (math.log(2) + math.log(body.factor)) - math.lgamma(rank + 1), "exact")
    if rank in (1, count):
        return _stretched(cross, generators.frame)
    lower = _stretched(Volume(cross.log_volume, "lower"), generators.frame)
    if rank > max(_MOST_HULL_POINTS):
        return lower
    log, is_whole = _log_hull(generators.coordinates.tobytes(), generators.coordinates.shape)
    if math.isinf(log):
        return lower
    log += rank * math.log(body.factor)
    exact = Volume(log, "exact", log_error=_HULL_ROUNDING)
    hull = exact if is_whole else Volume(log - _HULL_ROUNDING, "lower")
    stretched = _stretched(hull, generators.frame)
    return stretched if stretched.kind == hull.kind else lower  # else the coordinates, hence the facets, are in doubt


@lru_cache(maxsize=64)
def _log_hull(numbers: bytes, shape: tuple[int, int]) -> tuple[float, bool]:
    """Return the log volume of the hull of all or some columns, −∞ if Qhull gives up, and whether it is of all."""
    import scipy.spatial

    (rank, count), coordinates = shape, np.frombuffer(numbers).reshape(shape)
    order = np.argsort(-np.abs(coordinates).sum(axis=0), kind="stable")
    columns = np.hstack([np.eye(rank), coordinates[:, order]])
    size, following, log = 0, 2 * rank, -math.inf
    while size < count and following >= min(count, 1.1 * size):  # points of the next hull
        size = min(following, count)
        part = coordinates if size == count else columns[:, : rank + size]
        try:
            hull = scipy.spatial.ConvexHull(np.hstack([part, -part]).T, qhull_options="Qt")
        except scipy.spatial.QhullError:  # nearly degenerate
            return log, False
        log = math.log(hull.volume)
        growth = (_MOST_FACETS / len(hull.simplices)) ** (1 / (rank // 2))
        following = min(int(size * min(growth, 2)), count, _MOST_HULL_POINTS[rank])
    return log, size == count


def _stretched(unit: Volume, frame: Frame) -> Volume:
    log, error = frame.log_volume
    if math.isinf(error):
        raise InvalidRequest(
            "The volume cannot be computed, because generators are nearly parallel or differ too much in scale.",
            "Remove generators that differ only by rounding, and measure all answers in similar units.",
        )
    # 1e-6: a volume is called exact where its radius, vol^(1/r), is known to this part of itself
    if unit.kind == "exact" and error <= 1e-6 * frame.rank:
        return Volume(unit.log_volume + log, "exact", log_error=unit.log_error + error)
    return Volume(_rounded_down(unit.log_volume) + _rounded_down(log - error), "lower")


def _rounded_down(log: float) -> float:
    return log - 2**-45 * (1 + abs(log))
