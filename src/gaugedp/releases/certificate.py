"""Certificates: how close the root mean squared error of a plan is to the least possible one."""

import contextlib
import math
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from gaugedp._internal.numbers import readable
from gaugedp.bodies.polytope import Polytope
from gaugedp.bounds.nearness import counts_error_bound
from gaugedp.bounds.one_answer import least_variance
from gaugedp.bounds.volume import VolumeBound
from gaugedp.domain.unit import PrivacyUnit
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import Guarantee, PureDP
from gaugedp.mechanisms.base import AdditiveNoise, Mechanism
from gaugedp.mechanisms.strategies.best import best_strategy
from gaugedp.queries import Query, Workload
from gaugedp.queries.linear import as_workload


class Certificate(NamedTuple):
    """A lower bound on the root mean squared error of every mechanism with a guarantee, and the error of one.

    theorem : the statement that proves the bound, in docs/theory/certificates.md; empty without a bound
    bound : the largest lower bound that applies; 0 if none is known
    error : root mean squared error of the chosen mechanism, in the unit of `Plan.error`
    kind : "factorisation", "volume" or "none"
    confidence : 1 for a proof; 1 − 1e−9 for a volume that was estimated with a certificate
    """

    theorem: str
    bound: float
    error: float
    kind: str
    confidence: float = 1.0

    @property
    def ratio(self) -> float:
        """The error over the bound, at least 1; infinity without a bound."""
        return max(1.0, self.error / self.bound) if self.bound > 0 else math.inf

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as JSON can hold it."""
        return self._asdict()

    def in_words(self) -> str:
        """Return the certificate in a sentence."""
        if not self.bound > 0:
            return "No lower bound is known for this query and guarantee."
        sure = "" if self.confidence == 1 else " (with confidence 1 − 10⁻⁹)"
        share = 100 * (self.ratio - 1)
        near = "within 0.1 % of" if share <= 0.1 else f"{math.ceil(share * 10) / 10:.3g} % above"
        near = near if share <= 100 else f"{self.ratio:.3g} times"
        return (
            f"The root mean squared error is {readable(self.error)}, {near} the lower bound {readable(self.bound)} for "
            f"all mechanisms with this guarantee{sure}."
        )


def certify(query: Query, unit: PrivacyUnit, mechanism: Mechanism, guarantee: Guarantee) -> Certificate:
    """Return the certificate of a mechanism that answers a query, for all mechanisms with `guarantee`.

    Hypotheses: tables of any size are allowed; neighbours are those of `unit`, and each vertex of the sensitivity body
    is a difference of neighbours. Queries for which that is not known (standard deviations, structural zeros,
    quantiles) have no bound.
    """
    if not isinstance(mechanism, AdditiveNoise):
        return Certificate("", 0.0, math.inf, "none")
    weights, in_steps = query.errors.of(mechanism)
    scales = np.full(len(query.steps), 1 / in_steps) if weights is None else weights
    error = math.sqrt(float((mechanism.variances / scales**2).sum()))
    if not is_attained(query, unit):
        return Certificate("", 0.0, error, "none")
    body = query.sensitivity(unit)
    bounds = [_by_factorisation(body, weights, in_steps, guarantee), _by_volume(body, scales, guarantee)]
    best = max(bounds, key=lambda found: found.bound)
    return best._replace(error=error) if best.bound > 0 else Certificate("", 0.0, error, "none")


def is_attained(query: Query, unit: PrivacyUnit) -> bool:
    """Return True if each vertex of the sensitivity body is known to be a difference of neighbours.

    Any number of units must be possible in each cell: no structural zeros, no rows made of others, no two attributes or
    columns of one source, no column that is both weight and value, none of the unit's own column, and no bins without a
    float inside. If rows are replaced, a row that counts nowhere must be possible.
    """
    workload, domain = as_workload(query), query.domain
    if workload is None or domain.impossible or domain.made or domain.rows is not None:
        return False
    names = domain.finest(workload.attributes)
    columns = [(name, domain.columns[name]) for name in workload.columns]
    sources = [*map(domain.source, names), *(column.column or name for name, column in columns)]
    if len({unit.column, *sources}) <= len(sources) or any(column.by_key for _, column in columns):
        return False
    if _moves_twice(workload) or any(
        low >= high for name in names for low, high in pairwise(domain.attribute(name).borders)
    ):
        return False
    if any(piece.squared or piece.part for piece in workload.pieces):
        return False
    may_vanish = any(domain.attribute(name).outside == "drop" for name in names)
    may_vanish = may_vanish or all(piece.may_miss for piece in workload.pieces)
    return may_vanish or unit.neighbours != "replace"


def _moves_twice(workload: Workload) -> bool:
    """Return True if a column is both value and weight: some vertices then have it at both of its bounds."""
    weights = {piece.weight.column for piece in workload.pieces if piece.weight}
    return any(piece.column in weights for piece in workload.pieces)


def _by_factorisation(body: Any, weights: np.ndarray | None, in_steps: float, guarantee: Guarantee) -> Certificate:
    """Return √(opt·V*), opt the least trace of a covariance above all differences, V* that of one answer: theorem 1."""
    least = least_variance(guarantee)
    if least is None or not isinstance(body, Polytope) or _is_large(body):
        return Certificate("", 0.0, math.inf, "none")
    root = 0.0
    with contextlib.suppress(InvalidRequest):  # queries without a structure that are too large
        root = best_strategy(body, 2, weights).least * (in_steps if weights is None else 1.0)
    bound = root * math.sqrt(least.value) if root > 0 else 0.0
    return Certificate(f"theorems 1 and {least.theorem}", bound, math.inf, "factorisation")


def _is_large(body: Polytope) -> bool:
    structure = body.generators.structure
    is_marginal = structure is not None and {block.kind for block in structure.blocks} == {"cells"}
    return not is_marginal and body.generators.n_generators > 20_000  # a factorisation takes seconds


def _by_volume(body: Any, scales: np.ndarray, guarantee: Guarantee) -> Certificate:
    """Return the bound by the volume of the body, for pure guarantees: theorem 6."""
    if not isinstance(guarantee, PureDP):
        return Certificate("", 0.0, math.inf, "none")
    found = counts_error_bound(body, scales, guarantee.epsilon_value)
    confidence = found.confidence if isinstance(found, VolumeBound) else 1.0
    return Certificate("theorem 6 (volume)", float(found), math.inf, "volume", confidence)
