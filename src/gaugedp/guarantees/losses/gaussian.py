"""Losses of Gaussian noise."""

import math
from typing import Any

import numpy as np

from gaugedp.guarantees.losses.base import UNIT, Array, Line, Losses


class GaussianLosses(Losses):
    """Rows (μ,): N(μ, 1) against N(0, 1). All together are one such pair with the sum of the squares."""

    def __init__(self, rows: list[tuple[Any, ...]], counts: list[int]) -> None:
        super().__init__(rows, counts)
        largest = max(row[0] for row in rows)
        shares = (count * (row[0] / largest) ** 2 for row, count in zip(rows, counts, strict=True) if largest)
        self.root = largest * math.sqrt(math.fsum(shares))  # no square underflows
        self.square = self.root**2

    def log_moment(self, orders: Array) -> Array:
        """Return z(z + 1)·Σμ²/2."""
        return orders * (orders + 1) * (self.square / 2)

    def line(self, order: float, heights: Array) -> Line:
        """Return −t²·Σμ²/2 and (2c + 1)·t·Σμ²/2."""
        real = -(heights**2) * (self.square / 2)
        imaginary = (2 * order + 1) * heights * (self.square / 2)
        return Line(real, imaginary, 8 * UNIT * (np.abs(real) + imaginary))

    def log_tail(self, order: float, height: float, until: float = math.inf) -> float:  # noqa: ARG002
        """Return −height²·Σμ²/2."""
        return -height * height * self.square / 2

    @property
    def work(self) -> int:
        """One number, however many rows."""
        return 1
