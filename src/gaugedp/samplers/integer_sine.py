"""Sine, cosine and π in integers, by brackets."""

from functools import lru_cache

from gaugedp.samplers.integer_exp import Bracket

_GUARD_BITS = 32


def sine_and_cosine(x: int, n_bits: int) -> tuple[Bracket, Bracket]:
    """Bracket 2^n_bits times the sine and cosine of x·2^−n_bits ≤ 1.

    Terms x^k/k! are rounded down, by at most 2 units: (2 + 1)/k + 1 ≤ 2 for k ≥ 3.
    """
    work = n_bits + _GUARD_BITS
    totals, term, k = [0, 0], 1 << work, 0
    while term:
        totals[k % 2] += -term if k & 2 else term
        k += 1
        term = (term * (x << _GUARD_BITS) >> work) // k
    slack = 2 * k + 4  # of k terms, and of all that follow
    even, odd = (_cut(total, slack, n_bits) for total in totals)
    return odd, even


@lru_cache(maxsize=256)
def pi_bracket(n_bits: int) -> Bracket:
    """Bracket 2^n_bits·π by 16·artan(1/5) − 4·artan(1/239) (Machin 1706)."""
    work = n_bits + _GUARD_BITS
    (fifth, first), (other, second) = _artan(5, work), _artan(239, work)
    return _cut(16 * fifth - 4 * other, 16 * first + 4 * second, n_bits)


def _artan(q: int, n_bits: int) -> tuple[int, int]:
    """Return 2^n_bits·artan(1/q) and an error bound: each power is at most 2 units too small, each term 3."""
    total, power, k = 0, (1 << n_bits) // q, 1
    while power:
        total += -(power // k) if k & 2 else power // k
        power, k = power // q**2, k + 2
    return total, 3 * k


def _cut(total: int, slack: int, n_bits: int) -> Bracket:
    low, high = (total - slack) >> _GUARD_BITS, -(-(total + slack) >> _GUARD_BITS)
    return max(0, low), min(high, 4 << n_bits)
