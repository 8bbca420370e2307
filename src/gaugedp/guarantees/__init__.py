"""Upper bounds on what leaks: promises, their composition, and budgets."""

from gaugedp.guarantees.approx import ApproxDP
from gaugedp.guarantees.base import Guarantee
from gaugedp.guarantees.composed import Composed, compose
from gaugedp.guarantees.filter import Budget
from gaugedp.guarantees.gaussian import GaussianDP, gaussian_std
from gaugedp.guarantees.json import from_dict, from_json, to_json
from gaugedp.guarantees.pure import PureDP
from gaugedp.guarantees.zcdp import ZCDP

__all__ = [
    "ZCDP",
    "ApproxDP",
    "Budget",
    "Composed",
    "GaussianDP",
    "Guarantee",
    "PureDP",
    "compose",
    "from_dict",
    "from_json",
    "gaussian_std",
    "to_json",
]
