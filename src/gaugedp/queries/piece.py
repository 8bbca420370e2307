"""Smallest part of a query: integers over one marginal."""

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from gaugedp.queries.maps import CellMap
from gaugedp.statistics.base import Part


class RowWeight(NamedTuple):
    """Power of the weight of a row: its column, and the least and the largest number of steps that it counts."""

    column: str
    light: int
    heavy: int
    power: int = 1


@dataclass(frozen=True)
class Piece:
    """Released integers of one kind over the cells of `attributes`.

    `cells` maps the totals of the cells. Each row adds `low` … `high` steps to its cell: 1 to count; its value in steps
    to sum a column; twice its distance from the middle of the bounds, in half steps, if `centred`, and rounded as for
    squares if `coarse`; twice the square of that, minus the largest square, if `squared` (tables.aggregate.Coarse). It
    adds a `part` of `high` steps to a piece with one (statistics.base.Part). Another piece with a `column` describes
    the rows that have a value in it; `may_miss` means that others can exist. With a `weight`, all this is multiplied by
    the steps of the row's weight.
    """

    attributes: tuple[str, ...]
    cells: CellMap
    column: str | None = None
    may_miss: bool = False
    centred: bool = False
    squared: bool = False
    coarse: bool = False
    part: Part | None = None
    low: int = 1
    high: int = 1
    step: Fraction = Fraction(1)
    weight: RowWeight | None = None

    @property
    def ends(self) -> tuple[int, int]:
        """Least and largest contribution of a row to its cell, in steps."""
        weights = (1,) if self.weight is None else (self.weight.light, self.weight.heavy)
        products = [weight * value for weight in weights for value in (self.low, self.high)]
        return min(products), max(products)

    @property
    def reach(self) -> int:
        """Largest size of a contribution of a row to its cell, in steps."""
        return max(map(abs, self.ends))

    @property
    def choice(self) -> str | None:
        """Source of a row's steps: its column, that rounded or squared, or the part to which it adds.

        Rounded values are no multiple of exact ones, so that a row moves them by themselves.
        """
        if self.part:
            return f"{self.column} {self.part.degree}"
        return f"{self.column}{'²' if self.squared else '≈' if self.coarse else ''}" if self.column else None

    @property
    def contributions(self) -> tuple[int, ...]:
        """Contributions under each choice, without weights: both bounds, or the parts, and last without a value."""
        if self.part:
            return tuple(self.high * (place == self.part.place) for place in range(self.part.degree + 2))
        return self.low, self.high, 0

    @property
    def counts(self) -> bool:
        """True if rows are counted, not weighted or summed."""
        return self.weight is None and not self.sums

    @property
    def sums(self) -> bool:
        """True if values of a column are summed."""
        return not self.low == self.high == 1
