"""Plans: cost and expected error of every candidate mechanism."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from gaugedp._internal.bisection import bisected
from gaugedp._internal.displays import drawn_by
from gaugedp._internal.numbers import digits_down, readable
from gaugedp._internal.validate import positive
from gaugedp.bounds.nearness import floor_in_words, least_error
from gaugedp.domain.unit import PrivacyUnit
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import Guarantee, PureDP
from gaugedp.guarantees.parse_guarantee import guarantee_asked
from gaugedp.guarantees.printed import rounded_up
from gaugedp.mechanisms import AdditiveNoise, Gaussian, Matrix, Mechanism
from gaugedp.queries.base import Query
from gaugedp.queries.candidate import Candidate, best
from gaugedp.queries.linear import as_workload
from gaugedp.queries.rules import left_out
from gaugedp.releases.certificate import Certificate, certify, is_attained
from gaugedp.releases.plan_widths import ANSWERS, bonferroni_level, finite, widest, worth
from gaugedp.statistics.base import Widths, by_pivot, curves_of, in_units

_EPSILON_RANGE = (1e-9, 1e9)
_MEAN_ROWS = 1000  # size of the cell for which a plan states the width of a mean


@dataclass(frozen=True)
class Plan:
    """Plan of a query: mechanism and expected errors, without data.

    Print it to see how precise the answers will be; give it to `gd.release` as `planned` to publish them.
    """

    query: Query
    unit: PrivacyUnit
    requested: Guarantee
    candidates: tuple[Candidate, ...]
    mechanism: Mechanism
    reason: str
    dominated: tuple[Candidate, ...] = ()  # their lower bound exceeds the chosen error
    is_from_planner: bool = field(default=False, init=False, repr=False, compare=False)  # not assembled by the caller

    _repr_html_ = drawn_by("plan")

    @property
    def epsilon(self) -> float:
        """The requested or computed ε; infinite without a pure ε."""
        return float(self.requested.to_dict().get("epsilon", math.inf))

    @property
    def error(self) -> float:
        """Expected error of the chosen mechanism; see `Candidate.error`."""
        listed = (candidate for candidate in self.candidates if candidate.mechanism is self.mechanism)
        return next(listed, Candidate(self.mechanism, self.query)).error

    @cached_property
    def lower_bound(self) -> float:
        """Lower bound on the expected error of pure mechanisms.

        It is for integer counts with units added or removed (`bounds.counts_lower_bound`), and 0 if none is known. With
        δ > 0, mechanisms that are not pure may have smaller errors.
        """
        return self._bound(whole=True)

    @cached_property
    def real_lower_bound(self) -> float:
        """Larger lower bound, for real-valued data only (`bounds.lower_bound`)."""
        return self._bound(whole=False)

    @cached_property
    def left_out(self) -> dict[str, str]:
        """Reasons why other mechanisms do not apply, by name."""
        offered = {candidate.mechanism.name for candidate in self.candidates}
        lost = {
            candidate.mechanism.name: f"error at least {digits_down(candidate.least)}" for candidate in self.dominated
        }
        return lost | self.query.mechanisms.left_out(self.unit, self.requested, offered)

    def left_out_in_words(self) -> str:
        """Return `left_out` as one line of text, possibly empty."""
        reasons = self.left_out.items()
        alike = {reason: ", ".join(name for name, why in reasons if why == reason) for _, reason in reasons}
        parts = "; ".join(f"{names} ({reason})" for reason, names in alike.items())
        return f"Not applicable: {parts}." if parts else ""

    @property
    def ratio(self) -> float:
        """Expected error divided by `lower_bound`, or infinity without one."""
        return self.error / self.lower_bound if self.lower_bound > 0 else math.inf

    @cached_property
    def certificate(self) -> dict[str, Any]:
        """Lower bound on the root mean squared error of mechanisms.

        Its keys are `theorem`, `bound` (0 if none is known), `error`, `kind` ("none" without a bound) and `confidence`.
        """
        return self._certificate.to_dict()

    @property
    def certified_ratio(self) -> float:
        """Root mean squared error over its lower bound, or infinity."""
        return self._certificate.ratio

    @cached_property
    def _certificate(self) -> Certificate:
        return certify(self.query, self.unit, self.mechanism, self.requested)

    @property
    def unit_of_error(self) -> str:
        """Unit of `error` in words, such as "rows"."""
        return self.query.errors.words

    def _bound(self, whole: bool) -> float:
        is_pure = isinstance(self.requested, PureDP) and not self.mechanism.in_rows  # no bound is known for ranks
        if not is_pure or self.unit.neighbours != "add_remove" or not is_attained(self.query, self.unit):
            return 0.0
        body, (weights, unit) = self.query.sensitivity(self.unit), self.query.errors.of(self.mechanism)
        scales = np.full(body.ambient_dim, 1 / unit) if weights is None else weights
        return least_error(body, scales, self.epsilon, whole=whole)

    def table(self) -> list[dict[str, Any]]:
        """Return one row per candidate: error, interval, guarantee and exactness.

        `dominated` candidates are omitted (see `left_out`). Quantiles have errors and intervals in ranks, counted in
        rows.
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
            if candidate not in self.dominated
        ]

    def terms(self) -> list[dict[str, Any]]:
        """Return one row per term, with widths of intervals.

        Use it to see how precise each table will be. "interval_95" and "simultaneous_95" are half-widths of 95 %
        intervals with the chosen mechanism. For means, shares and standard deviations they are those of the sums and
        counts behind them, and "of_1000_rows" has the worst-case half-widths, individual and simultaneous, in a cell of
        1,000 rows. For quantiles they are worst-case errors in rank, and "ordinary_95" is the error on ordinary tables,
        whose values spread over many steps. `quantile_widths` converts ranks into the unit of the column, such as
        euros.
        """
        single, all_at_once = self._widths(self.mechanism), self._widths(self.mechanism, simultaneous=True)
        has_ranks = any(estimate.ends for estimate in self.query.estimates)
        ordinary = self.mechanism.ordinary_widths() if has_ranks else single
        of_widths = {estimate.of_widths(0.95) for estimate in self.query.estimates}
        widths = {which: self._widths(self.mechanism, which[1], which[0]) for which in of_widths}
        ends = np.cumsum([0, *(estimate.n_widths for estimate in self.query.estimates)])
        texts, curves = (
            [text for text, _ in self.query.labels.terms],
            curves_of(self.query.estimates, self.curves(0.95)),
        )
        sizes = [_MEAN_ROWS * self._middle_weight(outline.weights) for outline in self.query.outlines]
        return [
            {
                "query": text,
                "answers": estimate.n_answers,
                "interval_95": widest(single[start:end], estimate.n_kinds),
                "simultaneous_95": widest(all_at_once[start:end], estimate.n_kinds),
                "ordinary_95": float(ordinary[start:end].max()) if estimate.ends else None,
                "of_1000_rows": [
                    estimate.half_length(widths[estimate.of_widths(0.95)][start:end], size, curve),
                    estimate.half_length(all_at_once[start:end], size),
                ]
                if estimate.wording.plural
                else None,
            }
            for text, estimate, start, end, curve, size in zip(
                texts, self.query.estimates, ends[:-1], ends[1:], curves, sizes, strict=True
            )
        ]

    def _middle_weight(self, name: str) -> float:
        """Return the middle of the bounds of a weight, or 1 without one: what a row is taken to weigh in a plan."""
        return float(self.query.domain.column(name).low + self.query.domain.column(name).high) / 2 if name else 1.0

    def curves(self, level: float) -> dict[str, np.ndarray]:
        """Return simulated widths (answers of a pivot, places) by pivot."""
        curves = {}
        for pivot, parts in self._trials.items():
            widths = [None if part is None else part.widths(level) for part in parts]
            known = [width for width in widths if width is not None]
            if len(known) == len(parts):
                curves[pivot] = np.vstack(known)
        return curves

    @cached_property
    def _trials(self) -> dict[str, list[Widths | None]]:
        trials: dict[str, list[Widths | None]] = {}
        for part, noise in zip(self.query.parts, self.mechanism.parts, strict=True):
            for pivot, terms in by_pivot(part.estimates).items() if isinstance(noise, AdditiveNoise) else ():
                trials.setdefault(pivot, []).append(terms[0][1].trials(noise, part.steps.sizes, terms))
        return trials

    def to_dict(self) -> dict[str, Any]:
        """Return the whole plan as JSON-compatible data."""
        return {
            "query": self.query.text,
            "digest": self.query.digest(),
            "unit": self.unit.to_dict(),
            "asked": self.requested.to_dict(),
            "mechanism": self.mechanism.name,
            "reason": self.reason,
            "in_rows": self.mechanism.in_rows,
            "lower_bound": self.bound_facts(),
            "candidates": self.table(),
            "terms": [term | {"of_1000_rows": finite(term["of_1000_rows"])} for term in self.terms()],
        }

    def remarks(self) -> list[str]:
        """Return sentences on the intervals and the left-out rows."""
        worst = (
            f"for a group of {_MEAN_ROWS:,} rows, worst case; four times the rows give about a quarter of the width."
        )
        weights = sorted({outline.weights for outline in self.query.outlines if outline.weights})
        weighted = [f"A row is taken to weigh {self._middle_weight(name):g}, half-way in {name}." for name in weights]
        plurals = {(term.pivot, term.wording.plural) for term in self.query.estimates if term.wording.plural}
        called = " and ".join(plural for _, plural in sorted(plurals)).capitalize()
        parts = self.query.parts
        rows = [
            f"{part.text}: {line}" if len(parts) > 1 else line
            for part in parts
            if not all(estimate.of_sampling for estimate in part.estimates)
            for line in left_out(part.domain, part.attributes, part.columns, self.unit.column)
        ]
        tests = ["Tests: the widths are those of the released numbers."] * any(
            term.is_test for term in self.query.estimates
        )
        worst_cases = [" ".join([f"{called}: {worst}", *weighted])] * bool(plurals)
        return worst_cases + tests + self.query.mechanisms.remarks(self.mechanism) + rows

    def bound_in_words(self) -> str:
        """Describe the distance from the best mechanisms in a sentence."""
        ratio, certificate = self._gaussian_ratio(), self._certificate
        gaussian = [floor_in_words(ratio)] if ratio >= 1 and certificate.ratio > 1.05 else []
        return " ".join([certificate.in_words()] * (certificate.bound > 0 or not gaussian) + gaussian)

    def _gaussian_ratio(self) -> float:
        """Return the noise's root mean square over the Gaussian optimum. It is 0 if that optimum is not known."""
        floor = max(
            (candidate.mechanism.floor for candidate in self.candidates if isinstance(candidate.mechanism, Matrix)),
            default=0.0,
        )
        if not floor > 0 or not isinstance(self.mechanism, Gaussian | Matrix):
            return 0.0
        weights = self.query.errors.weights
        return math.sqrt(float((self.mechanism.variances / (1 if weights is None else weights**2)).sum())) / floor

    def bound_facts(self) -> dict[str, Any] | None:
        """Return the certificate, or else the Gaussian ratio, as JSON."""
        if self._certificate.bound > 0:
            return {**self.certificate, "ratio": self.certified_ratio, "words": self.bound_in_words()}
        floor = self._gaussian_ratio()
        return {"kind": "gaussian", "ratio": floor, "words": floor_in_words(floor)} if floor >= 1 else None

    def _widths(self, mechanism: Mechanism, simultaneous: bool = False, level: float = 0.95) -> np.ndarray:
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
        head = f"{self.query.text}  ({self.unit}; requested {rounded_up(self.requested)})"
        ends = filter(None, (self.reason, self.left_out_in_words(), self.bound_in_words()))
        return "\n".join([head, f"{ANSWERS}:", *answers, *self.remarks(), f"{self.about_errors()}:", *rows, *ends])

    def about_errors(self) -> str:
        """Describe the errors of the candidates."""
        return f"Mechanisms by expected error, the l2 norm of the errors of all answers, in {self.unit_of_error}"


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
    """Predict how precise the answers to a query will be.

    Use it before a release. The plan chooses a mechanism and predicts its errors. No data is read, and no budget is
    spent. Pass the guarantee that you want, or the `error` that you accept.

    Parameters
    ----------
    query : Query
        What to publish.
    unit : PrivacyUnit
        Who is protected, such as one person.
    epsilon, delta, rho, mu : float, optional
        The guarantee: ε of pure, ε and δ of approximate, ρ of zero-concentrated, or μ of Gaussian differential privacy.
    error : float, optional
        The accepted expected ℓ₂ norm of the errors of all answers, in `Plan.unit_of_error`. The plan has the smallest ε
        that reaches it, rounded up to three digits.

    Examples
    --------
    >>> import gaugedp as gd
    >>> plan = gd.plan(gd.query(gd.Domain.of(sex=["1", "2"]), "sex"), gd.PrivacyUnit(), epsilon=1.0)
    >>> plan.mechanism.name, round(plan.error, 2), plan.unit_of_error
    ('Laplace', 1.47, 'rows')
    """
    if not isinstance(query, Query) or not isinstance(unit, PrivacyUnit):
        raise InvalidRequest(
            "`plan` needs a query and a privacy unit, such as gd.query(domain, text) and gd.PrivacyUnit().",
            "To plan noise for a body of your own, calibrate a mechanism, such as gd.KNorm.calibrate(body, guarantee).",
        )
    if error is None:
        return plan_within(query, unit, guarantee_asked(epsilon, delta, rho, mu))
    positive(error=error)
    if epsilon is not None or rho is not None or mu is not None:
        raise InvalidRequest(
            "You passed both `error` and a guarantee, but either one determines the other.", "Pass only one of them."
        )
    return _cheapest(query, unit, error, delta)


