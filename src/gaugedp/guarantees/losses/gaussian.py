"""Losses of Gaussian noise."""

import math
from typing import Any

import numpy as np

from gaugedp.accountant.loss import Array, Line, PrivacyLoss, gaussian_line, gaussian_moment, normal_cells
from gaugedp.accountant.rounding import up
from gaugedp.guarantees.gaussian_curve import gaussian_delta, gaussian_epsilon


class GaussianPrivacyLoss(PrivacyLoss):
    """Losses of N(μ, 1) against N(0, 1), with rows (μ,), combined into one with √Σμ²."""

    def __init__(self, rows: list[tuple[Any, ...]], counts: list[int]) -> None:
        largest = max(row[0] for row in rows)
        shares = (count * (row[0] / largest) ** 2 for row, count in zip(rows, counts, strict=True) if largest)
        self.root = largest * math.sqrt(math.fsum(shares))  # no square underflows
        self.square = self.root**2
        super().__init__([(self.root,)], [1])

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
        """Return the profile of √Σμ²-GDP."""
        return gaussian_delta(up(self.root), epsilon)

    def exact_epsilon(self, delta: float) -> float:
        """Return the inverse of the profile."""
        return gaussian_epsilon(up(self.root), delta)

    def cells(self, edges: Array) -> list[tuple[Array, Array, int]]:
        """Return the cells of N(μ²/2, μ²) and of N(−μ²/2, μ²)."""
        ends = np.concatenate([[-math.inf], edges, [math.inf]]) / self.root
        return [(normal_cells(ends - self.root / 2), normal_cells(ends + self.root / 2), 1)]

    @property
    def work(self) -> int:
        """One unit for any number of rows."""
        return 1
