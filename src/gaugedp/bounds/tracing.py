"""Membership tests against a released mean, with an upper bound."""

import math

from scipy.special import ndtr, ndtri

from gaugedp._internal.validate import between, non_negative, one_of, whole
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import Guarantee
from gaugedp.guarantees.probability import probability_range

STATISTICS = ("printed", "signed")


def tracing_power(  # noqa: PLR0913, PLR0917 - a public function
    n: int,
    d: int,
    s: int,
    delta: float = 1e-6,
    statistic: str = "printed",
    noise: float = 0.0,
    guarantee: Guarantee | None = None,
) -> float:
    """Return the true-positive rate of a tracing attack.

    The attack has the "printed" or "signed" `statistic`, against the mean of `n` normal rows. Rows are N(0, I_d); M is
    their mean plus N(0, `noise`²·I_d), `noise` in deviations of one entry of a row. Let r = 1/√(n + n²·noise²), the
    correlation of a member's x_j and M_j, and T the sum of the s largest of d independent normal variables ("signed":
    of their sizes). Then the power is E Φ((r·T − √(8·s·log(1/δ)))/√(s·(2 − r²))), the completeness of lemma 13 of Cai,
    Wang and Zhang (2021); soundness is Φ(−2√log(1/δ)) ≤ δ². T is taken as normal, with the mean and the variance of a
    trimmed sum (Stigler 1973): an error below 0.03, and below 0.002 from s = 10 on if d is 1,000 or more. With a
    `guarantee` for one row, it is at most `tracing_ceiling` at that soundness. docs/theory/audit.md
    """
    one_of(STATISTICS, statistic=statistic)
    whole(minimum=1, n=n, d=d)
    check_size(s, d)
    between(0, 1, delta=delta)
    non_negative(noise=noise)
    mean, variance = _largest(s, d, 2 if statistic == "signed" else 1)
    correlation = 1 / math.sqrt(n + (n * noise) ** 2)
    excess = correlation * math.sqrt(s) * mean - math.sqrt(8 * -math.log(delta))
    power = float(ndtr(excess / math.sqrt(2 + correlation**2 * (variance - 1))))
    return power if guarantee is None else min(power, tracing_ceiling(guarantee, delta**2))


def tracing_ceiling(guarantee: Guarantee, false_positive_rate: float) -> float:
    """Return the largest true-positive rate under a guarantee.

    For one row, it is the largest P(E) with Q(E) = `false_positive_rate` (`guarantees.probability_range`).

    Examples
    --------
    >>> import gaugedp as gd
    >>> round(gd.bounds.tracing_ceiling(gd.PureDP(1), false_positive_rate=0.01), 4)
    0.0272
    """
    between(0, 1, false_positive_rate=false_positive_rate)
    return probability_range(guarantee, float(false_positive_rate))[1]


def check_size(s: int | None, d: int) -> None:
    """Refuse more coordinates than there are."""
    if s is not None:
        whole(minimum=1, s=s)
        if s > d:
            raise InvalidRequest(f"s is {s}, and there are {d} coordinates.", "Give s as at most their number.")


def _largest(s: int, d: int, sides: int) -> tuple[float, float]:
    """Return mean and variance, over s, of the sum of the s largest of d normal variables (or sizes)."""
    share = (s + 0.5) / (d + 0.5)
    threshold = float(-ndtri(share / sides))
    if math.isinf(threshold):
        return 0.0, 1.0
    mean = sides / share * math.exp(-(threshold**2) / 2) / math.sqrt(2 * math.pi)
    return mean, 1 + threshold * mean - mean**2 + (1 - share) * (mean - threshold) ** 2
