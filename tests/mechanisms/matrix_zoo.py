"""Questions, bodies and strategies for the tests of the matrix mechanism."""

import math
from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np
import scipy.optimize

import gaugedp as gd
from gaugedp.bodies import Polytope
from gaugedp.mechanisms.strategies import Strategy, best_strategy
from gaugedp.mechanisms.strategies.p_identity import by_block
from gaugedp.mechanisms.strategies.ranges import RangeStrategy, optimal_ranges
from gaugedp.mechanisms.strategies.toeplitz import toeplitz
from gaugedp.mechanisms.strategies.trees import best_tree
from gaugedp.mechanisms.strategies.weighted import weighted

ROW, REPLACED = gd.PrivacyUnit(), gd.PrivacyUnit(neighbours="replace")
PERSON = gd.PrivacyUnit("pid", max_rows=3)
NORMAL, PURE = gd.ApproxDP(1.0, 1e-6), gd.PureDP(1.0)
N_DRAWS = 20_000


def bernoulli(d: int, n: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 2, (d, n)) * 2 - 1


def line(n: int) -> gd.Domain:
    return gd.Domain.of(x=gd.integers(1, n))


def grid(*sizes: int) -> gd.Domain:
    return gd.Domain.of(**{f"a{i}": gd.integers(1, size) for i, size in enumerate(sizes)})


def two_way(*sizes: int):
    domain = grid(*sizes)
    return gd.marginals(domain, *combinations(domain.attributes, 2))


MIXED = gd.marginals(grid(2, 3, 1, 4), (), ("a3", "a0"), "a1", ("a2", "a1"), ("a0", "a1", "a3"))
QUERIES = {
    "prefix": gd.prefix_sums(line(11), "x"),
    "ranges": gd.ranges(line(7), "x"),
    "one cell": gd.prefix_sums(line(1), "x"),
    "count": gd.count(line(3)),
    "two-way": two_way(2, 3, 3),
    "mixed": MIXED,
    "matrix": gd.workload([[1, -2, 0, 1], [3, 1, 1, 3]], line(4)),
    "stack": gd.stack(gd.prefix_sums(grid(4, 3), "a0"), gd.marginals(grid(4, 3), "a1")),
}
BODIES = {
    **{name: query.sensitivity(ROW) for name, query in QUERIES.items()},
    **{f"{name}, replaced": query.sensitivity(REPLACED) for name, query in QUERIES.items()},
    "prefix, person": QUERIES["prefix"].sensitivity(PERSON),
    "only differences": replace(QUERIES["two-way"].sensitivity(REPLACED), with_zero=False),
    "random": Polytope.symmetric_hull(np.random.default_rng(2).normal(size=(4, 30)), 2.5),
    "thin": Polytope.symmetric_hull(np.array([[1.0, 1.0, 0.5], [0.0, 1e-9, 1e-9]])),
    "steep": Polytope.symmetric_hull(10.0 ** -np.arange(6)[:, None] * bernoulli(6, 20)),
    "flat": Polytope.difference_hull(np.random.default_rng(3).normal(size=(3, 3))),
}


@cache
def strategies(name: str, p: int) -> list[Strategy]:
    """The strategy in use, and all others that are made for such a question."""
    body = BODIES[name]
    results = [best_strategy(body, p)]
    structure = body.generators.structure
    kinds = set() if structure is None else {block.kind for block in structure.blocks}
    n = body.generators.n_generators
    if kinds in ({"prefix"}, {"ranges"}):
        inner = toeplitz(body) if p == 2 else best_tree(n, kinds == {"ranges"}, body.coefficient_radius)
        results.append(inner if kinds == {"prefix"} else RangeStrategy(inner, n))
    if structure is not None and kinds == {"cells"} and p == 1:
        results.append(weighted(body, structure))
    if structure is not None and len(structure.blocks) > 1 and p == 1:
        results.append(by_block(body, structure.heights, None))
    if kinds == {"ranges"} and p == 2:
        results.append(optimal_ranges(body))
    return results


def matrix_of(strategy: Strategy) -> np.ndarray:
    return strategy.apply(np.eye(strategy.n_noise)).T


def least_norm(matrix: np.ndarray, point: np.ndarray, p: int) -> float:
    """The least ‖u‖_p with matrix·u = point."""
    if p == 2:
        actual = np.linalg.lstsq(matrix, point, rcond=1e-12)[0]
        assert np.allclose(matrix @ actual, point, rtol=1e-9, atol=1e-9 * np.abs(point).max())
        return float(np.linalg.norm(actual))
    rows = np.hstack([matrix, -matrix])
    size = np.abs(rows).max(axis=1, keepdims=True)
    actual = scipy.optimize.linprog(np.ones(rows.shape[1]), A_eq=rows / size, b_eq=point / size[:, 0])
    assert actual.status == 0
    return float(actual.fun)


def length(strategy: Strategy) -> float:
    return strategy.radius * math.sqrt(float(strategy.squares.sum()))
