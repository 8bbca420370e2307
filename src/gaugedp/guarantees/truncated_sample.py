"""The guarantee of Gaussian noise on a Poisson sample that is cut to a largest size."""

from fractions import Fraction

import scipy

from gaugedp._validate import decimal, positive, whole
from gaugedp.guarantees.base import Guarantee
from gaugedp.guarantees.mixture import Mixture
from gaugedp.guarantees.subsampled import SubsampledGaussian

_LOST, _LEAST = (
    2.0**-30,
    1e-300,
)  # relative: more than binomial tails lose (1.3e-10 of 4e9 units); the least of them that is told apart


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
    if batch_size >= n_units:
        return plain
    cut = max(float(scipy.stats.binom.sf(batch_size - 1, n_units - 1, rate)), _LEAST)
    share = float(scipy.stats.binom.sf(batch_size, n_units, rate)) * batch_size / n_units / cut
    chance = min(rate, max(share * (1 + _LOST), 1e-12)) if cut > _LEAST else rate
    low, high = decimal(cut) * (1 - Fraction(_LOST)), min(Fraction(1), decimal(cut) * (1 + Fraction(_LOST)))
    halved = [SubsampledGaussian(q, noise_multiplier / 2) for q in (chance, rate)]
    return Mixture([1 - high, low, high - low], [plain, *halved])
