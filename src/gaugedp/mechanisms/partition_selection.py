"""Partition selection: publish keys that are not known in advance."""

import math
from bisect import bisect
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from gaugedp._internal.rounding import NORMS
from gaugedp._internal.validate import between, decimal, positive, whole
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import ApproxDP, Guarantee
from gaugedp.guarantees.gaussian_curve import gaussian_delta, gaussian_mu
from gaugedp.mechanisms.base import Calibrated
from gaugedp.samplers.key_noise import GaussianNoise, KeyNoise, n_chances, optimal_noise

_SHARES = (1.0, 0.99, 0.9, 0.5)  # of δ, for both noise and cut: the last always suffices
_LEAST_DELTA = 1e-305  # of a key: below it, floats have lost digits
_DOWN = 1 - NORMS


@dataclass(frozen=True, eq=False, repr=False)
class PartitionSelection(Calibrated):
    """Private selection of the categories that enough people share.

    Use it to publish the categories of a column that are not known in advance, such as the products that people bought.
    The number of people in each category, which is called a *key*, gets random noise. A key is published with its noisy
    number only if this number reaches a threshold. Keys that few people have therefore stay hidden.

    Notes
    -----
    Theorem. Suppose that one unit changes the numbers of at most `n_changed` keys, each by one, including keys that
    only one of two neighbouring tables has. Then the published keys and numbers are (ε, δ)-DP. If one key changes, no
    (ε, δ)-DP selection that treats keys independently shows a key with a larger probability, whatever the number of
    people. The proofs are in docs/theory/partition_selection.md.

    Examples
    --------
    A key that only one person has is almost never shown, and a key with 20 people almost always:

    >>> import gaugedp as gd
    >>> selection = gd.PartitionSelection.calibrate(1, gd.ApproxDP(1, 1e-6))
    >>> selection.chances([1, 10, 20]).round(3).tolist()
    [0.0, 0.013, 0.999]
    """

    guarantee: ApproxDP
    n_changed: int
    noise: KeyNoise

    name: ClassVar[str] = "PartitionSelection"
    exactness: ClassVar[str] = "exact"

    @classmethod
    def calibrate(cls, n_changed: int, guarantee: Guarantee) -> "PartitionSelection":
        """Return the selection, with split or Gaussian noise.

        Of the two, it is the one that shows keys of smaller counts.
        """
        whole(minimum=1, n_changed=n_changed)
        target = _approximate(guarantee)
        options = [*_split(n_changed, target), *_gaussian(n_changed, target)]
        if not options:
            raise _too_small(n_changed, target)
        selections = [cls(target, n_changed, noise) for noise in options]
        return min(selections, key=lambda selection: selection.least_count(0.5))

    def recalibrated(self, guarantee: Guarantee) -> "PartitionSelection":
        """Return the selection for the same number of changed keys."""
        return PartitionSelection.calibrate(self.n_changed, guarantee)

    def chances(self, counts: np.ndarray) -> np.ndarray:
        """Return the probabilities that keys of these counts are shown."""
        return self.noise.chances(np.asarray(counts))

    def least_count(self, chance: float) -> int:
        """Return the least count that is shown with probability `chance`."""
        between(0, 1, chance=chance)
        low, high = 0, 1
        while self.chances(np.array([high]))[0] < chance:
            low, high = high, 2 * high
        return bisect(range(high), False, low + 1, high, key=lambda count: self.chances(np.array([count]))[0] >= chance)

    def draw(self, counts: np.ndarray, size: int, rng: Entropy) -> np.ndarray:
        """Return `size` independent outputs for the counts (k,).

        Each row is one output: the noisy count of each key, at least 1, or 0 if the key is hidden. Every output costs
        the guarantee.
        """
        whole(minimum=1, size=size)
        numbers = np.asarray(counts, dtype=np.int64)
        noisy = numbers + self.noise.draw(size * numbers.size, rng).reshape(size, numbers.size)
        return np.where((numbers > 0) & (noisy >= self.noise.cut), noisy, 0)

    def describe(self) -> str:
        """Return a description of the noise."""
        return f"{self.noise.describe()}, {self.n_changed} keys of a person" if self.n_changed > 1 else self._alone

    @property
    def _alone(self) -> str:
        return f"{self.noise.describe()}, one key of a person"


