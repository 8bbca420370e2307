"""Descriptions of columns, which are public: cells for counts and bounds for sums."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar

from gaugedp._internal.validate import decimal, finite, is_finite, one_of, positive, whole
from gaugedp.errors import InvalidRequest

OTHER = "other"
NO_NUMBER = "text that is not a plain number (such as 1,250 or €5) counts as missing"
MOST_KEYS = 10**6  # that partition selection may show
MAX_STEPS = 2**40  # a bounded column has at most this many steps, so that sums stay exact


class Attribute(ABC):
    """Column with finitely many cells that are known in advance.

    The cells are 0 … n_cells − 1. `outside` is the rule for all other values (NULL, NaN and text that is not a number
    included): "drop" leaves the row out of the query, and "other" counts it in an additional last cell.
    """

    outside: str
    column: str = ""  # of the table, if its name differs from the attribute's
    values_are: ClassVar[str] = "numbers"
    has_cells: ClassVar[bool] = True

    @property
    def tree(self) -> str:
        """Column of its tree, or "" if it is in none."""
        return ""

    @property
    def borders(self) -> tuple[float, ...]:
        """Ends of the n_inside cells on a line, one more than cells; () without widths."""
        return ()

    @property
    def n_cells(self) -> int:
        """Number of cells, including `other`."""
        return self.n_inside + (self.outside == OTHER)

    @property
    @abstractmethod
    def n_inside(self) -> int:
        """Number of cells, excluding `other`."""

    @abstractmethod
    def inside_label(self, code: int) -> str:
        """Return the text of cell `code` < n_inside."""

    def label(self, code: int) -> str:
        """Return the text of cell `code`."""
        return OTHER if code == self.n_inside else self.inside_label(code)

    @property
    def labels(self) -> tuple[str, ...]:
        """Texts of all cells, in order."""
        return tuple(self.label(code) for code in range(self.n_cells))


@dataclass(frozen=True)
class Categories(Attribute):
    """Attribute whose cells are given categories; numbers match equal numerals."""

    values: tuple[str, ...]
    outside: str = "drop"
    values_are: ClassVar[str] = "categories"

    def __post_init__(self) -> None:
        one_of(("drop", OTHER), outside=self.outside)
        if not self.values:
            raise InvalidRequest("An attribute has no categories.", "List at least one category.")
        if not all(issubclass(kind, str) for kind in set(map(type, self.values))):
            raise InvalidRequest(f"The categories {self.values!r} are not all text.", 'Use text, such as "1".')
        if len(set(self.values)) < len(self.values):
            raise InvalidRequest(f"A category appears twice in {self.values!r}.", "List each category once.")
        if not _is_unicode("".join(self.values)):
            raise InvalidRequest("A category contains half of a surrogate pair.", "Use valid Unicode text.")
        if self.outside == OTHER and OTHER in self.values:
            raise InvalidRequest('outside = "other" repeats a category.', 'Rename it, or use outside = "drop".')

    @property
    def n_inside(self) -> int:
        """Number of listed categories."""
        return len(self.values)

    def inside_label(self, code: int) -> str:
        """Return the category itself."""
        return self.values[code]

    @property
    def labels(self) -> tuple[str, ...]:
        """Categories, with `other` if it is a cell."""
        return (*self.values, OTHER) if self.outside == OTHER else self.values


@dataclass(frozen=True)
class Bins(Attribute):
    """Attribute of equal numeric bins [low, low + width), …, the last closed."""

    low: Fraction
    width: Fraction
    count: int
    outside: str = "drop"

    @property
    def n_inside(self) -> int:
        """Number of bins."""
        return self.count

    @property
    def high(self) -> Fraction:
        """Closed upper end."""
        return self.low + self.width * self.n_inside

    @property
    def borders(self) -> tuple[float, ...]:
        """Ends of the bins."""
        return tuple(float(self.low + self.width * place) for place in range(self.n_inside + 1))

    def inside_label(self, code: int) -> str:
        """Return the interval, such as "[10,20)"."""
        return _interval(self.low + self.width * code, self.low + self.width * (code + 1), code + 1 == self.n_inside)


@dataclass(frozen=True)
class EdgeBins(Attribute):
    """Attribute of numeric bins between increasing edges, the last closed."""

    edges: tuple[Fraction, ...]
    outside: str = "drop"

    @property
    def n_inside(self) -> int:
        """Number of bins, one fewer than edges."""
        return len(self.edges) - 1

    @property
    def borders(self) -> tuple[float, ...]:
        """Edges of the bins."""
        return tuple(map(float, self.edges))

    def inside_label(self, code: int) -> str:
        """Return the interval, such as "[18,65)"."""
        return _interval(self.edges[code], self.edges[code + 1], code + 1 == self.n_inside)


@dataclass(frozen=True)
class Integers(Attribute):
    """Attribute with one cell for each integer from `first` to `last`."""

    first: int
    last: int
    outside: str = "drop"

    @property
    def n_inside(self) -> int:
        """Number of integers, last − first + 1."""
        return self.last - self.first + 1

    def inside_label(self, code: int) -> str:
        """Return the number as text."""
        return str(self.first + code)


@dataclass(frozen=True)
class UnknownKeys(Attribute):
    """Attribute whose categories are not known in advance."""

    most: int
    outside: str = OTHER
    values_are: ClassVar[str] = "categories"
    has_cells: ClassVar[bool] = False

    def __post_init__(self) -> None:
        whole(minimum=1, most=self.most)
        if self.most > MOST_KEYS:
            raise InvalidRequest(f"`most` is {self.most:,}, which is too many keys.", f"Choose at most {MOST_KEYS:,}.")

    @property
    def n_inside(self) -> int:
        """0: no key is known."""
        return 0

    def inside_label(self, code: int) -> str:
        """Refuse any cell."""
        raise IndexError(code)


@dataclass(frozen=True, repr=False)
class BoundedColumn:
    """Numeric column that can be summed, with its bounds.

    Values are clipped to [low, high] in multiples of `step`. `missing` replaces NULL, NaN, other text and the codes in
    `unknown`; None drops the row. `by_key` holds the steps above `low` for each value of a lookup table's `column`.
    """

    low: Fraction
    high: Fraction
    step: Fraction
    missing: Fraction | None = None
    unknown: tuple[Fraction, ...] = ()
    column: str = ""
    by_key: tuple[tuple[str, int], ...] = ()

    def __repr__(self) -> str:
        """Return the text that enters digests of queries. Without codes, it is that of earlier versions."""
        codes = f", unknown={self.unknown!r}" * bool(self.unknown)
        codes += f", column={self.column!r}, by_key={self.by_key!r}" * bool(self.column)
        return (
            f"BoundedColumn(low={self.low!r}, high={self.high!r}, step={self.step!r}, missing={self.missing!r}{codes})"
        )

    @property
    def low_steps(self) -> int:
        """Lower bound in steps."""
        return int(self.low / self.step)

    @property
    def high_steps(self) -> int:
        """Upper bound in steps."""
        return int(self.high / self.step)


def categories(values: Sequence[str], outside: str = "drop") -> Categories:
    """Describe a column of text by a list of categories.

    Use it to count rows by category. Take the list from public knowledge: the data would reveal rare categories.

    Parameters
    ----------
    values : sequence of str
        The categories, such as the regions of a country. Each category is one cell to count in.
    outside : {"drop", "other"}
        The rule for other values: leave the row out, or count it in an additional cell "other". Default "drop".

    Examples
    --------
    >>> import gaugedp as gd
    >>> gd.categories(["north", "south"], outside="other").labels
    ('north', 'south', 'other')
    """
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise InvalidRequest(f"The categories {values!r} are not a list of texts.", "Pass a list of strings.")
    return Categories(tuple(values), outside)


def unknown_keys(most: int) -> UnknownKeys:
    """Describe an attribute whose categories are not known in advance.

    Use it for names or codes that you cannot list: `gd.release_keys` publishes up to `most` that enough people share.

    Examples
    --------
    >>> import gaugedp as gd
    >>> gd.Domain.of(city=gd.unknown_keys(1000)).described("city").most
    1000
    """
    return UnknownKeys(most)


def bins(
    low: float | None = None,
    high: float | None = None,
    width: float | None = None,
    *,
    edges: Sequence[float] | None = None,
    outside: str = "drop",
) -> Bins | EdgeBins:
    """Describe a numeric column by bins to count in.

    Use it to count rows by intervals of a number, such as age groups. Pass `low`, `high` and `width`, or only `edges`.

    Parameters
    ----------
    low, high, width : float, optional
        The range of the bins and their common width, which must divide the range. The last bin includes `high`.
    edges : sequence of float, optional
        Increasing edges of bins whose widths may differ.
    outside : {"drop", "other"}
        The rule for other values, as for `gd.categories`. Default "drop".

    Examples
    --------
    >>> import gaugedp as gd
    >>> gd.bins(edges=[0, 18, 65]).labels  # 18 counts in the second bin, and 65 as well
    ('[0,18)', '[18,65]')
    """
    one_of(("drop", OTHER), outside=outside)
    if edges is not None:
        return _edge_bins(edges, outside)
    if low is None or high is None or width is None:
        raise InvalidRequest("The bins are incomplete.", "Pass `low`, `high` and `width`, or pass `edges`.")
    finite(low=low, high=high)
    positive(width=width)
    if not low < high:
        raise InvalidRequest(f"`low` is {low!r}, which is not below `high`, {high!r}.", "Choose low < high.")
    count = (decimal(high) - decimal(low)) / decimal(width)
    if count.denominator != 1:
        raise InvalidRequest(
            f"Bins of width {width!r} do not fill [{low!r}, {high!r}].", "Choose a `width` that divides high - low."
        )
    return Bins(decimal(low), decimal(width), int(count), outside)


def integers(first: int, last: int, outside: str = "drop") -> Integers:
    """Describe a column of integers from `first` to `last`.

    Each integer, such as a number of children, is one cell to count in. `outside` is as for `gd.categories`.

    Examples
    --------
    >>> import gaugedp as gd
    >>> gd.integers(1, 3).labels
    ('1', '2', '3')
    """
    one_of(("drop", OTHER), outside=outside)
    whole(minimum=-(2**53), first=first, last=last)
    if first > last:
        raise InvalidRequest(f"`from` is {first}, which is above {last}, the value of `to`.", "Choose from <= to.")
    return Integers(first, last, outside)


def bounded(
    low: float, high: float, step: float = 1, missing: str | float = "drop", unknown: Sequence[float] = ()
) -> BoundedColumn:
    """Describe a numeric column that can be summed and averaged.

    Choose the bounds from public knowledge, never from the data. Wider bounds cause larger noise in sums and means.

    Parameters
    ----------
    low, high : float
        Public bounds. Values below `low` count as `low`, and values above `high` count as `high`.
    step : float
        Values are rounded to multiples of this number. The bounds must be multiples as well. Default 1.
    missing : "drop" or float
        The rule for missing values: "drop", the default, leaves the row out, and a number replaces the value.
    unknown : sequence of float
        Codes that stand for a missing value, such as 99 or −1. By default there are none.

    Examples
    --------
    >>> import gaugedp as gd
    >>> gd.bounded(0, 5000, step=10).high_steps  # 5000 is 500 steps of 10
    500
    """
    finite(low=low, high=high)
    positive(step=step)
    if not low < high:
        raise InvalidRequest(f"`low` is {low!r}, which is not below `high`, {high!r}.", "Choose low < high.")
    if step < 1e-200 or max(abs(low), abs(high)) > 1e200:
        raise InvalidRequest(f"The bounds {low!r}, {high!r} or the step {step!r} are too extreme.", "Use another unit.")
    bottom, top, unit = decimal(low), decimal(high), decimal(step)
    if (bottom / unit).denominator != 1 or (top / unit).denominator != 1:
        raise InvalidRequest(
            f"The bounds {low!r} and {high!r} are not multiples of step = {step!r}.",
            "Round them, or choose a finer `step`.",
        )
    if max(abs(bottom), abs(top)) / unit > MAX_STEPS:
        raise InvalidRequest(f"The bounds are more than 2^40 steps of {step!r} from 0.", "Choose a coarser `step`.")
    return BoundedColumn(bottom, top, unit, _replacement(missing, bottom, top, unit), _codes(unknown))


def _codes(unknown: Sequence[float]) -> tuple[Fraction, ...]:
    if isinstance(unknown, str) or not isinstance(unknown, Sequence) or not all(map(is_finite, unknown)):
        raise InvalidRequest(f"`unknown` is {unknown!r}, not a list of codes.", "Pass a list, such as [99, -1].")
    return tuple(sorted({decimal(code) for code in unknown}))


def _interval(low: Fraction, high: Fraction, closed: bool) -> str:
    return f"[{float(low):.12g},{float(high):.12g}{']' if closed else ')'}"


def _edge_bins(edges: Sequence[float], outside: str) -> EdgeBins:
    if not isinstance(edges, Sequence):
        raise InvalidRequest(f"`edges` is {edges!r}, which is not a list of numbers.", "Pass a list of numbers.")
    for edge in edges:
        finite(edge=edge)
    exact = tuple(decimal(edge) for edge in edges)
    if len(exact) < 2 or any(left >= right for left, right in pairwise(exact)):
        raise InvalidRequest(f"`edges` is {list(edges)!r}, which does not increase.", "Pass two or more in order.")
    return EdgeBins(exact, outside)


def _replacement(missing: str | float, low: Fraction, high: Fraction, step: Fraction) -> Fraction | None:
    if missing == "drop":
        return None
    value = decimal(float(missing)) if is_finite(missing) else None
    if value is None or not low <= value <= high or (value / step).denominator != 1:
        raise InvalidRequest(f'`missing` is {missing!r}, not "drop" or a value of the column.', "Pass one of these.")
    return value


def _is_unicode(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text)
