"""Answers as a wide table: cells of the last attribute side by side, and margins."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from gaugedp._names import parts, plain
from gaugedp._runs import whole_where_all_are
from gaugedp.captions import Captions
from gaugedp.errors import InvalidRequest
from gaugedp.queries.outline import CELLS, COUNT, SUM, Outline
from gaugedp.tidy.columns import Columns

TOTAL = "total"


@dataclass(frozen=True, eq=False)
class Crosstabs:
    """The tables of a release: its `terms`, one number an answer, and what people read in place of names.

    `may_add` says whether margins that were not asked for may be added up: of estimates, not of ends of intervals.
    """

    terms: Sequence[Outline]
    numbers: np.ndarray
    captions: Captions
    may_add: bool

    def table(self, names: str, value: str) -> Columns:
        """Return the columns of a table: a line a cell of all but the last attribute, a column a cell of the last."""
        term, wanted = self._found(names)
        along, across = wanted[:-1], wanted[-1]
        words = {axis.name: [self.captions.cell(axis.name, text) for text in axis.texts] for axis in term.axes}
        body, total = self._ordered(term, wanted), self._margin(term, ())
        if not along:
            ends = [] if total is None else [float(total)]
            lines: dict[str, Sequence[str] | np.ndarray] = {
                across: [*words[across], *[TOTAL] * len(ends)],
                value: np.array([*body, *ends]),
            }
        else:
            right, below = self._margin(term, along), self._margin(term, (across,)) if len(along) == 1 else None
            cells = product(*(words[name] for name in along))
            heads = {name: list(texts) for name, texts in zip(along, zip(*cells, strict=True), strict=True)}
            wide = dict(zip(words[across], body.reshape(-1, body.shape[-1]).T, strict=True))
            wide |= {} if right is None else {TOTAL: right.ravel()}
            if below is not None:
                last = [*below, *([] if right is None else [np.nan if total is None else float(total)])]
                heads = {name: [*texts, TOTAL] for name, texts in heads.items()}
                wide = {name: np.append(column, end) for (name, column), end in zip(wide.items(), last, strict=True)}
            lines = {**heads, **wide}
        return {self.captions.name(name) if name in wanted else name: _column(line) for name, line in lines.items()}

    def _margin(self, term: Outline, names: Sequence[str]) -> np.ndarray | None:
        """Return the answers for the cells of fewer attributes, released or added up; None where they are not known."""
        for other in self.terms:
            same = (other.measure, other.column) == (term.measure, term.column)
            if same and set(other.names) == set(names) and _is_of_cells(other):
                return self._ordered(other, names)
        if not self.may_add or term.measure not in (COUNT, SUM):
            return None
        table = self._ordered(term, [*names, *(name for name in term.names if name not in names)])
        return np.asarray(table.sum(axis=tuple(range(len(names), table.ndim))))

    def _ordered(self, term: Outline, names: Sequence[str]) -> np.ndarray:
        """Return the numbers of a term as an array with an axis for each name."""
        start = sum(other.size for other in self.terms[: self.terms.index(term)])
        table = self.numbers[start : start + term.size].reshape(term.shape)
        return table.transpose([term.names.index(name) for name in names])

    def _found(self, names: str) -> tuple[Outline, tuple[str, ...]]:
        """Return the term that is asked for, by its text or its attributes, and these in the order asked for."""
        tables = [term for term in self.terms if term.axes and _is_of_cells(term)]
        wanted = tuple(plain(part) for part in parts(names, "*")) if isinstance(names, str) else ()
        for term in tables:
            if term.text == names:
                return term, term.names
        for term in tables:
            if sorted(term.names) == sorted(wanted):
                return term, wanted
        known = "; ".join(term.text for term in tables)
        what = f"Choose one of: {known}." if known else "This release has no table of cells."
        raise InvalidRequest(f"There is no table {names!r}.", what)


def _is_of_cells(term: Outline) -> bool:
    return all(axis.form == CELLS for axis in term.axes)


def _column(line: Sequence[str] | np.ndarray) -> np.ndarray:
    if isinstance(line, np.ndarray):
        return whole_where_all_are(line)
    return np.array(list(line), dtype=object)
