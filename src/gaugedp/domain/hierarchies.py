"""Nested attributes, such as regions, districts and tracts. One column of the table determines all levels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from gaugedp._internal.runs import fold
from gaugedp.domain.attributes import Attribute, Categories, categories
from gaugedp.errors import InvalidRequest


@dataclass(frozen=True)
class Level(Categories):
    """Level of a tree of areas, such as districts.

    One column of the table holds the `finest` areas, in the tree's order; area `code` of this level consists of
    neighbouring ones, from `starts[code]` on. So a row with a finest area has one area of every level, and a row
    without one has none. A level from a lookup table is `alone`: it is in no tree with others.
    """

    column: str = ""
    finest: tuple[str, ...] = ()
    starts: tuple[int, ...] = ()
    alone: bool = field(default=False, repr=False)

    @property
    def tree(self) -> str:
        """Column of the tree, or "" if there is none."""
        return "" if self.alone else self.column


@dataclass(frozen=True)
class Tree:
    """Nested attributes of one column, by name, coarsest first."""

    levels: Mapping[str, Level]


def tree(columns: Mapping[str, Sequence[str]], outside: str = "drop") -> Tree:
    """Describe nested attributes, such as regions and their districts.

    Use it to count rows at every level, for example by region and by district. The table needs a column for the finest
    level only, because the tree states in which region each district lies.

    Parameters
    ----------
    columns : mapping of str to sequence of str
        The levels, from the coarsest to the finest, as columns of equal length with one line per finest area. The last
        level has the name of the table's column and lists the values of that column without repetition.
    outside : {"drop", "other"}
        The rule for rows with any other value, at every level: leave the row out, or count it in an additional cell
        "other". Default "drop".

    Returns
    -------
    Tree
        The description of the column, which you pass to `gd.Domain.of` under the column's name.

    Raises
    ------
    InvalidRequest
        If there are fewer than two levels, lengths differ, a finest area is repeated, or areas are not nested.

    Examples
    --------
    Three districts lie in two regions, so there are two cells at the coarse level and three at the fine level:

    >>> import gaugedp as gd
    >>> areas = gd.tree({"region": ["N", "N", "S"], "district": ["N1", "N2", "S1"]})
    >>> domain = gd.Domain.of(district=areas)
    >>> domain.shape(["region"]), domain.shape(["district"])
    ((2,), (3,))
    """
    if not isinstance(columns, Mapping) or len(columns) < 2:
        raise InvalidRequest(
            "A tree of areas needs at least two levels, but fewer are given.",
            "Pass a column per level, the coarsest first.",
        )
    levels = {name: categories(texts, outside).values for name, texts in _distinct(columns).items()}
    n_lines = {name: len(texts) for name, texts in columns.items()}
    if len(set(n_lines.values())) > 1:
        raise InvalidRequest(
            f"All levels of a tree need the same number of entries, but they have {n_lines}.",
            "List one area of every level for each line.",
        )
    _check_nested(columns)
    order = [{text: place for place, text in enumerate(texts)} for texts in levels.values()]
    paths = sorted(
        zip(*columns.values(), strict=True),
        key=lambda path: [places[text] for places, text in zip(order, path, strict=True)],
    )
    finest = tuple(path[-1] for path in paths)
    places = enumerate(columns)
    return Tree({name: _level([*columns][-1], finest, [path[i] for path in paths], outside) for i, name in places})


def csv_lines(path: Path, what: str, remedy: str) -> list[list[str]]:
    """Return the header and the other lines of a CSV file that have any field."""
    import csv

    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return [line for line in csv.reader(file) if line] or [[]]
    except (OSError, UnicodeDecodeError, csv.Error):
        raise InvalidRequest(f"The {what} {path.name!r} cannot be read.", remedy) from None


def read_tree(path: Path, column: str, outside: str = "drop") -> Tree:
    """Return the nested attributes in a CSV file; see `tree`. The header names them, `column` last."""
    header, *areas = csv_lines(path, "tree", "Put a CSV file in the folder of the domain file.")
    if len(set(header)) < len(header) or column not in header[-1:]:
        raise InvalidRequest(
            f"The columns of {path.name!r} must name the levels of the tree, but they are: "
            f"{', '.join(header) or '(none)'}.",
            f"Name each level once, from the coarsest to the finest, which is {column}.",
        )
    for place, line in enumerate(areas, 1):
        if len(line) != len(header) or "" in line:
            raise InvalidRequest(
                f"Area {place} in {path.name!r} lacks a name at some level.", "Fill in an area for every level."
            )
    return tree({name: [line[i] for line in areas] for i, name in enumerate(header)}, outside)


def finest_of(categories: Categories) -> tuple[Sequence[str], Sequence[int]]:
    """Return the finest values, and the first one of each cell."""
    if isinstance(categories, Level):
        return categories.finest, categories.starts
    return categories.values, range(categories.n_inside)


def starts_in(coarse: Attribute, fine: Attribute) -> tuple[int, ...]:
    """Return each cell's first cell in a finer level."""
    if coarse is fine or not isinstance(coarse, Level) or not isinstance(fine, Level):
        return tuple(range(fine.n_cells))
    places = {start: code for code, start in enumerate(fine.starts)}
    other = (fine.n_inside,) * (coarse.n_cells - coarse.n_inside)
    return tuple(places[start] for start in coarse.starts) + other


