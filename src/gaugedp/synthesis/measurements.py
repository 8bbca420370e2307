"""Variables and tables of counts in releases."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from gaugedp._internal.runs import unfold
from gaugedp.domain.hierarchies import summed
from gaugedp.errors import InvalidRequest
from gaugedp.queries.outline import CELLS, COUNT, Axis, Outline
from gaugedp.releases.answer import Release
from gaugedp.statistics.base import split, split_answers
from gaugedp.synthesis.counts import CountTable
from gaugedp.synthesis.junction_tree import JunctionTree, Scope, spread

MOST_CELLS = 10_000_000  # of all cliques: some seconds a step, and 1 GB


@dataclass(frozen=True)
class SourceLevel:
    """An attribute of the rows, and where its cells start in its `source`."""

    axis: Axis
    source: str
    starts: tuple[int, ...]

    @classmethod
    def of(cls, axis: Axis, nested: Mapping[str, Mapping[str, object]]) -> "SourceLevel":
        """Return an axis's attribute; `nested` describes levels of trees."""
        if axis.name not in nested:
            return cls(axis, axis.name, tuple(range(len(axis.texts))))
        facts = nested[axis.name]
        ends = np.cumsum(unfold(facts["sizes"]).astype(int)).tolist()
        return cls(axis, str(facts["column"]), (0, *ends[:-1]))

    def starts_in(self, finest: "SourceLevel") -> tuple[int, ...]:
        """Return where its cells start in the finest level, other values last."""
        places = {start: place for place, start in enumerate(finest.starts)}
        if not set(self.starts) <= places.keys():
            raise InvalidRequest(
                f"{self.axis.name} and {finest.axis.name} belong to different trees.",
                "Use releases of the same domain.",
            )
        starts = [places[start] for start in self.starts]
        n_other = len(self.axis.texts) - len(self.starts)
        return (*starts, *range(len(finest.axis.texts) - n_other, len(finest.axis.texts)))


@dataclass(frozen=True)
class ModelVariables:
    """The attributes of count tables, and the finest of each source, whose cells make rows."""

    levels: Mapping[str, SourceLevel]
    finest: tuple[str, ...]
    impossible: tuple[Mapping[str, Sequence[str]], ...] = ()

    @classmethod
    def of(
        cls, levels: Iterable[SourceLevel], impossible: Iterable[Mapping[str, Sequence[str]]] = ()
    ) -> "ModelVariables":
        """Return the variables of levels, and their structural zeros.

        Levels may be named more than once. Refused: a level that has other cells than before.
        """
        by_name = dict[str, SourceLevel]()
        for level in levels:
            _check_same(by_name.setdefault(level.axis.name, level), level)
        ordered = sorted(by_name, key=lambda name: len(by_name[name].axis.texts))
        last = {by_name[name].source: name for name in ordered}
        finest = tuple(name for name in by_name if last[by_name[name].source] == name)
        return cls(by_name, finest, tuple(each for each in impossible if each.keys() <= by_name.keys()))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of cells of each variable."""
        return tuple(len(self.levels[name].axis.texts) for name in self.finest)

    def cells_of(self, name: str, cells: np.ndarray) -> np.ndarray:
        """Return an attribute's cell in each row of `cells`."""
        place, starts = self._within(name)
        return np.searchsorted(starts, cells[:, place], side="right") - 1

    def scope(self, names: Sequence[str]) -> Scope:
        """Return the variables of attributes, in order."""
        return tuple(sorted(self._within(name)[0] for name in names))

    def tree(self, scopes: Iterable[Scope]) -> JunctionTree:
        """Return a junction tree for the scopes and structural zeros."""
        cells = dict[Scope, np.ndarray]()
        for combination in self.impossible:
            within = self._cells(combination)
            scope = tuple(sorted(within))
            check_size(math.prod(self.sizes[place] for place in scope))
            together = reduce(np.logical_and, (spread(within[place], (place,), scope) for place in scope))
            cells[scope] = np.logical_or(cells.get(scope, False), together)
        return JunctionTree.of(self.sizes, scopes, cells)

    def check_possible(self) -> None:
        """Refuse structural zeros that leave no row, or too many cells."""
        tree = self.tree(())
        check_size(tree.n_cells)
        if not tree.has_rows:
            raise InvalidRequest("The structural zeros exclude every possible row.", "Omit at least one of them.")

    def _cells(self, combination: Mapping[str, Sequence[str]]) -> dict[int, np.ndarray]:
        within = dict[int, np.ndarray]()
        for name, named in combination.items():
            place, starts = self._within(name)
            marks = np.isin(list(self.levels[name].axis.texts), list(named))
            of_each = np.repeat(marks, np.diff([*starts, self.sizes[place]]))
            within[place] = np.logical_and(within.get(place, True), of_each)
        return within

    def table(self, names: Sequence[str], values: np.ndarray, variances: np.ndarray) -> CountTable:
        """Return counts of attributes as counts over variables."""
        order, starts = self._order(names), [self._within(name)[1] for name in names]
        in_order = tuple(starts[axis] for axis in order)
        return CountTable(self.scope(names), in_order, values.transpose(order), variances.transpose(order))

    def counts(self, names: Sequence[str], table: np.ndarray) -> np.ndarray:
        """Return counts of attributes from a table over their scope."""
        order = self._order(names)
        return summed(table, [self._within(names[axis])[1] for axis in order]).transpose(np.argsort(order))

    def _order(self, names: Sequence[str]) -> list[int]:
        return sorted(range(len(names)), key=lambda axis: self._within(names[axis])[0])

    def _within(self, name: str) -> tuple[int, tuple[int, ...]]:
        level = self.levels[name]
        place = next(i for i, other in enumerate(self.finest) if self.levels[other].source == level.source)
        return place, level.starts_in(self.levels[self.finest[place]])


