"""How far to trust a value: public truncation, or a private estimate of the range."""

import math
from fractions import Fraction

import numpy as np

from gaugedp._validate import non_negative, positive, whole
from gaugedp.bodies import LpBall
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import Guarantee
from gaugedp.mechanisms import Exponential

RANGE_SHARE = Fraction(1, 10)  # of ε, for the range where it is private


class TooFewRows(UserWarning):
    """The noise exceeds what the bounds allow a true value to be; says so from public numbers alone."""


def sub_gaussian_bounds(n_rows: int, sigma: float, mean_bound: float) -> tuple[float, float]:
    """Return (−T, T), T = mean_bound + sigma·√(log n), for rows x with E x_j at most `mean_bound` in size, public.

    What clipping adds to the mean of a normal law of deviation σ is then at most σ·E(Z − √log n)₊ ≤ σ/(√(2πn)·log n),
    a small part of the sampling error σ/√n: a wider T would only buy noise. (√(2·log n) would clip hardly any value.)
    """
    whole(minimum=2, n_rows=n_rows)
    positive(sigma=sigma)
    non_negative(mean_bound=mean_bound)
    reach = mean_bound + sigma * math.sqrt(math.log(n_rows))
    return -reach, reach


class PrivateRange:
    """A bound T, a power of two, that about a share α of the rows exceed somewhere: the exponential mechanism.

    `magnitudes` = (least, largest) is public: T is chosen among the powers of two between them. With r(T) the number of
    rows with max_j |x_j| > T, the score of T is min(α·n − r(T), r(T/2) − α·n), which one row moves by at most 1: it is
    positive for the least T that α·n rows or fewer exceed, and for no other.
    """

    SHARE = 0.02

    def __init__(self, magnitudes: object, guarantee: Guarantee) -> None:
        try:
            low, high = (float(end) for end in magnitudes)  # type: ignore[attr-defined]
        except (TypeError, ValueError):
            raise InvalidRequest("magnitudes is not a pair.", "Give magnitudes=(least, largest).") from None
        if not 2.0**-1000 < low < high < 2.0**1000:
            raise InvalidRequest(f"magnitudes is ({low:g}, {high:g}).", "Give 0 < least < largest.")
        self.bounds = 2.0 ** np.arange(math.floor(math.log2(low)), math.ceil(math.log2(high)) + 1)
        self.mechanism = Exponential.calibrate(LpBall(len(self.bounds), math.inf), guarantee)

    def choose(self, rows: np.ndarray, rng: Entropy) -> float:
        """Return T; what is not a number is not counted."""
        largest = np.abs(np.nan_to_num(rows, nan=0.0, posinf=math.inf, neginf=-math.inf)).max(axis=1)
        beyond = np.array([(largest > bound).sum() for bound in (self.bounds[0] / 2, *self.bounds)])
        allowed = self.SHARE * len(rows)
        index = self.mechanism.sample(np.minimum(allowed - beyond[1:], beyond[:-1] - allowed), rng)
        return float(self.bounds[index])
