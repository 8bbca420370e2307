"""Private bounds of a table's column."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from gaugedp._internal.validate import decimal
from gaugedp._internal.version import __version__
from gaugedp.domain.attributes import MAX_STEPS, BoundedColumn, bounded
from gaugedp.domain.domain import Domain
from gaugedp.domain.unit import PrivacyUnit
from gaugedp.entropy import Entropy
from gaugedp.estimators.base import epsilon_and_delta
from gaugedp.estimators.bound_search import BoundSearch
from gaugedp.estimators.table_fit import Look, TableMeasurement, row_share
from gaugedp.guarantees import Guarantee
from gaugedp.releases.executing import PaidRows

FORMAT = "gaugedp-bounds-1"


@dataclass(frozen=True)
class TableBounds(TableMeasurement):
    """A private search for bounds of a numeric column.

    Bounds are multiples of `step`, and the guarantee `requested` is for one unit. Values are searched for within 2^40
    steps of 0, and rounded to steps.

    Theorem. A unit's rows are at most k steps of adding or removing one row. The search is calibrated for one row, at
    ε/k and the δ that k steps raise to the requested one: docs/theory/bound_search.md, docs/theory/table_models.md.
    """

    column: str
    step: float
    unit: PrivacyUnit
    requested: Guarantee

    @property
    def guarantee(self) -> Guarantee:
        """The requested guarantee."""
        return self.requested

    @property
    def domain(self) -> Domain:
        """Widest domain of the column, used to read it."""
        return Domain({}, {self.column: self._widest})

    @property
    def _widest(self) -> BoundedColumn:
        far = float(MAX_STEPS * decimal(self.step))
        return bounded(-far, far, self.step)

    @cached_property
    def _search(self) -> BoundSearch:
        size = self.unit.most_changes
        return BoundSearch.calibrate(1, row_share(self.guarantee, size, epsilon_and_delta(self.guarantee)[0]))

    @property
    def guarantee_of_parts(self) -> Guarantee:
        """Guarantee of the individual rounds."""
        return self._search.guarantee.group(self.unit.most_changes)

    def request(self) -> dict[str, Any]:
        """Return the request that a ledger records."""
        return {"bounds": self.column, "step": self.step, "asked": self.guarantee.to_dict()}

    def look(self, rng: Entropy) -> Look:
        """See `TableMeasurement`."""

        def look(rows: PaidRows) -> dict[str, Any]:
            _, steps = rows.lines(([], [self.column]), rng.bytes(16))
            values = (steps + self._widest.low_steps) * float(self.step)
            low, high = self._search.find(np.where(steps < 0, math.nan, values), rng)
            return self._facts(*self._on_steps(float(low[0]), float(high[0])))

        return look

    def _on_steps(self, low: float, high: float) -> tuple[Fraction, Fraction]:
        """Return distinct ends on steps, rounded outwards, within a domain's limits."""
        step = decimal(self.step)
        first = min(max(math.floor(Fraction(low) / step), -MAX_STEPS), MAX_STEPS - 1)
        last = min(max(math.ceil(Fraction(high) / step), first + 1), MAX_STEPS)
        return first * step, last * step

    def _facts(self, low: Fraction, high: Fraction) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "version": __version__,
            "column": self.column,
            "low": float(low),
            "high": float(high),
            "step": self.step,
            "is_widest": MAX_STEPS * decimal(self.step) in {-low, high},
            "guarantee": self.guarantee.to_dict(),
            "exactness": self._search.noise.exactness,
            "facts": {"unit": self.unit.to_dict(), "protects": str(self.unit), "rules": [*self.unit.rules]},
        }
