"""Noise of a stream: that of one query, correlated over periods."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from gaugedp.domain.unit import PrivacyUnit
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import Guarantee
from gaugedp.mechanisms import Gaussian, Matrix
from gaugedp.queries.base import Query
from gaugedp.queries.linear import as_workload
from gaugedp.releases.streams.time_factor import TimeFactor
from gaugedp.samplers.continuous import normals, rounded
from gaugedp.samplers.discrete import check_scale


@dataclass(frozen=True, eq=False)
class StreamNoise:
    """Correlated noise: totals are P·x + round(r·B·q), q_t = s·L·z_t.

    The z_t are independent standard normal vectors. `mechanism` is the matrix mechanism of one period, with noise s·L·g
    for the query's body. `factor` is B, and r its radius. Drawn q_t do not change; those of later periods may have
    another L for the same body.

    Theorem (docs/theory/streams.md, theorem 1). For two streams of tables that differ in one unit, in at most
    `factor.periods_per_person` periods, all released answers together satisfy `guarantee`. B is lower triangular and z
    normal, so this also holds if the tables of later periods are chosen after earlier answers (Denisov, McMahan, Rush,
    Smith and Thakurta 2022, theorem 2.1). Rounding is post-processing: exact totals lie on the same lattice. Products
    are taken in floating point and are hidden below it: "idealized".
    """

    mechanism: Matrix
    factor: TimeFactor
    exactness: ClassVar[str] = "idealized"

    @classmethod
    def calibrate(cls, query: Query, unit: PrivacyUnit, guarantee: Guarantee, factor: TimeFactor) -> "StreamNoise":
        """Calibrate the noise for a query of counts and sums.

        The guarantee is ApproxDP with δ > 0, GaussianDP or ZCDP.
        """
        if as_workload(query) is None or not all(estimate.is_plain for estimate in query.estimates):
            raise InvalidRequest(
                "A stream answers counts and sums, but the query has other terms.",
                "Request counts and sums, and divide them to obtain means and shares.",
            )
        body = query.sensitivity(unit)
        missing = Gaussian.why_not(body, guarantee)
        if missing:
            raise InvalidRequest(f"A stream {missing}.", "Pass `epsilon` with `delta`, or `rho`, or `mu`.")
        mechanism = Matrix.calibrate(body, guarantee, query.errors.weights)
        if not query.mechanisms.accept(mechanism):
            raise InvalidRequest("The query's answers are not integer multiples of a step.", "Request counts or sums.")
        noise = cls(mechanism, factor)
        check_scale(Fraction(noise.largest_deviation))
        return noise

    @property
    def guarantee(self) -> Guarantee:
        """Guarantee of all answers of the stream together."""
        return self.mechanism.guarantee

    def draw(self, rng: Entropy) -> np.ndarray:
        """Draw the noise q_t of one period, shape (d,). It is not yet mixed over time."""
        unit = normals(self.mechanism.strategy.n_noise, rng)
        return np.asarray(self.mechanism.scale * self.mechanism.strategy.apply(unit[None])[0])

    @property
    def variances(self) -> np.ndarray:
        """Variances of q_t, shape (d,)."""
        return np.asarray(self.mechanism.scale**2 * self.mechanism.strategy.squares)

    @property
    def largest_deviation(self) -> float:
        """Largest deviation of any total or period, in steps."""
        longest = max(np.linalg.norm(rows, axis=1).max() for rows in (self.factor.matrix, self.factor.differences))
        return float(self.factor.radius * longest * np.sqrt(self.variances.max()))

    def running(self, drawn: np.ndarray, rng: Entropy) -> np.ndarray:
        """Return the noise of the running total after period t.

        The result (d,) is in lattice steps; `drawn` (t, d) holds q_1 … q_t.
        """
        row = self.factor.matrix[len(drawn) - 1, : len(drawn)]
        mixed = self.factor.radius * (row @ drawn)
        return rounded(mixed[None], self.deviations(row[None])[0], rng)[0]

    def deviations(self, rows: np.ndarray, variances: np.ndarray | None = None) -> np.ndarray:
        """Return the deviations of r·rows·q before rounding, in steps. `rows` is (k, t); the result is (k, d)."""
        squares = self.factor.radius**2 * np.asarray(rows) ** 2
        if variances is None:
            return np.sqrt(np.multiply.outer(squares.sum(axis=1), self.variances))
        return np.asarray(np.sqrt(squares @ variances))

    def describe(self) -> str:
        """Describe the distribution."""
        return f"{self.mechanism.describe()}; correlated over {self.factor.periods} periods"
