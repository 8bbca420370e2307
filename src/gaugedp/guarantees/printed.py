"""Guarantees in few digits, rounded to a stated side."""

import re
from itertools import chain, repeat

from gaugedp._internal.numbers import digits_down, digits_up

# For these kinds, a larger number is a weaker guarantee. For noise (LaplaceLoss and the like) it is a stronger one.
_KINDS = r"PureDP|ApproxDP|ZCDP|GaussianDP|RenyiDP|RenyiBudget|ExponentialLoss"
_GUARANTEE = re.compile(rf"\b(?:{_KINDS})\([^()]*\)")
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def rounded_up(guarantee: object) -> str:
    """Round the guarantees in a text up, for claims."""
    return _GUARANTEE.sub(lambda match: _NUMBER.sub(lambda number: digits_up(number[0]), match[0]), str(guarantee))


def rounded_left(remaining: object, budget: object) -> str:
    """Round a remaining budget down, below a millionth of the total to 0."""
    whole = chain(_NUMBER.findall(str(budget)), repeat("0"))

    def rounded(number: re.Match[str]) -> str:
        # 1e-6: of a budget: what is less than this is left over by rounding
        return "0" if float(number[0]) < 1e-6 * float(next(whole)) else digits_down(number[0])

    return _GUARANTEE.sub(lambda match: _NUMBER.sub(rounded, match[0]), str(remaining))
