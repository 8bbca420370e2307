"""Answers as a wide table: cells of the last attribute side by side, and margins."""

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from gaugedp._names import parts, plain
from gaugedp.errors import InvalidRequest
from gaugedp.queries.outline import CELLS, COUNT, SUM, Outline
from gaugedp.tidy import NUMBERS, Columns

if TYPE_CHECKING:
    from gaugedp.answer import Release

TOTAL = "total"


def crosstab(release: "Release", names: str, value: str, labels: bool) -> Columns:
    """Return the columns of the table, see `Release.table`."""
    numbers = release.number_columns()
    if value not in numbers:
        raise InvalidRequest(f"There is no column {value!r}.", f"Choose one of {', '.join(numbers)}.")
    term, wanted = _found(release.terms, names)
    shown = numbers[value]
    body = _ordered(release, shown, term, wanted)
    margins = Margins(release, shown, term, may_add=value in (NUMBERS[0], NUMBERS[-1]))
    along, across = wanted[:-1], wanted[-1]
    words = {axis.name: [_label(release, axis.name, text, labels) for text in axis.texts] for axis in term.axes}
    called = {name: release.captions.name(name) if labels else name for name in wanted}
    if not along:
        total = margins.of(())
        column = body if total is None else np.append(body, total)
        return {called[across]: _texts([*words[across], *[TOTAL] * (total is not None)]), value: column}
    rows = [np.array(column) for column in zip(*product(*(words[name] for name in along)), strict=True)]
    wide = body.reshape(-1, body.shape[-1])
    right, below, all_of_it = margins.of(along), margins.of((across,)), margins.of(())
    columns = {word: wide[:, place] for place, word in enumerate(words[across])}
    if right is not None:
        columns[TOTAL] = right.ravel()
    table: Columns = {called[name]: _texts(column.tolist()) for name, column in zip(along, rows, strict=True)}
    if below is None or len(along) > 1:
        return {**table, **columns}
    last = [*below, *([np.nan if all_of_it is None else float(all_of_it)] if right is not None else [])]
    heads = {name: _texts([*column, TOTAL]) for name, column in table.items()}
    return {
        **heads,
        **{name: np.append(column, end) for (name, column), end in zip(columns.items(), last, strict=True)},
    }


class Margins:
    """The answers over fewer attributes than a term has: as they were released, or added up."""

    def __init__(self, release: "Release", shown: np.ndarray, term: Outline, may_add: bool) -> None:
        self._release, self._shown, self._term = release, shown, term
        self._may_add = may_add and term.measure in (COUNT, SUM)

    def of(self, names: Sequence[str]) -> np.ndarray | None:
        """Return them for the cells of the named attributes, in this order; None where they are not known."""
        kept = set(names)
        for other in self._release.terms:
            same = (other.measure, other.column) == (self._term.measure, self._term.column)
            if same and set(other.names) == kept and _is_of_cells(other):
                return _ordered(self._release, self._shown, other, names)
        if not self._may_add:
            return None
        order = [*names, *(name for name in self._term.names if name not in kept)]
        table = _ordered(self._release, self._shown, self._term, order)
        return np.asarray(table.sum(axis=tuple(range(len(names), table.ndim))))


def _found(terms: Sequence[Outline], names: str) -> tuple[Outline, tuple[str, ...]]:
    """Return the term that is asked for, by its text or its attributes, and the attributes in the order asked for."""
    tables = [term for term in terms if term.axes and _is_of_cells(term)]
    wanted = tuple(plain(part) for part in parts(names, "*")) if isinstance(names, str) else ()
    for term in tables:
        if term.text == names:
            return term, term.names
    for term in tables:
        if sorted(term.names) == sorted(wanted):
            return term, wanted
    known = "; ".join(term.text for term in tables)
    raise InvalidRequest(
        f"There is no table {names!r}.", f"Choose one of: {known}." if known else "This release has no table of cells."
    )


def _is_of_cells(term: Outline) -> bool:
    return all(axis.form == CELLS for axis in term.axes)


def _ordered(release: "Release", shown: np.ndarray, term: Outline, names: Sequence[str]) -> np.ndarray:
    """Return the numbers of a term as an array with an axis for each name."""
    start = 0
    for other in release.terms:
        if other is term:
            break
        start += other.size
    table = shown[start : start + term.size].reshape(term.shape)
    return table.transpose([term.names.index(name) for name in names])


def _label(release: "Release", name: str, text: str, labels: bool) -> str:
    return release.captions.cell(name, text) if labels else text


def _texts(texts: Sequence[str]) -> np.ndarray:
    return np.array(list(texts), dtype=object)
