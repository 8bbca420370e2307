"""Bounds on ε from guesses: exact, by enumeration, at the laws where they are attained."""

from math import comb, exp, log

import numpy as np
import pytest

from gaugedp.audit.canaries import one_run, one_run_p_value
from gaugedp.audit.clopper_pearson import Guesses, estimated_shares, lower_share, most_right, tail
from gaugedp.audit.events import evidence

MISSES = (0.2, 0.01)


def above(n: int, right: float, wrong: float, miss: float, point: tuple[float, float], sides: int) -> float:
    """P(the bound is above ε), the guesses right and wrong with these probabilities in each of n runs."""
    epsilon, delta = point
    actual = 0.0
    for r in range(n + 1):
        for w in range(n + 1 - r):
            weight = comb(n, r) * comb(n - r, w) * right**r * wrong**w * (1 - right - wrong) ** (n - r - w)
            guesses = Guesses(r, r + w, n, sides, always=abs(right + wrong - 1) < 1e-12)
            actual += weight * (guesses.epsilon(miss, delta) > epsilon)
    return actual


@pytest.mark.parametrize("miss", MISSES)
@pytest.mark.parametrize("epsilon", [0.0, 0.7, 2.0])
@pytest.mark.parametrize("delta", [0.0, 0.05, 0.3])
def test_the_bound_is_too_large_as_rarely_as_it_says(miss: float, epsilon: float, delta: float) -> None:
    """At the extremal laws: P(A) = e^ε·Q(A) + δ on one side, and the same on both."""
    n = 40
    for wrong in (0.01, 0.08, 0.2):
        both = exp(epsilon) * wrong + delta  # right guesses on both sides: (δ + δ)/2
        if both + wrong <= 1:
            assert above(n, both, wrong, miss, (epsilon, delta), 2) <= miss
        one = exp(epsilon) * wrong + delta / 2
        if one + wrong <= 1:
            assert above(n, one, wrong, miss, (epsilon, delta), 1) <= miss
    always = most_right(epsilon, delta)
    assert above(n, always, 1 - always, miss, (epsilon, delta), 2) <= miss


def test_the_bound_is_not_idle() -> None:
    """At the extremal law it is too large nearly as often as it may be, and a false claim is found."""
    assert above(40, most_right(0.7, 0.0), 1 - most_right(0.7, 0.0), 0.2, (0.7, 0.0), 2) > 0.08
    assert above(40, 0.9, 0.1, 0.01, (0.7, 0.0), 2) > 0.9
    assert Guesses(900, 900, 10_000, 1).epsilon(0.01) == pytest.approx(log(0.01 ** (1 / 900) / (1 - 0.01 ** (1 / 900))))


def test_one_side_needs_half_the_delta() -> None:
    """An event A alone: P(A) ≤ e^ε·Q(A) + δ, and half of the runs are on either side."""
    assert Guesses(300, 400, 1000, 1).epsilon(0.01, 0.1) > Guesses(300, 400, 1000, 2).epsilon(0.01, 0.1)


@pytest.mark.parametrize("delta", [0.0, 0.02])
@pytest.mark.parametrize("always", [False, True])
def test_p_values_and_bounds_agree(delta: float, always: bool) -> None:
    guesses = Guesses(700, 1000, 1000 if always else 3000, 2, always)
    for epsilon in (0.2, 0.6, 0.8):
        p_value = guesses.p_value(epsilon, delta)
        assert guesses.epsilon(min(0.999, p_value * 1.001), delta) >= epsilon
        assert guesses.epsilon(p_value * 0.999, delta) <= epsilon + 1e-9
    assert Guesses(0, 0, 1000).epsilon(0.01) == -np.inf
    assert Guesses(0, 50, 1000).p_value(0.5, 0.1) == 1.0


def test_the_bound_of_clopper_and_pearson_inverts_the_tail() -> None:
    for right, n in ((0, 5), (3, 9), (9, 9)):
        low = lower_share(right, n, 0.05)
        assert low <= right / n
        if right > 0:
            assert tail(right, n, low) == pytest.approx(0.05, rel=1e-6)


def test_estimates_for_choosing_are_near_the_exact_bounds() -> None:
    assert estimated_shares(np.array([700, 0]), np.array([1000, 0]), 2.3263)[0] == pytest.approx(
        lower_share(700, 1000, 0.01), abs=1e-3
    )


def test_evidence_is_the_exponent_of_a_bound_on_the_tail() -> None:
    right, guessed = np.array([25, 40, 500, 0, 10, 7]), np.array([25, 50, 1000, 0, 20, 7])
    for share in (0.3, most_right(1.0, 0.0), 0.99):
        actual = evidence(right, guessed, np.full(6, share))
        for r, m, one in zip(right, guessed, actual, strict=True):
            assert tail(r, m, share) <= exp(-one) * (1 + 1e-9)
            assert one == 0 or tail(r, m, share) >= exp(-one) / (3 * m**0.5)
    assert evidence(right, guessed, np.full(6, 0.731))[0] == pytest.approx(-25 * log(0.731))


# -- one run -----------------------------------------------------------------------------------------


def test_one_run_is_the_binomial_bound_where_delta_is_zero() -> None:
    share = lower_share(90, 100, 0.05)
    assert one_run(1000, 100, 90, 0.95) == pytest.approx(log(share / (1 - share)), rel=1e-6)
    assert one_run(1000, 100, 50, 0.95) == 0.0
    assert one_run(1000, 0, 0, 0.95) == 0.0


def by_hand(m: int, r: int, v: int, epsilon: float, delta: float) -> float:
    """The formula of the paper, with loops."""
    q = 1 / (1 + exp(-epsilon))
    law = [comb(r, k) * q**k * (1 - q) ** (r - k) for k in range(r + 1)]
    steepest, gained = 0.0, 0.0
    for i in range(1, v + 1):
        gained += law[v - i]
        steepest = max(steepest, gained / i)
    return min(1.0, sum(law[v:]) + 2 * m * delta * steepest)


def test_one_run_follows_the_formula_of_the_paper() -> None:
    for m, r, v, epsilon, delta in ((50, 20, 17, 0.5, 1e-3), (100, 100, 80, 1.0, 1e-5), (10, 5, 0, 1.0, 0.1)):
        assert one_run_p_value(epsilon, m, r, v, delta) == pytest.approx(by_hand(m, r, v, epsilon, delta), rel=1e-9)
    assert one_run(1000, 200, 190, 0.95, 1e-5) < one_run(1000, 200, 190, 0.95, 0.0)
