"""Public facts: which values a table may hold, and who is protected. Never read off the data."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gaugedp._names import written
from gaugedp._notebook import drawn_by
from gaugedp._validate import one_of, whole
from gaugedp.attributes import Attribute, BoundedColumn, categories
from gaugedp.captions import TEXTS, Captions
from gaugedp.domain_file import (
    add_facts,
    named,
    named_tree,
    only_keys,
    read_attributes,
    read_captions,
    read_columns,
    read_toml,
)
from gaugedp.errors import InvalidRequest, UnknownName
from gaugedp.trees import Tree, check_trees, starts_in


@dataclass(frozen=True)
class PrivacyUnit:
    """Who is protected, and what it means that two tables differ by one of them.

    `neighbours` = "add_remove": one unit's rows are added or removed. "replace": one unit's rows are changed to
    other rows, the number of units being public. The unit is a row (`column` = None), or all rows that share a
    value of `column`, of which at most `max_rows` are used by a question.
    """

    column: str | None = None
    neighbours: str = "add_remove"
    max_rows: int = 1

    def __post_init__(self) -> None:
        one_of(("add_remove", "replace"), neighbours=self.neighbours)
        whole(minimum=1, max_rows=self.max_rows)
        if self.column is not None and not (isinstance(self.column, str) and self.column):
            raise InvalidRequest(
                f"The unit's column is {self.column!r}.", "Give the name of a column, or None for a row."
            )
        if self.column is None and self.max_rows != 1:
            raise InvalidRequest(
                f"max_rows is {self.max_rows} without a column.", "Name the column that tells whose a row is."
            )

    @property
    def most_changes(self) -> int:
        """How many rows are added or removed, at most, between neighbouring tables."""
        return self.max_rows * (2 if self.neighbours == "replace" else 1)

    @classmethod
    def load(cls, path: str | Path) -> "PrivacyUnit":
        """Return the unit that the [unit] section of a domain file describes (a row, add_remove, where absent)."""
        return cls.of(read_toml(path).get("unit", {}))

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> "PrivacyUnit":
        """Return the unit described by a mapping with the keys column, neighbours and max_rows."""
        only_keys("[unit]", facts, ("column", "neighbours", "max_rows"))
        return cls(**facts)

    @property
    def rules(self) -> list[str]:
        """What happens to the rows of a unit that has many, and to rows of nobody, in sentences."""
        if self.column is None:
            return []
        rows = "Only one row" if self.max_rows == 1 else f"At most {self.max_rows} rows"
        how = "drawn at random; answers and intervals are about the rows that count, not about all rows."
        return [
            f"{rows} of each {self.column} {'counts' if self.max_rows == 1 else 'count'}, {how}",
            f"Rows whose {self.column} is missing are left out of every question.",
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as JSON can hold them."""
        return {"column": self.column, "neighbours": self.neighbours, "max_rows": self.max_rows}

    def __str__(self) -> str:
        who = "one row" if self.column is None else f"the rows of one {self.column} (at most {self.max_rows})"
        return f"{who}, {'added or removed' if self.neighbours == 'add_remove' else 'replaced by others'}"


