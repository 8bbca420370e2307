"""Membership tests against a released mean, with an upper bound."""

import math

from scipy.special import ndtr, ndtri

from gaugedp._internal.validate import between, non_negative, one_of, whole
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import Guarantee, probability_range

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
    """Return the power of an attack on a released mean.

    Use it before a release, to see whether an attack could find out who is in the data. The power is the probability
    with which the attack recognises a row that is in the data.

    Parameters
    ----------
    n, d : int
        The numbers of rows and of columns; rows are normal, N(0, I_d).
    s : int
        The number of coordinates that the attack uses.
    delta : float
        The attack takes a row that is not in the data for a member with probability at most δ². Default 1e-6.
    statistic : {"printed", "signed"}
        The attack, as in `gd.audit.tracing_attack`. Default "printed".
    noise : float
        The standard deviation of noise added to the mean, relative to that of one entry of a row. Default 0.
    guarantee : Guarantee, optional
        A guarantee for one row, which limits the power to at most `tracing_ceiling`. By default there is none.

    Notes
    -----
    Let r = 1/√(n + n²·noise²), which is the correlation of a member's coordinate x_j with the released M_j. Let T be
    the sum of the s largest of d independent normal variables ("signed": of their absolute values), and Φ the normal
    distribution function. Given M, the s terms add up to a normal variable of mean r·T and variance s·(1 − r²), and the
    x̃_j add the variance s. So the power is E Φ((r·T − √(8·s·log(1/δ)))/√(s·(2 − r²))), as in lemma 13 of Cai, Wang and
    Zhang (2021). T is taken as normal with the mean and variance of a trimmed sum (Stigler 1973). The error of this is
    below 0.03, and below 0.002 from s = 10 on if d is 1,000 or more.

    Examples
    --------
    From the mean of 50 rows, an attack recognises a member with probability 0.71. Noise as large as the entries
    prevents it:

    >>> import gaugedp as gd
    >>> [round(gd.bounds.tracing_power(n=50, d=20_000, s=10_000, noise=noise), 2) for noise in (0, 1)]
    [0.71, 0.0]
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
    """Return the largest power of a test under a guarantee.

    Use it to see what a guarantee means for an attacker who tests whether one row is in the data. The power is the
    true-positive rate: the probability with which a test recognises a row that is in the data. `false_positive_rate` is
    the probability with which it wrongly accuses a row that is not.

    Examples
    --------
    If ε = 1, a test that wrongly accuses 1 % of the others recognises a member with probability at most 2.72 %:

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
            raise InvalidRequest(f"`s` is {s}, but there are only {d} coordinates.", "Choose a smaller `s`.")


def _largest(s: int, d: int, sides: int) -> tuple[float, float]:
    """Return mean and variance, over s, of the sum of the s largest of d normal variables (or sizes)."""
    share = (s + 0.5) / (d + 0.5)
    threshold = float(-ndtri(share / sides))
    if math.isinf(threshold):
        return 0.0, 1.0
    mean = sides / share * math.exp(-(threshold**2) / 2) / math.sqrt(2 * math.pi)
    return mean, 1 + threshold * mean - mean**2 + (1 - share) * (mean - threshold) ** 2
