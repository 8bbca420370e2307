"""From the numbers a person gives to the guarantee they ask for."""

import itertools
import math

import pytest

from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import (
    ZCDP,
    ApproxDP,
    ExponentialLoss,
    FiniteLoss,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiBudget,
    RenyiDP,
    SubsampledGaussian,
)
from gaugedp.guarantees.parse_guarantee import chargeable, guarantee_asked
from tests.cases import one_in
from tests.guarantees.examples import ORDINARY


@pytest.mark.parametrize(
    ("requested", "guarantee"),
    [
        ({"epsilon": 0.5}, PureDP(0.5)),
        ({"epsilon": 1, "delta": 1e-6}, ApproxDP(1, 1e-6)),
        ({"rho": 0.1}, ZCDP(0.1)),
        ({"mu": 2}, GaussianDP(2)),
    ],
)
def test_each_way_of_asking(requested: dict[str, float], guarantee: Guarantee) -> None:
    assert guarantee_asked(**requested) == guarantee


@pytest.mark.parametrize(
    "requested",
    [
        {},
        {"delta": 1e-6},
        {"rho": 0.1, "delta": 1e-6},
        {"mu": 0.1, "delta": 1e-6},
        {"epsilon": 1, "rho": 1},
        {"epsilon": 1, "mu": 1},
        {"rho": 1, "mu": 1},
        {"epsilon": 1, "delta": 1e-6, "rho": 1, "mu": 1},
    ],
)
def test_none_or_two_guarantees_at_once_are_refused(requested: dict[str, float]) -> None:
    with pytest.raises(
        InvalidRequest, match=r"guarantee|`delta` is given without `epsilon`|`delta` cannot be combined with"
    ):
        guarantee_asked(**requested)


@pytest.mark.parametrize("name", ["epsilon", "rho", "mu"])
@pytest.mark.parametrize("value", [0, -1, -1e-300, math.nan, math.inf, -math.inf, "1", "many", True, [1], 1j])
def test_bad_numbers_are_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(InvalidRequest, match=name):
        guarantee_asked(**{name: value})


@pytest.mark.parametrize("zero", [0, 0.0, -0.0])
def test_a_delta_of_0_is_a_pure_guarantee(zero: float) -> None:
    assert guarantee_asked(epsilon=2, delta=zero) == PureDP(2)


@pytest.mark.parametrize("value", [-1e-9, 1, 1.5, math.nan, math.inf, "1e-6", True])
def test_bad_deltas_are_refused_by_name(value: object) -> None:
    with pytest.raises(InvalidRequest, match="delta"):
        guarantee_asked(epsilon=1, delta=value)


# -- what may be charged ---------------------------------------------------------------------------

OWN = [guarantee for guarantees in ORDINARY.values() for guarantee in guarantees]
ASKED = [
    guarantee
    for kind in ("PureDP", "ApproxDP", "ZCDP", "GaussianDP", "RenyiDP", "BestOrder")
    for guarantee in ORDINARY[kind]
]
POINTS = [0.0, 0.1, 0.5, 1.0, 2.0, 4.0]


def _keeps(own: Guarantee, requested: Guarantee) -> bool:
    """Whether the curves of `own` are not above those that define what was asked for, at some points."""
    match requested:
        case RenyiDP():
            return all(
                own.renyi(order) <= value for order, value in zip(requested.orders, requested.values, strict=True)
            )
        case ZCDP():
            return all(own.renyi(order) <= requested.renyi(order) * (1 + 1e-9) for order in (1.01, 2.0, 8.0, 64.0))
        case ApproxDP() | RenyiBudget():
            return own.delta(requested.epsilon_value) <= requested.delta_value * (1 + 1e-9)
    return all(own.delta(point) <= requested.delta(point) * (1 + 1e-9) + 1e-15 for point in POINTS)


@pytest.mark.slow
@pytest.mark.parametrize("requested", one_in(2, ASKED), ids=str)
def test_what_follows_is_kept_by_the_curves_too(requested: Guarantee) -> None:
    """The rules may miss what follows; they never let anything pass that does not."""
    following = [own for own in OWN if requested.follows_from(own)]
    assert requested in following
    assert all(_keeps(own, requested) for own in following)


FOLLOWS = [
    (PureDP(1), PureDP(0.5)),
    (PureDP(1), ExponentialLoss(1)),
    (PureDP(0.3), PureDP(0.1) + PureDP(0.2)),
    (ApproxDP(1, 1e-6), PureDP(1)),
    (ApproxDP(1, 1e-6), GaussianDP(0.2)),
    (ApproxDP(1, 1e-6), ZCDP(0.01)),
    (ApproxDP(1, 1e-6), ApproxDP(1, 1e-9)),
    (ApproxDP(1, 0), PureDP(1)),
    (ZCDP(0.5), PureDP(1)),
    (ZCDP(0.125), ExponentialLoss(1)),
    (ZCDP(0.5), GaussianDP(1)),
    (ZCDP(0.5), ApproxDP(1, 0)),
    (GaussianDP(1), PureDP(0.8)),
    (GaussianDP(1), SubsampledGaussian(0.1, 1.01)),
    (RenyiDP([2], [0.5]), PureDP(0.5)),
    (RenyiBudget(1, 1e-6), GaussianDP(0.2)),
]
NOT = [
    (PureDP(1), ApproxDP(1, 1e-12)),
    (PureDP(1), GaussianDP(1e-9)),
    (PureDP(1), ZCDP(1e-9)),
    (PureDP(1), PureDP(1 + 1e-15)),
    (PureDP(9), FiniteLoss([0.5, 0.5, 0], [0.5, 0.4, 0.1])),
    (ApproxDP(1, 1e-6), GaussianDP(0.3)),
    (ApproxDP(1, 1e-6), ApproxDP(1, 2e-6)),
    (ApproxDP(1, 0), GaussianDP(1e-9)),
    (ZCDP(0.5), PureDP(1.01)),
    (ZCDP(1e9), ApproxDP(1, 1e-12)),
    (GaussianDP(1), PureDP(0.81)),
    (GaussianDP(1), ZCDP(0.4)),
    (GaussianDP(9), ApproxDP(0.1, 1e-12)),
    (RenyiDP([2, 8], [1, 1]), ApproxDP(0.1, 1e-12)),
    (RenyiDP([2, 8], [1, 0.1]), PureDP(0.9)),
    (RenyiBudget(1, 1e-6), GaussianDP(0.3)),
    (PureDP(1) + ZCDP(1), PureDP(0.1)),
]


@pytest.mark.parametrize(("requested", "own"), FOLLOWS, ids=str)
def test_what_follows_may_be_charged(requested: Guarantee, own: Guarantee) -> None:
    assert set(chargeable(own, requested)) == {own, requested}


@pytest.mark.parametrize(("requested", "own"), NOT, ids=str)
def test_what_does_not_follow_is_refused(requested: Guarantee, own: Guarantee) -> None:
    with pytest.raises(InvalidRequest, match="does not follow from"):
        chargeable(own, requested)


def test_a_guarantee_follows_from_itself() -> None:
    assert all(own.follows_from(own) for own in OWN)
    assert all(chargeable(own, own) == [own, own] for own in OWN)


def test_implications_chain() -> None:
    """What follows from a guarantee that follows from a third follows from the third, where the rules are exact."""
    kinds = [PureDP(0.5), PureDP(1), ZCDP(0.125), ZCDP(0.5), GaussianDP(0.5), GaussianDP(1), GaussianDP(1.3)]
    for first, second, third in itertools.permutations(kinds, 3):
        if first.follows_from(second) and second.follows_from(third):
            assert first.follows_from(third)
