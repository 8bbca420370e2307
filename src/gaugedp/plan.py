"""What an answer would cost and how wrong it would be: every candidate, before any row is read."""

import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gaugedp._validate import positive
from gaugedp.bodies import Polytope, image
from gaugedp.bounds import VolumeBound, counts_lower_bound, lower_bound, staircase_lower_bound
from gaugedp.domain import PrivacyUnit
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.approx import ApproxDP
from gaugedp.guarantees.asked import promise_asked
from gaugedp.guarantees.base import Guarantee
from gaugedp.guarantees.pure import PureDP
from gaugedp.mechanisms.base import AdditiveNoise, Mechanism
from gaugedp.mechanisms.choose import candidates, choose, left_out
from gaugedp.mechanisms.quantiles import RankExponential
from gaugedp.queries.base import Query
from gaugedp.queries.quantiles import Quantiles

_LEVEL = 0.95
_EPSILON_RANGE = (1e-9, 1e9)
_MOST_BOUNDED, _LARGEST_RANK_BOUNDED = 500, 250  # answers and generators, and rank: a bound takes seconds
_TELLING = 10.0  # ratios to a bound beyond this say nothing
_FEW_GENERATORS = 45  # up to these the bound looks at shadows too, whose facets take a second to list


def together(level: float) -> float:
    """Return the level at which widths that hold all at once are computed: 0.6 of the misses that `level` allows.

    An interval that misses exactly as often as it may fails every second check by repetition; this one passes.
    """
    return 1 - 0.6 * (1 - level)


@dataclass(frozen=True)
class Candidate:
    """A mechanism that could answer, and how wrong it is expected to be.

    `error` is the expected ℓ₂ norm of the noise over all released values; each counted on the scale of what one row
    can change (1 for a count), which matters only where counts and sums are mixed. For quantiles it bounds the ℓ₂ norm
    of the ranks by which the answers are off, in rows.
    """

    mechanism: Mechanism
    error: float


