"""Inverses in floats with error bounds."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gaugedp._internal.rounding import PARAMETERS, UNIT


@dataclass(frozen=True, eq=False)
class Inverse:
    """Approximate right inverse R (k, r) of L (r, k), with error bounds.

    v = L·R·(I − E)⁻¹·v, E = I − L·R; `missed` ≥ ‖E‖_F, and ‖R·(I − E)⁻¹·v‖_p ≤ `steep`·‖v‖₂.
    """

    left: np.ndarray
    matrix: np.ndarray
    p: int
    missed: float
    steep: float

    @classmethod
    def of(cls, left: np.ndarray, p: int, sizes: np.ndarray | None = None) -> "Inverse | None":
        """Return an inverse, or None; L is off by at most 2^−53·`sizes`, if given."""
        frame, triangle = np.linalg.qr(left.T)
        try:
            matrix = np.linalg.solve(triangle, frame.T).T
        except np.linalg.LinAlgError:
            return None
        residual = _residual(np.eye(len(left)), left, matrix)
        residual += 0.0 if sizes is None else UNIT * sizes @ np.abs(matrix)
        missed = float(np.linalg.norm(residual)) * (1 + PARAMETERS)
        if not missed <= 1e-3:
            return None
        longest = float(np.linalg.norm(matrix)) * (1.0 if p == 2 else math.sqrt(len(matrix)))
        return cls(left, matrix, p, missed, longest / (1 - missed) * (1 + PARAMETERS))

    def reach(self, points: np.ndarray, solutions: np.ndarray) -> tuple[np.ndarray, float]:
        """Return `solutions`, and a bound on their ‖·‖_p distance to true ones."""
        missed = float(np.linalg.norm(_residual(points, self.left, solutions), axis=0).max())
        return solutions, self.steep * missed * (1 + PARAMETERS)

    @property
    def cube(self) -> float:
        """A bound on ‖u‖_p for each L·u in the cube."""
        lengths = np.linalg.norm(self.matrix, self.p, axis=0)
        return float(lengths.sum() + len(lengths) * self.steep * self.missed) * (1 + PARAMETERS)


def cross_gauge(columns: np.ndarray, factor: float = 1.0) -> Fraction | None:
    """Bound Σ‖e_i‖_K over the unit vectors, K = factor·conv{±b_j}.

    ‖z‖_K = ‖B⁻¹·z‖₁/factor for a square matrix B of columns b_j; None if it is not certified.
    """
    return _cube(columns, 1, factor)


def round_gauge(matrix: np.ndarray, factor: float = 1.0) -> Fraction | None:
    """Bound Σ‖e_i‖_K for K = factor·A·B₂, as `cross_gauge`: ‖z‖_K = ‖A⁻¹·z‖₂/factor for square A."""
    return _cube(matrix, 2, factor)


def _cube(columns: np.ndarray, p: int, factor: float) -> Fraction | None:
    inverse = Inverse.of(columns, p) if columns.shape[0] == columns.shape[1] else None
    cube = math.inf if inverse is None else inverse.cube
    return Fraction(cube) / Fraction(factor) if math.isfinite(cube) else None


def _residual(points: np.ndarray, left: np.ndarray, solutions: np.ndarray) -> np.ndarray:
    """Return an upper bound on |points − left·solutions|."""
    sizes = np.abs(left) @ np.abs(solutions) + np.abs(points)
    return np.asarray(np.abs(points - left @ solutions) + (left.shape[1] + 4) * UNIT * sizes)
