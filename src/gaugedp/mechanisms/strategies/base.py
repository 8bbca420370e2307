"""The interface of a factorisation for the matrix mechanism."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from gaugedp.bodies.polytope import Polytope
from gaugedp.errors import InvalidRequest
from gaugedp.samplers.combined import Combined
from gaugedp.samplers.reals import RealFunction

UP = 1 + 2.0**-40  # covers the rounding of the sums that radii are computed by


class Strategy(ABC):
    """A linear map L (d, k) and a radius Δ with body ⊆ Δ·L·{u : ‖u‖_p ≤ 1}, p = 2 for Gaussian noise, 1 for Laplace.

    `least` is a lower bound on Δ·‖W⁻¹L‖_F over all such pairs, W the weights; 0 where none is known.
    """

    if TYPE_CHECKING:  # read-only: a field of some strategies, computed by others

        @property
        def radius(self) -> float:
            """The radius Δ."""

        @property
        def least(self) -> float:
            """The lower bound."""

        @property
        def is_cube_proved(self) -> bool:
            """Whether `cube_radius` is proved, too."""
    else:
        least, is_cube_proved = 0.0, False

    law: RealFunction | None = None  # of L·g, where it is proved that L and the radius are as stated

    @property
    @abstractmethod
    def n_noise(self) -> int:
        """The number k of independent noise variables."""

    @abstractmethod
    def apply(self, unit: np.ndarray) -> np.ndarray:
        """Return L·unit for rows of `unit` (size, k), shape (size, d)."""

    def proof(self, body: Polytope) -> tuple[float, Combined, float | None] | None:  # noqa: ARG002
        """Return a proved radius, the law of L·x for it and `cube_radius`, or None if that is not proved.

        None where the strategy has no proof of its own.
        """
        return None

    def cells(self) -> np.ndarray | None:
        """Return A (k, n) with L·A = F, the generators, and ‖A·e_j‖₁ at most the radius; None where it is not at hand.

        Of use for Laplace noise: of normal noise, L alone says what is shortest.
        """
        return None

    def preimages(self) -> np.ndarray | None:
        """Return rows u (n, k) whose L·u are the distinct generators, short in ℓ₁; None where they are not at hand."""
        cells = self.cells()
        return None if cells is None else cells.T

    @property
    @abstractmethod
    def squares(self) -> np.ndarray:
        """Σ_j L_ij² for each row, shape (d,)."""

    @property
    def largest(self) -> np.ndarray:
        """Return upper bounds on max_j |L_ij| for each row, shape (d,)."""
        return np.sqrt(self.squares)

    def spectrum(self, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray] | None:
        """Return (values, counts) of the eigenvalues of W⁻¹LLᵀW⁻¹, None where they are not at hand."""
        del weights
        return None

    def cube_radius(self) -> float:
        """Return at least max ‖u‖_p over u with L·u in the cube [−1, 1]^d, refused where L does not fill the space."""
        raise InvalidRequest("This strategy is for integer answers.", "Use Laplace or Gaussian.")

    @abstractmethod
    def describe(self) -> str:
        """Return the strategy in words."""


class PrefixStrategy(Strategy, ABC):
    """A strategy for the n prefix sums of one ordered attribute."""

    @abstractmethod
    def covariance(self) -> np.ndarray:
        """Return LLᵀ, shape (n, n)."""
