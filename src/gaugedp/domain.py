"""Public facts: which values a column may take, and who is protected. Never read off the data."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

from gaugedp._validate import decimal, finite, one_of, positive, whole
from gaugedp.errors import InvalidRequest, UnknownName

OTHER = "other"
MAX_STEPS = 2**40  # a bounded column has at most this many steps, so that sums stay exact


class Attribute(ABC):
    """A column with finitely many cells, numbered 0 … n_cells − 1, known before any row is read.

    `outside` is the rule for every value that fits no cell (NULL, NaN and text that is no number included):
    "drop" leaves the row out of the question, "other" counts it in one more cell, the last.
    """

    outside: str

    @property
    def n_cells(self) -> int:
        """The number of cells, the `other` cell included."""
        return self.n_inside + (self.outside == OTHER)

    @property
    @abstractmethod
    def n_inside(self) -> int:
        """The number of cells without the `other` cell."""

    @abstractmethod
    def inside_label(self, code: int) -> str:
        """The text of cell `code` < n_inside."""

    def label(self, code: int) -> str:
        """The text of cell `code`."""
        return OTHER if code == self.n_inside else self.inside_label(code)

    @property
    def labels(self) -> tuple[str, ...]:
        """The texts of all cells, in order."""
        return tuple(self.label(code) for code in range(self.n_cells))


@dataclass(frozen=True)
class Categories(Attribute):
    """Categories, as text. A number column matches a category that is written as the same number."""

    values: tuple[str, ...]
    outside: str = "drop"

    def __post_init__(self) -> None:
        one_of(("drop", OTHER), outside=self.outside)
        if not self.values:
            raise InvalidRequest("An attribute has no categories.", "List at least one category.")
        if any(not isinstance(value, str) for value in self.values):
            raise InvalidRequest(f"The categories {self.values!r} are not all text.", 'Write each as text, like "1".')
        if len(set(self.values)) < len(self.values):
            raise InvalidRequest(f"A category appears twice in {self.values!r}.", "List each category once.")
        if self.outside == OTHER and OTHER in self.values:
            raise InvalidRequest('"other" is already a category.', 'Rename it, or use outside = "drop".')

    @property
    def n_inside(self) -> int:
        """The number of listed categories."""
        return len(self.values)

    def inside_label(self, code: int) -> str:
        """The category itself."""
        return self.values[code]


@dataclass(frozen=True)
class Bins(Attribute):
    """Numeric bins [low, low + width), …, the last one closed at `high`."""

    low: Fraction
    width: Fraction
    count: int
    outside: str = "drop"

    @property
    def n_inside(self) -> int:
        """The number of bins."""
        return self.count

    @property
    def high(self) -> Fraction:
        """The closed upper end."""
        return self.low + self.width * self.n_inside

    def inside_label(self, code: int) -> str:
        """The interval, such as "[10,20)"."""
        return _interval(self.low + self.width * code, self.low + self.width * (code + 1), code + 1 == self.n_inside)


@dataclass(frozen=True)
class EdgeBins(Attribute):
    """Numeric bins between increasing `edges`, the last one closed."""

    edges: tuple[Fraction, ...]
    outside: str = "drop"

    @property
    def n_inside(self) -> int:
        """One fewer than the edges."""
        return len(self.edges) - 1

    def inside_label(self, code: int) -> str:
        """The interval, such as "[18,65)"."""
        return _interval(self.edges[code], self.edges[code + 1], code + 1 == self.n_inside)


@dataclass(frozen=True)
class Integers(Attribute):
    """The whole numbers `first` … `last`, a cell each."""

    first: int
    last: int
    outside: str = "drop"

    @property
    def n_inside(self) -> int:
        """last − first + 1."""
        return self.last - self.first + 1

    def inside_label(self, code: int) -> str:
        """The number as text."""
        return str(self.first + code)


@dataclass(frozen=True)
class BoundedColumn:
    """A number that can be summed: clipped to [low, high], rounded to multiples of `step`.

    `missing` is the rule for NULL, NaN and text that is no number: "drop" leaves the row out of the question,
    a number takes its place. An infinite value is clipped like any other.
    """

    low: Fraction
    high: Fraction
    step: Fraction
    missing: Fraction | None = None

    @property
    def low_steps(self) -> int:
        """The lower bound in steps."""
        return int(self.low / self.step)

    @property
    def high_steps(self) -> int:
        """The upper bound in steps."""
        return int(self.high / self.step)


def categories(values: Sequence[str], outside: str = "drop") -> Categories:
    """Return an attribute whose cells are the texts in `values`."""
    return Categories(tuple(values), outside)


def bins(
    low: float | None = None,
    high: float | None = None,
    width: float | None = None,
    *,
    edges: Sequence[float] | None = None,
    outside: str = "drop",
) -> Bins | EdgeBins:
    """Return numeric bins of equal `width` from `low` to `high`, or between the given `edges`."""
    one_of(("drop", OTHER), outside=outside)
    if edges is not None:
        return _edge_bins(edges, outside)
    if low is None or high is None or width is None:
        raise InvalidRequest("The bins are incomplete.", "Give low, high and width, or edges.")
    finite(low=low, high=high)
    positive(width=width)
    if not low < high:
        raise InvalidRequest(f"The bounds are low = {low!r} and high = {high!r}.", "Give low below high.")
    count = (decimal(high) - decimal(low)) / decimal(width)
    if count.denominator != 1:
        raise InvalidRequest(
            f"Bins of width {width!r} do not fill [{low!r}, {high!r}].", "Choose a width that divides high - low."
        )
    return Bins(decimal(low), decimal(width), int(count), outside)


def integers(first: int, last: int, outside: str = "drop") -> Integers:
    """Return an attribute with a cell for each whole number from `first` to `last`."""
    one_of(("drop", OTHER), outside=outside)
    whole(minimum=-(2**53), first=first, last=last)
    if first > last:
        raise InvalidRequest(f"The bounds are from = {first} and to = {last}.", "Give from at most to.")
    return Integers(first, last, outside)


def bounded(low: float, high: float, step: float = 1, missing: str | float = "drop") -> BoundedColumn:
    """Return a bounded column: clipped to [low, high], in multiples of `step`, `missing` = "drop" or a number."""
    finite(low=low, high=high)
    positive(step=step)
    if not low < high:
        raise InvalidRequest(f"The bounds are low = {low!r} and high = {high!r}.", "Give low below high.")
    bottom, top, unit = decimal(low), decimal(high), decimal(step)
    if (bottom / unit).denominator != 1 or (top / unit).denominator != 1:
        raise InvalidRequest(
            f"The bounds {low!r} and {high!r} are not multiples of step = {step!r}.", "Round them, or choose a finer step."
        )
    if max(abs(bottom), abs(top)) / unit > MAX_STEPS:
        raise InvalidRequest(
            f"The bounds are more than 2^40 steps of {step!r} away from 0.", "Choose a coarser step."
        )
    return BoundedColumn(bottom, top, unit, _replacement(missing, bottom, top, unit))


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
        if self.column is None and self.max_rows != 1:
            raise InvalidRequest(
                f"max_rows is {self.max_rows} without a column.", "Name the column that tells whose a row is."
            )

    @classmethod
    def load(cls, path: str | Path) -> "PrivacyUnit":
        """Return the unit that the [unit] section of a domain file describes (a row, add_remove, where absent)."""
        return cls.of(_read_toml(path).get("unit", {}))

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> "PrivacyUnit":
        """Return the unit described by a mapping with the keys column, neighbours and max_rows."""
        _only_keys("[unit]", facts, ("column", "neighbours", "max_rows"))
        return cls(**facts)

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as JSON can hold them."""
        return {"column": self.column, "neighbours": self.neighbours, "max_rows": self.max_rows}

    def __str__(self) -> str:
        who = "one row" if self.column is None else f"the rows of one {self.column} (at most {self.max_rows})"
        return f"{who}, {'added or removed' if self.neighbours == 'add_remove' else 'replaced by others'}"