@dataclass(frozen=True)
class Domain:
    """The attributes and bounded columns of a table: everything about its values that is public.

    `unit` is who the domain file says is protected, None where it does not say. `file` is that file's name.
    `captions` are what people read in place of names and codes; two domains that differ in them alone are equal.
    """

    attributes: Mapping[str, Attribute]
    columns: Mapping[str, BoundedColumn] = field(default_factory=dict)
    name: str = "table"
    unit: PrivacyUnit | None = field(default=None, compare=False)
    file: str | None = field(default=None, compare=False, repr=False)
    captions: Captions = field(default=Captions(), compare=False, repr=False)

    _repr_html_ = drawn_by("domain")

    def __post_init__(self) -> None:
        for facts, kind in ((self.attributes, Attribute), (self.columns, BoundedColumn)):
            if not isinstance(facts, Mapping) or not all(isinstance(fact, kind) for fact in facts.values()):
                raise InvalidRequest(
                    "The domain is not made of attributes and bounded columns.",
                    "Use gd.Domain.of(sex=[...], age=gd.bins(...), pay=gd.bounded(...)), or gd.Domain.load(path).",
                )
        check_trees(self.attributes)

    @classmethod
    def of(cls, **columns: Attribute | BoundedColumn | Tree | Sequence[str]) -> "Domain":
        """Return a domain from names: a list of categories, `bins`, `integers`, `tree` or `bounded` for each."""
        facts: dict[str, Attribute | BoundedColumn] = {}
        for name, value in columns.items():
            add_facts(facts, _as_facts(name, value))
        return cls(
            {name: fact for name, fact in facts.items() if isinstance(fact, Attribute)},
            {name: fact for name, fact in facts.items() if isinstance(fact, BoundedColumn)},
        )

    @classmethod
    def load(cls, path: str | Path) -> "Domain":
        """Return the domain that a TOML file describes (see the docs page on domain files)."""
        facts = read_toml(path)
        only_keys("the domain file", facts, ("name", "unit", "attributes", "columns", *TEXTS))
        name = facts.get("name", Path(path).stem)
        if not isinstance(name, str):
            raise InvalidRequest(f"The name in {path} is {name!r}.", "Write the name as text.")
        attributes = read_attributes(facts, Path(path).parent)
        return cls(
            attributes,
            read_columns(facts),
            name,
            PrivacyUnit.of(facts["unit"]) if "unit" in facts else None,
            Path(path).name,
            read_captions(facts, attributes),
        )

    def with_attribute(self, name: str, attribute: Attribute) -> "Domain":
        """Return the same domain with another description of an attribute that it has."""
        self.described(name)
        return replace(self, attributes={**self.attributes, name: attribute})

    def with_captions(self, captions: Captions) -> "Domain":
        """Return the same domain with other words for people; questions and their answers stay what they are."""
        return replace(self, captions=captions)

    def protected(self, unit: PrivacyUnit | None = None) -> PrivacyUnit:
        """Return `unit`, or that of the domain file, or a row that is added or removed where there is neither.

        Refused: a `unit` of other people than the domain file's.
        """
        if unit is None or self.unit is None:
            return unit or self.unit or PrivacyUnit()
        if unit.column != self.unit.column:
            raise InvalidRequest(
                f"The domain file protects {self.unit}; the call protects {unit}.",
                "Leave unit= out, or change [unit] in the file.",
            )
        return unit

    def attribute(self, name: str) -> Attribute:
        """Return the attribute called `name`; refused: one whose categories nobody knows yet."""
        attribute = self.described(name)
        if not attribute.has_cells:
            raise InvalidRequest(
                f"The categories of {name} are not known yet.",
                f"Release them first, with gaugedp keys --attribute {written(name)} or gd.release_keys, and ask with "
                "the domain that this gives.",
            )
        return attribute

    def described(self, name: str) -> Attribute:
        """Return the attribute called `name`, whether or not its categories are known."""
        if name not in self.attributes and name in self.columns:
            raise UnknownName(
                f"There is no attribute {name!r}.",
                f"It is a bounded column: ask for sum({written(name)}) or mean({written(name)}), or describe it under "
                "[attributes] too.",
            )
        if name not in self.attributes:
            raise self._unknown("attribute", name, self.attributes)
        return self.attributes[name]

    def column(self, name: str) -> BoundedColumn:
        """Return the bounded column called `name`."""
        if name not in self.columns and name in self.attributes:
            raise UnknownName(
                f"There is no bounded column {name!r}.",
                "It is an attribute: ask for its counts, which give shares. Where its values are numbers, describe it "
                "under [columns] too.",
            )
        if name not in self.columns:
            raise self._unknown("bounded column", name, self.columns)
        return self.columns[name]

    @staticmethod
    def _unknown(kind: str, name: str, names: Mapping[str, object]) -> UnknownName:
        if names:
            return UnknownName.among(kind, name, names)
        return UnknownName(
            f"There is no {kind} {name!r}: the domain has none.",
            f"In a domain file, fill in a line of [{kind.rpartition(' ')[2]}s] and take the # away from it.",
        )

    def source(self, name: str) -> str:
        """Return the table's column that an attribute is read from: that of its own name, or of its tree."""
        return self.described(name).column or name

    def levels(self, name: str) -> list[str]:
        """Return the levels of an attribute's tree, the coarsest first, up to itself; itself where there is no tree."""
        alike = [other for other in self.attributes if self.source(other) == self.source(name)]
        ordered = sorted(alike, key=lambda other: self.attributes[other].n_cells)
        return ordered[: ordered.index(name) + 1]

    def finest(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the names without levels of a tree that another of them tells."""
        last = {self.source(name): name for name in sorted(names, key=lambda name: self.described(name).n_cells)}
        return tuple(name for name in names if last[self.source(name)] == name)

    def starts(self, name: str, finer: str) -> tuple[int, ...]:
        """Return the first cell of each cell of an attribute, among those of a finer level of its tree, or its own."""
        return starts_in(self.attribute(name), self.attribute(finer))

    def shape(self, names: Sequence[str]) -> tuple[int, ...]:
        """Return the numbers of cells of the named attributes."""
        return tuple(self.attribute(name).n_cells for name in names)

    def n_cells(self, names: Sequence[str] | None = None) -> int:
        """Return the number of cells of the contingency table over the named attributes (the finest where None)."""
        return math.prod(self.shape(self.finest(tuple(self.attributes)) if names is None else names))


def _as_facts(name: str, value: object) -> Mapping[str, Attribute | BoundedColumn]:
    if isinstance(value, Attribute | BoundedColumn):
        return {name: value}
    if isinstance(value, Tree):
        return named_tree(name, value)
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InvalidRequest(
            f"{name} is described by {value!r}.",
            "Give a list of categories, gd.bins, gd.integers or gd.bounded.",
        )
    return {name: named(f"attribute {name}", lambda: categories(value))}
