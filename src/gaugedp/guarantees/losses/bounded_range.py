"""Losses of bounded-range mechanisms, such as the exponential mechanism."""

import math

import numpy as np

from gaugedp.accountant.loss import Array, Line, growing_cells, line_of
from gaugedp.accountant.loss_of_numbers import PrivacyLossOfNumbers
from gaugedp.guarantees.losses.laplace import sinhc_difference


class BoundedRangePrivacyLoss(PrivacyLossOfNumbers):
    """Losses of bounded range, with rows (ε,).

    The density is ½·e^{(x−ε)/2}/(1 − e^{−ε}) on [−ε, ε]; M(z) = S((z + ½)ε)/S(ε/2), S(x) = sinh(x)/x. The pair has the
    largest profile over all mechanisms of range ε (docs/theory/accountant.md), so it dominates each of them.
    """

    def block_moment(self, orders: Array, numbers: Array) -> Array:
        """Return log M, for small arguments by M − 1."""
        y = (orders + 0.5) * numbers
        small = y < 1
        centre = _log_sinhc(numbers / 2)
        difference = sinhc_difference(np.where(small, orders, 0.0), np.minimum(numbers, 2.0))
        difference = np.log1p(difference / np.exp(np.minimum(centre, 1.0)))
        turned = -np.exp(-numbers) * np.expm1(-2 * orders * numbers) / -np.expm1(-numbers)
        return np.where(small, difference, orders * numbers + np.log1p(turned) - np.log1p(2 * orders))

    def block_line(self, order: float, heights: Array, numbers: Array, counts: Array) -> Line:
        """Return the line of sinh(aε)/a, a = c + ½ + it."""
        y, t = order + 0.5, heights
        phase, square, slope = t * numbers, y * y + t * t, 1 / np.tanh(y * numbers)
        sine, cosine = np.sin(phase), np.cos(phase)
        real = (-2 * (y * np.sin(phase / 2)) ** 2 + t * (y * slope * sine - t)) / square
        imaginary = y * (y * slope * sine - t * cosine) / square
        relative = 8 * (y * y * phase + t * y * slope * phase + t * t + y * t) / square
        return line_of(real, imaginary, relative, counts)

    def cells(self, edges: Array) -> list[tuple[Array, Array, int]]:
        """Return the integrals of both densities."""
        rows = [(*growing_cells(width, edges), -math.expm1(-width)) for width in self.numbers.tolist()]
        return [(p / whole, q / whole, n) for (p, q, whole), n in zip(rows, self.times, strict=True)]

    @property
    def largest(self) -> float:
        """The sum Σε."""
        return self.plain_sum()

    def log_tail(self, order: float, height: float, until: float = math.inf) -> float:  # noqa: ARG002
        """Bound |sinh(aε)/a| by cosh((c + ½)ε)/|a|."""
        y = order + 0.5
        ratio = y / (np.hypot(y, height) * np.tanh(y * self.numbers))
        return float(self.counts @ np.minimum(np.log(ratio), 0.0))


def _log_sinhc(x: Array) -> Array:
    tiny = x < 1e-4
    safe = np.where(tiny, 1.0, x)
    return np.where(tiny, x * x / 6, safe + np.log(-np.expm1(-2 * safe) / (2 * safe)))
