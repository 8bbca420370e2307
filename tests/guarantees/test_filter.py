"""Filters: what is admitted keeps the budget's guarantee, whatever is asked and in whatever order."""

import math
from fractions import Fraction

import pytest
from hypothesis import strategies as st

from gaugedp._internal.validate import decimal
from gaugedp.errors import InvalidRequest, LedgerRefused
from gaugedp.guarantees import (
    ZCDP,
    ApproxDP,
    DiscreteLaplaceLoss,
    ExponentialLoss,
    Filter,
    FiniteLoss,
    GaussianDP,
    Guarantee,
    LaplaceLoss,
    PureDP,
    RenyiBudget,
    RenyiDP,
    compose,
)
from tests.guarantees import oracles
from tests.guarantees.zoo import COMPONENTS
from tests.steady import given

ORDERS = [1, 2, 8, 32]
BUDGETS = [
    PureDP(2),
    ApproxDP(2, 1e-3),
    ZCDP(1.5),
    GaussianDP(1.5),
    RenyiDP(ORDERS, [0.5, 1, 3, 6]),
    RenyiBudget(3, 1e-5, [2, 8, 32]),
]
SMALL = st.one_of(
    COMPONENTS,
    st.floats(1e-3, 1).map(PureDP),
    st.floats(1, 50).map(LaplaceLoss),
    st.floats(1e-3, 0.3).map(ZCDP),
    st.floats(1e-2, 0.5).map(GaussianDP),
    st.floats(0.01, 0.5).map(ExponentialLoss),
    st.floats(0.01, 0.3).map(lambda value: RenyiDP(ORDERS, [value * order / 10 for order in ORDERS])),
)
every_budget = pytest.mark.parametrize("budget", BUDGETS, ids=repr)


def shown(guarantee: Guarantee, budget: Guarantee) -> tuple[Fraction, ...]:
    """Return the numbers that a budget of this kind adds up."""
    if isinstance(guarantee, RenyiDP):
        return tuple(decimal(value) for value in guarantee.values)
    return guarantee.cost(budget.accounting)


def capacity(budget: Guarantee) -> tuple[Fraction, ...]:
    if isinstance(budget, RenyiBudget):
        return tuple(Fraction(value) for value in budget.capacity)
    return shown(budget, budget)


def requested(budget: Guarantee, guarantees: list[Guarantee]) -> tuple[Filter, list[Guarantee]]:
    """Ask for one guarantee after the other; return the filter and what it admitted."""
    spending, admitted = Filter(budget), []
    for guarantee in guarantees:
        before = spending.spent, spending.remaining, spending.total
        if spending.admits(guarantee):
            assert spending.spend(guarantee) == spending.remaining
            admitted.append(guarantee)
        else:
            with pytest.raises(LedgerRefused):
                spending.spend(guarantee)
            assert (spending.spent, spending.remaining, spending.total) == before
    return spending, admitted


@every_budget
def test_random_sequences_never_overdraw(budget: Guarantee) -> None:
    @given(st.lists(SMALL, min_size=1, max_size=14), examples=40)
    def check(guarantees: list[Guarantee]) -> None:
        spending, admitted = requested(budget, guarantees)
        assert spending.total == compose((guarantee, 1) for guarantee in admitted)
        columns = [shown_of(guarantee, budget) for guarantee in admitted]
        sums = [sum(column, Fraction(0)) for column in zip(*columns, strict=True)]
        fits = [total <= most for total, most in zip(sums, capacity(budget), strict=False)]
        assert (any(fits) or not fits) if isinstance(budget, RenyiBudget) else all(fits)
        assert all(had >= total for had, total in zip(shown(spending.spent, budget), sums, strict=False))

    check()


def shown_of(guarantee: Guarantee, budget: Guarantee) -> tuple[Fraction, ...]:
    """Return what one guarantee costs this budget, from its own curve or cost."""
    if isinstance(budget, RenyiDP | RenyiBudget):
        curve = [guarantee.renyi(order) for order in budget.orders]
        return tuple(decimal(value) if value < math.inf else Fraction(10**12) for value in curve)
    return guarantee.cost(budget.accounting)


