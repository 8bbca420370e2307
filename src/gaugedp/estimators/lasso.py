"""Linear regression in an ℓ₁ ball."""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from gaugedp._internal.validate import one_of, positive
from gaugedp.entropy import Entropy
from gaugedp.estimators.base import after_paying
from gaugedp.estimators.feature_names import names_of
from gaugedp.estimators.fit_in_parts import fit_in_parts, fits_in_parts
from gaugedp.estimators.gibbs_fit import GibbsFit
from gaugedp.estimators.linear_regressor import LinearRegressor
from gaugedp.estimators.mean_alone import MeanAlone
from gaugedp.estimators.public_noise import hides_slopes, row_count, warn_after_release, warn_before_charge
from gaugedp.estimators.reading import Reading
from gaugedp.estimators.row_count import PUBLIC_ROWS, NoisyRowCount
from gaugedp.estimators.rows import into_box, read_bounds, read_target, with_targets
from gaugedp.estimators.target_mean import TargetMean
from gaugedp.estimators.tuning import TUNED
from gaugedp.estimators.weights import check_no_weights, weighed
from gaugedp.guarantees import Guarantee
from gaugedp.optimization.frank_wolfe import FrankWolfe, best_radius, frank_wolfe
from gaugedp.optimization.geometry import Geometry
from gaugedp.optimization.losses import Squared
from gaugedp.optimization.row_blocks import RowBlocks
from gaugedp.optimization.shrinkage import signal_share

SOLVERS = ("frank-wolfe", "gibbs")
_LOSS = Squared(1.0)
_EXPLAINED, _LITTLE_SHRINKAGE = TUNED.explained_usually, TUNED.explained_at_most


@dataclass(frozen=True, eq=False)
class _Steps:
    """Private Frank–Wolfe around a private mean of the target, calibrated by public numbers."""

    calibration: FrankWolfe
    radius: float
    n_rows: float  # infinite where noise is small
    mean: TargetMean | None

    @property
    def guarantee(self) -> Guarantee:
        return self.calibration.guarantee + self.mean.noise.guarantee if self.mean else self.calibration.guarantee

    def start(self, target: np.ndarray, weights: np.ndarray, rng: Entropy) -> float:
        """Return the mean from which weights lead away, 0 without an intercept."""
        return self.mean.release(target, weights, rng) if self.mean else 0.0

    def solve(self, rows: RowBlocks, target: np.ndarray, rng: Entropy) -> tuple[np.ndarray, str, dict[str, Any]]:
        selection = self.calibration.selection
        facts = {"steps": self.calibration.steps, "noise": selection.describe()}
        weights = frank_wolfe(rows, target, _LOSS, self.radius, self.calibration, rng)
        blind = self.radius**2 * self.calibration.blindness(self.n_rows) / len(weights)
        return signal_share(weights, blind) * weights, selection.exactness, facts


@dataclass(frozen=True, eq=False)
class _Features:
    """Rows (n, d) in the cube, with a constant if any, times their root weights, computed when read."""

    rows: np.ndarray
    reading: Reading
    has_constant: bool
    weights: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), self.reading.width + self.has_constant

    def __getitem__(self, part: slice) -> np.ndarray:
        cube = self.reading.in_cube(self.rows[part])
        if self.has_constant:
            cube = np.hstack([cube, np.ones((len(cube), 1))])
        return weighed(cube, self.weights[part])


