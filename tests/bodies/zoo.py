"""Bodies of every kind, awkward members among them, each with the finitely many points it is the hull of."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from gaugedp.bodies import (
    Body,
    BoxHull,
    Ellipsoid,
    LpBall,
    Polytope,
    Product,
    SchattenBall,
    image,
    minkowski_sum,
    project,
    scaled,
)


@dataclass(frozen=True)
class Member:
    """A body; `vertices` (k, d) is a set of points with that hull, where there is a finite one.

    At the `exact` powers the radius is attained, whatever the weights; elsewhere it is only an upper bound.
    """

    name: str
    body: Body
    vertices: np.ndarray | None = None
    exact: tuple[float, ...] = (1, 1.5, 2, np.inf)

    def __str__(self) -> str:
        return self.name


def hull_points(matrix: np.ndarray, factor: float, differences: bool, with_zero: bool) -> np.ndarray:
    """Return the points of the definition, one by one."""
    columns = [np.asarray(column, dtype=float) for column in np.asarray(matrix).T]
    if differences:
        ends = columns + ([np.zeros(len(matrix))] if with_zero else [])
        points = [first - other for first, other in product(ends, ends)]
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


BOXES = {
    "sums": ([0.0, 0, 0], [1.0, 2, 3]),
    "two-sided sums": ([-1.0, -2, 0], [1.0, 5, 3]),
    "sums beyond zero": ([4.0, -3, -1], [5.0, -2, 2]),
    "sums and a count": ([-2.0, 1, -3], [2.0, 1, 1]),
    "sums and two counts": ([-2.0, 1, 1, -3], [2.0, 1, 1, 0]),
    "long sums": ([1e4, 1e4, 1e4], [1e4 + 1, 1e4 + 1, 1e4 + 2]),
    "one sum": ([3.0], [4.0]),
    "two counts": ([1.0, 2], [1.0, 2]),
}


def box_hulls() -> Iterator[Member]:
    for (name, (low, high)), (kind, flags) in product(BOXES.items(), KINDS.items()):
        corners = np.array(list(product(*zip(low, high, strict=True)))).T
        points = hull_points(corners, 2, **flags)
        if np.any(points):
            yield Member(f"{name}, {kind}", BoxHull.of(np.array(low), np.array(high), 2, **flags), points)


def balls() -> Iterator[Member]:
    for p, d, size in product((1, 1.5, 2, 3, np.inf), (1, 3), (1, 2.5e3)):
        ends = None
        if p == 1:
            ends = size * np.vstack([np.eye(d), -np.eye(d)])
        if p == np.inf:
            ends = size * np.array(list(product((-1.0, 1.0), repeat=d)))
        yield Member(f"ball p={p} d={d} {size}", LpBall(d, p, size), ends)


MAPS = {
    "round": np.eye(3),
    "long": np.array([[3.0, 1, 0], [0, 1e-2, 2]]),
    "flat": np.array([[1.0, 2], [3, -1], [4, 1]]),
    "flat, three generators": np.array([[1.0, 2, 3], [3, -1, 2], [4, 1, 5], [0, 0, 0]]),
    "thin": np.array([[1.0, 0], [1, 1e-7]]),
    "huge": 1e8 * np.array([[2.0, 1], [1, 3]]),
    "units": np.array([[1e-12, 2e-12], [3.0, 1.0], [5e9, -1e9]]),
    "line": np.array([[0.3, -0.4]]),
    "segment": np.array([[2.0], [0], [-1]]),
}


def ellipsoids() -> Iterator[Member]:
    for name, matrix in MAPS.items():
        yield Member(f"ellipsoid {name}", Ellipsoid(matrix), exact=(1, 2, np.inf))


def schatten() -> Iterator[Member]:
    for shape, p, size in product(((2, 2), (2, 3), (3, 1), (1, 1)), (1, 1.5, 2, 4, np.inf), (1, 2.5e3)):
        exact = (2, np.inf) if p <= 2 else (np.inf,)
        yield Member(f"Schatten {shape} p={p} {size}", SchattenBall(shape, p, size), exact=exact)


def derived() -> Iterator[Member]:
    cube = np.array(list(product((-1.0, 1.0), repeat=2)))
    for name in ("flat", "thin", "huge"):
        yield Member(
            f"image of a square, {name}", image(LpBall(2, np.inf), MAPS[name]), cube @ MAPS[name].T, (1, np.inf)
        )
    yield Member("image of a Schatten ball", image(SchattenBall((1, 2), 1.5), MAPS["flat"]), exact=(1, np.inf))
    yield Member("image of an l1 ball", image(LpBall(3, 1), MAPS["long"]), np.vstack([MAPS["long"].T, -MAPS["long"].T]))
    first, second = MATRICES["line"], MATRICES["line"] / 7
    ends = [one + other for one in hull_points(first, 1, **KINDS["differences"]) for other in (*second.T, *-second.T)]
    both = minkowski_sum(Polytope.difference_hull(first), Polytope.symmetric_hull(second))
    yield Member("sum of polytopes on a line", both, np.array(ends))
    square, flat = Polytope.symmetric_hull(np.eye(3), 2), Polytope.symmetric_hull(MAPS["flat"])
    ends = [
        one + other for one in 2 * np.vstack([np.eye(3), -np.eye(3)]) for other in (*MAPS["flat"].T, *-MAPS["flat"].T)
    ]
    yield Member("sum of polytopes", minkowski_sum(square, flat), np.array(ends))
    yield Member("half a polytope", scaled(flat, 0.5), np.vstack([MAPS["flat"].T, -MAPS["flat"].T]) / 2)
    basis = np.linalg.qr(np.array([[1.0, 0], [1, 1], [0, 2]]))[0]
    yield Member("shadow of a polytope", project(flat, basis), np.vstack([MAPS["flat"].T, -MAPS["flat"].T]) @ basis)


def products() -> Iterator[Member]:
    square = np.array(list(product((-1.0, 1.0), repeat=2)))
    flat = np.vstack([MAPS["flat"].T, -MAPS["flat"].T])
    parts = (LpBall(2, np.inf, 3.0), Polytope.symmetric_hull(MAPS["flat"]), LpBall(1, 2, 1e3))
    ends = [np.concatenate(pieces) for pieces in product(3 * square, flat, [[1e3], [-1e3]])]
    yield Member("product of a square, a flat rhombus and a line", Product(parts), np.array(ends))
    curved = Product((LpBall(3, 1.5), Ellipsoid(MAPS["long"])))
    yield Member("product of a ball and an ellipsoid", curved, exact=(1, 2, np.inf))
    yield Member("product of one", Product((LpBall(2, 1, 2.0),)), 2 * np.vstack([np.eye(2), -np.eye(2)]))


ZOO = [*products(), *balls(), *polytopes(), *box_hulls(), *ellipsoids(), *schatten(), *derived()]