@every_budget
def test_spent_and_remaining_make_up_the_budget(budget: Guarantee) -> None:
    spending = Filter(budget)
    assert spending.budget == budget
    assert all(number == 0 for number in shown(spending.spent, budget))
    guarantee = PureDP(0.125)
    left = spending.spend(guarantee)
    parts = zip(shown(spending.spent, budget), shown(left, budget), capacity(budget), strict=True)
    for spent, remaining, most in parts:
        assert spent + remaining == pytest.approx(float(max(most, spent)), rel=1e-12)
    assert spending.total == guarantee


@every_budget
def test_the_budget_itself_fits_once(budget: Guarantee) -> None:
    whole, spending = budget, Filter(budget)
    if isinstance(budget, RenyiBudget):  # an order without room is left out: a divergence of 0 at one is 0 at all
        room = {order: value for order, value in zip(budget.orders, budget.capacity, strict=True) if value > 0}
        whole = RenyiDP(room, [value * (1 - 1e-12) for value in room.values()])
    assert spending.admits(whole)
    spending.spend(whole)
    more = RenyiDP(whole.orders, [1e-6] * len(whole.orders)) if isinstance(whole, RenyiDP) else PureDP(1e-9)
    assert not spending.admits(more)


@every_budget
def test_asking_costs_nothing(budget: Guarantee) -> None:
    spending = Filter(budget)
    for _ in range(3):
        assert spending.admits(PureDP(0.1))
    assert spending.spent == Filter(budget).spent
    assert spending.total == PureDP(0)


NOT_CHARGEABLE = [
    (PureDP(1), GaussianDP(0.1)),
    (PureDP(1), FiniteLoss([0.1, 0.9], [0, 1])),
    (ApproxDP(1, 1e-6), ZCDP(0.01)),
    (ZCDP(1), ApproxDP(0.1, 1e-9)),
    (GaussianDP(1), ZCDP(0.01)),
    (RenyiDP([2, 8], [1, 2]), RenyiDP([2], [0.1])),
    (RenyiDP([2], [1]), ApproxDP(0.1, 1e-9)),
    (RenyiBudget(1, 1e-6), ApproxDP(0.1, 1e-9)),
]


@pytest.mark.parametrize(("budget", "guarantee"), NOT_CHARGEABLE, ids=repr)
def test_what_has_no_cost_is_refused_in_words(budget: Guarantee, guarantee: Guarantee) -> None:
    spending = Filter(budget)
    spending.spend(PureDP(0.01))
    before = spending.spent
    assert not spending.admits(guarantee)
    with pytest.raises(LedgerRefused, match=r"cannot be charged to a budget of.*\. Specify .*\."):
        spending.spend(guarantee)
    assert spending.spent == before
    assert spending.total == PureDP(0.01)


def test_what_does_not_fit_is_refused_in_words() -> None:
    spending = Filter(PureDP(1))
    spending.spend(PureDP(0.75))
    with pytest.raises(
        LedgerRefused, match=r"PureDP\(0\.5\) exceeds the budget: PureDP\(0\.25\) of PureDP\(1\) is left"
    ):
        spending.spend(PureDP(0.5))


@pytest.mark.parametrize("budget", [2 * PureDP(1), LaplaceLoss(1), FiniteLoss([0.5, 0.5], [0.4, 0.6]), 1.0, None])
def test_other_budgets_are_refused(budget: object) -> None:
    with pytest.raises(InvalidRequest, match="cannot be the budget of a ledger"):
        Filter(budget)


@pytest.mark.parametrize("budget", [RenyiBudget(0.001, 1e-6, [2]), RenyiDP([2, 3], [0, 1]), PureDP(0)], ids=repr)
def test_budgets_that_admit_nothing_are_refused(budget: Guarantee) -> None:
    with pytest.raises(InvalidRequest, match="too small to be spent"):
        Filter(budget)


# -- exact ends --------------------------------------------------------------------------------------------------------


def admitted_times(budget: Guarantee, guarantee: Guarantee) -> int:
    """Return how often the guarantee is admitted, asked for in batches that become smaller."""
    spending, count = Filter(budget), 0
    for batch in (8**6, 8**5, 8**4, 8**3, 64, 8, 1):
        while spending.admits(batch * guarantee):
            spending.spend(batch * guarantee)
            count += batch
    return count


