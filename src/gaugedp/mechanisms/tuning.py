"""Tuned settings of mechanisms. They move errors; no guarantee depends on them."""

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class MechanismTuning:
    """Preferences between mechanisms, lattice steps, and parts of failure probabilities.

    Each comment says what a value trades, what chose it ("by hand": no benchmark did), and what doubling it does.
    """

    # Times the least error, up to which exact noise is preferred to noise in floats or of a walk: exactness against
    # error. By hand. Doubled, exact noise is taken at up to 2.2 times the error.
    exactness_preference: float = 1.1
    # Lattice steps per radius for real answers: a coarser lattice adds rounding to the sensitivity, a finer one takes
    # longer numbers. By hand. Doubled, the rounding adds half as much.
    fine_steps: int = 2**12
    # Part of the error probability of a tree of counts for its lowest level: higher levels have less noise. By hand. It
    # cannot be doubled.
    lowest_level: float = 0.9
    # Part of the failure probability of quantiles for ends that no count verifies; verified ends have the rest. By
    # hand. Doubled, verified ends are wider, and others are nearer.
    fallback: Fraction = Fraction(1, 5)
    # Part of ordinary cells with an end that no count verifies, by a bound of about ten times the truth: narrower
    # proposals against more failures. By hand. Doubled: not measured.
    unverified_cells: float = 0.2


TUNED = MechanismTuning()
