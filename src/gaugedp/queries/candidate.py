"""A mechanism that could answer a question, what its error is at least, and its error once somebody asks for it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from gaugedp._internal.numbers import readable
from gaugedp.mechanisms.base import Mechanism
from gaugedp.mechanisms.choose import NEAR, choose
from gaugedp.queries.base import Query


@dataclass(frozen=True, eq=False)
class Candidate:
    """A mechanism that could answer, and how wrong it is expected to be."""

    mechanism: Mechanism
    query: Query = field(repr=False)

    @cached_property
    def error(self) -> float:
        """The expected ℓ₂ norm of the noise over all released values.

        In rows for counts and in the column's unit for sums. Where both are released, as for every mean, or sums with
        unlike bounds, it is in rows: the noise of a sum is divided by the most that one row can add to it. For
        quantiles it bounds the ℓ₂ norm of the ranks by which the answers are off, in rows. See `Plan.unit_of_error`.
        It may take trial draws, which are made when it is first looked at.
        """
        scales, unit = self.query.errors.of(self.mechanism)
        return self.mechanism.error(2, scales) * unit

    @cached_property
    def least(self) -> float:
        """A number that `error` is proved not to be below, found without a draw; 0 where none is known."""
        scales, unit = self.query.errors.of(self.mechanism)
        return self.mechanism.least_error(scales) * unit


def best(query: Query, offered: Sequence[Mechanism]) -> tuple[Mechanism, str, list[Mechanism]]:
    """Return the mechanism that answers one part of a question, why, and those whose least error already loses."""
    weighed, beaten = weigh(
        [Candidate(mechanism, query) for mechanism in {id(mechanism): mechanism for mechanism in offered}.values()]
    )
    mechanisms, errors = [candidate.mechanism for candidate in weighed], [candidate.error for candidate in weighed]
    if mechanisms[0].in_rows:
        error = readable(min(errors))
        words = f"its intervals are the shorter of two mechanisms'; the expected error of ranks is at most {error} rows"
        return mechanisms[0], words, beaten
    return *choose(mechanisms, errors), beaten


def weigh(candidates: Sequence[Candidate]) -> tuple[list[Candidate], list[Mechanism]]:
    """Return the candidates whose errors decide, and the mechanisms that cannot be chosen whatever theirs are."""
    least, beaten = float("inf"), list[Mechanism]()
    for candidate in sorted(candidates, key=lambda candidate: candidate.least):
        if candidate.least > NEAR * least:
            beaten.append(candidate.mechanism)
        else:
            least = min(least, candidate.error)
    return [candidate for candidate in candidates if not any(candidate.mechanism is lost for lost in beaten)], beaten
