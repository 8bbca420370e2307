"""Losses of randomized response, which dominates every ε-DP mechanism."""

import math

import numpy as np

from gaugedp._internal.rounding import UNIT
from gaugedp._internal.validate import decimal
from gaugedp.accountant.loss import Array, Lattice, Line, blocks
from gaugedp.accountant.loss_of_numbers import PrivacyLossOfNumbers

LEAST_SCANNED = 200  # number of releases below which a scan bounds too little


class ResponsePrivacyLoss(PrivacyLossOfNumbers):
    """Losses of randomized response, with rows (ε,).

    The loss is ε with probability e^ε/(1 + e^ε), else −ε; M(z) = cosh((z + ½)ε)/cosh(ε/2).
    """

    def block_moment(self, orders: Array, numbers: Array) -> Array:
        """Return log1p of 2·sinh((z + 1)ε/2)·sinh(zε/2)/cosh(ε/2), without cancellation."""
        growth = orders * numbers
        log_excess = _log_sinh(growth / 2) + _log_sinh((growth + numbers) / 2) - _log_cosh(numbers / 2) + np.log(2)
        return np.logaddexp(0.0, log_excess)

    def block_line(self, order: float, heights: Array, numbers: Array, counts: Array) -> Line:
        """Return the line by |M/M(c)|² = 1 − sin²(tε)/A², A = cosh((c + ½)ε), and tan φ = tanh((c + ½)ε)·tan(tε)."""
        phase = heights * numbers
        sine = np.sin(phase)
        lost = (sine / np.cosh(np.minimum((order + 0.5) * numbers, 350.0))) ** 2
        square = np.maximum(1 - lost, 64 * UNIT * (1 + phase))
        angle = np.arctan2(np.tanh((order + 0.5) * numbers) * sine, np.cos(phase))
        rounding = np.minimum(6 * UNIT * (phase + lost) / square, 2.0)
        logs = np.log1p(-np.minimum(lost, 0.5))
        if not (lost < 0.5).all():
            logs = np.where(lost < 0.5, logs, np.log(square))
        return Line(counts @ (logs / 2), counts @ angle, counts @ rounding)

    def atoms(self) -> list[tuple[Array, Array, int]]:
        """Return ±ε of each row."""
        falls = [math.exp(-loss) for loss in self.numbers]
        return [
            (np.array([loss, -loss]), np.array([1.0, fall]) / (1 + fall), count)
            for loss, fall, count in zip(self.numbers, falls, self.times, strict=True)
        ]

    def lattices(self) -> list[Lattice]:
        """Return −ε and 2ε of each row."""
        exact = [decimal(row[0]) for row in self.rows]
        return [Lattice(-loss, 2 * loss, count) for loss, count in zip(exact, self.times, strict=True)]

    @property
    def largest(self) -> float:
        """The sum Σε."""
        return self.plain_sum()

    def log_tail(self, order: float, height: float, until: float = math.inf) -> float:
        """Return −¼·(W − max |Σ w·e^{iuε}|), W = Σ w.

        u = 2t, A = cosh((c + ½)ε) and w = n/A², as log |M/M(c)| = ½·log(1 − sin²(tε)/A²) ≤ −¼·(1 − cos 2tε)/A². The
        maximum over [2·height, 2·until] is bounded on a grid, with the largest change between two points. 0 for an
        infinite `until`, since the modulus is periodic.
        """
        weights = self.counts / np.cosh(np.minimum((order + 0.5) * self.numbers, 350.0)) ** 2
        if math.isinf(until) or float(weights.sum()) < LEAST_SCANNED:
            return 0.0
        # 10**6: sines and cosines in a scan of the modulus
        return -lost_by_turning(weights, self.numbers, (height, until), max(16, min(4096, 10**6 // len(weights)))) / 4


def lost_by_turning(weights: Array, numbers: Array, heights: tuple[float, float], n_points: int) -> float:
    """Return a lower bound on W − max |Σ w·e^{iux}|.

    W = Σ w, x are the `numbers`, u/2 is between the `heights`; the maximum is bounded on a grid, with slack.
    """
    whole = float(weights.sum())
    centred = numbers - float(weights @ numbers) / whole
    grid = np.linspace(2 * heights[0], 2 * heights[1], n_points)
    slack = float(weights @ np.abs(centred)) * (grid[1] - grid[0]) / 2
    largest = 0.0
    for block in blocks(n_points, 2 * len(centred)):
        phase = grid[block, None] * centred
        largest = max(largest, float(np.hypot(np.cos(phase) @ weights, np.sin(phase) @ weights).max()))
    return max(0.0, whole * (1 - 1e-9) - largest - slack)


def _log_sinh(x: Array) -> Array:
    with np.errstate(divide="ignore"):  # a loss of 0 gives −∞
        return x + np.log(-np.expm1(-2 * x)) - np.log(2)


def _log_cosh(x: Array) -> Array:
    return x + np.log1p(np.exp(-2 * x)) - np.log(2)