@dataclass(eq=False, repr=False)
class Lasso(LinearRegressor):
    """Sparse linear regression with a bound on Σ|w_j|.

    Use it for a linear regression with many columns, of which few matter. The sum of the absolute coefficients, Σ|w_j|,
    is at most `radius`, and within this bound the squared error is minimised. The noise grows only with the logarithm
    of the number of columns.

    Parameters
    ----------
    epsilon, delta : float
        Total privacy budget for one row. The default is epsilon = 1 and delta = 0, which gives pure ε-DP.
    bounds, missing_indicator
        The public interval of each column, to which it is clipped before it is scaled to [−1, 1], and the columns with
        an indicator of missing numbers, as in `LogisticRegression`.
    target_bounds : (low, high) or "private"
        Public bounds, to which the target is clipped; it is then scaled to [−1, 1].
    radius : float
        Public bound on Σ|w_j| in these units, where the intercept is one of the w_j. It plays the role of
        scikit-learn's alpha. Default 1.
    alpha : float, optional
        scikit-learn's alpha in these units. It limits the radius to 1/(2·alpha), because scikit-learn's solution has no
        larger norm at the target 0.
    weight_bound : float
        Public bound on `sample_weight`. A larger weight counts as the bound. Default 1.
    solver : {"frank-wolfe", "gibbs"}
        "frank-wolfe", the default, is described in the notes. For δ > 0, "gibbs" draws the coefficients from the
        regularised exponential mechanism in the ℓ₁ ball. It is slower (docs/theory/gibbs.md) and does not accept
        weights.
    neighbours, random_state, ledger
        Further options of the privacy budget, as in `LogisticRegression`.

    Notes
    -----
    Theorem. Each of the T steps of Frank–Wolfe chooses one coordinate with a sign by the exponential mechanism on
    gradients of clipped residuals. All steps together are (ε, δ)-DP for one row, and ε-DP at δ = 0
    (docs/theory/frank_wolfe.md). If rows are added or removed, a tenth of ε is spent on their number, which determines
    T.

    If the noise is large, the mean of the target is released too, and the coefficients shrink around it. If the noise
    hides them, the mean is released alone. After `fit`, the model has the attributes coef_ of shape (d + m,) for d
    columns and m indicators, intercept_, n_steps_, solver_,
    guarantee_ and release_.

    Examples
    --------
    Of 20 columns only the first determines the target:

    >>> import numpy as np
    >>> from gaugedp.estimators import Lasso
    >>> X = np.random.default_rng(0).uniform(-1, 1, (1000, 20))
    >>> model = Lasso(epsilon=1.0, delta=1e-6, bounds=(-1, 1), target_bounds=(-1, 1)).fit(X, X[:, 0])
    >>> model.coef_.shape, model.predict(X).shape
    ((20,), (1000,))
    """

    epsilon: float = 1.0
    delta: float = 0.0
    _: KW_ONLY
    radius: float = 1.0
    alpha: float | None = None
    solver: str = "frank-wolfe"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "Lasso":
        """Fit the model to rows X and target y.

        X has shape (n, d) and y has shape (n,). The model's ledger, if any, is charged before any row is read.
        """
        if fits_in_parts(self, y):
            fit_in_parts(self, X, y, sample_weight)
            return self
        one_of(SOLVERS, solver=self.solver)
        check_no_weights(self.solver, sample_weight is not None)
        requested, rows = self._requested(), self._rows(X)
        target, weights_of_rows = read_target(y, len(rows)), self._weights(sample_weight, len(rows))
        positive(radius=self.radius)
        if self.alpha is not None:
            positive(alpha=self.alpha)
        reading = Reading.in_box(self.bounds, names_of(X), rows.shape[1], self.missing_indicator)
        range_ = read_bounds("target_bounds", self.target_bounds)
        n_columns = reading.width + self.fit_intercept
        is_gibbs = self.solver == "gibbs"
        count = NoisyRowCount(requested, "replace") if is_gibbs else row_count(self, reading.width)
        plan = self._plan(PUBLIC_ROWS if count.mechanism else len(rows), n_columns, count.remaining)
        guarantee = count.with_remaining(count.remaining if count.mechanism else plan.guarantee)
        warn_before_charge(self, len(rows), reading.width)
        reservation, rng = self._pay(guarantee, requested, rows.shape), self._generator()
        target, rows, weights_of_rows = with_targets(self.neighbours, target, rows, weights_of_rows)
        n_rows = count.draw(len(rows), rng)
        plan = self._plan(int(n_rows), n_columns, count.remaining) if count.mechanism else plan
        features = _Features(rows, reading, self.fit_intercept, weights_of_rows)
        scaled = into_box(target, *range_)
        with after_paying(reservation):
            start = plan.start(scaled, weights_of_rows, rng)
            weights, exactness, facts = plan.solve(features, weighed(scaled - start, weights_of_rows), rng)
        self._show(reading, weights[: reading.width], start + float(weights[reading.width :].sum()), range_)
        self.n_steps_, self.solver_ = facts["steps"], self.solver
        self._publish(self._values, guarantee, exactness, facts, reservation)
        if count.mechanism:
            warn_after_release(self, n_rows, reading.width)
        return self

    @property
    def _radius(self) -> float:
        return float(self.radius) if self.alpha is None else min(float(self.radius), 1 / (2 * float(self.alpha)))

    def _plan(self, n_rows: int, n_columns: int, guarantee: Guarantee) -> _Steps | MeanAlone | GibbsFit:
        radius, replaced = self._radius, self.neighbours == "replace"
        if self.solver == "gibbs":
            return GibbsFit.plan(Geometry((n_columns,), 1, radius), _LOSS, guarantee, self.neighbours)
        if hides_slopes(self, n_rows, n_columns - 1):
            shape, has_weights = (n_rows, n_columns), self._weights_up_to > 0
            return MeanAlone.calibrate(shape, guarantee, replaced, has_weights, 1.0)
        given, rest = (n_rows, n_columns, _LOSS), (guarantee, self.neighbours)
        if not self.fit_intercept or best_radius(*given, radius, *rest, _LITTLE_SHRINKAGE) == 1:
            return _Steps(FrankWolfe.calibrate(*given, radius, *rest), radius, math.inf, None)
        mean = TargetMean.plan(guarantee, n_rows, replaced, self._weights_up_to > 0)
        rest = (mean.remaining, self.neighbours)
        radius *= best_radius(*given, radius, *rest, _EXPLAINED)
        return _Steps(FrankWolfe.calibrate(*given, radius, *rest), radius, n_rows, mean)
