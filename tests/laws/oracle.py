"""The answers to a query by plain Python and pandas, slowly: what a release without noise must be.

Rows are read cell by cell here, by the rules of docs/how-to/domain-file.md, and grouped by pandas. Nothing of the
library has a part in it but the names in a query and the public facts of a domain.
"""

import csv
import math
import re
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any

import numpy as np
import pandas as pd

import gaugedp as gd
from gaugedp._internal.names import parts, plain
from gaugedp.statistics import KINDS
from gaugedp.statistics.base import SQUARED
from tests.laws.worlds import PERSON, World
from tests.statistics.registry import CASES

_NUMBER = re.compile(r"[ \t\n\r\f]*[+-]?(([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|(?i:inf(inity)?))[ \t\n\r\f]*")
_DATE = re.compile(r"(\d{4})-(\d{2})(?:-(\d{2}))?")
_CALL = re.compile(r"([a-z]+)\s*\((.*?)\)(?:\s+by\s+(.+))?")
OUTSIDE = -1
QUANTILES = ("median", "quantiles")
TESTS = ("independence(", "test(")
DEFINITIONS = {KINDS[kind].word: case.define for kind, case in CASES.items() if KINDS[kind].moments}  # of values
SQUARED_WORDS = {kind.word for kind in KINDS.values() if kind.word and SQUARED in kind.moments}


# -- rows ------------------------------------------------------------------------------------------------


def number(value: Any) -> float:
    """Return a cell as a number; NaN where it is missing or none."""
    if isinstance(value, str):
        return float(value) if _NUMBER.fullmatch(value) else math.nan
    return math.nan if value is None else float(value)


def code(fact: Any, value: Any) -> int:
    """Return the place of a cell's value among the cells of an attribute that are not "other", or OUTSIDE."""
    if fact.borders:
        x, borders = number(value), np.asarray(fact.borders)
        if not borders[0] <= x <= borders[-1]:
            return OUTSIDE
        return min(int(np.searchsorted(borders, x, side="right")) - 1, fact.n_inside - 1)
    inside = [fact.label(place) for place in range(fact.n_inside)]
    if type(fact).__name__ == "Integers":
        x = number(value)
        text = str(int(x)) if math.isfinite(x) and x == int(x) else None
    elif type(fact).__name__ == "Dates":
        text = _date_label(value, fact.part)
    else:
        text = value
    return inside.index(text) if text in inside else OUTSIDE


def _date_label(value: Any, part: str) -> str | None:
    found = _DATE.fullmatch(value) if isinstance(value, str) else None
    if not found or (found[3] is None and part in ("day", "week")):
        return None
    try:
        day = date(int(found[1]), int(found[2]), int(found[3] or 1))
    except ValueError:
        return None
    year, week, _ = day.isocalendar()
    return {
        "day": f"{day:%Y-%m-%d}", "week": f"{year}-W{week:02}", "month": f"{day:%Y-%m}",
        "quarter": f"{day.year}-Q{(day.month + 2) // 3}", "year": f"{day:%Y}",
    }[part]  # fmt: skip


def clipped(fact: Any, value: Any) -> float:
    """Return the value of a bounded column in the table, clipped and rounded to steps, or NaN where it is dropped."""
    x, step = number(value), float(fact.step)
    if math.isnan(x) or x in [float(code) for code in fact.unknown]:
        return math.nan if fact.missing is None else float(fact.missing)
    x = min(max(x, float(fact.low)), float(fact.high))
    return math.copysign(math.floor(abs(x) / step + 0.5), x) * step


