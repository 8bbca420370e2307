"""The law on a junction tree against its joint table, written out, and draws from it against what is expected."""

import itertools

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.synthesis.counts import CountTable
from gaugedp.synthesis.junction_tree import JunctionTree, spread, summed
from gaugedp.synthesis.maximum_entropy import SumTree, fitted, total
from gaugedp.synthesis.rows import drawn, given
from gaugedp.synthesis.tuning import TUNED

SIZES = (3, 2, 4, 2, 3)
ALL = tuple(range(len(SIZES)))
SCOPES = [
    pytest.param([(0, 1), (1, 2), (2, 3), (3, 4)], id="a chain"),
    pytest.param([(0, 1), (1, 2), (2, 3), (0, 3), (3, 4)], id="a ring"),
    pytest.param([(0, 2), (1,), (3, 4)], id="apart"),
    pytest.param([(0, 1, 2), (1, 2, 3), (2, 3, 4), (0, 4)], id="threes"),
]


def joint(tree: JunctionTree, parts: list[np.ndarray]) -> np.ndarray:
    """The sum of tables of the cliques, over all variables."""
    return sum((spread(part, clique, ALL) for part, clique in zip(parts, tree.cliques, strict=True)), np.zeros(SIZES))


def cells(scope: tuple[int, ...], values: np.ndarray, variance: float) -> CountTable:
    return CountTable(scope, tuple(tuple(range(n)) for n in values.shape), values, np.full(values.shape, variance))


def counts(scopes: list[tuple[int, ...]], table: np.ndarray, deviation: float, seed: int) -> list[CountTable]:
    noise = np.random.default_rng(seed)
    sums = [summed(table, ALL, scope) for scope in scopes]
    pairs = zip(scopes, sums, strict=True)
    return [cells(scope, part + deviation * noise.normal(size=part.shape), deviation**2) for scope, part in pairs]


