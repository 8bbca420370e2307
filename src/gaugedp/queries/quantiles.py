"""Quantiles of a bounded column."""

import contextlib
import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from gaugedp._internal.names import written, written_in_list
from gaugedp._internal.numbers import readable
from gaugedp._internal.validate import decimal, finite
from gaugedp.bodies.polytope import Polytope
from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.domain.attributes import Integers
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import Guarantee
from gaugedp.mechanisms import Mechanism, RankExponential, RankTree, RankVerified
from gaugedp.queries.base import ErrorScale, MechanismChoice, Query, Rows
from gaugedp.queries.columns import WorkloadColumns
from gaugedp.queries.labels import Cells, Labels, Listed
from gaugedp.queries.linear import n_cells
from gaugedp.queries.maps import Identity
from gaugedp.queries.outline import QUANTILE, SHARES, Axis, Outline, attribute_axis
from gaugedp.queries.piece import Piece
from gaugedp.queries.steps import Steps
from gaugedp.statistics import Quantile, QuantileAlone
from gaugedp.statistics.quantile import HIGHEST_LEVEL
from gaugedp.tables.aggregate import Aggregate, check_values

LEVEL = 0.95
MEDIAN = Fraction(1, 2)
WITHOUT = " without interval"  # the end of the text of a query
_MOST_QUANTILES = 100
_DECIMALS = 6
_LARGEST_WEIGHT = 2**12  # steps of a weight: ranks of 2^31 rows, times denominators of quantiles, fit 64 bits


