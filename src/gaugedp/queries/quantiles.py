"""Quantiles of a bounded column: the values below which given shares of the rows lie."""

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
from gaugedp._internal.validate import decimal, finite
from gaugedp.bodies.polytope import Polytope
from gaugedp.domain.attributes import Integers
from gaugedp.domain.domain import Domain, PrivacyUnit
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import Guarantee
from gaugedp.mechanisms.base import Mechanism
from gaugedp.mechanisms.rank_exponential import RankExponential
from gaugedp.mechanisms.rank_tree import RankTree
from gaugedp.queries.base import ErrorScale, MechanismChoice, Query, Rows
from gaugedp.queries.columns import WorkloadColumns
from gaugedp.queries.labels import Cells, Labels, Listed
from gaugedp.queries.linear import n_cells
from gaugedp.queries.maps import Identity
from gaugedp.queries.outline import QUANTILE, SHARES, Axis, Outline, attribute_axis
from gaugedp.queries.piece import Piece
from gaugedp.queries.steps import Steps
from gaugedp.statistics import Quantile
from gaugedp.tables.aggregate import Aggregate, check_values

LEVEL, HIGHEST_LEVEL = 0.95, 0.999
MEDIAN = Fraction(1, 2)
_MOST_QUANTILES = 100
_DECIMALS = 6


@dataclass(frozen=True, eq=False)
class Quantiles(Query):
    """The quantiles of a bounded column, in total or for each cell of `by`, each with an interval.

    A q-quantile of n rows is a value low … high, in steps, with at most q·n rows below it and at most (1 − q)·n above
    it; values are clipped and rounded as for sums, and rows without one are left out where the domain drops them. There
    may be several; in an empty cell all values are. Intervals hold all of them, for all answers at once, with
    probability at least `level`, whatever the rows are.

    Looked at is the number of rows at each value; released are whole steps: the answers, then all lower, then all upper
    ends.
    """

    domain: Domain
    column: str
    quantiles: tuple[Fraction, ...]
    by: tuple[str, ...]
    level: float
    share: float = 1.0  # of the misses that the level allows, where other answers are to hold at the same time

    @property
    def confidence(self) -> float:
        """The probability at which the mechanism releases intervals: at least `level`."""
        return 1 - self.share * (1 - self.level)

    def with_share(self, share: float) -> "Quantiles":
        """Return these quantiles with intervals that miss more seldom."""
        return replace(self, share=share)

    @property
    def text(self) -> str:
        """The question as `gd.query` reads it."""
        shares = [] if self.is_median else [_plain(quantile) for quantile in self.quantiles]
        level = [] if self.level == LEVEL else [f"level={self.level!r}"]
        by = f" by {'*'.join(map(written, self.by))}" if self.by else ""
        inside = ", ".join([written_in_list(self.column), *shares, *level])
        return f"{'median' if self.is_median else 'quantiles'}({inside}){by}"

    @property
    def is_median(self) -> bool:
        """Return whether the median is the only quantile."""
        return self.quantiles == (MEDIAN,)

    @property
    def first(self) -> int:
        """The lowest value, in steps."""
        return self.domain.column(self.column).low_steps

    @cached_property
    def labels(self) -> Labels:
        """Pairs (question, cell), the quantile fastest."""
        cells = [[f"{name}={label}" for label in self.domain.attribute(name).labels] for name in self.by]
        shares = [] if self.is_median else [[f"quantile={_plain(quantile)}" for quantile in self.quantiles]]
        return Labels(((self.text, Cells(tuple(map(Listed, [*cells, *shares] or [["all"]])))),))

    @property
    def outlines(self) -> tuple[Outline, ...]:
        """One: the cells, and the shares of rows unless it is the median alone."""
        facts = [(name, self.domain.attribute(name)) for name in self.by]
        axes = [attribute_axis(name, fact, Listed(fact.labels)) for name, fact in facts]
        shares = [] if self.is_median else [Axis("quantile", Listed([*map(_plain, self.quantiles)]), SHARES)]
        return (Outline(self.text, QUANTILE, self.column, (*axes, *shares)),)

    @property
    def attributes(self) -> tuple[str, ...]:
        """Return the attributes that cells are made of."""
        return self.by

    @property
    def columns(self) -> tuple[str, ...]:
        """The column."""
        return (self.column,)

    @property
    def steps(self) -> Steps:
        """The column's step."""
        return Steps([(self.domain.column(self.column).step, self.estimates[0].n_released)])

    @property
    def errors(self) -> ErrorScale:
        """Return the scale of ranks: one row is one rank."""
        ((step, n_released),) = self.steps.runs
        return ErrorScale([(1.0, n_released)], float(step), "rows, by which ranks are off")

    def sensitivity(self, unit: PrivacyUnit) -> Polytope:
        """Return the body of the histogram over cells and values, the values fastest: see Workload.sensitivity."""
        bounded, values = self.domain.column(self.column), _free(self.column, self.by)
        lattice = Integers(bounded.low_steps, bounded.high_steps)
        domain = Domain({**{name: self.domain.attribute(name) for name in self.by}, values: lattice})
        names = (*self.by, values)
        columns = WorkloadColumns(domain, names, (), (Piece(names, Identity(domain.n_cells())),))
        replace = unit.neighbours == "replace"
        return Polytope(columns, unit.max_rows, differences=replace, with_zero=replace)

    @property
    def mechanisms(self) -> "QuantileMechanisms":
        """The mechanisms that release quantiles with intervals."""
        return QuantileMechanisms(self)

    def evaluate(self, table: Rows, row_key: bytes) -> np.ndarray:
        """Return the number of rows at each value in each cell, shape (cells·values,), dtype int64."""
        return table.totals([Aggregate(self.by, self.column, each=True)], row_key)[0]

    @property
    def estimates(self) -> tuple[Quantile]:
        """The values as they are released, with the ends of their intervals."""
        return (Quantile(self.domain.n_cells(self.by) * len(self.quantiles), self.level),)

    def digest(self) -> str:
        """Return a hash of the text and the facts of the domain that decide the answer."""
        facts = [self.text, *(f"{name}={self.domain.attribute(name)!r}" for name in self.by)]
        facts.append(f"{self.column}={self.domain.column(self.column)!r}")
        facts += self.domain.recipe([*self.by, self.column])
        return hashlib.sha256("\n".join(facts).encode()).hexdigest()

    def __repr__(self) -> str:
        return f"Quantiles({self.text!r}, {self.n_answers} answers)"


