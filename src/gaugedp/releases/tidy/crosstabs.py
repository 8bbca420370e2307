"""Cross tables of a release, with margins."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from gaugedp._internal.language import say
from gaugedp._internal.names import parts, plain
from gaugedp._internal.runs import whole_where_all_are
from gaugedp.domain.captions import Captions
from gaugedp.errors import InvalidRequest
from gaugedp.queries.outline import CELLS, COUNT, SUM, Axis, Outline
from gaugedp.releases.tidy.in_words import cell

Columns = dict[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Crosstabs:
    """Cross tables of a release: terms, numbers and captions.

    `may_add` allows margins that were not requested: for estimates, not for ends of intervals. With `in_words`, cells
    are written as on pages: "0 to under 20", "January 2017". Margins are answers only of the same of the `sets` of
    terms, by their texts: those of others need not add up.
    """

    terms: Sequence[Outline]
    numbers: np.ndarray
    captions: Captions
    may_add: bool
    in_words: bool = False
    sets: Mapping[str, int] = field(default_factory=dict)

    def table(self, names: str, value: str) -> Columns:
        """Return a table whose last attribute runs across."""
        return self.of(*self._term(names), value)

    def of(self, term: Outline, names_in_order: tuple[str, ...], value: str) -> Columns:
        """Return the table of a term, with its attributes in this order."""
        along, across = names_in_order[:-1], names_in_order[-1]
        words = {axis.name: [self._cell(axis, text) for text in axis.texts] for axis in term.axes}
        body, total, total_head = self._ordered(term, names_in_order), self._margin(term, ()), say("notes.total")
        if not along:
            ends = [] if total is None else [float(total)]
            lines: dict[str, Sequence[str] | np.ndarray] = {
                across: [*words[across], *[total_head] * len(ends)],
                value: np.array([*body, *ends]),
            }
        else:
            right, below = self._margin(term, along), self._margin(term, (across,)) if len(along) == 1 else None
            cells = product(*(words[name] for name in along))
            heads = {name: list(texts) for name, texts in zip(along, zip(*cells, strict=True), strict=True)}
            wide = dict(zip(words[across], body.reshape(-1, body.shape[-1]).T, strict=True))
            wide |= {} if right is None else {total_head: right.ravel()}
            if below is not None:
                last = [*below, *([] if right is None else [np.nan if total is None else float(total)])]
                heads = {name: [*texts, total_head] for name, texts in heads.items()}
                wide = {name: np.append(column, end) for (name, column), end in zip(wide.items(), last, strict=True)}
            lines = {**heads, **wide}
        return {
            self.captions.name(name) if name in names_in_order else name: _column(line) for name, line in lines.items()
        }

    def agree(self, term: Outline, other: Outline) -> bool:
        """Return True if one term may be a margin of the other."""
        return other.kind == term.kind and self.sets.get(other.text) == self.sets.get(term.text)

    def _cell(self, axis: Axis, text: str) -> str:
        return cell(axis, self.captions, text) if self.in_words else self.captions.cell(axis.name, text)

    def _margin(self, term: Outline, names: Sequence[str]) -> np.ndarray | None:
        for other in self.terms:
            if self.agree(term, other) and set(other.names) == set(names) and _is_of_cells(other):
                return self._ordered(other, names)
        if not self.may_add or term.measure not in (COUNT, SUM):
            return None
        table = self._ordered(term, [*names, *(name for name in term.names if name not in names)])
        return np.asarray(table.sum(axis=tuple(range(len(names), table.ndim))))

    def _ordered(self, term: Outline, names: Sequence[str]) -> np.ndarray:
        start = sum(other.size for other in self.terms[: self.terms.index(term)])
        table = self.numbers[start : start + term.size].reshape(term.shape)
        return table.transpose([term.names.index(name) for name in names])

    def _term(self, names: str) -> tuple[Outline, tuple[str, ...]]:
        tables = [term for term in self.terms if term.axes and _is_of_cells(term)]
        names_in_order = tuple(plain(part) for part in parts(names, "*")) if isinstance(names, str) else ()
        for term in tables:
            if term.text == names:
                return term, term.names
        for term in tables:
            if sorted(term.names) == sorted(names_in_order):
                return term, names_in_order
        texts = "; ".join(term.text for term in tables)
        what = f"Choose one of: {texts}." if texts else "This release has no table of cells."
        raise InvalidRequest(f"There is no table {names!r}.", what)


def _is_of_cells(term: Outline) -> bool:
    return all(axis.form == CELLS for axis in term.axes)


def _column(line: Sequence[str] | np.ndarray) -> np.ndarray:
    if isinstance(line, np.ndarray):
        return whole_where_all_are(line)
    return np.array(list(line), dtype=object)
