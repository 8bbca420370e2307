"""Public facts: which values a table may hold, and who is protected. Never read off the data."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gaugedp._internal.displays import drawn_by
from gaugedp._internal.names import written
from gaugedp._internal.validate import one_of, whole
from gaugedp.domain.attributes import Attribute, BoundedColumn, categories
from gaugedp.domain.captions import TEXTS, Captions
from gaugedp.domain.hierarchies import Tree, check_trees, starts_in
from gaugedp.domain.person_aggregates import PerPerson
from gaugedp.domain.structural_zeros import Impossible
from gaugedp.domain.toml import (
    add_facts,
    named,
    named_tree,
    only_keys,
    read_attributes,
    read_captions,
    read_columns,
    read_impossible,
    read_own,
    read_per_person,
    read_toml,
)
from gaugedp.errors import InvalidRequest, UnknownName


@dataclass(frozen=True)
class PrivacyUnit:
    """The privacy unit: who is protected, and how two neighbouring tables differ.

    `neighbours` = "add_remove": one unit's rows are added or removed. "replace": one unit's rows are changed to
    other rows, the number of units being public. The unit is a row (`column` = None), or all rows that share a
    value of `column`, of which at most `max_rows` are used by a question; or all, `as_one` row that was made of them.
    """

    column: str | None = None
    neighbours: str = "add_remove"
    max_rows: int = 1
    as_one: bool = field(default=False, compare=False)  # said by `Domain.by_person`: the same people are protected

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
        """Return the largest number of rows added or removed between neighbouring tables."""
        return self.max_rows * (2 if self.neighbours == "replace" else 1)

    @classmethod
    def load(cls, path: str | Path) -> "PrivacyUnit":
        """Return the unit that the [unit] section of a domain file describes (a row, add_remove, where absent)."""
        return cls.of(read_toml(path).get("unit", {}))

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> "PrivacyUnit":
        """Return the unit described by a mapping with the keys column, neighbours and max_rows, or by `to_dict`."""
        is_made = isinstance(facts, Mapping) and "as_one" in facts
        only_keys("[unit]", facts, ("column", "neighbours", "max_rows", *["as_one"] * is_made))
        return cls(**facts)

    @property
    def rules(self) -> list[str]:
        """Return the rules for units with many rows, and for rows of nobody, in sentences."""
        if self.column is None:
            return []
        rows = "Only one row" if self.max_rows == 1 else f"At most {self.max_rows} rows"
        how = "drawn at random; answers and intervals are about the rows that count, not about all rows."
        return [
            f"All rows of each {self.column} are made one row: each {self.column} counts once."
            if self.as_one
            else f"{rows} of each {self.column} {'counts' if self.max_rows == 1 else 'count'}, {how}",
            f"Rows whose {self.column} is missing are left out of every question.",
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as JSON can hold them."""
        facts = {"column": self.column, "neighbours": self.neighbours, "max_rows": self.max_rows}
        return {**facts, "as_one": True} if self.as_one else facts

    def __str__(self) -> str:
        rows = "all made one row" if self.as_one else f"at most {self.max_rows}"
        who = "one row" if self.column is None else f"the rows of one {self.column} ({rows})"
        return f"{who}, {'added or removed' if self.neighbours == 'add_remove' else 'replaced by others'}"


