"""Plans: the cost and the expected error of every candidate mechanism, before any row is read."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from gaugedp._internal.bisection import bisected
from gaugedp._internal.displays import drawn_by
from gaugedp._internal.numbers import digits_down, readable
from gaugedp._internal.validate import positive
from gaugedp.bounds import VolumeBound
from gaugedp.bounds.nearness import bound_in_words, floor_in_words, least_error
from gaugedp.domain.domain import PrivacyUnit
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.approx import ApproxDP
from gaugedp.guarantees.base import Guarantee
from gaugedp.guarantees.parse_guarantee import guarantee_asked
from gaugedp.guarantees.printed import rounded_up
from gaugedp.guarantees.pure import PureDP
from gaugedp.mechanisms.base import AdditiveNoise, Mechanism
from gaugedp.mechanisms.gaussian import Gaussian
from gaugedp.mechanisms.matrix import Matrix
from gaugedp.queries.base import Query
from gaugedp.queries.candidate import Candidate, best
from gaugedp.queries.linear import as_workload
from gaugedp.queries.rules import left_out
from gaugedp.statistics.base import Widths, by_pivot, curves_of, in_units

_LEVEL = 0.95
_EPSILON_RANGE = (1e-9, 1e9)
_MEAN_ROWS = 1000  # of the cell for which a plan says what a mean would be worth


def bonferroni_level(level: float) -> float:
    """Return the level at which widths that hold all at once are computed: 0.6 of the misses that `level` allows."""
    return 1 - 0.6 * (1 - level)


@dataclass(frozen=True)
class Plan:
    """A plan to answer a query for a unit and a guarantee. Made of public facts alone."""

    query: Query
    unit: PrivacyUnit
    asked: Guarantee
    candidates: tuple[Candidate, ...]
    mechanism: Mechanism
    reason: str
    beaten: tuple[Candidate, ...] = ()  # whose errors need not be known, as what they are at least is too large
    is_from_planner: bool = field(default=False, init=False, repr=False, compare=False)  # and not put together by hand

    _repr_html_ = drawn_by("plan")

    @property
    def epsilon(self) -> float:
        """The ε asked for (or solved for); infinity for a guarantee that has none at δ = 0."""
        return float(self.asked.to_dict().get("epsilon", math.inf))

    @property
    def error(self) -> float:
        """The expected error of the chosen mechanism; see Candidate."""
        listed = (candidate for candidate in self.candidates if candidate.mechanism is self.mechanism)
        return next(listed, Candidate(self.mechanism, self.query)).error

    @cached_property
    def lower_bound(self) -> float:
        """A number below which the expected error of no pure mechanism is, for the ε asked for; 0 where none is known.

        It speaks of counts in whole numbers, units added or removed (bounds.counts_lower_bound), and of errors as
        `Candidate.error` counts them; with δ > 0, mechanisms that are not pure may err less.
        """
        return self._bound(whole=True)

    @cached_property
    def real_lower_bound(self) -> float:
        """The same for data in real numbers (bounds.lower_bound): larger, and no bound for mechanisms on counts."""
        return self._bound(whole=False)

    @cached_property
    def left_out(self) -> dict[str, str]:
        """Why a mechanism is not weighed, by name, in words: beaten, or not for the question. Empty for quantiles."""
        offered = {candidate.mechanism.name for candidate in self.candidates}
        lost = {
            candidate.mechanism.name: f"cannot err less than {digits_down(candidate.least)}"
            for candidate in self.beaten
        }
        return lost | self.query.mechanisms.left_out(self.unit, self.asked, offered)

    def left_out_in_words(self) -> str:
        """Return `left_out` in a line, empty where nothing was left out."""
        reasons = self.left_out.items()
        alike = {reason: ", ".join(name for name, why in reasons if why == reason) for _, reason in reasons}
        parts = "; ".join(f"{names} ({reason})" for reason, names in alike.items())
        return f"Not applicable: {parts}." if parts else ""

    @property
    def ratio(self) -> float:
        """The chosen mechanism's error over `lower_bound`, the one for whole numbers; infinity without one.

        For data in real numbers it is error / real_lower_bound, which may be known where this is not.
        """
        return self.error / self.lower_bound if self.lower_bound > 0 else math.inf

    @property
    def unit_of_error(self) -> str:
        """Return the unit of `error`, in words."""
        return self.query.errors.words

    def _bound(self, whole: bool) -> float:
        pure = isinstance(self.asked, PureDP | ApproxDP)
        if self.mechanism.in_rows or not pure or self.unit.neighbours != "add_remove":  # for ranks none is known
            return 0.0
        body, (weights, unit) = self.query.sensitivity(self.unit), self.query.errors.of(self.mechanism)
        scales = np.full(body.ambient_dim, 1 / unit) if weights is None else weights
        return least_error(body, scales, self.epsilon, whole=whole)

    def table(self) -> list[dict[str, Any]]:
        """Return a row for each candidate: mechanism, error, widest interval of a value, guarantee, exactness.

        Those that are `beaten` have none: `left_out` says what they err at least. For quantiles, error and intervals
        are in rows: how far ranks are off.
        """
        return [dict(row) for row in self._table]

    @cached_property
    def _table(self) -> list[dict[str, Any]]:
        return [
            {
                "mechanism": candidate.mechanism.name,
                "error": candidate.error,
                "interval_95": float(self._widths(candidate.mechanism).max()),
                "simultaneous_95": float(self._widths(candidate.mechanism, simultaneous=True).max()),
                "guarantee": repr(candidate.mechanism.guarantee),
                "exactness": candidate.mechanism.exactness,
                "chosen": candidate.mechanism is self.mechanism,
                "noise": candidate.mechanism.describe(),
            }
            for candidate in self.candidates
            if candidate not in self.beaten
        ]

    def terms(self) -> list[dict[str, Any]]:
        """Return a row for each term of the question: its answers and its intervals under the chosen mechanism.

        For a mean, the intervals are those of the centred sums and of the counts that it is computed from, and
        `of_1000_rows` is the worst-case half-width over the column's bounds for a cell of 1,000 rows, [single,
        simultaneous]. For a share they are those of the counts, and a group of 1,000 rows is taken; for a standard
        deviation, those of sums, squares and counts. For a quantile, the rows by which the ranks of its interval's ends
        may be off.
        """
        single, all_at_once = self._widths(self.mechanism), self._widths(self.mechanism, simultaneous=True)
        of_widths = {estimate.of_widths(_LEVEL) for estimate in self.query.estimates}
        widths = {which: self._widths(self.mechanism, which[1], which[0]) for which in of_widths}
        ends = np.cumsum([0, *(estimate.n_widths for estimate in self.query.estimates)])
        texts, curves = (
            [text for text, _ in self.query.labels.terms],
            curves_of(self.query.estimates, self.curves(_LEVEL)),
        )
        return [
            {
                "query": text,
                "answers": estimate.n_answers,
                "interval_95": _widest(single[start:end], estimate.n_answers),
                "simultaneous_95": _widest(all_at_once[start:end], estimate.n_answers),
                "of_1000_rows": [
                    estimate.half_length(widths[estimate.of_widths(_LEVEL)][start:end], _MEAN_ROWS, curve),
                    estimate.half_length(all_at_once[start:end], _MEAN_ROWS),
                ]
                if estimate.wording.plural
                else None,
            }
            for text, estimate, start, end, curve in zip(
                texts, self.query.estimates, ends[:-1], ends[1:], curves, strict=True
            )
        ]

    def curves(self, level: float) -> dict[str, np.ndarray]:
        """Return widths, each (answers of a pivot, places), by pivot: those that draws tell for all its answers."""
        curves = {}
        for pivot, parts in self._trials.items():
            widths = [None if part is None else part.widths(level) for part in parts]
            known = [width for width in widths if width is not None]
            if len(known) == len(parts):
                curves[pivot] = np.vstack(known)
        return curves

    @cached_property
    def _trials(self) -> dict[str, list[Widths | None]]:
        """Return the draws for each pivot, by the parts that have answers of it; None where they tell nothing."""
        trials: dict[str, list[Widths | None]] = {}
        for part, noise in zip(self.query.parts, self.mechanism.parts, strict=True):
            for pivot, terms in by_pivot(part.estimates).items() if isinstance(noise, AdditiveNoise) else ():
                trials.setdefault(pivot, []).append(terms[0][1].trials(noise, part.steps.sizes, terms))
        return trials

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
            "terms": [term | {"of_1000_rows": _finite(term["of_1000_rows"])} for term in self.terms()],
        }

    def remarks(self) -> list[str]:
        """Return what must be known to read `terms`, in sentences: their intervals, and which rows are left out."""
        worst = (
            f"for a group of {_MEAN_ROWS:,} rows, worst case; four times the rows give about a quarter of the width."
        )
        plurals = {(term.pivot, term.wording.plural) for term in self.query.estimates if term.wording.plural}
        called = " and ".join(plural for _, plural in sorted(plurals)).capitalize()
        parts = self.query.parts
        rows = [
            f"{part.text}: {line}" if len(parts) > 1 else line
            for part in parts
            for line in left_out(part.domain, part.attributes, part.columns, self.unit.column)
        ]
        return [f"{called}: {worst}"] * bool(plurals) + self.query.mechanisms.remarks(self.mechanism) + rows

    def bound_in_words(self) -> str:
        """Return how near the chosen mechanism is to the best there can be, in a sentence or two."""
        if self._has_bound:
            return bound_in_words(self.error, self.epsilon, self.real_lower_bound, self.lower_bound)
        ratio = self._gaussian_ratio()
        return floor_in_words(ratio) if ratio >= 1 else "No lower bound is known for this question and guarantee."

    @property
    def _has_bound(self) -> bool:
        """Return whether a bound for pure mechanisms says more than the best Gaussian noise, which may err less."""
        if not self.candidates or not self.real_lower_bound > 0:
            return False
        return self.error >= self.real_lower_bound or self._gaussian_ratio() < 1

    def _gaussian_ratio(self) -> float:
        """Return the root mean square of the noise over the least of all Gaussian noise; 0 where that is not known."""
        floor = max(
            (candidate.mechanism.floor for candidate in self.candidates if isinstance(candidate.mechanism, Matrix)),
            default=0.0,
        )
        if not floor > 0 or not isinstance(self.mechanism, Gaussian | Matrix):
            return 0.0
        weights = self.query.errors.weights
        return math.sqrt(float((self.mechanism.variances / (1 if weights is None else weights**2)).sum())) / floor

    def bound_facts(self) -> dict[str, Any] | None:
        """Return the bound, its kind and the ratio as JSON can hold them; None without a bound.

        Kind "gaussian" has no value: its ratio is that to the best Gaussian noise.
        """
        if not self._has_bound:
            floor = self._gaussian_ratio()
            return {"kind": "gaussian", "ratio": floor, "words": floor_in_words(floor)} if floor >= 1 else None
        values = {"value": float(self.lower_bound), "real_data": float(self.real_lower_bound)}
        kind = self.real_lower_bound.kind if isinstance(self.real_lower_bound, VolumeBound) else "lower"
        ratio = self.ratio if math.isfinite(self.ratio) else None
        return {**values, "kind": kind, "ratio": ratio, "words": self.bound_in_words()}

    def _widths(self, mechanism: Mechanism, simultaneous: bool = False, level: float = _LEVEL) -> np.ndarray:
        """Return the widths of intervals, in the answers' units, or in rows."""
        widths = mechanism.half_widths(bonferroni_level(level) if simultaneous else level, simultaneous)
        return in_units(self.query.estimates, widths, self.query.steps.runs)

    def __str__(self) -> str:
        answers = [f"  {term['query']}: {term['answers']} x {' / '.join(worth(term))}" for term in self.terms()]
        rows = [
            f"{'*' if row['chosen'] else ' '} {row['mechanism']:<10} error {readable(row['error']):<10} "
            + (f"±{readable(row['interval_95']):<10} " if self.query.errors.has_one_unit else "")
            + f"{rounded_up(row['guarantee']):<22} {row['exactness']}"
            for row in self.table()
        ]
        head = f"{self.query.text}  ({self.unit}; asked {rounded_up(self.asked)})"
        ends = filter(None, (self.reason, self.left_out_in_words(), self.bound_in_words()))
        return "\n".join([head, f"{ANSWERS}:", *answers, *self.remarks(), f"{self.about_errors()}:", *rows, *ends])

    def about_errors(self) -> str:
        """Return what the errors of the candidates are, in words."""
        return f"Mechanisms by expected error, the l2 norm of the errors of all answers, in {self.unit_of_error}"


