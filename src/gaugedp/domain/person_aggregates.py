"""Aggregation per person: one value, made of all the rows of the person."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from gaugedp._internal.validate import one_of
from gaugedp.domain.attributes import Attribute, BoundedColumn, Categories
from gaugedp.errors import InvalidRequest, UnknownName

Fact = Attribute | BoundedColumn
KINDS = ("count", "sum", "max", "min", "any", "last")
NO, YES = "no", "yes"  # the cells of "any"
MOST_CODES = 2**62  # order times value: both stand in one number
_NAME = "Name an attribute or a bounded column of the rows."
_BOUND = "Describe it under [columns]: only bounded columns are summed."
_LOOK = 'Write { any = "ILL", is = "yes" }, or gd.PerPerson.any("ILL", "yes"); a count of all rows names none.'
_ORDER = 'Write { last = "REGION", order = "DATE" }, or gd.PerPerson.last("REGION", order="DATE").'
_COARSER = "Describe one of them with fewer cells, or a coarser step."


@dataclass(frozen=True)
class PerPerson:
    """A value of a person, made of all the rows of that person and of nothing else.

    `kind`, one of count, sum, max, min, any, last, says how; `of` is an attribute or a bounded column of the rows (the
    column, where both have the name), `cells` those of its cells that are looked for, `order` what tells the last row.
    `values` are those that a person may have, where `of` does not tell them.
    """

    kind: str
    of: str | None = None
    cells: tuple[str, ...] = ()
    order: str | None = None
    values: Fact | None = None

    def __post_init__(self) -> None:
        one_of(KINDS, kind=self.kind)
        if self.kind in ("count", "sum") and self.values is None:
            raise InvalidRequest(
                f"It is not said which values a {self.kind} may have.",
                "Give them from public knowledge: from and to, such as gd.integers(0, 50), or low and high, such as "
                "gd.bounded(0, 500).",
            )
        if self.values is not None and not isinstance(self.values, Fact):
            raise InvalidRequest(
                f"The values are of type {type(self.values).__name__}.", "Give gd.integers, gd.bins or gd.bounded."
            )

    @classmethod
    def count(cls, values: Fact, of: str | None = None, *cells: str) -> "PerPerson":
        """Return the number of a person's rows; with `of`, of those whose cell of that attribute is one of `cells`."""
        return cls("count", of, cells, values=values)

    @classmethod
    def sum(cls, of: str, values: Fact) -> "PerPerson":
        """Return the sum of a bounded column; a row adds its clipped value, and nothing where it has none."""
        return cls("sum", of, values=values)

    @classmethod
    def max(cls, of: str, values: Fact | None = None) -> "PerPerson":
        """Return the largest value of a bounded column, or the last of an attribute's cells, in their listed order."""
        return cls("max", of, values=values)

    @classmethod
    def min(cls, of: str, values: Fact | None = None) -> "PerPerson":
        """Return the smallest value of a bounded column, or the first of an attribute's cells."""
        return cls("min", of, values=values)

    @classmethod
    def any(cls, of: str, *cells: str) -> "PerPerson":
        """Return "yes" where any row's cell of the attribute is one of `cells`, else "no"."""
        return cls("any", of, cells)

    @classmethod
    def last(cls, of: str, order: str, values: Fact | None = None) -> "PerPerson":
        """Return the value in the row that is last by `order`, an attribute or a bounded column.

        Rows without a value or without an `order` are passed over. Of rows that are last alike, the largest value
        counts: the order of rows tells nothing.
        """
        return cls("last", of, order=order, values=values)

    @property
    def sources(self) -> tuple[str, ...]:
        """The attributes and bounded columns of the rows that are read."""
        return tuple(name for name in (self.of, self.order) if name is not None)

    @property
    def is_like_its_source(self) -> bool:
        """Return whether the value is one of those that the rows have."""
        return self.kind in ("max", "min", "last")

    def described(self, attributes: Mapping[str, Attribute], columns: Mapping[str, BoundedColumn]) -> Fact:
        """Return what the value may be, given the facts about the rows; refused: what does not fit them."""
        for name in self.sources:
            if name not in attributes and name not in columns:
                raise UnknownName.among("attribute or column of the rows", name, [*attributes, *columns])
        self._check_parts(attributes, columns)
        if self.kind == "any":
            return Categories((NO, YES))
        if self.kind == "count" or self.of in columns:
            return _numbers(self.values or columns[self.of or ""])
        return _alone(attributes[self.of or ""])

    def _check_parts(self, attributes: Mapping[str, Attribute], columns: Mapping[str, BoundedColumn]) -> None:
        """Refuse what does not fit together."""
        is_number, looks = self.of in columns, self.kind == "any" or (self.kind == "count" and self.of is not None)
        for is_wrong, what, do in (
            (self.of is None and self.kind != "count", f"It is not said of what this is the {self.kind}.", _NAME),
            (self.kind == "sum" and not is_number, f"{self.of} has no bounds.", _BOUND),
            (looks != bool(self.cells), "It is not said which cells of which attribute are looked for.", _LOOK),
            (looks and self.of not in attributes, f"{self.of} is no attribute: it has no cells.", _LOOK),
            (
                any(name in attributes and not attributes[name].has_cells for name in self.sources),
                "The categories of an attribute are not known yet.",
                "Release them first, with gaugedp keys or gd.release_keys.",
            ),
            ((self.kind == "last") != (self.order is not None), "The last, and nothing else, has an order.", _ORDER),
            (
                self.values is not None and self.kind != "count" and (self.kind == "any" or not is_number),
                f"Which values {self.of} may have is described already.",
                "Leave the values out here.",
            ),
            (self._n_codes(attributes, columns) > MOST_CODES, "These have too many values together.", _COARSER),
        ):
            if is_wrong:
                raise InvalidRequest(what, do)
        for cell in self.cells:
            attribute = attributes[self.of or ""]
            if cell not in (labels := attribute.labels[: attribute.n_inside]):
                raise UnknownName.among(f"cell of {self.of}", cell, labels)

    def _n_codes(self, attributes: Mapping[str, Attribute], columns: Mapping[str, BoundedColumn]) -> int:
        return prod(
            columns[name].high_steps - columns[name].low_steps + 1 if name in columns else attributes[name].n_cells
            for name in self.sources
        )

    def rule(self, name: str, person: str | None, columns: Mapping[str, BoundedColumn]) -> str:
        """Return how the value called `name` is made, in a sentence."""
        rows, cells = f"a {person}'s rows", " or ".join(self.cells)
        bounds, fact = "", columns.get(self.of or "")
        if fact is not None:
            bounds = f", each clipped to [{float(fact.low):g}, {float(fact.high):g}] in steps of {float(fact.step):g}"
        texts = {
            "count": f"the number of {rows}" + f" whose {self.of} is {cells}" * bool(cells),
            "sum": f"the sum of {self.of} over {rows}{bounds}; rows without one add nothing",
            "max": f"the largest {self.of} in {rows}{bounds}; rows without one are passed over",
            "min": f"the smallest {self.of} in {rows}{bounds}; rows without one are passed over",
            "any": f"{YES} where {self.of} is {cells} in any of {rows}, else {NO}",
            "last": f"the {self.of} in the last of {rows} by {self.order}{bounds}; rows without one or without "
            f"{self.order} are passed over, and of rows that are last alike the largest {self.of} counts",
        }
        return f"{name} is {texts[self.kind]}."


def _numbers(fact: Fact) -> Fact:
    """Return the values of a number; codes for an unknown one were taken away from the rows."""
    if isinstance(fact, BoundedColumn):
        return replace(fact, unknown=(), column="", by_key=())
    if fact.values_are != "numbers" or fact.column:
        raise InvalidRequest("A number has other values than these.", "Give gd.integers, gd.bins or gd.bounded.")
    return fact


def _alone(attribute: Attribute) -> Attribute:
    """Return the attribute; a level of a tree without the tree."""
    return Categories(attribute.labels[: attribute.n_inside], attribute.outside) if attribute.column else attribute
