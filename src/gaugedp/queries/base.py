"""The interface of a query before any row is read."""

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


class Query(ABC):
    """A map from a table to a vector of integers (in public steps), with the body that one unit can move it by.

    Released are noisy integers; `estimates` turn them into the answers that were asked for.
    """

    domain: Domain
    text: str

    @property
    def parts(self) -> "tuple[Query, ...]":
        """The questions that have a mechanism each; itself where one mechanism answers all."""
        return (self,)

    def with_share(self, share: float) -> "Query":  # noqa: ARG002
        """Return the question whose released intervals miss with `share` of the probability that they may."""
        return self

    @property
    def preferences(self) -> tuple[object, ...]:
        """Return the preferences that decide the noise besides the text, the domain and the guarantee."""
        return ()

    @property
    def n_released(self) -> int:
        """The number of integers that are released."""
        return sum(estimate.n_released for estimate in self.estimates)

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
    def rules(self) -> list[str]:
        """Return the rules for values outside the domain, in sentences: for the attributes, and one for each column."""
        places = [part.text for part in self.parts] if len(self.parts) > 1 else ["the whole question"]
        parts = zip(self.parts, places, strict=True)
        about_cells = [rule for part, place in parts for rule in cell_rules(self.domain, part.attributes, place)]
        about_columns = [column_rule(name, self.domain.column(name)) for name in self.columns]
        origins = self.domain.origins([*self.attributes, *self.columns])
        return list(dict.fromkeys([*origins, *about_cells, *about_columns]))

    @property
    @abstractmethod
    def step_runs(self) -> StepRuns:
        """Return the value of one unit of each released integer, in runs of equal ones."""

    @property
    def steps(self) -> list[Fraction]:
        """Return the value of one unit of each released integer, one by one: for queries of few answers."""
        return [step for step, count in self.step_runs for _ in range(count)]

    @property
    def step_sizes(self) -> np.ndarray:
        """The steps as floats, shape (n_released,)."""
        steps, counts = zip(*self.step_runs, strict=True)
        return np.repeat([float(step) for step in steps], counts)

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
    def linear(self) -> "Workload | None":
        """The question itself where its released integers are linear in the joint table, and so can be consistent."""
        return None

    @property
    def are_counts(self) -> np.ndarray:
        """Return which released values count rows, each as 0 or 1; shape (n_released,), bool."""
        return np.zeros(self.n_released, dtype=bool)

    @abstractmethod
    def candidates(self, unit: PrivacyUnit, guarantee: Guarantee) -> Iterator[Mechanism]:
        """Yield the mechanisms that a plan weighs: what they keep implies `guarantee`."""

    def left_out(self, unit: PrivacyUnit, guarantee: Guarantee, offered: Collection[str]) -> dict[str, str]:  # noqa: ARG002
        """Return why mechanisms are no candidates, in words, by the names that are not in `offered`."""
        return {}

    @abstractmethod
    def is_answered_by(self, mechanism: Mechanism) -> bool:
        """Return whether the mechanism makes the integers that this question releases, for some unit."""

    def remarks(self, mechanism: Mechanism) -> list[str]:  # noqa: ARG002
        """Return what must be known to read the intervals of a plan with this mechanism, in sentences."""
        return []

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
