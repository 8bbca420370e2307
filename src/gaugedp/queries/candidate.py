"""Candidate mechanisms, with lower bounds and errors on demand."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from gaugedp._internal.numbers import readable
from gaugedp.mechanisms.base import Mechanism
from gaugedp.mechanisms.choose import choose
from gaugedp.mechanisms.tuning import TUNED
from gaugedp.queries.base import Query


@dataclass(frozen=True, eq=False)
class Candidate:
    """Candidate mechanism of a plan, with its expected error."""

    mechanism: Mechanism
    query: Query = field(repr=False)

    @cached_property
    def error(self) -> float:
        """Expected ℓ₂ norm of the noise over all released values.

        The unit is rows for counts, and the column's unit for sums. If both are released, as for every mean, or sums
        with different bounds, the unit is rows: the noise of a sum is divided by the largest contribution of a row. For
        quantiles the number bounds the ℓ₂ norm of the rank errors, in rows. See `Plan.unit_of_error`. The first access
        may simulate draws.
        """
        scales, unit = self.query.errors.of(self.mechanism)
        return self.mechanism.error(2, scales) * unit

    @cached_property
    def least(self) -> float:
        """Proven lower bound on `error` without a draw, or 0."""
        scales, unit = self.query.errors.of(self.mechanism)
        return self.mechanism.least_error(scales) * unit


def best(query: Query, offered: Sequence[Mechanism]) -> tuple[Mechanism, str, list[Mechanism]]:
    """Return the best mechanism of a part, why, and dominated ones."""
    distinct = {id(mechanism): mechanism for mechanism in offered}.values()
    weighed, dominated = weigh([Candidate(mechanism, query) for mechanism in distinct])
    mechanisms, errors = [candidate.mechanism for candidate in weighed], [candidate.error for candidate in weighed]
    if mechanisms[0].in_rows:
        error = readable(min(errors))
        words = f"{query.mechanisms.aim}; the expected error of ranks is at most {error} rows"
        return mechanisms[0], words, dominated
    return *choose(mechanisms, errors), dominated


def weigh(candidates: Sequence[Candidate]) -> tuple[list[Candidate], list[Mechanism]]:
    """Return candidates whose errors decide, and dominated mechanisms."""
    least, dominated = float("inf"), list[Mechanism]()
    for candidate in sorted(candidates, key=lambda candidate: candidate.least):
        if candidate.least > TUNED.exactness_preference * least:
            dominated.append(candidate.mechanism)
        else:
            least = min(least, candidate.error)
    left = [each for each in candidates if not any(each.mechanism is lost for lost in dominated)]
    return left, dominated
