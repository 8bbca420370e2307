"""The first score above a threshold, at one fixed cost."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from gaugedp._internal.validate import between, finite
from gaugedp.bodies.base import Body
from gaugedp.entropy import Entropy
from gaugedp.guarantees import Guarantee, PureDP
from gaugedp.mechanisms.selection import Selection, is_monotone, pure_epsilon, score_lattice, tail
from gaugedp.samplers.discrete import check_scale, discrete_laplace


@dataclass(frozen=True, eq=False, repr=False)
class AboveThreshold(Selection):
    """Private search for the first score above a threshold.

    Use it to find, for example, the first day with more than 100 cases. The privacy cost does not depend on the number
    of scores, because only one index is published. Noise is added to the public threshold and to each score. The output
    is the index of the first noisy score that reaches the noisy threshold, or k if none of the k scores does. The
    method is also known as the sparse vector technique.

    Notes
    -----
    Let B be the largest change of one score by one protected unit, which is `body.radius(∞)`. The threshold gets
    discrete Laplace noise of scale 2B/ε, and each score gets discrete Laplace noise of scale 4B/ε. If units are added
    or removed, all counts change in the same direction. In this case, a scale of 2B/ε is sufficient for each score.

    Theorem. The mechanism is ε-DP for every number k of scores (Dwork and Roth 2014, theorem 3.23; Lyu, Su and Li 2017,
    theorem 4 for one answer). The proof for discrete noise is in docs/theory/above_threshold.md.

    Examples
    --------
    Find the first of three daily counts that reaches 100. The threshold and each count get noise of scale 2:

    >>> import gaugedp as gd
    >>> body = gd.query(gd.Domain.of(day=["1", "2", "3"]), "day").sensitivity(gd.PrivacyUnit())
    >>> gd.AboveThreshold.calibrate(body, gd.PureDP(1), threshold=100)
    AboveThreshold(first of 3 at 100 or above, discrete Laplace, scale 2 and 2, PureDP(1), exact)
    """

    threshold: float = 0.0
    name: ClassVar[str] = "AboveThreshold"
    form: ClassVar[str] = "choice"

    @classmethod
    def calibrate(cls, body: Body, guarantee: Guarantee, threshold: float = 0.0) -> "AboveThreshold":
        """Return the mechanism for PureDP(ε) and a public threshold."""
        epsilon = pure_epsilon(cls.name, guarantee)
        finite(threshold=threshold)
        mechanism = cls(
            body, PureDP(float(epsilon)), epsilon, *score_lattice(body), is_monotone(body), float(threshold)
        )
        check_scale(mechanism.score_scale)
        return mechanism

    def recalibrated(self, guarantee: Guarantee) -> "AboveThreshold":
        """Return the mechanism for the same body and threshold."""
        return AboveThreshold.calibrate(self.body, guarantee, self.threshold)

    @property
    def threshold_scale(self) -> Fraction:
        """The scale of the threshold's noise, in steps."""
        return 2 * self.width / self.epsilon

    @property
    def score_scale(self) -> Fraction:
        """The scale of a score's noise, in steps."""
        return self.threshold_scale * (1 if self.monotone else 2)

    def error_bound(self, failure: float) -> float:
        """Return a bound on the distance of misjudged scores.

        With probability at least 1 − `failure`, neither the noise of a score nor the noise of the threshold exceeds
        half of the bound.
        """
        between(0, 1, failure=failure)
        farthest = tail(self.n_candidates + 1, failure) + 1
        return (farthest * float(self.threshold_scale + self.score_scale) + (self.step != 1)) * float(self.step)

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return the output distribution, shape (k + 1,), in floats.

        The distribution is a sum over the values of the threshold's noise. The omitted terms have a probability below
        10⁻¹⁵. On a fine lattice only every n-th value is used, so that there are some 2²² terms.
        """
        distances = self._threshold_in_steps - self.in_steps(scores).astype(float)
        reach = math.ceil(36 * float(self.threshold_scale)) + 1
        stride = max(1, 2 * reach * len(distances) // 2**22)  # numbers of a law: places of the threshold times scores
        noise = stride * np.arange(-(reach // stride), reach // stride + 1)
        weights = np.exp(-np.abs(noise) / float(self.threshold_scale))
        weights /= weights.sum()
        above = _at_least(np.add.outer(noise, distances), float(self.score_scale))
        before = np.hstack([np.ones((len(noise), 1)), np.cumprod(1 - above, axis=1)])
        return weights @ (before * np.hstack([above, np.ones((len(noise), 1))]))

    def describe(self) -> str:
        """Return the number of scores, the threshold and the scales."""
        scales = [float(scale * self.step) for scale in (self.threshold_scale, self.score_scale)]
        return (
            f"first of {self.n_candidates:,} at {self.threshold:g} or above, discrete Laplace, scale {scales[0]:.6g} "
            f"and {scales[1]:.6g}"
        )

    @property
    def _threshold_in_steps(self) -> int:
        # noise beyond 2^61 steps is refused at calibration
        return min(max(math.floor(self.threshold / float(self.step) + 0.5), -(2**61)), 2**61)

    def _draw(self, scores: np.ndarray, size: int, rng: Entropy) -> np.ndarray:
        """Draw noise for all scores: the running time reveals nothing."""
        border = self._threshold_in_steps + discrete_laplace(size, self.threshold_scale, rng)
        noise = discrete_laplace(size * len(scores), self.score_scale, rng).reshape(size, -1)
        is_above = noise >= border[:, None] - scores
        return np.where(is_above.any(axis=1), is_above.argmax(axis=1), len(scores))


def _at_least(values: np.ndarray, scale: float) -> np.ndarray:
    """Return P(noise ≥ value) for integers and discrete Laplace noise."""
    tails = np.exp(-np.abs(np.where(values > 0, values, 1 - values)) / scale) / (1 + math.exp(-1 / scale))
    return np.asarray(np.where(values > 0, tails, 1 - tails))
