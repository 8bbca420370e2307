"""Curves with 50 digits and more, written from their definitions; what the library returns is held against them."""

import math

import mpmath
from mpmath import mpf

DIGITS = 60


def high_precision(function):
    """Compute with DIGITS digits, and more where an exponent eats them."""

    def computed(*numbers, **facts):
        with mpmath.workdps(facts.pop("dps", DIGITS)):
            return +function(*[mpf(number) if isinstance(number, float) else number for number in numbers])

    return computed


@high_precision
def response_renyi(epsilon, order):
    """Return D_order of randomized response, whose truthful answer has the probability e^ε/(1 + e^ε)."""
    p, q = 1 / (1 + mpmath.exp(-epsilon)), 1 / (1 + mpmath.exp(epsilon))
    return mpmath.log(p**order * q ** (1 - order) + q**order * p ** (1 - order)) / (order - 1)


@high_precision
def response_delta(loss, epsilon):
    return max(mpf(0), (mpmath.exp(loss) - mpmath.exp(epsilon)) / (1 + mpmath.exp(loss)))


@high_precision
def response_epsilon(loss, delta):
    inner = mpmath.exp(loss) - delta * (1 + mpmath.exp(loss))
    return min(loss, mpmath.log(inner)) if inner > 1 else mpf(0)


@high_precision
def tail(x):
    """Return P(Z > x) with its relative accuracy kept however far out."""
    return mpmath.erfc(x / mpmath.sqrt(2)) / 2


def gaussian_delta(mu, epsilon):
    """Return Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ), with as many digits as the two terms lose to each other."""
    lost = 40 + int(max(0.0, -math.log10(mu))) * 3
    with mpmath.workdps(DIGITS + lost):
        m, e = mpf(mu), mpf(epsilon)
        return tail(e / m - m / 2, dps=DIGITS + lost) - mpmath.exp(e) * tail(e / m + m / 2, dps=DIGITS + lost)


@high_precision
def zcdp_epsilon(rho, delta):
    """Return the optimum over all real orders of ρa + log(1 − 1/a) − (log δ + log a)/(a − 1), by its derivative."""

    def value(a):
        return rho * a + mpmath.log1p(-1 / a) - (mpmath.log(delta) + mpmath.log(a)) / (a - 1)

    def slope(a):
        return rho + (mpmath.log(delta) + mpmath.log(a)) / (a - 1) ** 2

    return max(mpf(0), value(1 + rising_zero(slope)))


@high_precision
def zcdp_delta(rho, epsilon):
    """Return the optimum over all real orders of exp((a − 1)(ρa − ε + log(1 − 1/a)) − log a), at most 1."""

    def value(a):
        return (a - 1) * (rho * a - epsilon + mpmath.log1p(-1 / a)) - mpmath.log(a)

    def slope(a):
        return rho * (2 * a - 1) - epsilon + mpmath.log1p(-1 / a)

    return min(mpf(1), mpmath.exp(value(1 + rising_zero(slope))))


def rising_zero(slope):
    """Return a − 1 where the function, negative below and positive above, is zero; by bisection of log(a − 1)."""
    low, high = mpf(-120), mpf(120)
    for _ in range(220):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(1 + mpmath.exp(middle)) < 0 else (low, middle)
    return mpmath.exp(low)


@high_precision
def vertex_mu(epsilon):
    """Return the μ whose trade-off curve passes through the vertex of ε-DP: 2Φ⁻¹(e^ε/(1 + e^ε))."""
    return 2 * mpmath.sqrt(2) * mpmath.erfinv(mpmath.tanh(epsilon / 2))
