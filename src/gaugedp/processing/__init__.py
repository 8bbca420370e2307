"""What may be done to released numbers at no cost: they and public facts go in, no data does."""

from gaugedp.processing.steps import STEPS, check, how, may_be_joint, process, remark, words

__all__ = ["STEPS", "check", "how", "may_be_joint", "process", "remark", "words"]
