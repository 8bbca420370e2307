"""Losses of Gaussian noise."""

import math
from typing import Any, ClassVar

import numpy as np

from gaugedp.accountant.loss import UNIT, Array, Line, PrivacyLoss, gaussian_line, gaussian_moment
from gaugedp.accountant.rounding import up
from gaugedp.guarantees.gaussian_curve import gaussian_delta, gaussian_epsilon


class GaussianPrivacyLoss(PrivacyLoss):
    """Rows (μ,): N(μ, 1) against N(0, 1). All together are one such pair with the sum of the squares."""

    def __init__(self, rows: list[tuple[Any, ...]], counts: list[int]) -> None:
        super().__init__(rows, counts)
        largest = max(row[0] for row in rows)
        shares = (count * (row[0] / largest) ** 2 for row, count in zip(rows, counts, strict=True) if largest)
        self.root = largest * math.sqrt(math.fsum(shares))  # no square underflows
        self.square = self.root**2

    def log_moment(self, orders: Array) -> Array:
        """Return z(z + 1)·Σμ²/2."""
        return gaussian_moment(self.square, orders)

    def line(self, order: float, heights: Array) -> Line:
        """Return −t²·Σμ²/2 and (2c + 1)·t·Σμ²/2."""
        return gaussian_line(self.square, order, heights)

    def log_tail(self, order: float, height: float, until: float = math.inf) -> float:  # noqa: ARG002
        """Return −height²·Σμ²/2."""
        return -height * height * self.square / 2

    def exact_delta(self, epsilon: float) -> float:
        """Return the profile of √Σμ²."""
        return gaussian_delta(up(self.root), epsilon)

    def exact_epsilon(self, delta: float) -> float:
        """Return its inverse."""
        return gaussian_epsilon(up(self.root), delta)

    @property
    def work(self) -> int:
        """One number, however many rows."""
        return 1


class MovedGaussianPrivacyLoss(PrivacyLoss):
    """Rows (μ, m): the loss of N(μ, 1) against N(0, 1), plus m."""

    symmetric: ClassVar[bool] = False

    def log_moment(self, orders: Array) -> Array:
        """Return Σ z(z + 1)·μ²/2 + z·m."""
        return self._gaussian.log_moment(orders) + orders * self._moved

    def line(self, order: float, heights: Array) -> Line:
        """Return the line of the Gaussians, turned by t·m."""
        line, turn = self._gaussian.line(order, heights), heights * self._moved
        return Line(line.real, line.imaginary + turn, line.rounding + 8 * UNIT * np.abs(turn))

    def log_tail(self, order: float, height: float, until: float = math.inf) -> float:
        """Return that of the Gaussians."""
        return self._gaussian.log_tail(order, height, until)

    def rounding(self, order: float) -> float:
        """Return a bound that holds also where the Gaussians and what is added cancel."""
        return self._gaussian.rounding(order) + 16 * UNIT * order * abs(self._moved)

    @property
    def _gaussian(self) -> GaussianPrivacyLoss:
        return GaussianPrivacyLoss([(mu,) for mu, _ in self.rows], self.times)

    @property
    def _moved(self) -> float:
        return math.fsum(n * moved for (_, moved), n in zip(self.rows, self.times, strict=True))
