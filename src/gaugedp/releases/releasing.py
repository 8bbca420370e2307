"""Releases: planned queries and the measurement of their answers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import numpy as np

from gaugedp._internal.progress import Progress, silent
from gaugedp._internal.validate import one_of
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import Guarantee
from gaugedp.guarantees.parse_guarantee import chargeable
from gaugedp.ledger.base import Ledger
from gaugedp.mechanisms.base import Mechanism, Prepared
from gaugedp.mechanisms.selection import PreparedChoice
from gaugedp.queries import Query, with_sampling_error
from gaugedp.releases.answer import EXACTNESS, Release
from gaugedp.releases.conclusions import concluded
from gaugedp.releases.described import LEVELS
from gaugedp.releases.executing import Charge, PaidRows, check_kinds, execute
from gaugedp.releases.metadata import check_fits, release_facts
from gaugedp.releases.planning import Plan, fits, misfit, plan
from gaugedp.releases.processing import check
from gaugedp.releases.sampling_error import NOISE, TOTAL
from gaugedp.releases.verification.check import verify
from gaugedp.tables.aggregate import Rows

__all__ = ["LEVELS", "Release", "release"]


def release(
    query: Query,
    table: Rows,
    *,
    ledger: Ledger,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    mu: float | None = None,
    mechanism: Mechanism | None = None,
    planned: Plan | None = None,
    processing: str | Sequence[str] = (),
    intervals: str = NOISE,
    key: str | None = None,
    rng: Entropy | None = None,
    noise: Prepared | None = None,
    on_stage: Callable[[str], object] = str,
    on_progress: Callable[[float], object] = silent,
) -> Release:
    """Answer a query about a table and charge the ledger.

    Use it to publish statistics about people under differential privacy. You get noisy answers with confidence
    intervals, and their cost is charged to the privacy budget in the ledger. State the guarantee by `epsilon`, by
    `epsilon` and `delta`, by `rho` or by `mu`. Alternatively, pass `planned` or `mechanism`, which contain a guarantee.

    A release plans the query, draws the noise, charges the ledger, evaluates the query, stores the answers and returns
    them. Because the charge is recorded before the data is read, a crash may cost budget but discloses nothing.

    Parameters
    ----------
    query : Query
        What to publish, for example `gd.query(domain, "sex*age")`.
    table : Table
        The rows that the query is about. They are read only after the charge.
    ledger : Ledger
        The ledger to charge. It refuses a release that would exceed its budget.
    epsilon, delta : float, optional
        ε of pure, or ε and δ of approximate, differential privacy.
    rho, mu : float, optional
        ρ of zero-concentrated, or μ of Gaussian, differential privacy.
    mechanism : Mechanism, optional
        A mechanism for this query and the unit of the table, such as `plan.mechanism`. By default a plan chooses one.
    planned : Plan, optional
        A plan for this query and the unit of the table, if you have already made one with `gd.plan`.
    processing : str or sequence of str
        The names of post-processing steps that `Release.processed` describes, such as "rounded". They cost nothing, and
        the ledger stores the raw answers. By default nothing is processed.
    intervals : {"noise", "total"}
        The errors that the confidence intervals include. With "noise", the default, it is the noise of the release.
        "total" adds the sampling error of weighted terms, and spends a part of the guarantee on estimating it.
    key : str, optional
        A name for this request. If you repeat the request with its key, you get the stored answers at no cost.
    rng : Entropy, optional
        Reproducible noise, for research only, because noise that others can reproduce protects nobody.
    noise : Prepared, optional
        Noise drawn in advance by `mechanism.pool`, for the mechanism of this release.
    on_stage, on_progress : callable, optional
        Functions that are called with the name of each stage ("plan", "pay", "look", "store") as it begins, and with
        the completed share.

    Returns
    -------
    Release
        The answers, with their confidence intervals and all public facts.

    Raises
    ------
    InvalidRequest, UnknownName, LedgerRefused
        If a name or step is unknown, the mechanism does not fit the query, or the ledger refuses the charge. Nothing is
        read or spent then.

    Notes
    -----
    If a release of a table with a folder (`Table.in_buckets`) is killed, repeat the request with the same key to finish
    it. It is not charged again.

    Examples
    --------
    Publish the number of rows of each sex with ε = 1, from a budget of ε = 2:

    >>> import gaugedp as gd
    >>> import pandas as pd
    >>> domain = gd.Domain.of(sex=["1", "2"])
    >>> table = gd.Table.scan(pd.DataFrame({"sex": ["1", "2"] * 50}), domain=domain, name="people")
    >>> ledger = gd.Ledger.in_memory(gd.PureDP(2))
    >>> answer = gd.release(gd.query(domain, "sex"), table, ledger=ledger, epsilon=1.0)
    >>> len(answer.values), ledger.spent
    (2, PureDP(1))

    The two values are the noisy counts, near 50, and half of the budget is left for other releases.
    """
    on_stage("plan")
    check_kinds(table, ledger, query)
    one_of((NOISE, TOTAL), intervals=intervals)
    query = with_sampling_error(query) if intervals == TOTAL else query
    steps = check(processing, query)
    if not isinstance(noise, Prepared | None):
        raise InvalidRequest("`noise` was not prepared by a mechanism.", "Pass an item of mechanism.pool(1), or None.")
    planned_by = planned or mechanism or (noise.mechanism if noise else None)
    measurement = PlannedRelease(_planned(query, table, planned_by, (epsilon, delta, rho, mu)), noise, on_progress)
    answer = execute(measurement, ledger, table.reporting(on_progress), key, rng, on_stage)
    return answer.processed(*steps, query=query) if steps else answer


@dataclass(frozen=True)
class PlannedRelease:
    """Measurement of a plan's answers, with prepared or fresh noise."""

    plan: Plan
    noise: Prepared | None
    on_progress: Progress

    encode, decode = staticmethod(Release.to_store), staticmethod(Release.from_json)

    def prepare(self, table: Rows, rng: Entropy) -> tuple[Charge, Callable[[PaidRows], Release]]:
        """Draw the noise; see `Measurement`."""
        query, mechanism = self.plan.query, self.plan.mechanism
        prepared, row_key = self._drawn(rng), rng.bytes(16)
        seed = rng.seed if prepared.seed is None else prepared.seed
        verdict = verify(query, mechanism, table.unit)
        facts = release_facts(self.plan, table, seed).including(**verdict.facts())
        check_fits(facts, query)

        def evaluate(rows: PaidRows) -> Release:
            numbers = prepared(rows.answers(query, row_key))
            known = facts.including(account=rows.account)
            return Release(numbers, query.labels, concluded(query, mechanism, numbers), mechanism.guarantee, known)

        guarantees = chargeable(mechanism.guarantee, self.plan.requested)  # a plan assembled by the caller may not fit
        return Charge(guarantees, table.name, table.unit, request_of(self.plan, seed), table.can_resume), evaluate

    def _drawn(self, rng: Entropy) -> Prepared:
        if self.noise is None:
            return self.plan.mechanism.prepare(rng, self.on_progress)
        if self.noise.mechanism is not self.plan.mechanism:
            raise InvalidRequest(
                "The noise was prepared by a different mechanism from the one of this release.",
                "Prepare it with this one: mechanism.pool(1)[0].",
            )
        if self.noise.is_used:
            raise InvalidRequest("This noise has already been used.", "Prepare new noise for another answer.")
        return self.noise


