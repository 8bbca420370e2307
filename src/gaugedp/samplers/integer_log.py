"""The logarithm in integers: brackets, never rounded guesses."""

from functools import lru_cache

from gaugedp.samplers.integer_exp import Bracket

_GUARD_BITS = 32


def log_bracket(x: int, n_bits: int) -> Bracket:
    """Return integers (low, high) with low ≤ 2^n_bits·log x ≤ high for a whole number x ≥ 1, high − low small.

    With x = 2^e·m, 1 ≤ m < 2: log x = e·log 2 + 2·artanh((m − 1)/(m + 1)), and log 2 = 2·artanh(1/3).
    """
    exponent = x.bit_length() - 1
    work = n_bits + _GUARD_BITS + exponent.bit_length()
    two_low, two_high = _log_of_two(work)
    low, high = _twice_artanh(x - (1 << exponent), x + (1 << exponent), work)
    cut = work - n_bits
    return (exponent * two_low + low) >> cut, -(-(exponent * two_high + high) >> cut)


@lru_cache(maxsize=256)
def _log_of_two(n_bits: int) -> Bracket:
    return _twice_artanh(1, 3, n_bits)


def _twice_artanh(numerator: int, denominator: int, n_bits: int) -> Bracket:
    """Bracket 2^n_bits·2·artanh(t), t = numerator/denominator in [0, 1/3], by its series Σ 2·t^(2k+1)/(2k+1).

    Every lower product is rounded down and every upper one up. The upper sum ends with a power of one unit at most:
    what follows is below Σ 9^(−k) units, so that 4 units cover twice that.
    """
    low, high = (numerator << n_bits) // denominator, -(-(numerator << n_bits) // denominator)
    square_low, square_high = low * low >> n_bits, -(-high * high >> n_bits)
    below, above, k = 0, 4, 1
    while high > 1:
        below, above = below + low // k, above - (-high // k)
        low, high, k = low * square_low >> n_bits, -(-high * square_high >> n_bits), k + 2
    return 2 * below, 2 * above
