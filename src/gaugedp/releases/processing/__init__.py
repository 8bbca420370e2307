"""Post-processing of released values at no cost: they and public facts go in, no data does."""

from gaugedp.releases.processing.steps import STEPS, check, how, may_be_joint, process, remark, words

__all__ = ["STEPS", "check", "how", "may_be_joint", "process", "remark", "words"]
