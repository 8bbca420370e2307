"""Aggregation per person: one value from all rows of a person."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from gaugedp._internal.validate import one_of
from gaugedp.domain.attributes import Attribute, BoundedColumn, Categories
from gaugedp.errors import InvalidRequest, UnknownName

Fact = Attribute | BoundedColumn
KINDS = ("count", "sum", "max", "min", "any", "last")
NO, YES = "no", "yes"  # cells of "any"
_NAME = "Name an attribute or a bounded column of the rows."
_BOUND = "Describe it under [columns], with low and high."
_LOOK = 'Write { any = "ILL", is = "yes" }, or gd.PerPerson.any("ILL", "yes"); a count of all rows has no cells.'
_ORDER = 'Write { last = "REGION", order = "DATE" }, or gd.PerPerson.last("REGION", order="DATE").'
_COARSER = "Describe one of them with fewer cells or a coarser step."


@dataclass(frozen=True)
class PerPerson:
    """Rule that computes one value from a person's rows.

    Use it if persons have several rows and you want to query facts about persons, such as their number of visits. Make
    the rule with a class method and pass it to `gd.by_person`. The methods are `count`, `sum`, `max`, `min`, `any`
    (whether a person has a row in given cells) and `last` (the value of the last row).

    Parameters
    ----------
    kind : str
        The name of the class method.
    of : str, optional
        The attribute or bounded column that is aggregated. If both have this name, it is the bounded column.
    cells : tuple of str
        The cells of the attribute for which `any` and `count` search.
    order : str, optional
        The column by which `last` orders the rows.
    values : Attribute or BoundedColumn, optional
        The values that a person may have, such as `gd.integers(0, 50)`. Counts and sums need them.

    Examples
    --------
    It is public knowledge that nobody has more than 50 visits:

    >>> import gaugedp as gd
    >>> gd.PerPerson.count(gd.integers(0, 50)).rule("visits", "patient", {})
    "visits is the number of a patient's rows."
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
                f"The possible values of a {self.kind} are not specified.",
                "Pass them from public knowledge: from and to, such as gd.integers(0, 50), or low and high, such as "
                "gd.bounded(0, 500).",
            )
        if self.values is not None and not isinstance(self.values, Fact):
            raise InvalidRequest(
                f"`values` is of type {type(self.values).__name__}, which cannot describe the possible values of a "
                "number.",
                "Pass gd.integers, gd.bins or gd.bounded.",
            )

    @classmethod
    def count(cls, values: Fact, of: str | None = None, *cells: str) -> "PerPerson":
        """Count a person's rows, or those in given cells.

        `of` is the attribute of the `cells`, and `values` states the counts that are possible, such as gd.integers(0,
        50).
        """
        return cls("count", of, cells, values=values)

    @classmethod
    def sum(cls, of: str, values: Fact) -> "PerPerson":
        """Sum a bounded column over a person's rows.

        A missing value counts as 0. `values` states the sums that are possible, such as gd.bounded(0, 500).
        """
        return cls("sum", of, values=values)

    @classmethod
    def max(cls, of: str, values: Fact | None = None) -> "PerPerson":
        """Take the largest value of a person's rows.

        For an attribute it is the last cell.
        """
        return cls("max", of, values=values)

    @classmethod
    def min(cls, of: str, values: Fact | None = None) -> "PerPerson":
        """Take the smallest value of a person's rows.

        For an attribute it is the first cell.
        """
        return cls("min", of, values=values)

    @classmethod
    def any(cls, of: str, *cells: str) -> "PerPerson":
        """Check whether a person has rows in given cells.

        The value is "yes" or "no".
        """
        return cls("any", of, cells)

    @classmethod
    def last(cls, of: str, order: str, values: Fact | None = None) -> "PerPerson":
        """Take the value of a person's last row.

        `order` is the attribute or bounded column, such as a date, by which rows are ordered. Rows without a value or
        without an `order` are skipped. If several rows are last, the largest of their values is taken, so the order of
        rows in the table has no influence.
        """
        return cls("last", of, order=order, values=values)

    @property
    def sources(self) -> tuple[str, ...]:
        """Attributes and bounded columns of the rows that are read."""
        return tuple(name for name in (self.of, self.order) if name is not None)

    def described(self, attributes: Mapping[str, Attribute], columns: Mapping[str, BoundedColumn]) -> Fact:
        """Return the possible values of the aggregate.

        An aggregate that does not fit the rows is refused.
        """
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
        is_number, looks = self.of in columns, self.kind == "any" or (self.kind == "count" and self.of is not None)
        for is_wrong, what, do in (
            (self.of is None and self.kind != "count", f"The aggregate {self.kind!r} does not name a column.", _NAME),
            (self.kind == "sum" and not is_number, f"{self.of} has no bounds, so it cannot be summed.", _BOUND),
            (
                looks != bool(self.cells),
                "`any` and a count of cells need an attribute and its cells; other aggregates take no cells.",
                _LOOK,
            ),
            (looks and self.of not in attributes, f"{self.of} is not an attribute, so it has no cells.", _LOOK),
            (
                any(name in attributes and not attributes[name].has_cells for name in self.sources),
                "The categories of an attribute are not known yet.",
                "Release them first, with gaugedp keys or gd.release_keys.",
            ),
            (
                (self.kind == "last") != (self.order is not None),
                "`last` needs an `order`, and other aggregates do not accept one.",
                _ORDER,
            ),
            (
                self.values is not None and self.kind != "count" and (self.kind == "any" or not is_number),
                f"The possible values of {self.of} are already described.",
                "Omit them here.",
            ),
            (
                self._n_codes(attributes, columns) > 2**62,
                "The values of the column and its `order` have too many combinations.",
                _COARSER,
            ),
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
        """Describe the value called `name` in a sentence."""
        rows, cells = f"a {person}'s rows", " or ".join(self.cells)
        bounds, fact = "", columns.get(self.of or "")
        if fact is not None:
            bounds = f", each clipped to [{float(fact.low):g}, {float(fact.high):g}] in steps of {float(fact.step):g}"
        texts = {
            "count": f"the number of {rows}" + f" whose {self.of} is {cells}" * bool(cells),
            "sum": f"the sum of {self.of} over {rows}{bounds}; rows without one count as 0",
            "max": f"the largest {self.of} in {rows}{bounds}; rows without one are skipped",
            "min": f"the smallest {self.of} in {rows}{bounds}; rows without one are skipped",
            "any": f"{YES} if {self.of} is {cells} in any of {rows}, else {NO}",
            "last": f"the {self.of} in the last of {rows} by {self.order}{bounds}; rows without one or without "
            f"{self.order} are skipped, and among several last rows the largest {self.of} counts",
        }
        return f"{name} is {texts[self.kind]}."


def _numbers(fact: Fact) -> Fact:
    if isinstance(fact, BoundedColumn):
        return replace(fact, unknown=(), column="", by_key=())
    if fact.values_are != "numbers" or fact.column:
        raise InvalidRequest(
            "The possible values are categories or dates, but this aggregate is a number.",
            "Describe them with gd.integers, gd.bins or gd.bounded.",
        )
    return fact


def _alone(attribute: Attribute) -> Attribute:
    return Categories(attribute.labels[: attribute.n_inside], attribute.outside) if attribute.column else attribute
