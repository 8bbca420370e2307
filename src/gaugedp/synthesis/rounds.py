"""Rounds of an adaptive release: which table is measured next, with how much noise, and when there is no more."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from gaugedp.bodies import LpBall
from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.entropy import Entropy
from gaugedp.guarantees.shares import share_of
from gaugedp.guarantees.zcdp import ZCDP
from gaugedp.mechanisms.exponential import Exponential
from gaugedp.mechanisms.gaussian import Gaussian
from gaugedp.queries.builders import marginals
from gaugedp.releasing import Held
from gaugedp.synthesis.candidates import Candidate, most_moved
from gaugedp.synthesis.counts import CountTable
from gaugedp.synthesis.model import Model
from gaugedp.synthesis.released import Variables

MOST_CELLS = 1_000_000  # of a model when all is spent: some seconds a round
_ROUNDS = 3  # an attribute, at the first price
_CHOICE = Fraction(1, 10)  # of a round's price
_FASTER = 4  # times the price when a table told less than its noise: half the noise


@dataclass(frozen=True, eq=False)
class Measured:
    """A table of counts under its noise, and the share of the whole price that it took."""

    candidate: Candidate
    share: Fraction
    mechanism: Gaussian
    counts: np.ndarray = field(repr=False)


@dataclass(frozen=True, eq=False)
class Rounds:
    """The rounds for a unit and a total of ρ-zCDP, with randomness from `rng`."""

    candidates: Sequence[Candidate]
    domain: Domain
    unit: PrivacyUnit
    rho: ZCDP
    rng: Entropy

    @property
    def singles(self) -> list[Candidate]:
        """The tables of one attribute, which are measured first."""
        return [candidate for candidate in self.candidates if len(candidate.names) == 1]

    @property
    def first_share(self) -> Fraction:
        """The share of ρ that the first rounds take: 1/(3·attributes)."""
        return Fraction(1, _ROUNDS * len(self.singles))

    def run(self, held: Held, variables: Variables, done: Callable[[float], object]) -> list[Measured]:
        """Return what was measured; `done` is told the share of ρ that was used."""
        measured = list(self._first(held))
        model = Model.of(variables, [_table(variables, one) for one in measured])
        share, left = self.first_share, 1 - sum((one.share for one in measured), Fraction())
        while left > 0:
            open_ones = self._open(model, measured, 1 - left + share)
            if not open_ones:
                break
            share = max(share, left / len(open_ones))  # each is measured once: no price stays unused
            share = left if left < 2 * share else share
            left -= share
            done(float(1 - left))
            chosen = self._chosen(held, model, open_ones, share)
            before = model.counts(chosen.names)
            measured.append(self._measure(held, chosen, share))
            model = model.added(_table(variables, measured[-1]))
            moved = float(np.abs(model.counts(chosen.names) - before).sum())
            share *= _FASTER if moved <= chosen.noise_size(self._part(share).rho) else 1
        return measured

    def _first(self, held: Held) -> Iterator[Measured]:
        """Measure the tables of one attribute: no choice is paid for."""
        for candidate in self.singles:
            one = self._measure(held, candidate, self.first_share)
            yield Measured(candidate, (1 - _CHOICE) * self.first_share, one.mechanism, one.counts)

    def _open(self, model: Model, measured: Sequence[Measured], used: Fraction) -> list[Candidate]:
        """Return the candidates that were not measured and whose model is not too large, by paid results alone."""
        known, limit = {one.candidate.names for one in measured}, MOST_CELLS * used
        new = (candidate for candidate in self.candidates if candidate.names not in known)
        return [candidate for candidate in new if model.n_cells_with(candidate.names) <= limit]

    def _chosen(self, held: Held, model: Model, candidates: Sequence[Candidate], share: Fraction) -> Candidate:
        body = LpBall(len(candidates), math.inf, most_moved(candidates))
        choice = Exponential.calibrate(body, share_of(self.rho, share * _CHOICE)).prepare(self.rng)
        rho = self._part(share).rho
        return candidates[held.worst([one.guess(model.counts(one.names), rho) for one in candidates], choice)]

    def _measure(self, held: Held, candidate: Candidate, share: Fraction) -> Measured:
        body = marginals(self.domain, candidate.names).sensitivity(self.unit)
        mechanism = Gaussian.calibrate(body, self._part(share))
        return Measured(candidate, share, mechanism, held.noisy(candidate.place, mechanism.prepare(self.rng)))

    def _part(self, share: Fraction) -> ZCDP:
        """Return what the noise of a round with this share keeps."""
        part = share_of(self.rho, share * (1 - _CHOICE))
        assert isinstance(part, ZCDP)
        return part


def _table(variables: Variables, one: Measured) -> CountTable:
    counts, variances = (part.reshape(one.candidate.shape) for part in (one.counts, one.mechanism.variances))
    return variables.table(one.candidate.names, counts.astype(float), variances)
