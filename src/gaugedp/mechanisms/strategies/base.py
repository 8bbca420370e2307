"""The interface of strategies for the matrix mechanism."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from gaugedp._internal.rounding import PARAMETERS
from gaugedp.bodies.polytope import Polytope
from gaugedp.errors import InvalidRequest
from gaugedp.samplers.combined import Combined
from gaugedp.samplers.reals import RealFunction

UP = 1 + PARAMETERS  # covers the rounding of the sums in radii


class Strategy(ABC):
    """A linear map L (d, k) and a radius Δ.

    body ⊆ Δ·L·{u : ‖u‖_p ≤ 1}, p = 2 for Gaussian noise, 1 for Laplace. `least` is a lower bound on Δ·‖W⁻¹L‖_F over all
    such pairs, W the weights; 0 if none is known.
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
            """True if `cube_radius` is proved, too."""
    else:
        least, is_cube_proved = 0.0, False

    law: RealFunction | None = None  # of L·g, if L and the radius are proved

    @property
    @abstractmethod
    def n_noise(self) -> int:
        """The number k of independent noise variables."""

    @abstractmethod
    def apply(self, unit: np.ndarray) -> np.ndarray:
        """Return L·unit for rows (size, k), shape (size, d)."""

    def proof(self, body: Polytope) -> tuple[float, Combined, float | None] | None:  # noqa: ARG002
        """Return (proved radius, distribution of L·x, `cube_radius`), or None without a proof."""
        return None

    def cells(self) -> np.ndarray | None:
        """Return A (k, n) with L·A = F, or None.

        F are the generators, and ‖A·e_j‖₁ is at most the radius. It is used for Laplace noise only.
        """
        return None

    def preimages(self) -> np.ndarray | None:
        """Return short rows u (n, k) with L·u the generators, or None."""
        cells = self.cells()
        return None if cells is None else cells.T

    @property
    @abstractmethod
    def squares(self) -> np.ndarray:
        """Σ_j L_ij² of each row, shape (d,)."""

    @property
    def largest(self) -> np.ndarray:
        """Upper bounds on max_j |L_ij| of each row, shape (d,)."""
        return np.sqrt(self.squares)

    def spectrum(self, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the eigenvalues of W⁻¹LLᵀW⁻¹ as (values, counts), or None."""
        del weights
        return None

    def cube_radius(self) -> float:
        """Return a bound of ‖u‖_p over L·u in [−1, 1]^d, if L has full row rank."""
        raise InvalidRequest("This strategy supports only integer answers.", "Use Laplace or Gaussian.")

    @abstractmethod
    def describe(self) -> str:
        """Return a description of the strategy."""


class PrefixStrategy(Strategy, ABC):
    """A strategy for the n prefix sums of an ordered attribute."""

    @abstractmethod
    def covariance(self) -> np.ndarray:
        """Return LLᵀ, shape (n, n)."""