@dataclass(frozen=True, eq=False)
class Quantiles(Query):
    """Query for quantiles of a bounded column, with confidence intervals.

    Make it with `gd.quantiles` or `gd.query`, for example for the median income of each region. The release publishes
    each quantile and both ends of its interval. All intervals together contain the exact quantiles with probability at
    least `level`, whatever the data. Without `interval`, only the quantiles are published.

    Notes
    -----
    For a number q between 0 and 1, a q-quantile of n rows is a value with at most q·n rows below it and at most (1 −
    q)·n rows above it. If several values qualify, the interval contains them all, and in an empty cell every value
    qualifies. Values are clipped to the bounds and rounded to steps, as for sums. The released integers, in steps, are
    all answers, then all lower ends, then all upper ends.
    """

    domain: Domain
    column: str
    quantiles: tuple[Fraction, ...]
    by: tuple[str, ...]
    level: float
    share: float = 1.0  # of the failure probability, if other answers are to hold simultaneously
    interval: bool = True
    by_error: bool = False  # the mechanism is that of the least stated error, not of the shortest intervals
    weights: str = ""  # the column of the rows' weights; a row then has as many ranks as its weight has steps

    @property
    def confidence(self) -> float | None:
        """Level of the mechanism's intervals, or None without them.

        It is at least `level`.
        """
        return 1 - self.share * (1 - self.level) if self.interval else None

    def with_share(self, share: float) -> "Quantiles":
        """Return the quantiles with a smaller failure probability."""
        return replace(self, share=share)

    @property
    def text(self) -> str:
        """Text of the query, as `gd.query` parses it."""
        shares = [] if self.is_median else [_plain(quantile) for quantile in self.quantiles]
        level = [] if self.level == LEVEL else [f"level={self.level!r}"]
        by = f" by {'*'.join(map(written, self.by))}" if self.by else ""
        inside = ", ".join([written_in_list(self.column), *shares, *level])
        before = "unweighted " if self.domain.weights and not self.weights else ""
        word = "median" if self.is_median else "quantiles"
        return f"{before}{word}({inside}){by}{'' if self.interval else WITHOUT}"

    @property
    def is_median(self) -> bool:
        """True if the median is the only quantile."""
        return self.quantiles == (MEDIAN,)

    @property
    def first(self) -> int:
        """Lowest value, in steps."""
        return self.domain.column(self.column).low_steps

    @cached_property
    def labels(self) -> Labels:
        """Pairs (query, cell), the quantile fastest."""
        cells = [[f"{name}={label}" for label in self.domain.attribute(name).labels] for name in self.by]
        shares = [] if self.is_median else [[f"quantile={_plain(quantile)}" for quantile in self.quantiles]]
        return Labels(((self.text, Cells(tuple(map(Listed, [*cells, *shares] or [["all"]])))),))

    @property
    def outlines(self) -> tuple[Outline, ...]:
        """One outline: cells, and shares unless it is a median."""
        facts = [(name, self.domain.attribute(name)) for name in self.by]
        axes = [attribute_axis(name, fact, Listed(fact.labels)) for name, fact in facts]
        shares = [] if self.is_median else [Axis("quantile", Listed([*map(_plain, self.quantiles)]), SHARES)]
        return (Outline(self.text, QUANTILE, self.column, (*axes, *shares), weights=self.weights),)

    @property
    def attributes(self) -> tuple[str, ...]:
        """Attributes of the cells."""
        return self.by

    @property
    def columns(self) -> tuple[str, ...]:
        """Bounded column, and that of the weights."""
        return (self.column, *filter(None, [self.weights]))

    @property
    def steps(self) -> Steps:
        """Step of the column."""
        return Steps([(self.domain.column(self.column).step, self.estimates[0].n_released)])

    @property
    def errors(self) -> ErrorScale:
        """Error scale of ranks, in rows or weight steps."""
        ((step, n_released),) = self.steps.runs
        return ErrorScale([(1.0, n_released)], float(step), f"{self.ranks} (distance in ranks)")

    @property
    def ranks(self) -> str:
        """Units of ranks: rows, or steps of weight."""
        return f"steps of {self.weights}" if self.weights else "rows"

    @property
    def heaviest(self) -> int:
        """Number of ranks of a row, at most."""
        return self.domain.column(self.weights).high_steps if self.weights else 1

    def sensitivity(self, unit: PrivacyUnit) -> Polytope:
        """Return the body of the histogram over cells and values.

        The values run fastest; see `Workload.sensitivity`.
        """
        bounded, values = self.domain.column(self.column), _free(self.column, self.by)
        lattice = Integers(bounded.low_steps, bounded.high_steps)
        domain = Domain({**{name: self.domain.attribute(name) for name in self.by}, values: lattice})
        names = (*self.by, values)
        columns = WorkloadColumns(domain, names, (), (Piece(names, Identity(domain.n_cells())),))
        replace = unit.neighbours == "replace"
        return Polytope(columns, unit.max_rows * self.heaviest, differences=replace, with_zero=replace)

    @property
    def mechanisms(self) -> "QuantileMechanisms":
        """The mechanisms that release these quantiles."""
        return QuantileMechanisms(self)

    def evaluate(self, table: Rows, row_key: bytes) -> np.ndarray:
        """Return the exact histogram over cells and values, shape (cells·values,)."""
        total = Aggregate(self.by, self.column, each=True, weighted=int(bool(self.weights)))
        return table.totals([total], row_key)[0].astype(np.int64)

    @property
    def estimates(self) -> tuple[Quantile | QuantileAlone]:
        """Statistics that are computed from the released values."""
        n_answers = self.domain.n_cells(self.by) * len(self.quantiles)
        if self.interval:
            return (Quantile(n_answers, self.level),)
        return (QuantileAlone.of_column(n_answers, self.domain.column(self.column)),)

    def digest(self) -> str:
        """Return a hash of the text and the domain's facts."""
        facts = [self.text, *(f"{name}={self.domain.attribute(name)!r}" for name in self.by)]
        facts.append(f"{self.column}={self.domain.column(self.column)!r}")
        facts += self.domain.recipe([*self.by, self.column])
        facts += [f"weights {name}={self.domain.column(name)!r}" for name in self.columns[1:]]
        return hashlib.sha256("\n".join(facts).encode()).hexdigest()

    def __repr__(self) -> str:
        return f"Quantiles({self.text!r}, {self.n_answers} answers)"


