"""The far ends of every kind: an answer in range and in order, without a warning."""

import itertools
import math

import mpmath
import pytest

from gaugedp.guarantees import ExponentialLoss, Guarantee, LaplaceLoss
from gaugedp.guarantees.base import METHODS
from tests.guarantees.examples import ALL_EXTREME, named

EPSILONS = (0.0, 1e-3, 0.5, 1e3)
DELTAS = (0.0, 1e-300, 1e-9, 0.5, 1.0)
LEAST = 1e-322  # the last steps of the floats


def fall(values: list[float]) -> bool:
    return all(second <= first * (1 + 1e-9) + LEAST for first, second in itertools.pairwise(values))


@pytest.mark.many
@pytest.mark.parametrize("guarantee", ALL_EXTREME, ids=named)
@pytest.mark.parametrize(
    "question", ["renyi", *METHODS, pytest.param("least", marks=pytest.mark.thorough)]
)  # the least is what the methods gave
def test_extremes_are_answered(guarantee: Guarantee, question: str) -> None:
    if question == "renyi":
        curve = [guarantee.renyi(order) for order in (math.inf, 1e300, 1e4, 4, 1.5, 1)]
        assert all(value >= 0 for value in curve)
        assert fall(curve)
        return
    method = None if question == "least" else question
    deltas = [guarantee.delta(epsilon, method) for epsilon in EPSILONS]
    epsilons = [guarantee.epsilon(delta, method) for delta in DELTAS]
    assert all(0 <= bound.low <= bound for bound in deltas + epsilons)
    assert all(bound <= 1 for bound in deltas)
    assert fall(deltas)
    assert fall(epsilons)


@pytest.mark.parametrize("loss", [2e-16, 1e-9, 1e-3, 0.7, 40.0, 900.0])
@pytest.mark.parametrize("above", [0.0, 1e-15, 1e-7, 0.5, 30.0, 1e5, 1e15])
def test_a_bounded_range_loses_no_digits_where_terms_cancel(loss: float, above: float) -> None:
    """(a·l(aε/2) − (a − 1)·l((a − 1)ε/2) − l(ε/2))/(a − 1), l(x) = log(sinh(x)/x), with 200 digits."""
    with mpmath.workdps(200):
        half, more = mpmath.mpf(loss) / 2, mpmath.mpf(max(1 + above, 1 + 1e-15)) - 1
        first, second, third = (
            scale * (half * scale + mpmath.log(-mpmath.expm1(-2 * half * scale) / (2 * half * scale)))
            for scale in (1 + more, more, mpmath.mpf(1))
        )
        exact = (first - second - third) / more
        actual = ExponentialLoss(loss).renyi(1 + above)
        assert exact <= actual or actual == loss
        assert actual <= exact * (1 + mpmath.mpf(10) ** -13)


@pytest.mark.parametrize("value", [10.0**-k for k in range(1, 17)] + [0.5, 2.0, 7.0])
def test_the_epsilon_of_a_bounded_range_is_never_below_its_closed_form(value: float) -> None:
    with mpmath.workdps(60):
        for delta in (1e-6, 1e-8, 1e-10, 1e-12, 1e-14, 1e-16, 1e-20, 0.1, 0.4, 0.9):
            root = mpmath.sqrt(mpmath.mpf(delta) * -mpmath.expm1(-mpmath.mpf(value)))
            exact = max(mpmath.mpf(0), value + 2 * mpmath.log(1 - root))
            actual = ExponentialLoss(value).epsilon(delta)
            assert exact <= actual <= exact + 1e-13 * value


@pytest.mark.parametrize("delta", [1e-200, 1e-300, 5e-324])
def test_losses_at_their_largest_at_a_tiny_delta(delta: float) -> None:
    """Of bounded losses the sum is asked, where their density is still above δ; a mean of many is far below it."""
    whole = 2 * ExponentialLoss(0.25) + LaplaceLoss(2.0) + ExponentialLoss(0.5)
    actual = whole.epsilon(delta, "tight")
    assert 1.5 * (1 - 1e-10) < actual.low <= actual <= 1.5 * (1 + 1e-11)
    many = (5000 * ExponentialLoss(0.01) + LaplaceLoss(2.0)).epsilon(1e-200, "tight")
    assert 0 < many < 45
