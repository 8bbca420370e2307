"""Small mechanisms with rational probabilities, whose privacy is known exactly."""

import itertools
import math
import random
from fractions import Fraction

import mpmath

Laws = tuple[tuple[Fraction, ...], tuple[Fraction, ...]]


def made_up(rng: random.Random, n_outcomes: int, with_zeros: bool = False) -> Laws:
    """Return two laws on the same outcomes; with zeros, some outcomes exist under one of them only."""

    def law() -> tuple[Fraction, ...]:
        parts = [rng.choice([0, 0, 1, 5, 20]) if with_zeros else rng.randint(1, 30) for _ in range(n_outcomes)]
        parts[rng.randrange(n_outcomes)] += 7
        return tuple(Fraction(part, sum(parts)) for part in parts)

    return law(), law()


def product(*mechanisms: Laws) -> Laws:
    """Return the laws of all outcomes together."""
    return tuple(
        tuple(math.prod(chosen) for chosen in itertools.product(*(each[side] for each in mechanisms)))
        for side in (0, 1)
    )


def delta(laws: Laws, epsilon: float) -> mpmath.mpf:
    """Return the exact δ at `epsilon`, the larger of both directions, to 50 digits."""
    with mpmath.workdps(50):
        grown = mpmath.exp(mpmath.mpf(epsilon))
        pairs = [[mpmath.mpf(x.numerator) / x.denominator for x in law] for law in laws]
        return max(
            mpmath.fsum(max(mpmath.mpf(0), p - grown * q) for p, q in zip(first, second, strict=True))
            for first, second in (pairs, pairs[::-1])
        )


def renyi(laws: Laws, order: float) -> mpmath.mpf:
    """Return the Rényi divergence of `order`, the larger of both directions, where both laws are positive."""
    with mpmath.workdps(50):
        pairs = [[mpmath.mpf(x.numerator) / x.denominator for x in law] for law in laws]
        return max(
            mpmath.log(mpmath.fsum(p**order * q ** (1 - order) for p, q in zip(first, second, strict=True)))
            / (order - 1)
            for first, second in (pairs, pairs[::-1])
        )


def loss(laws: Laws) -> float:
    """Return the ε of pure privacy, rounded up."""
    with mpmath.workdps(50):
        ratios = [max(p / q, q / p) for p, q in zip(*laws, strict=True)]
        worst = max(ratios)
        return math.nextafter(float(mpmath.log(mpmath.mpf(worst.numerator) / worst.denominator)), math.inf)


def raised(value: mpmath.mpf) -> float:
    """Return a float that is not below the value."""
    return math.nextafter(float(value), math.inf)
