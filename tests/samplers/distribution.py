"""True distribution functions on 0, 1, 2, …, with mpmath at the precision that the caller sets."""

from fractions import Fraction

import mpmath


def weights(rate: Fraction, growth: Fraction, length: int | None) -> list[mpmath.mpf]:
    """Return e^(−k·rate − k(k−1)/2·growth) for k below `length`, or until they are below the precision."""
    results: list[mpmath.mpf] = []
    floor = mpmath.ldexp(1, -mpmath.mp.prec)
    while length is None or len(results) < length:
        k = len(results)
        exponent = k * rate + k * (k - 1) * growth / 2
        results.append(mpmath.exp(-mpmath.mpf(exponent.numerator) / exponent.denominator))
        if results[-1] < floor and length is None:
            break
    return results


def cumulative(rate: Fraction, growth: Fraction = Fraction(0), length: int | None = None) -> list[mpmath.mpf]:
    """Return P(X ≤ k) for k = 0, 1, 2, … of the law with these weights."""
    terms = weights(rate, growth, length)
    total, running, actual = mpmath.fsum(terms), mpmath.mpf(0), []
    if length is None and growth == 0:
        total += terms[-1] / mpmath.expm1(mpmath.mpf(rate.numerator) / rate.denominator)
    for term in terms:
        running += term
        actual.append(running / total)
    return actual
