"""Bodies of every kind, awkward members among them, each with the finitely many points it is the hull of."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from gaugedp.bodies import Body, LpBall, Polytope


@dataclass(frozen=True)
class Member:
    """A body; `vertices` (k, d) is a set of points with that hull, where there is a finite one."""

    name: str
    body: Body
    vertices: np.ndarray | None = None

    def __str__(self) -> str:
        return self.name


def hull_points(matrix: np.ndarray, factor: float, differences: bool, with_zero: bool) -> np.ndarray:
    """Return the points of the definition, one by one."""
    columns = [np.asarray(column, dtype=float) for column in np.asarray(matrix).T]
    if differences:
        ends = columns + ([np.zeros(len(matrix))] if with_zero else [])
        points = [one - other for one, other in product(ends, ends)]
    else:
        points = [sign * column for sign in (1, -1) for column in columns]
    return factor * np.array(points)


MATRICES = {
    "histogram": np.eye(4),
    "prefix": np.tril(np.ones((4, 4))),
    "signs": np.random.default_rng(1).integers(0, 2, (3, 8)) * 2.0 - 1,
    "real": np.random.default_rng(2).normal(size=(3, 7)),
    "flat": np.array([[1.0, 0, 1, 2], [0, 1, 1, 1], [1, 1, 2, 3]]),
    "margins": np.array([[1.0, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]]),
    "thin": np.array([[1.0, 1.0, 0.5], [0.0, 1e-3, 2e-3]]),
    "huge": 1e6 * np.array([[1.0, -2, 3], [4, 5, -6]]),
    "line": np.array([[1.0, -3.0, 2.0]]),
    "one column": np.array([[2.0], [1.0]]),
    "with a zero": np.array([[1.0, 0, 0], [0, 0, 2]]),
    "repeated": np.array([[1.0, 1, -1, 2], [2, 2, -2, 1]]),
}
KINDS = {
    "symmetric": {"differences": False, "with_zero": False},
    "differences": {"differences": True, "with_zero": False},
    "differences or nothing": {"differences": True, "with_zero": True},
}


def polytope(matrix: np.ndarray, factor: float, differences: bool, with_zero: bool) -> Polytope:
    if differences:
        return Polytope.difference_hull(matrix, factor, with_zero)
    return Polytope.symmetric_hull(matrix, factor)


def polytopes() -> Iterator[Member]:
    for (name, matrix), (kind, flags) in product(MATRICES.items(), KINDS.items()):
        for factor in (1, 3) if name == "histogram" else (1,):
            points = hull_points(matrix, factor, **flags)
            if np.any(points):
                yield Member(f"{name}, {kind}, {factor}", polytope(matrix, factor, **flags), points)


def balls() -> Iterator[Member]:
    for p, d, size in product((1, 1.5, 2, 3, np.inf), (1, 3), (1, 2.5e3)):
        ends = None
        if p == 1:
            ends = size * np.vstack([np.eye(d), -np.eye(d)])
        if p == np.inf:
            ends = size * np.array(list(product((-1.0, 1.0), repeat=d)))
        yield Member(f"ball p={p} d={d} {size}", LpBall(d, p, size), ends)


ZOO = [*balls(), *polytopes()]
