"""Hundreds of one-way margins: planned with the least noise, in closed form, and released."""

import cProfile
import hashlib
import math
import pstats
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import gaugedp as gd
from gaugedp.ledger import Ledger
from gaugedp.mechanisms import Matrix
from gaugedp.mechanisms.strategies import marginals, weighted
from gaugedp.mechanisms.strategies.marginals import Interactions

RHO = 0.1


def yes_or_no(n_columns: int) -> gd.Domain:
    return gd.Domain.of(**{f"q{i}": ["yes", "no"] for i in range(n_columns)})


def margins(domain: gd.Domain) -> gd.queries.Query:
    return gd.marginals(domain, *((name,) for name in domain.attributes))


@pytest.mark.slow
@pytest.mark.parametrize("n_columns", [3, 300, 700])
def test_margins_get_the_least_noise(n_columns: int) -> None:
    """The total and k contrasts: Σ √(share·demand) = √(k/2) + k·√(1/2), its square over 2ρ is the least error."""
    plan = gd.plan(margins(yes_or_no(n_columns)), gd.PrivacyUnit(), rho=RHO)
    square = (math.sqrt(n_columns / 2) + n_columns / math.sqrt(2)) ** 2 / (2 * RHO)
    noise = next(row.mechanism for row in plan.candidates if isinstance(row.mechanism, Matrix))
    assert float(noise.variances.sum()) == pytest.approx(square + 2 * n_columns / 12, rel=1e-6)
    assert plan.error <= math.sqrt(square) * 1.001
    assert str(plan).count(" 2 x ") == n_columns


def test_each_margin_knows_its_subsets() -> None:
    blocks = [("c", "a"), ("b",), (), ("d", "b", "a")]
    domain = gd.Domain.of(a=gd.integers(1, 2), b=gd.integers(1, 1), c=gd.integers(1, 3), d=gd.integers(1, 4))
    body = gd.marginals(domain, *blocks).sensitivity(gd.PrivacyUnit())
    spaces = Interactions(body.generators.structure)
    assert spaces.sets == [(), (0,), (2,), (3,), (0, 2), (0, 3)]
    table = [[set(axes) <= set(wider) for wider in spaces.sets] for axes in spaces.sets]
    assert spaces.is_inside.toarray().tolist() == table
    assert [np.flatnonzero(row).tolist() for row in np.transpose(table)] == [list(places) for places in spaces.inside]
    assert [np.flatnonzero(row).tolist() for row in table] == spaces.around
    for block, places in zip(spaces.blocks, spaces.inside_blocks, strict=True):
        assert [spaces.sets[i] for i in places] == [axes for axes in spaces.sets if set(axes) <= set(block)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_columns", "budget", "mechanism"), [(100, {"rho": RHO}, "Matrix"), (80, {"epsilon": 1.0}, "Matrix")]
)
def test_all_pairs_of_many_columns_get_a_strategy(n_columns: int, budget: dict[str, float], mechanism: str) -> None:
    """The total, k and k·(k − 1)/2 contrasts: their demands are k·(k − 1)/8, (k − 1)/4 and 1/4."""
    domain = yes_or_no(n_columns)
    plan = gd.plan(gd.marginals(domain, *combinations(domain.attributes, 2)), gd.PrivacyUnit(), **budget)
    assert plan.mechanism.name == mechanism
    n_pairs = math.comb(n_columns, 2)
    demands = [(1, n_pairs / 4), (n_columns, (n_columns - 1) / 4), (n_pairs, 1 / 4)]
    least = sum(times * math.sqrt(demand) for times, demand in demands)
    if "rho" in budget:
        assert plan.error == pytest.approx(math.sqrt(least**2 / (2 * RHO) + 4 * n_pairs / 12), rel=1e-3)


def test_weights_are_the_same_where_pairs_of_sets_are_not_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = yes_or_no(12)
    body = gd.marginals(domain, *combinations(domain.attributes, 2)).sensitivity(gd.PrivacyUnit())
    full = weighted.weighted(body, body.generators.structure)
    monkeypatch.setattr(weighted, "_MOST_DENSE", 0)
    sparse = weighted.weighted(body, body.generators.structure)
    for name in ("weights", "noise", "squares", "largest"):
        assert getattr(sparse, name) == pytest.approx(getattr(full, name), rel=1e-3, abs=1e-6)
    assert sparse.radius * sum(sparse.squares) == pytest.approx(full.radius * sum(full.squares), rel=1e-3)


def test_levels_of_trees_are_looked_for_in_proportion() -> None:
    """Four times the tables are at most five times the calls; to compare each with each would make it sixteen."""

    def calls(n_columns: int) -> int:
        domain, profile = yes_or_no(n_columns), cProfile.Profile()
        operator = gd.marginals(domain, *combinations(domain.attributes, 2)).operator
        assert profile.runcall(lambda: operator.nesting) is None
        return pstats.Stats(profile).total_calls  # type: ignore[attr-defined]

    assert calls(40) < 5 * calls(20)


def test_too_many_interactions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marginals, "MOST_SUBSETS", 5)
    query = margins(yes_or_no(5))
    assert not any(isinstance(row.mechanism, Matrix) for row in gd.plan(query, gd.PrivacyUnit(), rho=RHO).candidates)


@pytest.mark.slow
def test_three_hundred_margins_are_released() -> None:
    domain = yes_or_no(300)
    frame = pd.DataFrame({name: np.where(np.arange(60) < 20, "yes", "no") for name in domain.attributes})
    ledger = Ledger.in_memory(gd.ZCDP(1e9))
    answer = gd.release(margins(domain), gd.Table.scan(frame, domain=domain), ledger=ledger, rho=1e6)
    assert answer.values.tolist() == [20, 40] * 300


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_columns", "order", "sizes", "neighbours", "expected"),
    [
        (20, 2, (2,), "add_remove", "364105c750a0"),
        (100, 1, (2,), "add_remove", "999fc065db3f"),
        (12, 3, (2, 3), "add_remove", "ed8b669b1e20"),
        (9, 2, (2, 3), "replace", "09f433bda624"),
    ],
)
def test_released_numbers_stay_what_they_were(
    n_columns: int, order: int, sizes: tuple[int, ...], neighbours: str, expected: str
) -> None:
    """Hashes of releases of 28 November 2026, before tables were counted together; the noise is of a research seed."""
    words, draw = [[f"c{j}" for j in range(sizes[i % len(sizes)])] for i in range(n_columns)], np.random.default_rng(7)
    frame = pd.DataFrame({f"q{i}": np.array(of)[draw.integers(0, len(of), 2000)] for i, of in enumerate(words)})
    domain, unit = gd.Domain.of(**{f"q{i}": of for i, of in enumerate(words)}), gd.PrivacyUnit(neighbours=neighbours)
    query = gd.marginals(domain, *combinations(domain.attributes, order))
    table, ledger = gd.Table.scan(frame, domain=domain, unit=unit, name="t"), Ledger.in_memory(gd.ZCDP(100.0))
    answer = gd.release(query, table, ledger=ledger, rho=RHO, rng=gd.research_rng(11))
    assert hashlib.sha256(answer.numbers.tobytes()).hexdigest()[:12] == expected
    assert answer.guarantee == gd.ZCDP(RHO)
    assert ledger.spent == gd.ZCDP(RHO)
