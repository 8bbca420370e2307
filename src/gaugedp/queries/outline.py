"""Outlines of terms: measures and axes, for tables, plots and files."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
    leave rows out: sampling errors follow from second moments of the same rows.
    """

    text: str
    measure: str
    column: str | None
    axes: tuple[Axis, ...]
    reference: str = ""  # reference cell of the first axis
    weights: str = ""
    left_out_by: tuple[str, ...] = ()

    @property
    def kind(self) -> tuple[object, ...]:
        """What the term has in common with its margins."""
        return self.measure, self.column, self.weights

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the axes."""
        return tuple(axis.name for axis in self.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of cells along the axes."""
        return tuple(len(axis.texts) for axis in self.axes)

    @property
    def size(self) -> int:
        """Number of answers."""
        return math.prod(self.shape)

    def to_dict(self) -> dict[str, Any]:
        """Return the term as JSON-compatible data."""
        axes = [axis.to_dict() for axis in self.axes]
        facts = {"query": self.text, "measure": self.measure, "column": self.column, "axes": axes}
        more = {"reference": self.reference, "weights": self.weights, "left_out_by": list(self.left_out_by)}
        return facts | {name: fact for name, fact in more.items() if fact}

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> "Outline":
        """Return the term that `to_dict` described."""
        column, axes = facts.get("column"), tuple(map(Axis.of, facts["axes"]))
        name = None if column is None else str(column)
        reference, weights = (str(facts.get(fact, "")) for fact in ("reference", "weights"))
        left_out_by = tuple(map(str, facts.get("left_out_by", ())))
        return cls(str(facts["query"]), str(facts["measure"]), name, axes, reference, weights, left_out_by)

    @classmethod
    def unknown(cls, text: str, cells: Sequence[str]) -> "Outline":
        """Return the one-axis outline of a release without outlines."""
        return cls(text, COUNT, None, (Axis("cell", Listed(cells)),))


def attribute_axis(name: str, attribute: Attribute, texts: Words, form: str = CELLS) -> Axis:
    """Return the axis of an attribute's cells, or of runs."""
    return Axis(
        name,
        texts,
        form,
        attribute.values_are,
        attribute.borders[len(attribute.labels) - len(texts) :] if form == CELLS else (),
    )
