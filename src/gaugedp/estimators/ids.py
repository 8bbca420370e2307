"""Public lists of ids, and tables of (user, item) read against them."""

from typing import Any

import numpy as np

from gaugedp._validate import whole
from gaugedp.errors import InvalidRequest

MOST_IDS = 2**21  # so many users' sums of products are exact


def read_columns(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the two columns of X: users and items, as numbers or as text."""
    frame = hasattr(X, "iloc")
    shape = np.shape(X) if frame else np.shape(X := np.asarray(X))
    if shape == (0,):
        return np.zeros(0), np.zeros(0)
    if len(shape) != 2 or shape[1] != 2:
        raise InvalidRequest(f"X has shape {shape}.", "Give two columns: user and item.")
    first, second = (plain(X.iloc[:, place].to_numpy() if frame else X[:, place]) for place in (0, 1))
    return first, second


def plain(column: np.ndarray) -> np.ndarray:
    """Return numbers as they are; anything else as text, "" where it is missing."""
    if column.dtype.kind in "iuf":
        return column
    if column.dtype.kind in "bUS":
        return column.astype(str)
    missing = np.array([value is None or type(value).__name__ in ("NAType", "NaTType") for value in column], dtype=bool)
    text = np.array([str(value) for value in column], dtype=str)
    return np.where(missing | (text == "nan"), "", text)


class Ids:
    """The ids of users, or of items: a public list, the numbers 0 … n − 1, or those that occur in a table.

    Numbers are compared as numbers; where either side is text, both are compared as text.
    """

    def __init__(self, name: str, given: Any, column: np.ndarray) -> None:
        self.occurring = given is None
        self.values = _known(name, given, column)
        if not 0 < len(self.values) <= MOST_IDS:
            raise InvalidRequest(
                f"There are {len(self.values):,} {name}.",
                f"Give {name} as a list of 1 to {MOST_IDS:,} ids, or as a number.",
            )

    def __len__(self) -> int:
        return len(self.values)

    def places(self, column: np.ndarray) -> np.ndarray:
        """Return the index of each id, −1 where it is not one of these."""
        known = self.values
        if (known.dtype.kind == "U") != (column.dtype.kind == "U"):
            known, column = known.astype(str), column.astype(str)
        order = np.argsort(known, kind="stable")
        found = order[np.minimum(np.searchsorted(known, column, sorter=order), len(known) - 1)]
        places: np.ndarray = np.where(known[found] == column, found, -1)
        return places


def _known(name: str, given: Any, column: np.ndarray) -> np.ndarray:
    if given is None:
        is_there = column != "" if column.dtype.kind == "U" else np.isfinite(column.astype(float))
        return np.unique(column[is_there])
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        whole(minimum=1, **{name: given})
        return np.arange(min(int(given), MOST_IDS + 1))
    values = np.asarray(list(given) if hasattr(given, "__iter__") and not isinstance(given, str) else [])
    if values.ndim != 1 or len(values) == 0:
        raise InvalidRequest(f"{name} is not a list of ids.", f"Give {name} as a list, or as a number n for 0 … n − 1.")
    return np.unique(plain(values))
