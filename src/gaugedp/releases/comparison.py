"""Expected errors of all mechanisms at several guarantees, without data."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gaugedp._internal.displays import drawing, drawn_by
from gaugedp._internal.numbers import readable
from gaugedp.domain.unit import PrivacyUnit
from gaugedp.errors import InvalidRequest
from gaugedp.queries.base import Query
from gaugedp.releases.planning import Plan, plan

EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


@dataclass(frozen=True, repr=False)
class Comparison:
    """Expected errors of a query's mechanisms at several ε.

    `gd.compare` returns it. Print it as a table, or draw it with `save_svg`, to see how much accuracy a larger ε buys.
    """

    plans: tuple[Plan, ...]

    _repr_html_ = drawn_by("comparison")

    def curves(self) -> dict[str, list[tuple[float, float]]]:
        """Return the points (ε, expected error) of every candidate mechanism."""
        names = dict.fromkeys(candidate.mechanism.name for plan in self.plans for candidate in plan.candidates)
        return {
            name: [
                (plan.epsilon, candidate.error)
                for plan in self.plans
                for candidate in plan.candidates
                if str(candidate.mechanism.name) == name
            ]
            for name in names
        }

    def lower_bound(self) -> list[tuple[float, float]]:
        """Return the points (ε, lower bound), where one is known."""
        return [(plan.epsilon, float(plan.lower_bound)) for plan in self.plans if plan.lower_bound > 0]

    def table(self) -> list[dict[str, Any]]:
        """Return one row per ε with each mechanism's expected error.

        The columns are "epsilon", each mechanism's name (None where it does not apply), "lower_bound" (0 where none is
        known) and "chosen".
        """
        curves, bounds = self.curves(), dict(self.lower_bound())
        return [
            {
                "epsilon": plan.epsilon,
                **{name: dict(points).get(plan.epsilon) for name, points in curves.items()},
                **({"lower_bound": bounds.get(plan.epsilon, 0.0)} if bounds else {}),
                "chosen": plan.mechanism.name,
            }
            for plan in self.plans
        ]

    def __repr__(self) -> str:
        rows = [[_shown(value) for value in row.values()] for row in self.table()]
        cells = [list(self.table()[0]), *rows]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in cells
        ]
        return "\n".join([f"Expected errors for {self.plans[0].query.text}", *lines])

    def to_svg(self) -> str:
        """Return a plot of error against ε as SVG.

        It needs the extra `report`.
        """
        return str(drawing("error_curves")(self.curves(), self.lower_bound(), self.plans[0].query.text))

    def save_svg(self, path: str | Path) -> None:
        """Write `to_svg` to a file."""
        Path(path).write_text(self.to_svg(), encoding="utf-8")


def compare(
    query: Query, unit: PrivacyUnit, epsilons: Iterable[float] = EPSILONS, delta: float | None = None
) -> Comparison:
    """Compare the expected errors of a query at several ε.

    Use it to choose ε before a release: it shows how much more accurate the answers become with a larger ε. No data is
    read, and no budget is spent.

    Parameters
    ----------
    query : Query
        The query to plan.
    unit : PrivacyUnit
        Who is protected, such as one row or one person.
    epsilons : iterable of float
        The values of ε to compare. By default they are 0.1, 0.2, 0.5, 1, 2 and 5.
    delta : float, optional
        The δ of all plans. The default is 0, which is pure differential privacy.

    Returns
    -------
    Comparison
        One plan for each ε. Its method `table` lists, for each mechanism, the expected ℓ₂ norm of the errors of all
        answers.

    Examples
    --------
    With twice the ε, the expected error of Laplace noise is about half as large:

    >>> import gaugedp as gd
    >>> domain = gd.Domain.of(sex=["1", "2"])
    >>> comparison = gd.compare(gd.query(domain, "sex"), gd.PrivacyUnit(), epsilons=[0.5, 1.0])
    >>> [(row["epsilon"], round(row["Laplace"], 2)) for row in comparison.table()]
    [(0.5, 3.18), (1.0, 1.47)]
    """
    in_order = sorted(set(epsilons))
    if not in_order:
        raise InvalidRequest("`epsilons` is empty.", "Pass at least one epsilon.")
    return Comparison(tuple(plan(query, unit, epsilon=epsilon, delta=delta) for epsilon in in_order))


def _shown(value: Any) -> str:
    return "" if value is None else readable(value) if isinstance(value, float | int) else str(value)
