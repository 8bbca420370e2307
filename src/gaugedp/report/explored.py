"""Plans of a query on a grid of ε and δ."""

import math
from dataclasses import dataclass
from typing import Any

from gaugedp._internal.numbers import exact
from gaugedp.domain.unit import PrivacyUnit
from gaugedp.queries.base import Query


@dataclass(frozen=True)
class Point:
    """Plan at one (ε, δ): errors, chosen mechanism, half-widths.

    `errors` and `exactness` are by mechanism. `terms` holds the half-width that a plan prints for each term.
    `lower_bounds` holds Plan.lower_bound and Plan.real_lower_bound at δ = 0, and (0, 0) otherwise.
    """

    epsilon: float
    delta: float
    errors: dict[str, float]
    exactness: dict[str, str]
    chosen: str
    terms: dict[str, float]
    lower_bounds: tuple[float, float]

    @property
    def error(self) -> float:
        """Expected error of the chosen mechanism."""
        return self.errors[self.chosen]

    def to_dict(self) -> dict[str, Any]:
        """Return the point as JSON; infinite half-widths become None."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "error": _finite(self.error),
            "terms": {text: _finite(width) for text, width in self.terms.items()},
            "chosen": self.chosen,
            "errors": {name: _finite(error) for name, error in self.errors.items()},
            "bounds": [bound or None for bound in self.lower_bounds],
        }


@dataclass(frozen=True)
class Explored:
    """Plans of a query around `start`, from public facts."""

    query: Query
    unit: PrivacyUnit
    start: tuple[float, float]
    epsilons: tuple[float, ...]
    points: tuple[Point, ...]
    in_rows: bool
    remarks: tuple[str, ...]

    @property
    def deltas(self) -> tuple[float, ...]:
        """Values of δ with computed points, in increasing order."""
        return tuple(sorted({point.delta for point in self.points}))

    @property
    def terms(self) -> tuple[str, ...]:
        """Texts of the query's terms."""
        return tuple(self.points[0].terms)

    @property
    def mechanisms(self) -> dict[str, str]:
        """Every candidate mechanism, with its exactness."""
        by_name: dict[str, set[str]] = {}
        for point in self.points:
            for name, kind in point.exactness.items():
                by_name.setdefault(name, set()).add(kind)
        return {name: " or ".join(sorted(kinds)) for name, kinds in by_name.items()}

    def curve(self, delta: float) -> list[Point]:
        """Return the points at one δ, by increasing ε."""
        return sorted((point for point in self.points if point.delta == delta), key=lambda point: point.epsilon)

    def counts(self) -> str:
        """Report how many values of ε were computed."""
        of_start, delta = len(self.curve(self.start[1])), self.start[1]
        at = f" at δ = {exact(delta)}" if delta else ""
        more = [f"{len(self.curve(other))} at δ = {exact(other)}" for other in self.deltas if other != delta]
        others = f" With another δ: {', '.join(more)}." if more else ""
        return f"{of_start} of {len(self.epsilons)} values of epsilon were computed{at}.{others}"

    def to_dict(self) -> dict[str, Any]:
        """Return what the page shows as JSON-compatible data. `points` are at the δ of `start`, `others` at other δ."""
        epsilon, delta = self.start
        others = (other for other in self.deltas if other != delta)
        return {
            "query": self.query.text,
            "start": {"epsilon": epsilon, "delta": delta},
            "values": len(self.epsilons),
            "terms": self.terms,
            "mechanisms": list(self.mechanisms),
            "in_rows": self.in_rows,
            "points": [point.to_dict() for point in self.curve(delta)],
            "others": [point.to_dict() for other in others for point in self.curve(other)],
        }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
