"""The noise of a stream: that of one question, correlated over its periods."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gaugedp.domain import PrivacyUnit
from gaugedp.entropy import Entropy, research_rng
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import Guarantee
from gaugedp.mechanisms.gaussian import Gaussian
from gaugedp.mechanisms.matrix import Matrix
from gaugedp.queries.base import Query
from gaugedp.samplers.continuous import normals
from gaugedp.streams.time_factor import TimeFactor, time_factor

_PUBLIC_SEED = 20251124


@dataclass(frozen=True, eq=False)
class StreamNoise:
    """Running totals are released as P·x + round(s·(B ⊗ L)·z), z independent standard normal variables.

    `mechanism` is the matrix mechanism of one period: noise scale·L·g for the question's body. `factor` is B, and
    s = scale·factor.radius.

    Theorem (docs/theory/streams.md, theorem 1). Streams of tables that differ in one unit, in at most
    `factor.periods_per_person` periods, are told apart by all released answers together no better than `guarantee`
    allows. B is lower triangular and z normal, so this holds too where the tables of later periods are chosen after
    earlier answers (Denisov, McMahan, Rush, Smith and Thakurta 2022, theorem 2.1). Rounding is post-processing: exact
    totals lie on the same lattice. Products are taken in floating point and are hidden below it: "idealized".
    """

    mechanism: Matrix
    factor: TimeFactor
    exactness: ClassVar[str] = Matrix.exactness

    @classmethod
    def calibrate(
        cls, query: Query, unit: PrivacyUnit, guarantee: Guarantee, periods: int, periods_per_person: int
    ) -> "StreamNoise":
        """Return the noise for ApproxDP with δ > 0, GaussianDP or ZCDP and a question of counts and sums.

        Refused: PureDP; questions with means or quantiles.
        """
        if query.linear is None or any(estimate.ratio for estimate in query.estimates):
            raise InvalidRequest(
                "A stream answers counts and sums alone.", "Ask for sum and count: a mean is their quotient."
            )
        body = query.sensitivity(unit)
        missing = Gaussian.why_not(body, guarantee)
        if missing:
            raise InvalidRequest(f"A stream {missing}.", "Give delta beside epsilon, or rho, or mu.")
        mechanism = Matrix.calibrate(body, guarantee, query.error_weights)
        if not query.is_answered_by(mechanism):
            raise InvalidRequest("The question's answers are no whole numbers of steps.", "Ask for counts or sums.")
        return cls(mechanism, time_factor(periods, periods_per_person))

    @property
    def guarantee(self) -> Guarantee:
        """What all answers of the stream together keep."""
        return self.mechanism.guarantee

    def draw(self, rng: Entropy) -> np.ndarray:
        """Return the normal variables of one period, shape (k,)."""
        return normals(self.mechanism.strategy.n_noise, rng)

    def running(self, drawn: np.ndarray) -> np.ndarray:
        """Return the noise of the running total after period t in lattice steps, shape (d,), from z_1 … z_t (t, k)."""
        mixed = self._scale * (self.factor.matrix[len(drawn) - 1, : len(drawn)] @ drawn)
        return np.rint(self.mechanism.strategy.apply(mixed[None])[0]).astype(np.int64)

    def running_deviations(self, period: int) -> np.ndarray:
        """Return the deviations of a running total before rounding, in steps, shape (d,)."""
        return self._deviations * float(np.linalg.norm(self.factor.matrix[period - 1]))

    def period_deviations(self, period: int) -> np.ndarray:
        """Return the deviations of a single period before rounding, in steps, shape (d,)."""
        return self._deviations * float(np.linalg.norm(self.factor.differences[period - 1]))

    def fingerprint(self) -> float:
        """Return a number that is another one where scale, L or B are others: all periods need the same."""
        rng, k = research_rng(_PUBLIC_SEED), self.mechanism.strategy.n_noise
        question = self.mechanism.strategy.apply(normals(k, rng)[None])[0]
        left, right = normals(self.factor.periods, rng), normals(self.factor.periods, rng)
        return float(self._scale * (question @ normals(len(question), rng)) * (left @ self.factor.matrix @ right))

    def describe(self) -> str:
        """Return the law in words."""
        return f"{self.mechanism.describe()}; correlated over {self.factor.periods} periods"

    @property
    def _scale(self) -> float:
        return self.mechanism.scale * self.factor.radius

    @property
    def _deviations(self) -> np.ndarray:
        return self._scale * np.sqrt(self.mechanism.strategy.squares)
