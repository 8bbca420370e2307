"""Exact rejection sampler of the Bingham distribution on the sphere."""

import math
from dataclasses import dataclass

import numpy as np
import scipy

from gaugedp._internal.rounding import NORMS
from gaugedp._internal.validate import non_negative, whole
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.samplers.continuous import exponentials, normals


@dataclass(frozen=True, eq=False)
class Bingham:
    """Bingham distribution on the unit sphere of ℝ^d.

    The density is ∝ e^{β·xᵀAx} against the uniform distribution; β ≥ 0, A symmetric. In the basis `vectors` (d, d) of A
    the density is ∝ e^{−s(x)}, s = Σ rates_i·x_i², `rates` = β·(λ_max − λ_i) ≥ 0. Proposals are y/‖y‖, y ~ N(0, Ω⁻¹)
    with Ω = I + 2·diag(rates)/b, whose density is ∝ (xᵀΩx)^{−d/2}; one is accepted with probability
    e^{−s}·(xᵀΩx)^{d/2}/M: the acceptance MULTIPLIES by that power. Σ 1/(b + 2·rates) = 1 determines `b` in [1, d].

    Theorem (Kent, Ganeiber and Mardia 2018, section 3.2). For real numbers every draw has exactly that distribution,
    its sign is a fair coin, and log M = −(d − b)/2 + (d/2)·log(d/b). "idealized": floats are used. The number of
    proposals, about 1.2·√d on average at most, depends on the matrix, and so does the time: a timing attack learns
    something that no guarantee covers.
    """

    vectors: np.ndarray
    rates: np.ndarray
    b: float

    @classmethod
    def of(cls, square: np.ndarray, beta: float) -> "Bingham":
        """Return the distribution for A = `square` and `beta` ≥ 0."""
        matrix = np.asarray(square, dtype=float)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
            raise InvalidRequest(
                f"The matrix, of shape {matrix.shape}, is not square.", "Use a symmetric matrix (d, d).", ""
            )
        non_negative(beta=beta)
        size = float(np.abs(matrix).max()) or 1.0  # divided out: no product overflows
        if not np.abs(matrix / size - matrix.T / size).max() <= NORMS:
            raise InvalidRequest(
                "The matrix must be symmetric and finite.", "Pass a symmetric matrix, such as (A + A.T) / 2.", ""
            )
        values, vectors = np.linalg.eigh((matrix / size + matrix.T / size) / 2)
        gaps = np.maximum(values[-1] - values, 0.0)
        with np.errstate(over="ignore"):
            # 2.0**500: of a rate: beyond it, a coordinate is 0 in floats whatever the rate
            rates = np.minimum(gaps * np.float64(beta) * size, 2.0**500)
        return cls(vectors, rates, _envelope(rates))

    @property
    def ambient_dim(self) -> int:
        """The dimension d."""
        return len(self.rates)

    def gaps(self, heights: np.ndarray) -> np.ndarray:
        """Return −log of the acceptance probability at s = `heights`: ≥ 0, and 0 at s = (d − b)/2."""
        d, b = self.ambient_dim, self.b
        log_m = (d / 2) * math.log(d / b) - (d - b) / 2
        return heights - (d / 2) * np.log1p(2 * heights / b) + log_m

    def propose(self, size: int, rng: Entropy) -> np.ndarray:
        """Return angular central Gaussian draws in the basis `vectors`."""
        d = self.ambient_dim
        places = normals(size * d, rng).reshape(size, d) / np.sqrt(1 + 2 * self.rates / self.b)
        return places / np.linalg.norm(places, axis=1, keepdims=True)

    def draw(self, size: int, rng: Entropy) -> np.ndarray:
        """Return `size` independent draws, shape (size, d)."""
        whole(minimum=1, size=size)
        batches: list[np.ndarray] = []
        missing, limit = size, max(1, 2**20 // self.ambient_dim)  # proposed numbers per batch
        while missing > 0:
            points = self.propose(min(limit, 2 * missing + 6), rng)
            accepted = points[exponentials(len(points), rng) >= self.gaps(points**2 @ self.rates)][:missing]
            batches.append(accepted)
            missing -= len(accepted)
        return np.concatenate(batches) @ self.vectors.T


def _envelope(rates: np.ndarray) -> float:
    """Return the b in [1, d] with Σ 1/(b + 2·rates) = 1."""
    d = len(rates)

    def excess(b: float) -> float:
        return float((1 / (b + 2 * rates)).sum()) - 1

    if excess(1.0) <= 0 or excess(float(d)) >= 0:
        return 1.0 if excess(1.0) <= 0 else float(d)
    return float(scipy.optimize.brentq(excess, 1.0, float(d), xtol=1e-12))
