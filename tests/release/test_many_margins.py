"""Hundreds of one-way margins: planned with the least noise, in closed form, and released."""

import math

import numpy as np
import pandas as pd
import pytest

import gaugedp as gd
from gaugedp.ledger import Ledger
from gaugedp.mechanisms import Matrix
from gaugedp.mechanisms.strategies import marginals
from gaugedp.mechanisms.strategies.marginals import Interactions

RHO = 0.1


def yes_or_no(n_columns: int) -> gd.Domain:
    return gd.Domain.of(**{f"q{i}": ["yes", "no"] for i in range(n_columns)})


def margins(domain: gd.Domain) -> gd.queries.Query:
    return gd.marginals(domain, *((name,) for name in domain.attributes))


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
    assert spaces.is_inside.tolist() == table
    assert [np.flatnonzero(row).tolist() for row in np.transpose(table)] == [list(places) for places in spaces.inside]
    assert [np.flatnonzero(row).tolist() for row in table] == spaces.around
    for block, places in zip(spaces.blocks, spaces.inside_blocks, strict=True):
        assert [spaces.sets[i] for i in places] == [axes for axes in spaces.sets if set(axes) <= set(block)]


def test_too_many_interactions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marginals, "MOST_SUBSETS", 5)
    query = margins(yes_or_no(5))
    assert not any(isinstance(row.mechanism, Matrix) for row in gd.plan(query, gd.PrivacyUnit(), rho=RHO).candidates)


def test_three_hundred_margins_are_released() -> None:
    domain = yes_or_no(300)
    frame = pd.DataFrame({name: np.where(np.arange(60) < 20, "yes", "no") for name in domain.attributes})
    ledger = Ledger.in_memory(gd.ZCDP(1e9))
    answer = gd.release(margins(domain), gd.Table.scan(frame, domain=domain), ledger=ledger, rho=1e6)
    assert answer.values.tolist() == [20, 40] * 300
