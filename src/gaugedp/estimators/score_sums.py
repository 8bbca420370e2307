"""Noisy sums that scores of a model are made of, and intervals that hold their noise and the sampling of rows."""

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

_DRAWS = 1000  # of the noise, for an interval; each is taken with both signs, as its law has
_NUMBERS, _FEWEST = 2**21, 100  # of all draws together, at most, where that leaves as many as this

Statistic = Callable[[np.ndarray], np.ndarray]  # of sums (…, m): numbers (…, k), of which the largest is the score


@dataclass(frozen=True, eq=False)
class NoisySums:
    """Sums (m,) that were released, and draws (r, m) of the expected sums that are possible given them."""

    numbers: np.ndarray
    possible: np.ndarray

    def interval(self, of: Statistic, level: float, ends: tuple[float, float]) -> tuple[float, float, float]:
        """Return a score within `ends`, NaN counted as all of them, and an interval for the expected score.

        Of k numbers the lower end takes a k-th of the failures each: whichever is the largest, it is above all of them.
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
    """ε of all releases, whether a row is replaced, and the randomness."""

    epsilon: float
    replaced: bool
    rng: Entropy

    def law(self, size: int, radius: float, share: Fraction) -> Laplace:
        """Return noise for sums that a row moves by at most `radius` in ℓ₁, for a share of ε."""
        return Laplace.calibrate(LpBall(size, 1, radius), PureDP(part(self.epsilon, share)))

    def released(self, exact: np.ndarray, law: Laplace, draws: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums (m,) with noise, and draws (2·draws, m) of the exact ones that are possible given them."""
        numbers, noise = released(exact, law, self.rng), law.sample_noise(draws, self.rng)
        return numbers, numbers - np.vstack([noise, -noise])

    def normals(self, *shape: int) -> np.ndarray:
        """Return standard normal numbers."""
        return normals(int(np.prod(shape)), self.rng).reshape(shape)


def draws_for(size: int) -> int:
    """Return how many draws of `size` sums an interval takes."""
    return min(_DRAWS, max(_FEWEST, _NUMBERS // size))


def ratio(part_: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Return the ratio, NaN where the whole is not above 0."""
    return np.asarray(part_ / np.where(whole > 0, whole, np.nan))


def expected_counts(counts: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """Return draws of expected counts, given counts of the same shape and standard normal numbers.

    A draw moves from the count as a Gamma variable of shape count + ½ does from its mean (Jeffreys), by the cube root
    of Wilson and Hilferty (1931). What noise has left below 0 moves as 0 does.
    """
    shape = np.maximum(counts, 0.0) + 0.5
    root = 1 - 1 / (9 * shape) + normal / (3 * np.sqrt(shape))
    return np.asarray(counts + shape * (np.maximum(root, 0.0) ** 3 - 1))
