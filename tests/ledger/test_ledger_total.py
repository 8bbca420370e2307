"""The ledger's total is the accountant's, and budgets by Rényi orders are kept."""

import pytest

import gaugedp as gd
from gaugedp.errors import LedgerRefused
from gaugedp.guarantees import RenyiBudget, RenyiDP, compose


def paid(ledger: gd.Ledger, *guarantees: gd.guarantees.Guarantee) -> None:
    for guarantee in guarantees:
        requested = {"table": "people", "unit": gd.PrivacyUnit(), "request": {"query": "count"}}
        ledger.settle(ledger.reserve([guarantee], **requested), b"{}")


def test_the_total_is_the_composition_of_what_was_charged() -> None:
    guarantees = [gd.PureDP(0.1), gd.PureDP(0.25), gd.PureDP(0.1)]
    ledger = gd.Ledger.in_memory(gd.PureDP(2.0))
    assert ledger.total == gd.PureDP(0.0)
    paid(ledger, *guarantees)
    assert ledger.total == compose((guarantee, 1) for guarantee in guarantees)
    assert ledger.total.epsilon(0.0) == ledger.spent.epsilon(0.0) == 0.45
    assert ledger.total.epsilon(1e-6) == sum(guarantees).epsilon(1e-6) < 0.45


def test_a_budget_at_fixed_orders_is_kept_at_each() -> None:
    ledger = gd.Ledger.in_memory(RenyiDP([2, 8], [1.0, 2.0]))
    paid(ledger, gd.ZCDP(0.2))
    assert ledger.spent == RenyiDP([2, 8], [0.4, 1.6])
    with pytest.raises(LedgerRefused, match="is left"):
        paid(ledger, gd.ZCDP(0.1))
    paid(ledger, gd.ZCDP(0.05))
    assert not ledger.affords(gd.ApproxDP(0.1, 1e-9))


@pytest.mark.slow
def test_a_budget_by_the_best_order_takes_more_gaussian_releases_than_the_plain_sum() -> None:
    epsilon, delta, mu = 2.0, 1e-6, 0.02
    plain, best = gd.Ledger.in_memory(gd.ApproxDP(epsilon, delta)), gd.Ledger.in_memory(RenyiBudget(epsilon, delta))
    cost = gd.ApproxDP(gd.GaussianDP(mu).epsilon(delta / 100), delta / 100)
    admitted = 0
    while best.affords(gd.GaussianDP(mu)):
        paid(best, gd.GaussianDP(mu))
        admitted += 1
    assert admitted > 10 * epsilon / cost.epsilon_value
    assert best.total.delta(epsilon) <= delta
    assert plain.affords(cost)
    with pytest.raises(LedgerRefused):
        paid(best, gd.GaussianDP(mu))
