"""Normal noise on the cells: the strategy of questions that are too large for any other."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gaugedp.bodies.polytope import Polytope
from gaugedp.errors import InvalidRequest
from gaugedp.mechanisms.strategies.base import UP, Strategy

_MOST_CELLS = 10**6


@dataclass(frozen=True, eq=False)
class Cells(Strategy):
    """L = F, never written out: F·e_j = L·e_j, and e_i − e_j has the length √2."""

    body: Polytope
    radius: float

    @property
    def n_noise(self) -> int:
        """The number of cells."""
        return self.body.generators.n_generators

    def apply(self, unit: np.ndarray) -> np.ndarray:
        """Return F·unit."""
        return self.body.generators.apply(unit)

    @cached_property
    def squares(self) -> np.ndarray:
        """The squared norms of the rows of F."""
        return self.body.generators.row_squares()

    def describe(self) -> str:
        """Return its name."""
        return f"the {self.n_noise:,} cells"


def cells(body: Polytope) -> Cells:
    """Return the strategy of a counting question with at most 10^6 cells; refused: others."""
    if not body.generators.counting or body.generators.n_generators > _MOST_CELLS:
        raise InvalidRequest("Noise on cells needs a question that counts rows of few cells.", "Use Gaussian.")
    apart = body.differences and body.generators.n_generators > 1
    return Cells(body, body.factor * (math.sqrt(2) if apart else 1.0) * UP)
