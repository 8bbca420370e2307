"""Noisy sums for scores, and their intervals."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gaugedp.bodies import LpBall
from gaugedp.entropy import Entropy
from gaugedp.guarantees import PureDP
from gaugedp.guarantees.shares import part
from gaugedp.mechanisms import Laplace
from gaugedp.optimization.lattice import released
from gaugedp.samplers.continuous import normals

_DRAWS = 1000  # of the noise, for an interval; each is used with both signs, as its distribution is symmetric

Statistic = Callable[[np.ndarray], np.ndarray]  # of sums (…, m): numbers (…, k), of which the largest is the score


@dataclass(frozen=True, eq=False)
class NoisySums:
    """Released sums (m,), and draws (r, m) of expected sums given them."""

    numbers: np.ndarray
    possible: np.ndarray

    def __add__(self, other: "NoisySums") -> "NoisySums":
        """Return the sums over the rows of both."""
        return NoisySums(self.numbers + other.numbers, self.possible + other.possible)

    def interval(self, of: Statistic, level: float, ends: tuple[float, float]) -> tuple[float, float, float]:
        """Return a score within `ends`, with an interval.

        NaN counts as the whole range. With k numbers, of which the largest is the score, each lower end is allowed a
        k-th of the failures, so the interval holds for whichever is the largest.
        """
        # 0.7: of 1 − level: the rest is for what draws, and a normal law in the place of the exact one, leave out
        failures = 0.7 * (1 - level) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            value, possible = of(self.numbers), of(self.possible)
        low = np.quantile(np.nan_to_num(possible, nan=ends[0]), failures / len(value), axis=0).max()
        high = np.quantile(np.nan_to_num(possible, nan=ends[1]), 1 - failures, axis=0).max()
        middle = np.nan_to_num(value, nan=float(np.mean(ends))).max()
        score, lower, upper = np.clip([middle, min(low, middle), max(high, middle)], *ends).tolist()
        return score, lower, upper


@dataclass(frozen=True, eq=False)
class ScoreNoise:
    """Total ε, neighbour relation, and randomness of scores; `is_split` if each group has sums of its own."""

    epsilon: float
    replaced: bool
    rng: Entropy
    is_split: bool = False

    @property
    def moved_once(self) -> float:
        """The move of a sum of numbers in [0, 1]: if rows are split by group, a replaced one may move two sums."""
        return 2.0 if self.replaced and self.is_split else 1.0

    def law(self, size: int, radius: float, share: Fraction) -> Laplace:
        """Return noise for a share of ε and ℓ₁ sensitivity `radius`."""
        return Laplace.calibrate(LpBall(size, 1, radius), PureDP(part(self.epsilon, share)))

    def released(self, exact: np.ndarray, law: Laplace, draws: int) -> tuple[np.ndarray, np.ndarray]:
        """Return noisy sums (m,), and draws (2·draws, m) of exact ones given them."""
        numbers, noise = released(exact, law, self.rng), law.sample_noise(draws, self.rng)
        return numbers, numbers - np.vstack([noise, -noise])

    def normals(self, *shape: int) -> np.ndarray:
        """Return standard normal numbers."""
        return normals(int(np.prod(shape)), self.rng).reshape(shape)


def draws_for(size: int) -> int:
    """Return the number of draws of `size` sums."""
    return min(_DRAWS, max(100, 2**21 // size))


def ratio(part_: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Return the ratio, NaN unless the whole is positive."""
    return np.asarray(part_ / np.where(whole > 0, whole, np.nan))


def expected_counts(counts: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """Return draws of expected counts, from standard normal numbers.

    Relative to the count, a draw is distributed as a Gamma variable of shape count + ½ relative to its mean (Jeffreys),
    by the cube root of Wilson and Hilferty (1931). Noisy counts below 0 are treated as 0.
    """
    shape = np.maximum(counts, 0.0) + 0.5
    root = 1 - 1 / (9 * shape) + normal / (3 * np.sqrt(shape))
    return np.asarray(counts + shape * (np.maximum(root, 0.0) ** 3 - 1))
