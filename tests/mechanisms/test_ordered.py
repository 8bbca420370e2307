"""Ordered attributes: the tridiagonal search against the general one, and its certificate against dense matrices."""

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.mechanisms.factorisation import GAP
from gaugedp.mechanisms.strategies import best_strategy
from gaugedp.mechanisms.strategies.dense import optimal
from gaugedp.mechanisms.strategies.ordered import all_ranges, best_ordered, prefix_sums
from tests.mechanisms.matrix_zoo import ROW, least_norm, length, line, matrix_of

KINDS = {"prefix": (gd.prefix_sums, prefix_sums), "ranges": (gd.ranges, all_ranges)}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


def body_of(kind: str, n: int):
    return KINDS[kind][0](line(n), "x").sensitivity(ROW)


@pytest.mark.parametrize("n", [1, 2, 3, 17])
def test_it_is_the_optimum_that_the_general_search_finds(kind: str, n: int) -> None:
    found, general = best_ordered(body_of(kind, n), kind == "ranges"), optimal(body_of(kind, n), None)
    assert length(found) == pytest.approx(length(general), rel=2 * GAP)
    assert found.least == pytest.approx(general.least, rel=2 * GAP)
    assert found.least <= length(general) * (1 + 1e-12)


@pytest.mark.parametrize("n", [2, 9, 20])
def test_the_radius_holds_every_generator(kind: str, n: int) -> None:
    body = body_of(kind, n)
    strategy = best_ordered(body, kind == "ranges")
    needed = max(least_norm(matrix_of(strategy), column, 2) for column in body.symmetric_columns().T * body.factor)
    assert 0.999 * strategy.radius <= needed <= strategy.radius


@pytest.mark.parametrize("n", [257, 400])
def test_beyond_256_cells_the_gap_is_certified(kind: str, n: int) -> None:
    strategy = best_strategy(body_of(kind, n), 2)
    assert strategy.least <= length(strategy) <= strategy.least * (1 + GAP)


@pytest.mark.parametrize("n", [1, 2, 5, 60])
def test_the_trace_is_the_nuclear_norm(kind: str, n: int) -> None:
    probability = np.random.default_rng(n).dirichlet(np.ones(n))
    columns = body_of(kind, n).symmetric_columns() * np.sqrt(probability)
    assert KINDS[kind][1](n).trace(probability) == pytest.approx(np.linalg.norm(columns, "nuc"), rel=1e-11)
    lengths, vectors = KINDS[kind][1](n).roots(probability)
    assert np.allclose((vectors * lengths**2) @ vectors.T, columns.T @ columns, rtol=1e-7)
