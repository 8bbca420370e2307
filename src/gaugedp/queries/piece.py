"""Smallest part of a query: integers over one marginal."""

from dataclasses import dataclass
from fractions import Fraction

from gaugedp.queries.maps import CellMap


@dataclass(frozen=True)
class Piece:
    """Released integers of one kind over the cells of `attributes`.

    `cells` maps the totals of the cells. Each row adds `low` … `high` steps to its cell: 1 to count; its value in steps
    to sum a column; twice its distance from the middle of the bounds, in half steps, if `centred`; twice the square of
    that, minus the largest square, if `squared` (tables.aggregate.Coarse). A piece with a `column` describes the rows
    that have a value in it; `may_miss` means that others can exist.
    """

    attributes: tuple[str, ...]
    cells: CellMap
    column: str | None = None
    may_miss: bool = False
    centred: bool = False
    squared: bool = False
    low: int = 1
    high: int = 1
    step: Fraction = Fraction(1)

    @property
    def reach(self) -> int:
        """Largest contribution of a row to its cell, in steps."""
        return max(abs(self.low), abs(self.high))

    @property
    def choice(self) -> str | None:
        """Source of a row's steps: its column, or that squared."""
        return f"{self.column}²" if self.squared else self.column

    @property
    def counts(self) -> bool:
        """True if rows are counted, not summed."""
        return self.low == self.high == 1
