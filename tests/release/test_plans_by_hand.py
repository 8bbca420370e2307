"""Plans that are put together by hand: what is charged bounds what the mechanism tells, or nothing is released."""

import contextlib
import dataclasses
import itertools
from pathlib import Path

import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest, LedgerRefused
from gaugedp.guarantees import RenyiBudget, RenyiDP
from gaugedp.ledger import Ledger
from gaugedp.mechanisms import Laplace
from gaugedp.tables.table import Table

DOMAIN = gd.Domain.of(SEX=["1", "2"], AGE=["1", "2", "3"])
UNIT = gd.PrivacyUnit()
QUERY = gd.query(DOMAIN, "SEX; AGE; count")


@pytest.fixture
def table(tmp_path: Path) -> Table:
    (tmp_path / "people.csv").write_text("\n".join(["SEX,AGE", *["1,2", "2,3"] * 20]))
    return Table.scan(tmp_path / "people.csv", domain=DOMAIN, unit=UNIT, name="people")


TINY = [
    gd.PureDP(1e-9), gd.ApproxDP(1e-9, 1e-12), gd.ZCDP(1e-9), gd.GaussianDP(1e-9),
    RenyiDP([2.0, 8.0], [1e-9, 1e-9]), RenyiBudget(1e-9, 1e-9), gd.PureDP(1e-9) + gd.ZCDP(1e-9),
]  # fmt: skip
BUDGETS = [
    gd.PureDP(50), gd.ApproxDP(50, 0.1), gd.ZCDP(50), gd.GaussianDP(50),
    RenyiDP([2.0, 8.0], [50, 50]), RenyiBudget(50, 0.1),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    "guarantee",
    [
        {"epsilon": 1.0, "delta": 1e-6},
        *(pytest.param(each, marks=pytest.mark.thorough) for each in ({"epsilon": 1.0}, {"rho": 0.5}, {"mu": 3.0})),
    ],
)
def test_no_kind_of_guarantee_is_a_way_to_underpay(table: Table, guarantee: dict[str, float]) -> None:
    """Each mechanism of a plan, under less than was asked for, and under each kind of budget."""
    made, refusing = gd.plan(QUERY, UNIT, **guarantee), Ledger.in_memory(gd.ApproxDP(50, 0.1))
    for one, requested in itertools.product(made.candidates, TINY):
        hand = dataclasses.replace(made, requested=requested, mechanism=one.mechanism)
        with pytest.raises(InvalidRequest, match="does not follow from"):
            gd.release(QUERY, table, ledger=refusing, planned=hand)
    assert [entry.kind for entry in refusing.entries()] == ["open"]
    for one, budget in itertools.product(made.candidates, BUDGETS):
        ledger, own = Ledger.in_memory(budget), one.mechanism.guarantee
        with contextlib.suppress(LedgerRefused):  # a kind that this budget has no cost for
            answer = gd.release(QUERY, table, ledger=ledger, planned=dataclasses.replace(made, mechanism=one.mechanism))
            charged = ledger.entries()[-2].guarantee
            assert charged in (own, made.requested)
            assert charged.follows_from(own)
            assert answer.guarantee == own


def test_a_mechanism_of_ones_own_in_a_plan_has_an_error(table: Table) -> None:
    made = gd.plan(QUERY, UNIT, epsilon=1.0)
    laplace = Laplace.calibrate(QUERY.sensitivity(UNIT), gd.PureDP(0.5))
    hand = dataclasses.replace(made, mechanism=laplace)
    assert hand.error == pytest.approx(
        2 * next(candidate.error for candidate in made.candidates if candidate.mechanism.name == "Laplace"), rel=0.01
    )
    ledger = Ledger.in_memory(gd.PureDP(1))
    gd.release(QUERY, table, ledger=ledger, planned=hand)
    assert ledger.spent == gd.PureDP(0.5)
