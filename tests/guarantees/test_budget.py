"""Budgets: charges round up, capacity rounds down, and what has no cost is refused."""

import math
from fractions import Fraction

import pytest
from hypothesis import strategies as st

from gaugedp._internal.validate import decimal
from gaugedp.errors import InvalidRequest, LedgerRefused
from gaugedp.guarantees import ZCDP, ApproxDP, Budget, GaussianDP, Guarantee, PureDP, RenyiBudget, RenyiDP
from gaugedp.guarantees.budget import UNITS
from tests.guarantees.zoo import COMPONENTS
from tests.steady import given

TOTALS = [PureDP(1.0), ApproxDP(1.0, 1e-6), ZCDP(0.5), GaussianDP(1.0)]
TINY = 5e-324


def test_ten_tenths_fit_exactly_and_nothing_more() -> None:
    budget = Budget(PureDP(1.0))
    spent = budget.nothing
    for _ in range(10):
        charge = budget.charge(PureDP(0.1))
        assert budget.admits(spent, charge)
        spent = tuple(a + b for a, b in zip(spent, charge, strict=True))
    assert spent == budget.capacity
    assert budget.guarantee(spent) == PureDP(1.0)
    assert budget.left(spent) == PureDP(0.0)
    for more in (0.1, 1e-30, 1e-300, TINY):
        assert not budget.admits(spent, budget.charge(PureDP(more)))
    assert budget.admits(spent, budget.charge(PureDP(0)))


@pytest.mark.parametrize(
    ("total", "part", "times"), [(ZCDP(0.3), ZCDP(0.1), 3), (GaussianDP(0.5), GaussianDP(0.1), 25)]
)
def test_other_currencies_fit_exactly(total: Guarantee, part: Guarantee, times: int) -> None:
    budget = Budget(total)
    assert budget.charge(times * part) == tuple(times * x for x in budget.charge(part)) == budget.capacity
    assert not budget.admits(budget.nothing, budget.charge((times + 1) * part))


@given(COMPONENTS, st.sampled_from(TOTALS))
def test_charges_round_up_and_capacity_down(guarantee: Guarantee, total: Guarantee) -> None:
    budget = Budget(total)
    cost = guarantee.cost(budget.accounting)
    if cost is not None:
        charge = budget.charge(guarantee)
        assert all(number * UNITS <= units < number * UNITS + 1 for number, units in zip(cost, charge, strict=True))
    capacity = zip(total.cost(budget.accounting), budget.capacity, strict=True)
    assert all(number * UNITS - 1 < units <= number * UNITS for number, units in capacity)


