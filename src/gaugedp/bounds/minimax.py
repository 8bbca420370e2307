"""Minimax rates of private estimators, up to unknown constants."""

import math

from gaugedp._internal.numbers import readable
from gaugedp._internal.validate import between, positive, whole
from gaugedp.errors import InvalidRequest


class Rate(float):
    """A minimax rate, known up to constants.

    The least worst-case error is between c and C times this number, for unknown constants. It is `statistical` +
    `privacy`: the error of any estimator, and what privacy adds. It is not a certificate: compare the two parts, or two
    values of n, never an error with the number. `upper` is the rate that is attained.
    """

    kind = "rate, constants unknown"
    statistical: float
    privacy: float
    upper: float
    n: int

    @classmethod
    def of(cls, statistical: float, privacy: float, upper: float, n: int) -> "Rate":
        """Return the rate with these parts."""
        rate = cls(statistical + privacy)
        rate.statistical, rate.privacy, rate.upper, rate.n = statistical, privacy, upper, n
        return rate

    @property
    def value(self) -> float:
        """The sum of both parts."""
        return float(self)

    def free_from(self, share: float = 0.1) -> int:
        """Return the number of rows at which privacy becomes negligible.

        From there on, the privacy part is at most `share` of the statistical one. The first falls as 1/n, the second as
        1/√n; as constants are unknown, so is a factor of this number.
        """
        positive(share=share)
        return math.ceil(self.n * (self.privacy / (share * self.statistical)) ** 2)

    def __reduce__(self) -> tuple[object, tuple[float, float, float, int]]:
        return Rate.of, (self.statistical, self.privacy, self.upper, self.n)

    def __str__(self) -> str:
        return (
            f"{readable(self.value)} ({self.kind}): {readable(self.statistical)} from sampling, "
            f"{readable(self.privacy)} from privacy, which is a tenth of the former from n = {self.free_from():,}"
        )


def sparse_mean(n: int, d: int, s: int, epsilon: float, delta: float, sigma: float = 1.0) -> Rate:
    """Return the minimax rate of E‖error‖₂ for a sparse mean.

    The n rows in ℝ^d are σ-sub-Gaussian, and s coordinates of the mean are not 0. It is σ·(√(s·log d/n) +
    s·log(d/s)·√log(1/δ)/(nε)) (Cai, Wang and Zhang 2021, theorem 13), for ε of order 1 and δ below 1/n. `upper`
    (theorem 14) has log d for log(d/s) and a factor √log n in its second part. Privacy dominates if √n·ε is below
    √(s·log(1/δ)/log d)·log(d/s): the quotient of both parts, where the paper has nε instead of √n·ε.

    Examples
    --------
    >>> import gaugedp as gd
    >>> round(gd.bounds.sparse_mean(n=10_000, d=1000, s=10, epsilon=1.0, delta=1e-6), 4)
    0.1002
    """
    _check(n, d, epsilon, delta, sigma)
    whole(minimum=1, s=s)
    if s >= d:
        raise InvalidRequest(f"s is {s} and d is {d}.", "Give s below d; for all coordinates use dense_mean.")
    statistical = sigma * math.sqrt(s * math.log(d) / n)
    scale = sigma * s * math.sqrt(math.log(1 / delta)) / (n * epsilon)
    reached = statistical + scale * math.log(d) * math.sqrt(math.log(max(n, 3)))
    return Rate.of(statistical, scale * math.log(d / s), reached, n)


def dense_mean(n: int, d: int, epsilon: float, delta: float, sigma: float = 1.0) -> Rate:
    """Return the minimax rate of E‖error‖₂ for a mean.

    The n rows in ℝ^d are σ-sub-Gaussian in every coordinate. It is σ·(√(d/n) + d·√log(1/δ)/(nε)) (Cai, Wang and Zhang
    2021, theorem 12), for ε of order 1 and δ below 1/n; `upper` (theorem 15) has a factor √log n in its second part.
    """
    _check(n, d, epsilon, delta, sigma)
    statistical = sigma * math.sqrt(d / n)
    privacy = sigma * d * math.sqrt(math.log(1 / delta)) / (n * epsilon)
    return Rate.of(statistical, privacy, statistical + privacy * math.sqrt(math.log(max(n, 3))), n)


def _check(n: int, d: int, epsilon: float, delta: float, sigma: float) -> None:
    whole(minimum=1, n=n, d=d)
    positive(epsilon=epsilon, sigma=sigma)
    between(0, 1, delta=delta)
