"""Sums of Laplace variables, the tree of noisy counts, and how seldom its ends pass a quantile."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

import gaugedp as gd
from gaugedp.mechanisms import count_tree
from gaugedp.mechanisms.count_tree import CountTree, NoisyCounts, upper_quantiles

HALF, TENTH = Fraction(1, 2), Fraction(1, 10)
MISSES = [0.1, 0.0225, 1e-4, 1e-9]
FALSE_ALARMS = 1e-6


def tails(quantiles: np.ndarray, counts: tuple[int, int], weights: tuple[float, float]) -> np.ndarray:
    """P(X ≥ t) in closed form: one variable of each kind, or two of the first."""
    a, b = weights
    if counts == (1, 0):
        return np.exp(-quantiles / a) / 2
    if counts == (2, 0):
        return np.exp(-quantiles / a) * (2 + quantiles / a) / 4
    return (a**2 * np.exp(-quantiles / a) - b**2 * np.exp(-quantiles / b)) / (2 * (a**2 - b**2))


@pytest.mark.parametrize("weights", [(0.9, 0.1), (0.4, 0.6), (0.999, 0.001)])
@pytest.mark.parametrize("counts", [(1, 0), (2, 0), (1, 1)])
@pytest.mark.parametrize("miss", MISSES)
def test_quantiles_of_few_variables_are_those_in_closed_form(miss: float, counts, weights) -> None:
    actual = upper_quantiles(miss, (np.array([counts[0]]), np.array([counts[1]])), weights)
    assert tails(actual, counts, weights)[0] <= miss
    assert tails(actual, counts, weights)[0] >= miss * (1 - 1e-6)


@pytest.mark.parametrize(("first", "second"), [(5, 0), (3, 4), (40, 2), (1, 60), (30, 30)])
def test_quantiles_of_many_variables_are_those_of_draws(first: int, second: int) -> None:
    """400,000 draws with a fixed key: how many are above, at 1e-6; 1.1 times the miss alarms."""
    rng, size, weights = np.random.default_rng([first, second]), 400_000, (0.8, 0.2)
    drawn = sum(
        sign * weight * (rng.standard_gamma(count, size) - rng.standard_gamma(count, size)) if count else 0.0
        for sign, weight, count in zip((1, -1), weights, (first, second), strict=True)
    )
    for miss in (0.02, 0.1):
        quantile = upper_quantiles(miss, (np.array([first]), np.array([second])), weights)[0]
        above = int((drawn >= quantile).sum())
        assert stats.binomtest(above, size, miss).pvalue > FALSE_ALARMS
        assert stats.binomtest(above, size, 1.1 * miss).pvalue < FALSE_ALARMS


def test_the_quantile_of_a_row_does_not_depend_on_the_others() -> None:
    counts = (np.arange(0, 30), 30 - np.arange(0, 30))
    together = upper_quantiles(0.0225, counts, (0.3, 0.7))
    apart = [
        upper_quantiles(0.0225, (first, other), (0.3, 0.7))[0]
        for first, other in zip(*np.array(counts)[..., None], strict=True)
    ]
    np.testing.assert_allclose(together, apart, rtol=1e-8)


# -- the tree ------------------------------------------------------------------------------------------


def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(count_tree, "discrete_laplace", lambda size, *_: np.zeros(size, dtype=np.int64))


def all_counts(tree: CountTree, histogram: np.ndarray) -> np.ndarray:
    """Every count of the tree, in rows, without noise."""
    counts, (branching, height) = NoisyCounts(tree, histogram, gd.research_rng(1)), tree.shape
    nodes = [(depth, place) for depth in range(1, height + 1) for place in range(branching ** (depth - 1))]
    return np.concatenate([counts.children(*node) for node in nodes]).astype(float) / 64


@pytest.mark.parametrize("n_values", [2, 5, 9, 70, 300])
def test_the_noise_hides_what_a_unit_does_to_all_counts(n_values: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row more anywhere moves one count a level: the ℓ₁ distance of all counts is the height, and no more."""
    quiet(monkeypatch)
    tree, empty = CountTree(n_values, Fraction(3), 0.7), np.zeros(n_values, dtype=np.int64)
    branching, height = tree.shape
    assert branching**height >= n_values
    moves = [np.abs(all_counts(tree, row) - all_counts(tree, empty)).sum() for row in np.eye(n_values, dtype=np.int64)]
    assert set(moves) == {float(height)}
    assert tree.scale == 64 * 3 * Fraction(height) / Fraction(7, 10)


