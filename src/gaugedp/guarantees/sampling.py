"""Privacy amplification by sampling: docs/theory/sampling.md.

Proof of theorem 4 there. By joint convexity one sample of the other units is the worst. dP/dA = 1 + qs with E s = 0.

1. The bound for integers is the binomial theorem.
2. (1 + qs)^a = 1 + aqs + a(a − 1)·q²s²·∫₀¹ (1 − t)·(1 + qts)^{a−2} dt by Taylor's formula. With 1 − a in place of a,
   the exponent in the integral is −(a + 1).
3. Let this exponent be −b, b = 2 − a or a + 1, and w = qtb ≤ 1. By the inequality of means, 1 + qts ≥ (1 + s)^{qt}, so
   (1 + qts)^−b ≤ (1 + s)^−w ≤ 1 − w + w/(1 + s). Both E s² and E s²/(1 + s) = E r^−1 − 1 are at most V, the first from
   B against A, the second from A against B.
4. For 2 < a < 3 the fourth derivative of (1 + qs)^a is negative, so its third Taylor polynomial lies above it. Written
   in powers of r, the coefficients of r² and r³ are not negative.
5. For the last bound, ((1 + qs)^{1−a} − 1 + (a − 1)qs)/s² decreases in s, as the third derivative is negative. So it is
   largest at s = −1.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from gaugedp._internal.bisection import root_of
from gaugedp._internal.rounding import OVERFLOW
from gaugedp.accountant.rounding import up

Profile = Callable[[float], float]  # ε ↦ an upper bound on δ


def sampled_delta(profile: Profile, rate: float, epsilon: float) -> float:
    """Return q·δ(ε′), e^{ε′} = 1 + (e^ε − 1)/q, q = `rate`, rounded up."""
    if epsilon > 30.0:  # e^ε − 1 is taken as a logarithm
        inner = epsilon - math.log(rate) + math.log1p(-(1 - rate) * math.exp(-epsilon))
    else:
        inner = math.log1p(math.expm1(epsilon) / rate)
    delta = profile(inner * (1 - 2.0**-50))
    least = math.ulp(0.0) if delta > 0 else 0.0  # an underflow is not a guarantee of pure privacy
    return min(1.0, max(up(rate * delta, relative=2.0**-44), least))


def amplified(epsilon: float, rate: float) -> float:
    """Return log(1 + q·(e^ε − 1)), q = `rate`, rounded up: the ε of sampled ε-DP."""
    if rate in (0, 1):
        return epsilon * rate
    if epsilon > 30.0:
        return min(epsilon, up(float(np.logaddexp(math.log1p(-rate), math.log(rate) + epsilon)), relative=2.0**-45))
    return min(epsilon, up(math.log1p(rate * math.expm1(epsilon))))


def log_mean_of_powers(chances: Sequence[float], powers: Sequence[float]) -> float:
    """Return log Σ p·e^x without cancellation, for `chances` p with sum 1 and `powers` x ≥ 0."""
    logs = [math.log(p) + x for p, x in zip(chances, powers, strict=True)]
    if max(logs) > OVERFLOW:
        return float(np.logaddexp.reduce(logs))
    terms = zip(chances, powers, logs, strict=True)
    return math.log1p(math.fsum(p * math.expm1(x) if x < OVERFLOW else math.exp(log) for p, x, log in terms))


def solved(sampled: Profile, start: float, delta: float) -> float:
    """Return an ε ≥ `start` with profile at most `delta`."""
    epsilon, gap = start, max(start, 1e-300) * 2.0**-50
    while sampled(epsilon) > delta:
        epsilon, gap = epsilon + gap, 2 * gap
    return epsilon


def least_of_profile(profile: Profile, delta: float, largest: float) -> float:
    """Return the least ε of a profile at `delta`, rounded up, at most `largest`."""
    if delta >= profile(0.0):
        return 0.0
    if math.isinf(largest) or delta == 0:
        return largest

    def excess(epsilon: float) -> float:
        return math.log(max(profile(epsilon), math.ulp(0.0))) - math.log(delta)

    root = largest if excess(largest) >= 0 else root_of(excess, 0.0, largest, 1e-15, 1e-14)
    return solved(profile, float(root), delta)
