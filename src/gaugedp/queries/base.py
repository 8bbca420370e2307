"""The interface of a query before any row is read."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gaugedp.bodies.base import Body
from gaugedp.domain.domain import Domain, PrivacyUnit
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import Guarantee
from gaugedp.mechanisms.base import Mechanism
from gaugedp.queries.labels import Labels
from gaugedp.queries.outline import Outline
from gaugedp.queries.steps import Steps
from gaugedp.statistics.base import Statistic
from gaugedp.tables.aggregate import Rows

IN_ROWS = "rows: a sum's error is divided by the most that one row can add to it"


@dataclass(frozen=True, eq=False)
class ErrorScale:
    """The largest change of each released integer by a row, in `runs` of equal ones, and the unit of errors."""

    runs: list[tuple[float, int]]
    step: float
    words: str
    has_one_unit: bool = True
    given: np.ndarray | None = None

    @cached_property
    def reach(self) -> np.ndarray:
        """Return the changes, shape (n_released,)."""
        scales, counts = zip(*self.runs, strict=True)
        return np.repeat(scales, counts)

    @property
    def weights(self) -> np.ndarray | None:
        """Return the scales on which errors are compared; None where all are the same."""
        return self.given if self.given is not None or len({scale for scale, _ in self.runs}) == 1 else self.reach

    def of(self, mechanism: Mechanism) -> tuple[np.ndarray | None, float]:
        """Return the scales for a mechanism, and what one unit of an error on them is worth: a step, else a row."""
        if mechanism.in_rows:
            return None, 1.0
        return self.weights, self.step if self.has_one_unit and self.weights is None else 1.0


class MechanismChoice(ABC):
    """The mechanisms that can answer a query, and the reasons why others cannot."""

    @property
    def preferences(self) -> tuple[object, ...]:
        """The preferences that decide the noise besides the query's digest and the guarantee."""
        return ()

    @abstractmethod
    def candidates(self, unit: PrivacyUnit, guarantee: Guarantee) -> Iterator[Mechanism]:
        """Yield the mechanisms that a plan compares; each satisfies `guarantee`."""

    def left_out(self, unit: PrivacyUnit, guarantee: Guarantee, offered: Collection[str]) -> dict[str, str]:  # noqa: ARG002
        """Return why mechanisms are no candidates, in words, by the names that are not in `offered`."""
        return {}

    @abstractmethod
    def accept(self, mechanism: Mechanism) -> bool:
        """Return whether the mechanism releases the integers of this query, for some unit."""

    def remarks(self, mechanism: Mechanism) -> list[str]:  # noqa: ARG002
        """Return what must be known to read the intervals of a plan with this mechanism, in sentences."""
        return []


class Query(ABC):
    """A map from a table to a vector of integers (in public steps), with the body that one unit can move it by.

    Released are noisy integers; `estimates` turn them into the answers that were asked for.
    """

    if TYPE_CHECKING:  # read-only: a field of some queries, computed by others

        @property
        def domain(self) -> Domain:
            """The domain of the table."""

        @property
        def text(self) -> str:
            """The query as `gd.query` reads it."""

    @property
    def parts(self) -> "tuple[Query, ...]":
        """The questions that have a mechanism each; itself where one mechanism answers all."""
        return (self,)

    @property
    def n_answers(self) -> int:
        """The number of answers."""
        return sum(estimate.n_answers for estimate in self.estimates)

    @property
    @abstractmethod
    def labels(self) -> Labels:
        """Pairs (question, cell), one for each answer, made when they are looked at."""

    @property
    @abstractmethod
    def outlines(self) -> tuple[Outline, ...]:
        """Return the kind of answers of each term, and their axes."""

    @property
    @abstractmethod
    def attributes(self) -> tuple[str, ...]:
        """The attributes in use."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The bounded columns in use."""

    @property
    @abstractmethod
    def steps(self) -> Steps:
        """The value of one unit of each released integer."""

    @property
    @abstractmethod
    def errors(self) -> ErrorScale:
        """Return the scales on which the errors of released integers are compared, and their unit."""

    @abstractmethod
    def sensitivity(self, unit: PrivacyUnit) -> Body:
        """Return the body that holds every difference between neighbours, in steps."""

    def with_importance(self, importance: Mapping[str, float]) -> "Query":  # noqa: ARG002
        """Return the question with terms whose errors count more or less; see `Workload.with_importance`."""
        raise InvalidRequest(
            "Only linear questions (counts, sums and means) have terms of unlike importance.", "Leave out importance."
        )

    @property
    @abstractmethod
    def mechanisms(self) -> MechanismChoice:
        """The mechanisms that can answer the query."""

    @abstractmethod
    def evaluate(self, table: Rows, row_key: bytes) -> np.ndarray:
        """Look at the data: return exact integers, one for each dimension of the sensitivity body.

        They are the released ones without the noise, where noise is added. Only the release may call this.
        """

    @property
    @abstractmethod
    def estimates(self) -> tuple[Statistic, ...]:
        """Return the statistic of each term, by arithmetic alone, from the released values."""

    @abstractmethod
    def digest(self) -> str:
        """Return a hash of everything that decides the answer."""
