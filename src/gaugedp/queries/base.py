"""Interface of a query before any row is read."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gaugedp.bodies.base import Body
from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import Guarantee
from gaugedp.mechanisms.base import Mechanism
from gaugedp.queries.labels import Labels
from gaugedp.queries.outline import Outline
from gaugedp.queries.steps import Steps
from gaugedp.statistics.base import Statistic
from gaugedp.tables.aggregate import Rows

IN_ROWS = "rows: the error of a sum is divided by the largest contribution of a row"


@dataclass(frozen=True, eq=False)
class ErrorScale:
    """Scale on which errors are compared.

    It holds the largest change of each released integer by a row, in `runs` of equal changes, and units.
    """

    runs: list[tuple[float, int]]
    step: float
    words: str
    has_one_unit: bool = True
    given: np.ndarray | None = None

    @cached_property
    def reach(self) -> np.ndarray:
        """Changes by a row, shape (n_released,)."""
        scales, counts = zip(*self.runs, strict=True)
        return np.repeat(scales, counts)

    @property
    def weights(self) -> np.ndarray | None:
        """Scales on which errors are compared; None if all are equal."""
        return self.given if self.given is not None or len({scale for scale, _ in self.runs}) == 1 else self.reach

    def of(self, mechanism: Mechanism) -> tuple[np.ndarray | None, float]:
        """Return a mechanism's scales and the unit of its error.

        The unit is a step or a row.
        """
        if mechanism.in_rows:
            return None, 1.0
        return self.weights, self.step if self.has_one_unit and self.weights is None else 1.0


class MechanismChoice(ABC):
    """Mechanisms that can answer a query, and reasons against others."""

    query: "Query"

    @property
    def aim(self) -> str:
        """Aim of the choice of a mechanism, in words."""
        return "the least expected error"

    def for_error(self) -> "Query":
        """Return the query with mechanisms chosen by their stated errors alone."""
        return self.query

    @property
    def preferences(self) -> tuple[object, ...]:
        """Preferences that decide the noise, in addition to query and guarantee."""
        return ()

    @abstractmethod
    def candidates(self, unit: PrivacyUnit, guarantee: Guarantee) -> Iterator[Mechanism]:
        """Yield the mechanisms that a plan compares; each satisfies `guarantee`."""

    def left_out(self, unit: PrivacyUnit, guarantee: Guarantee, offered: Collection[str]) -> dict[str, str]:  # noqa: ARG002
        """Return the reasons against mechanisms that are not in `offered`."""
        return {}

    @abstractmethod
    def accept(self, mechanism: Mechanism) -> bool:
        """Return True if the mechanism releases this query's integers."""

    def remarks(self, mechanism: Mechanism) -> list[str]:  # noqa: ARG002
        """Return remarks on the intervals of a plan with this mechanism."""
        return []


class Query(ABC):
    """Request for private statistics about a table.

    `gd.query` makes a query from text, such as `sex*age` for a table of counts. No data is read until you pass the
    query to `gd.release`. You can plan a query, release it, or combine it with other queries.

    A query defines exact integers, such as counts, and how much one person or row can change them (`sensitivity`). A
    release adds noise to the integers and computes the answers from them, for example means (`estimates`).

    Examples
    --------
    Each answer has a label, which names its term and its cell:

    >>> import gaugedp as gd
    >>> list(gd.query(gd.Domain.of(sex=["1", "2"]), "sex").labels)
    [('sex', 'sex=1'), ('sex', 'sex=2')]
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
        """Queries that have separate mechanisms; by default the query itself."""
        return (self,)

    @property
    def n_answers(self) -> int:
        """Number of answers."""
        return sum(estimate.n_answers for estimate in self.estimates)

    @property
    @abstractmethod
    def labels(self) -> Labels:
        """Pairs (query, cell), one for each answer, made lazily."""

    @property
    @abstractmethod
    def outlines(self) -> tuple[Outline, ...]:
        """Outline of each term: its measure and its axes."""

    @property
    @abstractmethod
    def attributes(self) -> tuple[str, ...]:
        """Attributes that the query uses."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """Bounded columns that the query uses."""

    @property
    @abstractmethod
    def steps(self) -> Steps:
        """The value of one unit of each released integer."""

    @property
    @abstractmethod
    def errors(self) -> ErrorScale:
        """Scales and unit of the errors of released integers."""

    @abstractmethod
    def sensitivity(self, unit: PrivacyUnit) -> Body:
        """Return the sensitivity body, in steps.

        It contains all differences between the exact integers of two neighbouring tables.
        """

    def with_importance(self, importance: Mapping[str, float]) -> "Query":  # noqa: ARG002
        """Return the query with weighted terms; see `Workload.with_importance`."""
        raise InvalidRequest(
            "`importance` weights the terms of linear queries (counts, sums and means), but this query is not linear.",
            "Omit `importance`.",
        )

    @property
    @abstractmethod
    def mechanisms(self) -> MechanismChoice:
        """The mechanisms that can answer the query."""

    @abstractmethod
    def evaluate(self, table: Rows, row_key: bytes) -> np.ndarray:
        """Read the data and return the exact integers.

        Only a release may call this, after the charge. There is one integer for each dimension of the sensitivity body.
        """

    @property
    @abstractmethod
    def estimates(self) -> tuple[Statistic, ...]:
        """Statistic of each term, computed from the released values."""

    @abstractmethod
    def digest(self) -> str:
        """Return a hash of everything that determines the answer."""
