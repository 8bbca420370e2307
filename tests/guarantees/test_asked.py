"""From the numbers a person gives to the promise they ask for."""

import math

import pytest

from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP
from gaugedp.guarantees.asked import promise_asked


@pytest.mark.parametrize(
    ("asked", "promise"),
    [
        ({"epsilon": 0.5}, PureDP(0.5)),
        ({"epsilon": 1, "delta": 1e-6}, ApproxDP(1, 1e-6)),
        ({"rho": 0.1}, ZCDP(0.1)),
        ({"mu": 2}, GaussianDP(2)),
    ],
)
def test_each_way_of_asking(asked: dict[str, float], promise: Guarantee) -> None:
    assert promise_asked(**asked) == promise


@pytest.mark.parametrize(
    "asked",
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
def test_none_or_two_promises_at_once_are_refused(asked: dict[str, float]) -> None:
    with pytest.raises(InvalidRequest, match="not clear"):
        promise_asked(**asked)


@pytest.mark.parametrize("name", ["epsilon", "rho", "mu"])
@pytest.mark.parametrize("value", [0, -1, -1e-300, math.nan, math.inf, -math.inf, "1", "many", True, [1], 1j])
def test_bad_numbers_are_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(InvalidRequest, match=name):
        promise_asked(**{name: value})


@pytest.mark.parametrize("zero", [0, 0.0, -0.0])
def test_a_delta_of_0_is_a_pure_promise(zero: float) -> None:
    assert promise_asked(epsilon=2, delta=zero) == PureDP(2)


@pytest.mark.parametrize("value", [-1e-9, 1, 1.5, math.nan, math.inf, "1e-6", True])
def test_bad_deltas_are_refused_by_name(value: object) -> None:
    with pytest.raises(InvalidRequest, match="delta"):
        promise_asked(epsilon=1, delta=value)
