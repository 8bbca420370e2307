"""Guarantee of Gaussian noise on a truncated Poisson sample."""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import scipy

from gaugedp._internal.rounding import INTEGERS
from gaugedp._internal.validate import decimal, positive, whole, written
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import ONE_CHANGE, Guarantee
from gaugedp.guarantees.mixture import Mixture
from gaugedp.guarantees.same_as import SameAs
from gaugedp.guarantees.subsampled import LEAST_NOISE, SubsampledGaussian

_TAIL = 2.0**-30  # above the relative error of binomial tails, 1.3e-10 of 4e9


def truncated_poisson(n_units: int, rate: float, batch_size: int, noise_multiplier: float) -> Guarantee:
    """Return the guarantee of a DP-SGD step with truncated batches.

    Use it if the training code limits the size of its Poisson batches. Each unit joins the batch with probability
    `rate`, independently. If more than `batch_size` units join, only `batch_size` of them, chosen at random, remain.
    Gaussian noise is added to the sum of their vectors, whose ℓ₂ norms are at most 1.

    Parameters
    ----------
    n_units : int
        The number n of units in the table, which is public. Neighbouring tables have one unit fewer or one more.
    rate : float
        The probability q with which a unit joins the batch.
    batch_size : int
        The largest batch B.
    noise_multiplier : float
        The standard deviation σ of the noise, in units of the clipping norm.

    Notes
    -----
    Groups of units are not covered, because their tables have other numbers of rows: `group` raises InvalidRequest.

    Take a pair of neighbours whose larger table has m units. Let w = P(Bin(m − 1, q) ≥ B), the probability that the
    other units fill the batch, and p = P(Bin(m, q) > B)·B/(m·w). With probability 1 − w the pair has the guarantee
    `SubsampledGaussian`(q, σ), and with probability w it has `SubsampledGaussian`(p, σ/2). The number m is n or n + 1.
    The probability that only one of the two has in its second part gets `SubsampledGaussian`(q, σ/2), which dominates
    all. The proof is in docs/theory/sampling.md.

    Examples
    --------
    One training step on batches of at most 32 of 1,000 examples has this ε at δ = 1e-5:

    >>> from gaugedp.guarantees import truncated_poisson
    >>> step = truncated_poisson(n_units=1000, rate=0.01, batch_size=32, noise_multiplier=1.0)
    >>> round(step.epsilon(1e-5), 2)
    0.2
    """
    return TruncatedPoisson(n_units, rate, batch_size, noise_multiplier)


@dataclass(frozen=True, eq=True, repr=False)
class TruncatedPoisson(SameAs, Guarantee):
    """Guarantee that `truncated_poisson` returns, for one unit."""

    n_rows: int
    rate: float
    batch_size: int
    noise_multiplier: float
    pair_is_least = False  # it is that of two sizes of tables, and above both

    def __post_init__(self) -> None:
        whole(minimum=1, n_units=self.n_rows, batch_size=self.batch_size)
        positive(rate=self.rate, noise_multiplier=self.noise_multiplier)
        is_cut = self.batch_size <= self.n_rows
        if self.n_rows > INTEGERS or (is_cut and self.noise_multiplier < 2 * LEAST_NOISE):
            raise InvalidRequest(
                f"`n_units` is {written(self.n_rows)} and `noise_multiplier` is {self.noise_multiplier!r}, but at most "
                "2^53 units and, for a truncated sample, a noise multiplier of at least 0.002 are supported.",
                "Pass values in these ranges.",
            )
        self._set(n_rows=int(self.n_rows), batch_size=int(self.batch_size))
        self._set(rate=float(self.rate), noise_multiplier=float(self.noise_multiplier))
        self.equivalent  # noqa: B018 - raises for an invalid rate

    @property
    def equivalent(self) -> Guarantee:
        """The mixture, or the plain sample if nothing is truncated."""
        return _of_step(self.n_rows, self.rate, self.batch_size, self.noise_multiplier)

    @property
    def stated_neighbours(self) -> frozenset[str]:
        """One unit added or removed, once."""
        return frozenset({"add_remove", ONE_CHANGE})

    @property
    def pair_has_curve(self) -> bool:
        """True if the pair has the Rényi curve of `equivalent`."""
        return self.equivalent.pair_has_curve

    def group(self, size: int) -> Guarantee:
        """Return this guarantee for groups of one unit.

        Larger groups are refused, although `equivalent` would allow them.
        """
        return Guarantee.group(self, size)

    def __repr__(self) -> str:
        return f"truncated_poisson({self.n_rows}, {self.rate:.12g}, {self.batch_size}, {self.noise_multiplier:.12g})"


@lru_cache(maxsize=64)
def _of_step(n_units: int, rate: float, batch_size: int, noise_multiplier: float) -> Guarantee:
    plain = SubsampledGaussian(rate, noise_multiplier)
    if batch_size > n_units:
        return plain
    cuts, chances = zip(*(_second_part(m, rate, batch_size) for m in (n_units, n_units + 1)), strict=True)
    low, high = decimal(min(cuts)) * (1 - Fraction(_TAIL)), min(Fraction(1), decimal(max(cuts)) * (1 + Fraction(_TAIL)))
    halved = [SubsampledGaussian(q, noise_multiplier / 2) for q in (max(chances), rate)]
    return Mixture([1 - high, low, high - low], [plain, *halved])


def _second_part(n_larger: int, rate: float, batch_size: int) -> tuple[float, float]:
    """Return w, and p rounded up, of two tables the larger of which has `n_larger` units."""
    cut = max(float(scipy.stats.binom.sf(batch_size - 1, n_larger - 1, rate)), 1e-300)
    share = float(scipy.stats.binom.sf(batch_size, n_larger, rate)) * batch_size / n_larger / cut
    return cut, min(rate, max(share * (1 + _TAIL), 1e-12)) if cut > 1e-300 else rate
