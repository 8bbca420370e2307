"""Domain: public facts, never read from the data."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from gaugedp._internal.displays import drawn_by
from gaugedp._internal.names import written
from gaugedp.domain import toml
from gaugedp.domain.attributes import Attribute, BoundedColumn, categories
from gaugedp.domain.captions import TEXTS, Captions
from gaugedp.domain.hierarchies import Tree, check_trees, starts_in
from gaugedp.domain.person_aggregates import PerPerson
from gaugedp.domain.structural_zeros import Impossible
from gaugedp.domain.text_format import PLAIN, TextFormat
from gaugedp.domain.unit import PrivacyUnit
from gaugedp.domain.weights import NO_DESIGN, Design, check_weights
from gaugedp.errors import InvalidRequest, UnknownName


@dataclass(frozen=True)
class Domain:
    """Public description of a table: its columns and their values.

    Queries need a domain, because the noise must be chosen without reading the data. Describe the columns that you want
    to query from public knowledge, never from the data, with `Domain.of` or with a domain file that `Domain.load`
    reads. There are two kinds of columns. *Attributes*, such as sex, divide the rows into cells that can be counted.
    *Bounded columns*, such as pay, can be summed and averaged.

    The other parts are optional:

    - `unit` states who is protected, and `file` is the name of the domain file.
    - `captions` are printed instead of names and codes.
    - `rows` and `made` describe the original rows and their aggregation, if all rows of a person were aggregated to
      one.
    - `impossible` lists combinations of values that no row can have. Only synthetic rows use them.
    - `weights` names the column of survey weights, and `design` the strata and clusters of the survey.
    - `text_format` states how text files with the data are written.

    Examples
    --------
    Two sexes and ten age groups make 20 cells:

    >>> import gaugedp as gd
    >>> gd.Domain.of(sex=["1", "2"], age=gd.bins(0, 100, 10), pay=gd.bounded(0, 5000)).n_cells()
    20
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
    text_format: TextFormat = PLAIN
    weights: str | None = None
    design: Design = NO_DESIGN

    _repr_html_ = drawn_by("domain")

    def __post_init__(self) -> None:
        for facts, kind in ((self.attributes, Attribute), (self.columns, BoundedColumn)):
            if not isinstance(facts, Mapping) or not all(isinstance(fact, kind) for fact in facts.values()):
                raise InvalidRequest(
                    "A domain consists of attributes and bounded columns, but something else was passed.",
                    "Use gd.Domain.of(sex=[...], age=gd.bins(...), pay=gd.bounded(...)), or gd.Domain.load(path).",
                )
        check_trees(self.attributes)
        check_weights(self.weights, self.columns)
        self.design.check(self.weights, self.attributes)

    @classmethod
    def of(cls, **columns: Attribute | BoundedColumn | Tree | Sequence[str]) -> "Domain":
        """Return a domain from a description of each column.

        Describe only the columns that you want to query, and take each description from public knowledge, never from
        the data.

        Parameters
        ----------
        **columns : sequence of str, Attribute, BoundedColumn or Tree
            For each column, by its name, a list of categories or the result of `gd.bins`, `gd.integers`, `gd.dates`,
            `gd.tree` or `gd.bounded`.

        Examples
        --------
        Describe two attributes, by which rows can be counted, and a bounded column, which can be summed and averaged:

        >>> import gaugedp as gd
        >>> domain = gd.Domain.of(sex=["1", "2"], age=gd.bins(0, 100, 10), pay=gd.bounded(0, 5000))
        >>> list(domain.attributes), list(domain.columns)
        (['sex', 'age'], ['pay'])
        """
        facts: dict[str, Attribute | BoundedColumn] = {}
        for name, value in columns.items():
            toml.add_facts(facts, _as_facts(name, value))
        return cls(
            {name: fact for name, fact in facts.items() if isinstance(fact, Attribute)},
            {name: fact for name, fact in facts.items() if isinstance(fact, BoundedColumn)},
        )

    @classmethod
    def load(cls, path: str | Path) -> "Domain":
        """Return the domain that a TOML file describes.

        The format is explained in docs/how-to/domain-file.md.
        """
        facts = toml.read_toml(path)
        toml.only_keys("the domain file", facts, (*toml.SECTIONS, *TEXTS))
        name = facts.get("name", Path(path).stem)
        if not isinstance(name, str):
            raise InvalidRequest(f"`name` in {path} is {name!r}, but must be a string.", "Write it in quotes.")
        attributes = toml.read_attributes(facts, Path(path).parent)
        domain = cls(
            attributes,
            toml.read_columns(facts, Path(path).parent),
            name,
            PrivacyUnit.of(facts["unit"]) if "unit" in facts else None,
            Path(path).name,
            toml.read_captions(facts, attributes, Path(path).parent),
            text_format=TextFormat.of(facts.get("file", {})),
        )
        if weights := toml.read_weights(facts):
            domain = domain.with_weights(**weights)
        impossible = toml.read_impossible(facts)
        if "person" not in facts:
            return domain.with_impossible(*impossible)
        people = domain.by_person(domain.protected(), toml.read_per_person(facts))
        captions_of_people = toml.read_own(facts, people.attributes)
        captions = people.captions.with_columns({**people.captions.columns, **captions_of_people})
        return people.with_captions(captions).with_impossible(*impossible)

    def by_person(self, unit: PrivacyUnit, made: Mapping[str, PerPerson]) -> "Domain":
        """Return the domain of one row per person.

        Use it if persons have several rows and you want to query facts about persons, such as their number of visits.
        Usually you call `gd.by_person` instead, which returns a table with this domain.

        Parameters
        ----------
        unit : PrivacyUnit
            The privacy unit, which must name the column that identifies persons.
        made : mapping of str to PerPerson
            For each fact, by its name, how it is computed from the rows of a person.

        Examples
        --------
        The number of visits is an integer from 0 to 50, so it has 51 possible values:

        >>> import gaugedp as gd
        >>> rows = gd.Domain.of(sex=["1", "2"])
        >>> rows.by_person(gd.PrivacyUnit("id"), {"visits": gd.PerPerson.count(gd.integers(0, 50))}).shape(["visits"])
        (51,)
        """
        if unit.column is None or unit.max_rows != 1:
            raise InvalidRequest(
                f"Rows are aggregated by person, so the unit must be a person with one row, but it is {unit}.",
                "Name the column that identifies persons, under [unit] or in gd.PrivacyUnit, and omit `max_rows`.",
            )
        are_described = bool(made) and all(isinstance(per_person, PerPerson) for per_person in made.values())
        if self.rows is not None or not are_described:
            raise InvalidRequest(
                "The domain does not specify how a person's rows are aggregated.",
                "Use [person] in the domain file or, for example, visits=gd.PerPerson.count(gd.integers(0, 50)).",
            )
        facts = {name: self._made(name, per_person) for name, per_person in made.items()}
        captions = {
            name: self.captions.columns.get(per_person.of or "")
            for name, per_person in made.items()
            if per_person.kind in ("max", "min", "last")  # one of the rows' values
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
        return toml.named(f"[person] {name}", lambda: per_person.described(self.attributes, self.columns))

    def origins(self, names: Sequence[str]) -> list[str]:
        """Return sentences on how values follow from a person's rows."""
        columns = self.rows.columns if self.rows else {}
        person = self.unit.column if self.unit else None
        return [self.made[name].rule(name, person, columns) for name in dict.fromkeys(names) if name in self.made]

    def recipe(self, names: Sequence[str]) -> list[str]:
        """Return what else decides values: text format and aggregation."""
        rows = self.rows or self
        per_person = [self.made[name] for name in names if name in self.made]
        used = [name for rule in per_person for name in rule.sources]
        sources = [(name, rows.attributes.get(name), rows.columns.get(name)) for name in used]
        written = [] if self.text_format == PLAIN else [repr(self.text_format)]
        return written + ([repr((per_person, sources))] if per_person else [])

    def with_attribute(self, name: str, attribute: Attribute) -> "Domain":
        """Return the domain with a new description of an attribute."""
        self.described(name)
        return replace(self, attributes={**self.attributes, name: attribute})

    def with_weights(self, name: str, weight: BoundedColumn, strata: str = "", clusters: str = "") -> "Domain":
        """Return the domain with a column of survey weights.

        Use it if each row stands for several people, as in a sample survey. Means, sums, shares, comparisons, standard
        deviations and quantiles are then weighted, unless the query contains the word `unweighted`.

        Parameters
        ----------
        name : str
            The name of the column of weights.
        weight : BoundedColumn
            The public bounds of the weights, which must be at least 0 and at most 2^20 steps. Weights are clipped to
            them.
        strata, clusters : str
            The attributes that name the stratum and the cluster from which a row was drawn. They are used for
            confidence intervals that include the sampling error. By default there are none.

        Examples
        --------
        A weighted query of `pay` also reads the column of weights, `w`:

        >>> import gaugedp as gd
        >>> domain = gd.Domain.of(sex=["1", "2"], pay=gd.bounded(0, 100)).with_weights("w", gd.bounded(1, 600))
        >>> gd.query(domain, "weighted count by sex; mean(pay)").columns
        ('pay', 'w')
        """
        if self.columns.get(name, weight) != weight:
            raise InvalidRequest(f"{name} is both a weight and a column.", "Describe it only under [weights].")
        columns = {**self.columns, name: weight}
        return replace(self, columns=columns, weights=name, design=Design(strata, clusters))

    def with_captions(self, captions: Captions) -> "Domain":
        """Return the domain with new captions; queries do not change."""
        return replace(self, captions=captions)

    def with_text_format(self, **facts: str) -> "Domain":
        """Return the domain for text files in another format.

        The keywords are the keys of [file] in a domain file, such as `separator=";", decimal=","`.
        """
        rows = self.rows and self.rows.with_text_format(**facts)
        return replace(self, text_format=TextFormat.of(facts), rows=rows)

    def with_impossible(self, *combinations: Mapping[str, str | Sequence[str]]) -> "Domain":
        """Return the domain with additional structural zeros.

        A structural zero is a combination of cells that no row can have, such as a child with a degree: `{"AGE":
        "[0,10)", "DEGREE": ["BA", "MA"]}`. State it from public knowledge, never from the data.
        """
        added = (Impossible.of(combination, self.attributes) for combination in combinations)
        return replace(self, impossible=(*self.impossible, *added))

    def protected(self, unit: PrivacyUnit | None = None) -> PrivacyUnit:
        """Return `unit`, or by default the domain file's unit.

        Without a unit in either, each row is a unit. A `unit` that contradicts the domain file is refused, and so is
        one of several rows if each row is a person.
        """
        if unit is None or self.unit is None:
            return replace(unit or self.unit or PrivacyUnit(), as_one=self.rows is not None)
        if unit.column != self.unit.column:
            raise InvalidRequest(
                f"The domain file protects {self.unit}; the call protects {unit}.",
                "Omit `unit`, or change [unit] in the file.",
            )
        if self.rows is not None and unit.max_rows != 1:
            raise InvalidRequest(
                f"`max_rows` is {unit.max_rows}, but all rows of each {unit.column} become one row.", "Omit `max_rows`."
            )
        return replace(unit, as_one=self.rows is not None)

    def attribute(self, name: str) -> Attribute:
        """Return the attribute called `name`, whose categories must be known."""
        attribute = self.described(name)
        if not attribute.has_cells:
            raise InvalidRequest(
                f"The categories of {name} are not known yet.",
                f"Release them first, with gaugedp keys --attribute {written(name)} or gd.release_keys, and use the "
                "resulting domain.",
            )
        return attribute

    def described(self, name: str) -> Attribute:
        """Return an attribute, even if its categories are unknown."""
        if name not in self.attributes and name in self.columns:
            raise UnknownName(
                f"There is no attribute {name!r}, but a bounded column has this name.",
                f"Use sum({written(name)}) or mean({written(name)}), or describe it under [attributes] as well.",
            )
        if name not in self.attributes:
            self._refuse_of_rows(name)
            raise self._unknown("attribute", name, self.attributes)
        return self.attributes[name]

    def column(self, name: str) -> BoundedColumn:
        """Return the bounded column called `name`."""
        if name not in self.columns and name in self.attributes:
            raise UnknownName(
                f"There is no bounded column {name!r}, but an attribute has this name.",
                "Request its counts, from which shares follow. If its values are numbers, you can also describe "
                "it under [columns].",
            )
        if name not in self.columns:
            self._refuse_of_rows(name)
            raise self._unknown("bounded column", name, self.columns)
        return self.columns[name]

    def _refuse_of_rows(self, name: str) -> None:
        if self.rows is not None and (name in self.rows.attributes or name in self.rows.columns):
            raise UnknownName(
                f"{name} is a column of rows, but this domain aggregates all rows of a person into one.",
                "Describe an aggregate of it under [person], such as "
                f'{{ max = "{name}" }}; choose from: {", ".join(self.made)}.',
            )

    @staticmethod
    def _unknown(kind: str, name: str, names: Mapping[str, object]) -> UnknownName:
        if names:
            return UnknownName.among(kind, name, names)
        return UnknownName(
            f"There is no {kind} {name!r}: the domain has none.",
            f"In a domain file, fill in a line of [{kind.rpartition(' ')[2]}s] and remove its #.",
        )

    def source(self, name: str) -> str:
        """Return the table's column that an attribute is read from."""
        return self.described(name).column or name

    def tree(self, name: str) -> str:
        """Return the column of an attribute's tree, or its name."""
        return self.described(name).tree or name

    def levels(self, name: str) -> list[str]:
        """Return the levels of an attribute's tree, the coarsest first.

        The last of them is the attribute itself.
        """
        alike = [other for other in self.attributes if self.tree(other) == self.tree(name)]
        ordered = sorted(alike, key=lambda other: self.attributes[other].n_cells)
        return ordered[: ordered.index(name) + 1]

    def finest(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the names, without levels that a finer one determines."""
        last = {self.tree(name): name for name in sorted(names, key=lambda name: self.described(name).n_cells)}
        return tuple(name for name in names if last[self.tree(name)] == name)

    def starts(self, name: str, finer: str) -> tuple[int, ...]:
        """Return, for each cell, its first cell in `finer`."""
        return starts_in(self.attribute(name), self.attribute(finer))

    def shape(self, names: Sequence[str]) -> tuple[int, ...]:
        """Return the number of cells of each named attribute."""
        return tuple(self.attribute(name).n_cells for name in names)

    def n_cells(self, names: Sequence[str] | None = None) -> int:
        """Return the number of cells of a cross-table of attributes.

        By default, these are all attributes, of each tree the finest level.
        """
        return math.prod(self.shape(self.finest(tuple(self.attributes)) if names is None else names))


def _as_facts(name: str, value: object) -> Mapping[str, Attribute | BoundedColumn]:
    if isinstance(value, Attribute | BoundedColumn):
        return {name: value}
    if isinstance(value, Tree):
        return toml.named_tree(name, value)
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InvalidRequest(
            f"{value!r} does not describe the possible values of {name}.",
            "Use a list of categories, gd.bins, gd.integers or gd.bounded.",
        )
    return {name: toml.named(f"attribute {name}", lambda: categories(value))}
