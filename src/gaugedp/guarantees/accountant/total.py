"""All releases together: their losses by kind, and what is known of the rest."""

import math
from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from gaugedp._validate import decimal
from gaugedp.guarantees.base import Guarantee
from gaugedp.guarantees.losses.base import UNIT, Array, Line, Losses
from gaugedp.guarantees.losses.gaussian import GaussianLosses
from gaugedp.guarantees.rounding import up_decimal

_MOST_BITS = 2**12  # of a probability that is kept exactly

Parts = Iterable[tuple[Guarantee, int]]


class Total:
    """The sum of the privacy losses of `parts`, each seen in the direction `remove` (or add).

    `families` hold the dominating pairs; `others` are guarantees of which only a Rényi curve is known.
    `impossible` is the probability that a loss is infinite, exact or rounded up; everything else speaks of the law
    given that none is. With `curves` only pairs that have the guarantee's own Rényi curve are taken.
    """

    def __init__(self, parts: Parts, remove: bool = True, curves: bool = False) -> None:
        rows: dict[type[Losses], dict[tuple[object, ...], int]] = {}
        infinite: list[tuple[Fraction, int]] = []
        self.others: list[tuple[Guarantee, int]] = []
        for part, count in parts:
            pair = part.pair(remove)
            if pair is None or (curves and not part.pair_has_curve):
                self.others.append((part, count))
                continue
            kind = rows.setdefault(pair.family, {})
            kind[pair.row] = kind.get(pair.row, 0) + count
            if pair.impossible:
                infinite.append((pair.impossible, count))
        self.families = [family(list(found), list(found.values())) for family, found in rows.items()]
        self.impossible = _any_of(infinite)

    @property
    def symmetric(self) -> bool:
        """Whether both directions are the same."""
        return all(family.symmetric for family in self.families)

    @property
    def largest_order(self) -> float:
        """Return the largest order a contour may use."""
        return min((family.largest_order for family in self.families), default=1.0)

    @property
    def largest(self) -> float:
        """Return a bound on the sum of the finite losses of the families, above which δ is 0."""
        sizes = [family.largest for family in self.families]
        return up_decimal(sum(map(decimal, sizes), Fraction(0))) if all(map(math.isfinite, sizes)) else math.inf

    @property
    def knots(self) -> list[float]:
        """Return orders minus 1 at which the curves of the others bend."""
        return [order - 1 for other, _ in self.others for order in getattr(other, "orders", ()) if 1 < order < math.inf]

    @property
    def work(self) -> int:
        """How many numbers a point of a line needs."""
        return sum(family.work for family in self.families)

    def log_moment(self, orders: Array) -> Array:
        """Return log M of the families at each of the real `orders`."""
        return np.sum([family.log_moment(orders) for family in self.families], axis=0) + np.zeros_like(orders)

    def log_moment_up(self, orders: Array) -> Array:
        """Return an upper bound on log M of everything, families and others, with the rounding added."""
        lost = [[family.rounding(float(order)) for family in self.families] for order in orders]
        rest = [
            math.fsum(count * other.renyi(1 + float(order)) * float(order) for other, count in self.others)
            for order in orders
        ]
        return self.log_moment(orders) + np.sum(np.array(lost).reshape(len(orders), -1), axis=1) + np.array(rest)

    def line(self, order: float, heights: Array) -> Line:
        """Return the line of the families."""
        total = Line(*np.zeros((3, len(heights))))
        for family in self.families:
            total = total + family.line(order, heights)
        return total

    def log_tail(self, order: float, height: float, until: float = math.inf) -> float:
        """Return a bound on log |M(c + it)/M(c)| for every t from `height` to `until`."""
        return math.fsum(family.log_tail(order, height, until) for family in self.families)

    def rounding(self, order: float) -> float:
        """Return a bound on the error of `log_moment` at `order`."""
        return math.fsum(family.rounding(order) for family in self.families) + 4 * UNIT * len(self.families)

    def padded(self, square: float) -> "Total":
        """Return the total with a Gaussian release of μ² = `square` more, which can only raise every δ."""
        more = Total([])
        more.families = [*self.families, GaussianLosses([(math.sqrt(square),)], [1])]
        more.others, more.impossible = self.others, self.impossible
        return more


def _any_of(chances: list[tuple[Fraction, int]]) -> Fraction:
    """Return 1 − Π (1 − p)^n over the (p, n): exactly where it has few digits, else rounded up."""
    if any(chance == 1 for chance, _ in chances):
        return Fraction(1)
    if sum(count * chance.denominator.bit_length() for chance, count in chances) <= _MOST_BITS:
        return 1 - math.prod(((1 - chance) ** count for chance, count in chances), start=Fraction(1))
    log_possible = math.fsum(count * math.log1p(-float(chance)) for chance, count in chances)
    return Fraction(min(1.0, -math.expm1(log_possible) * (1 + 2.0**-48)))
