"""What the statistical tests share: how the false alarms of the whole suite are split, and a test by guesses.

1e-6 for all of tests/statistics with fresh keys (the keys are fixed, so a pass is a pass): a quarter each to the
white-box tests, to the black-box tests of releases, to the audits of every mechanism, and to the planted faults'
controls. Beside these, each check of how often a bound or a p-value errs alarms falsely with probability 1e-9. Coverage
of intervals and the lattice's low bits have no share: see their files.
"""

import numpy as np

from gaugedp.audit.clopper_pearson import most_right, tail

TOTAL = 1e-6
QUARTER = TOTAL / 4


def guesses(outputs_a: np.ndarray, outputs_b: np.ndarray, threshold: float) -> int:
    """How often "b when the output is at least the threshold, a when it is below" is right."""
    return int((outputs_b >= threshold).sum() + (outputs_a < threshold).sum())


def breaks_guarantee(right: int, n_runs: int, epsilon: float) -> float:
    """P(at least `right` of `n_runs` guesses are right) where the release is ε-DP: each is right at e^ε/(1 + e^ε)."""
    return tail(right, n_runs, most_right(epsilon, 0.0))
