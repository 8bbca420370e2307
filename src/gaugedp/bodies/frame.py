"""Frames of independent columns: coordinates, bases, volumes and short sums."""

import math
from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np

from gaugedp._internal.rounding import PARAMETERS, UNIT
from gaugedp.bodies.base import Body
from gaugedp.errors import InvalidRequest

STEPS = 15  # then sums are within some thousandths of the least


def powers_of_two(sizes: np.ndarray) -> np.ndarray:
    """Return powers of two that scale sizes into [1/2, 1)."""
    exponents = np.where(sizes > 0, np.frexp(sizes)[1], 0)
    return np.ldexp(1.0, np.clip(-exponents, -1021, 1021))


def equilibrated(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the matrix with entries scaled to at most 1 by powers of two, and both scales."""
    rows = powers_of_two(np.abs(matrix).max(axis=1))
    scaled = matrix * rows[:, None]
    columns = powers_of_two(np.abs(scaled).max(axis=0))
    return scaled * columns, rows, columns


def independent(matrix: np.ndarray) -> np.ndarray:
    """Return the indices of r independent columns, r the numerical rank."""
    import scipy.linalg

    scaled = equilibrated(matrix)[0]
    triangle, order = scipy.linalg.qr(scaled, mode="r", pivoting=True, overwrite_a=True)
    steps = np.abs(np.diag(triangle))
    rank = int((steps > 8 * (len(matrix) + 8) * UNIT * steps[0]).sum()) if steps[0] > 0 else 0
    return order[:rank]


class Frame:
    """A frame of independent columns B, shape (d, r)."""

    def __init__(self, columns: np.ndarray) -> None:
        self.columns = columns
        self.ambient_dim, self.rank = columns.shape
        self._scaled, self._rows, self._columns = equilibrated(columns)

    @cached_property
    def span(self) -> np.ndarray:
        """An orthonormal basis of the span, shape (d, r)."""
        if self.rank == self.ambient_dim:
            return np.eye(self.rank)
        return np.linalg.qr(self.columns * powers_of_two(np.abs(self.columns).max(axis=0)))[0]

    def coordinates(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return x (k, r) with B·x = point, and a mask of the span."""
        targets = points.T * self._rows[:, None]
        picked, square, condition = self._square
        # 1e6: the condition number from which residuals are taken in extended precision
        answers = _solved(square, targets[picked], condition > 1e6)
        apart = np.abs(targets - self._scaled @ answers).max(axis=0)
        rounding = 2**5 * UNIT * (np.abs(self._scaled) @ np.abs(answers)).max(axis=0)
        # 1e-10: relative distance from the span at which a point counts as off it
        inside = apart <= 1e-10 * np.abs(targets).max(axis=0) + rounding
        return (answers * self._columns[:, None]).T, inside

    @cached_property
    def _square(self) -> tuple[np.ndarray, np.ndarray, float]:
        picked = np.arange(self.rank) if self.rank == self.ambient_dim else independent(self._scaled.T)[: self.rank]
        square = self._scaled[picked]
        condition = float(np.linalg.cond(square)) if len(picked) == self.rank else math.inf
        if not condition < 1e13:  # above it coordinates would have no correct digits
            raise InvalidRequest(
                "Some generators (points that span the body) are nearly parallel, with a condition number of "
                f"{condition:.1e}, so results would be inaccurate.",
                "Remove generators that differ from others only by rounding.",
            )
        return picked, square, condition

    @cached_property
    def log_volume(self) -> tuple[float, float]:
        """log √det(BᵀB), the log volume of the columns, and an error bound.

        B = QR by Householder reflections is exact for unit columns that are each off by at most 10·d·r·2^−53, so that
        together they are off by E with ‖E‖ ≤ 10·d·r^1.5·2^−53. Their volume is within (1 ± ‖B⁺E‖)^r of the right one.
        """
        if self.rank == self.ambient_dim:
            matrix, shift = self._scaled, -np.log(self._columns).sum() - np.log(self._rows).sum()
        else:
            scale = powers_of_two(np.abs(self.columns).max(axis=0))
            matrix, shift = self.columns * scale, -np.log(scale).sum()
        lengths = np.linalg.norm(matrix, axis=0)
        logs = np.log(np.abs(np.diag(np.linalg.qr(matrix / lengths, mode="r")))) + np.log(lengths)
        least = np.linalg.svd(matrix / lengths, compute_uv=False)[-1]
        relative = 10 * self.ambient_dim * self.rank**1.5 * UNIT / least if least > 0 else math.inf
        terms = np.abs(logs).sum() + abs(shift)
        error = -self.rank * math.log1p(-relative) + 16 * self.rank * UNIT * terms if relative < 0.5 else math.inf
        return float(logs.sum() + shift), float(error)


def _solved(square: np.ndarray, targets: np.ndarray, refine: bool) -> np.ndarray:
    answers = np.linalg.solve(square, targets)
    if not refine:
        return answers
    exact, wide = square.astype(np.longdouble), answers.astype(np.longdouble)
    for _ in range(3):
        residual = targets.astype(np.longdouble) - exact @ wide
        wide = wide + np.linalg.solve(square, residual.astype(float))
    return wide.astype(float)


class FramedBody(Body, ABC):
    """A body whose span has a frame."""

    @property
    @abstractmethod
    def frame(self) -> Frame:
        """Independent columns that span the body."""

    @property
    def rank(self) -> int:
        """The numerical rank of the columns."""
        return self.frame.rank

    @property
    def span(self) -> np.ndarray:
        """An orthonormal basis of the span."""
        return self.frame.span


def sums_above(columns: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return bounds S ≥ min{Σ|λ_j| : columns·λ = point}, shape (k,).

    The points are the rows of `points` (k, m), and `columns` (m, n) have rank m. Each λ comes from reweighted least
    squares, Σλ²/w least with w = √(λ² + smoothing²) of the λ before (Daubechies and others 2010). Any λ gives a bound;
    its residual, by rounding, is covered by the least-squares solution: Σ|λ| ≤ √n·‖columns⁺‖·‖residual‖₂.
    """
    inverse = np.linalg.pinv(columns)
    worst = np.sqrt(columns.shape[1]) * np.linalg.norm(inverse, 2) * (1 + PARAMETERS)
    coefficients = points @ inverse.T
    scale = np.abs(coefficients).mean(axis=1, keepdims=True)
    sums = np.full(len(points), np.inf)
    for step in range(STEPS + 1):
        remainder = np.linalg.norm(points - coefficients @ columns.T, axis=1)
        sums = np.minimum(sums, np.abs(coefficients).sum(axis=1) + worst * remainder)
        weights = np.hypot(coefficients, 0.5**step * scale)  # shrinkage of the smoothing, from step to step
        grams = (columns * weights[:, None, :]) @ columns.T
        coefficients = weights * (np.linalg.solve(grams, points[..., None])[..., 0] @ columns)
    return sums * (1 + PARAMETERS)
