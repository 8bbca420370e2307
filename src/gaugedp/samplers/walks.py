"""Coordinates for walks in a body, and the rows gathered from several walks."""

from typing import Protocol

import numpy as np

from gaugedp._internal.validate import whole
from gaugedp.bodies import Body, Ellipsoid, LinearImage, Polytope
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest


class Walk(Protocol):
    """c independent walks, moved together."""

    def step(self, rng: Entropy) -> None:
        """Move every walk once."""

    def points(self) -> np.ndarray:
        """Return where the walks are, shape (c, d)."""


def chart(body: Body) -> np.ndarray:
    """Return a basis of the span whose vectors lie on the boundary of the body, or in it, shape (d, rank)."""
    match body:
        case Polytope():
            return body.factor * body.distinct.frame.columns
        case Ellipsoid():
            return body.frame.columns
        case LinearImage():
            check_one_to_one(body)
            return body.matrix @ chart(body.body)
    axes = body.span.T
    return (axes / body.gauge(axes)[:, None]).T


def check_one_to_one(body: LinearImage) -> None:
    """Refuse an image of lower rank, on which images of uniform points are not uniform."""
    if body.rank < body.body.rank:
        raise InvalidRequest(
            "The matrix maps several points of the body to the same point, so the images of uniform points are not "
            "uniform.",
            "Use a matrix of full column rank.",
        )


def gathered(walk: Walk, size: int, burn_in: int, thin: int, rng: Entropy) -> np.ndarray:
    """Return `size` points, shape (size, d), walk after walk: ⌈size/c⌉ of each, in the order of time."""
    whole(minimum=0, size=size, burn_in=burn_in)
    whole(minimum=1, thin=thin)
    for _ in range(burn_in):
        walk.step(rng)
    first = walk.points()
    draws = np.empty((len(first), -(-size // len(first)), first.shape[1]))
    for index in range(draws.shape[1]):
        for _ in range(thin):
            walk.step(rng)
        draws[:, index] = walk.points()
    return draws.reshape(-1, first.shape[1])[:size]
