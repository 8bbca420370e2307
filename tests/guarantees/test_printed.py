"""Guarantees as people read them: few digits, on the side that claims too little."""

import pytest

import gaugedp as gd
from gaugedp.guarantees import ExponentialLoss, LaplaceLoss, RenyiDP
from gaugedp.guarantees.printed import rounded_left, rounded_up

LONG = 0.0800000000002
GUARANTEES = [
    (gd.PureDP(LONG), "PureDP(0.08001)", "PureDP(0.08)"),
    (gd.ApproxDP(0.5, 1e-6 / 3), "ApproxDP(0.5, 3.334e-07)", "ApproxDP(0.5, 3.333e-07)"),
    (gd.ZCDP(1 / 3), "ZCDP(0.3334)", "ZCDP(0.3333)"),
    (gd.GaussianDP(2.0), "GaussianDP(2)", "GaussianDP(2)"),
    (2 * ExponentialLoss(0.25), "2 * ExponentialLoss(0.25)", "2 * ExponentialLoss(0.25)"),
    (RenyiDP([2, 8], [LONG, 1]), "RenyiDP({2: 0.08001, 8: 1})", "RenyiDP({2: 0.08, 8: 1})"),
    ("epsilon 3.4629", "epsilon 3.4629", "epsilon 3.4629"),
]


@pytest.mark.parametrize(("guarantee", "up", "down"), GUARANTEES, ids=str)
def test_every_number_is_rounded(guarantee: object, up: str, down: str) -> None:
    assert (rounded_up(guarantee), rounded_left(guarantee, guarantee)) == (up, down)


LEFT = [
    (gd.PureDP(4e-13), gd.PureDP(2), "PureDP(0)"),
    (gd.PureDP(3e-6), gd.PureDP(2), "PureDP(3e-06)"),
    (gd.ApproxDP(4e-13, 4e-13), gd.ApproxDP(2, 1e-9), "ApproxDP(0, 4e-13)"),
    (RenyiDP([2, 8], [1e-12, 0.5]), RenyiDP([2, 8], [1, 1]), "RenyiDP({2: 0, 8: 0.5})"),
    ("epsilon 3.4629", gd.guarantees.RenyiBudget(4, 1e-6), "epsilon 3.4629"),
]


@pytest.mark.parametrize(("left", "budget", "shown"), LEFT, ids=str)
def test_what_rounding_left_over_is_nothing(left: object, budget: object, shown: str) -> None:
    assert rounded_left(left, budget) == shown


def test_scales_of_noise_stay_since_more_of_them_guarantees_more() -> None:
    assert rounded_up(LaplaceLoss(2.345678901)) == repr(LaplaceLoss(2.345678901))


def test_a_curve_shows_the_orders_that_say_something_first() -> None:
    assert repr(RenyiDP([2, 4, 8, 16, 32], [0, 0.25, 0.5, 1, 2])) == "RenyiDP({…, 4: 0.25, 8: 0.5, 16: 1, …})"
    assert repr(RenyiDP([2, 4], [0, 0])) == "RenyiDP({2: 0, 4: 0})"


@pytest.mark.parametrize("kind", [gd.PureDP, gd.ZCDP, gd.GaussianDP, ExponentialLoss])
def test_the_repr_is_exact(kind: type) -> None:
    assert eval(repr(kind(1 / 3)), {kind.__name__: kind}) == kind(1 / 3)
