"""Minimax rates of private estimators, up to unknown constants."""

import math
import warnings

from gaugedp._internal.numbers import readable
from gaugedp._internal.validate import between, positive, whole
from gaugedp.errors import InvalidRequest


class UnmetHypothesis(UserWarning):
    """Warning that the theorem behind a rate does not apply."""


class Rate(float):
    """Minimax rate of an estimation problem, known up to constants.

    Use it to see whether privacy or sampling dominates the error, or how the error changes with the number of rows. The
    rate is the sum of two parts: `statistical`, the error of any estimator, private or not, and `privacy`, the error
    that privacy adds. `upper` is the rate that a known estimator attains.

    The rate is not an error. The smallest possible worst-case error lies between c and C times the rate for unknown
    constants c and C, so never compare an error with the rate itself. If `unmet` lists hypotheses of the theorem that
    do not hold, the number means nothing.
    """

    kind = "rate, constants unknown"
    statistical: float
    privacy: float
    upper: float
    n: int
    unmet: tuple[str, ...]

    @classmethod
    def of(cls, statistical: float, privacy: float, upper: float, n: int, unmet: tuple[str, ...] = ()) -> "Rate":
        """Return the rate with the given parts."""
        rate = cls(statistical + privacy)
        rate.unmet = unmet
        rate.statistical, rate.privacy, rate.upper, rate.n = statistical, privacy, upper, n
        return rate

    @property
    def value(self) -> float:
        """The rate: the statistical plus the privacy part."""
        return float(self)

    def free_from(self, share: float = 0.1) -> int:
        """Return the number of rows from which privacy is negligible.

        With at least that many rows, the privacy part is at most `share` of the statistical part. The number is known
        only up to a factor, because the constants are unknown.
        """
        positive(share=share)
        return math.ceil(self.n * (self.privacy / (share * self.statistical)) ** 2)

    def __reduce__(self) -> tuple[object, tuple[float, float, float, int, tuple[str, ...]]]:
        return Rate.of, (self.statistical, self.privacy, self.upper, self.n, self.unmet)

    def __str__(self) -> str:
        kind = "; ".join([self.kind, *self.unmet])
        return (
            f"{readable(self.value)} ({kind}): {readable(self.statistical)} from sampling, "
            f"{readable(self.privacy)} from privacy, which is a tenth of the former from n = {self.free_from():,}"
        )


def sparse_mean(  # noqa: PLR0913 - public numbers
    n: int, d: int, s: int, epsilon: float, delta: float, sigma: float = 1.0, *, bounded: bool = False
) -> Rate:
    """Return the minimax rate for a sparse mean.

    Use it to see whether privacy or sampling dominates the error of a mean of d columns, of which only s differ from 0.

    Parameters
    ----------
    n, d : int
        The numbers of rows and of coordinates.
    s : int
        The number of coordinates of the mean that are not 0.
    epsilon, delta : float
        The guarantee, ε and δ.
    sigma : float
        The σ for which the rows are σ-sub-Gaussian in every coordinate: their tails are no heavier than those of a
        normal variable with standard deviation σ. Default 1.
    bounded : bool
        Whether a public constant bounds every coordinate of every row (part 1 of theorem 14). Default False.

    Returns
    -------
    Rate
        The rate with its statistical and its privacy part.

    Warns
    -----
    UnmetHypothesis
        If √(s·log(1/δ))·log(d/s)/(nε) is above 1, ε is above 10, or δ is not between e^{−3εn/2}/n and 1/n. In the first
        case the estimate 0, with the error √s·max|μ_j| for the mean μ, is better.

    Notes
    -----
    The error is E‖estimate − mean‖₂. Its rate is σ·(√(s·log d/n) + s·log(d/s)·√log(1/δ)/(nε)) (Cai, Wang and Zhang
    2021, theorem 13). `upper` (theorem 14) has log d for log(d/s) and, unless rows are bounded, a factor √log n in its
    second part. For the quotient of both parts, the source prints nε instead of √n·ε.

    Examples
    --------
    With 10,000 rows and 10 of 1,000 coordinates, the error is of the order of 0.1:

    >>> import gaugedp as gd
    >>> round(gd.bounds.sparse_mean(n=10_000, d=1000, s=10, epsilon=1.0, delta=1e-6), 4)
    0.1002
    """
    _check(n, d, epsilon, delta, sigma)
    whole(minimum=1, s=s)
    if s >= d:
        raise InvalidRequest(
            f"The sparsity `s` is {s}, but must be below the number of columns, d = {d}.",
            "Choose a smaller `s`, or use dense_mean if all columns matter.",
        )
    statistical = sigma * math.sqrt(s * math.log(d) / n)
    scale = sigma * s * math.sqrt(math.log(1 / delta)) / (n * epsilon)
    reached = statistical + scale * math.log(d) * _log_factor(n, bounded)
    unmet = _unmet(n, epsilon, delta, math.log(d / s) * scale / (sigma * math.sqrt(s)))
    return Rate.of(statistical, scale * math.log(d / s), reached, n, unmet)


def dense_mean(n: int, d: int, epsilon: float, delta: float, sigma: float = 1.0, *, bounded: bool = False) -> Rate:
    """Return the minimax rate for a mean.

    Use it to see how many rows you need before the privacy of a mean of d columns costs little. The parameters are
    those of `sparse_mean`.

    Notes
    -----
    The warning of `sparse_mean` is given here if √(d·log(1/δ))/(nε) is above 1, instead of its first condition.

    The error is E‖estimate − mean‖₂. For n rows its rate is σ·(√(d/n) + d·√log(1/δ)/(nε)) (Cai, Wang and Zhang 2021,
    theorem 12). `upper` (theorem 15) has a factor √log n in its second part unless the rows are bounded.

    Examples
    --------
    With 10,000 rows and 100 columns, sampling dominates:

    >>> import gaugedp as gd
    >>> rate = gd.bounds.dense_mean(n=10_000, d=100, epsilon=1.0, delta=1e-6)
    >>> round(rate.statistical, 3), round(rate.privacy, 3)
    (0.1, 0.037)
    """
    _check(n, d, epsilon, delta, sigma)
    statistical = sigma * math.sqrt(d / n)
    privacy = sigma * d * math.sqrt(math.log(1 / delta)) / (n * epsilon)
    unmet = _unmet(n, epsilon, delta, privacy / (sigma * math.sqrt(d)))
    return Rate.of(statistical, privacy, statistical + privacy * _log_factor(n, bounded), n, unmet)


def _log_factor(n: int, bounded: bool) -> float:
    return 1.0 if bounded else math.sqrt(math.log(max(n, 3)))


def _unmet(n: int, epsilon: float, delta: float, quotient: float) -> tuple[str, ...]:
    log_least = -1.5 * epsilon * n - math.log(n)
    broken = {
        f"the privacy part is {quotient:.3g} times the error of the estimate 0, and must be of its order": quotient > 1,
        f"epsilon = {epsilon:g} must be of order 1": epsilon > 10,
        f"delta = {delta:g} must be below 1/n": delta * n >= 1,
        f"delta = {delta:g} must be at least e^(−3εn/2)/n": math.log(delta) < log_least,
    }
    unmet = tuple(words for words, is_broken in broken.items() if is_broken)
    if unmet:
        warnings.warn(f"The rate does not apply: {'; '.join(unmet)}.", UnmetHypothesis, stacklevel=3)
    return unmet


def _check(n: int, d: int, epsilon: float, delta: float, sigma: float) -> None:
    whole(minimum=1, n=n, d=d)
    positive(epsilon=epsilon, sigma=sigma)
    between(0, 1, delta=delta)
