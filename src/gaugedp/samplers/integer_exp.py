"""The exponential function in integers: brackets, never rounded guesses."""

from fractions import Fraction

_GUARD_BITS = 24

Bracket = tuple[int, int]


def exp_negative(x: Fraction, n_bits: int) -> Bracket:
    """Return integers (low, high) with low ≤ 2^n_bits·e^(−x) ≤ high, x ≥ 0, high − low small."""
    if x > n_bits:  # e^(−x) < 2^(−x) ≤ 2^(−n_bits)
        return 0, 1
    halvings = max(0, (2 * x.numerator // x.denominator).bit_length())
    work_bits = n_bits + _GUARD_BITS + 2 * halvings
    bracket = _alternating_series(x / 2**halvings, work_bits)
    for _ in range(halvings):
        bracket = multiply(bracket, bracket, work_bits)
    return bracket[0] >> (work_bits - n_bits), -(-bracket[1] >> (work_bits - n_bits))


def multiply(a: Bracket, b: Bracket, n_bits: int) -> Bracket:
    """Return a bracket of the product of two bracketed numbers in [0, 1], all scaled by 2^n_bits."""
    return a[0] * b[0] >> n_bits, -(-a[1] * b[1] >> n_bits)


def _alternating_series(y: Fraction, n_bits: int) -> Bracket:
    """Bracket 2^n_bits·e^(−y) for 0 ≤ y ≤ 1 by partial sums of Σ (−y)^k/k!, whose terms decrease."""
    unit = 1 << n_bits
    total, term, k = Fraction(unit), Fraction(unit), 0
    while term >= 1:
        k += 1
        # terms are cut to a few bits below a unit; what is cut is counted in the margin k
        term = Fraction((term * y / k).numerator * 16 // (term * y / k).denominator, 16)
        total += -term if k % 2 else term
    return max(0, int(total) - k - 2), min(unit, int(total) + k + 2)