@dataclass(frozen=True)
class Domain:
    """The attributes and bounded columns of a table: everything about its values that is public.

    `unit` is who the domain file says is protected, None where it does not say. `file` is that file's name.
    `captions` are what people read in place of names and codes; two domains that differ in them alone are equal.
    Where a row is a person, made of `rows` that are described there, `made` says how. No row has one of the
    combinations that are `impossible`: synthetic rows keep that, and nothing else asks.
    """

    attributes: Mapping[str, Attribute]
    columns: Mapping[str, BoundedColumn] = field(default_factory=dict)
    name: str = "table"
    unit: PrivacyUnit | None = field(default=None, compare=False)
    file: str | None = field(default=None, compare=False, repr=False)
    captions: Captions = field(default=Captions(), compare=False, repr=False)
    rows: "Domain | None" = None
    made: Mapping[str, PerPerson] = field(default_factory=dict)
    impossible: tuple[Impossible, ...] = field(default=(), compare=False)

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
        only_keys("the domain file", facts, ("name", "unit", "attributes", "columns", "person", "impossible", *TEXTS))
        name = facts.get("name", Path(path).stem)
        if not isinstance(name, str):
            raise InvalidRequest(f"The name in {path} is {name!r}.", "Write the name as text.")
        attributes = read_attributes(facts, Path(path).parent)
        domain = cls(
            attributes,
            read_columns(facts, Path(path).parent),
            name,
            PrivacyUnit.of(facts["unit"]) if "unit" in facts else None,
            Path(path).name,
            read_captions(facts, attributes, Path(path).parent),
        )
        impossible = read_impossible(facts)
        if "person" not in facts:
            return domain.with_impossible(*impossible)
        people = domain.by_person(domain.protected(), read_per_person(facts))
        captions_of_people = read_own(facts, people.attributes)
        captions = people.captions.with_columns({**people.captions.columns, **captions_of_people})
        return people.with_captions(captions).with_impossible(*impossible)

    def by_person(self, unit: PrivacyUnit, made: Mapping[str, PerPerson]) -> "Domain":
        """Return the domain of a table with one row a person, which says what is `made` of all rows of that person.

        The unit is the person, as one row. Refused: a unit that is no person, or of several rows; what does not fit.
        """
        if unit.column is None or unit.max_rows != 1:
            raise InvalidRequest(
                "Rows of a person are made one row, and the unit is not a person with one row.",
                "Name the column that says whose a row is, under [unit] or in gd.PrivacyUnit, and leave max_rows out.",
            )
        if (
            self.rows is not None
            or not made
            or not all(isinstance(per_person, PerPerson) for per_person in made.values())
        ):
            raise InvalidRequest(
                "It is not said what is made of the rows of a person.",
                "Say it of rows, under [person] or with such as visits=gd.PerPerson.count(gd.integers(0, 50)).",
            )
        facts = {name: self._made(name, per_person) for name, per_person in made.items()}
        captions = {
            name: self.captions.columns.get(per_person.of or "")
            for name, per_person in made.items()
            if per_person.is_like_its_source
        }
        return replace(
            self,
            attributes={name: fact for name, fact in facts.items() if isinstance(fact, Attribute)},
            columns={name: fact for name, fact in facts.items() if isinstance(fact, BoundedColumn)},
            unit=replace(unit, as_one=True),
            captions=self.captions.with_columns({name: caption for name, caption in captions.items() if caption}),
            rows=self,
            made=dict(made),
            impossible=(),
        )

    def _made(self, name: str, per_person: PerPerson) -> Attribute | BoundedColumn:
        return named(f"[person] {name}", lambda: per_person.described(self.attributes, self.columns))

    def origins(self, names: Sequence[str]) -> list[str]:
        """Return of what rows the named values of a person are made, in sentences; none where a row is as it was."""
        columns = self.rows.columns if self.rows else {}
        person = self.unit.column if self.unit else None
        return [self.made[name].rule(name, person, columns) for name in dict.fromkeys(names) if name in self.made]

    def recipe(self, names: Sequence[str]) -> list[str]:
        """Return everything that decides what the named values of a person are; nothing where a row is as it was."""
        rows = self.rows or self
        per_person = [self.made[name] for name in names if name in self.made]
        sources = [
            (name, rows.attributes.get(name), rows.columns.get(name)) for rule in per_person for name in rule.sources
        ]
        return [repr((per_person, sources))] if per_person else []

    def with_attribute(self, name: str, attribute: Attribute) -> "Domain":
        """Return the same domain with another description of an attribute that it has."""
        self.described(name)
        return replace(self, attributes={**self.attributes, name: attribute})

    def with_captions(self, captions: Captions) -> "Domain":
        """Return the same domain with other words for people; questions and their answers stay what they are."""
        return replace(self, captions=captions)

    def with_impossible(self, *combinations: Mapping[str, str | Sequence[str]]) -> "Domain":
        """Return the same domain in which no row lies in one of the named cells of every attribute of a combination.

        Say it from public knowledge, such as `{"AGE": "[0,10)", "DEGREE": ["BA", "MA"]}`, and never from the data.
        """
        added = (Impossible.of(combination, self.attributes) for combination in combinations)
        return replace(self, impossible=(*self.impossible, *added))

    def protected(self, unit: PrivacyUnit | None = None) -> PrivacyUnit:
        """Return `unit`, or that of the domain file, or a row that is added or removed where there is neither.

        Refused: a `unit` of other people than the domain file's, or of several rows where a person is one.
        """
        if unit is None or self.unit is None:
            return replace(unit or self.unit or PrivacyUnit(), as_one=self.rows is not None)
        if unit.column != self.unit.column:
            raise InvalidRequest(
                f"The domain file protects {self.unit}; the call protects {unit}.",
                "Leave unit= out, or change [unit] in the file.",
            )
        if self.rows is not None and unit.max_rows != 1:
            raise InvalidRequest(f"Each {unit.column} is one row, and max_rows is {unit.max_rows}.", "Leave it out.")
        return replace(unit, as_one=self.rows is not None)

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
            self._refuse_of_rows(name)
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
            self._refuse_of_rows(name)
            raise self._unknown("bounded column", name, self.columns)
        return self.columns[name]

    def _refuse_of_rows(self, name: str) -> None:
        """Refuse a name that the rows have, where a question is about persons."""
        if self.rows is not None and (name in self.rows.attributes or name in self.rows.columns):
            raise UnknownName(
                f"{name} is of rows, and the question is about persons.",
                "Say under [person] what of it counts, such as "
                f'{{ max = "{name}" }}, and ask for that; choose from: {", ".join(self.made)}.',
            )

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

    def tree(self, name: str) -> str:
        """Return the column of the tree that an attribute is a level of; its own name where there is no tree."""
        return self.described(name).tree or name

    def levels(self, name: str) -> list[str]:
        """Return the levels of an attribute's tree, the coarsest first, up to itself; itself where there is no tree."""
        alike = [other for other in self.attributes if self.tree(other) == self.tree(name)]
        ordered = sorted(alike, key=lambda other: self.attributes[other].n_cells)
        return ordered[: ordered.index(name) + 1]

    def finest(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the names without levels of a tree that another of them tells."""
        last = {self.tree(name): name for name in sorted(names, key=lambda name: self.described(name).n_cells)}
        return tuple(name for name in names if last[self.tree(name)] == name)

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
