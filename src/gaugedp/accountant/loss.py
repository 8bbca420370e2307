"""The interface of a privacy loss: moments, values on a vertical line, and exact forms where it has some."""

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
LARGEST_LOSS = 1e6  # a guarantee that allows more is left to the plain rules


class Pair(NamedTuple):
    """A pair of laws (P, Q) that dominates a mechanism: its `family`, its parameters, and P(loss = ∞).

    The family speaks of the law of the loss under P given that it is finite.
    """

    family: "type[PrivacyLoss]"
    row: tuple[Any, ...]
    impossible: Fraction = Fraction(0)


class Line(NamedTuple):
    """log M(c + it) − log M(c) on a line: real and imaginary part, and a bound on the rounding of both together."""

    real: Array
    imaginary: Array
    rounding: Array

    def plus(self, line: "Line") -> "Line":
        """Return the line of both together."""
        return Line(*(mine + theirs for mine, theirs in zip(self, line, strict=True)))

    @classmethod
    def sum(cls, lines: "Iterable[Line]", heights: Array) -> "Line":
        """Return the sum of the lines at `heights`."""
        return reduce(Line.plus, lines, cls(*np.zeros((3, len(heights)))))

    def times(self, count: Array | float) -> "Line":
        """Return the line of as many independent copies."""
        return Line(self.real * count, self.imaginary * count, self.rounding * count)


class Lattice(NamedTuple):
    """Losses of a row: each is `offset` plus a whole number of spans; the row occurs so many `times`."""

    offset: Fraction
    span: Fraction
    times: int


def common_span(spans: Iterable[Fraction]) -> Fraction:
    """Return the largest number of which all `spans` are multiples."""
    return reduce(_common_divisor, spans, Fraction(0))


def _common_divisor(a: Fraction, b: Fraction) -> Fraction:
    return Fraction(math.gcd(a.numerator * b.denominator, b.numerator * a.denominator), a.denominator * b.denominator)


class PrivacyLoss(ABC):
    """Independent privacy losses of one kind: one row of parameters each, and how often it occurs.

    M(z) = E_P[e^{zL}] = exp(z·D_{z+1}(P‖Q)); every sum runs over the rows, each as often as its count.
    """

    symmetric: ClassVar[bool] = True

    def __init__(self, rows: list[tuple[Any, ...]], counts: list[int]) -> None:
        self.rows, self.counts, self.times = rows, np.array(counts, dtype=float), counts

    @abstractmethod
    def log_moment(self, orders: Array) -> Array:
        """Return log M at each of the real `orders` > 0, correct to a few units in the last place of each row's."""

    @abstractmethod
    def line(self, order: float, heights: Array) -> Line:
        """Return the line at c = `order` > 0 and t = `heights` ≥ 0."""

    @abstractmethod
    def log_tail(self, order: float, height: float, until: float = math.inf) -> float:
        """Return a bound, at most 0, on log |M(c + it)/M(c)| that holds for every t from `height` to `until`."""

    def rounding(self, orders: Array) -> Array:
        """Return a bound on the error of `log_moment` at each of the `orders`."""
        return 64 * UNIT * self.log_moment(orders)

    @property
    def largest_order(self) -> float:
        """Return the largest order a contour may use."""
        return math.exp(12)

    @property
    def largest(self) -> float:
        """Return a bound on the sum of the losses, infinity where there is none."""
        return math.inf

    def exact_delta(self, epsilon: float) -> float | None:  # noqa: ARG002
        """Return the profile of all rows together where it has a closed form, rounded up."""
        return None

    def exact_epsilon(self, delta: float) -> float | None:  # noqa: ARG002
        """Return the inverse of `exact_delta` where it has a closed form, rounded up."""
        return None

    def atoms(self) -> list[tuple[Array, Array, int]] | None:
        """Return (values, weights, count) of each row where all losses have finitely many values."""
        return None

    def lattices(self) -> list[Lattice] | None:
        """Return the lattice of decimals that each row lies on, where all are known."""
        return None

    def cells(self, edges: Array) -> list[tuple[Array, Array, int]] | None:
        """Return (P, Q, count) of each row where the loss is a number with a known distribution.

        P holds the probabilities of a loss up to the first of the ascending `edges`, between the first and the second,
        …, beyond the last. Q holds the means of e^{−loss} in the same cells.
        """
        rows = self.atoms()
        return None if rows is None else [(*atom_cells(*row[:2], edges), row[2]) for row in rows]

    def shifts(self) -> list[tuple[float, int]]:
        """Return (t, count) of each row where the pairs are Laplace laws of scale 1 with centres t apart."""
        return []

    def sampled_normals(self) -> list[tuple[float, float, int]]:
        """Return (q, σ, count) where losses are log(1 − q) with probability 1 − q, else log q + N(1/2σ², 1/σ²)."""
        return []

    def plain_sum(self) -> float:
        """Return the sum of the rows' first numbers in the decimals that they print as, rounded up."""
        return up_decimal(sum((n * decimal(row[0]) for row, n in zip(self.rows, self.times, strict=True)), Fraction(0)))

    @property
    def work(self) -> int:
        """Return the number of evaluations per node of a line."""
        return len(self.rows)

    @property
    def period_work(self) -> int:
        """Return the number of evaluations per node of one lattice period."""
        return self.work