@dataclass(frozen=True)
class Domain:
    """The attributes and bounded columns of a table: everything about its values that is public."""

    attributes: Mapping[str, Attribute]
    columns: Mapping[str, BoundedColumn] = field(default_factory=dict)
    name: str = "table"

    @classmethod
    def of(cls, **columns: Attribute | BoundedColumn | Sequence[str]) -> "Domain":
        """Return a domain from names: a list of categories, `bins`, `integers` or `bounded` for each."""
        made = {name: _as_fact(name, value) for name, value in columns.items()}
        return cls(
            {name: fact for name, fact in made.items() if isinstance(fact, Attribute)},
            {name: fact for name, fact in made.items() if isinstance(fact, BoundedColumn)},
        )

    @classmethod
    def load(cls, path: str | Path) -> "Domain":
        """Return the domain that a TOML file describes (see the docs page on domain files)."""
        facts = _read_toml(path)
        _only_keys("the domain file", facts, ("name", "unit", "attributes", "columns"))
        name = facts.get("name", Path(path).stem)
        if not isinstance(name, str):
            raise InvalidRequest(f"The name in {path} is {name!r}.", "Write the name as text.")
        return cls(
            {key: _attribute(key, value) for key, value in _section(facts, "attributes").items()},
            {key: _column(key, value) for key, value in _section(facts, "columns").items()},
            name,
        )

    def attribute(self, name: str) -> Attribute:
        """Return the attribute called `name`."""
        if name not in self.attributes:
            raise UnknownName.among("attribute", name, self.attributes)
        return self.attributes[name]

    def column(self, name: str) -> BoundedColumn:
        """Return the bounded column called `name`."""
        if name not in self.columns:
            raise UnknownName.among("bounded column", name, self.columns)
        return self.columns[name]

    def shape(self, names: Sequence[str]) -> tuple[int, ...]:
        """Return the numbers of cells of the named attributes."""
        return tuple(self.attribute(name).n_cells for name in names)

    def n_cells(self, names: Sequence[str] | None = None) -> int:
        """Return the number of cells of the contingency table over the named attributes (all where None)."""
        return math.prod(self.shape(tuple(self.attributes) if names is None else names))


