"""Losses of the discrete Gaussian."""

import math

import numpy as np

from gaugedp._internal.rounding import UNIT
from gaugedp._internal.validate import decimal
from gaugedp.accountant.loss import Array, Lattice, Line, PrivacyLoss, atom_cells, line_of
from gaugedp.guarantees.losses.finite import tilted_line

# deviations beyond which the mass is negligible, and the most terms that are summed
_DEVIATIONS = 37.5


class LatticeGaussianPrivacyLoss(PrivacyLoss):
    """Losses of shifted discrete Gaussian noise, with rows (σ, d).

    The weights are ∝ e^{−k²/2σ²} on the integers, against the same shifted by d. log M(z) = z(z + 1)·d²/(2σ²) + log
    θ(zd)/θ(0), θ(u) = Σ_k e^{−(k+u)²/2σ²}. The losses are a lattice, and |M| has the imaginary period 2πσ²/d.
    """

    def log_moment(self, orders: Array) -> Array:
        """Return the sum of log M."""
        moments = [n * _log_moment(orders, *row) for row, n in zip(self.rows, self.counts, strict=True)]
        return np.sum(moments, axis=0)

    def line(self, order: float, heights: Array) -> Line:
        """Return the line, folded into one period."""
        lines = (_line(order, heights, *row).times(n) for row, n in zip(self.rows, self.counts, strict=True))
        return Line.sum(lines, heights)

    def log_tail(self, order: float, height: float, until: float = math.inf) -> float:  # noqa: ARG002
        """Return 0: the modulus is periodic."""
        return 0.0

    def lattices(self) -> list[Lattice]:
        """Return d²/2σ² and d/σ² of each row."""
        squares = [decimal(std) ** 2 for std, _ in self.rows]
        return [
            Lattice(shift**2 / (2 * square), shift / square, count)
            for (_, shift), square, count in zip(self.rows, squares, self.times, strict=True)
        ]

    def cells(self, edges: Array) -> list[tuple[Array, Array, int]] | None:
        """Return the cells of all losses, with extra mass in the last; None if they are too many."""
        if any(_DEVIATIONS * std > 2**18 for std, _ in self.rows):
            return None
        return [(*_cells(edges, *row), n) for row, n in zip(self.rows, self.times, strict=True)]

    @property
    def work(self) -> int:
        """Four units per row."""
        return 4 * len(self.rows)


def _cells(edges: Array, std: float, shift: int) -> tuple[Array, Array]:
    k = np.arange(-math.ceil(_DEVIATIONS * std), math.ceil(_DEVIATIONS * std) + 1)
    weights = np.exp(-((k / std) ** 2) / 2)
    p, q = atom_cells((shift**2 / 2 + k * shift) / std**2, weights / weights.sum(), edges)
    p[-1] += math.exp(-700)
    return p, q


def _log_moment(orders: Array, std: float, shift: int) -> Array:
    return orders * (orders + 1) * (shift / std) ** 2 / 2 + _log_theta_ratio(orders * shift, std)


def _log_theta_ratio(u: Array, std: float) -> Array:
    """Return log θ(u)/θ(0) for real u."""
    u = u - np.round(u)
    if std < 0.1:  # below this deviation only the nearest points count, and sums of large terms would overflow
        return -(u**2) / (2 * std**2) + _log_others(u, std) - _log_others(np.zeros(1), std)
    if std < 1.0:  # the sum is shorter than its Poisson dual
        k = np.arange(-12, 13)
        weights = np.exp(-(k**2) / (2 * std**2))
        growth = k * u[:, None] / std**2
        change = np.expm1(-(u[:, None] ** 2) / (2 * std**2)) * np.cosh(growth) + 2 * np.sinh(growth / 2) ** 2
        return np.log1p(change @ weights / weights.sum())
    m = np.arange(1, 4)
    dual = np.exp(-2 * (math.pi * std * m) ** 2)
    return np.log1p(-4 * (np.sin(math.pi * m * u[:, None]) ** 2 @ dual) / (1 + 2 * dual.sum()))


def _log_others(u: Array, std: float) -> Array:
    """Return log Σ_k e^{−(k² + 2ku)/2σ²} for |u| ≤ ½, where no term exceeds 1."""
    k = np.array([-2, -1, 1, 2])
    return np.log1p(np.exp(-(k**2 + 2 * k * u[:, None]) / (2 * std**2)).sum(axis=1))


def _line(order: float, heights: Array, std: float, shift: int) -> Line:
    if std < 1.0:
        centre = round(order * shift)
        k = np.arange(-12, 13) - centre
        logs = -((k + order * shift) ** 2) / (2 * std**2)
        tilted = np.exp(logs - logs.max())
        return tilted_line((shift**2 / 2 - k * shift) / std**2, tilted / tilted.sum(), heights, 1e3)
    period = 2 * math.pi * std**2 / shift
    turns = np.round(heights / period)
    t = heights - turns * period
    gauss, phase = (t * shift / std) ** 2 / 2, (2 * order + 1) * t * (shift / std) ** 2 / 2
    theta = _theta_line(order * shift, t * shift, std)
    lost = 8 * UNIT * (gauss + np.abs(phase) + (1 + np.abs(turns)) * (heights * shift / std) ** 2 / 1e3)
    return Line(theta.real - gauss, theta.imaginary + phase + math.pi * shift * turns, theta.rounding + lost)


def _theta_line(u: float, v: Array, std: float) -> Line:
    """Return log θ(u + iv)/θ(u) for |v| ≤ πσ², by the dual sum, whose second term is below rounding."""
    height = 2 * np.exp(-2 * (math.pi * std) ** 2)
    axis = 1 + height * math.cos(2 * math.pi * u)
    log_grown = 2 * math.pi * np.abs(v) - 2 * (math.pi * std) ** 2
    rising, falling = np.exp(log_grown), np.exp(log_grown - 4 * math.pi * np.abs(v))
    real = math.cos(2 * math.pi * u) * (rising + falling - height) / axis
    imaginary = -math.sin(2 * math.pi * u) * (rising - falling) * np.sign(v) / axis
    return line_of(real[None], imaginary[None], 8 * (1 + std**2) * rising[None], np.ones(1))
