"""Public ids, and tables of (user, item) pairs."""

import math
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np

from gaugedp._internal.cells import as_they_are, cells_of, columns_of, entries_of, kind_of, row_of, shape_of_most
from gaugedp._internal.validate import whole
from gaugedp.errors import InvalidRequest

MOST_IDS = 2**21  # sums of products over this many users are exact
_FIRST_INEXACT = 2**53  # from here on floats cannot represent every integer


def read_columns(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return users and items, with each entry unchanged."""
    columns = columns_of(X)
    if columns is not None:
        _check_shape(X.shape)
        return _check_type(columns[0][1]), _check_type(columns[1][1])
    table = entries_of(X)
    if table.ndim == 1 and table.dtype.kind == "O":
        return _pairs(list(table))
    if table.shape == (0,):
        return np.zeros(0), np.zeros(0)
    _check_shape(table.shape)
    return _check_type(table[:, 0]), _check_type(table[:, 1])


def _pairs(entries: list[Any]) -> tuple[np.ndarray, np.ndarray]:
    _check_shape((len(entries), *shape_of_most(entries)[:1]) if entries else (0, 2))
    rows = [row_of(entry) for entry in entries]
    pairs = [(None, None) if row is None or len(row) != 2 else row for row in rows]
    return as_they_are(user for user, _ in pairs), as_they_are(item for _, item in pairs)


def _check_shape(shape: tuple[int, ...], *, most_rows: int = 2**28) -> None:  # sums over this many rows are exact
    if shape[1:] != (2,):
        raise InvalidRequest("X is not a table with two columns.", "Pass two columns, the user and the item.")
    if shape[0] > most_rows:
        raise InvalidRequest(f"X has more than {most_rows:,} rows.", "Fit the model to a sample of them.")


def _check_type(column: Any) -> np.ndarray:
    if kind_of(column) in "mMV":
        raise InvalidRequest("Dates and durations cannot be used as ids.", "Use numbers or text.")
    return cells_of(column)


def key(entry: Any) -> float | str | None:
    """Return the key of an id: a number, a stripped text, or None.

    A text that Python writes for a number (7, 7.0, 0.5, True) is that number. None is for missing or empty cells, NaN
    and infinity, numbers from 2^53 on (except as text of their digits), and anything that is neither text nor number.
    """
    if isinstance(entry, int | float):
        return _of_number(entry)
    if isinstance(entry, str | bytes | UUID):
        return _of_text(entry.decode(errors="backslashreplace") if isinstance(entry, bytes) else str(entry))
    if isinstance(entry, complex | np.complexfloating):
        return _of_number(float(entry.real)) if entry.imag == 0 else None
    if isinstance(entry, np.integer | np.bool_) and not isinstance(entry, np.timedelta64):
        return _of_number(int(entry))
    if isinstance(entry, np.floating) or (isinstance(entry, Decimal) and entry.is_finite()):
        return _of_number(float(entry))
    return None


def _of_number(number: float) -> float | None:
    return float(number) if abs(number) < _FIRST_INEXACT else None


def _of_text(written: str) -> float | str | None:
    text = written.strip().rstrip("\0")
    try:
        number = {"True": 1.0, "False": 0.0}[text] if text in ("True", "False") else float(text)
    except ValueError:
        return text or None
    if text in (repr(number), "True", "False"):
        return _of_number(number)
    return number if abs(number) < _FIRST_INEXACT and text == f"{number:.0f}" else text


def read_ids(column: np.ndarray) -> tuple[np.ndarray, dict[int, str]]:
    """Return numeric keys (n,), NaN for others, and texts by row.

    Every entry is read independently of the others. An array of numbers is converted to floats as a whole: below 2^53
    this changes no integer, and larger ones do not count.
    """
    kind = column.dtype.kind
    if kind == "c":
        column, kind = np.where(column.imag == 0, column.real, math.nan), "f"
    if kind in "biuf":
        with np.errstate(over="ignore"):
            numbers = column.astype(float)
        return np.where(np.abs(numbers) < _FIRST_INEXACT, numbers, math.nan), {}
    if kind not in "OUST":
        return np.full(len(column), math.nan), {}
    entries = column.tolist()
    texts = {entry: _of_text(entry) for entry in {entry for entry in entries if isinstance(entry, str)}}
    keys = [texts[entry] if isinstance(entry, str) else key(entry) for entry in entries]
    numbers = np.array([entry if isinstance(entry, float) else math.nan for entry in keys], dtype=float)
    return numbers, {row: entry for row, entry in enumerate(keys) if isinstance(entry, str)}


class Ids:
    """The public ids of users or items: a list, or 0 … n − 1.

    They are compared by `key` and sorted: numbers, then texts. `values` holds them as integers, else as numbers, else
    as text; the ids of a list with any text are all text.
    """

    def __init__(self, name: str, declared: Any) -> None:
        self.numbers, self.texts, is_text = _known(name, declared)
        if not 0 < len(self) <= MOST_IDS:
            raise InvalidRequest(
                f"`{name}` describes {len(self):,} ids, but must describe 1 to {MOST_IDS:,}.",
                "Pass a list of ids, or their number.",
            )
        self.values = _shown(self.numbers, self.texts, is_text)

    def __len__(self) -> int:
        return len(self.numbers) + len(self.texts)

    def places(self, column: np.ndarray) -> np.ndarray:
        """Return the index of each id, −1 if unknown."""
        numbers, texts = read_ids(column)
        places = np.full(len(column), -1)
        if len(self.numbers):
            nearest = np.minimum(np.searchsorted(self.numbers, numbers), len(self.numbers) - 1)
            places = np.where(self.numbers[nearest] == numbers, nearest, -1)
        place_of = {text: place for place, text in enumerate(self.texts, len(self.numbers))} if texts else {}
        for row, text in texts.items():
            places[row] = place_of.get(text, -1)
        return places


def same_ids(column: np.ndarray, identifier: Any) -> np.ndarray:
    """Return a mask of the ids that equal `identifier`."""
    target, (numbers, texts) = key(identifier), read_ids(column)
    matches: np.ndarray = numbers == target if isinstance(target, float) else np.zeros(len(column), dtype=bool)
    matches[[row for row, text in texts.items() if text == target]] = True
    return matches


def _known(name: str, declared: Any) -> tuple[np.ndarray, list[str], bool]:
    if declared is None:
        raise InvalidRequest(
            f"`{name}` is missing.",
            f"Specify `{name}` from public knowledge, never from the data: a list, or a number n for the ids 0 to n − "
            "1.",
        )
    if isinstance(declared, int | np.integer) and not isinstance(declared, bool):
        whole(minimum=1, **{name: declared})
        return np.arange(min(int(declared), MOST_IDS + 1), dtype=float), [], False
    listed = entries_of(declared)
    if listed.ndim != 1 or len(listed) == 0:
        raise InvalidRequest(f"`{name}` is not a list of ids.", "Pass a list, or a number n for the ids 0 to n − 1.")
    numbers, texts = read_ids(listed)
    if np.isnan(numbers).sum() > len(texts):
        raise InvalidRequest(
            f"An id in `{name}` must be a string or a number below 2^53, but one is not.",
            "Write larger integers as text.",
        )
    is_text = listed.dtype.kind not in "biuf" and any(isinstance(entry, str | bytes) for entry in listed.tolist())
    return np.unique(numbers[~np.isnan(numbers)]), sorted(set(texts.values())), is_text


def _shown(numbers: np.ndarray, texts: list[str], is_text: bool) -> np.ndarray:
    whole_ones = numbers.astype(np.int64)
    if not texts and not is_text:
        return whole_ones if (whole_ones == numbers).all() else numbers
    pairs = zip(whole_ones.tolist(), numbers.tolist(), strict=True)
    return np.array([str(truncated) if truncated == number else repr(number) for truncated, number in pairs] + texts)