def frame(world: World) -> pd.DataFrame:
    """Return the codes of all attributes in the query and the values of its columns, of the rows that count.

    A row of nobody is left out, and one with a value that no cell of an attribute holds, unless "other" counts it.
    """
    rows = [row for row in world.rows if PERSON not in world.types or row[PERSON] is not None]
    table = {name: [_code(world, name, row) for row in rows] for name in attributes(world)}
    for name in {column for term in world.terms for column in _columns(term)}:
        table[f"value of {name}"] = [clipped(world.domain.columns[name], row[name]) for row in rows]
    made = pd.DataFrame(table, index=range(len(rows)))
    for name in attributes(world):
        fact = world.domain.attributes[name]
        if fact.outside == "other":
            made[name] = made[name].replace(OUTSIDE, fact.n_inside)
    return made[(made[list(attributes(world))] != OUTSIDE).all(axis=1)]


def _code(world: World, name: str, row: dict[str, Any]) -> int:
    if name in row:
        return code(world.domain.attributes[name], row[name])
    lines = next(lines for lines in map(_lines, world.files.values()) if name in lines[0])
    above = {line[-1]: line[lines[0].index(name)] for line in lines[1:]}
    return code(world.domain.attributes[name], above.get(row.get(lines[0][-1])))


def _lines(content: str) -> list[list[str]]:
    return list(csv.reader(content.splitlines()))


# -- terms -----------------------------------------------------------------------------------------------


def _call(term: str) -> tuple[str, list[str], list[str]]:
    """Return the word of a term, what is inside its brackets, and the names after by."""
    term = term.removesuffix(" without interval")
    bare = re.sub(r'"(?:[^"]|"")*"', lambda found: "q" * len(found[0]), term)
    found = _CALL.fullmatch(bare)
    if not found or "*" in bare[: found.start(2)] or ")" in found[2]:
        return "", [], []
    inside, after = term[found.start(2) : found.end(2)], term[found.start(3) : found.end(3)] if found[3] else ""
    return (
        found[1],
        parts(inside, ",") if found[1] in QUANTILES else [inside],
        [plain(name) for name in parts(after, "*")] if after else [],
    )


def _columns(term: str) -> list[str]:
    word, inside, _ = _call(term)
    return [plain(inside[0])] if word in (*DEFINITIONS, *QUANTILES) else []


def attributes(world: World) -> tuple[str, ...]:
    """Return the attributes that the query uses, in the order of their first use."""
    names: dict[str, None] = {}
    for term in world.terms:
        if term.startswith(TESTS):
            names.update(dict.fromkeys(gd.query(world.domain, term).attributes))
            continue
        word, inside, by = _call(term)
        for factor in [term] if not word and term != "count" else []:
            for part in parts(factor, "*"):
                inner = _call(part)
                names[plain(inner[1][0] if inner[0] else part)] = None
        if word and not _columns(term):
            names.update(dict.fromkeys(plain(name) for name in parts(inside[0], "*")))
        names.update(dict.fromkeys(by))
    return tuple(names)


def _cells(world: World, names: Sequence[str]) -> tuple[int, ...]:
    return tuple(world.domain.attributes[name].n_cells for name in names)


def counts(world: World, table: pd.DataFrame, names: Sequence[str]) -> np.ndarray:
    """Return the numbers of rows, an axis for each attribute."""
    made = np.zeros(_cells(world, names))
    if not names:
        return np.array(float(len(table)))
    for place, group in table.groupby(list(names)):
        made[place] = len(group)
    return made


def per_cell(world: World, table: pd.DataFrame, names: Sequence[str], of: Any) -> np.ndarray:
    """Return of(values) for the rows of each cell, NaN for none; flat, the last attribute fastest."""
    made = np.full(_cells(world, names), np.nan)
    groups = table.groupby(list(names)) if names else [((), table)]
    for place, group in groups:
        made[place] = of(group) if len(group) else np.nan
    return made.ravel()


def _runs(axis: int, word: str, numbers: np.ndarray) -> np.ndarray:
    before = np.cumsum(numbers, axis=axis)
    if word == "prefix":
        return before
    padded = np.insert(before, 0, 0, axis=axis)
    n = numbers.shape[axis]
    pairs = [(first, last) for first in range(n) for last in range(first, n)]
    return np.stack([padded.take(last + 1, axis) - padded.take(first, axis) for first, last in pairs], axis=axis)


