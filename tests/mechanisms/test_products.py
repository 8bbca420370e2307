"""Products of ordered attributes and cells: the strategy against dense matrices, and the best of all."""

import math

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.mechanisms.strategies import best_strategy, kronecker
from gaugedp.mechanisms.strategies.dense import optimal
from tests.mechanisms.matrix_zoo import NORMAL, PERSON, REPLACED, ROW, grid, least_norm, length, matrix_of

DOMAIN = grid(4, 3, 2)
TEXTS = ["prefix(a0)*a1", "ranges(a1) by a0", "prefix(a1)*prefix(a2)", "a2*ranges(a1)*prefix(a0)"]


@pytest.mark.parametrize("unit", [ROW, PERSON, REPLACED], ids=["row", "person", "replaced"])
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("text", TEXTS)
def test_every_generator_is_within_the_radius(text: str, p: int, unit: gd.PrivacyUnit) -> None:
    body = gd.query(DOMAIN, text).sensitivity(unit)
    strategy = best_strategy(body, p)
    matrix = matrix_of(strategy)
    columns = body.symmetric_columns().T * body.factor
    needed = max(least_norm(matrix, column, p) for column in columns[:: 1 if p == 2 else 7])
    assert needed <= strategy.radius * (1 + 1e-7)
    if p == 2 and not body.differences:
        assert needed >= 0.99999 * strategy.radius
    assert np.allclose(strategy.squares, (matrix**2).sum(axis=1), rtol=1e-8)
    assert (strategy.largest >= np.abs(matrix).max(axis=1) * (1 - 1e-9)).all()


@pytest.mark.parametrize("text", TEXTS)
def test_a_product_of_optima_is_the_optimum(text: str) -> None:
    body = gd.query(DOMAIN, text).sensitivity(ROW)
    strategy, general = best_strategy(body, 2), optimal(body, None)
    assert length(strategy) == pytest.approx(length(general), rel=4e-6)
    assert general.least * (1 - 4e-6) <= strategy.least <= length(general)


@pytest.mark.parametrize("text", TEXTS)
def test_replaced_rows_cost_no_more_than_the_root_of_two(text: str) -> None:
    body = gd.query(DOMAIN, text).sensitivity(REPLACED)
    strategy, general = best_strategy(body, 2), optimal(body, None)
    assert strategy.least <= length(general) <= length(strategy) * (1 + 2e-6)
    assert length(strategy) <= math.sqrt(2) * strategy.least * (1 + 4e-6)


@pytest.mark.parametrize("text", ["ranges(a1)*ranges(a2)", "prefix(a1)*prefix(a2)", "prefix(a0)*a1"])
def test_small_products_of_replaced_rows_have_the_best_of_all(text: str) -> None:
    body = gd.query(DOMAIN, text).sensitivity(REPLACED)
    of_factors = kronecker.kronecker(body, body.generators.structure, 2)
    assert length(best_strategy(body, 2)) <= length(optimal(body, None)) * (1 + 1e-6) < 0.96 * length(of_factors)


@pytest.mark.slow
def test_large_products_are_planned_without_their_matrix() -> None:
    domain = gd.Domain.of(age=gd.integers(0, 99), income=gd.integers(1, 60))
    plan = gd.plan(gd.query(domain, "prefix(age)*prefix(income)"), ROW, epsilon=1.0, delta=1e-6)
    assert plan.mechanism.name == "Matrix"
    strategy = best_strategy(gd.query(domain, "prefix(age)*prefix(income)").sensitivity(ROW), 2)
    assert length(strategy) <= strategy.least * (1 + 1e-5)


@pytest.mark.parametrize("text", TEXTS)
def test_long_axes_have_the_toeplitz_root(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if more than two cells were too many for the best strategy of an axis."""
    monkeypatch.setattr(kronecker, "MOST_CELLS", 2)
    for unit in (ROW, REPLACED):
        body = gd.query(DOMAIN, text).sensitivity(unit)
        strategy = best_strategy(body, 2)
        matrix, columns = matrix_of(strategy), body.symmetric_columns().T * body.factor
        needed = max(least_norm(matrix, column, 2) for column in columns)
        assert needed <= strategy.radius * (1 + 1e-7)
        assert unit is REPLACED or needed >= 0.99999 * strategy.radius
        best = math.sqrt(strategy.squares.sum()) * strategy.radius
        assert strategy.least <= best * (1 + 1e-9)
        assert unit is REPLACED or "ranges" in text or best <= 1.2 * strategy.least  # for ranges no bound is known here


def test_the_noise_has_the_covariance_of_its_strategy() -> None:
    body = gd.query(DOMAIN, "prefix(a0)*a2").sensitivity(ROW)
    mechanism = gd.Matrix.calibrate(body, NORMAL)
    drawn = mechanism.sample_noise(40_000, gd.research_rng(5))
    matrix = matrix_of(mechanism.strategy) * mechanism.scale
    spread = np.sqrt(np.diag(matrix @ matrix.T) + 1 / 12)
    off = (np.cov(drawn.T) - matrix @ matrix.T - np.eye(len(matrix)) / 12) / np.outer(spread, spread)
    assert np.abs(off).max() < 5.2 * math.sqrt(2 / 40_000)  # 64 entries, each beyond 5 deviations once in a million
