"""What is aggregated over the rows of a table."""

from dataclasses import dataclass

from gaugedp.domain import Domain
from gaugedp.errors import InvalidRequest

MOST_VALUES = 10**7  # cells times values of a column that are counted one by one


@dataclass(frozen=True)
class Aggregate:
    """One number for every cell of `attributes`: the number of rows, or, of the rows that have a value in `column`,
    their number (`present`), the number at each value low … high of the column (`each`), or the sum of their centred
    values, in half steps.
    """

    attributes: tuple[str, ...]
    column: str | None = None
    present: bool = False
    each: bool = False


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