def fits(mechanism: Mechanism, query: Query, unit: PrivacyUnit) -> bool:
    """Return True if a mechanism fits the query and the unit."""
    return query.mechanisms.accept(mechanism) and mechanism.is_valid_for(query.sensitivity(unit))


def misfit(mechanism: Mechanism, query: Query) -> InvalidRequest:
    """Return the error for a mechanism that does not fit."""
    step = mechanism.lattice_step if isinstance(mechanism, AdditiveNoise) else 1
    if step != 1 and as_workload(query) is not None:
        return InvalidRequest(
            f"The mechanism's lattice step is {step}, but a release needs 1: answers are integer multiples of a step.",
            "Use a mechanism from a plan for this query, or calibrate it to query.sensitivity(unit).",
        )
    return InvalidRequest(
        "The mechanism was calibrated for a different query or unit.", "Use the mechanism of a plan for this query."
    )


def plan_within(query: Query, unit: PrivacyUnit, requested: Guarantee) -> Plan:
    """Return the deterministic plan for a guarantee."""
    offers = tuple(Candidate(mechanism, query) for mechanism in query.mechanisms.candidates(unit, requested))
    choices = [best(part, [offer.mechanism.parts[i] for offer in offers]) for i, part in enumerate(query.parts)]
    lost = {id(mechanism) for *_, dominated in choices for mechanism in dominated}
    dominated = tuple(offer for offer in offers if any(id(part) in lost for part in offer.mechanism.parts))
    chosen = next(
        offer.mechanism
        for offer in offers
        if all(part is mechanism for part, (mechanism, *_) in zip(offer.mechanism.parts, choices, strict=True))
    )
    reasons = zip(query.parts, (reason for _, reason, _ in choices), strict=True)
    reason = choices[0][1] if len(choices) == 1 else ". ".join(f"{part.text}: {why}" for part, why in reasons)
    planned = Plan(query, unit, requested, offers, chosen, reason, dominated)
    object.__setattr__(planned, "is_from_planner", True)
    return planned


def _cheapest(query: Query, unit: PrivacyUnit, error: float, delta: float | None) -> Plan:
    """Bisect ε; the error falls with ε, if each part has the mechanism of the least error."""
    query = query.mechanisms.for_error()

    def at(epsilon: float) -> Plan:
        return plan_within(query, unit, guarantee_asked(epsilon, delta))

    low, high = (math.log(end) for end in _EPSILON_RANGE)
    if at(math.exp(high)).error > error:
        raise InvalidRequest(f"No epsilon achieves an expected error of {error!r}.", "Allow a larger `error`.")
    _, high = bisected(low, high, lambda log: at(math.exp(log)).error > error, apart=1e-3)
    plan_at = at(_three_digits_up(math.exp(high)))
    while plan_at.error > error:  # simulated errors are not monotone in ε
        plan_at = at(_three_digits_up(plan_at.epsilon * 1.005))
    return plan_at


def _three_digits_up(value: float) -> float:
    digits = 2 - math.floor(math.log10(value))
    return round(math.ceil(value * 10.0**digits) * 10.0**-digits, max(0, digits))
