"""Base of private regressions on columns with bounds."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gaugedp.entropy import Entropy
from gaugedp.estimators.base import after_paying
from gaugedp.estimators.feature_names import names_of
from gaugedp.estimators.fit_in_parts import fit_in_parts, fits_in_parts
from gaugedp.estimators.linear_regressor import LinearRegressor
from gaugedp.estimators.public_noise import warn_after_release, warn_before_charge
from gaugedp.estimators.reading import Reading
from gaugedp.estimators.row_count import NoisyRowCount
from gaugedp.estimators.rows import into_box, read_bounds, read_target
from gaugedp.estimators.target_mean import TargetMean
from gaugedp.guarantees import Guarantee
from gaugedp.optimization.lattice import for_gaussian_releases


@dataclass(frozen=True, eq=False)
class CubeProblem:
    """Rows in the unit ball, with targets and weights.

    The intercept's constant is last, targets (n,) are in [−1, 1] (less a mean that was released), and weights (n,) in
    [0, 1]. A row is the point of the cube over √k. `n_rows` is public, or was released before.
    """

    rows: np.ndarray
    target: np.ndarray
    weights: np.ndarray
    n_rows: float
    n_slopes: int
    replaced: bool

    @property
    def size(self) -> int:
        """Number k of coefficients, with the intercept."""
        return self.rows.shape[1]


@dataclass(eq=False, repr=False)
class CubeRegressor(LinearRegressor):
    """Base of regressions on bounded rows and targets.

    Subclasses find the coefficients. If rows are added or removed, a tenth of ε is spent on their number.
    """

    epsilon: float = 1.0
    delta: float = 0.0

    _starts_at_mean: ClassVar[bool] = False  # True if coefficients lead away from a released mean of the target

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "CubeRegressor":
        """Fit the model to rows X and target y.

        X has shape (n, d) and y has shape (n,). The model's ledger, if any, is charged before any row is read.
        """
        if fits_in_parts(self, y):
            fit_in_parts(self, X, y, sample_weight)
            return self
        requested, rows = self._requested(), self._rows(X)
        target, weights_of_rows = read_target(y, len(rows)), self._weights(sample_weight, len(rows))
        reading = Reading.in_box(self.bounds, names_of(X), rows.shape[1], self.missing_indicator)
        range_, size = read_bounds("target_bounds", self.target_bounds), reading.width + self.fit_intercept
        count = NoisyRowCount(requested, self.neighbours)
        together = for_gaussian_releases(count.remaining)
        self._check(size, range_, together)
        has_mean = self._starts_at_mean and self.fit_intercept
        guarantee = count.with_remaining(count.remaining if has_mean else together)
        warn_before_charge(self, len(rows), reading.width)
        reservation = self._pay(guarantee, requested, rows.shape)
        rng = self._generator()
        n_rows, features = count.draw(len(rows), rng), np.ones((len(rows), size))
        scaled, start = into_box(target, *range_), 0.0
        features[:, : reading.width] = reading.in_cube(rows)
        with after_paying(reservation):
            if has_mean:
                mean = TargetMean.plan(count.remaining, n_rows, self.neighbours == "replace")
                start, together = mean.release(scaled, weights_of_rows, rng), for_gaussian_releases(mean.remaining)
            problem = CubeProblem(
                features / math.sqrt(size),
                scaled - start,
                weights_of_rows,
                n_rows,
                reading.width,
                self.neighbours == "replace",
            )
            weights, exactness = self._solved(problem, together, rng)
        self._show(reading, weights[: reading.width], start + float(weights[reading.width :].sum()), range_)
        self._publish(self._values, guarantee, exactness, {}, reservation)
        warn_after_release(self, n_rows, reading.width)
        return self

    @abstractmethod
    def _check(self, size: int, range_: Any, guarantee: Guarantee) -> None:
        """Refuse invalid parameters, before anything is charged."""

    @abstractmethod
    def _solved(self, problem: CubeProblem, guarantee: Guarantee, rng: Entropy) -> tuple[np.ndarray, str]:
        """Return coefficients (k,) for the cube, and exactness."""
