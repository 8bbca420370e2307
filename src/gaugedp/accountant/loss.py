"""Interface of a privacy loss."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import reduce
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from gaugedp._internal.rounding import UNIT
from gaugedp._internal.validate import decimal
from gaugedp.accountant.rounding import up_decimal

Array = NDArray[Any]
LARGEST_LOSS = 1e6  # guarantees beyond use only the plain rules


class Pair(NamedTuple):
    """Pair of distributions (P, Q) that dominates a mechanism.

    `family` and `row` describe the loss under P given that it is finite; `impossible` is P(loss = ∞).
    """

    family: "type[PrivacyLoss]"
    row: tuple[Any, ...]
    impossible: Fraction = Fraction(0)


class Line(NamedTuple):
    """log M(c + it) − log M(c), and a bound on its rounding."""

    real: Array
    imaginary: Array
    rounding: Array

    def plus(self, line: "Line") -> "Line":
        """Return the sum of two lines."""
        return Line(*(mine + theirs for mine, theirs in zip(self, line, strict=True)))

    @classmethod
    def sum(cls, lines: "Iterable[Line]", heights: Array) -> "Line":
        """Return the sum of the lines at `heights`."""
        return reduce(Line.plus, lines, cls(*np.zeros((3, len(heights)))))

    def times(self, count: Array | float) -> "Line":
        """Return the line of `count` independent copies."""
        return Line(self.real * count, self.imaginary * count, self.rounding * count)


class Lattice(NamedTuple):
    """Lattice `offset` + integers·`span` of a row's losses."""

    offset: Fraction
    span: Fraction
    times: int


def common_span(spans: Iterable[Fraction]) -> Fraction:
    """Return the greatest common divisor of the `spans`."""
    return reduce(_common_divisor, spans, Fraction(0))


def _common_divisor(a: Fraction, b: Fraction) -> Fraction:
    return Fraction(math.gcd(a.numerator * b.denominator, b.numerator * a.denominator), a.denominator * b.denominator)


class PrivacyLoss(ABC):
    """Independent privacy losses of one kind, with multiplicities.

    Each has a row of parameters. M(z) = E_P[e^{zL}] = exp(z·D_{z+1}(P‖Q)); sums run over rows with multiplicities.
    """

    symmetric: ClassVar[bool] = True

    def __init__(self, rows: list[tuple[Any, ...]], counts: list[int]) -> None:
        self.rows, self.counts, self.times = rows, np.array(counts, dtype=float), counts

    @abstractmethod
    def log_moment(self, orders: Array) -> Array:
        """Return log M at `orders` > 0, to a few units in the last place of each row's."""

    @abstractmethod
    def line(self, order: float, heights: Array) -> Line:
        """Return the line at c = `order` > 0 and t = `heights` ≥ 0."""

    @abstractmethod
    def log_tail(self, order: float, height: float, until: float = math.inf) -> float:
        """Return a bound ≤ 0 on log |M(c + it)/M(c)| for all t from `height` to `until`."""

    def rounding(self, orders: Array) -> Array:
        """Return a bound on the error of `log_moment`."""
        return 64 * UNIT * self.log_moment(orders)

    @property
    def largest_order(self) -> float:
        """The largest order for a contour."""
        return math.exp(12)

    @property
    def largest(self) -> float:
        """An upper bound on the sum of the losses."""
        return math.inf

    def exact_delta(self, epsilon: float) -> float | None:  # noqa: ARG002
        """Return the joint profile, rounded up, or None."""
        return None

    def exact_epsilon(self, delta: float) -> float | None:  # noqa: ARG002
        """Return the inverse of `exact_delta`, rounded up, or None."""
        return None

    def atoms(self) -> list[tuple[Array, Array, int]] | None:
        """Return (values, weights, count) of each row, or None."""
        return None

    def lattices(self) -> list[Lattice] | None:
        """Return the lattice of decimals of each row, or None."""
        return None

    def cells(self, edges: Array) -> list[tuple[Array, Array, int]] | None:
        """Return (P, Q, count) of each row, or None.

        P holds the probabilities of a loss up to the first of the ascending `edges`, between the first and the second,
        …, beyond the last. Q holds the means of e^{−loss} in the same cells.
        """
        rows = self.atoms()
        return None if rows is None else [(*atom_cells(*row[:2], edges), row[2]) for row in rows]

    def shifts(self) -> list[tuple[float, int]]:
        """Return (t, count) of rows of Laplace distributions of scale 1 with centres t apart."""
        return []

    def sampled_normals(self) -> list[tuple[float, float, int]]:
        """Return (q, σ, count) for losses log(1 − q) with probability 1 − q, else log q + N(1/2σ², 1/σ²)."""
        return []

    def plain_sum(self) -> float:
        """Return the decimal sum of the rows' first numbers, rounded up."""
        return up_decimal(sum((n * decimal(row[0]) for row, n in zip(self.rows, self.times, strict=True)), Fraction(0)))

    @property
    def work(self) -> int:
        """The number of evaluations per node of a line."""
        return len(self.rows)

    @property
    def period_work(self) -> int:
        """The number of evaluations per node of a period."""
        return self.work


