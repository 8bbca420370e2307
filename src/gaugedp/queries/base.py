"""Interface of a query before any row is read."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gaugedp.bodies.base import Body
from gaugedp.domain.domain import Domain, PrivacyUnit
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import Guarantee
from gaugedp.mechanisms.base import Mechanism
from gaugedp.queries.labels import Labels
from gaugedp.queries.maps import StepRuns
from gaugedp.queries.outline import Outline
from gaugedp.queries.rules import cell_rules, column_rule
from gaugedp.statistics.base import Statistic
from gaugedp.tables.aggregate import Rows

if TYPE_CHECKING:
    from gaugedp.queries.linear import Workload


IN_ROWS = "rows: the error of a sum is divided by the largest contribution of a row"


@dataclass(frozen=True, eq=False)
class ErrorScale:
    """Largest change of each released integer by a row, and units. `runs` holds runs of equal changes."""

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
        """Return a mechanism's scales, and the unit of an error: step or row."""
        if mechanism.in_rows:
            return None, 1.0
        return self.weights, self.step if self.has_one_unit and self.weights is None else 1.0


class Query(ABC):
    """Map from a table to integers in public steps, with sensitivity body.

    The released values are noisy integers; `estimates` turn them into the requested answers.
    """

    domain: Domain
    text: str

    @property
    def parts(self) -> "tuple[Query, ...]":
        """Queries with one mechanism each; by default the query itself."""
        return (self,)

    def with_share(self, share: float) -> "Query":  # noqa: ARG002
        """Return the query with `share` of the failure probability."""
        return self

    @property
    def preferences(self) -> tuple[object, ...]:
        """Preferences that decide the noise, besides query and guarantee."""
        return ()

    @property
    def n_released(self) -> int:
        """Number of released integers."""
        return sum(estimate.n_released for estimate in self.estimates)

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
        """Attributes in use."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """Bounded columns in use."""

    @property
    def rules(self) -> list[str]:
        """Rules for out-of-domain values, in sentences."""
        places = [part.text for part in self.parts] if len(self.parts) > 1 else ["the whole query"]
        parts = zip(self.parts, places, strict=True)
        about_cells = [rule for part, place in parts for rule in cell_rules(self.domain, part.attributes, place)]
        about_columns = [column_rule(name, self.domain.column(name)) for name in self.columns]
        origins = self.domain.origins([*self.attributes, *self.columns])
        return list(dict.fromkeys([*origins, *about_cells, *about_columns]))

    @property
    @abstractmethod
    def step_runs(self) -> StepRuns:
        """Value of one unit of each released integer, in runs."""

    @property
    def steps(self) -> list[Fraction]:
        """Value of one unit of each released integer, for small queries."""
        return [step for step, count in self.step_runs for _ in range(count)]

    @property
    def step_sizes(self) -> np.ndarray:
        """Steps as floats, shape (n_released,)."""
        steps, counts = zip(*self.step_runs, strict=True)
        return np.repeat([float(step) for step in steps], counts)

    @property
    @abstractmethod
    def errors(self) -> ErrorScale:
        """Scales and unit of the errors of released integers."""

    @abstractmethod
    def sensitivity(self, unit: PrivacyUnit) -> Body:
        """Return the body of all differences between neighbours, in steps."""

    def with_importance(self, importance: Mapping[str, float]) -> "Query":  # noqa: ARG002
        """Return the query with weighted terms; see `Workload.with_importance`."""
        raise InvalidRequest(
            "Only linear queries (counts, sums and means) have terms with an importance.", "Omit importance."
        )

    @property
    def linear(self) -> "Workload | None":
        """The query itself if it is linear in the joint table."""
        return None

    @property
    def are_counts(self) -> np.ndarray:
        """Count flags of the released values, shape (n_released,), bool.

        Each row adds 0 or 1 to a count.
        """
        return np.zeros(self.n_released, dtype=bool)

    @abstractmethod
    def candidates(self, unit: PrivacyUnit, guarantee: Guarantee) -> Iterator[Mechanism]:
        """Yield candidate mechanisms, whose guarantees imply `guarantee`."""

    def left_out(self, unit: PrivacyUnit, guarantee: Guarantee, offered: Collection[str]) -> dict[str, str]:  # noqa: ARG002
        """Return why other mechanisms are not candidates, by name."""
        return {}

    @abstractmethod
    def is_answered_by(self, mechanism: Mechanism) -> bool:
        """Return True if a mechanism makes this query's integers, for some unit."""

    def remarks(self, mechanism: Mechanism) -> list[str]:  # noqa: ARG002
        """Return remarks on a plan's intervals, in sentences."""
        return []

    @abstractmethod
    def evaluate(self, table: Rows, row_key: bytes) -> np.ndarray:
        """Read the data and return the exact integers.

        There is one for each dimension of the sensitivity body: the released ones without noise, if noise is added.
        Only the release may call this.
        """

    @property
    @abstractmethod
    def estimates(self) -> tuple[Statistic, ...]:
        """Statistic of each term, computed from the released values."""

    @abstractmethod
    def digest(self) -> str:
        """Return a hash of everything that decides the answer."""