@dataclass(frozen=True)
class Released:
    """The input of synthetic rows: variables and tables of counts."""

    variables: ModelVariables
    tables: tuple[CountTable, ...]

    @classmethod
    def of(cls, releases: Sequence[Release]) -> "Released":
        """Return the input from releases with counts that fit together."""
        _check_alike(releases)
        impossible = {repr(each): each for release in releases for each in release.facts.get("impossible", [])}
        levels = (level for release in releases for level in _levels(release))
        variables = ModelVariables.of(levels, impossible.values())
        tables = [variables.table(term.names, *counts) for release in releases for term, counts in _counts(release)]
        return cls(variables, tuple(tables))


def check_size(n_cells: int) -> None:
    """Refuse a model of too many cells."""
    if n_cells > MOST_CELLS:
        raise InvalidRequest(
            f"The model needs {n_cells:.3g} cells for these tables, more than the {MOST_CELLS:,} that are supported.",
            "Use fewer tables at a time, or tables and structural zeros that share fewer attributes.",
        )


def levels_of(terms: Iterable[Outline], nested: Mapping[str, Mapping[str, object]]) -> list[SourceLevel]:
    """Return the attributes along the terms' axes."""
    return [SourceLevel.of(axis, nested) for term in terms for axis in term.axes]


def _levels(release: Release) -> list[SourceLevel]:
    levels = levels_of((term for term, _ in count_terms(release)), release.facts.get("nested", {}))
    if not levels:
        raise InvalidRequest(
            f"The release of {release.facts['query']!r} has no counts of cells.",
            "Pass releases with tables of counts, such as SEX*AGE.",
        )
    return levels


def count_terms(release: Release) -> Iterator[tuple[Outline, slice]]:
    """Yield the terms that count cells, with their slices.

    A release without facts about its terms and the width of its noise (an old one) has none.
    """
    start, is_told = 0, {"terms", "deviations"} <= release.facts.keys()
    for term in release.terms:
        if is_told and counts_cells(term):
            yield term, slice(start, start + term.size)
        start += term.size


def counts_cells(term: Outline) -> bool:
    """Return whether a term's answers are counts of cells."""
    return term.measure == COUNT and term.column is None and all(axis.form == CELLS for axis in term.axes)


def _counts(release: Release) -> Iterator[tuple[Outline, tuple[np.ndarray, np.ndarray]]]:
    deviations = split(release.estimates, unfold(release.facts["deviations"]))
    raw = split_answers(release.estimates, release.raw)
    term_ids = {id(term) for term, _ in count_terms(release)}
    for term, counts, deviation in zip(release.terms, raw, deviations, strict=True):
        if id(term) in term_ids:
            yield term, (counts.reshape(term.shape), deviation.reshape(term.shape) ** 2)


def _check_same(first: SourceLevel, second: SourceLevel) -> None:
    if (list(first.axis.texts), first.starts) != (list(second.axis.texts), second.starts):
        raise InvalidRequest(
            f"The releases differ in the cells of {first.axis.name}.", "Use releases of the same domain."
        )


def _check_alike(releases: Sequence[Release]) -> None:
    if not releases or not all(isinstance(release, Release) for release in releases):
        raise InvalidRequest("No release is given.", "Pass a release, or a list of them.")
    for fact in ("table", "unit"):
        if any(release.facts[fact] != releases[0].facts[fact] for release in releases):
            raise InvalidRequest(f"The releases differ in their {fact}.", "Use releases of the same table and unit.")
