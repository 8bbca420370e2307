"""Hashes of bodies, as keys of cached results."""

import hashlib

import numpy as np

from gaugedp.bodies.base import Body
from gaugedp.bodies.box_hull import BoxHull
from gaugedp.bodies.derived import LinearImage, MinkowskiSum
from gaugedp.bodies.ellipsoid import Ellipsoid
from gaugedp.bodies.polytope import Polytope


def digest(body: Body) -> str:
    """Return a SHA-256 hash of a body's parameters."""
    match body:
        case BoxHull():
            facts = f"BoxHull {body.factor!r} {body.differences} {body.with_zero} {body.generators.whole_numbers}"
            return _hash(facts, np.array([body.generators.low, body.generators.high]))
        case Polytope():
            return _hash(f"Polytope {body.factor!r} {body.differences} {body.with_zero}", body.columns())
        case Ellipsoid():
            return _hash("Ellipsoid", body.matrix)
        case LinearImage():
            return _hash("LinearImage", digest(body.body), body.matrix)
        case MinkowskiSum():
            return _hash("MinkowskiSum", digest(body.one), digest(body.other))
    return _hash(repr(body), str(vars(body)))


def _hash(*parts: str | np.ndarray) -> str:
    state = hashlib.sha256()
    for part in parts:
        text = part if isinstance(part, str) else f"{part.dtype} {part.shape}"
        data = b"" if isinstance(part, str) else np.ascontiguousarray(part).tobytes()
        state.update(f"{len(text)} {len(data)} {text}".encode() + data)
    return state.hexdigest()
