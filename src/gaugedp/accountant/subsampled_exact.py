"""Exact profile of a few releases of small noise on samples."""

import math
from dataclasses import dataclass

import numpy as np
import scipy

from gaugedp._internal.rounding import UNIT
from gaugedp.accountant.atoms import explicit_distribution
from gaugedp.accountant.contour import Bracket
from gaugedp.accountant.loss import Array
from gaugedp.accountant.total import Total


@dataclass(frozen=True)
class Blurred:
    """Mixture of normal losses with `means`, `variances` and `log_weights`.

    Each variance is 0 or at least 400; `lost` bounds the rounding in units.
    """

    means: Array
    variances: Array
    log_weights: Array
    lost: float

    def log_delta(self, epsilon: float) -> Bracket:
        """Return log δ at `epsilon`, with rounding."""
        size = abs(epsilon) + float(np.abs(self.means).max())
        shift = UNIT * self.lost * size
        if epsilon - shift > self.largest:
            return Bracket(-math.inf, -744.0)
        share = UNIT * (self.lost + 32 * (size + float(self.variances.max())))
        return Bracket(self._value(epsilon + shift) - share, self._value(epsilon - shift) + share)

    @property
    def largest(self) -> float:
        """A loss that is exceeded with negligible probability."""
        # exceeded by less than the least float, e^−744
        return float((self.means + 40.0 * np.sqrt(self.variances)).max())

    def _value(self, epsilon: float) -> float:
        """Return log of Σ w·(Φ(−y) − e^{ε−m+v/2}·Φ(−y − √v)), y = (ε − m)/√v; for v = 0, of Σ w·(1 − e^{ε−m})₊."""
        gaps = epsilon - self.means
        logs = np.full(len(gaps), -math.inf)
        sharp = (self.variances == 0) & (gaps < 0)
        logs[sharp] = np.log(-np.expm1(gaps[sharp]))
        wide = self.variances > 0
        deviations = np.sqrt(self.variances[wide])
        places = gaps[wide] / deviations
        above = scipy.special.log_ndtr(-places)
        against = gaps[wide] + self.variances[wide] / 2 + scipy.special.log_ndtr(-places - deviations)
        logs[wide] = above + np.log(-np.expm1(np.minimum(against - above, -UNIT)))
        return float(scipy.special.logsumexp(logs + self.log_weights))


def blurred(total: Total) -> Blurred | None:
    """Return all losses; None without small noise, or with other kinds or too many."""
    rows = [row for family in total.families for row in family.sampled_normals()]
    if not rows or any(n > 200 for *_, n in rows):  # releases of one kind
        return None
    finite = explicit_distribution(total.of([family for family in total.families if not family.sampled_normals()]))
    if finite is None or len(finite.losses) * math.prod(n + 1 for *_, n in rows) > 2**16:  # losses listed explicitly
        return None
    means, log_weights = finite.losses, np.log(np.maximum(finite.weights, 1e-320))
    variances = np.zeros(len(means))
    for rate, std, n in rows:
        k = np.arange(n + 1)
        ways = np.array([math.log(math.comb(n, times)) for times in k.tolist()])
        chances = ways + k * math.log(rate) + (n - k) * math.log1p(-rate)
        more = k * (math.log(rate) + 0.5 / std**2) + (n - k) * math.log1p(-rate)
        means, log_weights = np.add.outer(means, more).ravel(), np.add.outer(log_weights, chances).ravel()
        variances = np.add.outer(variances, k / std**2).ravel()
    releases = sum(n for *_, n in rows)
    return Blurred(means, variances, log_weights, finite.lost + 16 * releases + 8 * float(np.abs(log_weights).max()))
