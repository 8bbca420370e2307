"""Exact binomial bounds on ε from guesses of the input."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from gaugedp._internal.bisection import bisected


@dataclass(frozen=True)
class Guesses:
    """Results of guesses of the answer behind each output.

    `right` of `guessed` guesses in `runs` independent runs were right; the other runs had no guess. The side of each
    run was a fair coin. A rule guesses "a" on one event and "b" on another: `sides` counts the nonempty ones; `always`
    states that the two events cover all outputs.
    """

    right: int
    guessed: int
    runs: int
    sides: int = 2
    always: bool = False

    def p_value(self, epsilon: float, delta: float = 0.0) -> float:
        """Bound the probability of so many right guesses under (ε, δ)-DP."""
        if delta == 0 or self.always:
            return tail(self.right, self.guessed, most_right(epsilon, delta))
        return _least_miss(lambda miss: self.epsilon(miss, delta) > epsilon)

    def epsilon(self, miss: float, delta: float = 0.0) -> float:
        """Return a lower confidence bound on ε at `delta`.

        It exceeds the true ε with probability at most `miss`; −∞ if there is none. Theorem (docs/theory/audit.md,
        theorem 1). A guess is right with probability s ≤ (e^ε + δ·sides/(2g))/(1 + e^ε), g the probability of guessing;
        so ε ≥ log((s − δ·sides/(2g))/(1 − s)), with s and g bounded below.
        """
        if self.guessed == 0:
            return -math.inf
        needs_rate = delta > 0 and not self.always
        # a tenth of the miss for the rate of guessing
        share = lower_share(self.right, self.guessed, miss * (1 - 0.1) if needs_rate else miss)
        rate = lower_share(self.guessed, self.runs, miss * 0.1) if needs_rate else 1.0
        spare = share - (delta * self.sides / 2 / rate if delta > 0 else 0.0)
        return math.log(spare / (1 - share)) if spare > 0 else -math.inf


def most_right(epsilon: float, delta: float) -> float:
    """Return the largest share of right guesses under (ε, δ)-DP if every run has a guess: (e^ε + δ)/(1 + e^ε)."""
    shrunk = math.exp(-epsilon)
    return min(1.0, (1 + delta * shrunk) / (1 + shrunk))


def lower_share(right: int, n: int, miss: float) -> float:
    """Return the Clopper–Pearson lower bound with error probability `miss`."""
    if right == 0:
        return 0.0
    # 1 - 1e-9: covers the rounding of the inverse of the incomplete beta function
    return (1 - 1e-9) * float(scipy.special.betaincinv(right, n - right + 1, miss))


def tail(right: int, n: int, share: float) -> float:
    """Return P(Binomial(n, share) ≥ right)."""
    return 1.0 if right == 0 else float(scipy.special.betainc(right, n - right + 1, share))


def estimated_shares(right: np.ndarray, n: np.ndarray, z: float) -> np.ndarray:
    """Return Wilson's lower bounds, for choosing, never for claiming."""
    share = np.divide(right, n, out=np.zeros(np.broadcast(right, n).shape), where=n > 0)
    extra = z * z / np.maximum(n, 1)
    root = np.sqrt(share * (1 - share) / np.maximum(n, 1) + extra**2 / (4 * z * z))
    return np.asarray((share + extra / 2 - z * root) / (1 + extra))


def _least_miss(alarms: Callable[[float], bool]) -> float:
    if not alarms(0.999999):
        return 1.0
    return math.exp(bisected(-700.0, 0.0, lambda log: not alarms(math.exp(log)), apart=2.0**-50)[1])
