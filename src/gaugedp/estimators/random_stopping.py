"""Guarantee for the best of randomly many runs."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from gaugedp._internal.bisection import bisected
from gaugedp._internal.rounding import PARAMETERS
from gaugedp._internal.validate import decimal
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import ApproxDP, Guarantee, PureDP
from gaugedp.guarantees.shares import part

Keeps = Callable[[ApproxDP | PureDP], Guarantee]  # from the budget of a run to its guarantee


@dataclass(frozen=True)
class RandomStopping:
    """The best of a geometric number K of runs.

    Theorem. Let K have the mean `draws`, an integer, and let a run with its score be (ε₁, δ₁)-DP, and (c, δ_c)-DP with
    δ_c ≤ (e^c − 1)/(draws − 1). The best of K independent runs with its score, of equal scores the first, is (ε₁ + 2c,
    draws·δ₁)-DP, if nothing else is released, not even K. For one draw c = 0 suffices. A run that is ε₁-DP has c ≤ ε₁:
    at most 3ε₁ in total. docs/theory/private_search.md
    """

    draws: int

    def part(self, total: Guarantee, share: float) -> ApproxDP | PureDP:
        """Return a run's budget: share·ε, and δ/draws."""
        if isinstance(total, ApproxDP):
            delta = part(total.delta_value, Fraction(1, self.draws))
            return ApproxDP(part(total.epsilon_value, Fraction(share)), delta)
        assert isinstance(total, PureDP)
        return PureDP(part(total.epsilon_value, Fraction(share)))

    def allows(self, run: Guarantee, requested: ApproxDP | PureDP, total: ApproxDP | PureDP) -> bool:
        """Return True if the best of such runs satisfies `total`; `run` implies `requested`, a `part` of it."""
        if self.draws == 1:
            return True
        c = math.nextafter(float((decimal(total.epsilon_value) - decimal(requested.epsilon_value)) / 2), 0.0)
        return run.delta(c) <= math.expm1(min(c, 700.0)) / (self.draws - 1) * (1 - PARAMETERS)  # e^c would overflow

    def largest(self, total: ApproxDP | PureDP, keeps: Keeps = lambda requested: requested) -> ApproxDP | PureDP:
        """Return the largest per-run budget whose composition stays within `total`."""
        low, high = (1 / 3, 1.0) if self.draws > 1 else (1.0, 1.0)
        if not self._is_allowed(low, total, keeps):
            raise InvalidRequest(
                "`delta` is too large relative to `epsilon` for a search.", "Use a smaller `delta`, or 0."
            )
        low, _ = bisected(low, high, lambda share: self._is_allowed(share, total, keeps), apart=2.0**-40)
        return self.part(total, low)

    def _is_allowed(self, share: float, total: ApproxDP | PureDP, keeps: Keeps) -> bool:
        requested = self.part(total, share)
        return self.allows(keeps(requested), requested, total)

    def count(self, rng: Entropy) -> int:
        """Return an exact draw of K, which stays secret."""
        count = 1
        while uniform(self.draws, rng) > 0:
            count += 1
        return count


def uniform(n: int, rng: Entropy) -> int:
    """Return an exactly uniform integer from 0 to n − 1."""
    while (number := rng.integer((n - 1).bit_length())) >= n:
        pass
    return number
