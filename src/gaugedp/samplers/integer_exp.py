"""Exponential function in integers, by brackets."""

from fractions import Fraction

Bracket = tuple[int, int]


def exp_negative(x: Fraction, n_bits: int) -> Bracket:
    """Bracket 2^n_bits·e^(−x) for x ≥ 0 by integers."""
    if x > n_bits:  # e^(−x) < 2^(−x) ≤ 2^(−n_bits)
        return 0, 1
    halvings = max(0, (2 * x.numerator // x.denominator).bit_length())
    work_bits = n_bits + 24 + 2 * halvings  # guard bits
    bracket = _alternating_series(x / 2**halvings, work_bits)
    for _ in range(halvings):
        bracket = multiply(bracket, bracket, work_bits)
    return bracket[0] >> (work_bits - n_bits), -(-bracket[1] >> (work_bits - n_bits))


def multiply(a: Bracket, b: Bracket, n_bits: int) -> Bracket:
    """Bracket the product of two numbers in [0, 1], scaled by 2^n_bits."""
    return a[0] * b[0] >> n_bits, -(-a[1] * b[1] >> n_bits)


def _alternating_series(y: Fraction, n_bits: int) -> Bracket:
    """Bracket 2^n_bits·e^(−y) for 0 ≤ y ≤ 1 by partial sums of Σ (−y)^k/k!, whose terms decrease."""
    share = (y.numerator << n_bits) // y.denominator
    total = term = 1 << n_bits
    k = 0
    while term:
        k += 1
        term = (term * share >> n_bits) // k  # off by at most 1.5 units, and the remainder by as much
        total += -term if k % 2 else term
    return max(0, total - 2 * k - 4), min(1 << n_bits, total + 2 * k + 4)
