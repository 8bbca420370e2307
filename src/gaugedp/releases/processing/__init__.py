"""Post-processing of released values, at no cost. Its inputs are released values and public facts, never data."""

from gaugedp.releases.processing.adding_up import agreement, effective
from gaugedp.releases.processing.counts import processed_as_counts
from gaugedp.releases.processing.rounding import base_of
from gaugedp.releases.processing.steps import STEPS, check, how, may_be_joint, process, remark, words

__all__ = [
    "STEPS",
    "agreement",
    "base_of",
    "check",
    "effective",
    "how",
    "may_be_joint",
    "process",
    "processed_as_counts",
    "remark",
    "words",
]
