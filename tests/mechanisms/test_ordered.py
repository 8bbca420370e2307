"""Ordered attributes: the chain of conductances against dense matrices, and its certificate."""

import math

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.mechanisms.factorisation import GAP
from gaugedp.mechanisms.strategies import best_strategy
from gaugedp.mechanisms.strategies.dense import optimal
from gaugedp.mechanisms.strategies.ordered import WeightedPrefixes, best_ordered
from gaugedp.mechanisms.strategies.toeplitz import toeplitz
from gaugedp.mechanisms.strategies.tridiagonal import Chain, Poles, arriving, negative_power
from tests.cases import one_in
from tests.mechanisms.matrix_zoo import ROW, least_norm, length, line, matrix_of

KINDS = {"prefix": gd.prefix_sums, "ranges": gd.ranges}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


def body_of(kind: str, n: int):
    return KINDS[kind](line(n), "x").sensitivity(ROW)


def some_chain(n: int, left: float, right: float) -> tuple[Chain, np.ndarray]:
    rng = np.random.default_rng(n)
    chain = Chain(np.concatenate([[left], 10 ** rng.uniform(-3, 3, n - 1), [right]]), 10 ** rng.uniform(-3, 0, n))
    joints = chain.conductances
    dense = np.diag(joints[:-1] + joints[1:]) - np.diag(joints[1:-1], 1) - np.diag(joints[1:-1], -1)
    return chain, dense


@pytest.mark.parametrize("n", [1, 2, 3, 17])
def test_it_is_the_optimum_that_the_general_search_finds(kind: str, n: int) -> None:
    strategy, general = best_ordered(n, kind == "ranges"), optimal(body_of(kind, n), None)
    assert length(strategy) == pytest.approx(length(general), rel=2 * GAP)
    assert strategy.least == pytest.approx(general.least, rel=2 * GAP)
    assert strategy.least <= length(general) * (1 + 1e-12)


@pytest.mark.parametrize("n", [1, 2, 9, 20])
def test_the_radius_holds_every_generator(kind: str, n: int) -> None:
    body = body_of(kind, n)
    strategy = best_ordered(n, kind == "ranges")
    needed = max(least_norm(matrix_of(strategy), column, 2) for column in body.symmetric_columns().T * body.factor)
    assert 0.999999 * strategy.radius <= needed <= strategy.radius


@pytest.mark.parametrize("n", one_in(2, [257, 500]))
def test_the_radius_of_hundreds_of_cells_is_that_of_a_dense_matrix(kind: str, n: int) -> None:
    strategy = best_ordered(n, kind == "ranges")
    inner = strategy.inner if kind == "ranges" else strategy
    columns = np.linalg.lstsq(matrix_of(inner), np.tri(n), rcond=None)[0]
    assert np.linalg.norm(columns, axis=0).max() == pytest.approx(strategy.radius, rel=2e-8)
    assert np.allclose(inner.squares, (matrix_of(inner) ** 2).sum(axis=1), rtol=1e-8)


@pytest.mark.parametrize("n", one_in(2, [257, 1024]))
def test_the_gap_of_hundreds_of_cells_is_certified(kind: str, n: int) -> None:
    strategy = best_strategy(body_of(kind, n), 2)
    assert strategy.least <= length(strategy) <= strategy.least * (1 + 4 * GAP)


@pytest.mark.slow
def test_sixteen_thousand_prefix_sums_are_within_a_thousandth_of_the_optimum() -> None:
    body = body_of("prefix", 16_384)
    strategy = best_strategy(body, 2)
    assert strategy.least <= length(strategy) <= strategy.least * (1 + 1e-4)
    assert length(strategy) < 0.96 * length(toeplitz(body))


@pytest.mark.parametrize("n", [1, 2, 5, 60])
def test_the_bound_is_a_nuclear_norm_at_any_probabilities(kind: str, n: int) -> None:
    probability = np.random.default_rng(n).dirichlet(np.ones(n))
    columns = body_of(kind, n).symmetric_columns() * np.sqrt(probability)
    squares, error = WeightedPrefixes(probability, kind == "ranges").squares()
    scale = math.sqrt(n + 1) if kind == "ranges" else 1.0
    assert scale * (probability @ squares) == pytest.approx(np.linalg.norm(columns, "nuc"), rel=1e-9)
    assert error < 2e-9


# -- the parts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ends", [(1.0, 2.0), (0.0, 0.1), (3.0, 0.0)])
@pytest.mark.parametrize("n", [1, 2, 3, 10, 33])
def test_a_chain_is_its_matrix(n: int, ends: tuple[float, float]) -> None:
    chain, dense = some_chain(n, *ends)
    poles = Poles(np.array([1e-3, 1.0, 50.0]), np.array([2.0, 0.5, 3.0]), 0.0)
    masses = np.diag(chain.masses)
    inverse = sum(w * np.linalg.inv(dense + s * masses) for s, w in zip(poles.shifts, poles.weights, strict=True))
    assert np.allclose(chain.diagonal(poles), np.diag(inverse), rtol=1e-8)
    assert np.allclose(chain.solve(poles, np.asfortranarray(np.eye(n))), inverse, rtol=1e-8, atol=1e-12)


def test_conductances_keep_their_digits_over_thousands_of_nodes() -> None:
    n, shift = 5000, 1e-9
    joints, masses = np.ones(n), np.full(n, 1 / n)
    blocked = arriving(joints, masses, np.array([shift]))[:, 0]
    stepwise, current = np.empty(n), np.longdouble(1)
    for place in range(n):
        stepwise[place] = current
        total = current + np.longdouble(shift) * masses[place]
        current = total / (1 + total)
    assert np.abs(blocked / stepwise - 1).max() < 5 * n * 2.0**-53


@pytest.mark.parametrize("alpha", [0.25, 0.5, 0.75])
@pytest.mark.parametrize("ratio", [1.0, 1e4, 1e13])
def test_poles_are_a_power_to_the_error_they_state(alpha: float, ratio: float) -> None:
    poles = negative_power(alpha, 3.0, 3.0 * ratio)
    points = np.geomspace(3.0, 3.0 * ratio, 4001)
    sums = (poles.weights / (points[:, None] + poles.shifts)).sum(axis=1)
    assert np.abs(sums * points**alpha - 1).max() <= poles.error < 2.0**-30
    assert min(poles.weights.min(), poles.shifts.min()) > 0
