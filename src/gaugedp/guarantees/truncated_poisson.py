"""The guarantee of Gaussian noise on a Poisson sample that is cut to a largest size."""

from fractions import Fraction

import scipy

from gaugedp._validate import decimal, positive, whole
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import Guarantee
from gaugedp.guarantees.mixture import Mixture
from gaugedp.guarantees.subsampled import SubsampledGaussian

_SURE = Fraction(1) - Fraction(1, 2**36)  # relative: more than binomial tails lose


def truncated_poisson(n_units: int, rate: float, batch_size: int, noise_multiplier: float) -> Guarantee:
    """Return the guarantee of one step on a Poisson sample cut at random to `batch_size` units.

    Each of the units is drawn with probability q = `rate`, independently; of more than B = `batch_size` a uniform B
    are kept. Their sum, of vectors of ℓ₂ norm at most 1, gets Gaussian noise of deviation σ = `noise_multiplier`.
    Neighbours differ by one unit; the larger table has n = `n_units`, and n is public.

    With w = P(Bin(n − 1, q) ≥ B) and p = P(Bin(n, q) > B)·B/(n·w) it is the mixture of `SubsampledGaussian`(q, σ),
    with probability 1 − w, and `SubsampledGaussian`(p, σ/2), with probability w: docs/theory/sampling.md.
    """
    whole(minimum=1, n_units=n_units, batch_size=batch_size)
    positive(noise_multiplier=noise_multiplier)
    plain = SubsampledGaussian(rate, noise_multiplier)
    others, n_drawn = scipy.stats.binom(n_units - 1, rate), scipy.stats.binom(n_units, rate)
    cut, uncut = float(others.sf(batch_size - 1)), float(others.cdf(batch_size - 1))
    if batch_size >= n_units or cut < 1e-300:
        if batch_size < n_units:
            raise InvalidRequest(
                f"A sample of more than {batch_size} of {n_units} units is next to impossible.",
                "Give a smaller batch_size, or use SubsampledGaussian and add the chance to delta.",
            )
        return plain
    chance = min(1.0, float(n_drawn.sf(batch_size)) * batch_size / n_units / cut * (1 + 2.0**-36))
    halved = noise_multiplier / 2
    weights = [_SURE * decimal(uncut), _SURE * decimal(cut)]
    parts = [plain, SubsampledGaussian(min(rate, chance), halved), SubsampledGaussian(rate, halved)]
    return Mixture([*weights, 1 - sum(weights, Fraction(0))], parts)
