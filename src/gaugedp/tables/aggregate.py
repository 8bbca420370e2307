"""The interface of a table to a query and its release: totals over its rows, and public facts about them."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gaugedp._internal.progress import Progress
from gaugedp.domain.domain import Domain, PrivacyUnit
from gaugedp.domain.hierarchies import summed
from gaugedp.errors import InvalidRequest

MOST_VALUES = 10**7  # cells times values of a column that are counted one by one
_FEW_CELLS = 2**20  # up to so many, cells of the finest levels are counted, and coarser ones added up


@dataclass(frozen=True)
class Aggregate:
    """One number for every cell of `attributes`: the number of rows, or, of the rows that have a value in `column`,
    their number (`present`), the number at each value low … high of the column (`each`), the sum of their centred
    values, in half steps, or that of the centred squares (`squared`): Σ (2·w² − C²), see `Coarse`.
    """

    attributes: tuple[str, ...]
    column: str | None = None
    present: bool = False
    each: bool = False
    squared: bool = False


@dataclass(frozen=True)
class Coarse:
    """Rounding of values for squares: k = 0 … span steps above the lower bound are w = 2·⌊(k + 2^bits/2)/2^bits⌋ − C.

    w runs from −C to C, with C = `reach` at most 2^24, so that squares fit a float; below a span of 2^24 it is
    2·k − span.
    """

    span: int

    @property
    def bits(self) -> int:
        """Return the number of binary digits of k that are rounded away."""
        return max(0, self.span.bit_length() - 24)  # bits of a squared value

    @property
    def reach(self) -> int:
        """C."""
        return (self.span + self.half) >> self.bits

    @property
    def half(self) -> int:
        """Return the number added to k before it is cut."""
        return (1 << self.bits) >> 1


class Rows(ABC):
    """Rows that have a domain and a privacy unit."""

    name: str
    domain: Domain
    unit: PrivacyUnit
    frame: str | None = None  # the library of the frame that they came in

    @property
    def rules(self) -> tuple[str, ...]:
        """Return the rules for rows that cannot be read, in sentences that do not depend on the rows."""
        return ()

    @property
    def can_resume(self) -> bool:
        """Return whether a look that was killed may be finished, because sums over finished parts are kept."""
        return False

    @abstractmethod
    def totals(self, totals: Sequence[Aggregate], row_key: bytes) -> list[np.ndarray]:
        """Look at the rows, once, and return each total as a flat array; see `Table.totals`."""

    def reporting(self, on_progress: Progress) -> "Rows":  # noqa: ARG002
        """Return the rows; where they are looked at in parts, `on_progress` is told the share that is done."""
        return self


def check_values(domain: Domain, total: Aggregate) -> None:
    """Refuse more values of a column than can be counted one by one, in all cells together."""
    if total.column is None:
        raise InvalidRequest("The values to count have no column.", "Name the bounded column.")
    bounded = domain.column(total.column)
    size = domain.n_cells(total.attributes) * (bounded.high_steps - bounded.low_steps + 1)
    if size > MOST_VALUES:
        raise InvalidRequest(
            f"{total.column} has {size:,} possible values, over all cells.",
            f"Choose a coarser step or fewer cells: at most {MOST_VALUES:,} can be told apart.",
        )


def finer(total: Aggregate, totals: Sequence[Aggregate], domain: Domain) -> Aggregate:
    """Return the total that `total` can be added up from: the finest that is asked too, or has few cells; or itself."""
    columns = [domain.tree(name) for name in total.attributes]
    if total.each or columns == list(total.attributes) or len(set(columns)) < len(columns):
        return total
    finest = {domain.tree(name): name for name in domain.finest(tuple(domain.attributes))}
    lowest = replace(total, attributes=tuple(finest[column] for column in columns))
    few = [lowest] if domain.n_cells(lowest.attributes) <= _FEW_CELLS else []
    options = [other for other in [total, *totals, *few] if _tells(other, total, domain)]
    return max(options, key=lambda option: domain.n_cells(option.attributes))


def added_up(total: Aggregate, cells: np.ndarray, finer: Aggregate, domain: Domain) -> np.ndarray:
    """Return `total` from the cells of a finer one, or its own."""
    if total == finer:
        return cells
    starts = [domain.starts(*pair) for pair in zip(total.attributes, finer.attributes, strict=True)]
    return summed(cells.reshape(domain.shape(finer.attributes)), starts).ravel()


def _tells(finer: Aggregate, total: Aggregate, domain: Domain) -> bool:
    """Return whether the cells of one total are sums of cells of the other, in the same order of attributes."""
    if replace(finer, attributes=()) != replace(total, attributes=()) or len(finer.attributes) != len(total.attributes):
        return False
    pairs = zip(total.attributes, finer.attributes, strict=True)
    return all(coarse in domain.levels(fine) for coarse, fine in pairs)
