"""The exponential mechanism on finitely many candidates."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from gaugedp._internal.bisection import bisected
from gaugedp._internal.validate import decimal
from gaugedp.bodies.base import Body
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import ZCDP, ApproxDP, ExponentialLoss, Guarantee, PureDP
from gaugedp.mechanisms.selection import Selection, is_monotone, score_lattice, tail
from gaugedp.samplers.choice import choose


@dataclass(frozen=True, eq=False, repr=False)
class Exponential(Selection):
    """Private choice of a candidate with a high score.

    Use it to select one of finitely many candidates, such as the most frequent category. The output is the index of a
    candidate, and candidates with higher scores are more likely to be selected. The method is known as the exponential
    mechanism. `PermuteAndFlip` has a smaller or equal expected error at the same ε.

    Notes
    -----
    Let B be the largest change of one score by one protected unit, which is `body.radius(∞)`. The probability of index
    i is proportional to exp(ε·score_i/(2B)). If units are added or removed, all counts change in the same direction,
    and B takes the place of 2B.

    Theorem. The privacy losses of any two outputs differ by at most ε between neighbouring tables. This property, known
    as bounded range and here called ExponentialLoss(ε), implies ε-DP and ε²/8-zCDP (McSherry and Talwar 2007, theorem
    6; Dong, Durfee and Rogers 2020). The proof is in docs/theory/exponential.md.

    Examples
    --------
    Three parties have 10, 9 and 5 votes. With ε = 1, the first is selected with probability 0.73, the second with 0.27:

    >>> import gaugedp as gd
    >>> import numpy as np
    >>> body = gd.query(gd.Domain.of(party=["a", "b", "c"]), "party").sensitivity(gd.PrivacyUnit())
    >>> gd.Exponential.calibrate(body, gd.PureDP(1)).probabilities(np.array([10, 9, 5])).round(2).tolist()
    [0.73, 0.27, 0.0]
    """

    name: ClassVar[str] = "Exponential"
    form: ClassVar[str] = "choice"

    @classmethod
    def calibrate(cls, body: Body, guarantee: Guarantee) -> "Exponential":
        """Return the mechanism for PureDP, ExponentialLoss, ZCDP(ε²/8) or ApproxDP."""
        epsilon = bounded_range(guarantee)
        step, width = score_lattice(body)
        return cls(body, ExponentialLoss(epsilon), decimal(epsilon), step, width, is_monotone(body))

    def recalibrated(self, guarantee: Guarantee) -> "Exponential":
        """Return the mechanism for the same body."""
        return Exponential.calibrate(self.body, guarantee)

    def error_bound(self, failure: float) -> float:
        """Return a bound on the gap to the best score.

        The bound is (2B/ε)·log(k/`failure`) for k candidates, or half of it for counts, and one lattice step. It holds
        except with probability `failure`.
        """
        return (tail(self.n_candidates, failure) / float(self.rate) + (self.step != 1)) * float(self.step)

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return the output distribution, shape (k,), in floating point."""
        return scipy.special.softmax(self.in_steps(scores) * float(self.rate))

    def describe(self) -> str:
        """Return the number of candidates and the score factor."""
        return f"one of {self.n_candidates:,}, weights exp({float(self.rate / self.step):.6g} x score)"

    def _draw(self, scores: np.ndarray, size: int, rng: Entropy) -> np.ndarray:
        return choose(scores.max() - scores, self.rate, size, rng)


def bounded_range(guarantee: Guarantee) -> float:
    """Return the largest bounded range ε that implies the guarantee."""
    match guarantee:
        case PureDP(epsilon_value=epsilon) | ExponentialLoss(epsilon_value=epsilon) if epsilon > 0:
            return float(epsilon)
        case ZCDP(rho=rho) if rho > 0:
            return math.sqrt(8 * rho) * (1 - 2.0**-50)
        case ApproxDP(epsilon_value=epsilon, delta_value=delta) if epsilon > 0 or delta > 0:
            return _with_delta(epsilon, delta)
    raise InvalidRequest(
        f"The exponential mechanism does not support {guarantee!r}.", "Pass a positive epsilon or rho."
    )


def _with_delta(epsilon: float, delta: float) -> float:
    """Return the range whose profile at ε is δ."""

    def keeps(width: float) -> bool:
        return ExponentialLoss(width).exact_delta(epsilon) <= delta

    low, high = epsilon, epsilon + 1.0
    while keeps(high) and high < 1e6:
        low, high = high, 2 * high
    low, _ = bisected(low, high, keeps, relative=1e-12)
    if low > 0:
        return low
    raise InvalidRequest(
        "With so small a guarantee, the mechanism could only select at random.", "Use a larger epsilon or delta."
    )
