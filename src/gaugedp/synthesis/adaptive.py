"""`release_adaptively`: adaptive selection and measurement of tables of counts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from gaugedp._internal.progress import Progress, silent
from gaugedp._internal.runs import Folded, fold
from gaugedp.domain.hierarchies import nesting
from gaugedp.domain.unit import PrivacyUnit
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import ZCDP, ApproxDP, Guarantee
from gaugedp.guarantees.calibrate import largest_parameter
from gaugedp.guarantees.parse_guarantee import chargeable, guarantee_asked
from gaugedp.ledger import Ledger
from gaugedp.queries import Query, Workload, marginals
from gaugedp.releases.answer import Release
from gaugedp.releases.described import LEVELS
from gaugedp.releases.executing import Charge, PaidRows, check_kinds, execute
from gaugedp.releases.metadata import check_fits, public_facts
from gaugedp.releases.plan_widths import bonferroni_level
from gaugedp.releases.releasing import ExactAnswers
from gaugedp.synthesis.adaptive_measurement import AdaptiveMeasurement, CandidateMarginal, NoisyMarginal, candidates_of
from gaugedp.synthesis.measurements import ModelVariables, levels_of
from gaugedp.tables.aggregate import Rows

NAME = "AdaptiveGaussian"


def release_adaptively(  # noqa: PLR0913 - the arguments of `release`
    query: Query,
    table: Rows,
    *,
    ledger: Ledger,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    key: str | None = None,
    rng: Entropy | None = None,
    on_stage: Callable[[str], object] = str,
    on_progress: Callable[[float], object] = silent,
) -> Release:
    """Publish tables of counts that are selected adaptively.

    Use it to make synthetic rows for a table with many attributes, if you do not know which combinations of attributes
    matter. `gd.synthesize` draws the rows from the release. First, the counts of every single attribute are measured
    with noise. Then each round selects the table that a model of all measured tables predicts worst, and measures it.

    Parameters
    ----------
    query : Query
        Tables of counts. These tables, and all tables of some of their attributes, are the candidates.
    table : Table
        The rows, which are read once, after the whole budget is charged.
    ledger : Ledger
        The ledger to charge.
    epsilon, delta, rho : float, optional
        The guarantee: ε and δ of approximate, or ρ of zero-concentrated, differential privacy.
    key : str, optional
        A name for this request. If you repeat the request with its key, you get the stored answers at no cost.
    rng : Entropy, optional
        Reproducible noise, for research only.
    on_stage, on_progress : callable, optional
        Functions that are called with the name of each stage as it begins, and with the completed share.

    Returns
    -------
    Release
        The measured tables, with confidence intervals that hold whichever tables are selected.

    Raises
    ------
    InvalidRequest, LedgerRefused
        If a term is not a table of counts, δ and ρ are both missing, or the ledger refuses the charge. Nothing is read
        or spent then.

    Notes
    -----
    The release is ρ-zCDP for the largest ρ that implies (ε, δ)-DP. This ρ bounds the sum over all rounds, because the
    selection, the noise and the number of rounds depend on released results only (docs/theory/adaptive_tables.md,
    theorems 1 and 2; McKenna, Mullins, Sheldon and Miklau 2022). Tables are selected by the exponential mechanism. The
    noise is discrete Gaussian, with exact draws.
    """
    on_stage("plan")
    check_kinds(table, ledger, query)
    planned = _plan(query, table, guarantee_asked(epsilon, delta, rho))
    return execute(replace(planned, on_progress=on_progress), ledger, table.reporting(on_progress), key, rng, on_stage)


@dataclass(frozen=True, eq=False)
class AdaptivePlan:
    """The plan of an adaptive release, made before reading rows.

    `rho` is the total cost, `everything` the query for all `candidates`, which are evaluated together.
    """

    query: Query
    unit: PrivacyUnit
    requested: Guarantee
    rho: ZCDP
    everything: Workload
    candidates: tuple[CandidateMarginal, ...]
    on_progress: Progress = silent

    @classmethod
    def of(cls, query: Query, unit: PrivacyUnit, requested: Guarantee) -> "AdaptivePlan":
        """Return the plan; refuse terms that are not tables of counts, and missing δ or ρ."""
        return cls(query, unit, requested, _zcdp(requested), *candidates_of(query, unit))

    @property
    def charges(self) -> list[Guarantee]:
        """The guarantees that a ledger may charge, by preference."""
        return chargeable(self.rho, self.requested)

    @property
    def variables(self) -> ModelVariables:
        """The variables of the rows."""
        attributes = {name: self.query.domain.attribute(name) for name in self.everything.attributes}
        impossible = (each.cells for each in self.query.domain.impossible)
        return ModelVariables.of(levels_of(self.everything.outlines, nesting(attributes)), impossible)

    def rounds(self, rng: Entropy) -> AdaptiveMeasurement:
        """Return the rounds, with randomness from `rng`."""
        return AdaptiveMeasurement(self.candidates, self.query.domain, self.unit, self.rho, rng)

    encode, decode = staticmethod(Release.to_json), staticmethod(Release.from_json)

    def prepare(self, table: Rows, rng: Entropy) -> tuple[Charge, Callable[[PaidRows], Release]]:
        """Return the charge of all rounds, which draw after it."""
        check_fits(self.facts(table, rng.seed), self.everything)

        def evaluate(rows: PaidRows) -> Release:
            return self.answer(self.measured(rows, rng), table, rows.account, rng.seed)

        return Charge(self.charges, table.name, table.unit, self.request(rng.seed), table.can_resume), evaluate

    def measured(self, rows: PaidRows, rng: Entropy) -> list[NoisyMarginal]:
        """Evaluate all candidates once, and return all measured tables."""
        return self.rounds(rng).run(ExactAnswers(self.everything, rows, rng), self.variables, self.on_progress)

    def request(self, seed: int | None) -> dict[str, Any]:
        """Return what a ledger stores of the request."""
        public = {"query": self.query.text, "digest": self.query.digest(), "asked": self.requested.to_dict()}
        return {**public, "mechanism": NAME, "research_seed": seed}

    def facts(self, table: Rows, seed: int | None) -> dict[str, Any]:
        """Return facts of the maximum length, with all candidates measured."""
        widths = " " * (1000 * len(self.candidates))  # bytes of a table's widths, at all levels, at most
        return public_facts(self.everything, table, self.requested, seed) | {"widths": widths}

    def answer(
        self, measured: Sequence[NoisyMarginal], table: Rows, account: Mapping[str, Any], seed: int | None
    ) -> Release:
        """Return the release of the measured tables."""
        query = marginals(self.query.domain, *(table.candidate.names for table in measured))
        facts = public_facts(query, table, self.requested, seed) | _facts(self.query, measured) | {"account": account}
        numbers = np.concatenate([table.counts for table in measured])
        return Release(numbers, query.labels, query.estimates, self.rho, facts)


def _plan(query: Query, table: Rows, guarantee: Guarantee) -> AdaptivePlan:
    if query.domain != table.domain:
        raise InvalidRequest("The query and the table have different domains.", "Build both from the same domain.")
    planned = AdaptivePlan.of(query, table.unit, guarantee)
    planned.variables.check_possible()
    return planned


@lru_cache(maxsize=64)  # the search takes a second
def _zcdp(guarantee: Guarantee) -> ZCDP:
    """Return the largest ρ-zCDP that implies the guarantee."""
    match guarantee:
        case ZCDP():
            return guarantee
        case ApproxDP(epsilon_value=epsilon, delta_value=delta):
            return ZCDP(largest_parameter(ZCDP, epsilon, delta))
    raise InvalidRequest(f"Adaptive tables do not support {guarantee!r}.", "Pass delta as well as epsilon, or rho.")


def _facts(query: Query, measured: Sequence[NoisyMarginal]) -> dict[str, Any]:
    deviations = [float(np.sqrt(table.mechanism.variances[0])) for table in measured]
    noise = f"discrete Gaussian, std {max(deviations):.6g} to {min(deviations):.6g}, tables chosen for {query.text}"
    return {
        "mechanism": {"name": NAME, "exactness": "exact", "noise": noise},
        "reason": "tables are chosen in rounds by previous results",
        "lower_bound": None,
        "candidates": [],
        "deviations": fold(np.concatenate([np.sqrt(table.mechanism.variances) for table in measured])),
        "widths": {
            "single": {str(level): _widths(measured, level) for level in LEVELS},
            "simultaneous": {str(level): _widths_at_once(measured, level) for level in LEVELS},
        },
    }


def _widths(measured: Sequence[NoisyMarginal], level: float) -> Folded:
    return fold(np.concatenate([table.mechanism.half_widths(level) for table in measured]))


def _widths_at_once(measured: Sequence[NoisyMarginal], level: float) -> Folded:
    misses = 1 - bonferroni_level(level)
    parts = [table.mechanism.half_widths(1 - misses * float(table.share), True) for table in measured]
    return fold(np.concatenate(parts))
