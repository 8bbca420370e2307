"""What is asked of a table."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Total:
    """One total for every cell of `attributes`: the number of rows, or, of the rows that have a value in `column`,
    their number (`present`) or the sum of their centred values, in half steps.
    """

    attributes: tuple[str, ...]
    column: str | None = None
    present: bool = False
