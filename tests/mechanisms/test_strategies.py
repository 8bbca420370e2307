"""Strategies: the hypothesis of the matrix mechanism's theorem on every generator, and certificates."""

import math

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.bodies import Polytope
from gaugedp.bodies.prepare import distinct
from gaugedp.errors import InvalidRequest
from gaugedp.mechanisms.factorisation import factorise
from gaugedp.mechanisms.matrix import Matrix
from gaugedp.mechanisms.noise_widths import expected_root
from gaugedp.mechanisms.strategies import best_strategy
from gaugedp.mechanisms.strategies.best import cells
from gaugedp.mechanisms.strategies.blocks import carried_prefixes, laplace_blocks, levelled
from gaugedp.mechanisms.strategies.dense import optimal
from gaugedp.mechanisms.strategies.marginals import Interactions
from gaugedp.mechanisms.strategies.ranges import optimal_ranges
from gaugedp.mechanisms.strategies.residual import residual
from gaugedp.mechanisms.strategies.toeplitz import toeplitz
from gaugedp.mechanisms.strategies.trees import best_tree
from tests.mechanisms.matrix_zoo import (
    BODIES,
    NORMAL,
    QUERIES,
    REPLACED,
    ROW,
    bernoulli,
    grid,
    least_norm,
    length,
    line,
    matrix_of,
    strategies,
    two_way,
)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("name", BODIES)
def test_every_generator_is_within_the_radius(name: str, p: int) -> None:
    body = BODIES[name]
    columns = body.symmetric_columns().T * body.factor
    columns = columns[distinct(columns.T)]
    checked = columns if p == 2 else columns[:: 1 + len(columns) // 20]  # a linear program each
    for strategy in strategies(name, p):
        matrix = matrix_of(strategy)
        needed = max(least_norm(matrix, column, p) for column in checked)
        assert needed <= strategy.radius * (1 + 1e-7)  # of the oracle
        if p == 2:
            assert needed >= 0.999 * strategy.radius  # so that a radius a tenth too small would be found


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("name", BODIES)
def test_what_is_said_of_the_matrix_is_true(name: str, p: int) -> None:
    for strategy in strategies(name, p):
        matrix = matrix_of(strategy)
        assert matrix.shape == (BODIES[name].ambient_dim, strategy.n_noise)
        assert np.allclose(strategy.squares, (matrix**2).sum(axis=1), rtol=1e-8, atol=1e-12)
        assert (strategy.largest >= np.abs(matrix).max(axis=1) * (1 - 1e-9)).all()
        assert strategy.describe()
        if p == 2:
            assert strategy.least <= length(optimal(BODIES[name], None)) * (1 + 1e-9) <= length(strategy) * (1 + 2e-6)
        if (spectrum := strategy.spectrum(None)) is not None:
            values = np.repeat(spectrum[0], spectrum[1].astype(int))
            true = np.linalg.svd(matrix, compute_uv=False) ** 2
            shown = np.zeros(max(len(true), len(values)))
            shown[: len(values)] = np.sort(values)[::-1]
            assert np.allclose(shown[: len(true)], true, atol=1e-9 * true[0])
            assert np.allclose(shown[len(true) :], 0, atol=1e-9 * true[0])


# -- the certified optimum -----------------------------------------------------------------------------

REFERENCES = {  # γ, and the expected error at ε = 1, δ = 1e−6 without a lattice
    "5 x 50": (bernoulli(5, 50), 5.000, 20.10),
    "10 x 100": (bernoulli(10, 100), 10.000, 41.21),
    "20 x 200": (bernoulli(20, 200), 19.941, 83.19),
    "40 x 200": (bernoulli(40, 200), 39.177, 164.44),
    "prefix 32": (np.tri(32), 10.703, 43.60),
    "2-way 2^4": (two_way(2, 2, 2, 2).sensitivity(ROW).columns(), 7.689, None),  # flat
    "2-way 3^3": (two_way(3, 3, 3).sensitivity(ROW).columns(), 7.406, None),
    "ranges 16": (gd.ranges(line(16), "x").sensitivity(ROW).columns(), 20.326, None),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REFERENCES)
def test_reference_values_of_the_optimum(name: str) -> None:
    matrix, gamma, error = REFERENCES[name]
    body = Polytope.symmetric_hull(matrix)
    strategy = optimal(body, None) if error is None else Matrix.calibrate(body, NORMAL).strategy
    assert length(strategy) == pytest.approx(gamma, abs=6e-4)
    assert 0 <= length(strategy) / strategy.least - 1 <= 2e-6
    if error is not None:
        scale = strategy.radius * 4.224679
        values, counts = strategy.spectrum(None)
        assert scale * expected_root(values, counts) == pytest.approx(error, rel=5e-4)


def test_the_parts_of_a_factorisation_belong_together() -> None:
    actual = factorise(BODIES["random"])
    assert actual.upper == pytest.approx(actual.radius * math.sqrt(np.trace(actual.covariance)), rel=1e-9)
    assert np.allclose(actual.left @ actual.inverse, np.eye(4))
    assert 0 <= actual.gap <= 2e-6


def test_no_other_strategy_beats_the_lower_bound() -> None:
    matrix = np.random.default_rng(5).normal(size=(3, 40))
    actual = factorise(Polytope.symmetric_hull(matrix))
    for seed in range(20):
        left = np.random.default_rng(seed).normal(size=(3, 3))
        other = np.linalg.norm(left) * np.linalg.norm(np.linalg.solve(left, matrix), axis=0).max()
        assert other >= actual.lower


def test_weights_are_what_errors_are_divided_by() -> None:
    body, weights = BODIES["random"], np.array([1.0, 5.0, 0.2, 3.0])
    weighted_, plain = factorise(body, weights), factorise(body)
    scaled = factorise(Polytope.symmetric_hull(body.columns() / weights[:, None], body.factor))
    assert weighted_.upper == pytest.approx(scaled.upper, rel=1e-6)
    errors = [Matrix.calibrate(body, NORMAL, given).error(2, weights) for given in (weights, None)]
    assert errors[0] < errors[1]
    assert plain.gap <= 2e-6


def test_thousands_of_generators_are_factorised_to_the_same_gap() -> None:
    body = Polytope.symmetric_hull(np.random.default_rng(2).normal(size=(12, 3000)))
    assert factorise(body).gap <= 2e-6


# -- structure -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [ROW, REPLACED], ids=["row", "replaced"])
@pytest.mark.parametrize("name", ["two-way", "mixed", "count"])
def test_marginals_are_as_good_as_the_certified_optimum(name: str, unit: gd.PrivacyUnit) -> None:
    body = QUERIES[name].sensitivity(unit)
    structured, dense = best_strategy(body, 2), optimal(body, None)
    assert "interactions" in structured.describe()
    assert length(structured) == pytest.approx(length(dense), rel=1e-5)
    assert structured.least <= length(dense) * (1 + 1e-9)
    assert length(structured) <= structured.least * (1 + 1e-5)


def test_ranges_in_the_coordinates_of_their_cells_are_the_optimum() -> None:
    for unit in (ROW, REPLACED):
        body = QUERIES["ranges"].sensitivity(unit)
        assert length(optimal_ranges(body)) == pytest.approx(length(optimal(body, None)), rel=1e-5)


def test_the_square_root_is_near_the_optimum_of_prefix_sums() -> None:
    body = gd.prefix_sums(line(60), "x").sensitivity(ROW)
    root, best = toeplitz(body), optimal(body, None)
    assert root.least <= best.least * (1 + 1e-6)
    assert length(best) <= length(root) <= 1.15 * length(best)


def test_differences_of_the_square_root_are_measured_exactly() -> None:
    body = gd.prefix_sums(line(40), "x").sensitivity(REPLACED)
    root = toeplitz(body)
    columns = np.linalg.inv(matrix_of(root)) @ np.tri(40)
    apart = np.linalg.norm(columns[:, :, None] - columns[:, None, :], axis=0).max()
    assert max(apart, np.linalg.norm(columns, axis=0).max()) == pytest.approx(root.radius, rel=1e-6)


def test_too_many_patterns_of_a_replacement_cost_a_factor_at_most(monkeypatch) -> None:
    body = QUERIES["mixed"].sensitivity(REPLACED)
    exact = residual(body, body.generators.structure)
    monkeypatch.setattr("gaugedp.mechanisms.strategies.residual._MOST_PATTERNS", 2)
    rough = residual(body, body.generators.structure)  # not `best_strategy`, which keeps what it found
    assert exact.radius < rough.radius
    assert length(exact) <= length(rough) <= 2 * length(exact)
    needed = max(least_norm(matrix_of(rough), column, 2) for column in body.symmetric_columns().T)
    assert needed <= rough.radius


@pytest.mark.parametrize("unit", [ROW, REPLACED], ids=["row", "replaced"])
def test_a_tall_tree_holds_every_generator(unit: gd.PrivacyUnit) -> None:
    """Of a hundred prefix sums, where no level has most of the noise."""
    body = gd.prefix_sums(line(100), "x").sensitivity(unit)
    tree, columns = best_tree(body.generators.n_generators, False, body.coefficient_radius), body.columns().T
    assert tree.weights.max() < 0.5 * tree.weights.sum()
    other = columns[-2] if unit is REPLACED else 0
    needed = max(least_norm(matrix_of(tree), column - other, 1) for column in columns[::33])
    assert 0.7 * tree.radius < needed <= tree.radius * (1 + 1e-7)  # of the oracle


def test_interactions_split_the_space() -> None:
    structure = BODIES["mixed"].generators.structure
    interactions = Interactions(structure)
    assert sum(interactions.dimension(axes) for axes in interactions.sets) == BODIES["mixed"].rank
    assert () in interactions.sets
    assert all(structure.shape[axis] > 1 for axes in interactions.sets for axis in axes)


def test_pure_strategies_are_no_worse_than_noise_on_the_cells() -> None:
    for name in ("prefix", "ranges", "two-way", "mixed"):
        body = BODIES[name]
        on_cells = math.sqrt(body.generators.row_squares().sum()) * body.coefficient_radius
        assert length(best_strategy(body, 1)) <= on_cells * (1 + 1e-9)


@pytest.mark.parametrize(("n", "ordered", "height"), [(30, gd.ranges, 465), (150, gd.prefix_sums, 150)])
def test_a_strategy_for_each_table_saves_a_quarter(n: int, ordered, height: int) -> None:
    """Block counts over the cells of all tables do badly; the second has too many for a search, too."""
    domain = grid(5, n)
    body = gd.stack(ordered(domain, "a1"), gd.marginals(domain, "a0", ())).sensitivity(ROW)
    assert body.generators.structure.heights == [height, 5, 1]
    actual, before = best_strategy(body, 1), laplace_blocks(body, body.columns(), None)
    assert length(actual) <= 0.75 * length(before)
    assert "one per table" in actual.describe()


# -- questions without structure -----------------------------------------------------------------------


def some_ranges(n: int, count: int) -> np.ndarray:
    ends = np.sort(np.random.default_rng(3).integers(0, n + 1, (3 * count, 2)), axis=1)
    ends = ends[ends[:, 0] < ends[:, 1]][:count]
    return np.array([(first <= np.arange(n)) & (np.arange(n) < last) for first, last in ends], dtype=float)


def carried(body: Polytope, p: int) -> list:
    columns = body.columns()
    weights = np.linspace(1, 3, body.ambient_dim)
    if p == 1:
        return [laplace_blocks(body, columns, given) for given in (None, weights)]
    return [carried_prefixes(body, columns), cells(body), *(levelled(body, columns, w) for w in (None, weights))]


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("unit", [ROW, REPLACED], ids=["row", "replaced"])
@pytest.mark.parametrize("n", [2, 13, 16])
def test_a_carried_strategy_holds_every_generator_and_no_less(n: int, unit: gd.PrivacyUnit, p: int) -> None:
    body = gd.workload(some_ranges(n, 3 * n), line(n)).sensitivity(unit)
    points = body.symmetric_columns().T * body.factor
    points = points[distinct(points.T)]
    for strategy in carried(body, p):
        matrix = matrix_of(strategy)
        assert np.allclose(strategy.squares, (matrix**2).sum(axis=1))
        needed = max(least_norm(matrix, point, p) for point in points[:: 1 + len(points) // 30])
        assert needed <= strategy.radius * (1 + 1e-7)
        full = np.linalg.matrix_rank(matrix) == matrix.shape[1]
        if p == 2 and full:  # then u is unique, and a radius a tenth too small is found
            exact = max(least_norm(matrix, point, p) for point in points)
            assert exact >= 0.999 * strategy.radius


@pytest.mark.slow
def test_five_hundred_cells_are_no_cliff() -> None:
    """Before, the best were 1,192 with pure noise on the cells, and 1,573 on the answers."""
    body = gd.workload(some_ranges(512, 700), line(512)).sensitivity(ROW)
    strategy = best_strategy(body, 2)
    least = np.linalg.svd(body.columns(), compute_uv=False).sum() / math.sqrt(512)
    assert length(strategy) <= 1.02 * least
    assert length(strategy) <= 1.01 * strategy.least


@pytest.mark.slow
@pytest.mark.parametrize("p", [1, 2])
def test_beyond_the_search_neighbouring_cells_are_added_up(p: int, monkeypatch: pytest.MonkeyPatch) -> None:
    body = gd.workload(some_ranges(300, 400), line(300)).sensitivity(ROW)
    best = length(optimal(body, None))
    monkeypatch.setattr("gaugedp.mechanisms.factorisation._MOST_WORK", 10**6)
    monkeypatch.setattr("gaugedp.mechanisms.strategies.best._recent", [])
    actual = best_strategy(body, p)
    on_the_cells = math.sqrt(body.columns().sum()) * (1 if p == 2 else math.sqrt(2))
    if p == 2:
        assert best <= length(actual) <= min(1.4 * best, 0.5 * on_the_cells)
    else:
        assert length(actual) * math.sqrt(2) <= 0.8 * on_the_cells


def test_what_is_too_large_for_the_search_says_where_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gaugedp.mechanisms.factorisation._MOST_WORK", 10**4)
    with pytest.raises(InvalidRequest, match=r"400 generators in 20 dimensions.* at most 10,000"):
        factorise(Polytope.symmetric_hull(np.random.default_rng(2).normal(size=(20, 400))))


def test_normal_noise_on_cells_serves_what_is_never_written_out() -> None:
    many = gd.Domain.of(a=gd.integers(1, 30_000), b=["x", "y"])
    body = gd.stack(gd.prefix_sums(many, "a"), gd.marginals(many, ("a", "b"))).sensitivity(ROW)
    strategy = best_strategy(body, 2)
    assert strategy.describe() == "the 60,000 cells"
    assert strategy.radius == pytest.approx(1)
    assert strategy.squares.sum() == pytest.approx(2 * 30_000 * 30_001 / 2 + 60_000)
