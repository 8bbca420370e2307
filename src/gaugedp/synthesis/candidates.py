"""The tables of counts among which an adaptive release chooses: those asked for, and all that they sum up to."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from gaugedp.domain import PrivacyUnit
from gaugedp.errors import InvalidRequest
from gaugedp.queries.base import Query
from gaugedp.queries.builders import marginals
from gaugedp.queries.linear import Workload
from gaugedp.releasing import Guess
from gaugedp.synthesis.released import counts_cells

_SIXTEENTHS = 16
_MOST = 2.0**40  # of a count that is guessed: noise may be louder


@dataclass(frozen=True)
class Candidate:
    """A table of counts of `names`: where its answers lie among those of all, and how often it is asked for.

    `weight` counts the attributes that it shares with each table that was asked for. One unit moves its counts by at
    most `reach` in ℓ₁ and by `radius` in ℓ₂.
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
        """Return the expected ℓ₁ norm of normal noise for ρ-zCDP, to leading order."""
        return self.size * self.radius / math.sqrt(math.pi * rho)

    def guess(self, counts: np.ndarray, rho: float) -> Guess:
        """Return what the look compares with: expected counts, and what noise for ρ would put them off by."""
        sixteenths = np.rint(_SIXTEENTHS * np.clip(counts.ravel(), -_MOST, _MOST)).astype(np.int64)
        return Guess(self.place, sixteenths, round(_SIXTEENTHS * min(self.noise_size(rho), _MOST)), self.weight)


def candidates_of(query: Query, unit: PrivacyUnit) -> tuple[Workload, tuple[Candidate, ...]]:
    """Return the question for all candidates, those of one attribute first, and these.

    Refused: a question with terms that are no tables of counts, and one without attributes.
    """
    scopes = _wanted(query)
    sets = dict[frozenset[str], tuple[str, ...]]()
    for size in range(1, max(map(len, scopes)) + 1):
        for names in (part for term in scopes for part in combinations(term, size)):
            sets.setdefault(frozenset(names), names)
    everything = marginals(query.domain, *sets.values())
    candidates, start = list[Candidate](), 0
    for names, outline in zip(sets.values(), everything.outlines, strict=True):
        body = marginals(query.domain, names).sensitivity(unit)
        weight = sum(len(set(names) & set(term)) for term in scopes)
        place = slice(start, start + outline.size)
        candidates.append(Candidate(names, outline.shape, place, weight, body.radius(1), body.radius(2)))
        start += outline.size
    return everything, tuple(candidates)


def _wanted(query: Query) -> list[tuple[str, ...]]:
    """Return the attributes of each table that is asked for."""
    if query.linear is not None and query.linear.importance:
        raise InvalidRequest("The terms of the question have an importance.", "Leave it out: tables are chosen.")
    others = [outline.text for outline in query.outlines if not counts_cells(outline)]
    if others:
        raise InvalidRequest(f"{others[0]} is no table of counts.", "Ask for tables alone, such as SEX*AGE; SEX*EDU.")
    scopes = [outline.names for outline in query.outlines if outline.names]
    if not scopes:
        raise InvalidRequest("The question has no attributes.", "Ask for tables of counts, such as SEX*AGE; SEX*EDU.")
    return scopes


def most_moved(candidates: Sequence[Candidate]) -> float:
    """Return by how much one unit moves any score of `Held.worst`, at most."""
    return max(_SIXTEENTHS * candidate.weight * candidate.reach for candidate in candidates)