def nesting(attributes: Mapping[str, Attribute]) -> dict[str, dict[str, Any]]:
    """Return the levels of trees as JSON-compatible data.

    It holds the table's column, and how many finest areas each cell has.
    """
    levels = {name: level for name, level in attributes.items() if isinstance(level, Level) and level.tree}
    return {
        name: {"column": level.column, "sizes": fold(np.diff([*level.starts, len(level.finest)]))}
        for name, level in levels.items()
    }


def summed(table: np.ndarray, starts: Sequence[Sequence[int]]) -> np.ndarray:
    """Add up runs of cells along the last axes. `starts` lists where the runs begin, for each of these axes."""
    for axis, begins in enumerate(starts, table.ndim - len(starts)):
        if len(begins) < table.shape[axis]:
            table = np.add.reduceat(table, begins, axis=axis)
    return table


def check_trees(attributes: Mapping[str, Attribute]) -> None:
    """Refuse attributes of one column that are not one tree."""
    by_column: dict[str, list[Attribute]] = {}
    for name, attribute in attributes.items():
        by_column.setdefault(attribute.tree or name, []).append(attribute)
    for column, levels in by_column.items():
        for coarse, fine in pairwise(sorted(levels, key=lambda level: level.n_cells)):
            if not _is_above(coarse, fine):
                raise InvalidRequest(
                    f"Two attributes read the column {column}, but are not levels of one tree.",
                    "Describe both with one gd.tree(…).",
                )


def _is_above(coarse: Attribute, fine: Attribute) -> bool:
    if not isinstance(coarse, Level) or not isinstance(fine, Level):
        return False
    is_alike = (coarse.finest, coarse.outside) == (fine.finest, fine.outside)
    return is_alike and set(coarse.starts) <= set(fine.starts)


def _distinct(columns: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """Return the texts of each level without repetition. Those of the finest level are returned unchanged."""
    *coarse, finest = columns
    unlisted = [name for name, texts in columns.items() if isinstance(texts, str) or not isinstance(texts, Sequence)]
    if unlisted:
        raise InvalidRequest(f"{unlisted[0]} is not a list of texts.", "List one area for every line in each level.")
    return {**{name: list(dict.fromkeys(columns[name])) for name in coarse}, finest: columns[finest]}


def _check_nested(columns: Mapping[str, Sequence[str]]) -> None:
    for (above, outer), (name, inner) in pairwise(columns.items()):
        lies_in: dict[str, str] = {}
        for area, text in zip(outer, inner, strict=True):
            if lies_in.setdefault(text, area) != area:
                raise InvalidRequest(
                    f"{name} {text!r} lies both in {above} {lies_in[text]!r} and in {area!r}.",
                    "Give each area a different name.",
                )


def _level(column: str, finest: tuple[str, ...], areas: list[str], outside: str) -> Level:
    starts, values = [0], []
    for area, same in groupby(areas):
        values.append(area)
        starts.append(starts[-1] + sum(1 for _ in same))
    return Level(tuple(values), outside, column, finest, tuple(starts[:-1]))
