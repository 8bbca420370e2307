"""Check before every charge that the noise satisfies the guarantee."""

import hashlib
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gaugedp.domain.unit import PrivacyUnit
from gaugedp.errors import InvalidRequest
from gaugedp.mechanisms.noise_laws import CLOSE
from gaugedp.releases.verification.single_row import SingleRow, rows_to_try

if TYPE_CHECKING:
    from gaugedp.mechanisms.base import Mechanism
    from gaugedp.queries.base import Query

EXACT, SAMPLED, NONE = "exact", "sampled", "none"


class Verdict(NamedTuple):
    """Extent of a check, "exact", "sampled" or "none", and reason."""

    verified: str
    reason: str = ""

    def facts(self) -> dict[str, str]:
        """Return the facts for the metadata of a release."""
        return {"verified": self.verified} | ({"verified_reason": self.reason} if self.reason else {})


def verify(query: "Query", mechanism: "Mechanism", unit: PrivacyUnit) -> Verdict:
    """Verify that the noise satisfies its guarantee for neighbours.

    "exact": every difference between neighbours was tried, or lies in the hull of those that were, in rational
    arithmetic. "sampled": only some were tried, or products were taken in floating point. "none": the distribution of
    the noise is not known here. Noise that violates the guarantee is refused before anything is charged.
    """
    pairs = list(zip(query.parts, mechanism.parts, strict=True))
    verdicts = [_verify_part(part, noise, unit) for part, noise in pairs]
    if len(pairs) > 1:
        _check_composition(mechanism)
    return max(verdicts, key=lambda verdict: (EXACT, SAMPLED, NONE).index(verdict.verified))


def _verify_part(query: "Query", mechanism: "Mechanism", unit: PrivacyUnit) -> Verdict:
    law = mechanism.noise_law()
    stated = law.stated(mechanism.guarantee)
    if law.unknown or stated is None:
        return Verdict(NONE, law.unknown or f"{mechanism.name}: its guarantee and its noise use different accountings")
    rows, is_everything = _contributions(query, unit, law.width(len(query.steps)))
    coordinates = law.coordinates(rows)
    if isinstance(coordinates, float):
        costs: Sequence[Fraction | float | None] | None = [coordinates]
    else:
        costs = None if coordinates is None else law.costs(_differences(coordinates, unit))
    known = [cost for cost in costs or () if cost is not None]
    is_rounded = law.rounding > 0 or any(isinstance(cost, float) for cost in known)
    if known and max(known) > stated * (1 + Fraction(CLOSE if is_rounded else 0)):
        raise InvalidRequest(
            f"{mechanism.name} noise violates {mechanism.guarantee!r}: neighbours cost {float(max(known)):.6g}.",
            "This is a fault of the library or of the mechanism: please report it.",
        )
    if costs is None or len(known) < len(costs):
        return Verdict(NONE, f"{mechanism.name}: the cost of a row takes too long to compute")
    if not is_everything:
        return Verdict(SAMPLED, f"{len(rows)} of the possible rows were tried")
    return Verdict(SAMPLED, "products were taken in floating point") if is_rounded else Verdict(EXACT)


def _differences(rows: np.ndarray, unit: PrivacyUnit) -> np.ndarray:
    """Return m·z of theorem 1: m times each row's contribution.

    If rows are replaced, m times their differences follow.
    """
    is_whole = np.issubdtype(rows.dtype, np.integer)
    if is_whole and 2 * unit.max_rows * int(np.abs(rows).max(initial=0)) >= 2**63:
        rows = rows.astype(object)
    times = unit.max_rows * rows
    if unit.neighbours != "replace":
        return times
    first, second = np.triu_indices(len(times), 1)
    return np.concatenate([times, times[first] - times[second]])


def _contributions(query: "Query", unit: PrivacyUnit, width: int) -> tuple[np.ndarray, bool]:
    """Return the contributions (n, d) of single rows, as integers.

    The flag tells whether these are all that matter. At most about 2·10^5 numbers, or 10^6 in all
    differences, are computed, `width` each.
    """
    seed = int.from_bytes(hashlib.sha256(query.text.encode()).digest()[:8])
    empty = SingleRow(query.domain, unit, None)
    nothing = query.evaluate(empty, b"")
    fitting = math.isqrt(10**6 // width) if unit.neighbours == "replace" else 2 * 10**5 // width
    # 1000: totals of all rows together, which takes some milliseconds too
    most = max(2, min(128, fitting, 1000 // max(1, empty.n_totals)))  # rows at most
    tried = rows_to_try(query, most, seed, empty.is_curved)
    answers = [query.evaluate(SingleRow(query.domain, unit, row), b"") for row in tried.rows]
    return np.array(answers) - nothing, tried.are_enough


def _check_composition(mechanism: "Mechanism") -> None:
    for accounting in ("pure", "approx", "zcdp", "gaussian"):
        costs = [part.guarantee.cost(accounting) for part in mechanism.parts]
        stated = mechanism.guarantee.cost(accounting)
        known = [cost for cost in costs if cost is not None]
        if stated is None or len(known) < len(costs):
            continue
        sums = [sum(numbers, Fraction(0)) for numbers in zip(*known, strict=True)]
        if any(own < total for own, total in zip(stated, sums, strict=True)):
            raise InvalidRequest(
                f"{mechanism.name} states {mechanism.guarantee!r}, which is less than the total of its parts.",
                "This is a fault of the library or of the mechanism: please report it.",
            )
