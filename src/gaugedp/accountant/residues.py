"""Exact profile of a few Laplace losses by residues.

Finitely many other losses may be added. With n Laplace losses the moment is a sum of terms with a weight W and a
location y, W·e^{zy}·(z + 1)^j·z^{n−j}/(2z + 1)^n, where e^{zt} was taken of j releases, which add t to y; the others
subtract t and multiply W by e^−t. By (3) of docs/theory/accountant.md a term contributes (W/2πi)·∫ (z +
1)^{j−1}·z^{n−j−1}/(2z + 1)^n·e^{zx} dz to δ(ε), x = y − ε. The fraction falls like |z|^−2, so contours can be closed.
For x ≤ 0 this is done on the right, where there is no pole, so the term is 0. For x > 0 it is done on the left, around
0 (a pole only for j = n, residue 1), −1 (only for j = 0, residue −e^−x) and −½ (of order n, residue
2^−n·e^{−x/2}·Σ_{m<n} a_m·x^{n−1−m}/(n−1−m)!, where a_m are the Taylor coefficients of (w + ½)^{j−1}(w − ½)^{n−j−1} at
w = z + ½ = 0).
"""

import math
from collections import defaultdict
from dataclasses import dataclass, field
from decimal import Context, Decimal, localcontext
from functools import cached_property

import numpy as np

from gaugedp._internal.rounding import UNIT
from gaugedp.accountant.atoms import ExplicitDistribution, explicit_distribution
from gaugedp.accountant.contour import Bracket
from gaugedp.accountant.total import Total

_MOST_TERMS = 45_000  # terms times the order of the pole


@dataclass
class Residues:
    """Sum of Laplace losses `shifts` and a `finite` distribution."""

    shifts: list[tuple[float, int]]
    finite: ExplicitDistribution
    digits: int = 0
    _terms: dict[int, list[tuple[Decimal, Decimal, int]]] = field(default_factory=dict)
    _series: dict[int, list[list[Decimal]]] = field(default_factory=dict)

    @cached_property
    def n_laplace(self) -> int:
        """The order of the pole at −½."""
        return sum(count for _, count in self.shifts)

    @property
    def largest(self) -> float:
        """The largest loss, above which δ is 0."""
        return self.finite.largest + math.fsum(shift * count for shift, count in self.shifts)

    def log_delta(self, epsilon: float) -> Bracket:
        """Return log δ at `epsilon`; its low end undoes the rounding of losses."""
        shift = UNIT * (16 * self.largest + self.finite.lost * float(np.abs(self.finite.losses).max()))
        high, low = self._value(epsilon), self._value(epsilon + shift, uncertain=-math.inf)
        lost = UNIT * (8 + 2 * self.finite.lost) * (1 + abs(low) if low > -math.inf else 1.0)
        return Bracket(low - lost, high + lost)

    def _value(self, epsilon: float, uncertain: float | None = None) -> float:
        """Return the log of the sum, with sufficient digits.

        If residues cancel all digits: `uncertain`, or by default the log of the sum of the absolute values.
        """
        self.digits = self.digits or 40 + self.n_laplace
        while True:
            with localcontext(Context(prec=self.digits, Emin=-(10**9), Emax=10**9)):
                total, sizes = self._sum(Decimal(epsilon), self.digits)
                if sizes == 0:
                    return -math.inf
                if total > sizes.scaleb(22 - self.digits):  # significant digits of the result
                    return float(total.ln())
            if self.digits > 4000:
                return float(sizes.ln()) if uncertain is None else uncertain
            self.digits = self.digits * 3 // 2

    def _sum(self, epsilon: Decimal, digits: int) -> tuple[Decimal, Decimal]:
        coefficients = self._coefficients(digits)
        total = sizes = Decimal(0)
        for location, weight, j in self._located(digits):
            x = location - epsilon
            if x <= 0:
                continue
            value = size = Decimal(0)
            for coefficient in coefficients[j]:
                value = value * x + coefficient
                size = size * x + abs(coefficient)
            fall = (-x / 2).exp()
            ends = Decimal(j == self.n_laplace) - ((-x).exp() if j == 0 else Decimal(0))
            total += weight * (fall * value + ends)
            sizes += weight * (fall * size + abs(ends))
        return total, sizes

    def _coefficients(self, digits: int) -> list[list[Decimal]]:
        """Return, for each j, a_m/(n−1−m)!/2^n for m < n.

        a_m are the coefficients of (w + ½)^{j−1}(w − ½)^{n−j−1} at 0; from j to j + 1 they are multiplied by (w + ½)/(w
        − ½).
        """
        if digits not in self._series:
            n, half = self.n_laplace, Decimal("0.5")
            scales = [1 / Decimal(math.factorial(n - 1 - m)) / 2**n for m in range(n)]
            series = _product(_powers(half, -1, n), _powers(-half, n - 1, n))
            coefficients = []
            for _ in range(n + 1):
                coefficients.append([a * scale for a, scale in zip(series, scales, strict=True)])
                series = _turned(series)
            self._series[digits] = coefficients
        return self._series[digits]

    def _located(self, digits: int) -> list[tuple[Decimal, Decimal, int]]:
        """Return all terms (location, weight, j), merged by location."""
        if digits not in self._terms:
            terms: dict[tuple[Decimal, int], Decimal] = defaultdict(Decimal)
            for loss, weight in zip(self.finite.losses.tolist(), self.finite.weights.tolist(), strict=True):
                terms[Decimal(loss), 0] += Decimal(weight)  # several sums of losses may be the same number
            for shift, count in self.shifts:
                terms = _joined(terms, Decimal(shift), count)
            self._terms[digits] = [(place, weight, j) for (place, j), weight in terms.items()]
        return self._terms[digits]