def test_capacity_is_whole_units_rounded_down() -> None:
    assert Budget(PureDP(2.7e-30)).capacity == (2,)
    assert Budget(GaussianDP(1.1)).capacity == (121 * UNITS // 100,)
    assert Budget(ZCDP(1.2345678901234567e-14)).capacity == (12345678901234567,)
    assert Budget(ZCDP(1.2345678901234567e-15)).capacity == (1234567890123456,)


@given(st.lists(st.floats(1e-35, 1), min_size=1, max_size=30))
def test_the_sum_of_charges_is_never_below_the_sum_of_losses(losses: list[float]) -> None:
    budget = Budget(PureDP(1.0))
    charged = sum(budget.charge(PureDP(loss))[0] for loss in losses)
    assert Fraction(charged, UNITS) >= sum(decimal(loss) for loss in losses)


@pytest.mark.parametrize(
    "guarantee", [PureDP(TINY), ZCDP(TINY), GaussianDP(TINY), ApproxDP(TINY, 0), ApproxDP(0.1, TINY)]
)
@pytest.mark.parametrize("total", TOTALS)
def test_the_least_guarantee_costs_at_least_one_unit(guarantee: Guarantee, total: Guarantee) -> None:
    budget = Budget(total)
    if guarantee.cost(budget.accounting) is None:
        return
    assert all(
        units >= 1
        for units, number in zip(budget.charge(guarantee), guarantee.cost(budget.accounting), strict=True)
        if number
    )
    assert max(budget.charge(guarantee)) >= 1


@pytest.mark.parametrize("loss", [1e-17, 1e-100, TINY])
def test_small_pure_losses_cost_a_gaussian_budget_something(loss: float) -> None:
    assert Budget(GaussianDP(1.0)).charge(PureDP(loss)) >= (1,)


CHARGED = {
    "pure": {"pure": 1, "approx": 0},
    "approx": {"pure": 2, "approx": 2},
    "zcdp": {"pure": 1, "zcdp": 1, "gaussian": 1},
    "gaussian": {"pure": 1, "gaussian": 1},
}
PARTS = {"pure": PureDP(0.1), "approx": ApproxDP(0.1, 1e-9), "zcdp": ZCDP(0.01), "gaussian": GaussianDP(0.1)}


@pytest.mark.parametrize("total", TOTALS)
@pytest.mark.parametrize("kind", PARTS)
def test_what_has_no_cost_is_refused(total: Guarantee, kind: str) -> None:
    budget = Budget(total)
    if CHARGED[budget.accounting].get(kind):
        assert len(budget.charge(PARTS[kind])) == len(budget.capacity)
        return
    for guarantee in (PARTS[kind], PARTS[kind] + PureDP(0.1), 2 * PARTS[kind]):
        with pytest.raises(LedgerRefused, match="cannot be charged to a budget of"):
            budget.charge(guarantee)


def test_the_first_guarantee_with_a_cost_is_charged() -> None:
    assert Budget(PureDP(1)).charge(GaussianDP(0.1), PureDP(0.25), PureDP(0.5)) == (UNITS // 4,)
    with pytest.raises(LedgerRefused, match="GaussianDP"):
        Budget(PureDP(1)).charge(GaussianDP(0.1), ZCDP(0.1))


def test_known_costs() -> None:
    assert Budget(ZCDP(1)).charge(PureDP(1)) == (UNITS // 2,)
    assert Budget(ZCDP(1)).charge(GaussianDP(1)) == (UNITS // 2,)
    assert Budget(ApproxDP(1, 1e-6)).charge(PureDP(0.5)) == (UNITS // 2, 0)
    assert Budget(ApproxDP(1, 1e-6)).charge(2 * ApproxDP(0.5, 1e-9)) == (UNITS, 2 * 10**21)


def test_both_numbers_of_an_approximate_budget_must_fit() -> None:
    budget = Budget(ApproxDP(1, 1e-6))
    assert budget.admits(budget.nothing, budget.charge(ApproxDP(1, 1e-6)))
    assert not budget.admits(budget.nothing, budget.charge(ApproxDP(0.1, 1.1e-6)))
    assert not budget.admits(budget.nothing, budget.charge(ApproxDP(1.1, 1e-9)))


NOTHING = [PureDP(0), ZCDP(0), GaussianDP(0), ApproxDP(0, 1e-6), ApproxDP(1, 0), ApproxDP(0, 0)]
BELOW_ONE_UNIT = [PureDP(1e-31), GaussianDP(1e-16), ApproxDP(1, 1e-31)]


@pytest.mark.parametrize("total", NOTHING + BELOW_ONE_UNIT)
def test_empty_budgets_are_refused(total: Guarantee) -> None:
    with pytest.raises(InvalidRequest, match="too small to be spent"):
        Budget(total)


@pytest.mark.parametrize("total", [2 * PureDP(1), PureDP(1) + ZCDP(1)])
def test_compositions_are_no_budget(total: Guarantee) -> None:
    with pytest.raises(InvalidRequest, match="cannot be the budget of a ledger"):
        Budget(total)


def numbers(guarantee: Guarantee, accounting: str) -> tuple[Fraction, ...]:
    return guarantee.cost(accounting)


@given(st.sampled_from(TOTALS[:3]), st.integers(0, UNITS // 10**7))
def test_spent_rounds_up_and_left_rounds_down(total: Guarantee, units: int) -> None:
    check_rounding(total, units)


def test_spent_rounds_up_and_left_rounds_down_for_gaussian_budgets() -> None:
    for units in range(10**27 + 7, UNITS, 10**28 + 3):
        check_rounding(GaussianDP(1.0), units)


def check_rounding(total: Guarantee, units: int) -> None:
    budget = Budget(total)
    spent = tuple(min(units, capacity) for capacity in budget.capacity)
    for number, shown in zip(spent, numbers(budget.guarantee(spent), budget.accounting), strict=True):
        assert shown >= Fraction(number, UNITS)
    left = tuple(capacity - number for capacity, number in zip(budget.capacity, spent, strict=True))
    for number, shown in zip(left, numbers(budget.left(spent), budget.accounting), strict=True):
        assert shown <= Fraction(number, UNITS)


def test_nothing_is_left_after_too_much() -> None:
    budget = Budget(PureDP(1))
    assert budget.left((2 * UNITS,)) == PureDP(0)
    assert math.isclose(Budget(GaussianDP(0.1)).left((0,)).mu, 0.1)


def test_a_balance_of_a_best_order_is_an_epsilon_whose_rest_still_fits() -> None:
    """What is left at some orders is nothing from the start, while the budget still pays."""
    budget = Budget(RenyiBudget(2, 1e-6))
    spent, used = budget.nothing, [Fraction(0)]
    assert budget.in_words(spent)[0] == "epsilon 0"
    while budget.admits(spent, charge := budget.charge(PureDP(0.3))):
        spent = tuple(a + b for a, b in zip(spent, charge, strict=True))
        shown, left = (Fraction(text.removeprefix("epsilon ")) for text in budget.in_words(spent))
        assert shown + left == 2, "one sum"
        assert not left or budget.admits(spent, budget.charge(PureDP(float(left))))
        used.append(shown)
    assert used == sorted(set(used))
    assert len(used) > 6
    assert 1.5 < used[-1] <= 2
    assert Budget(ApproxDP(1.0, 1e-6)).in_words((0, 0)) == ("ApproxDP(0, 0)", "ApproxDP(1, 1e-06)")


def test_the_room_of_a_best_order_is_at_orders_that_have_any() -> None:
    budget = Budget(RenyiBudget(2, 1e-6))
    left, room = budget.left(budget.nothing), budget.room(budget.nothing)
    assert left.values[0] == 0 < min(room.values)
    assert budget.admits(budget.nothing, budget.charge(room))
    spent = tuple(max(0, units) for units in budget.capacity)
    assert budget.room(spent) == budget.left(spent), "nothing anywhere"
    assert Budget(PureDP(2)).room((0,)) == PureDP(2)


EVERY_KIND = [*TOTALS, RenyiBudget(2.0, 1e-6), RenyiDP([2.0, 8.0], [0.5, 3.0])]


@given(st.sampled_from(EVERY_KIND), st.lists(st.sampled_from([0.0, 0.01, 0.1, 0.25]), max_size=6), st.floats(0.01, 0.3))
def test_a_charge_fits_as_often_as_is_said(total: Guarantee, earlier: list[float], epsilon: float) -> None:
    """The oracle charges again and again."""
    budget = Budget(total)
    spent = budget.nothing
    for part in earlier:
        charge = budget.charge(PureDP(part))
        spent = tuple(a + b for a, b in zip(spent, charge, strict=True)) if budget.admits(spent, charge) else spent
    charge = budget.charge(PureDP(epsilon))
    n_fitting = budget.times(spent, charge)
    while budget.admits(spent, charge):
        spent = tuple(a + b for a, b in zip(spent, charge, strict=True))
        n_fitting -= 1
    assert n_fitting == 0


@given(st.sampled_from(EVERY_KIND), st.lists(st.floats(0.001, 0.2), max_size=5))
def test_amounts_grow_and_stay_within_those_of_the_budget(total: Guarantee, parts: list[float]) -> None:
    budget = Budget(total)
    spent, last = budget.nothing, budget.amounts(budget.nothing)
    assert not any(last.values())
    for part in parts:
        charge = budget.charge(PureDP(part))
        if not budget.admits(spent, charge):
            break
        spent = tuple(a + b for a, b in zip(spent, charge, strict=True))
        now = budget.amounts(spent)
        assert all(last[name] <= now[name] <= budget.amounts(budget.capacity)[name] for name in now)
        last = now


@pytest.mark.parametrize(
    ("total", "part", "amounts"),
    [
        (PureDP(1.0), PureDP(0.1), {"ε": Fraction(1, 10)}),
        (ApproxDP(1.0, 1e-6), ApproxDP(0.1, 1e-7), {"ε": Fraction(1, 10), "δ": Fraction(1, 10**7)}),
        (ZCDP(0.5), ZCDP(0.1), {"ρ": Fraction(1, 10)}),
        (GaussianDP(1.0), GaussianDP(0.1), {"μ²": Fraction(1, 100)}),
        (RenyiDP([2.0, 8.0], [0.5, 2.0]), RenyiDP([2.0, 8.0], [0.05, 0.1]), {"share": Fraction(1, 10)}),
    ],
)
def test_what_charges_amount_to(total: Guarantee, part: Guarantee, amounts: dict[str, Fraction]) -> None:
    budget = Budget(total)
    assert budget.amounts(budget.charge(part)) == amounts


def test_a_best_order_amounts_to_the_epsilon_that_it_shows() -> None:
    budget = Budget(RenyiBudget(2.0, 1e-6))
    spent = budget.charge(ZCDP(0.05))
    amount = budget.amounts(spent)["ε"]
    shown = float(budget.in_words(spent)[0].removeprefix("epsilon "))
    assert amount <= shown <= amount * Fraction(1001, 1000)
    assert budget.amounts(budget.capacity) == {"ε": Fraction(2)}
