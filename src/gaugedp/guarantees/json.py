"""Guarantees as JSON, and back."""

import json
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.approx import ApproxDP
from gaugedp.guarantees.base import Guarantee
from gaugedp.guarantees.best_order import BestOrder
from gaugedp.guarantees.bounded_range import ExponentialLoss
from gaugedp.guarantees.composed import compose
from gaugedp.guarantees.discrete import DiscreteGaussianLoss, DiscreteLaplaceLoss
from gaugedp.guarantees.finite import FiniteLoss
from gaugedp.guarantees.gaussian import GaussianDP
from gaugedp.guarantees.groups import Grouped
from gaugedp.guarantees.laplace import LaplaceLoss
from gaugedp.guarantees.pure import PureDP
from gaugedp.guarantees.renyi import RenyiDP
from gaugedp.guarantees.response import RandomizedResponseLoss
from gaugedp.guarantees.subsampled import SubsampledGaussian
from gaugedp.guarantees.zcdp import ZCDP

_KINDS: dict[str, Callable[[Mapping[str, Any]], Guarantee]] = {
    "PureDP": lambda facts: PureDP(facts["epsilon"]),
    "ApproxDP": lambda facts: ApproxDP(facts["epsilon"], facts["delta"]),
    "ZCDP": lambda facts: ZCDP(facts["rho"]),
    "GaussianDP": lambda facts: GaussianDP(facts["mu"]),
    "RenyiDP": lambda facts: RenyiDP(_orders(facts["orders"]), facts["values"]),
    "LaplaceLoss": lambda facts: LaplaceLoss(facts["scale"]),
    "RandomizedResponseLoss": lambda facts: RandomizedResponseLoss(facts["epsilon"]),
    "ExponentialLoss": lambda facts: ExponentialLoss(facts["epsilon"]),
    "FiniteLoss": lambda facts: FiniteLoss([Fraction(x) for x in facts["p"]], [Fraction(x) for x in facts["q"]]),
    "DiscreteLaplaceLoss": lambda facts: DiscreteLaplaceLoss(facts["scale"], facts["sensitivity"]),
    "DiscreteGaussianLoss": lambda facts: DiscreteGaussianLoss(facts["noise_std"], facts["sensitivity"]),
    "SubsampledGaussian": lambda facts: SubsampledGaussian(facts["rate"], facts["noise_multiplier"]),
    # ledgers of 0.1 name it "promise"
    "Grouped": lambda facts: Grouped(from_dict(facts.get("guarantee") or facts["promise"]), facts["size"]),
    "BestOrder": lambda facts: BestOrder(facts["epsilon"], facts["delta"], facts["orders"]),
    "Composed": lambda facts: compose((from_dict(part), _count(count)) for part, count in facts["parts"]),
}


def from_dict(facts: Mapping[str, Any]) -> Guarantee:
    """Return the guarantee that `to_dict` described."""
    try:
        return _KINDS[facts["kind"]](facts)
    except (KeyError, TypeError, ValueError, ArithmeticError, RecursionError):
        raise InvalidRequest(f"{facts!r} describes no guarantee.", "Use what `to_dict` or `to_json` wrote.") from None


def _orders(values: list[Any]) -> list[float]:
    return [math.inf if value == "inf" else value for value in values]


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError("a count is a whole number of at least 1")
    return value


def to_json(guarantee: Guarantee) -> str:
    """Return the guarantee as JSON text, keys sorted."""
    return json.dumps(guarantee.to_dict(), sort_keys=True)


def from_json(text: str) -> Guarantee:
    """Return the guarantee in a JSON text."""
    try:
        facts = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidRequest("The text is not JSON.", "Use what `to_json` wrote.") from None
    return from_dict(facts)
