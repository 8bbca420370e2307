"""Draws of a mechanism's noise for statistics that are computed from several released values."""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from gaugedp.mechanisms.base import AdditiveNoise, Mechanism
from gaugedp.mechanisms.deviation_intervals import deviation_widths
from gaugedp.mechanisms.ratio_intervals import quotients
from gaugedp.mechanisms.share_intervals import comparison_widths, share_widths
from gaugedp.queries.base import Query
from gaugedp.queries.deviation_estimates import ENDS, MEANS, PLACES
from gaugedp.queries.estimates import (
    COMPARED,
    DEVIATIONS,
    OF_SHARES,
    QUOTIENTS,
    comparison_terms,
    deviation_terms,
    quotient_terms,
    share_terms,
)


class Widths(Protocol):
    """Widths at public places, from sorted draws."""

    def widths(self, level: float) -> np.ndarray | None:
        """Return them for a level, shape (answers, places); None where there are too few draws for it."""


@dataclass(frozen=True, eq=False)
class Trials:
    """The widths of means, shares, comparisons and standard deviations of a question under a mechanism."""

    query: Query
    mechanism: Mechanism

    def curves(self, level: float) -> dict[str, np.ndarray]:
        """Return the widths, each (answers of a kind, places), by kind: those that draws tell for all its answers."""
        curves: dict[str, np.ndarray] = {}
        for kind, parts in self.by_kind.items():
            widths = [None if part is None else part.widths(level) for part in parts]
            told_widths = [width for width in widths if width is not None]
            if len(told_widths) == len(parts):
                curves[kind] = np.vstack(told_widths)
        return curves

    @cached_property
    def by_kind(self) -> dict[str, list[Widths | None]]:
        """Return the trials of each kind, one for each part that has answers of it; None where draws are few."""
        pairs = zip(self.query.parts, self.mechanism.parts, strict=True)
        curves: dict[str, list[Widths | None]] = {}
        for part, noise in ((part, noise) for part, noise in pairs if isinstance(noise, AdditiveNoise)):
            terms, units = part.estimates, part.step_sizes
            widths: dict[str, Widths | None] = {
                QUOTIENTS: quotients(noise, units, quotient_terms(terms)),
                OF_SHARES: share_widths(noise, share_terms(terms)),
                COMPARED: comparison_widths(noise, comparison_terms(terms)),
                DEVIATIONS: deviation_widths(noise, units, deviation_terms(terms), (ENDS, MEANS, PLACES)),
            }
            for kind in {estimate.kind for estimate in terms} - {""}:
                curves.setdefault(kind, []).append(widths[kind])
        return curves
