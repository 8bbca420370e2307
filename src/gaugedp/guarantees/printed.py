"""Guarantees in few digits, rounded to a stated side; `repr` is exact."""

import re
from itertools import chain, repeat

from gaugedp._internal.numbers import digits_down, digits_up

# Of these kinds, a guarantee with a larger number says less. Of noise (LaplaceLoss and the like) it says more.
_KINDS = r"PureDP|ApproxDP|ZCDP|GaussianDP|RenyiDP|RenyiBudget|ExponentialLoss"
_GUARANTEE = re.compile(rf"\b(?:{_KINDS})\([^()]*\)")
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def rounded_up(guarantee: object) -> str:
    """Return a guarantee, or a text with guarantees, for what is claimed or spent: no number below the exact one."""
    return _GUARANTEE.sub(lambda match: _NUMBER.sub(lambda number: digits_up(number[0]), match[0]), str(guarantee))


def rounded_left(remaining: object, budget: object) -> str:
    """Return what is left of a budget: no number above the exact one, and 0 below a millionth of it all."""
    whole = chain(_NUMBER.findall(str(budget)), repeat("0"))

    def rounded(number: re.Match[str]) -> str:
        # 1e-6: of a budget: what is less than this is left over by rounding
        return "0" if float(number[0]) < 1e-6 * float(next(whole)) else digits_down(number[0])

    return _GUARANTEE.sub(lambda match: _NUMBER.sub(rounded, match[0]), str(remaining))
