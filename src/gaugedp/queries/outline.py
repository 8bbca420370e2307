"""Outlines of terms: the kind of answers and their axes, of which tables, plots and files are made."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gaugedp.domain.attributes import Attribute
from gaugedp.queries.labels import Listed, Words, words
from gaugedp.statistics import Count, Quantile, Sum

COUNT, SUM, QUANTILE = Count.kind, Sum.kind, Quantile.kind  # what is measured
CELLS, PREFIX, RANGES, ROWS, SHARES = "cells", "prefix", "ranges", "rows", "shares"  # how an axis is made of cells


@dataclass(frozen=True)
class Axis:
    """One axis of a term's answers: the cells of an attribute, runs of them, rows of a matrix, or shares of rows.

    `values` says what the cells are: "categories", "numbers" or "dates". `borders` are the ends of cells on a line, one
    more than cells but for a last cell of other values; empty where cells have no widths. `texts` are the cells' texts,
    without the name.
    """

    name: str
    texts: Words
    form: str = CELLS
    values: str = "categories"
    borders: tuple[float, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the axis as JSON can hold it."""
        facts = {"name": self.name, "texts": self.texts.facts(), "form": self.form, "values": self.values}
        return {**facts, "borders": list(self.borders)} if self.borders else facts

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> "Axis":
        """Return what `to_dict` described."""
        borders = tuple(float(border) for border in facts.get("borders", ()))
        form, values = str(facts.get("form", CELLS)), str(facts.get("values", "categories"))
        return cls(str(facts["name"]), words(facts["texts"]), form, values, borders)


@dataclass(frozen=True)
class Outline:
    """A term: its text, what it measures (the kind of a statistic), of which column, along which axes."""

    text: str
    measure: str
    column: str | None
    axes: tuple[Axis, ...]
    reference: str = ""  # the cell of the first axis that others are compared with

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the axes."""
        return tuple(axis.name for axis in self.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of cells along the axes."""
        return tuple(len(axis.texts) for axis in self.axes)

    @property
    def size(self) -> int:
        """The number of answers."""
        return math.prod(self.shape)

    def to_dict(self) -> dict[str, Any]:
        """Return the term as JSON can hold it."""
        axes = [axis.to_dict() for axis in self.axes]
        facts = {"query": self.text, "measure": self.measure, "column": self.column, "axes": axes}
        return {**facts, "reference": self.reference} if self.reference else facts

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> "Outline":
        """Return what `to_dict` described."""
        column, axes = facts.get("column"), tuple(map(Axis.of, facts["axes"]))
        name = None if column is None else str(column)
        return cls(str(facts["query"]), str(facts["measure"]), name, axes, str(facts.get("reference", "")))

    @classmethod
    def unknown(cls, text: str, cells: Sequence[str]) -> "Outline":
        """Return the term of a release that was written before there were outlines: one axis of all its cells."""
        return cls(text, COUNT, None, (Axis("cell", Listed(cells)),))


def attribute_axis(name: str, attribute: Attribute, texts: Words, form: str = CELLS) -> Axis:
    """Return the axis of an attribute's cells, or of runs of them."""
    return Axis(
        name,
        texts,
        form,
        attribute.values_are,
        attribute.borders[len(attribute.labels) - len(texts) :] if form == CELLS else (),
    )