@pytest.mark.parametrize("scopes", SCOPES)
def test_the_tables_of_cliques_are_those_of_the_joint_law(scopes: list[tuple[int, ...]]) -> None:
    tree, random = JunctionTree.of(SIZES, scopes), np.random.default_rng(1)
    assert all(set(scope) <= set(tree.cliques[tree.home(scope)]) for scope in scopes)
    potentials = [30 * random.normal(size=[SIZES[name] for name in clique]) for clique in tree.cliques]
    tables, log_sum = tree.tables(potentials)
    law = np.exp(joint(tree, potentials) - log_sum)
    assert law.sum() == pytest.approx(1)
    for clique, table in zip(tree.cliques, tables, strict=True):
        np.testing.assert_allclose(table, summed(law, ALL, clique), rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("scopes", SCOPES)
def test_the_law_of_any_variables_is_that_of_the_joint_law(scopes: list[tuple[int, ...]]) -> None:
    """Of those that no clique holds too, and where a cell of a clique has probability 0."""
    tree, random = JunctionTree.of(SIZES, scopes), np.random.default_rng(8)
    potentials = [random.normal(size=[SIZES[name] for name in clique]) for clique in tree.cliques]
    potentials[0].ravel()[:2] = -2000
    tables, log_sum = tree.tables(potentials)
    law = np.exp(joint(tree, potentials) - log_sum)
    for size in range(1, 5):
        for scope in itertools.combinations(ALL, size):
            np.testing.assert_allclose(tree.law(tables, scope), summed(law, ALL, scope), rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("seed", range(5))
def test_every_variable_hangs_together_in_the_tree(seed: int) -> None:
    """Of the cliques that hold a variable, all but one share it with their parents: the running intersection."""
    random = np.random.default_rng(seed)
    pairs = [pair for pair in itertools.combinations(range(9), 2) if random.random() < 0.3]
    tree = JunctionTree.of(random.integers(2, 6, 9).tolist(), pairs)
    for name in range(9):
        n_holding = sum(name in clique for clique in tree.cliques)
        assert sum(name in edge.separator for edge in tree.edges) == n_holding - 1


def test_shared_sums_are_the_sums_and_spreading_is_their_adjoint() -> None:
    random = np.random.default_rng(2)
    scopes = [(), (1,), *itertools.combinations(ALL, 2), *itertools.combinations(ALL, 3)]
    plan, table = SumTree.of(ALL, scopes), random.normal(size=SIZES)
    results = list(plan.sums(table))
    assert len({scope for scope, _ in results}) == len(results), "each scope once: spreading counts none twice"
    for scope in scopes:
        np.testing.assert_allclose(dict(results)[scope], summed(table, ALL, scope))
    parts = {scope: random.normal(size=[SIZES[name] for name in scope]) for scope in scopes}
    inner = sum(float((dict(results)[scope] * parts[scope]).sum()) for scope in scopes)
    assert float((plan.spread(parts, SIZES) * table).sum()) == pytest.approx(inner)


def test_a_chain_without_noise_is_the_chain_of_its_conditional_laws() -> None:
    table = np.random.default_rng(3).dirichlet(np.ones(np.prod(SIZES))).reshape(SIZES) * 5000
    scopes = [(0, 1), (1, 2)]
    tree = JunctionTree.of(SIZES, scopes)
    laws = fitted(tree, counts(scopes, table, 1e-6, 4), 5000)
    first, second = (summed(table, ALL, scope) / 5000 for scope in scopes)
    expected = first[:, :, None] * second[None] / first.sum(axis=0)[None, :, None]
    law = np.exp(joint(tree, [np.log(part) for part in laws]))  # of cliques that share one variable, and single ones
    law = law / spread(first.sum(axis=0), (1,), ALL)
    np.testing.assert_allclose(summed(law, ALL, (0, 1, 2)), expected, atol=1e-4)


@pytest.mark.parametrize("scopes", SCOPES)
def test_no_law_near_by_is_better(scopes: list[tuple[int, ...]]) -> None:
    """The sum of n·KL to the uniform law and of weighted squares is the least; a control ten times as loose is not."""
    random = np.random.default_rng(5)
    table = random.dirichlet(np.full(np.prod(SIZES), 0.3)).reshape(SIZES) * 400
    tables = counts(scopes, table, 8.0, 6)
    tables = [*tables[:-1], cells(scopes[-1], tables[-1].values, 400.0)]
    n, tree = 400.0, JunctionTree.of(SIZES, [ALL])
    law = fitted(tree, tables, n)[0]
    variances = np.concatenate([part.variances.ravel() for part in tables])
    root, slack = np.sqrt(variances).mean(), 2 * TUNED.slack

    def worth(law: np.ndarray) -> float:
        squares = sum(
            float(((n * summed(law, ALL, part.scope) - part.values) ** 2 * root / (slack * part.variances)).sum())
            for part in tables
        )
        return n * float((law * np.log(law)).sum()) + squares

    others = [np.exp(0.02 * random.normal(size=SIZES)) * law for _ in range(200)]
    assert all(worth(other / other.sum()) > worth(law) for other in others)
    loose = fitted(tree, [cells(part.scope, part.values, 10 * part.variances.max()) for part in tables], n)[0]
    assert worth(loose) > worth(law) + 0.1


def test_the_number_of_rows_is_weighed_by_how_exact_the_tables_are() -> None:
    exact, loose = cells((0,), np.full(3, 100.0), 1.0), cells((1,), np.full(2, 400.0), 24.0)
    assert total([exact, loose]) == pytest.approx((300 * 16 + 800) / 17)


def test_draws_in_each_group_are_the_expected_numbers_rounded() -> None:
    scopes, random = [(0, 1), (1, 2), (0, 4)], np.random.default_rng(7)
    tree = JunctionTree.of(SIZES, scopes)
    laws, _ = tree.tables([random.normal(size=[SIZES[name] for name in clique]) for clique in tree.cliques])
    rows = drawn(tree, laws, 10_007, gd.research_rng(8))
    assert rows.shape == (10_007, len(SIZES))
    for law, clique in zip(laws, tree.cliques, strict=True):
        results = np.zeros(law.shape)
        np.add.at(results, tuple(rows[:, list(clique)].T), 1)
        assert np.abs(results - 10_007 * law).max() < 3


def test_an_impossible_cell_is_never_drawn_and_rare_ones_are_as_often_as_expected() -> None:
    tree, law = JunctionTree.of((2, 50), [(0, 1)]), np.full((2, 50), 1 / 60)
    law[0, :30], law[1, :10] = 0.0, 0.0
    draws = [drawn(tree, [law], 7, gd.research_rng(seed)) for seed in range(600)]
    results = np.zeros((2, 50))
    for rows in draws:
        np.add.at(results, tuple(rows.T), 1)
    assert (results[law == 0] == 0).all()
    expected = 600 * 7 / 60  # of a cell; by systematic sampling its variance is at most that of independent draws
    assert np.abs(results[law > 0] - expected).max() < 5 * np.sqrt(expected)  # a false alarm in 60 × 6e-7


def test_groups_of_one_row_are_drawn_unlike_each_other() -> None:
    cells = given(np.full((1000, 4), 0.25), np.arange(1000), gd.research_rng(9))
    assert np.abs(np.bincount(cells) - 250).max() < 8, "golden steps: far below the √188 of independent draws"


def test_attributes_that_no_table_joins_are_drawn_apart() -> None:
    tree = JunctionTree.of((4, 4), [(0,), (1,)])
    rows = drawn(tree, [np.full(4, 0.25), np.full(4, 0.25)], 40_000, gd.research_rng(9))
    table = np.bincount(rows[:, 0] * 4 + rows[:, 1], minlength=16).reshape(4, 4)
    assert ((table - 2500.0) ** 2 / 2500).sum() < 40  # χ² of 9 degrees is larger once in 1e5