def _interval(low: Fraction, high: Fraction, closed: bool) -> str:
    return f"[{float(low):.12g},{float(high):.12g}{']' if closed else ')'}"


def _edge_bins(edges: Sequence[float], outside: str) -> EdgeBins:
    for edge in edges:
        finite(edge=edge)
    exact = tuple(decimal(edge) for edge in edges)
    if len(exact) < 2 or any(left >= right for left, right in pairwise(exact)):
        raise InvalidRequest(f"The edges are {list(edges)!r}.", "Give at least two edges, each above the one before.")
    return EdgeBins(exact, outside)


def _replacement(missing: str | float, low: Fraction, high: Fraction, step: Fraction) -> Fraction | None:
    if missing == "drop":
        return None
    finite(missing=missing)
    value = decimal(float(missing))
    if not low <= value <= high or (value / step).denominator != 1:
        raise InvalidRequest(
            f"missing is {missing!r}.", 'Give "drop", or a multiple of step between low and high.'
        )
    return value


def _as_fact(name: str, value: object) -> Attribute | BoundedColumn:
    if isinstance(value, Attribute | BoundedColumn):
        return value
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InvalidRequest(
            f"{name} is described by {value!r}.", "Give a list of categories, gd.bins, gd.integers or gd.bounded."
        )
    return categories(value)


def _read_toml(path: str | Path) -> dict[str, Any]:
    import tomllib

    try:
        with Path(path).open("rb") as file:
            return tomllib.load(file)
    except FileNotFoundError:
        raise InvalidRequest(f"There is no domain file {str(path)!r}.", "Check the path.") from None
    except OSError as error:
        raise InvalidRequest(f"The domain file {str(path)!r} cannot be read ({error.strerror}).", "Check the path.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"The domain file {str(path)!r} is not TOML: {error}.", "Mend that line.") from None


def _section(facts: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = facts.get(name, {})
    if not isinstance(section, Mapping):
        raise InvalidRequest(f"{name} in the domain file is {section!r}.", f"Write it as a [{name}] section.")
    return section


def _only_keys(place: str, facts: object, known: tuple[str, ...]) -> None:
    if not isinstance(facts, Mapping):
        raise InvalidRequest(f"{place} is {facts!r}.", f"Write it with the keys {', '.join(known)}.")
    for key in facts:
        if key not in known:
            raise UnknownName.among(f"key in {place}", key, known)


def _attribute(name: str, value: object) -> Attribute:
    place = f"attribute {name}"
    if isinstance(value, list):
        return categories(value)
    _only_keys(place, value, ("values", "low", "high", "width", "edges", "from", "to", "outside"))
    facts = dict(value)  # type: ignore[call-overload]
    outside = facts.pop("outside", "drop")
    match sorted(facts):
        case ["values"]:
            return categories(facts["values"], outside)
        case ["high", "low", "width"] | ["edges"]:
            return bins(**facts, outside=outside)
        case ["from", "to"]:
            return integers(facts["from"], facts["to"], outside)
    raise InvalidRequest(
        f"{place} has the keys {', '.join(sorted(facts)) or '(none)'}.",
        "Give a list of categories, or low, high and width, or edges, or from and to.",
    )


def _column(name: str, value: object) -> BoundedColumn:
    _only_keys(f"column {name}", value, ("low", "high", "step", "missing"))
    facts = dict(value)  # type: ignore[call-overload]
    if "low" not in facts or "high" not in facts:
        raise InvalidRequest(
            f"Column {name} has no bounds.", "Give low and high from public knowledge, never from the data."
        )
    return bounded(**facts)
