"""Losses of pairs drawn with equal probabilities under P and Q."""

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from gaugedp._internal.rounding import UNIT
from gaugedp.accountant.loss import Array, Lattice, Line, PrivacyLoss, common_span, line_of
from gaugedp.accountant.rounding import up

Parts = list[tuple[float, PrivacyLoss]]


class MixedPrivacyLoss(PrivacyLoss):
    """Losses of mixtures of pairs, with rows (parts,).

    M(z) = Σ w·M_i(z); `parts` are (w, family, row), and the w sum to 1.
    """

    symmetric: ClassVar[bool] = False

    def __init__(self, rows: list[tuple[Any, ...]], counts: list[int]) -> None:
        super().__init__(rows, counts)
        self.parts: list[Parts] = [[(w, family([row], [1])) for w, family, row in parts] for (parts,) in rows]

    def log_moment(self, orders: Array) -> Array:
        """Return the sum of log M."""
        moments = [n * _log_moment(orders, parts) for parts, n in zip(self.parts, self.counts, strict=True)]
        return np.sum(moments, axis=0)

    def line(self, order: float, heights: Array) -> Line:
        """Return the sum of the lines."""
        lines = (_line(order, heights, parts).times(n) for parts, n in zip(self.parts, self.counts, strict=True))
        return Line.sum(lines, heights)

    def log_tail(self, order: float, height: float, until: float = math.inf) -> float:
        """Return a bound on log Σ u_i·|M_i(c + it)/M_i(c)|, u the tilted weights."""
        tails = [
            _log_mean([(log_u, loss.log_tail(order, height, until)) for log_u, loss in _log_tilted(order, parts)])
            for parts in self.parts
        ]
        return min(0.0, float(self.counts @ np.array(tails)) + 1e-9 * float(self.counts.sum()))

    def rounding(self, orders: Array) -> Array:
        """Return a bound for the parts and their sum."""
        errors = [np.max([loss.rounding(orders) for _, loss in parts], axis=0) for parts in self.parts]
        return self.counts @ np.array(errors) + super().rounding(orders)

    @property
    def largest_order(self) -> float:
        """The least of the parts' largest orders."""
        return min(loss.largest_order for parts in self.parts for _, loss in parts)

    @property
    def largest(self) -> float:
        """The sum of the rows' largest losses."""
        rows = zip(self.parts, self.times, strict=True)
        return up(math.fsum(n * max(0.0, *(loss.largest for _, loss in parts)) for parts, n in rows))

    def exact_delta(self, epsilon: float) -> float | None:
        """Return the mean of closed profiles of one release."""
        if self.times != [1]:
            return None
        profiles = [(w, loss.exact_delta(epsilon)) for w, loss in self.parts[0]]
        closed = [(w, value) for w, value in profiles if value is not None]
        return min(1.0, up(math.fsum(w * value for w, value in closed))) if len(closed) == len(profiles) else None

    def atoms(self) -> list[tuple[Array, Array, int]] | None:
        """Return the atoms of all parts, or None."""
        return self._joined(lambda loss: loss.atoms(), _all_atoms)

    def lattices(self) -> list[Lattice] | None:
        """Return the common lattices of the rows, or None."""
        found = [[loss.lattices() for _, loss in parts] for parts in self.parts]
        if any(lattices is None for row in found for lattices in row):
            return None
        rows = [[lattice for lattices in row for lattice in lattices or []] for row in found]
        return [_common_lattice(row, n) for row, n in zip(rows, self.times, strict=True)]

    def cells(self, edges: Array) -> list[tuple[Array, Array, int]] | None:
        """Return the mean of the parts' cells."""
        return self._joined(lambda loss: loss.cells(edges), _mean_cells)

    def _joined(
        self,
        ask: Callable[[PrivacyLoss], list[tuple[Array, Array, int]] | None],
        join: Callable[[list[tuple[float, Array, Array]]], tuple[Array, Array]],
    ) -> list[tuple[Array, Array, int]] | None:
        joined = []
        for parts, n in zip(self.parts, self.times, strict=True):
            answers = [(w, ask(loss)) for w, loss in parts]
            if any(answer is None for _, answer in answers):
                return None
            joined.append((*join([(w, *answer[0][:2]) for w, answer in answers if answer]), n))
        return joined

    @property
    def work(self) -> int:
        """The work of all parts."""
        return sum(loss.work for parts in self.parts for _, loss in parts)

    @property
    def period_work(self) -> int:
        """The work of all parts over one period."""
        return sum(loss.period_work for parts in self.parts for _, loss in parts)


def _common_lattice(lattices: list[Lattice], times: int) -> Lattice:
    offset = lattices[0].offset
    moved = [abs(lattice.offset - offset) for lattice in lattices]
    return Lattice(offset, common_span([*moved, *(lattice.span for lattice in lattices)]), times)


def _log_mean(logs: list[tuple[float, float]]) -> float:
    """Return log Σ u·e^x over pairs (log u, x), safely."""
    largest = max(log_u + x for log_u, x in logs)
    return largest + math.log(math.fsum(math.exp(log_u + x - largest) for log_u, x in logs))


def _all_atoms(parts: list[tuple[float, Array, Array]]) -> tuple[Array, Array]:
    values = np.concatenate([each for _, each, _ in parts])
    order = np.argsort(values, kind="stable")
    return values[order], np.concatenate([w * weights for w, _, weights in parts])[order]


def _mean_cells(parts: list[tuple[float, Array, Array]]) -> tuple[Array, Array]:
    return np.sum([w * p for w, p, _ in parts], axis=0), np.sum([w * q for w, _, q in parts], axis=0)


def _log_moment(orders: Array, parts: Parts) -> Array:
    weights, logs = np.array([w for w, _ in parts]), np.array([loss.log_moment(orders) for _, loss in parts])
    near = np.log1p(weights @ np.expm1(np.minimum(logs, 1.0)))
    return np.where(logs.max(axis=0) < 1, near, np.logaddexp.reduce(logs + np.log(weights)[:, None], axis=0))


def _log_tilted(order: float, parts: Parts) -> Parts:
    """Return the parts with the logarithms of the tilted weights w·M_i(c)/M(c)."""
    at = np.array([order])
    total = float(_log_moment(at, parts)[0])
    return [(math.log(w) + float(loss.log_moment(at)[0]) - total, loss) for w, loss in parts]


def _line(order: float, heights: Array, parts: Parts) -> Line:
    """Return the line of Σ u_i·M_i(c + it)/M_i(c), by the changes from 1."""
    real, imaginary, relative = np.zeros((3, len(heights)))
    for log_u, loss in _log_tilted(order, parts):
        u, line = math.exp(log_u), loss.line(order, heights)
        size = np.exp(line.real)
        turned = np.expm1(line.real) * np.cos(line.imaginary) - 2 * np.sin(line.imaginary / 2) ** 2
        real, imaginary = real + u * turned, imaginary + u * size * np.sin(line.imaginary)
        change = np.minimum(np.abs(line.real) + np.abs(line.imaginary), 2.0)
        at = np.array([order])
        tilt = 16 + 256 * float(loss.log_moment(at)[0]) + float(loss.rounding(at)[0]) / UNIT
        relative = relative + u * (size * line.rounding / UNIT + (tilt + 16) * change)
    return line_of(real[None], imaginary[None], 2 * relative[None], np.ones(1))
