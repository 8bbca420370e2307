"""Rounds of an adaptive release: selection, noise and stopping."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import combinations

import numpy as np

from gaugedp.bodies import LpBall
from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.shares import share_of
from gaugedp.guarantees.zcdp import ZCDP
from gaugedp.mechanisms import Exponential, Gaussian
from gaugedp.queries import Query, Workload, marginals
from gaugedp.queries.linear import as_workload
from gaugedp.releases.releasing import ExactAnswers, PredictedCounts
from gaugedp.synthesis.counts import CountTable
from gaugedp.synthesis.junction_tree import JunctionTree
from gaugedp.synthesis.maximum_entropy import refitted, total
from gaugedp.synthesis.measurements import ModelVariables, counts_cells
from gaugedp.synthesis.tuning import TUNED

_SIXTEENTHS = 16
MOST_CELLS = 1_000_000  # of a model when all is spent: some seconds per round


@dataclass(frozen=True)
class CandidateMarginal:
    """A table of counts of `names` that may be measured.

    `place` are its answers among those of all candidates. `weight` counts the attributes that it shares with each
    requested table. One unit moves its counts by at most `reach` in ℓ₁ and by `radius` in ℓ₂.
    """

    names: tuple[str, ...]
    shape: tuple[int, ...]
    place: slice
    weight: int
    reach: float
    radius: float

    @property
    def size(self) -> int:
        """The number of its cells."""
        return math.prod(self.shape)

    def noise_size(self, rho: float) -> float:
        """Return the approximate ℓ₁ norm of normal noise for ρ-zCDP."""
        return self.size * self.radius / math.sqrt(math.pi * rho)

    def guess(self, counts: np.ndarray, rho: float) -> PredictedCounts:
        """Return the predicted counts, and the expected noise at ρ."""
        sixteenths = np.rint(_SIXTEENTHS * np.clip(counts.ravel(), -(2.0**40), 2.0**40)).astype(np.int64)
        noise = round(_SIXTEENTHS * min(self.noise_size(rho), 2.0**40))
        return PredictedCounts(self.place, sixteenths, noise, self.weight)


def candidates_of(query: Query, unit: PrivacyUnit) -> tuple[Workload, tuple[CandidateMarginal, ...]]:
    """Return the query for all candidates, and the candidates.

    Those of one attribute come first. Refused: other terms than tables of counts, and queries without attributes.
    """
    scopes = _wanted(query)
    sets = dict[frozenset[str], tuple[str, ...]]()
    for size in range(1, max(map(len, scopes)) + 1):
        for names in (part for term in scopes for part in combinations(term, size)):
            sets.setdefault(frozenset(names), names)
    everything = marginals(query.domain, *sets.values())
    candidates, start = list[CandidateMarginal](), 0
    for names, outline in zip(sets.values(), everything.outlines, strict=True):
        body = marginals(query.domain, names).sensitivity(unit)
        weight = sum(len(set(names) & set(term)) for term in scopes)
        place = slice(start, start + outline.size)
        candidates.append(CandidateMarginal(names, outline.shape, place, weight, body.radius(1), body.radius(2)))
        start += outline.size
    return everything, tuple(candidates)


def _wanted(query: Query) -> list[tuple[str, ...]]:
    workload = as_workload(query)
    if workload is not None and workload.importance:
        raise InvalidRequest(
            "`importance` is set in the query, but adaptive tables are weighted automatically.", "Omit `importance`."
        )
    others = [outline.text for outline in query.outlines if not counts_cells(outline)]
    if others:
        raise InvalidRequest(f"{others[0]} is not a table of counts.", "Request tables only, such as SEX*AGE; SEX*EDU.")
    scopes = [outline.names for outline in query.outlines if outline.names]
    if not scopes:
        raise InvalidRequest("The query has no attributes.", "Request tables of counts, such as SEX*AGE; SEX*EDU.")
    return scopes


def most_moved(candidates: Sequence[CandidateMarginal]) -> float:
    """Return the sensitivity of the scores of `ExactAnswers.worst`."""
    return max(_SIXTEENTHS * candidate.weight * candidate.reach for candidate in candidates)


@dataclass(frozen=True, eq=False)
class Model:
    """The distribution on `tree` near the `tables` of counts. `laws` are the tables of the cliques, for `n` rows."""

    variables: ModelVariables
    tables: tuple[CountTable, ...]
    multipliers: Sequence[np.ndarray]
    tree: JunctionTree
    laws: Sequence[np.ndarray]
    n: float

    @classmethod
    def of(cls, variables: ModelVariables, tables: Sequence[CountTable], starts: Sequence[np.ndarray] = ()) -> "Model":
        """Return the fit after some steps from the multipliers `starts` (then 0)."""
        tree = variables.tree(table.scope for table in tables)
        n = max(total(tables), 1.0)
        others = [np.zeros(table.values.shape) for table in tables[len(starts) :]]
        laws, multipliers = refitted(tree, tables, n, [*starts, *others], TUNED.fit_steps)
        return cls(variables, tuple(tables), multipliers, tree, laws, n)

    def added(self, table: CountTable) -> "Model":
        """Return the model with one more table."""
        return Model.of(self.variables, [*self.tables, table], self.multipliers)

    def counts(self, names: Sequence[str]) -> np.ndarray:
        """Return the expected counts in the cells of attributes."""
        return self.n * self.variables.counts(names, self.tree.law(self.laws, self.variables.scope(names)))

    def n_cells_with(self, names: Sequence[str]) -> int:
        """Return the cells of a model with this table too; 0 if it has the clique."""
        scope = self.variables.scope(names)
        if any(set(scope) <= set(clique) for clique in self.tree.cliques):
            return 0
        return self.variables.tree([*(table.scope for table in self.tables), scope]).n_cells


@dataclass(frozen=True, eq=False)
class NoisyMarginal:
    """A noisy table of counts, and its share of the cost."""

    candidate: CandidateMarginal
    share: Fraction
    mechanism: Gaussian
    counts: np.ndarray = field(repr=False)

    def over(self, variables: ModelVariables) -> CountTable:
        """Return the table as counts over variables."""
        counts, variances = (part.reshape(self.candidate.shape) for part in (self.counts, self.mechanism.variances))
        return variables.table(self.candidate.names, counts.astype(float), variances)


@dataclass(frozen=True, eq=False)
class AdaptiveMeasurement:
    """The rounds for a unit and a total of ρ-zCDP."""

    candidates: Sequence[CandidateMarginal]
    domain: Domain
    unit: PrivacyUnit
    rho: ZCDP
    rng: Entropy

    @cached_property
    def singles(self) -> list[CandidateMarginal]:
        """The tables of one attribute, which are measured first."""
        return [candidate for candidate in self.candidates if len(candidate.names) == 1]

    @property
    def first_share(self) -> Fraction:
        """The share of ρ of each first round. It is 1/(3·attributes), or all of it if no other tables are requested."""
        if len(self.singles) == len(self.candidates):
            return 1 / (len(self.singles) * (1 - TUNED.choice))
        return Fraction(1, TUNED.rounds_per_attribute * len(self.singles))

    def run(
        self, held: ExactAnswers, variables: ModelVariables, done: Callable[[float], object]
    ) -> list[NoisyMarginal]:
        """Return the measured tables; `done` receives the spent share."""
        measured = [self._measured(held, single, self.first_share, is_chosen=False) for single in self.singles]
        model = Model.of(variables, [table.over(variables) for table in measured])
        share, left = self.first_share, 1 - sum((table.share for table in measured), Fraction())
        while left > 0 and (candidates := self._unmeasured(model, measured, 1 - left + share)):
            share = max(share, left / len(candidates))  # each is measured once: no budget remains unused
            share = left if left < 2 * share else share
            left -= share
            done(float(1 - left))
            newest = self._measured(held, self._chosen(held, model, candidates, share), share)
            measured, before = [*measured, newest], model
            model = model.added(newest.over(variables))
            # 4: times the price when a table told less than its noise: half the noise
            share *= 4 if self._is_little(newest, before, model) else 1
        return measured

    def _unmeasured(self, model: Model, measured: Sequence[NoisyMarginal], used: Fraction) -> list[CandidateMarginal]:
        names, limit = {table.candidate.names for table in measured}, MOST_CELLS * used
        new = (candidate for candidate in self.candidates if candidate.names not in names)
        return [candidate for candidate in new if model.n_cells_with(candidate.names) <= limit]

    def _chosen(
        self, held: ExactAnswers, model: Model, candidates: Sequence[CandidateMarginal], share: Fraction
    ) -> CandidateMarginal:
        body = LpBall(len(candidates), math.inf, most_moved(candidates))
        choice = Exponential.calibrate(body, share_of(self.rho, share * TUNED.choice)).prepare(self.rng)
        rho = self._noise(share).rho
        guesses = [candidate.guess(model.counts(candidate.names), rho) for candidate in candidates]
        return candidates[held.worst(guesses, choice)]

    def _measured(
        self, held: ExactAnswers, candidate: CandidateMarginal, share: Fraction, is_chosen: bool = True
    ) -> NoisyMarginal:
        body = marginals(self.domain, candidate.names).sensitivity(self.unit)
        mechanism = Gaussian.calibrate(body, self._noise(share))
        counts = held.noisy(candidate.place, mechanism.prepare(self.rng))
        return NoisyMarginal(candidate, share if is_chosen else (1 - TUNED.choice) * share, mechanism, counts)

    def _noise(self, share: Fraction) -> ZCDP:
        rho = share_of(self.rho, share * (1 - TUNED.choice))
        assert isinstance(rho, ZCDP)
        return rho

    @staticmethod
    def _is_little(table: NoisyMarginal, before: Model, after: Model) -> bool:
        names = table.candidate.names
        noise = float(np.sqrt(table.mechanism.variances * 2 / math.pi).sum())
        return bool(np.abs(after.counts(names) - before.counts(names)).sum() <= noise)
