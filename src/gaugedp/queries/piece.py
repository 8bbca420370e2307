"""The smallest part of a question: integers of one kind over the cells of one marginal."""

from dataclasses import dataclass
from fractions import Fraction

from gaugedp.queries.maps import CellMap


@dataclass(frozen=True)
class Piece:
    """Released integers of one kind: a map of the totals over the cells of `attributes`.

    Each row adds `low` … `high` steps to its cell: 1 to count; its value in steps to sum a column; twice its distance
    from the middle of the bounds, in half steps, where `centred`; twice the square of that, less the largest square,
    where `squared` (tables.aggregate.Coarse). A piece with a `column` speaks of the rows that have a value in it;
    `may_miss` says that others can exist.
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
        """The most that one row adds to its cell, in steps."""
        return max(abs(self.low), abs(self.high))

    @property
    def choice(self) -> str | None:
        """Return the choice of the number of steps: the value in the column, or its square, taken as one of its own."""
        return f"{self.column}²" if self.squared else self.column

    @property
    def counts(self) -> bool:
        """Return whether rows are counted, not summed."""
        return self.low == self.high == 1