@pytest.mark.parametrize(
    ("budget", "guarantee", "times"),
    [
        (PureDP(1), PureDP(0.1), 10),
        (PureDP(1), LaplaceLoss(10), 10),
        (PureDP(1), DiscreteLaplaceLoss(20, 2), 10),
        (ApproxDP(1, 1e-6), ApproxDP(0.1, 1e-7), 10),
        (ApproxDP(1, 1e-6), ApproxDP(0.1, 3e-7), 3),
        (ZCDP(1), PureDP(0.2), 50),
        (ZCDP(1), ExponentialLoss(0.4), 50),
        (ZCDP(1), GaussianDP(0.2), 50),
        (GaussianDP(1), GaussianDP(0.1), 100),
        (RenyiDP([2, 4], [1, 1.5]), ZCDP(0.125), 3),
    ],
)
def test_exactly_as_many_as_fit(budget: Guarantee, guarantee: Guarantee, times: int) -> None:
    """RenyiDP needs every order: 3·(4·0.125) is all of 1.5, while order 2 has 0.25 left."""
    actual = admitted_times(budget, guarantee)
    assert times - (1 if isinstance(budget, RenyiDP) else 0) <= actual <= times


# -- the best order ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-6), (1.0, 1e-6), (4.0, 1e-9), (10.0, 1e-3)])
@pytest.mark.parametrize("mu", [0.01, 0.05, 0.3])
def test_gaussian_releases_within_the_best_order_keep_epsilon_and_delta(
    epsilon: float, delta: float, mu: float
) -> None:
    times = admitted_times(RenyiBudget(epsilon, delta), GaussianDP(mu))
    if times:
        assert oracles.gaussian_delta(mu * math.sqrt(times), epsilon) <= delta
        assert (times * GaussianDP(mu)).delta(epsilon) <= delta
    assert oracles.gaussian_delta(mu * math.sqrt(2 * times + 1), epsilon) > delta


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (8.0, 1e-6)])
def test_the_best_order_admits_more_than_the_sum_of_losses(epsilon: float, delta: float) -> None:
    budget = RenyiBudget(epsilon, delta)
    small = PureDP(epsilon / 400)
    times = admitted_times(budget, small)
    assert times > 3 * 400
    assert (times * small).delta(epsilon) <= delta


@pytest.mark.slow
@given(st.lists(st.floats(0.01, 0.4), min_size=20, max_size=120), examples=25)
def test_mixed_gaussian_releases_keep_epsilon_and_delta(mus: list[float]) -> None:
    budget = RenyiBudget(2, 1e-5)
    spending, square = Filter(budget), 0.0
    for mu in mus:
        if spending.admits(GaussianDP(mu)):
            spending.spend(GaussianDP(mu))
            square += mu * mu
    assert oracles.gaussian_delta(math.sqrt(square), 2.0) <= 1e-5


def test_it_goes_on_while_one_order_fits() -> None:
    """Order 32 is passed by the first guarantee, order 2 is not."""
    budget = RenyiBudget(4, 1e-5, [8, 32])
    low, high = budget.capacity
    steep = RenyiDP([8, 32], [low / 4, high * 2])
    spending = Filter(budget)
    for _ in range(4):
        assert spending.admits(RenyiDP([8, 32], [low / 4 * (1 - 1e-12), high * 2]))
        spending.spend(RenyiDP([8, 32], [low / 4 * (1 - 1e-12), high * 2]))
    assert not spending.admits(steep)
    assert spending.remaining.values[1] == 0


def test_an_order_without_a_bound_is_used_up_at_once() -> None:
    spending = Filter(RenyiBudget(20, 1e-5, [2, 8]))
    spending.spend(RenyiDP([2], [0.1]))
    assert spending.admits(RenyiDP([2], [0.1]))
    assert spending.remaining.values[1] == 0


@pytest.mark.parametrize("orders", [[], [1, 2], [2, 2], [math.inf], [0.5], [math.nan]])
def test_bad_orders_of_a_best_order_are_refused(orders: list[float]) -> None:
    with pytest.raises(InvalidRequest, match="orders"):
        RenyiBudget(1, 1e-6, orders)
