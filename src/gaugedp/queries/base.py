"""What every question answers about itself before any row is read."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

import numpy as np

from gaugedp.bodies.base import Body
from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.queries.estimates import Estimate
from gaugedp.tables.aggregate import Aggregate


class Rows(Protocol):
    """What a question may ask of a table: exact totals by cell, all in one look."""

    def totals(self, totals: Sequence[Aggregate], row_key: bytes) -> list[np.ndarray]:
        """Return the totals; see the table."""


class Query(ABC):
    """A map from a table to a vector of integers (in public steps), with the body that one unit can move it by.

    Released are noisy integers; `estimates` turn them into the answers that were asked for.
    """

    domain: Domain
    text: str

    @property
    @abstractmethod
    def n_released(self) -> int:
        """The number of integers that are released."""

    @property
    @abstractmethod
    def labels(self) -> list[tuple[str, str]]:
        """Pairs (question, cell), one for each answer."""

    @property
    @abstractmethod
    def rules(self) -> list[str]:
        """What happens to values outside the domain, in sentences."""

    @property
    @abstractmethod
    def steps(self) -> list[Fraction]:
        """What one unit of each released integer is worth, shape (n_released,)."""

    @property
    @abstractmethod
    def reach(self) -> np.ndarray:
        """How far a row can move each released integer, the scale on which errors are compared: shape (n_released,)."""

    @abstractmethod
    def sensitivity(self, unit: PrivacyUnit) -> Body:
        """Return the body that holds every difference between neighbours, in steps."""

    @abstractmethod
    def evaluate(self, table: Rows, row_key: bytes) -> np.ndarray:
        """Look at the data: return exact integers, one for each dimension of the sensitivity body.

        They are the released ones without the noise, where noise is added. Only the release may call this.
        """

    @property
    @abstractmethod
    def estimates(self) -> tuple[Estimate, ...]:
        """How the answers of each term follow, by arithmetic alone, from the released values."""

    @abstractmethod
    def digest(self) -> str:
        """Return a hash of everything that decides the answer."""