def atom_cells(values: Array, weights: Array, edges: Array) -> tuple[Array, Array]:
    """Return sums of weights and of weight·e^{−value} by cell."""
    with np.errstate(divide="ignore", over="ignore"):
        against = np.exp(np.log(weights) - values)
    places, n_cells = np.searchsorted(edges, values), len(edges) + 1
    return np.bincount(places, weights, n_cells), np.bincount(places, against, n_cells)


def normal_cells(ends: Array) -> Array:
    """Return standard normal probabilities between the `ends`."""
    low, high = ends[:-1], ends[1:]
    tails = scipy.special.ndtr(np.where(low > 0, [-low, -high], [high, low]))
    return np.asarray(np.maximum(tails[0] - tails[1], 0.0))


def growing_cells(width: float, edges: Array) -> tuple[Array, Array]:
    """Return integrals of e^{(x−width)/2}/2 and e^{−(x+width)/2}/2 over the cells of ±width."""
    ends = np.clip(np.concatenate([[-width], edges, [width]]), -width, width)
    shares = -np.expm1((ends[:-1] - ends[1:]) / 2)
    return shares * np.exp((ends[1:] - width) / 2), shares * np.exp(-(ends[:-1] + width) / 2)


def blocks(n_rows: int, width: int) -> Iterator[slice]:
    """Yield slices of rows for blocks of limited size."""
    size = max(1, 2**19 // max(1, width))  # numbers held at a time
    for start in range(0, n_rows, size):
        yield slice(start, start + size)


def log_sum(logs: Array) -> float:
    """Return log Σ e^x without overflow."""
    largest = float(logs.max())
    return largest + math.log(float(np.exp(logs - largest).sum()))


def line_of(real: Array, imaginary: Array, relative: Array, counts: Array) -> Line:
    """Return the line from M/M(c) − 1 of all rows.

    It is `real` + i·`imaginary`, `relative` bounds its error in units, and all are (rows, heights); rows are summed.
    """
    floor = relative * UNIT  # values below their own error count as that error
    change = 2 * real + real * real + imaginary * imaginary
    near = np.abs(change) < 0.5
    if near.all():
        modulus = np.maximum(np.sqrt(1 + change), floor)
        logs = np.log1p(change) / 2
    else:
        modulus = np.maximum(np.hypot(1 + real, imaginary), np.maximum(floor, 1e-300))
        logs = np.where(near, np.log1p(np.maximum(change, -0.5)) / 2, np.log(modulus))
    angles = np.arctan2(imaginary, 1 + real)
    lost = np.minimum(floor / modulus, 2.0) + 4 * UNIT * np.abs(angles)
    return Line(counts @ logs, counts @ angles, counts @ lost)


def gaussian_moment(square: float, orders: Array) -> Array:
    """Return log M of a Gaussian with this μ²."""
    return orders * ((orders + 1) * (square / 2))


def gaussian_line(square: float, order: float, heights: Array) -> Line:
    """Return the line of a Gaussian with this μ²."""
    real = -(heights**2) * (square / 2)
    imaginary = (2 * order + 1) * heights * (square / 2)
    return Line(real, imaginary, 8 * UNIT * (np.abs(real) + imaginary))
