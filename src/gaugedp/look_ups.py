"""Public tables that say more of a column: of each area its kind, of each product its group."""

import csv
from collections.abc import Mapping, Sequence
from itertools import accumulate, chain
from pathlib import Path

from gaugedp.attributes import categories
from gaugedp.errors import InvalidRequest
from gaugedp.trees import Level

_ONE_LINE = "Give a line for each key, with a text in each column."


def look_up(table: Mapping[str, Sequence[str]] | str | Path, on: str, outside: str = "drop") -> dict[str, Level]:
    """Return an attribute for each other column of a public table, told by the private table's column `on`.

    `table` is the path of a CSV file, or columns of texts of one length; its column `on` lists the values of the
    private table's column, each once. A row is in the cell that the table gives for its value. A row whose value is not
    listed is missing, and follows `outside`. So a row has the cell by its own value alone, and neighbours stay so
    (docs/theory/persons.md). Nothing is joined: engines read the cell off the column.

    Raises InvalidRequest for a key that is listed twice, for no other column, and for columns of unlike length.
    """
    if not isinstance(table, str | Path | Mapping):
        raise InvalidRequest(
            f"The public table is of type {type(table).__name__}.", "Give the path of a CSV file, or columns by name."
        )
    columns = _read(Path(table)) if isinstance(table, str | Path) else {name: list(table[name]) for name in table}
    if on not in columns or len(columns) < 2:
        raise InvalidRequest(
            f"The public table has the columns {', '.join(columns) or '(none)'}.", f"Name {on} and more."
        )
    if len({len(texts) for texts in columns.values()}) > 1:
        raise InvalidRequest("The columns of the public table have unlike lengths.", _ONE_LINE)
    if "" in (texts := [text for column in columns.values() for text in column]) or None in texts:
        raise InvalidRequest("The public table has an empty field.", _ONE_LINE)
    keys = categories(columns.pop(on)).values
    return {name: _attribute(on, keys, texts, outside) for name, texts in columns.items()}


def _attribute(on: str, keys: Sequence[str], texts: Sequence[str], outside: str) -> Level:
    """Return the texts as an attribute whose cells are told by `keys`, those of a cell standing together."""
    keys_of: dict[str, list[str]] = {}
    for text, key in zip(texts, keys, strict=True):
        keys_of.setdefault(text, []).append(key)
    starts = accumulate([0, *map(len, keys_of.values())][:-1])
    finest = tuple(chain.from_iterable(keys_of.values()))
    return Level(categories(list(keys_of), outside).values, outside, on, finest, tuple(starts), alone=True)


def _read(path: Path) -> dict[str, list[str]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = [line for line in csv.reader(file) if line]
    except (OSError, UnicodeDecodeError, csv.Error):
        raise InvalidRequest(
            f"The public table {path.name!r} cannot be read.", "Give the path of a CSV file."
        ) from None
    header, *rows = lines or [[]]
    if len(set(header)) < len(header) or any(len(row) != len(header) for row in rows):
        raise InvalidRequest(f"The lines of {path.name!r} do not fit its header.", _ONE_LINE)
    return {name: [row[i] for row in rows] for i, name in enumerate(header)}
