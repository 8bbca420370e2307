"""Report noisy max, with an optional noisy value."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from gaugedp.accountant.rounding import down_decimal, up_decimal
from gaugedp.bodies.base import Body
from gaugedp.entropy import Entropy
from gaugedp.guarantees import Guarantee, PureDP
from gaugedp.mechanisms.selection import Selection, is_monotone, pure_epsilon, score_lattice, tail
from gaugedp.samplers.discrete import discrete_laplace
from gaugedp.samplers.laws import DiscreteLaplace

_JOINT_COST = Fraction(3, 2)  # joint cost of PrivateMax's index and value, relative to the ε it claims


@dataclass(frozen=True, eq=False, repr=False)
class NoisyMax(Selection):
    """Private choice of the candidate with the largest noisy score.

    Use it to select, for example, the most frequent answer, by a method that is simple to explain. Every score gets
    discrete Laplace noise, and the index of the largest noisy score is released. If several noisy scores are equal, it
    is the first of them. With `absolute`, the largest noisy score in absolute value is selected. With `with_value`, the
    output is a pair of the index and the selected score with fresh noise.

    Notes
    -----
    Let B be the largest change of one score by one protected unit, which is `body.radius(∞)`.

    Theorem. With noise of scale 2B/ε on every score, the index is ε-DP. If units are added or removed, all counts
    change in the same direction, and a scale of B/ε is sufficient (Dwork and Roth 2014, claim 3.9). The proof does not
    cover the noisy maximum itself, so the value gets fresh noise of scale `value_scale` and costs a further ε of
    B/`value_scale` (docs/theory/noisy_max.md).

    Examples
    --------
    Three parties have 10, 9 and 5 votes. With ε = 1, the first is selected with probability 0.82:

    >>> import gaugedp as gd
    >>> import numpy as np
    >>> body = gd.query(gd.Domain.of(party=["a", "b", "c"]), "party").sensitivity(gd.PrivacyUnit())
    >>> gd.NoisyMax.calibrate(body, gd.PureDP(1)).probabilities(np.array([10, 9, 5])).round(2).tolist()
    [0.82, 0.18, 0.0]
    """

    value_scale: Fraction | None = None
    absolute: bool = False
    printed: bool = False

    name: ClassVar[str] = "NoisyMax"
    form: ClassVar[str] = "choice"

    @classmethod
    def calibrate(
        cls, body: Body, guarantee: Guarantee, with_value: bool = False, absolute: bool = False
    ) -> "NoisyMax":
        """Return the mechanism for PureDP(ε).

        If `with_value`, the index and the value get ε/2 each.
        """
        epsilon = pure_epsilon(cls.name, guarantee)
        step, width = score_lattice(body)
        share = epsilon / 2 if with_value else epsilon
        scale = width / share if with_value else None
        monotone = is_monotone(body) and not absolute  # |score| of a neighbour may grow on one side of 0 only
        return cls(body, PureDP(float(epsilon)), share, step, width, monotone, scale, absolute)

    @classmethod
    def as_printed(cls, body: Body, guarantee: Guarantee) -> "NoisyMax":
        """Return PrivateMax as published, for research.

        It is algorithm 1 of Cai, Wang and Zhang (2021), which claims `guarantee` = PureDP(ε). Index and value both get
        noise of scale 2B/ε, which costs ε for the index and ε/2 for the value. The true guarantee, which it reports and
        charges, is PureDP(1.5·ε), and no smaller one.
        """
        epsilon = pure_epsilon("PrivateMax", guarantee)
        step, width = score_lattice(body)
        true = PureDP(up_decimal(epsilon * _JOINT_COST))
        return cls(body, true, epsilon, step, width, False, 2 * width / epsilon, absolute=True, printed=True)

    def recalibrated(self, guarantee: Guarantee) -> "NoisyMax":
        """Return the mechanism with the same options."""
        if not self.printed:
            return NoisyMax.calibrate(self.body, guarantee, self.value_scale is not None, self.absolute)
        share = down_decimal(pure_epsilon("PrivateMax", guarantee) / _JOINT_COST)
        return NoisyMax.as_printed(self.body, PureDP(share))

    @property
    def scale(self) -> Fraction:
        """The scale of the noise on every score, in steps."""
        return 1 / self.rate

    def error_bound(self, failure: float) -> float:
        """Return a bound on the gap to the best score.

        See Dwork and Roth 2014, theorem 3.8.
        """
        return (2 * tail(self.n_candidates, failure) * float(self.scale) + (self.step != 1)) * float(self.step)

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return the distribution of the index, shape (k,), to 1e-5.

        P(i) = Σ_v P(η = v − s_i)·∏_{j<i} P(s_j + η < v)·∏_{j>i} P(s_j + η ≤ v), exact for scales below some 800 steps.
        """
        numbers, law = self.in_steps(scores), DiscreteLaplace(self.scale)
        stride = max(1, int(self.scale / 800))  # strides in a scale, for the law of the index
        reach = int(45 * self.scale) + 45  # noise has no weight beyond in floating point
        if self.absolute:
            places = np.arange(0, int(np.abs(numbers).max()) + reach, stride)
            above = np.array([_folded(law, places, int(score)) for score in numbers])
            below = np.array([_folded(law, places - 1, int(score)) for score in numbers])
        else:
            places = np.arange(int(numbers.max()) - reach, int(numbers.max()) + reach, stride)
            above = np.array([_cumulative(law, places - score) for score in numbers])
            below = np.array([_cumulative(law, places - 1 - score) for score in numbers])
        shares = np.array([_wins(index, above, below) for index in range(len(numbers))]) * stride
        return shares / shares.sum()

    def describe(self) -> str:
        """Return the number of candidates and the scales."""
        index = f"one of {self.n_candidates:,}, discrete Laplace, scale {float(self.scale * self.step):.6g}"
        return index if self.value_scale is None else f"{index}; value, scale {float(self.value_scale * self.step):.6g}"

    def _draw(self, scores: np.ndarray, size: int, rng: Entropy) -> np.ndarray:
        batch = max(1, 2**22 // len(scores))  # draws at once
        parts = [min(batch, size - start) for start in range(0, size, batch)]
        indices = np.concatenate([self._indices(scores, part, rng) for part in parts])
        if self.value_scale is None:
            return indices
        values = scores[indices] + discrete_laplace(size, self.value_scale, rng)
        return np.stack([indices, values * float(self.step)], axis=1)

    def _indices(self, scores: np.ndarray, size: int, rng: Entropy) -> np.ndarray:
        noisy = scores + discrete_laplace(size * len(scores), self.scale, rng).reshape(size, -1)
        return (np.abs(noisy) if self.absolute else noisy).argmax(axis=1)


def _cumulative(law: DiscreteLaplace, places: np.ndarray) -> np.ndarray:
    """Return P(η ≤ place)."""
    decay = math.exp(-1 / float(law.scale))
    tails = np.exp(-np.abs(np.where(places >= 0, places + 1, places)) / float(law.scale)) / (1 + decay)
    return np.where(places >= 0, 1 - tails, tails)


def _folded(law: DiscreteLaplace, places: np.ndarray, score: int) -> np.ndarray:
    """Return P(|score + η| ≤ place)."""
    inside = _cumulative(law, places - score) - _cumulative(law, -places - score - 1)
    return np.where(places >= 0, inside, 0.0)


def _wins(index: int, above: np.ndarray, below: np.ndarray) -> float:
    """Return Σ_v P(own = v)·∏_{j<i} P(j < v)·∏_{j>i} P(j ≤ v)."""
    at_index = above[index] - below[index]
    return float((at_index * below[:index].prod(axis=0) * above[index + 1 :].prod(axis=0)).sum())
