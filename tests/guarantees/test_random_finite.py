"""Made-up mechanisms with rational probabilities: no accountant is ever below the exact product."""

import math
import random
from fractions import Fraction

import mpmath
import pytest

from gaugedp.guarantees import FiniteLoss, PureDP, compose
from gaugedp.guarantees.base import METHODS
from tests.guarantees import finite

PER_CHUNK = 100
CHUNKS = [0, *(pytest.param(chunk, marks=pytest.mark.thorough) for chunk in range(1, 4))]
ULPS = 1 + mpmath.mpf(10) ** -13


def cases(chunk: int) -> list[tuple[finite.Laws, ...]]:
    rng = random.Random(chunk)
    return [
        tuple(finite.made_up(rng, rng.randint(3, 8), with_zeros=rng.random() < 0.3) for _ in range(rng.choice([2, 3])))
        for _ in range(PER_CHUNK)
    ]


@pytest.mark.parametrize("chunk", CHUNKS)
def test_no_method_is_below_the_exact_product(chunk: int) -> None:
    for laws in cases(chunk):
        together, guarantee = finite.product(*laws), compose((FiniteLoss(*each), 1) for each in laws)
        for epsilon in (0.0, 0.3, 1.1):
            exact = finite.delta(together, epsilon)
            for method in (None, *METHODS):
                assert guarantee.delta(epsilon, method) >= exact
            tight = guarantee.delta(epsilon, "tight")
            assert tight.low <= exact
            assert tight <= exact * ULPS + 1e-15
        for method in ("rdp", "tight"):
            epsilon = float(guarantee.epsilon(0.05, method))
            assert math.isinf(epsilon) or finite.delta(together, epsilon) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(2))
def test_pure_guarantees_read_off_mechanisms_cover_their_product(chunk: int) -> None:
    rng = random.Random(100 + chunk)
    for _ in range(40):
        laws = [finite.made_up(rng, rng.randint(3, 5)) for _ in range(2)]
        together = finite.product(*laws)
        guarantee = compose((PureDP(finite.loss(each)), 1) for each in laws)
        for epsilon in (0.1, 0.7):
            for method in (None, *METHODS):
                assert guarantee.delta(epsilon, method) >= finite.delta(together, epsilon)


def test_the_low_end_of_rare_outcomes_is_below_the_truth() -> None:
    """A rare outcome with a large loss beside common ones near 0, whose losses are rounded by the size of the large."""
    for rare, rarer in ((-9, -12), (-6, -10), (-12, -15)):
        p, q = (Fraction(10) ** power for power in (rare, rarer))
        actual = FiniteLoss([p, 1 - p], [q, 1 - q]).delta(0)
        assert actual.low <= p - q <= actual
        assert actual.low >= (p - q) * Fraction(9, 10)


def test_the_low_end_near_a_small_largest_loss_is_below_the_truth() -> None:
    """e^ε is rounded by its own size, however small the largest loss."""
    for others in (17, 33, 1001):
        p, q = (Fraction(3, 4), Fraction(1, 4)), (Fraction(others - 4, others), Fraction(4, others))
        largest = math.log(p[1] / q[1])
        for power in range(6, 14):
            epsilon = largest * (1 - 10.0**-power)
            with mpmath.workdps(60):
                truth = mpmath.mpf(1) / 4 - mpmath.exp(mpmath.mpf(epsilon)) * 4 / others
            actual = FiniteLoss(p, q).delta(epsilon)
            assert actual.low <= truth <= float(actual), (others, power)
