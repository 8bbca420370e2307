"""Brackets of the exponential function against mpmath with 60 digits and more."""

from fractions import Fraction

import mpmath
import pytest
from hypothesis import strategies as st

from gaugedp.samplers.integer_exp import exp_negative, multiply
from tests.steady import given

RATIONALS = st.one_of(
    st.fractions(0, 1, max_denominator=10**20),
    st.fractions(0, 100, max_denominator=10**9),
    st.fractions(0, 10**6, max_denominator=10**30),
    st.builds(lambda n, k: Fraction(n, 2**k), st.integers(0, 1000), st.integers(0, 400)),
)


def truth(x: Fraction, n_bits: int) -> mpmath.mpf:
    """Return 2^n_bits·e^(−x); the caller sets the precision."""
    return mpmath.ldexp(mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator), n_bits)


def check(x: Fraction, n_bits: int) -> None:
    low, high = exp_negative(x, n_bits)
    with mpmath.workprec(n_bits + 200):
        assert low <= truth(x, n_bits) <= high
    assert high - low <= 2
    assert low >= 0
    assert high <= 2**n_bits


@given(RATIONALS, st.integers(64, 512))
def test_the_bracket_holds_the_truth_and_is_tight(x: Fraction, n_bits: int) -> None:
    check(x, n_bits)


@pytest.mark.parametrize("n_bits", [64, 65, 96, 127, 192, 511, 512])
@pytest.mark.parametrize("part", [Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(2), Fraction(7, 10)])
def test_the_places_where_the_method_changes(n_bits: int, part: Fraction) -> None:
    for power in (-200, -1, 0, 1, 5, 6):
        check(part * Fraction(2) ** power, n_bits)
    for nudge in (-1, 0, 1):
        check(n_bits + Fraction(nudge, 10**12), n_bits)
        check(n_bits * Fraction(6931471805599453, 10**16) + Fraction(nudge, 1000), n_bits)


def test_nothing_and_much() -> None:
    assert exp_negative(Fraction(0), 64) in ((2**64 - 1, 2**64), (2**64 - 2, 2**64), (2**64, 2**64))
    assert exp_negative(Fraction(10**9), 64) == (0, 1)


@given(st.lists(st.fractions(0, 1), min_size=2, max_size=2), st.integers(1, 200), st.integers(0, 5))
def test_products_of_brackets_hold_the_product(factors: list[Fraction], n_bits: int, slack: int) -> None:
    brackets = []
    for factor in factors:
        scaled = factor * 2**n_bits
        brackets.append((max(0, scaled.__floor__() - slack), scaled.__ceil__() + slack))
    low, high = multiply(*brackets, n_bits)
    assert low <= factors[0] * factors[1] * 2**n_bits <= high
