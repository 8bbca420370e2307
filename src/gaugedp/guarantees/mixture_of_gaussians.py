"""Guarantee of Gaussian noise around a random shift, for groups and matrix mechanisms on a sample."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import scipy

from gaugedp._internal.rounding import NORMAL_TAIL
from gaugedp._internal.validate import decimal, non_negative, positive
from gaugedp.accountant.loss import Array, Pair
from gaugedp.accountant.part import Accounting, Cost
from gaugedp.accountant.rounding import LEAST_SURE, above, up, up_decimal
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import divergences
from gaugedp.guarantees.base import Guarantee, check_order
from gaugedp.guarantees.gaussian import GaussianDP
from gaugedp.guarantees.losses.subsampled import START_POINTS, inverse
from gaugedp.guarantees.profile_points import FIRST, START, pair_of, points_at, reversed_points
from gaugedp.guarantees.sampling import least_of_profile, log_mean_of_powers


@dataclass(frozen=True, eq=True)
class MixtureOfGaussians(Guarantee):
    """Guarantee of Gaussian noise around a random shift.

    Use it for a release with Gaussian noise on a random sample of the rows. How far a unit moves the answers is then
    random: a group of units, for example, moves them further the more of its members are drawn. With probability
    `chances[i]` a unit shifts the answers by at most `shifts[i]`. The noise has the standard deviation `noise_std`.

    Notes
    -----
    An attacker must distinguish N(0, σ²), the output without the unit, from the mixture Σ p_i·N(s_i, σ²) with it. Here
    p_i are the chances, s_i the shifts and σ is `noise_std`. Longer shifts reveal more, so upper bounds on them are
    sufficient (Choquette-Choo, Ganesh, Haque, Steinke and Thakurta 2024). A single release has a closed formula.
    Compositions use points of this curve, joined by lines (docs/theory/sampling.md).

    Examples
    --------
    A unit is in the sample with probability 0.1 and then shifts the answer by 1. The noise has the standard deviation
    1:

    >>> from gaugedp.guarantees import MixtureOfGaussians
    >>> round(MixtureOfGaussians([0, 1], [0.9, 0.1], noise_std=1.0).epsilon(1e-6), 2)
    2.18
    """

    shifts: tuple[float, ...]
    chances: tuple[Fraction, ...]
    noise_std: float
    pair_has_curve = False
    pair_is_least = False  # its profile joins points

    def __init__(self, shifts: Sequence[float], chances: Sequence[float | Fraction], noise_std: float) -> None:
        positive(noise_std=noise_std)
        non_negative(**{f"shifts[{i}]": length for i, length in enumerate(shifts)})
        lengths, laws = list(shifts), divergences.law("chances", chances)
        if len(lengths) != len(laws):
            raise InvalidRequest("`shifts` and `chances` have different lengths.", "Pass one chance for each shift.")
        together: dict[float, Fraction] = {}
        for length, chance in sorted(zip(lengths, laws, strict=True)):
            if chance:
                together[float(length)] = together.get(float(length), Fraction(0)) + chance
        self._set(shifts=tuple(together), chances=tuple(together.values()), noise_std=float(noise_std))

    @property
    def _whole(self) -> GaussianDP:
        return GaussianDP(up_decimal(decimal(self.shifts[-1]) / decimal(self.noise_std)))

    def components(self) -> Iterable[tuple[Guarantee, int]]:
        """Return this guarantee; nothing if all shifts are 0."""
        return ((self, 1),) if self.shifts[-1] else ()

    def renyi(self, order: float) -> float:
        """Return the Rényi divergence of order a = `order`.

        The returned bound is log Σ p·e^{(a − 1)·a·s²/2σ²}/(a − 1), over the chances p and the shifts s, by joint
        convexity.
        """
        check_order(order)
        largest, shift = self._whole.renyi(order), max(order - 1, FIRST)
        # 1e100: an order beyond which the largest shift alone counts
        if order > 1e100 or math.isinf(largest) or not self.shifts[-1]:
            return largest
        chances, grown = list(map(above, self.chances)), shift * order / 2 * np.square(self._moves)
        return min(largest, up(log_mean_of_powers(chances, grown.tolist()) / shift, relative=2.0**-40))

    @property
    def _moves(self) -> Array:
        return np.array(self.shifts) / self.noise_std

    def dominating_pair(self, removed: int) -> Pair:
        """Return the pair whose profile joins points by lines."""
        return _pair(self, removed)

    def exact_delta(self, epsilon: float) -> float | None:
        """Return the larger profile; None if too many digits cancel."""
        value, slack = self._bound(epsilon)
        return value if slack <= 1e-8 * value or value < LEAST_SURE else None  # relative, of a difference of tails

    def _bound(self, epsilon: float) -> tuple[float, float]:
        if not self.shifts[-1]:
            return 0.0, 0.0
        edges = np.array([epsilon, epsilon + 1e-6])  # precision of the search for one threshold, as a loss
        sides = [_profile(self, edges, removed) for removed in (1, 0)]
        return max((float(values[0]), float(slack[0])) for values, slack in sides)

    def exact_epsilon(self, delta: float) -> float | None:
        """Return the inverse profile; None if too many digits cancel."""
        least = least_of_profile(lambda at: self._bound(at)[0], delta, float(self._whole.epsilon(delta)))
        return least if math.isinf(least) or self.exact_delta(least) is not None else None

    def cost(self, accounting: Accounting) -> Cost | None:
        """Return the cost of noise on the largest shift."""
        return self._whole.cost(accounting)

    def __repr__(self) -> str:
        lists = (", ".join(f"{float(x):.12g}" for x in each) for each in (self.shifts, self.chances))
        return f"MixtureOfGaussians({', '.join(f'[{each}]' for each in lists)}, {self.noise_std:.12g})"


@lru_cache(maxsize=64)
def _pair(mixture: MixtureOfGaussians, removed: int) -> Pair:
    # 1024: cells between points of the profile, for compositions
    # 1.5: points are nearer to each other at small losses
    # beyond this δ or ε the profile counts as level
    places = min(float(mixture._whole.epsilon(1e-30)), 600.0) * np.linspace(0, 1, 1024 + 1) ** 1.5
    mine, other = (points_at(places, _profile(mixture, places, way)[0]) for way in (removed, 1 - removed))
    return pair_of((START, *reversed_points(other), *mine))


def _profile(mixture: MixtureOfGaussians, epsilons: Array, removed: int) -> tuple[Array, Array]:
    """Return bounds on the profile of one direction, with slack.

    The profile is P(x > t) − e^ε·Q(x > t), or Q(x < t) − e^ε·P(x < t), t where the loss is ±ε. It is flat in t, so that
    the rounding of t matters less than that of the tails.
    """
    moves, chances = mixture._moves, np.array(list(map(float, mixture.chances)))
    constants = np.log(chances) - moves**2 / 2

    def losses(x: Array) -> Array:
        return np.asarray(np.logaddexp.reduce(np.multiply.outer(moves, x) + constants[:, None], axis=0))

    looked = np.linspace(-NORMAL_TAIL, NORMAL_TAIL + moves[-1], START_POINTS)
    sign = 1 if removed else -1
    x = sign * inverse(losses, looked, epsilons if removed else -epsilons[::-1])[::sign]
    tails = [scipy.special.ndtr(sign * moves - x[:, None]) @ chances, scipy.special.ndtr(-x)]
    first, second = tails if removed else tails[::-1]
    second = second * np.exp(np.minimum(epsilons, 700.0))
    slack = 2.0**-40 * (first + second)  # relative error of normal tails
    return np.clip(first - second + slack, math.ulp(0.0), 1.0), slack
