"""What may be done to released numbers at no cost: they and public facts go in, no data does."""

from gaugedp.processing.steps import STEPS, WORDS, check, counts, process, remark

__all__ = ["STEPS", "WORDS", "check", "counts", "process", "remark"]