class PrivacyLossOfNumbers(PrivacyLoss):
    """Losses whose rows are one number each: sums run over columns of `numbers`, a block of rows at a time."""

    def __init__(self, rows: list[tuple[Any, ...]], counts: list[int]) -> None:
        super().__init__(rows, counts)
        self.numbers = np.array([row[0] for row in rows], dtype=float)

    @abstractmethod
    def block_moment(self, orders: Array, numbers: Array) -> Array:
        """Return log M, of shape (rows, orders)."""

    @abstractmethod
    def block_line(self, order: float, heights: Array, numbers: Array, counts: Array) -> Line:
        """Return the line of the rows, each as often as its count."""

    def log_moment(self, orders: Array) -> Array:
        """Return the sum of log M."""
        parts = blocks(len(self.numbers), len(orders))
        moments = [self.counts[part] @ self.block_moment(orders, self.numbers[part, None]) for part in parts]
        return np.sum(moments, axis=0)

    def line(self, order: float, heights: Array) -> Line:
        """Return the sum of the lines."""
        parts = blocks(len(self.numbers), len(heights))
        lines = (self.block_line(order, heights, self.numbers[part, None], self.counts[part]) for part in parts)
        return Line.sum(lines, heights)


def atom_cells(values: Array, weights: Array, edges: Array) -> tuple[Array, Array]:
    """Return the sums of the `weights` of the values in each cell, and of weight·e^{−value}."""
    with np.errstate(divide="ignore", over="ignore"):
        against = np.exp(np.log(weights) - values)
    places, n_cells = np.searchsorted(edges, values), len(edges) + 1
    return np.bincount(places, weights, n_cells), np.bincount(places, against, n_cells)


def normal_cells(ends: Array) -> Array:
    """Return the probabilities of a standard normal number between the `ends`."""
    low, high = ends[:-1], ends[1:]
    tails = scipy.special.ndtr(np.where(low > 0, [-low, -high], [high, low]))
    return np.asarray(np.maximum(tails[0] - tails[1], 0.0))


def growing_cells(width: float, edges: Array) -> tuple[Array, Array]:
    """Return the integrals of e^{(x−width)/2}/2 and of e^{−(x+width)/2}/2 over the cells of ±width."""
    ends = np.clip(np.concatenate([[-width], edges, [width]]), -width, width)
    shares = -np.expm1((ends[:-1] - ends[1:]) / 2)
    return shares * np.exp((ends[1:] - width) / 2), shares * np.exp(-(ends[:-1] + width) / 2)


def blocks(n_rows: int, width: int) -> Iterator[slice]:
    """Yield slices of the rows that keep a block of `width` numbers a row small."""
    size = max(1, 2**19 // max(1, width))  # numbers held at a time
    for start in range(0, n_rows, size):
        yield slice(start, start + size)


def log_sum(logs: Array) -> float:
    """Return log Σ e^x, the largest taken out first."""
    largest = float(logs.max())
    return largest + math.log(float(np.exp(logs - largest).sum()))


def line_of(real: Array, imaginary: Array, relative: Array, counts: Array) -> Line:
    """Return the line of rows whose M/M(c) − 1 is `real` + i·`imaginary`; `relative` bounds its error in units.

    All are (rows, heights); the sum runs over the rows.
    """
    floor = relative * UNIT  # what is below its own error counts as large as that
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
    """Return log M of a Gaussian with μ² = `square`: z(z + 1)·μ²/2."""
    return orders * ((orders + 1) * (square / 2))


def gaussian_line(square: float, order: float, heights: Array) -> Line:
    """Return the line of a Gaussian with μ² = `square`: −t²·μ²/2 and (2c + 1)·t·μ²/2."""
    real = -(heights**2) * (square / 2)
    imaginary = (2 * order + 1) * heights * (square / 2)
    return Line(real, imaginary, 8 * UNIT * (np.abs(real) + imaginary))
