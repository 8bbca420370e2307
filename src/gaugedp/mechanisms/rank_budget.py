"""The split of a guarantee between draws of ranks and noisy counts."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, reduce
from operator import add

from gaugedp._internal.validate import decimal
from gaugedp.accountant.rules import METHODS, Method
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import ZCDP, ApproxDP, ExponentialLoss, GaussianDP, Guarantee, PureDP
from gaugedp.mechanisms.pure_within import pure_within

_TOLERANCE = 1e-4  # relative tolerance of the composition's ε


@dataclass(frozen=True)
class RankBudget:
    """Multiples of ε: of the draws, the answers first, and of all counts."""

    draws: tuple[int, ...]
    counts: int = 0

    def guarantee(self, epsilon: float) -> Guarantee:
        """Return the composition."""
        draws = [ExponentialLoss(float(speed * decimal(epsilon))) for speed in self.draws]
        counts = [PureDP(float(self.counts * decimal(epsilon)))] if self.counts else []
        return reduce(add, [*draws, *counts])

    @property
    def total(self) -> int:
        """The sum of the multiples."""
        return sum(self.draws) + self.counts

    @property
    def squares(self) -> float:
        """ρ/ε²: a draw at ε costs ε²/8, noise at ε costs ε²/2."""
        return sum(speed**2 for speed in self.draws) / 8 + self.counts**2 / 2

    def epsilon(self, guarantee: Guarantee) -> float:
        """Return the largest ε found that satisfies the guarantee."""
        match guarantee:
            case ZCDP(rho=rho) if rho > 0:
                return _rounded(Fraction(math.sqrt(rho / self.squares) / (1 + 1e-12)))  # for roots
            case ApproxDP(epsilon_value=epsilon, delta_value=delta) if epsilon > 0 and delta > 0:
                return _tight(epsilon, delta, self)
            case PureDP() | ApproxDP() | GaussianDP() if pure_within(guarantee).epsilon_value > 0:
                return _rounded(decimal(pure_within(guarantee).epsilon_value) / self.total)
        raise InvalidRequest(f"Quantiles do not support {guarantee!r}.", "Pass epsilon, rho or mu above 0.")


@cache
def _tight(epsilon: float, delta: float, budget: RankBudget) -> float:
    """Return nearly the largest ε that the accountant permits.

    It is at least that of plain sums. With counts, the tight rule is the smallest to 9 digits. Otherwise all rules are
    evaluated at the first ε, and the smallest one at the others.
    """
    best = _rounded(decimal(epsilon) / budget.total)
    root = epsilon / (math.sqrt(epsilon - math.log(delta)) + math.sqrt(-math.log(delta)))  # of a ρ that suffices
    tried = max(best, _rounded(Fraction(root * math.sqrt(1 / budget.squares))))
    points: list[tuple[float, float]] = []
    rule: Method | None = "tight" if budget.counts else None
    for _ in range(8):
        bound = budget.guarantee(tried).epsilon(delta, method=rule)
        spent, rule = float(bound), next(name for name in METHODS if name == bound.method)
        if spent <= epsilon:
            best = max(best, tried)
        if epsilon * (1 - _TOLERANCE) <= spent <= epsilon:
            break
        points.append((math.log(tried), math.log(max(spent, epsilon / 100))))
        missing = math.log(epsilon * (1 - _TOLERANCE / 2)) - points[-1][1]
        aim = missing / _slope(points, missing)
        tried = _rounded(Fraction(math.exp(points[-1][0] + aim)))
    return best


def _slope(points: list[tuple[float, float]], missing: float) -> float:
    if len(points) < 2 or points[-1][0] == points[-2][0]:
        # 0.4: how a first slope grows with what is missing: a rule that only decides how many rounds there are
        return min(2.0, 1 + 0.4 * abs(missing))
    return min(3.0, max(0.5, (points[-1][1] - points[-2][1]) / (points[-1][0] - points[-2][0])))


def _rounded(exact: Fraction) -> float:
    if exact < 1e-290:  # 12 digits of a smaller one are no normal floats
        raise InvalidRequest("The guarantee is too small for quantiles.", "Use a larger epsilon, rho or mu.")
    # 12: digits of an ε: then its double and its multiples are decimals that floats hold
    unit = Fraction(10) ** (math.floor(math.log10(exact)) - 12 + 1)
    return float(math.floor(exact / unit) * unit)
