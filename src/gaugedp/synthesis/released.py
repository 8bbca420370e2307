"""From releases to variables and tables of counts: which answers are counts of cells, and how cells are nested."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gaugedp._runs import unfold
from gaugedp.answer import Release
from gaugedp.errors import InvalidRequest
from gaugedp.queries.estimates import split, split_answers
from gaugedp.queries.outline import CELLS, COUNT, Axis, Outline
from gaugedp.synthesis.counts import CountTable


@dataclass(frozen=True)
class Level:
    """An attribute of the rows: its axis, and where its cells begin among those of the `source`, a column's own."""

    axis: Axis
    source: str
    starts: tuple[int, ...]

    @classmethod
    def of(cls, axis: Axis, nested: Mapping[str, Mapping[str, object]]) -> "Level":
        """Return the attribute on an axis; `nested` says of levels of trees what they are read from, and how."""
        if axis.name not in nested:
            return cls(axis, axis.name, tuple(range(len(axis.texts))))
        facts = nested[axis.name]
        ends = np.cumsum(unfold(facts["sizes"]).astype(int)).tolist()
        return cls(axis, str(facts["column"]), (0, *ends[:-1]))

    def starts_in(self, finest: "Level") -> tuple[int, ...]:
        """Return where its cells begin among those of the finest level, the cell of other values last."""
        places = {start: place for place, start in enumerate(finest.starts)}
        if not set(self.starts) <= places.keys():
            raise InvalidRequest(
                f"{self.axis.name} and {finest.axis.name} are not levels of one tree.", "Use releases of one domain."
            )
        starts = [places[start] for start in self.starts]
        n_other = len(self.axis.texts) - len(self.starts)
        return (*starts, *range(len(finest.axis.texts) - n_other, len(finest.axis.texts)))


@dataclass(frozen=True)
class Released:
    """The attributes of releases, by name, the tables of counts over their finest levels, and these in order."""

    levels: Mapping[str, Level]
    finest: tuple[str, ...]
    tables: tuple[CountTable, ...]

    @classmethod
    def of(cls, releases: Sequence[Release]) -> "Released":
        """Return what rows can be drawn from. Refused: releases without counts of cells, or that do not fit."""
        _check_alike(releases)
        levels = dict[str, Level]()
        for release in releases:
            axes = [axis for term, _ in count_terms(release) for axis in term.axes]
            if not axes:
                raise InvalidRequest(
                    f"The release of {release.facts['query']!r} has no counts of cells.",
                    "Give releases with tables of counts, such as SEX*AGE.",
                )
            for axis in axes:
                level = Level.of(axis, release.facts.get("nested", {}))
                _check_same(levels.setdefault(axis.name, level), level)
        ordered = sorted(levels, key=lambda name: len(levels[name].axis.texts))
        last = {levels[name].source: name for name in ordered}
        finest = tuple(name for name in levels if last[levels[name].source] == name)
        places = {levels[name].source: place for place, name in enumerate(finest)}
        tables = [
            _table(term, counts, levels, finest, places) for release in releases for term, counts in _counts(release)
        ]
        return cls(levels, finest, tuple(tables))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of cells of each variable."""
        return tuple(len(self.levels[name].axis.texts) for name in self.finest)

    def cells_of(self, name: str, cells: np.ndarray) -> np.ndarray:
        """Return the cell of an attribute in each row, from those of the variables, shape (n_rows, n_variables)."""
        level = self.levels[name]
        place = next(i for i, other in enumerate(self.finest) if self.levels[other].source == level.source)
        starts = level.starts_in(self.levels[self.finest[place]])
        return np.searchsorted(starts, cells[:, place], side="right") - 1


def count_terms(release: Release) -> Iterator[tuple[Outline, slice]]:
    """Yield the terms of a release that count rows in cells, each with the places of its answers.

    A release that was written before releases said what their terms are, and how wide their noise, has none.
    """
    start, is_told = 0, {"terms", "deviations"} <= release.facts.keys()
    for term in release.terms:
        is_table = term.measure == COUNT and term.column is None and all(axis.form == CELLS for axis in term.axes)
        if is_told and is_table:
            yield term, slice(start, start + term.size)
        start += term.size


def _counts(release: Release) -> Iterator[tuple[Outline, tuple[np.ndarray, np.ndarray]]]:
    """Yield those terms, each with its raw counts and the variances of their noise."""
    deviations = split(release.estimates, unfold(release.facts["deviations"]))
    raw = split_answers(release.estimates, release.raw)
    wanted = {id(term) for term, _ in count_terms(release)}
    for term, counts, deviation in zip(release.terms, raw, deviations, strict=True):
        if id(term) in wanted:
            yield term, (counts.reshape(term.shape), deviation.reshape(term.shape) ** 2)


def _table(
    term: Outline,
    counts: tuple[np.ndarray, np.ndarray],
    levels: Mapping[str, Level],
    finest: Sequence[str],
    places: Mapping[str, int],
) -> CountTable:
    """Return a term's counts over the variables, in their order."""
    own = [levels[name] for name in term.names]
    scope = [places[level.source] for level in own]
    starts = [level.starts_in(levels[finest[place]]) for level, place in zip(own, scope, strict=True)]
    order = np.argsort(scope)
    values, variances = (part.transpose(order) for part in counts)
    return CountTable(tuple(sorted(scope)), tuple(starts[place] for place in order), values, variances)


def _check_same(first: Level, second: Level) -> None:
    if (list(first.axis.texts), first.starts) != (list(second.axis.texts), second.starts):
        raise InvalidRequest(
            f"{first.axis.name} has other cells in one release than in another.", "Use releases of one domain."
        )


def _check_alike(releases: Sequence[Release]) -> None:
    if not releases or not all(isinstance(release, Release) for release in releases):
        raise InvalidRequest("There is no release.", "Give a release, or a list of them.")
    for fact in ("table", "unit"):
        if any(release.facts[fact] != releases[0].facts[fact] for release in releases):
            raise InvalidRequest(f"The releases differ in their {fact}.", "Use releases of one table and one unit.")
