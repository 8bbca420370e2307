"""Outlines of terms: measures and axes, for tables, plots and files."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gaugedp.domain.attributes import Attribute
from gaugedp.queries.labels import Listed, Words, words
from gaugedp.statistics import Count, Quantile, Sum

COUNT, SUM, QUANTILE = Count.kind, Sum.kind, Quantile.kind  # what is measured
CELLS, PREFIX, RANGES, ROWS, SHARES = "cells", "prefix", "ranges", "rows", "shares"  # forms of an axis


@dataclass(frozen=True)
class Axis:
    """Axis of a term's answers: cells, runs, matrix rows or shares.

    `values` is the kind of cells: "categories", "numbers" or "dates". `borders` are the ends of cells on a line, one
    more than cells except for a last cell of other values; empty if cells have no widths. `texts` are the cells' texts,
    without the name.
    """

    name: str
    texts: Words
    form: str = CELLS
    values: str = "categories"
    borders: tuple[float, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the axis as JSON-compatible data."""
        facts = {"name": self.name, "texts": self.texts.facts(), "form": self.form, "values": self.values}
        return {**facts, "borders": list(self.borders)} if self.borders else facts

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> "Axis":
        """Return the axis that `to_dict` described."""
        borders = tuple(float(border) for border in facts.get("borders", ()))
        form, values = str(facts.get("form", CELLS)), str(facts.get("values", "categories"))
        return cls(str(facts["name"]), words(facts["texts"]), form, values, borders)


@dataclass(frozen=True)
class Outline:
    """Term: its text, measure (kind of statistic), column and axes; `weights` names the column of the rows' weights.

    A weighted count is a sum without a `column`. In a domain with weights, `left_out_by` names attributes whose rules
    leave rows out: sampling errors follow from second moments of the same rows. `strata` and `clusters` of a term that
    serves sampling errors are the attributes of the design; `levels` holds coarser levels of its axes: the axis, and
    the first cell in it of each cell.
    """

    text: str
    measure: str
    column: str | None
    axes: tuple[Axis, ...]
    reference: str = ""  # reference cell of the first axis
    weights: str = ""
    left_out_by: tuple[str, ...] = ()
    strata: str = ""
    clusters: str = ""
    levels: Mapping[str, tuple[str, tuple[int, ...]]] = field(default_factory=dict)

    @property
    def kind(self) -> tuple[object, ...]:
        """Facts that the term has in common with its margins."""
        return self.measure, self.column, self.weights

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the axes."""
        return tuple(axis.name for axis in self.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of cells along the axes."""
        return tuple(len(axis.texts) for axis in self.axes)

    def knows(self, name: str) -> bool:
        """Return True if a cell determines that of the attribute."""
        return name in self.names or name in self.levels

    def places(self, names: Sequence[str]) -> tuple[np.ndarray, int]:
        """Return the cell of the table over `names` in which each cell lies, and the number of cells there."""
        cells, grid, size = np.zeros(self.shape, dtype=np.intp), np.indices(self.shape, sparse=True), 1
        for name in names:
            axis, starts = self.levels.get(name, (name, ()))
            own = grid[self.names.index(axis)]
            own = np.searchsorted(starts, own, side="right") - 1 if starts else own
            n_cells = len(starts) or self.shape[self.names.index(axis)]
            cells, size = cells * n_cells + own, size * n_cells
        return cells.ravel(), size

    @property
    def size(self) -> int:
        """Number of answers."""
        return math.prod(self.shape)

    def to_dict(self) -> dict[str, Any]:
        """Return the term as JSON-compatible data."""
        axes = [axis.to_dict() for axis in self.axes]
        facts = {"query": self.text, "measure": self.measure, "column": self.column, "axes": axes}
        more: dict[str, Any] = {"reference": self.reference, "weights": self.weights}
        more |= {"left_out_by": list(self.left_out_by), "strata": self.strata, "clusters": self.clusters}
        more["levels"] = {name: [axis, list(starts)] for name, (axis, starts) in self.levels.items()}
        return facts | {name: fact for name, fact in more.items() if fact}

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> "Outline":
        """Return the term that `to_dict` described."""
        column, axes = facts.get("column"), tuple(map(Axis.of, facts["axes"]))
        name = None if column is None else str(column)
        given = {fact: str(facts.get(fact, "")) for fact in ("reference", "weights", "strata", "clusters")}
        left_out_by = tuple(map(str, facts.get("left_out_by", ())))
        levels = {str(level): (str(axis), tuple(starts)) for level, (axis, starts) in facts.get("levels", {}).items()}
        more: dict[str, Any] = {**given, "left_out_by": left_out_by, "levels": levels}
        return cls(str(facts["query"]), str(facts["measure"]), name, axes, **more)

    @classmethod
    def unknown(cls, text: str, cells: Sequence[str]) -> "Outline":
        """Return the one-axis outline of a release without outlines."""
        return cls(text, COUNT, None, (Axis("cell", Listed(cells)),))


def attribute_axis(name: str, attribute: Attribute, texts: Words, form: str = CELLS) -> Axis:
    """Return the axis of an attribute's cells, or of runs."""
    borders = attribute.borders[len(attribute.labels) - len(texts) :] if form == CELLS else ()
    return Axis(name, texts, form, attribute.values_are, borders)