@dataclass(frozen=True)
class Plan:
    """How a question would be answered for a unit and a promise. Made of public facts alone."""

    query: Query
    unit: PrivacyUnit
    asked: Guarantee
    candidates: tuple[Candidate, ...]
    mechanism: Mechanism
    reason: str

    @property
    def epsilon(self) -> float:
        """The ε asked for (or solved for); infinity for a promise that has none at δ = 0."""
        return float(self.asked.to_dict().get("epsilon", math.inf))

    @property
    def error(self) -> float:
        """The expected error of the chosen mechanism; see Candidate."""
        return next(one.error for one in self.candidates if one.mechanism is self.mechanism)

    @cached_property
    def lower_bound(self) -> float:
        """A number below which the expected error of no pure mechanism is, for the ε asked for; 0 where none is known.

        It speaks of counts in whole numbers, units added or removed (bounds.counts_lower_bound), and of errors as
        `Candidate.error` counts them; with δ > 0, mechanisms that are not pure may err less.
        """
        return self._bound(lambda body, few: counts_lower_bound(body, self.epsilon, few))

    @cached_property
    def real_lower_bound(self) -> float:
        """The same for data in real numbers (bounds.lower_bound): larger, and no bound for mechanisms on counts."""
        return self._bound(lambda body, few: (lower_bound if few else staircase_lower_bound)(body, self.epsilon))

    @cached_property
    def left_out(self) -> dict[str, str]:
        """Why a mechanism is no candidate, in words, by the names of those that are none; empty for quantiles."""
        if isinstance(self.query, Quantiles):
            return {}
        body, kept = self.query.sensitivity(self.unit), {one.mechanism.name for one in self.candidates}
        return left_out(body, self.asked, _weights(self.query), kept)

    def left_out_in_words(self) -> str:
        """Return `left_out` in a line, empty where nothing was left out."""
        told = self.left_out.items()
        alike = {reason: ", ".join(name for name, own in told if own == reason) for _, reason in told}
        parts = "; ".join(f"{names} ({reason})" for reason, names in alike.items())
        return f"Left out: {parts}." if parts else ""

    @property
    def ratio(self) -> float:
        """The chosen mechanism's error over the lower bound; infinity without one."""
        return self.error / self.lower_bound if self.lower_bound > 0 else math.inf

    def _bound(self, find: Callable[[Polytope, bool], float]) -> float:
        if self.mechanism.in_rows:  # no bound is known for ranks
            return 0.0
        body, weights = self.query.sensitivity(self.unit), _weights(self.query)
        if self.unit.neighbours != "add_remove" or not isinstance(self.asked, PureDP | ApproxDP):
            return 0.0
        if not isinstance(body, Polytope) or max(body.ambient_dim, body.generators.n_generators) > _MOST_BOUNDED:
            return 0.0
        scales = np.full(body.ambient_dim, 1 / float(self.query.steps[0])) if weights is None else weights
        scaled = image(body, np.diag(1 / scales))
        if body.rank > _LARGEST_RANK_BOUNDED or not isinstance(scaled, Polytope):
            return 0.0
        with contextlib.suppress(InvalidRequest):
            return find(scaled, body.generators.n_generators <= _FEW_GENERATORS)
        return 0.0

    def table(self) -> list[dict[str, Any]]:
        """Return a row for each candidate: mechanism, error, widest interval of a value, guarantee, exactness.

        For quantiles, error and intervals are in rows: how far ranks are off.
        """
        return [
            {
                "mechanism": one.mechanism.name,
                "error": one.error,
                "interval_95": float(self._widths(one.mechanism).max()),
                "simultaneous_95": float(self._widths(one.mechanism, simultaneous=True).max()),
                "guarantee": repr(one.mechanism.guarantee),
                "exactness": one.mechanism.exactness,
                "chosen": one.mechanism is self.mechanism,
                "noise": one.mechanism.describe(),
            }
            for one in self.candidates
        ]

    def terms(self) -> list[dict[str, Any]]:
        """Return a row for each term of the question: its answers and its intervals under the chosen mechanism.

        For a mean, the intervals are those of the centred sums and of the counts that it is computed from; for a
        quantile, the rows by which the ranks of its interval's ends may be off.
        """
        single, all_at_once = self._widths(self.mechanism), self._widths(self.mechanism, simultaneous=True)
        ends = np.cumsum([0, *(one.n_widths for one in self.query.estimates)])
        texts = list(dict.fromkeys(text for text, _ in self.query.labels))
        return [
            {
                "query": text,
                "answers": one.n_answers,
                "interval_95": _widest(single[start:end], one.n_answers),
                "simultaneous_95": _widest(all_at_once[start:end], one.n_answers),
            }
            for text, one, start, end in zip(texts, self.query.estimates, ends[:-1], ends[1:], strict=True)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the whole plan as JSON can hold it."""
        return {
            "query": self.query.text,
            "digest": self.query.digest(),
            "unit": self.unit.to_dict(),
            "asked": self.asked.to_dict(),
            "mechanism": self.mechanism.name,
            "reason": self.reason,
            "in_rows": self.mechanism.in_rows,
            "lower_bound": self.bound_facts(),
            "candidates": self.table(),
            "terms": self.terms(),
        }

    def bound_in_words(self) -> str:
        """Return how near the chosen mechanism is to what any pure one can reach, in a sentence or two."""
        if not self.candidates or not self.real_lower_bound > 0:
            return "No lower bound is known for this question and promise."
        real = (
            f"For data in real numbers no {self.epsilon:g}-DP mechanism has an expected error below "
            f"{self.real_lower_bound:.4g}; this one is at {self.error / self.real_lower_bound:.3g} times that."
        )
        if not self.lower_bound > 0:
            return f"{real} For whole numbers, nothing is proved at so large an epsilon."
        share = f", {self.ratio:.3g} times" if self.ratio < _TELLING else " and no more"
        return f"{real} For whole numbers {self.lower_bound:.4g} is proved{share}."

    def bound_facts(self) -> dict[str, Any] | None:
        """Return the bound, its kind and the ratio as JSON can hold them; None without a bound."""
        if not self.candidates or not self.real_lower_bound > 0:
            return None
        values = {"value": float(self.lower_bound), "real_data": float(self.real_lower_bound)}
        kind = self.real_lower_bound.kind if isinstance(self.real_lower_bound, VolumeBound) else "lower"
        ratio = self.ratio if math.isfinite(self.ratio) else None
        return {**values, "kind": kind, "ratio": ratio, "words": self.bound_in_words()}

    def _widths(self, mechanism: Mechanism, simultaneous: bool = False) -> np.ndarray:
        """Return the widths of intervals at 95 %, in the answers' units, or in rows."""
        widths = mechanism.half_widths(together(_LEVEL) if simultaneous else _LEVEL, simultaneous)
        return widths if mechanism.in_rows else widths * np.array([float(step) for step in self.query.steps])

    def __str__(self) -> str:
        rows = [
            f"{'*' if row['chosen'] else ' '} {row['mechanism']:<10} error {row['error']:<10.5g} "
            f"±{row['interval_95']:<10.6g} {row['guarantee']:<22} {row['exactness']}"
            for row in self.table()
        ]
        head = f"{self.query.text}  ({self.unit}; asked {self.asked!r})"
        ends = filter(None, (self.reason, self.left_out_in_words(), self.bound_in_words()))
        return "\n".join([head, *rows, *ends])


def plan(
    query: Query,
    unit: PrivacyUnit,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    mu: float | None = None,
    error: float | None = None,
) -> Plan:
    """Return the plan for a promise, or, for a wanted `error` (expected ℓ₂ norm), for the least ε that reaches it.

    No data is touched. With `error`, ε is rounded up to three digits; `delta` may be given with it.
    """
    if error is None:
        return _plan(query, unit, promise_asked(epsilon, delta, rho, mu))
    positive(error=error)
    if epsilon is not None or rho is not None or mu is not None:
        raise InvalidRequest("Both an error and a promise are given.", "Give error (and delta), or epsilon, rho or mu.")
    return _cheapest(query, unit, error, delta)


def fits(mechanism: Mechanism, query: Query, unit: PrivacyUnit) -> bool:
    """Whether a mechanism makes the answers of this question, and protects this unit."""
    if isinstance(query, Quantiles):
        settings = (query.quantiles, query.level, query.first)
        if not isinstance(mechanism, RankExponential):
            return False
        if (mechanism.quantiles, mechanism.level, mechanism.first) != settings:
            return False
    elif not isinstance(mechanism, AdditiveNoise) or mechanism.lattice_step != 1:
        return False
    return mechanism.covers(query.sensitivity(unit))


def misfit(mechanism: Mechanism, query: Query) -> InvalidRequest:
    """Return the refusal of a mechanism that does not fit a question; it names a wrong step of the lattice."""
    step = mechanism.lattice_step if isinstance(mechanism, AdditiveNoise) else 1
    if step != 1 and not isinstance(query, Quantiles):
        return InvalidRequest(
            f"The mechanism's lattice step is {step}, and a release has 1: answers are whole numbers of steps.",
            "Take a mechanism from a plan for this question, or calibrate it to query.sensitivity(unit).",
        )
    return InvalidRequest(
        "The mechanism was calibrated for another question or unit.", "Take it from a plan for this one."
    )


def _plan(query: Query, unit: PrivacyUnit, asked: Guarantee) -> Plan:
    if isinstance(query, Quantiles):
        return _plan_quantiles(query, unit, asked)
    body, weights = query.sensitivity(unit), _weights(query)
    mechanisms = list(candidates(body, asked, weights))
    unit_of_error = float(query.steps[0]) if weights is None else 1.0
    errors = [mechanism.error(2, weights) * unit_of_error for mechanism in mechanisms]
    chosen, reason = choose(mechanisms, errors)
    offers = tuple(Candidate(m, e) for m, e in zip(mechanisms, errors, strict=True))
    return Plan(query, unit, asked, offers, chosen, reason)


def _plan_quantiles(query: Quantiles, unit: PrivacyUnit, asked: Guarantee) -> Plan:
    body = query.sensitivity(unit)
    made = RankExponential.calibrate(body, asked, query.quantiles, query.level, query.first)
    error = made.error()
    reason = f"the only mechanism for quantiles; the expected error of their ranks is at most {error:.4g} rows"
    return Plan(query, unit, asked, (Candidate(made, error),), made, reason)


def _weights(query: Query) -> np.ndarray | None:
    """Return the scales on which errors are compared, None where all are the same."""
    reach = query.reach
    return None if float(reach.min()) == float(reach.max()) else reach


def _cheapest(query: Query, unit: PrivacyUnit, error: float, delta: float | None) -> Plan:
    """Bisect ε on a logarithmic scale; the error falls as ε grows."""
    low, high = (math.log(end) for end in _EPSILON_RANGE)
    if _plan(query, unit, promise_asked(math.exp(high), delta)).error > error:
        raise InvalidRequest(f"No epsilon reaches an error of {error!r}.", "Ask for a larger error.")
    while high - low > 1e-3:
        middle = (low + high) / 2
        reached = _plan(query, unit, promise_asked(math.exp(middle), delta)).error <= error
        low, high = (low, middle) if reached else (middle, high)
    found = _plan(query, unit, promise_asked(_three_digits_up(math.exp(high)), delta))
    while found.error > error:  # errors that are estimated from draws do not fall evenly
        found = _plan(query, unit, promise_asked(_three_digits_up(found.epsilon * 1.005), delta))
    return found


def _three_digits_up(value: float) -> float:
    digits = 2 - math.floor(math.log10(value))
    return round(math.ceil(value * 10.0**digits) * 10.0**-digits, max(0, digits))


def _widest(widths: np.ndarray, n_answers: int) -> list[float]:
    """Return the largest width of the values, or of the sums and of the counts."""
    return [float(part.max()) for part in np.split(widths, len(widths) // n_answers)]
