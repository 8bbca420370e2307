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
from gaugedp.estimators.mean_alone import MeanAlone
from gaugedp.estimators.public_noise import (
    has_pure_mean,
    hides_slopes,
    row_count,
    warn_after_release,
    warn_before_charge,
)
from gaugedp.estimators.reading import Reading
from gaugedp.estimators.row_count import NoisyRowCount
from gaugedp.estimators.rows import into_box, read_bounds, read_target, with_targets
from gaugedp.estimators.target_mean import TargetMean
from gaugedp.guarantees import ApproxDP, Guarantee
from gaugedp.mechanisms.pure_within import pure_within
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

    Subclasses find the coefficients. If rows are added or removed, a tenth of ε, or a twentieth of μ² next to
    Gaussian releases alone, is spent on their number.
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
        count = self._count(requested, reading.width)
        self._check(size, range_, for_gaussian_releases(count.remaining))
        rest = self._rest(count.remaining, len(rows), reading.width)
        guarantee = count.with_remaining(rest)
        warn_before_charge(self, len(rows), reading.width)
        reservation = self._pay(guarantee, requested, rows.shape)
        rng = self._generator()
        target, rows, weights_of_rows = with_targets(self.neighbours, target, rows, weights_of_rows)
        n_rows, rest = count.draw(len(rows), rng), count.others(rest)
        scaled = into_box(target, *range_), weights_of_rows
        with after_paying(reservation):
            if hides_slopes(self, n_rows, reading.width):
                slopes, constant, exactness = self._mean_alone(reading.width, scaled, n_rows, rest, rng)
            else:
                slopes, constant, exactness = self._line(reading, rows, scaled, n_rows, rest, rng)
        self._show(reading, slopes, constant, range_)
        self._publish(self._values, guarantee, exactness, {}, reservation)
        warn_after_release(self, n_rows, reading.width)
        return self

    @property
    def _has_mean(self) -> bool:
        return self._starts_at_mean and self.fit_intercept

    def _count(self, requested: Guarantee, n_columns: int) -> NoisyRowCount:
        """Return the noise of the number of rows: Gaussian next to Gaussian releases, as μ² adds up to less than ε."""
        if isinstance(requested, ApproxDP) and not self._may_be_pure(n_columns):
            return NoisyRowCount.gaussian(requested, self.neighbours)
        return row_count(self, n_columns)

    def _may_be_pure(self, n_columns: int) -> bool:
        """Return True if a part of a fit to added or removed rows may be pure, so that not μ, but (ε, δ) is charged."""
        return self._has_mean or has_pure_mean(self, n_columns)

    def _rest(self, remaining: Guarantee, n_rows: int, n_columns: int) -> Guarantee:
        """Return the guarantee of all releases but the number of rows, by public numbers."""
        if self.neighbours == "replace" and hides_slopes(self, n_rows, n_columns):
            return pure_within(remaining)
        return remaining if self._may_be_pure(n_columns) else for_gaussian_releases(remaining)

    def _mean_alone(
        self, n_slopes: int, scaled: tuple[np.ndarray, np.ndarray], n_rows: float, rest: Guarantee, rng: Entropy
    ) -> tuple[np.ndarray, float, str]:
        """Return slopes of 0, the constant that predicts the mean, and exactness."""
        shape, replaced = (n_rows, n_slopes), self.neighbours == "replace"
        mean = MeanAlone.calibrate(shape, rest, replaced, self._weights_up_to > 0, 1.0)
        return np.zeros(n_slopes), self._constant(mean.start(*scaled, rng)), mean.exactness

    def _line(
        self,
        reading: Reading,
        rows: np.ndarray,
        scaled: tuple[np.ndarray, np.ndarray],
        n_rows: float,
        rest: Guarantee,
        rng: Entropy,
    ) -> tuple[np.ndarray, float, str]:
        """Return slopes (k,) and a constant for the cube, and exactness."""
        (target, weights_of_rows), start, replaced = scaled, 0.0, self.neighbours == "replace"
        rest = rest if self._has_mean else for_gaussian_releases(rest)
        if self._has_mean:
            mean = TargetMean.plan(rest, n_rows, replaced, self._weights_up_to > 0)
            start, rest = mean.release(target, weights_of_rows, rng), for_gaussian_releases(mean.remaining)
        size = reading.width + self.fit_intercept
        features = np.ones((len(rows), size))
        features[:, : reading.width] = reading.in_cube(rows)
        problem = CubeProblem(
            features / math.sqrt(size), target - start, weights_of_rows, n_rows, reading.width, replaced
        )
        weights, exactness = self._solved(problem, rest, rng)
        return weights[: reading.width], start + float(weights[reading.width :].sum()), exactness

    def _constant(self, mean: float) -> float:
        """Return the constant that predicts a mean in [−1, 1] with slopes of 0."""
        return mean

    @abstractmethod
    def _check(self, size: int, range_: Any, guarantee: Guarantee) -> None:
        """Refuse invalid parameters, before anything is charged."""

    @abstractmethod
    def _solved(self, problem: CubeProblem, guarantee: Guarantee, rng: Entropy) -> tuple[np.ndarray, str]:
        """Return coefficients (k,) for the cube, and exactness."""
