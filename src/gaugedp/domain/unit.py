"""Privacy unit: who is protected, and how neighbouring tables differ."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gaugedp._internal.validate import one_of, whole
from gaugedp.domain.toml import only_keys, read_toml
from gaugedp.errors import InvalidRequest


@dataclass(frozen=True)
class PrivacyUnit:
    """Privacy unit: who is protected.

    A guarantee limits how much the data of one unit can change the probability of any answer. Two tables that differ in
    the data of one unit are called *neighbours*. Choose the person as the unit if a person can have several rows,
    because otherwise only single rows are protected.

    Parameters
    ----------
    column : str, optional
        The column that identifies units, such as a person's number. All rows with the same value belong to one unit. By
        default each row is a unit.
    neighbours : {"add_remove", "replace"}
        How neighbouring tables differ. With "add_remove", the default, the rows of one unit are added or removed. With
        "replace", the rows of one unit change, and the number of units is public.
    max_rows : int
        The largest number of rows per unit that a query uses. Default 1.
    as_one : bool
        Whether all rows of a unit were aggregated to one row. `Domain.by_person` sets it. Default False.

    Examples
    --------
    Protect persons who have up to three rows each:

    >>> import gaugedp as gd
    >>> str(gd.PrivacyUnit("person_id", max_rows=3))
    'the rows of one person_id (at most 3), added or removed'
    """

    column: str | None = None
    neighbours: str = "add_remove"
    max_rows: int = 1
    as_one: bool = field(default=False, compare=False)  # set by `Domain.by_person`: the same people are protected

    def __post_init__(self) -> None:
        one_of(("add_remove", "replace"), neighbours=self.neighbours)
        whole(minimum=1, max_rows=self.max_rows)
        if self.column is not None and not (isinstance(self.column, str) and self.column):
            raise InvalidRequest(
                f"`column` is {self.column!r}, but must be the name of a column.",
                "Pass the name of the column that identifies persons, or None if each row is a unit.",
            )
        if self.column is None and self.max_rows != 1:
            raise InvalidRequest(
                f"`max_rows` limits the rows of a person and is {self.max_rows}, but no `column` identifies persons.",
                "Pass the name of this column as `column`.",
            )

    @property
    def most_changes(self) -> int:
        """Largest number of rows in which neighbouring tables differ."""
        return self.max_rows * (2 if self.neighbours == "replace" else 1)

    @classmethod
    def load(cls, path: str | Path) -> "PrivacyUnit":
        """Return the unit that a domain file specifies.

        Without one, each row is a unit.
        """
        return cls.of(read_toml(path).get("unit", {}))

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> "PrivacyUnit":
        """Return the unit that a mapping describes.

        The keys of the mapping are column, neighbours and max_rows.
        """
        is_made = isinstance(facts, Mapping) and "as_one" in facts
        only_keys("[unit]", facts, ("column", "neighbours", "max_rows", *["as_one"] * is_made))
        return cls(**facts)

    @property
    def rules(self) -> list[str]:
        """Rules for units with many rows and rows without unit."""
        if self.column is None:
            return []
        rows = "Only one row" if self.max_rows == 1 else f"At most {self.max_rows} rows"
        how = "drawn at random; answers and intervals describe the rows that count, not all rows."
        return [
            f"All rows of each {self.column} are aggregated into one row: each {self.column} counts once."
            if self.as_one
            else f"{rows} of each {self.column} {'counts' if self.max_rows == 1 else 'count'}, {how}",
            f"Rows whose {self.column} is missing are left out of every query.",
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as JSON-compatible data."""
        facts = {"column": self.column, "neighbours": self.neighbours, "max_rows": self.max_rows}
        return {**facts, "as_one": True} if self.as_one else facts

    def __str__(self) -> str:
        rows = "aggregated into one row" if self.as_one else f"at most {self.max_rows}"
        who = "one row" if self.column is None else f"the rows of one {self.column} ({rows})"
        return f"{who}, {'added or removed' if self.neighbours == 'add_remove' else 'replaced by others'}"
