"""Differential privacy shaped to the geometry of the question."""

from typing import TYPE_CHECKING

from gaugedp import bodies, bounds, errors, guarantees, samplers
from gaugedp._late import late
from gaugedp.attributes import bins, bounded, categories, integers
from gaugedp.compare import Comparison, compare
from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.entropy import research_rng
from gaugedp.errors import (
    GaugedpError,
    InvalidRequest,
    LedgerRefused,
    MissingExtra,
    UnknownName,
    UnreadableTable,
)
from gaugedp.guarantees import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP
from gaugedp.ledger import Ledger
from gaugedp.mechanisms import (
    NIM,
    Cube,
    EllipsoidNoise,
    Exponential,
    ExponentialDensity,
    Gaussian,
    Identity,
    KNorm,
    Laplace,
    Matrix,
    NoisyMax,
    Peeling,
    PermuteAndFlip,
    Quality,
    RandomizedResponse,
    RankExponential,
)
from gaugedp.plan import Plan, plan
from gaugedp.queries import (
    bounded_means,
    bounded_sums,
    count,
    marginals,
    prefix_sums,
    quantiles,
    query,
    ranges,
    stack,
    workload,
)
from gaugedp.release import Release, release
from gaugedp.tables.table import Table

if TYPE_CHECKING:
    from gaugedp import audit

__version__ = "0.1.0"
__getattr__ = late(__name__, {"audit": "gaugedp.audit"})

__all__ = [
    "NIM",
    "ZCDP",
    "ApproxDP",
    "Comparison",
    "Cube",
    "Domain",
    "EllipsoidNoise",
    "Exponential",
    "ExponentialDensity",
    "GaugedpError",
    "Gaussian",
    "GaussianDP",
    "Identity",
    "InvalidRequest",
    "KNorm",
    "Laplace",
    "Ledger",
    "LedgerRefused",
    "Matrix",
    "MissingExtra",
    "NoisyMax",
    "Peeling",
    "PermuteAndFlip",
    "Plan",
    "PrivacyUnit",
    "PureDP",
    "Quality",
    "RandomizedResponse",
    "RankExponential",
    "Release",
    "RenyiDP",
    "Table",
    "UnknownName",
    "UnreadableTable",
    "audit",
    "bins",
    "bodies",
    "bounded",
    "bounded_means",
    "bounded_sums",
    "bounds",
    "categories",
    "compare",
    "count",
    "errors",
    "guarantees",
    "integers",
    "marginals",
    "plan",
    "prefix_sums",
    "quantiles",
    "query",
    "ranges",
    "release",
    "research_rng",
    "samplers",
    "stack",
    "workload",
]
