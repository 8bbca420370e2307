"""Strongly log-concave densities: the privacy of a pair, and concentration."""

import math

from gaugedp._internal.validate import non_negative, positive
from gaugedp.guarantees.gaussian import GaussianDP


def log_concave_pair(lipschitz: float, convexity: float) -> GaussianDP:
    """Return the guarantee of sampling from a log-concave density.

    Use it for a sampler of your own whose density is proportional to e^{−F}, where the exponent F depends on the rows.
    Suppose that one row changes F to F̃, that both are μ-strongly convex on a convex set, and that F̃ − F is
    G-Lipschitz. Then samples from the two densities are (G/√μ)-GDP (Gopi and others 2023, theorem 2).

    Parameters
    ----------
    lipschitz : float
        The Lipschitz constant G. For k·(the mean of n losses, each L-Lipschitz) it is 2kL/n if a row is replaced.
    convexity : float
        The strong convexity μ of both exponents.

    Returns
    -------
    GaussianDP
        The guarantee, rounded up.

    Examples
    --------
    Exponents that differ by a 1-Lipschitz function and are 4-strongly convex give μ = 1/√4, rounded up:

    >>> from gaugedp.optimization import log_concave_pair
    >>> log_concave_pair(lipschitz=1.0, convexity=4.0).mu
    0.5000000000000002
    """
    non_negative(lipschitz=lipschitz)
    positive(convexity=convexity)
    return GaussianDP(lipschitz / math.sqrt(convexity) * (1 + 2.0**-51))


def lipschitz_tail(deviation: float, lipschitz: float, convexity: float) -> float:
    """Bound the tail of Lipschitz functions of log-concave variables.

    Use it to bound how far a random draw, such as the loss of sampled weights, can lie above its mean. The variable X
    has a density proportional to e^{−F}, where F is μ-strongly convex, and the function ℓ is G-Lipschitz in the same
    norm. The bound on P(ℓ(X) − E ℓ(X) ≥ t) is e^{−t²μ/(2G²)} (Gopi and others 2023, lemma 5, after Ledoux 1999 and
    Bobkov and Ledoux 2000).

    Parameters
    ----------
    deviation : float
        The deviation t ≥ 0.
    lipschitz, convexity : float
        The Lipschitz constant G of ℓ, and the strong convexity μ of F.

    Returns
    -------
    float
        The probability, at most 1.

    Examples
    --------
    The bound for two units above the mean is e^{−2}:

    >>> from gaugedp.optimization import lipschitz_tail
    >>> round(lipschitz_tail(2.0, lipschitz=1.0, convexity=1.0), 4)
    0.1353
    """
    non_negative(deviation=deviation)
    positive(lipschitz=lipschitz, convexity=convexity)
    return math.exp(-((deviation / lipschitz) ** 2) * convexity / 2)
