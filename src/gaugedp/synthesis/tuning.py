"""Tuned settings of synthetic rows. They trade error for time; no guarantee depends on them."""

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class SynthesisTuning:
    """Settings of adaptive measurement and of maximum-entropy fits.

    Each comment says what a value trades, what chose it ("by hand": no benchmark did), and what doubling it does.
    """

    # Budget of first tables against that of tables that are chosen later: 1/rounds. Chosen by
    # benchmarks/adaptive_rows_settings.py on the survey in examples/acs: errors of 0.181, 0.153, 0.160 and 0.152 with
    # 2, 3, 4 and 6. Doubled, the error stays within its spread over seeds.
    rounds_per_attribute: int = 3
    # Part of a round's cost for the choice of a table, against its noise. By hand. Doubled: not measured.
    choice: Fraction = Fraction(1, 10)
    # Steps of the fit of a round: time against its error. Chosen by the same benchmark: 0.151, 0.153 and 0.153 with 15,
    # 30 and 60. Doubled, only the time rises; drawn rows are fitted to convergence.
    fit_steps: int = 30
    # Standard deviations of noise by which a multiplier of 1 moves a count from its released value: smoother rows
    # against nearer counts. By hand. Doubled, counts lie twice as far off at the same multipliers.
    slack: float = 0.2


TUNED = SynthesisTuning()
