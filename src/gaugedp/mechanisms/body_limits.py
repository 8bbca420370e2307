"""Limits within which a plan considers K-norm noise."""

import contextlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TypeVar

import numpy as np

from gaugedp.bodies import Body, Polytope, PreparedGenerators
from gaugedp.bodies.prepare import CACHED_SIZE
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import ApproxDP, Guarantee
from gaugedp.mechanisms.base import is_integer
from gaugedp.mechanisms.norm_noise import NormNoise
from gaugedp.mechanisms.pure_within import pure_within
from gaugedp.samplers.gauge_noise import is_ellipsoid
from gaugedp.samplers.lattice_rejection import lattice_noise

N = TypeVar("N", bound=NormNoise)

MOST_ANSWERS = 2000  # trial draws of this many coordinates take a second
MANY_ANSWERS = f"there are more than {MOST_ANSWERS:,} answers"
_ONLY_POLYTOPES = "considered for polytopes only"
_WITH_ELLIPSOIDS = "considered for polytopes, and for ellipsoids if there is a δ"
_ONE_DIRECTION = "identical to Laplace in one direction"
TOO_WIDE = "its noise would not fit 64-bit numbers"
_FEW_POINTS = {2: 1000, 3: 1000, 4: 500, 5: 200, 6: 120, 7: 80, 8: 45}  # by rank: facets are listed in a second
_LONG_RATIO = 100


def body_noise(
    calibrate: Callable[[Body, Guarantee], N], body: Body, guarantee: Guarantee, weights: np.ndarray | None
) -> Iterator[N]:
    """Yield the polytope's own noise, if its facets or walks are fast."""
    rank, count = size(body)
    walks_allowed = has_delta(guarantee)
    listed = count <= _FEW_POINTS.get(rank, 0)
    if rank == count or not (listed or (rank > 1 and walks_allowed)):
        return
    pure = pure_within(guarantee)
    with contextlib.suppress(InvalidRequest):  # a walk that mixes too slowly
        mechanism = calibrate(body, guarantee if walks_allowed else pure)
        if walks_allowed or mechanism.guarantee == pure:  # facets that cannot be separated need a walk: not pure
            mechanism.error(2, weights)
            yield mechanism


def exact_noise(
    calibrate: Callable[[Body, Guarantee, bool], N], body: Body, guarantee: Guarantee, weights: np.ndarray | None
) -> Iterator[N]:
    """Yield exact noise of a flat body of integer answers, if a draw takes few trials."""
    if not isinstance(body, Polytope) or not is_integer(body):
        return
    rank, count = size(body)
    # Plans take half a second. With fewer generators, noise on cells is about as good.
    is_able = 1 < rank < min(body.ambient_dim, 24) and 1.2 * rank <= count <= 2 * 10**5 // rank**2
    if count <= _FEW_POINTS.get(rank, 0) or not is_able:
        return
    with contextlib.suppress(InvalidRequest):
        if lattice_noise(body).expected_trials > 2**12:
            return
        mechanism = calibrate(body, pure_within(guarantee), False)
        mechanism.error(2, weights)
        yield mechanism


def uses_delta(body: Body, guarantee: Guarantee) -> bool:
    """Return whether a δ reduces this ellipsoid's noise."""
    return has_delta(guarantee) and is_ellipsoid(body) and body.rank > 1 and body.ambient_dim <= MOST_ANSWERS


def why_no_body_noise(body: Body, guarantee: Guarantee) -> str:
    """Return the reason why `body_noise` yields nothing."""
    if not isinstance(body, Polytope):
        return why_no_direct_noise(body) or _WITH_ELLIPSOIDS
    if body.ambient_dim > MOST_ANSWERS:
        return MANY_ANSWERS
    rank, count = size(body)
    if 0 < count == rank:
        return "identical to Identity or Laplace for this query"
    if rank == 1:
        return _ONE_DIRECTION
    if count > _FEW_POINTS.get(rank, 0) and not has_delta(guarantee):
        return "needs a random walk, and therefore a δ"
    return "its draws would take too long"


def why_no_direct_noise(body: Body) -> str:
    """Return the reason against directly drawn noise, or nothing."""
    if body.rank == 1:
        return _ONE_DIRECTION
    return MANY_ANSWERS if body.ambient_dim > MOST_ANSWERS else ""


def is_long(body: Body, weights: np.ndarray | None) -> bool:
    """Return whether body/weights is a polytope with aspect ratio > 100."""
    rank, count = size(body)
    if rank < 2 or not isinstance(body, Polytope) or (rank == count and weights is None and is_histogram(body)):
        return False
    points, key = body.distinct, None if weights is None else np.asarray(weights, dtype=float).tobytes()
    return _is_long(points, key) if points.columns.size <= CACHED_SIZE else _is_long.__wrapped__(points, key)


@lru_cache(maxsize=16)
def _is_long(points: PreparedGenerators, weights: bytes | None) -> bool:
    scaled = points.columns if weights is None else points.columns / np.frombuffer(weights)[:, None]
    lengths = np.linalg.svd(scaled, compute_uv=False)
    return bool(lengths[0] > _LONG_RATIO * lengths[points.rank - 1])


def has_delta(guarantee: Guarantee) -> bool:
    """Return whether the guarantee allows some δ > 0."""
    return isinstance(guarantee, ApproxDP) and guarantee.delta_value > 0


def why_not_long(body: Body, weights: np.ndarray | None) -> str:
    """Return why the body is not a long polytope."""
    if not isinstance(body, Polytope):
        return _ONLY_POLYTOPES
    return "" if is_long(body, weights) else f"for bodies {_LONG_RATIO} times longer in one direction than in another"


def is_histogram(body: Body) -> bool:
    """Return whether the answers count disjoint cells, one cell each."""
    if not isinstance(body, Polytope) or not body.generators.counting:
        return False
    generators = body.generators
    if generators.ambient_dim != generators.n_generators or (generators.row_squares() != 1).any():
        return False
    return bool((generators.adjoint(np.ones(generators.ambient_dim)) == 1).all())


def size(body: Body) -> tuple[int, int]:
    """Return a small polytope's rank and number of generators, or (0, 0)."""
    if not isinstance(body, Polytope) or body.ambient_dim > MOST_ANSWERS:
        return 0, 0
    count = body.generators.n_generators
    count = count * (count - 1) // 2 if body.differences else count
    if count > 5000 or body.generators.rank**2 * count > 10**6:  # a walk takes seconds
        return 0, 0
    if not body.differences and is_histogram(body):
        return count, count
    return body.distinct.rank, body.distinct.coordinates.shape[1]