@dataclass(frozen=True, eq=False)
class QuantileMechanisms(MechanismChoice):
    """The mechanisms that release quantiles, with or without intervals."""

    query: Quantiles

    @property
    def aim(self) -> str:
        """Aim of the choice of a mechanism, in words."""
        return "the least stated error" if self.query.by_error else "the shortest reach on ordinary tables"

    def for_error(self) -> Quantiles:
        """Return the quantiles by the mechanism of the least stated error."""
        return replace(self.query, by_error=True)

    @property
    def preferences(self) -> tuple[object, ...]:
        """The level, the share of its misses, and what is least."""
        return self.query.level, self.query.share, self.query.by_error

    def candidates(self, unit: PrivacyUnit, guarantee: Guarantee) -> Iterator[Mechanism]:
        """Yield the mechanism with the shortest intervals on ordinary tables, or of the least stated error."""
        body, shares, level = self.query.sensitivity(unit), self.query.quantiles, self.query.confidence
        offers: list[Mechanism] = [RankExponential.calibrate(body, guarantee, shares, level, self.query.first)]
        if level is not None:
            with contextlib.suppress(InvalidRequest):  # such as counts whose noise does not fit
                offers.append(RankVerified.calibrate(body, guarantee, shares, level, self.query.first))
            with contextlib.suppress(InvalidRequest):
                offers.append(RankTree.calibrate(body, guarantee, shares, level, self.query.first, self.query.level))
        yield min(offers, key=(lambda offer: offer.error()) if self.query.by_error else _reach)

    def accept(self, mechanism: Mechanism) -> bool:
        """Return True if the mechanism releases these quantiles.

        Level and first value must be the same.
        """
        settings = (self.query.quantiles, self.query.confidence, self.query.first)
        match mechanism:
            case RankExponential(quantiles=quantiles, level=level, first=first):
                return (quantiles, level, first) == settings
            case RankVerified(ranks=ranks):
                return self.accept(ranks)
            case RankTree(ranks=ranks, alone=alone):
                return self.accept(ranks) and alone == self.query.level
        return False

    def remarks(self, mechanism: Mechanism) -> list[str]:
        """State for how few rows an interval reaches the range's end."""
        reach, worst = readable(_reach(mechanism)), readable(float(mechanism.half_widths(LEVEL).max()))
        what = "intervals" if self.query.interval else "answers"
        ranks = self.query.ranks
        said = (
            f"Ranks: {what} reach ±{reach} {ranks} on ordinary tables, with spread values; ±{worst} in the worst case."
        )
        if self.query.by_error:
            said += " This plan has the least stated error."
            said += " A release without planned= takes a mechanism of shorter intervals."
        if not self.query.interval:
            return [said, "No intervals are released: those shown are the range of the column."]
        share = min(min(quantile, 1 - quantile) for quantile in self.query.quantiles)
        n_rows = math.ceil(_reach(mechanism) / share)
        what = "be the whole range" if self.query.is_median else "reach an end of the range"
        return [said, f"With about {n_rows:,} {ranks} or fewer the interval may {what}."]


def check_level(level: float) -> None:
    """Refuse a level at which no interval ends are released."""
    finite(level=level)
    if not LEVEL <= level <= HIGHEST_LEVEL:
        raise InvalidRequest(
            f"`level` is {level!r}, but confidence levels from {LEVEL} to {HIGHEST_LEVEL} are supported.",
            "Pass a level in this range.",
        )


def _reach(mechanism: Mechanism) -> float:
    return float(mechanism.ordinary_widths().max())


