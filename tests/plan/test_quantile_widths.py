"""What planned quantile intervals reach, in ranks and in units of the column."""

import numpy as np
import pandas as pd
import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest

DOMAIN = gd.Domain.of(SEX=["1", "2"], PAY=gd.bounded(0, 1000, 0.5))
ROW = gd.PrivacyUnit()


def planned(text: str) -> gd.Plan:
    return gd.plan(gd.query(DOMAIN, text), ROW, epsilon=1.0)


def test_public_values_turn_ranks_into_units() -> None:
    """Uniform values: a rank of n is a share of the range; the worst case is wider, and clipped at the bounds."""
    made = planned("quantiles(PAY, 1/4, 0.5)")
    found = gd.quantile_widths(made, np.linspace(0, 1000, 5001), rows=10_000)
    ordinary, worst = made.terms()[0]["ordinary_95"], made.terms()[0]["interval_95"][0]
    assert [one["quantile"] for one in found] == [0.25, 0.5]
    assert [one["value"] for one in found] == pytest.approx([250, 500], rel=0.01)
    assert max(one["ordinary"] for one in found) == pytest.approx(ordinary / 10, rel=0.01)
    assert found[1]["worst"] == pytest.approx(worst / 10, rel=0.01)
    assert gd.quantile_widths(made, np.linspace(0, 1000, 5001), rows=10)[1]["worst"] == pytest.approx(500)


def test_a_previous_release_turns_ranks_into_units() -> None:
    frame = pd.DataFrame({"SEX": ["1", "2"] * 2000, "PAY": np.linspace(0, 1000, 4000)})
    table = gd.Table.scan(frame, domain=DOMAIN)
    query = gd.query(DOMAIN, "SEX; quantiles(PAY, 0.25, 0.5, 0.75)")
    before = gd.release(query, table, ledger=gd.Ledger.in_memory(gd.PureDP(9)), epsilon=9, rng=gd.research_rng(1))
    made = planned("median(PAY) by SEX")
    (found,) = gd.quantile_widths(made, before, rows=2000)
    assert found["ordinary"] == pytest.approx(1000 * made.terms()[0]["ordinary_95"] / 2000, rel=0.1)
    counts = gd.release(gd.query(DOMAIN, "SEX"), table, ledger=gd.Ledger.in_memory(gd.PureDP(1)), epsilon=1)
    with pytest.raises(InvalidRequest, match="no quantiles of PAY"):
        gd.quantile_widths(made, counts, rows=2000)


def test_other_plans_and_values_are_refused() -> None:
    for text in ("SEX", "median(PAY); SEX"):
        with pytest.raises(InvalidRequest, match="Interval widths are predicted for quantiles"):
            gd.quantile_widths(planned(text), np.arange(10), rows=10)
    for values in ([], [np.nan, 1.0]):
        with pytest.raises(InvalidRequest, match="empty or not finite"):
            gd.quantile_widths(planned("median(PAY)"), np.array(values), rows=10)
    with pytest.raises(InvalidRequest):
        gd.quantile_widths(planned("median(PAY)"), np.arange(10), rows=0)


def test_a_plan_names_both_widths() -> None:
    made = planned("median(PAY)")
    ordinary, worst = made.terms()[0]["ordinary_95"], made.terms()[0]["interval_95"][0]
    assert f"intervals reach ±{ordinary:.4g} rows on ordinary tables" in str(made)
    assert f"±{worst:.4g} in the worst case" in str(made)
    assert 3 * ordinary < worst
    assert planned("SEX").terms()[0]["ordinary_95"] is None


@pytest.mark.parametrize("text", ["median(v)", "quantiles(v, 0.25, 0.5, 0.75)", "median(v); g"])
def test_an_error_costs_no_more_than_the_best_mechanism_for_it(text: str) -> None:
    """The shortest intervals have larger errors, which would cost six times the ε."""
    query = gd.query(gd.Domain.of(v=gd.bounded(0, 500), g=["a", "b", "c"]), text)
    plan = gd.plan(query, gd.PrivacyUnit(), error=50)
    assert plan.error <= 50
    assert "RankExponential" in plan.mechanism.name
    shortest = gd.plan(query, gd.PrivacyUnit(), epsilon=plan.epsilon)
    assert shortest.error >= 0.99 * plan.error