ANSWERS = "Answers, ± of their 95 % confidence intervals, single / simultaneous"


def _finite(widths: list[float] | None) -> list[float | None] | None:
    """Return widths as JSON can hold them: none where an interval has no end."""
    return None if widths is None else [width if math.isfinite(width) else None for width in widths]


def half_widths(term: dict[str, Any]) -> list[float]:
    """Return the half-widths that are shown of a row of `Plan.terms`: individual and simultaneous."""
    return term["of_1000_rows"] or [term["interval_95"][0], term["simultaneous_95"][0]]


def worth(term: dict[str, Any]) -> list[str]:
    """Return what an answer of a row of `Plan.terms` may be off by, each alone and all at once, in words."""
    return [f"±{readable(width)}" for width in half_widths(term)]


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
    """Return the plan for a guarantee, or, for a wanted `error` (expected ℓ₂ norm), for the least ε that reaches it.

    No data is touched. With `error`, ε is rounded up to three digits; `delta` may be given with it. An error counts
    all answers together, in the unit that `Plan.unit_of_error` names: for a mean these are rows and not the column's
    unit. What each answer is worth stands in `Plan.terms`.
    """
    if not isinstance(query, Query) or not isinstance(unit, PrivacyUnit):
        raise InvalidRequest(
            "A plan takes a question about a table and a unit, such as gd.query(domain, text) and gd.PrivacyUnit().",
            "For a body of your own take a mechanism, such as gd.KNorm.calibrate(body, guarantee).",
        )
    if error is None:
        return plan_within(query, unit, guarantee_asked(epsilon, delta, rho, mu))
    positive(error=error)
    if epsilon is not None or rho is not None or mu is not None:
        raise InvalidRequest(
            "Both an error and a guarantee are given.", "Give error (and delta), or epsilon, rho or mu."
        )
    return _cheapest(query, unit, error, delta)


