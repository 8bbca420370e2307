"""Permute-and-flip, a selection never worse than the exponential mechanism."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gaugedp._internal.validate import decimal
from gaugedp.accountant.rounding import up_decimal
from gaugedp.bodies.base import Body
from gaugedp.entropy import Entropy
from gaugedp.guarantees import Guarantee, LaplaceLoss
from gaugedp.mechanisms.selection import Selection, is_monotone, pure_epsilon, score_lattice, tail
from gaugedp.samplers.choice import coins, one_of_each


@dataclass(frozen=True, eq=False, repr=False)
class PermuteAndFlip(Selection):
    """Private choice of a candidate, with a small expected error.

    Use it in place of the exponential mechanism to select one of finitely many candidates, because its expected error
    at the same ε is never larger. The candidates are visited in random order. Each one tosses a coin, which shows heads
    more often for a higher score, and the first candidate with heads is selected.

    Notes
    -----
    Let B be the largest change of one score by one protected unit, which is `body.radius(∞)`. The probability of heads
    is exp(−ε·g/(2B)) for a score that is g below the best one. If units are added or removed, all counts change in the
    same direction, and B takes the place of 2B.

    Theorem. The selection reveals no more than Laplace noise of scale 1/ε on an answer that one unit changes by at most
    1. This guarantee, LaplaceLoss(1/ε), implies ε-DP. For all scores, the expected gap to the best score is at most
    that of the exponential mechanism (McKenna and Sheldon 2020, theorem 2). The proofs are in
    docs/theory/permute_and_flip.md.

    Examples
    --------
    Three parties have 10, 9 and 5 votes. The first is selected with probability 0.81; the exponential mechanism would
    select it with probability 0.73 only:

    >>> import gaugedp as gd
    >>> import numpy as np
    >>> body = gd.query(gd.Domain.of(party=["a", "b", "c"]), "party").sensitivity(gd.PrivacyUnit())
    >>> gd.PermuteAndFlip.calibrate(body, gd.PureDP(1)).probabilities(np.array([10, 9, 5])).round(2).tolist()
    [0.81, 0.18, 0.0]
    """

    name: ClassVar[str] = "PermuteAndFlip"
    form: ClassVar[str] = "choice"

    @classmethod
    def calibrate(cls, body: Body, guarantee: Guarantee) -> "PermuteAndFlip":
        """Return the mechanism for PureDP(ε), or LaplaceLoss(1/ε)."""
        loss = _loss(guarantee)
        return cls(body, loss, 1 / decimal(loss.scale), *score_lattice(body), is_monotone(body))

    def recalibrated(self, guarantee: Guarantee) -> "PermuteAndFlip":
        """Return the mechanism for the same body."""
        return PermuteAndFlip.calibrate(self.body, guarantee)

    def error_bound(self, failure: float) -> float:
        """Return a bound on the gap to the best score.

        The bound is (2B/ε)·log(k/`failure`) for k candidates, and half of it for counts.
        """
        return (tail(self.n_candidates, failure) / float(self.rate) + (self.step != 1)) * float(self.step)

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return the output distribution, shape (k,), in floating point.

        It is p_i·∫₀¹ ∏_{j≠i} (1 − p_j + p_j·t) dt, where p_i is the probability of heads of candidate i. Gauss–Legendre
        quadrature with (k + 1)/2 nodes is exact for this polynomial, up to the rounding of floats.
        """
        numbers = self.in_steps(scores)
        heads = np.exp(-float(self.rate) * (numbers.max() - numbers).astype(float))
        nodes, weights = np.polynomial.legendre.leggauss(min(self.n_candidates // 2 + 1, 200))
        factors = 1 - np.multiply.outer((1 - nodes) / 2, heads)
        products = factors.prod(axis=1, keepdims=True) / factors
        return heads * (weights / 2 @ products)

    def describe(self) -> str:
        """Return the number of candidates and the gap factor."""
        return f"one of {self.n_candidates:,}, heads exp(-{float(self.rate / self.step):.6g} x gap)"

    def _draw(self, scores: np.ndarray, size: int, rng: Entropy) -> np.ndarray:
        gaps, batch = scores.max() - scores, max(1, 2**22 // len(scores))  # coins at once
        parts = [min(batch, size - start) for start in range(0, size, batch)]
        choices = [one_of_each(coins(np.broadcast_to(gaps, (part, len(gaps))), self.rate, rng), rng) for part in parts]
        return np.concatenate(choices)


def _loss(guarantee: Guarantee) -> LaplaceLoss:
    match guarantee:
        case LaplaceLoss():
            return guarantee
    return LaplaceLoss(up_decimal(1 / pure_epsilon(PermuteAndFlip.name, guarantee)))
