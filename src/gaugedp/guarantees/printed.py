"""Promises as people read them. `repr` is exact; here every number has few digits, on a stated side."""

import re
from collections.abc import Callable

from gaugedp._numbers import digits_down, digits_up

# Of these kinds, a promise with a larger number says less. Of noise (LaplaceLoss and the like) it says more.
_KINDS = r"PureDP|ApproxDP|ZCDP|GaussianDP|RenyiDP|BestOrder|ExponentialLoss"
_PROMISE = re.compile(rf"\b(?:{_KINDS})\([^()]*\)")
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def rounded_up(promise: object) -> str:
    """Return a promise, or a text with promises, for what is claimed or spent: no number below the exact one."""
    return _rounded(promise, digits_up)


def rounded_down(promise: object) -> str:
    """Return a promise, or a text with promises, for what is left of a budget: no number above the exact one."""
    return _rounded(promise, digits_down)


def _rounded(promise: object, number: Callable[[str], str]) -> str:
    return _PROMISE.sub(lambda one: _NUMBER.sub(lambda digits: number(digits[0]), one[0]), str(promise))
