"""P-values of released numbers, from draws of their noise.

docs/theory/p_values.md
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Self

import numpy as np
import scipy

from gaugedp._internal.trial_stream import TrialStream, trial_stream
from gaugedp.errors import InvalidRequest
from gaugedp.statistics.base import Ends, Statistic

Draws = Callable[[int, int], np.ndarray | None]  # draws of the noise (size, n_released), by size and seed

_MOST_DRAWS, _LEAST_DRAWS = 9999, 999
_MOST_RELEASED = 4000
_SPARE = (0.0, 2.0)  # null hypotheses: the estimated one, and one that is so many deviations of the noise away


@dataclass(frozen=True)
class PValue(Statistic):
    """P-values of hypothesis tests, one for each answer.

    Tables of the null hypothesis are simulated, with noise. `reached` (n_answers,) of the `simulated` tables are at
    least as far from the null hypothesis as the released one. The interval contains the p-value of infinitely many
    simulations. Without simulation, as for noise by a random walk, the p-value is 1.
    """

    simulated: int = field(default=0, compare=False, kw_only=True)
    reached: tuple[int, ...] = field(default=(), compare=False, kw_only=True)
    is_test = True

    def __post_init__(self) -> None:
        if len(self.reached) not in (0, self.n_answers) or max(self.reached, default=0) > self.simulated:
            raise ValueError
        if self.n_released > _MOST_RELEASED:
            raise InvalidRequest(
                f"The test needs {self.n_released:,} released numbers, but at most {_MOST_RELEASED:,} are supported.",
                "Test attributes with fewer cells.",
            )

    @property
    def span(self) -> float:
        """Infinity: an interval of all p-values is no sign of few rows."""
        return np.inf

    def answers(self, values: np.ndarray) -> np.ndarray:  # noqa: ARG002
        """Return the p-values."""
        return (self._reached + 1) / (self.simulated + 1)

    def intervals(self, values: np.ndarray, widths: np.ndarray, curves: np.ndarray | None = None) -> Ends:  # noqa: ARG002
        """Return the intervals of Clopper and Pearson, simultaneous."""
        miss, above = 0.0005 / (2 * self.n_answers), self.simulated - self._reached  # of an interval, at every level
        low = scipy.special.betaincinv(np.maximum(self._reached, 0.5), above + 1, miss) * (self._reached > 0)
        high = scipy.special.betaincinv(self._reached + 1, np.maximum(above, 0.5), 1 - miss)
        return low, np.where(above > 0, high, 1.0)

    @property
    def _reached(self) -> np.ndarray:
        return np.array(self.reached or [self.simulated] * self.n_answers, dtype=float)

    def concluded(self, values: np.ndarray, draws: Draws) -> Self:
        """Return the tests of released numbers.

        The seed follows from the numbers, so everybody who has them computes the same p-values.
        """
        cases = self.cases(values)
        size = int(np.clip(4 * 10**6 // max(self.n_released, cases.size), _LEAST_DRAWS, _MOST_DRAWS))
        seed = int.from_bytes(sha256(np.ascontiguousarray(values, dtype="<f8").tobytes()).digest()[:8], "little")
        noise = draws(size, seed)
        if noise is None:
            return self
        noises, rng = self.cases(noise), trial_stream(seed + 1)
        variances = noises.var(axis=0)
        observed = self.distance(cases, variances) * (1 - 1e-9)  # distances that differ by rounding are equal
        reached = [
            (self.distance(self.null(cases, noises, spare, rng) + noises, variances) >= observed).sum(axis=0)
            for spare in _SPARE
        ]
        return replace(self, simulated=len(noise), reached=tuple(np.maximum.reduce(reached).tolist()))

    @abstractmethod
    def cases(self, values: np.ndarray) -> np.ndarray:
        """Return what each test uses of numbers (…, n_released), shape (…, n_answers, …): a linear map."""

    @abstractmethod
    def null(self, cases: np.ndarray, noises: np.ndarray, spare: float, rng: TrialStream) -> np.ndarray:
        """Return tables of the null hypothesis, without noise.

        Its parameters are estimated from the released `cases`, less or more `spare` deviations of the `noises`.
        """

    @abstractmethod
    def distance(self, cases: np.ndarray, variances: np.ndarray) -> np.ndarray:
        """Return how far cases (…, n_answers, …) are from the null hypothesis, for these variances of the noise."""