def _of_cells(world: World, table: pd.DataFrame, factors: Sequence[str]) -> np.ndarray:
    names, words = [], []
    for factor in factors:
        word, inside, _ = _call(factor)
        names.append(plain(inside[0] if word else factor))
        words.append(word)
    numbers = counts(world, table, names)
    for axis, word in enumerate(words):
        numbers = _runs(axis, word, numbers) if word else numbers
    return numbers.ravel()


def _compared(kind: str, numbers: np.ndarray) -> np.ndarray:
    """Compare cells along the first axis; NaN where the count that is divided by is 0."""
    own = numbers[1:]
    other = numbers[:-1] if kind == "change" else np.broadcast_to(numbers[:1], own.shape)
    if kind == "difference":
        return (own - other).ravel()
    ratio = np.divide(own, other, out=np.full(own.shape, np.nan), where=other > 0)
    return {"ratio": ratio, "index": 100 * ratio, "change": 100 * (ratio - 1)}[kind].ravel()


def exact(world: World, table: pd.DataFrame, term: str) -> np.ndarray:
    """Return the answers of a term, NaN where any answer is as good: in cells without rows."""
    if term.startswith(TESTS):  # a p-value is no number of rows
        return np.full(gd.query(world.domain, term).n_answers, np.nan)
    word, inside, by = _call(term)
    if term == "count":
        return np.array([float(len(table))])
    if not word:
        return _of_cells(world, table, parts(term, "*"))
    if word in ("prefix", "ranges"):
        numbers = counts(world, table, [plain(inside[0]), *by])
        return _runs(0, word, numbers).ravel()
    if word == "share":
        names = [plain(name) for name in parts(inside[0], "*")]
        numbers = counts(world, table, [*names, *by])
        total = numbers.sum(axis=tuple(range(len(names))), keepdims=True)
        return np.divide(numbers, total, out=np.full(numbers.shape, np.nan), where=total > 0).ravel()
    if word in ("difference", "ratio", "index", "change"):
        return _compared(word, counts(world, table, [plain(inside[0]), *by]))
    column = f"value of {plain(inside[0])}"
    there = table[table[column].notna()]
    if word == "sum":
        return np.nan_to_num(per_cell(world, there, by, lambda group: group[column].sum()))
    return per_cell(world, there, by, lambda group: DEFINITIONS[word](group[column].to_numpy()))


def tolerance(world: World, term: str) -> float:
    """Return by how much an answer may differ: values are squared in whole steps, so roots are off by more."""
    if _call(term)[0] not in SQUARED_WORDS:
        return 1e-3
    fact = world.domain.columns[_columns(term)[0]]
    return 1e-3 * float(fact.high - fact.low) * (max(1.0, 1 / float(fact.low)) if fact.low > 0 else 1.0)


def quantile_faults(world: World, table: pd.DataFrame, term: str, values: np.ndarray) -> Iterator[str]:
    """Yield the quantiles that are none: too many rows lie below or above, by two rows or more.

    Ranks are compared in whole rows, and ends of intervals are aimed a row off, so that less is not seen.
    """
    word, inside, by = _call(term)
    column, fact = plain(inside[0]), world.domain.columns[plain(inside[0])]
    shares = [0.5] if word == "median" else sorted(float(share) for share in inside[1:] if "=" not in share)
    there = table[table[f"value of {column}"].notna()]
    shape = (*_cells(world, by), len(shares))
    for place in np.ndindex(shape):
        rows = there[(there[list(by)].to_numpy() == place[:-1]).all(axis=1)] if by else there
        own, answer, step = rows[f"value of {column}"].to_numpy(), values.reshape(shape)[place], float(fact.step)
        below, above = (own < answer - step / 2).sum(), (own > answer + step / 2).sum()
        share = shares[place[-1]]
        if below >= share * len(own) + 2 or above >= (1 - share) * len(own) + 2:
            yield f"{share} at {place}: {answer}, {below} below and {above} above of {len(own)}"
