"""Lookup tables: public tables that classify the values of a column."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate, chain
from pathlib import Path

from gaugedp._internal.validate import decimal, is_finite
from gaugedp.domain.attributes import BoundedColumn, categories
from gaugedp.domain.hierarchies import Level, csv_lines
from gaugedp.errors import InvalidRequest, UnknownName

_ONE_LINE = "Write one line for each key, with a value in every column."


def look_up(
    table: Mapping[str, Sequence[str]] | str | Path, on: str, outside: str = "drop", **numbers: BoundedColumn
) -> dict[str, Level | BoundedColumn]:
    """Describe attributes by a public table that classifies a column.

    Use it to count rows by a property of a value, such as the sector of a product code. The public lookup table lists
    the property of each value. The privacy guarantee does not change, because the property of a row follows from the
    row's own value (docs/theory/persons.md).

    Parameters
    ----------
    table : mapping of str to sequence of str, or path
        The lookup table, either as columns of text of equal length or as the path of a CSV file.
    on : str
        The name of the column that both tables have. In the lookup table, its values must not repeat.
    outside : {"drop", "other"}
        The rule for rows whose value is not listed: leave the row out, or count it in an additional cell "other".
        Default "drop".
    **numbers : BoundedColumn
        Columns of the lookup table that are numbers, with their bounds, such as PRICE=gd.bounded(0, 100). The number is
        missing in rows whose value is not listed.

    Returns
    -------
    dict of str to attribute or bounded column
        One description for each column of the lookup table other than `on`. Pass them to `gd.Domain.of`.

    Raises
    ------
    InvalidRequest
        If a value of `on` is repeated, there is no other column, or the columns differ in length.

    Examples
    --------
    The private table has a column `place`. Count its rows by the kind of place, of which there are two:

    >>> import gaugedp as gd
    >>> kinds = gd.look_up({"place": ["a", "b", "c"], "kind": ["town", "city", "town"]}, on="place")
    >>> gd.Domain.of(**kinds).attribute("kind").labels
    ('town', 'city')
    """
    if not isinstance(table, str | Path | Mapping):
        raise InvalidRequest(
            f"The lookup table is of type {type(table).__name__}, which cannot be read.",
            "Pass the path of a CSV file, or a mapping from column names to values.",
        )
    columns = _read(Path(table)) if isinstance(table, str | Path) else {name: list(table[name]) for name in table}
    if on not in columns or len(columns) < 2:
        raise InvalidRequest(
            f"The lookup table must have the column {on} and at least one other, but its columns are: "
            f"{', '.join(columns) or '(none)'}.",
            f"Name the column of the keys {on}, and put the values in other columns.",
        )
    if len({len(texts) for texts in columns.values()}) > 1:
        raise InvalidRequest("The columns of the lookup table have different lengths.", _ONE_LINE)
    if "" in (texts := [text for column in columns.values() for text in column]) or None in texts:
        raise InvalidRequest("At least one field of the lookup table is empty.", _ONE_LINE)
    keys = categories(columns.pop(on)).values
    if unknown := [name for name in numbers if name not in columns]:
        raise UnknownName.among("column of the lookup table", unknown[0], columns)
    return {
        name: _number(name, on, keys, texts, numbers[name]) if name in numbers else _attribute(on, keys, texts, outside)
        for name, texts in columns.items()
    }


def _number(name: str, on: str, keys: Sequence[str], texts: Sequence[str], bounded: BoundedColumn) -> BoundedColumn:
    if bounded.unknown:
        raise InvalidRequest(
            f"The values of {name} come from a public lookup table, so `unknown` does not apply to them.",
            "Omit `unknown`, and remove lines with unknown values from the lookup table.",
        )
    steps = [_steps(name, text, bounded) for text in texts]
    return replace(bounded, column=on, by_key=tuple(zip(keys, steps, strict=True)))


def _steps(name: str, text: str, bounded: BoundedColumn) -> int:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not is_finite(number):
        raise InvalidRequest(
            f"{name} in the lookup table contains {text!r}, which is not a number.",
            "Pass a finite number for each key.",
        )
    clipped = min(max(decimal(number), bounded.low), bounded.high)
    return math.floor(clipped / bounded.step + Fraction(1, 2)) - bounded.low_steps


def _attribute(on: str, keys: Sequence[str], texts: Sequence[str], outside: str) -> Level:
    keys_of: dict[str, list[str]] = {}
    for text, key in zip(texts, keys, strict=True):
        keys_of.setdefault(text, []).append(key)
    starts = accumulate([0, *map(len, keys_of.values())][:-1])
    finest = tuple(chain.from_iterable(keys_of.values()))
    return Level(categories(list(keys_of), outside).values, outside, on, finest, tuple(starts), alone=True)


def _read(path: Path) -> dict[str, list[str]]:
    header, *rows = csv_lines(path, "lookup table", "Pass the path of a CSV file.")
    if len(set(header)) < len(header) or any(len(row) != len(header) for row in rows):
        raise InvalidRequest(f"At least one line of {path.name!r} has more or fewer fields than its header.", _ONE_LINE)
    return {name: [row[i] for row in rows] for i, name in enumerate(header)}