def _joined(
    terms: dict[tuple[Decimal, int], Decimal], shift: Decimal, count: int
) -> dict[tuple[Decimal, int], Decimal]:
    joined: dict[tuple[Decimal, int], Decimal] = defaultdict(Decimal)
    for (place, j), weight in terms.items():
        for ups in range(count + 1):
            down = count - ups
            share = math.comb(count, ups) * (-down * shift).exp()
            joined[place + (ups - down) * shift, j + ups] += weight * share
    return joined


def _powers(base: Decimal, exponent: int, n: int) -> list[Decimal]:
    """Return the first n coefficients of (w + base)^exponent, exponent ≥ −1."""
    coefficients = [base**exponent]
    for m in range(1, n):
        coefficients.append(coefficients[-1] * (exponent - m + 1) / (m * base))
    return coefficients


def _product(left_series: list[Decimal], right_series: list[Decimal]) -> list[Decimal]:
    return [
        sum((left_series[i] * right_series[m - i] for i in range(m + 1)), Decimal(0)) for m in range(len(left_series))
    ]


def _turned(series: list[Decimal]) -> list[Decimal]:
    """Return the series times (w + ½)/(w − ½) = −(1 + 2w)/(1 − 2w)."""
    turned: list[Decimal] = []
    for m, a in enumerate(series):
        before = 2 * (series[m - 1] + turned[m - 1] * -1) if m else Decimal(0)
        turned.append(-a - before)
    return turned


def residues(total: Total) -> Residues | None:
    """Return the residues, or None for other or many losses."""
    shifts = [shift for family in total.families for shift in family.shifts()]
    kinds = [count for _, count in shifts]
    n_laplace = sum(kinds)
    if not shifts or math.prod(count + 1 for count in kinds[:40]) * (n_laplace + 1) > _MOST_TERMS:
        return None
    finite = explicit_distribution(total.of([family for family in total.families if not family.shifts()]))
    if finite is None or len(finite.losses) * math.prod(count + 1 for count in kinds) * (n_laplace + 1) > _MOST_TERMS:
        return None
    return Residues(shifts, finite)