def request_of(plan: Plan, seed: int | None) -> dict[str, Any]:
    """Return the request that a ledger records for a plan."""
    return {
        "query": plan.query.text,
        "digest": plan.query.digest(),
        "asked": plan.requested.to_dict(),
        "mechanism": plan.mechanism.name,
        "research_seed": seed,
    }


class PredictedCounts(NamedTuple):
    """Predicted counts at a `place`, in units of 1/16 row.

    The distance of the answers is weight·(Σ |16·answer − guess| − allowance): `allowance`, in the same units, is not
    counted, and `weight` is an integer.
    """

    place: slice
    sixteenths: np.ndarray
    allowance: int
    weight: int


class ExactAnswers:
    """Exact answers to a query, evaluated once. They leave the object only through randomness that was drawn before."""

    def __init__(self, query: Query, rows: PaidRows, rng: Entropy) -> None:
        self._exact = rows.answers(query, rng.bytes(16)).astype(np.int64)

    def noisy(self, place: slice, noise: Prepared) -> np.ndarray:
        """Return noisy answers, with noise drawn and charged before."""
        return noise(self._exact[place])

    def worst(self, guesses: Sequence[PredictedCounts], choice: PreparedChoice) -> int:
        """Return the index of a bad guess, by private choice.

        The choice was drawn and charged before. Scores are exact integers, so each moves by at most 16·weight·(ℓ₁
        radius of its answers).
        """
        return int(choice(np.array([self._off(guess) for guess in guesses], dtype=np.int64)))

    def _off(self, guess: PredictedCounts) -> int:
        distance = np.abs(16 * self._exact[guess.place] - guess.sixteenths).sum()
        return guess.weight * (int(distance) - guess.allowance)

    def __reduce__(self) -> NoReturn:
        raise TypeError("Exact answers are never copied or pickled.")

    def __repr__(self) -> str:
        return f"ExactAnswers({len(self._exact)} answers)"


def _planned(query: Query, table: Rows, source: Plan | Mechanism | None, numbers: tuple[float | None, ...]) -> Plan:
    if query.domain != table.domain:
        raise InvalidRequest("The query and the table have different domains.", "Build both from the same domain.")
    if source is None:
        epsilon, delta, rho, mu = numbers
        return plan(query, table.unit, epsilon=epsilon, delta=delta, rho=rho, mu=mu)
    if any(number is not None for number in numbers):
        raise InvalidRequest(
            "You passed a plan or mechanism and a guarantee, but a plan and a mechanism already contain one.",
            "Use only one of them.",
        )
    mechanism = source.mechanism if isinstance(source, Plan) else source
    if not fits(mechanism, query, table.unit):
        raise misfit(mechanism, query)
    if not isinstance(source, Plan):
        _check_facts(mechanism)
        return Plan(query, table.unit, mechanism.guarantee, (), mechanism, "chosen by the caller")
    if source.query.digest() != query.digest() or source.unit != table.unit:
        raise InvalidRequest("The plan is for a different query or unit.", "Make a plan for this query.")
    if not source.is_from_planner:
        _check_facts(mechanism)
    return source


def _check_facts(mechanism: Mechanism) -> None:
    if not isinstance(mechanism.guarantee, Guarantee):
        raise InvalidRequest(
            "The mechanism's `guarantee` is not a guarantee.", "Set it to a guarantee, such as gd.PureDP(1.0)."
        )
    if mechanism.exactness not in EXACTNESS:
        raise InvalidRequest(
            f"The mechanism's attribute `exactness` is {mechanism.exactness!r}, which is not a known label.",
            f"Use one of {', '.join(EXACTNESS)}.",
        )
    sizes = {"half_widths": mechanism.half_widths(0.95), "variances": mechanism.variances}
    for name, numbers in sizes.items():
        shape = (mechanism.n_answers,)
        if np.shape(numbers) != shape or not (np.isfinite(numbers) & (np.asarray(numbers) >= 0)).all():
            raise InvalidRequest(
                f"The mechanism's `{name}` must be {shape[0]} finite numbers of at least 0.", "Correct this attribute."
            )
