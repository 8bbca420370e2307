"""The running total says what the composed guarantee says, whatever is added and asked."""

import random

import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import LaplaceLoss, Odometer, SubsampledGaussian


def made_up(rng: random.Random) -> gd.guarantees.Guarantee:
    return rng.choice([
        gd.GaussianDP(round(rng.uniform(0.05, 0.2), 4)),
        LaplaceLoss(round(rng.uniform(8, 40), 3)),
        gd.PureDP(round(rng.uniform(0.01, 0.1), 4)),
    ])  # fmt: skip


def test_it_stays_with_the_composed_total() -> None:
    rng, odometer, total = random.Random(1), Odometer(), gd.PureDP(0.0)
    for n in range(60):
        guarantee = made_up(rng)
        odometer.add(guarantee)
        total = total + guarantee
        if n % 3 == 0:
            actual, fresh = odometer.epsilon(1e-6), total.epsilon(1e-6)
            assert odometer.total == total
            assert actual.low <= fresh
            assert fresh.low <= actual
            assert actual == pytest.approx(fresh, rel=1e-6)


def test_a_kind_with_two_directions_may_join_late() -> None:
    odometer = Odometer()
    for _ in range(3):
        odometer.add(gd.GaussianDP(0.3))
        odometer.add(LaplaceLoss(5.0), 2)
        odometer.epsilon(1e-6)
    odometer.add(SubsampledGaussian(0.05, 1.0), 50)
    assert odometer.epsilon(1e-6) == pytest.approx(odometer.total.epsilon(1e-6), rel=1e-9)
    odometer.add(SubsampledGaussian(0.05, 1.0), 50)
    assert odometer.epsilon(1e-6) == pytest.approx(odometer.total.epsilon(1e-6), rel=1e-9)


def test_a_curve_or_a_lost_mass_is_taken_from_the_total() -> None:
    for late in (gd.ZCDP(0.1), gd.ApproxDP(0.1, 1e-8)):
        odometer = Odometer()
        odometer.add(gd.GaussianDP(0.3))
        odometer.add(LaplaceLoss(5.0))
        odometer.epsilon(1e-6)
        odometer.add(late)
        actual = odometer.epsilon(1e-6)
        assert (actual, actual.method) == (odometer.total.epsilon(1e-6), odometer.total.epsilon(1e-6).method)


def test_another_delta_and_nothing_at_all() -> None:
    odometer = Odometer()
    assert odometer.epsilon(1e-6) == 0
    odometer.add(gd.GaussianDP(0.3), 0)
    assert odometer.total == gd.PureDP(0.0)
    odometer.add(gd.GaussianDP(0.3))
    odometer.add(LaplaceLoss(5.0))
    for delta in (1e-6, 1e-3, 1e-6, 0.0, 1.0):
        assert odometer.epsilon(delta) == odometer.total.epsilon(delta)


def test_bad_questions_are_refused() -> None:
    odometer = Odometer()
    with pytest.raises(InvalidRequest):
        odometer.add(gd.PureDP(1.0), -1)
    with pytest.raises(InvalidRequest):
        odometer.epsilon(1.5)
