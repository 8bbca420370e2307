"""Reading of rows: missing values and their indicator columns."""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from gaugedp.errors import InvalidRequest
from gaugedp.estimators.feature_names import by_name
from gaugedp.estimators.rows import Box, as_read, into_box, read_bounds


@dataclass(frozen=True, eq=False)
class Reading:
    """Public rules for reading rows of `n_columns`.

    Rows are read by `as_read`, in `box` if there is one. A column is appended for each of `indicators`: 1 if a number
    of that column is missing, else 0.
    """

    n_columns: int
    box: Box | None = None
    indicators: tuple[int, ...] = ()
    names: np.ndarray | None = None

    @classmethod
    def of(cls, bounds: Any, names: np.ndarray | None, n_columns: int, indicator: Any) -> "Reading":
        """Return the reading; without `bounds` there is no indicator."""
        if bounds is not None:
            return cls.in_box(bounds, names, n_columns, indicator)
        if _columns(indicator, names, n_columns):
            raise InvalidRequest(
                "`missing_indicator` requires `bounds`.",
                "Specify bounds=(low, high): without them, a row with a missing number counts as all zeros.",
            )
        return cls(n_columns, names=names)

    @classmethod
    def in_box(cls, bounds: Any, names: np.ndarray | None, n_columns: int, indicator: Any) -> "Reading":
        """Return the reading within `bounds`; indicators have bounds 0 and 1."""
        indicators = _columns(indicator, names, n_columns)
        low, high = read_bounds("bounds", by_name("bounds", bounds, names), n_columns)
        more = np.zeros(len(indicators))
        return cls(n_columns, (np.append(low, more), np.append(high, more + 1)), indicators, names)

    @property
    def width(self) -> int:
        """Number of columns, with indicators."""
        return self.n_columns + len(self.indicators)

    def with_indicators(self, rows: np.ndarray) -> np.ndarray:
        """Return rows with their indicators (n, width), NaN kept."""
        return np.hstack([rows, np.isnan(rows[:, self.indicators])]) if self.indicators else rows

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Return rows (n, width) as a fit reads them."""
        return as_read(self.with_indicators(rows), self.box)

    def in_cube(self, rows: np.ndarray) -> np.ndarray:
        """Return rows (n, width) scaled to [−1, 1]."""
        assert self.box is not None
        return into_box(self.with_indicators(rows), *self.box)


def _columns(indicator: Any, names: np.ndarray | None, n_columns: int) -> tuple[int, ...]:
    if isinstance(indicator, bool | np.bool_):
        return tuple(range(n_columns if indicator else 0))
    if isinstance(indicator, str | bytes | Mapping | Set) or not isinstance(indicator, Iterable):
        raise InvalidRequest(
            "`missing_indicator` must be True, False or a list of columns.",
            "Pass True to mark missing values in all columns, or name some of them.",
        )
    place_of = {name: place for place, name in enumerate([] if names is None else names.tolist())}
    places = [place_of.get(column) if isinstance(column, str) else _place(column, n_columns) for column in indicator]
    if None in places or len(set(places)) < len(places):
        raise InvalidRequest(
            "`missing_indicator` must name columns of X, each once, but at least one name is unknown or repeated.",
            f"Use positions from 0 to {n_columns - 1}, or column names if X is a data frame.",
        )
    return tuple(place for place in places if place is not None)


def _place(column: Any, n_columns: int) -> int | None:
    is_place = isinstance(column, int | np.integer) and not isinstance(column, bool) and 0 <= column < n_columns
    return int(column) if is_place else None