def test_the_noise_has_that_scale() -> None:
    """20,000 counts; the mean magnitude of discrete Laplace noise, five standard errors, and a tenth less alarms."""
    tree, sizes = CountTree(300, Fraction(1), 1.0), []
    for key in range(200):
        counts = NoisyCounts(tree, np.zeros(300, dtype=np.int64), gd.research_rng(key))
        sizes += np.abs(np.concatenate([counts.children(1, 0), counts.children(2, 0)]).astype(float)).tolist()
    scale, error = float(tree.scale), float(tree.scale) / len(sizes) ** 0.5
    assert abs(np.mean(sizes) - scale) < 5 * error
    assert abs(np.mean(sizes) - 0.9 * scale) > 5 * error


def test_a_node_has_one_noise() -> None:
    counts = NoisyCounts(CountTree(50, Fraction(1), 1.0), np.arange(50), gd.research_rng(2))
    first = counts.children(1, 0).copy()
    counts.end(HALF, -1, 0.02), counts.end(TENTH, 1, 0.3)
    assert (counts.children(1, 0) == first).all()


@pytest.mark.parametrize("quantile", [HALF, TENTH, Fraction(2, 3)])
def test_without_noise_and_widths_the_ends_are_the_quantiles(
    quantile: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of every small table: the least value with q·n rows up to it, and the largest with no more below."""
    quiet(monkeypatch)
    monkeypatch.setattr(CountTree, "widths", lambda tree, *_: np.zeros(tree.shape[0] - 1, dtype=object))
    for table in product(range(3), repeat=5):
        counts = NoisyCounts(CountTree(5, Fraction(1), 1.0), np.array(table), gd.research_rng(1))
        running, n = np.cumsum(table), sum(table)
        least = int(np.flatnonzero(running >= quantile * n)[0])
        largest = int(np.flatnonzero(running - table <= quantile * n)[-1])
        assert [counts.end(quantile, side, 0.1) for side in (-1, 1)] == [least, largest]


def worst(n_values: int, quantile: Fraction, side: int) -> tuple[np.ndarray, int]:
    """A table all of whose boundaries beyond a value are at no distance, and all before it far: the search errs most.

    Return it and the value that the end must not pass.
    """
    table, place = np.zeros(n_values, dtype=np.int64), n_values // 3
    table[place if side < 0 else n_values - 1 - place] = 10_000 * (quantile if side < 0 else 1 - quantile)
    table[-1 if side < 0 else 0] += 10_000 * ((1 - quantile) if side < 0 else quantile)
    return table, place if side < 0 else n_values - 1 - place


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize("quantile", [HALF, TENTH])
def test_ends_pass_a_quantile_as_seldom_as_they_say(quantile: Fraction, side: int) -> None:
    """3,000 searches of the worst kind of table: no more than `miss` pass, at 1e-6, and not many fewer."""
    tree, miss, size = CountTree(2000, Fraction(1), 1.0), 0.1, 3000
    table, value = worst(2000, quantile, side)
    ends = [NoisyCounts(tree, table, gd.research_rng(key)).end(quantile, side, miss) for key in range(size)]
    passed = int(sum(side * (value - end) > 0 for end in ends))
    assert stats.binomtest(passed, size, miss, alternative="greater").pvalue > FALSE_ALARMS
    assert passed >= 0.6 * miss * size
    assert stats.binomtest(passed, size, miss / 2, alternative="greater").pvalue < FALSE_ALARMS


def test_wider_widths_give_ends_further_out() -> None:
    tree, table = CountTree(500, Fraction(1), 0.5), np.random.default_rng(3).poisson(1.0, 500)
    for key in range(50):
        counts = NoisyCounts(tree, table, gd.research_rng(key))
        lower = [counts.end(HALF, -1, miss) for miss in (0.001, 0.025, 0.2)]
        upper = [counts.end(HALF, 1, miss) for miss in (0.001, 0.025, 0.2)]
        assert lower == sorted(lower)
        assert upper == sorted(upper, reverse=True)


@pytest.mark.parametrize("quantile", [HALF, TENTH, Fraction(99, 100)])
def test_the_reach_is_that_of_the_widest_boundary(quantile: Fraction) -> None:
    tree = CountTree(3000, Fraction(2), 0.4)
    branching, height = tree.shape
    widest = max(
        float(tree.widths(quantile, depth, n_left, 0.02).max()) / (64 * quantile.denominator)
        for depth in range(1, height + 1)
        for n_left in range((depth - 1) * (branching - 1) + 1)
    )
    assert widest <= tree.reach(quantile, 0.02) * (1 + 1e-6)
    assert tree.reach(quantile, 0.02) <= widest * (1.6 if quantile == HALF else 1.1)