def _approximate(guarantee: Guarantee) -> ApproxDP:
    epsilon, delta = _numbers(guarantee)
    if delta == 0:
        raise InvalidRequest(
            "With `delta` = 0 no key may be shown, because a key that only one person has would reveal that person.",
            "Pass a `delta` above 0, but far below 1 / (number of people): it bounds the probability of such a "
            "disclosure.",
        )
    positive(epsilon=epsilon)
    return ApproxDP(epsilon, delta)


def _numbers(guarantee: Guarantee) -> tuple[float, float]:
    cost = guarantee.cost("approx")
    if cost is None:
        raise InvalidRequest(f"Partition selection does not support {guarantee!r}.", "Use ApproxDP with delta above 0.")
    return (
        (guarantee.epsilon_value, guarantee.delta_value) if isinstance(guarantee, ApproxDP) else (float(cost[0]), 0.0)
    )


def _too_small(n_changed: int, target: ApproxDP) -> InvalidRequest:
    epsilon, delta = target.epsilon_value, target.delta_value
    if _is_too_small(n_changed, epsilon, 1e-9):  # to decide whether epsilon or delta is too small
        return InvalidRequest(
            f"`epsilon` is {epsilon:g}, so small that a key would need a million people.", "Use a larger epsilon."
        )
    return InvalidRequest(
        f"`delta` is {delta:g}, which is too small to compute with.", "Use a larger delta, such as 1e-9."
    )


def _is_too_small(n_changed: int, epsilon: float, delta: float) -> bool:
    share = delta / n_changed
    return share < _LEAST_DELTA or n_chances(epsilon / n_changed, share) > 2**20


def _split(n_changed: int, target: ApproxDP) -> list[KeyNoise]:
    """Return optimal noise at equal shares per key, if possible."""
    epsilon, delta = target.epsilon_value, target.delta_value
    if _is_too_small(n_changed, epsilon, delta):
        return []
    return [optimal_noise(epsilon, delta, n_changed)]


def _gaussian(n_changed: int, target: ApproxDP) -> list[KeyNoise]:
    """Return Gaussian noise with the largest proved share of δ."""
    if n_changed == 1 or target.delta_value / n_changed < _LEAST_DELTA:
        return []
    # 1000: up to so many changed keys, every number of new ones among them is looked at
    for share in _SHARES if n_changed <= 1000 else _SHARES[-1:]:
        noise = _calibrated(n_changed, target.epsilon_value, target.delta_value * share * _DOWN)
        if share == _SHARES[-1] or _largest_delta(noise, n_changed, target.epsilon_value) <= target.delta_value:
            return [noise]
    return []


def _calibrated(n_changed: int, epsilon: float, delta: float) -> GaussianNoise:
    """Return noise whose δ suffices for `n_changed` old keys, and for as many new ones."""
    std = decimal(math.sqrt(n_changed) / gaussian_mu(epsilon, delta) / _DOWN)
    cut = math.ceil(1.5 - float(std) * float(scipy.special.ndtri(delta / n_changed)))
    while _chance_of_one(GaussianNoise(std, cut)) > delta / n_changed:
        cut += 1
    return GaussianNoise(std, cut)


def _chance_of_one(noise: GaussianNoise) -> float:
    return float(scipy.special.ndtr((1.5 - noise.cut) / float(noise.std))) / _DOWN


def _largest_delta(noise: GaussianNoise, n_changed: int, epsilon: float) -> float:
    """Return a bound of δ at ε, over all numbers of new keys; old keys have a Gaussian curve."""
    single = _chance_of_one(noise)
    std = float(noise.std) * _DOWN
    deltas = [
        n_new * single + gaussian_delta(math.sqrt(n_changed - n_new) / std, epsilon) for n_new in range(n_changed + 1)
    ]
    return max(deltas) / (1 - 2.0**-40)