@dataclass(frozen=True, eq=False)
class QuantileMechanisms(MechanismChoice):
    """The mechanisms that release quantiles with intervals."""

    query: Quantiles

    @property
    def preferences(self) -> tuple[object, ...]:
        """The level, and the share of its misses."""
        return self.query.level, self.query.share

    def candidates(self, unit: PrivacyUnit, guarantee: Guarantee) -> Iterator[Mechanism]:
        """Yield the mechanism whose intervals are the shorter, by public numbers."""
        facts = (self.query.sensitivity(unit), guarantee, self.query.quantiles, self.query.confidence, self.query.first)
        offers: list[Mechanism] = [RankExponential.calibrate(*facts)]
        with contextlib.suppress(InvalidRequest):  # such as counts whose noise does not fit
            offers.append(RankTree.calibrate(*facts, self.query.level))
        yield min(offers, key=lambda mechanism: float(mechanism.half_widths(LEVEL).max()))

    def accept(self, mechanism: Mechanism) -> bool:
        """Return whether the mechanism is for these quantiles, at this level, of values from this one on."""
        settings = (self.query.quantiles, self.query.confidence, self.query.first)
        match mechanism:
            case RankExponential(quantiles=quantiles, level=level, first=first):
                return (quantiles, level, first) == settings
            case RankTree(ranks=ranks, alone=alone):
                return self.accept(ranks) and alone == self.query.level
        return False

    def remarks(self, mechanism: Mechanism) -> list[str]:
        """Say with how few rows an interval may reach the end of the range."""
        share = min(min(quantile, 1 - quantile) for quantile in self.query.quantiles)
        n_rows = math.ceil(float(mechanism.half_widths(LEVEL).max()) / share)
        what = "be the whole range" if self.query.is_median else "reach an end of the range"
        return [f"With fewer than {n_rows:,} rows the interval may {what}."]


def quantiles(
    domain: Domain, column: str, *shares: float | Fraction, by: str | Sequence[str] | None = None, level: float = LEVEL
) -> Quantiles:
    """Return the quantiles of a bounded column, in rising order, in total or for each cell of `by`.

    `shares` are 1 to 100 different numbers between 0 and 1, with at most six decimals, such as 0.1, 0.5, 0.9. `level`,
    0.95 … 0.999, is the probability with which the intervals that are released hold, all at once. Refused are also
    more than 10^7 values of the column over all cells.
    """
    finite(level=level)
    if not LEVEL <= level <= HIGHEST_LEVEL:
        raise InvalidRequest(f"level is {level!r}.", f"Give a level between {LEVEL} and {HIGHEST_LEVEL}.")
    exact = tuple(sorted(_share(share) for share in shares))
    if not exact or len(exact) > _MOST_QUANTILES:
        raise InvalidRequest(
            f"{len(exact) or 'No'} quantiles of {column} are asked for.",
            f"Ask for 1 to {_MOST_QUANTILES}, such as 0.5 for the median.",
        )
    if len(set(exact)) < len(exact):
        raise InvalidRequest(f"A quantile of {column} is asked for twice.", "Ask for each once.")
    _check_column(domain, column)
    names = () if by is None else (by,) if isinstance(by, str) else tuple(by)
    n_cells(domain, names)
    check_values(domain, Aggregate(names, column, each=True))
    return Quantiles(domain, column, exact, names, float(level))


def _share(share: Any) -> Fraction:
    finite(quantile=share)
    if not 0 < share < 1:
        raise InvalidRequest(f"The quantile {share} is not between 0 and 1.", "Give one between them, such as 0.5.")
    exact = decimal(share) if isinstance(share, Fraction | int) else decimal(float(share))
    if exact.denominator > 10**_DECIMALS:
        raise InvalidRequest(
            f"The quantile {float(exact):.12g} is too fine.", f"Give it with at most {_DECIMALS} decimals."
        )
    return exact


def _check_column(domain: Domain, column: str) -> None:
    if column in domain.attributes and column not in domain.columns:
        raise InvalidRequest(
            f"{column} is an attribute, and its cells have no quantiles.",
            "Describe it as a bounded column as well: low, high and step.",
        )
    domain.column(column)


def _plain(quantile: Fraction) -> str:
    """Return a decimal, such as 0.5, or a fraction, such as 1/3, where there is none."""
    value = float(quantile)
    return repr(value) if decimal(value) == quantile and value >= 1e-4 else str(quantile)


def _free(name: str, used: Sequence[str]) -> str:
    return name if name not in used else _free(f"{name}'", used)
