"""Interface of a table: totals and public facts."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gaugedp._internal.progress import Progress
from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.domain.hierarchies import summed
from gaugedp.errors import InvalidRequest
from gaugedp.tables.tuning import TUNED

MOST_VALUES = 10**7  # cells times values of a column that are counted separately


@dataclass(frozen=True)
class Aggregate:
    """One number for every cell of `attributes`.

    It is the number of rows, or, of the rows that have a value in `column`, their number (`present`), the number at
    each value low … high of the column (`each`), the sum of their centred values, in half steps, or that of the centred
    squares (`squared`): Σ (2·w² − C²), see `Coarse`. If `coarse`, the sum is that of the values that are squared, Σ w.
    With a power in `weighted`, each row counts as often as that power of its weight in the domain, in steps of it, and
    rows without a weight are left out. For a power of 2, sums are coarse.
    """

    attributes: tuple[str, ...]
    column: str | None = None
    present: bool = False
    each: bool = False
    squared: bool = False
    coarse: bool = False
    weighted: int = 0

    @property
    def is_rounded(self) -> bool:
        """True for sums of coarse values."""
        return not self.squared and (self.coarse or self.weighted == 2)


@dataclass(frozen=True)
class Coarse:
    """Rounding of values for squares.

    k = 0 … span steps above the lower bound become w = 2·⌊(k + 2^bits/2)/2^bits⌋ − C. w runs from −C to C, with C =
    `reach` at most 2^24, so that squares fit a float; below a span of 2^24 it is 2·k − span. With `heavy`, the largest
    weight of a row, or its square, C is smaller, and C² times that leaves room for noise.
    """

    span: int
    heavy: int = 1

    @property
    def bits(self) -> int:
        """Number of binary digits of k that are rounded away."""
        # 44: bits of a square times its weight, so that noise at ε above 0.01 fits 64 bits; 4: least bits of a value
        most = 24 if self.heavy == 1 else max(4, (44 - self.heavy.bit_length()) // 2)
        return max(0, self.span.bit_length() - most)

    @property
    def reach(self) -> int:
        """Largest value C of |w|."""
        return (self.span + self.half) >> self.bits

    @property
    def half(self) -> int:
        """Number added to k before truncation."""
        return (1 << self.bits) >> 1


class Rows(ABC):
    """Rows with a domain and a privacy unit."""

    name: str
    domain: Domain
    unit: PrivacyUnit
    frame: str | None = None  # library of the frame that they came in

    @property
    def rules(self) -> tuple[str, ...]:
        """Rules for unreadable rows, which do not depend on rows."""
        return ()

    @property
    def can_resume(self) -> bool:
        """True if a killed evaluation may resume from stored sums."""
        return False

    @abstractmethod
    def totals(self, totals: Sequence[Aggregate], row_key: bytes) -> list[np.ndarray]:
        """Read the rows once and return totals; see `Table.totals`."""

    def reporting(self, on_progress: Progress) -> "Rows":  # noqa: ARG002
        """Return the rows, reporting progress if read in parts."""
        return self


def check_values(domain: Domain, total: Aggregate) -> None:
    """Refuse too many values of a column over all cells."""
    if total.column is None:
        raise InvalidRequest("No column is given whose values are counted.", "Pass a bounded column.")
    bounded = domain.column(total.column)
    size = domain.n_cells(total.attributes) * (bounded.high_steps - bounded.low_steps + 1)
    if size > MOST_VALUES:
        raise InvalidRequest(
            f"{total.column} has {size:,} possible values over all cells, but at most {MOST_VALUES:,} are supported.",
            "Choose a coarser step, or fewer cells.",
        )


def finer(total: Aggregate, totals: Sequence[Aggregate], domain: Domain) -> Aggregate:
    """Return the finest available total that gives `total`."""
    columns = [domain.tree(name) for name in total.attributes]
    if total.each or columns == list(total.attributes) or len(set(columns)) < len(columns):
        return total
    finest = {domain.tree(name): name for name in domain.finest(tuple(domain.attributes))}
    lowest = replace(total, attributes=tuple(finest[column] for column in columns))
    few = [lowest] if domain.n_cells(lowest.attributes) <= TUNED.fine_cells else []
    options = [other for other in [total, *totals, *few] if _tells(other, total, domain)]
    return max(options, key=lambda option: domain.n_cells(option.attributes))


def added_up(total: Aggregate, cells: np.ndarray, finer: Aggregate, domain: Domain) -> np.ndarray:
    """Return `total` from the cells of a finer one."""
    if total == finer:
        return cells
    starts = [domain.starts(*pair) for pair in zip(total.attributes, finer.attributes, strict=True)]
    return summed(cells.reshape(domain.shape(finer.attributes)), starts).ravel()


def _tells(finer: Aggregate, total: Aggregate, domain: Domain) -> bool:
    if replace(finer, attributes=()) != replace(total, attributes=()) or len(finer.attributes) != len(total.attributes):
        return False
    pairs = zip(total.attributes, finer.attributes, strict=True)
    return all(coarse in domain.levels(fine) for coarse, fine in pairs)
