"""Losses of Laplace noise."""

import math

import numpy as np

from gaugedp.accountant.loss import Array, Line, atom_cells, growing_cells, line_of
from gaugedp.accountant.loss_of_numbers import PrivacyLossOfNumbers
from gaugedp.guarantees.losses.response import LEAST_SCANNED, lost_by_turning


class LaplacePrivacyLoss(PrivacyLossOfNumbers):
    """Losses of Laplace distributions of scale 1 shifted by t, with rows (t,).

    M(z) = e^{−t/2}·(cosh(at) + sinh(at)/(2a)) with a = z + ½: atoms at ±t and a density between.
    """

    def block_moment(self, orders: Array, numbers: Array) -> Array:
        """Return log M, by M − 1 or by the larger exponential."""
        small = (orders + 0.5) * numbers < 1
        safe, width = np.where(small, orders, 0.0), np.minimum(numbers, 2.0)
        product = 2 * np.sinh((safe + 1) * width / 2) * np.sinh(safe * width / 2)
        excess = np.exp(-width / 2) * (product + width / 2 * sinhc_difference(safe, width))
        growth, full = np.minimum(orders * numbers, 1.0), 2 * orders + 1
        near = ((orders + 1) * np.expm1(growth) + orders * np.expm1(-(orders + 1) * numbers)) / full
        quotient = (orders + 1) / full + np.exp(-full * numbers) * orders / full
        large = np.where(orders * numbers < 1, np.log1p(near), orders * numbers + np.log(quotient))
        return np.where(small, np.log1p(excess), large)

    def block_line(self, order: float, heights: Array, numbers: Array, counts: Array) -> Line:
        """Return the line of M·e^{t/2} = cosh(at) + sinh(at)/(2a), a = y + ix, scaled by e^{−yt}."""
        y, x = order + 0.5, heights
        falling = np.exp(-2 * y * numbers)
        cosh, sinh = (1 + falling) / 2, -np.expm1(-2 * y * numbers) / 2
        phase, square = x * numbers, 2 * (y * y + x * x)
        sine, cosine = np.sin(phase), np.cos(phase)
        axis = cosh + sinh / (2 * y)
        real = -2 * np.sin(phase / 2) ** 2 * (cosh + y * sinh / square) + x / square * (cosh * sine - sinh * x / y)
        imaginary = sinh * sine + (y * cosh * sine - x * sinh * cosine) / square
        relative = 8 * (phase * axis + x * sinh / y * x / square)
        return line_of(real / axis, imaginary / axis, relative / axis, counts)

    def shifts(self) -> list[tuple[float, int]]:
        """Return the rows."""
        return list(zip(self.numbers.tolist(), self.times, strict=True))

    def cells(self, edges: Array) -> list[tuple[Array, Array, int]]:
        """Return the atoms at ±t and the density between."""
        return [(*_cells(edges, shift), count) for shift, count in self.shifts()]

    @property
    def largest(self) -> float:
        """The sum Σt."""
        return float(self.counts @ self.numbers) * (1 + 1e-12)

    def log_tail(self, order: float, height: float, until: float = math.inf) -> float:
        """Bound log |M/M(c)|, for t beyond `height`.

        |M| is at most e^{ct}·|z + 1|/|2z + 1| + ½·e^{−(c+1)t}, whose quotients are monotone in Im z. Up to a finite
        end, rows of different t turn against each other, which `_turned` bounds.
        """
        upper = np.hypot(order + 1, height) / np.hypot(2 * order + 1, 2 * height)
        largest = self.numbers * order + np.log(upper + 0.5 * np.exp(-(2 * order + 1) * self.numbers))
        at_axis = self.block_moment(np.array([order]), self.numbers[:, None])[:, 0]
        apart = self.counts * np.minimum(largest - at_axis, 0.0)
        return float(apart.sum()) + min(0.0, self._turned(order + 0.5, height, until, at_axis, apart))

    def _turned(self, y: float, height: float, until: float, at_axis: Array, apart: Array) -> float:
        """Return a joint bound up to `until`, less `apart`; or 0.

        Let a = y + ix, C = cosh(yt), w = n/C² for n rows of shift t, and e = 1/|2(y + i·height)|, so 1/|2a| ≤ e. Each
        adds at most n·log(C·e^{−t/2}·(1 + e)/M(c)) − ¼·w·(1 − cos(2xt))/(1 + e) to log |M/M(c)|. Indeed M·e^{t/2} =
        cosh(at) + sinh(at)/(2a), |cosh(at)|² = C² − sin²(xt) and |sinh(at)|² ≤ C². So |M|·e^{t/2} ≤ C·(u + e) with u² =
        1 − sin²(xt)/C², hence u ≤ 1 − sin²(xt)/(2C²), and log(u + e) ≤ log(1 + e) − (1 − u)/(1 + e).
        """
        some = slice(None, None, max(1, len(self.numbers) // 256))
        numbers, counts = self.numbers[some], self.counts[some]
        growth = y * numbers
        log_cosh = growth + np.log1p(np.exp(-2 * growth)) - math.log(2) - numbers / 2
        weights = counts / np.cosh(np.minimum(growth, 350.0)) ** 2
        spread = float(weights @ np.abs(numbers - float(weights @ numbers) / float(weights.sum())))
        # 4.0: points of the grid, in which a quarter of the weight is lost between two
        n_points = (until - height) * 4.0 * spread / float(weights.sum())
        if float(weights.sum()) < LEAST_SCANNED or not n_points * len(numbers) < 10**7:
            return 0.0
        extra = 1 / (2 * math.hypot(y, height))
        lost = lost_by_turning(weights, numbers, (height, until), max(16, math.ceil(n_points)))
        base = float(counts @ (log_cosh - at_axis[some])) + float(counts.sum()) * math.log1p(extra)
        rounding = 1e-12 * float(counts @ (np.abs(log_cosh) + np.abs(at_axis[some])) + np.abs(apart[some]).sum())
        return base + rounding - lost / 4 / (1 + extra) - float(apart[some].sum())


def _cells(edges: Array, shift: float) -> tuple[Array, Array]:
    between = growing_cells(shift, edges)
    at_ends = atom_cells(np.array([-shift, shift]), np.array([math.exp(-shift), 1.0]) / 2, edges)
    return between[0] / 2 + at_ends[0], between[1] / 2 + at_ends[1]


def sinhc_difference(z: Array, width: Array) -> Array:
    """Return sinh(y)/y − sinh(w)/w at y = (z + ½)·width ≤ 1 and w = width/2, by its series."""
    y, w = ((z + 0.5) * width) ** 2, (width / 2) ** 2
    total, term, power, factorial = np.zeros_like(y), np.ones_like(y), w, 6.0
    for n in range(1, 12):
        total = total + term / factorial
        term, power = y * term + power, power * w
        factorial *= (2 * n + 2) * (2 * n + 3)
    return z * (z + 1) * width**2 * total
