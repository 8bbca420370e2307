"""Tuned settings of queries. They move errors between answers; no guarantee depends on them."""

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class QueryTuning:
    """Default shares of a budget, and of a failure probability.

    Each comment says what a value trades, what chose it ("by hand": no benchmark did), and what doubling it does.
    """

    # Share of the guarantee for sampling errors: shorter sampling errors, noisier answers. Chosen on samples other than
    # those of benchmarks/survey_weights.py. Doubled, half of the guarantee is left for the answers.
    sampling: float = 0.25
    # The same with strata, chosen in the same way. Doubled, 0.3 of it is left.
    sampling_in_strata: float = 0.35
    # The same with clusters, of each of which a total is released. Doubled, nothing is left.
    sampling_in_clusters: float = 0.5
    # Part of these shares for numbers of rows, of which only relative errors matter; squares have the rest. By hand.
    # Doubled: not measured.
    row_counts: Fraction = Fraction(1, 10)
    # Part of these shares for weighted totals, with strata; squares have the rest. Chosen like the shares.
    weighted_totals: Fraction = Fraction(3, 10)
    # Part of the probability that simultaneous intervals miss: shorter intervals of quantiles, longer ones of additive
    # noise. By hand. Doubled, quantiles have 0.8 of it.
    quantile_misses: float = 0.4


TUNED = QueryTuning()
