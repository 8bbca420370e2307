"""Logarithm in integers, by brackets."""

from functools import lru_cache

from gaugedp.samplers.integer_exp import Bracket


def log_bracket(x: int, n_bits: int) -> Bracket:
    """Bracket 2^n_bits·log x for an integer x ≥ 1.

    With x = 2^e·m, 3/4 ≤ m < 3/2: log x = e·log 2 + 2·artanh((m − 1)/(m + 1)), and log 2 = 2·artanh(1/3).
    """
    exponent = (2 * x // 3).bit_length()
    work = n_bits + 32 + exponent.bit_length()  # guard bits
    two_low, two_high = _log_of_two(work)
    low, high = _twice_artanh(abs(x - (1 << exponent)), x + (1 << exponent), work)
    if x < 1 << exponent:
        low, high = -high, -low
    cut = work - n_bits
    return (exponent * two_low + low) >> cut, -(-(exponent * two_high + high) >> cut)


def logs_bracket(first: int, last: int, n_bits: int) -> Bracket:
    """Bracket 2^n_bits·log x for all real x, 1 ≤ first ≤ x ≤ last.

    log t ≤ sinh(log t) = (t − 1/t)/2 for t = last/first, so that one logarithm suffices.
    """
    low, high = log_bracket(first, n_bits)
    return low, high - (((first - last) * (first + last) << n_bits) // (2 * first * last))


@lru_cache(maxsize=256)
def _log_of_two(n_bits: int) -> Bracket:
    return _twice_artanh(1, 3, n_bits)


def _twice_artanh(numerator: int, denominator: int, n_bits: int) -> Bracket:
    """Bracket 2^n_bits·2·artanh(t), t = numerator/denominator in [0, 1/3].

    The series is Σ 2·t^(2k+1)/(2k+1). Powers are rounded down and are at most 2 units below the true ones (2/9 + 5/9 +
    1 < 2, where 5/9 comes from the square), so terms at most 3, and the remainder is below 3.
    """
    total = power = (numerator << n_bits) // denominator
    square, k = power * power >> n_bits, 1
    while power:
        power, k = power * square >> n_bits, k + 2
        total += power // k
    return 2 * total, 2 * (total + 3 * k)