def fits(mechanism: Mechanism, query: Query, unit: PrivacyUnit) -> bool:
    """Return whether a mechanism makes the answers of this question, and protects this unit."""
    return query.mechanisms.accept(mechanism) and mechanism.is_valid_for(query.sensitivity(unit))


def misfit(mechanism: Mechanism, query: Query) -> InvalidRequest:
    """Return the refusal of a mechanism that does not fit a question; it names a wrong step of the lattice."""
    step = mechanism.lattice_step if isinstance(mechanism, AdditiveNoise) else 1
    if step != 1 and as_workload(query) is not None:
        return InvalidRequest(
            f"The mechanism's lattice step is {step}, and a release has 1: answers are whole numbers of steps.",
            "Take a mechanism from a plan for this question, or calibrate it to query.sensitivity(unit).",
        )
    return InvalidRequest(
        "The mechanism was calibrated for another question or unit.", "Take it from a plan for this one."
    )


def plan_within(query: Query, unit: PrivacyUnit, requested: Guarantee) -> Plan:
    """Return the plan for a guarantee: the same one for the same query and unit."""
    offers = tuple(Candidate(mechanism, query) for mechanism in query.mechanisms.candidates(unit, requested))
    choices = [best(part, [offer.mechanism.parts[i] for offer in offers]) for i, part in enumerate(query.parts)]
    lost = {id(mechanism) for *_, beaten in choices for mechanism in beaten}
    beaten = tuple(offer for offer in offers if any(id(part) in lost for part in offer.mechanism.parts))
    chosen = next(
        offer.mechanism
        for offer in offers
        if all(part is mechanism for part, (mechanism, *_) in zip(offer.mechanism.parts, choices, strict=True))
    )
    reasons = zip(query.parts, (reason for _, reason, _ in choices), strict=True)
    reason = choices[0][1] if len(choices) == 1 else ". ".join(f"{part.text}: {why}" for part, why in reasons)
    planned = Plan(query, unit, requested, offers, chosen, reason, beaten)
    object.__setattr__(planned, "is_from_planner", True)
    return planned


def _cheapest(query: Query, unit: PrivacyUnit, error: float, delta: float | None) -> Plan:
    """Bisect ε on a logarithmic scale; the error falls as ε grows."""

    def at(epsilon: float) -> Plan:
        return plan_within(query, unit, guarantee_asked(epsilon, delta))

    low, high = (math.log(end) for end in _EPSILON_RANGE)
    if at(math.exp(high)).error > error:
        raise InvalidRequest(f"No epsilon reaches an error of {error!r}.", "Ask for a larger error.")
    _, high = bisected(low, high, lambda log: at(math.exp(log)).error > error, apart=1e-3)
    plan_at = at(_three_digits_up(math.exp(high)))
    while plan_at.error > error:  # errors that are estimated from draws do not fall evenly
        plan_at = at(_three_digits_up(plan_at.epsilon * 1.005))
    return plan_at


def _three_digits_up(value: float) -> float:
    digits = 2 - math.floor(math.log10(value))
    return round(math.ceil(value * 10.0**digits) * 10.0**-digits, max(0, digits))


def _widest(widths: np.ndarray, n_answers: int) -> list[float]:
    """Return the largest width of the values, or of the sums and of the counts."""
    return [float(part.max()) for part in np.split(widths, len(widths) // n_answers)]