def quantiles(
    domain: Domain,
    column: str,
    *shares: float | Fraction,
    by: str | Sequence[str] | None = None,
    level: float = LEVEL,
    interval: bool = True,
    weighted: bool = True,
) -> Quantiles:
    """Return the query for quantiles of a bounded column.

    Use it for a median or other quantiles, such as deciles of income, over all rows or by group. The release publishes
    each quantile with a confidence interval.

    Parameters
    ----------
    domain : Domain
        The description of the table.
    column : str
        The bounded column. It may have at most 10^7 values, counted over all cells.
    *shares : float or Fraction
        The quantiles: 1 to 100 numbers between 0 and 1 with at most six decimals, such as 0.5 for the median. The
        answers are in increasing order of these numbers.
    by : str or sequence of str, optional
        The attributes in whose cells the quantiles are computed. By default they are computed over all rows.
    level : float
        The probability with which all released intervals hold simultaneously, from 0.95 to 0.999. Default 0.95.
    interval : bool
        Whether to publish intervals. Without them, the answers get the whole budget. Default True.
    weighted : bool
        Whether to use the survey weights of the domain, if it has any. A row then counts as often as its weight has
        steps, which may be at most 4,096. Default True.

    Returns
    -------
    Quantiles
        The query, for `gd.plan` and `gd.release`.

    Examples
    --------
    Two quartiles for each of two sexes are four answers:

    >>> import gaugedp as gd
    >>> domain = gd.Domain.of(sex=["1", "2"], pay=gd.bounded(0, 100))
    >>> [cell for term, cell in gd.quantiles(domain, "pay", 0.25, 0.75, by="sex").labels]
    ['sex=1, quantile=0.25', 'sex=1, quantile=0.75', 'sex=2, quantile=0.25', 'sex=2, quantile=0.75']
    """
    check_level(level)
    if not interval and level != LEVEL:
        raise InvalidRequest("`level` is given, but no interval is requested.", "Omit `level`, or request intervals.")
    exact = tuple(sorted(_share(share) for share in shares))
    if not exact or len(exact) > _MOST_QUANTILES:
        raise InvalidRequest(
            f"{len(exact) or 'No'} quantiles of {column} are requested, but a query takes from 1 to {_MOST_QUANTILES}.",
            "Change the list of quantiles, such as [0.5] for the median.",
        )
    if len(set(exact)) < len(exact):
        raise InvalidRequest(f"A quantile of {column} is requested twice.", "Request each quantile once.")
    _check_column(domain, column)
    names = () if by is None else (by,) if isinstance(by, str) else tuple(by)
    n_cells(domain, names)
    check_values(domain, Aggregate(names, column, each=True))
    weights = domain.weights if weighted and domain.weights else ""
    if weights and domain.column(weights).high_steps > _LARGEST_WEIGHT:
        raise InvalidRequest(
            f"The weight {weights} has too many steps for quantiles: more than {_LARGEST_WEIGHT:,}.",
            f"Use a coarser `step`, or unweighted median({written_in_list(column)}).",
        )
    return Quantiles(domain, column, exact, names, float(level), interval=bool(interval), weights=weights)


def _share(share: Any) -> Fraction:
    finite(quantile=share)
    if not 0 < share < 1:
        raise InvalidRequest(f"The quantile {share} is not between 0 and 1.", "Pass a number such as 0.5, the median.")
    exact = decimal(share)
    if exact.denominator > 10**_DECIMALS:
        raise InvalidRequest(
            f"The quantile {float(exact):.12g} exceeds {_DECIMALS} decimals.", f"Round it to {_DECIMALS} decimals."
        )
    return exact


def _check_column(domain: Domain, column: str) -> None:
    if column in domain.attributes and column not in domain.columns:
        raise InvalidRequest(
            f"{column} is an attribute, but quantiles are computed from a bounded column.",
            "Describe it as a bounded column as well, with low, high and step.",
        )
    domain.column(column)


def _plain(quantile: Fraction) -> str:
    value = float(quantile)
    return repr(value) if decimal(value) == quantile and value >= 1e-4 else str(quantile)


def _free(name: str, used: Sequence[str]) -> str:
    return name if name not in used else _free(f"{name}'", used)
