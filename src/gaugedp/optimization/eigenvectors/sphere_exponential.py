"""Eigenvectors under pure ε-DP, drawn from Bingham distributions."""

import math
from dataclasses import dataclass

import numpy as np

from gaugedp._internal.rounding import PARAMETERS
from gaugedp._internal.validate import one_of
from gaugedp.bodies import LpBall
from gaugedp.entropy import Entropy
from gaugedp.guarantees import ExponentialLoss, Guarantee, PureDP, compose
from gaugedp.guarantees.parse_guarantee import of_kind
from gaugedp.mechanisms import Laplace
from gaugedp.optimization.eigenvectors.noisy_moments import (
    NEIGHBOURS,
    Pairs,
    check_components,
    longest,
    second_moments,
    squares,
)
from gaugedp.optimization.lattice import with_noise
from gaugedp.optimization.tuning import TUNED
from gaugedp.samplers.bingham import Bingham


@dataclass(frozen=True, eq=False)
class SphereExponential:
    """Leading eigenvectors under pure differential privacy.

    Use it for principal components without a δ. It draws one random direction after another. The more the rows vary
    along a direction, the more likely it is. The duration of a draw depends on the rows (`Bingham`) and has no limit.

    Notes
    -----
    Each direction is drawn on the unit sphere orthogonal to those before it. For A = Σ xxᵀ, summed over the rows x, its
    density is proportional to e^{β·xᵀAx}. With a budget of ε_k for each direction, β = ε_k/2 if a row is replaced. If a
    row is added or removed, β = ε_k, because all scores then change in the same direction. Rounding of rows reduces
    both slightly. A twentieth of ε is spent on Laplace noise for the values Σ⟨x, v⟩² at the released directions v.

    Theorem (docs/theory/eigenvectors.md). Every direction is ExponentialLoss(ε_k), given those before. Together they
    are ε-DP, without an upper limit on β or a condition on the spectrum. The draws are "idealized": they are made in
    floats, and rounded to a lattice of step 2^−24.
    """

    shape: tuple[int, int]
    beta: float
    per_direction: ExponentialLoss
    noise: Laplace

    exactness = "idealized"

    @classmethod
    def calibrate(cls, shape: tuple[int, int], guarantee: PureDP, neighbours: str = "replace") -> "SphereExponential":
        """Return the mechanism for `shape` = (columns, components)."""
        check_components(*shape)
        one_of(NEIGHBOURS, neighbours=neighbours)
        epsilon = of_kind(guarantee, PureDP, purpose="Directions by the exponential mechanism").epsilon_value
        per_direction = epsilon * (1 - TUNED.values_share) / shape[1] * (1 - PARAMETERS)
        width = (2.0 if neighbours == "replace" else 1.0) * longest(shape[0]) ** 2  # of a row's part of a score
        ball = LpBall(shape[1], 1, width * (1 + math.sqrt(math.prod(shape)) * 2.0**-28))
        noise = Laplace.calibrate(ball, PureDP(epsilon * TUNED.values_share * (1 - PARAMETERS)))
        return cls(shape, per_direction / width * (1 - PARAMETERS), ExponentialLoss(per_direction), noise)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of all directions and values together."""
        return compose([(self.per_direction, self.shape[1]), (self.noise.guarantee, 1)])

    def describe(self) -> str:
        """Describe the density."""
        return f"directions of density exp({self.beta:.6g}·xᵀAx), one after another"

    def solve(self, rows: np.ndarray, rng: Entropy) -> Pairs:
        """Return eigenpairs for rows (n, d). Charge the budget first."""
        noise = self.noise.prepare(rng)
        vectors = self.directions(second_moments(rows), rng)
        values = np.maximum(with_noise(squares(rows, vectors), self.noise, noise), 0.0)
        return Pairs(vectors.T, values, values)

    def directions(self, square: np.ndarray, rng: Entropy) -> np.ndarray:
        """Return k orthonormal columns (d, k) for A = `square`."""
        d, k = self.shape
        drawn_columns = np.empty((d, 0))
        for _ in range(k):
            complement = _complement(drawn_columns)
            point = complement @ Bingham.of(complement.T @ square @ complement, self.beta).draw(1, rng)[0]
            drawn_columns = np.column_stack([drawn_columns, np.rint(point * 2.0**24) * 2.0**-24])
        basis, triangle = np.linalg.qr(drawn_columns)
        return basis * np.sign(np.diagonal(triangle))


def _complement(columns: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis (d, d − i) of the complement of i released columns."""
    if columns.shape[1] == 0:
        return np.eye(len(columns))
    return np.linalg.qr(columns, mode="complete")[0][:, columns.shape[1] :]
