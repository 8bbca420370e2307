"""Sum of all privacy losses of a composition."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from copy import copy
from fractions import Fraction
from itertools import takewhile
from typing import TypeVar

import numpy as np

from gaugedp._internal.rounding import UNIT
from gaugedp._internal.validate import decimal
from gaugedp.accountant.loss import Array, Line, PrivacyLoss, common_span, gaussian_line, gaussian_moment
from gaugedp.accountant.part import Part
from gaugedp.accountant.rounding import up_decimal

T = TypeVar("T")
_FINEST = Fraction(1, 10**12)  # span of a lattice


class Total:
    """Sum of the privacy losses of `parts`.

    `removed` units are removed, or all by default, and the others added. `families` hold the dominating pairs, `others`
    the guarantees with a Rényi curve only. `impossible` is the probability of an infinite loss, exact or rounded up;
    all other members are conditional on finite losses. `padding` is μ² of a fictitious Gaussian release, which can only
    raise δ. `is_certified` is True if every pair has its guarantee's own profile. With `curves`, families hold only
    pairs whose Rényi curve is that of their guarantee.
    """

    def __init__(self, parts: Iterable[tuple[Part, int]], removed: int | None = None, curves: bool = False) -> None:
        rows: defaultdict[type[PrivacyLoss], dict[tuple[object, ...], int]] = defaultdict(dict)
        infinite: list[tuple[Fraction, int]] = []
        self.others: list[tuple[Part, int]] = []
        is_certified = True
        for part, count in parts:
            pair = part.dominating_pair(part.n_units if removed is None else min(removed, part.n_units))
            is_certified = is_certified and part.pair_is_least
            if pair is None or (curves and not part.pair_has_curve):
                self.others.append((part, count))
                continue
            family, row, impossible = pair
            kind = rows[family]
            kind[row] = kind.get(row, 0) + count
            if impossible:
                infinite.append((impossible, count))
        self.families = [family(list(kind), list(kind.values())) for family, kind in rows.items()]
        self.impossible = _any_of(infinite)
        self.padding, self.is_certified = 0.0, is_certified

    @property
    def symmetric(self) -> bool:
        """True if both directions are the same."""
        return all(family.symmetric for family in self.families)

    @property
    def largest_order(self) -> float:
        """The largest order for a contour."""
        return min((family.largest_order for family in self.families), default=1.0)

    @property
    def largest(self) -> float:
        """A bound on the finite losses, above which δ is 0."""
        sizes = list(takewhile(math.isfinite, (family.largest for family in self.families)))
        is_finite = len(sizes) == len(self.families)
        return up_decimal(sum(map(decimal, sizes), Fraction(0))) if is_finite else math.inf

    @property
    def knots(self) -> list[float]:
        """Orders minus 1 at which other curves bend."""
        return [order - 1 for part, _ in self.others for order in part.knots() if 1 < order < math.inf]

    @property
    def has_first_order(self) -> bool:
        """True if some part knows the order 1."""
        return any(1 in part.knots() for part, _ in self.others)

    @property
    def work(self) -> int:
        """The number of evaluations per node of a line."""
        return sum(family.work for family in self.families)

    @property
    def period_work(self) -> int:
        """The number of evaluations per node of a period."""
        return sum(family.period_work for family in self.families)

    def log_moment(self, orders: Array) -> Array:
        """Return log M of the families and the padding."""
        moments = [family.log_moment(orders) for family in self.families]
        return np.sum([*moments, gaussian_moment(self.padding, orders)], axis=0)

    def log_moment_up(self, orders: Array) -> Array:
        """Return a rounded-up log M of everything."""
        rounding = [family.rounding(orders) for family in self.families]
        curves = [
            math.fsum(count * part.renyi(1 + float(order)) * float(order) for part, count in self.others)
            for order in orders
        ]
        return np.sum([self.log_moment(orders), *rounding, np.array(curves)], axis=0)

    def line(self, order: float, heights: Array) -> Line:
        """Return the line of the families and the padding."""
        total = gaussian_line(self.padding, order, heights)
        for family in self.families:
            total = total.plus(family.line(order, heights))
        return total

    def log_tail(self, order: float, height: float, until: float = math.inf) -> float:
        """Return a bound on log |M(c + it)/M(c)| for all t from `height` to `until`."""
        tails = math.fsum(family.log_tail(order, height, until) for family in self.families)
        return tails - height * height * self.padding / 2

    def rounding(self, order: float) -> float:
        """Return a bound on the error of `log_moment`."""
        padding = 64 * UNIT * order * (order + 1) * self.padding / 2
        n_sums = len(self.families) + (self.padding > 0)
        at = np.array([order])
        return math.fsum(float(family.rounding(at)[0]) for family in self.families) + padding + 4 * UNIT * n_sums

    def padded(self, square: float) -> "Total":
        """Return the total with padding μ² = `square`."""
        total = copy(self)
        total.padding = square
        return total

    def of(self, families: Sequence[PrivacyLoss]) -> "Total":
        """Return the total of only these families."""
        total = copy(self)
        total.families = list(families)
        return total

    def single_rows(self) -> list[PrivacyLoss]:
        """Return a family for each row of the families."""
        rows = [(family, *row) for family in self.families for row in zip(family.rows, family.times, strict=True)]
        return [type(family)([row], [count]) for family, row, count in rows]

    def exact_delta(self, epsilon: float) -> float | None:
        """Return the closed δ of a single family, or None."""
        return self.families[0].exact_delta(epsilon) if len(self.families) == 1 else None

    def exact_epsilon(self, delta: float) -> float | None:
        """Return the closed ε of a single family, or None."""
        return self.families[0].exact_epsilon(delta) if len(self.families) == 1 else None

    def atoms(self) -> list[tuple[Array, Array, int]] | None:
        """Return (values, weights, count) of all rows, or None."""
        return _joined(family.atoms() for family in self.families)

    def cells(self, edges: Array) -> list[tuple[Array, Array, int]] | None:
        """Return the cells of each row, or None."""
        return _joined(family.cells(edges) for family in self.families)

    @property
    def lattice(self) -> tuple[float, float] | None:
        """Offset and span of a lattice for all sums, or None."""
        lattices = _joined(family.lattices() for family in self.families)
        if not lattices:
            return None
        span = common_span(lattice.span for lattice in lattices)
        offset = sum((lattice.times * lattice.offset for lattice in lattices), Fraction(0))
        return None if span < _FINEST else (float(offset % span), float(span))


def directions(parts: Iterable[tuple[Part, int]], curves: bool = False) -> list[Total]:
    """Return the totals of all directions.

    They have all units removed, all but one, …, none; there is one total if they are the same. Some total has at least
    a removals and b additions in every part, for a + b the units of each.
    """
    parts = list(parts)
    first = Total(parts, curves=curves)
    if first.symmetric:
        return [first]
    n_units = most_units(part for part, _ in parts)
    return [first, *(Total(parts, n, curves) for n in range(n_units - 1, -1, -1))]


def most_units(parts: Iterable[Part]) -> int:
    """Return the largest number of units of a part."""
    return max((part.n_units for part in parts), default=1)


def _joined(lists: Iterable[list[T] | None]) -> list[T] | None:
    joined: list[T] = []
    for entries in lists:
        if entries is None:
            return None
        joined += entries
    return joined


def _any_of(chances: list[tuple[Fraction, int]]) -> Fraction:
    """Return 1 − Π (1 − p)^n, exact if short, else rounded up."""
    if any(chance == 1 for chance, _ in chances):
        return Fraction(1)
    # 2**12: bits of a probability that is kept exactly
    if sum(count * chance.denominator.bit_length() for chance, count in chances) <= 2**12:
        return 1 - math.prod(((1 - chance) ** count for chance, count in chances), start=Fraction(1))
    log_possible = math.fsum(count * math.log1p(-float(chance)) for chance, count in chances)
    return Fraction(min(1.0, -math.expm1(log_possible) * (1 + 2.0**-48)))
