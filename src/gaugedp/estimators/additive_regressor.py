"""Private additive regression."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin

from gaugedp._internal.validate import one_of
from gaugedp.entropy import Entropy
from gaugedp.estimators.additive_descent import AdditiveDescent
from gaugedp.estimators.additive_model import AdditiveModel, Layout
from gaugedp.estimators.base import Scored, after_paying
from gaugedp.estimators.bin_search import BinSearch
from gaugedp.estimators.mean_alone import MeanAlone
from gaugedp.estimators.public_noise import (
    has_pure_mean,
    hides_slopes,
    row_count,
    warn_after_release,
    warn_before_charge,
)
from gaugedp.estimators.regression import LinearRegression
from gaugedp.estimators.row_count import NoisyRowCount
from gaugedp.estimators.rows import into_ball, into_box, read_bounds, read_target, with_targets
from gaugedp.estimators.shape_functions import features, longest
from gaugedp.estimators.tuning import TUNED
from gaugedp.guarantees import Guarantee, PureDP
from gaugedp.mechanisms.pure_within import pure_within
from gaugedp.optimization.lattice import for_gaussian_releases, shared


@dataclass(frozen=True, eq=False)
class _Plan:
    """Releases of a fit by descent, planned by public numbers, and the guarantee of all that may follow one another.

    A number of rows that is private comes first: from `count` where the mean alone may be pure, else from the totals.
    """

    guarantee: Guarantee
    remaining: Guarantee  # after `count`
    count: NoisyRowCount | None
    n_rows: float | None  # if public
    n_features: int
    search: BinSearch | None
    descent: AdditiveDescent

    @classmethod
    def of(cls, model: Any, layout: Layout, n_rows: int) -> "_Plan":
        """Return the plan for a number of rows, which counts only if rows are replaced."""
        requested, public = model._requested(), float(n_rows) if model.neighbours == "replace" else None
        n_features = sum(len(layout.categories.get(j, (0,))) for j in range(layout.reading.width))
        count, guarantee = None, for_gaussian_releases(requested)
        if public is not None and hides_slopes(model, public, n_features):
            guarantee = pure_within(requested)
        remaining = guarantee
        if has_pure_mean(model, n_features):
            count = row_count(model, n_features)
            remaining = count.remaining
            guarantee = count.with_remaining(remaining)
        search, of_steps = layout.search(remaining, model.neighbours), for_gaussian_releases(remaining)
        edges = 0.0 if search is None else TUNED.edges_share_pure if isinstance(of_steps, PureDP) else TUNED.edges_share
        descent = AdditiveDescent.calibrate(shared(of_steps, 1 - edges), model.neighbours)
        return cls(guarantee, remaining, count, public, n_features, search, descent)

    def level(self, target: np.ndarray, rng: Entropy) -> tuple[float, Guarantee, tuple[float, float] | None]:
        """Return the number of rows, what is left to the mean alone, and the totals if they were released."""
        if self.n_rows is not None:
            return self.n_rows, self.remaining, None
        if self.count is not None:
            return self.count.draw(len(target), rng), self.remaining, None
        level = self.descent.level(target, rng)
        return level[0], shared(self.remaining, 1 - TUNED.totals_share), level


@dataclass(eq=False, repr=False)
class AdditiveRegressor(Scored, RegressorMixin, AdditiveModel):
    """Additive regression with differential privacy.

    Use it if effects are not linear, or if you want to plot how the prediction depends on each feature. A prediction is
    a sum of functions, each of a single feature (a generalised additive model). A function has one value for each bin
    of its feature.

    Parameters
    ----------
    epsilon, delta : float
        Total privacy budget for one row. The default is epsilon = 1 and delta = 0, which gives pure ε-DP.
    bounds, missing_indicator
        The public interval of each column, and the columns that get an indicator of missing numbers, as in
        `LogisticRegression`. Columns of `categories` need no bounds.
    target_bounds : (low, high)
        Public bounds to which the target and the predictions are clipped.
    categories : {column: list of values}, optional
        Public categories of columns, which are named or numbered from 0. Each value gets a bin; any other value adds
        nothing to a prediction.
    bins : int
        The largest number of bins of a numeric column. Default 64.
    edges : "private", "equal" or {column: edges}
        "private", the default, learns the edges of bins from the rows. This costs 6 % of μ², where μ is the Gaussian-DP
        parameter of the fit, or a tenth of ε at δ = 0. "equal" makes bins of equal width. If you give public edges for
        some columns, the others get bins of equal width.
    monotone : {column: 1 or −1}, optional
        Columns whose functions are made increasing (1) or decreasing (−1) after the fit.
    solver : {"auto", "preconditioned"}
        "auto", the default, is clipped gradient descent followed by a calibration. "preconditioned" is the solver of
        `LinearRegression` on bins of equal width or public edges, which provides standard errors and needs more rows.
    neighbours, random_state, ledger
        Further options of the privacy budget, as in `LogisticRegression`.

    Notes
    -----
    Theorem (docs/theory/additive_models.md). `fit` is (ε, δ)-DP for one row, and ε-DP at δ = 0.

    After `fit`, the model has the attributes shape_functions_, intercept_ of shape (1,), guarantee_, release_,
    n_features_in_, and feature_names_in_ if X is a data frame.

    The functions are smooth, because each is a sum of a few cosines of the bin's number with falling amplitude. If the
    noise hides them, the mean of the target is released alone, and they are 0.

    Examples
    --------
    The target depends on the absolute value of the first feature, so its function falls and then rises:

    >>> import numpy as np
    >>> from gaugedp.estimators import AdditiveRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, (2000, 2))
    >>> y = np.abs(X[:, 0]) + X[:, 1]
    >>> model = AdditiveRegressor(epsilon=1.0, delta=1e-6, bounds=(-1, 1), target_bounds=(-1, 2)).fit(X, y)
    >>> list(model.shape_functions_), model.predict(X).shape
    (['x0', 'x1'], (2000,))
    """

    _: KW_ONLY
    target_bounds: Any = None

    fit_intercept: ClassVar[bool] = True  # always

    def fit(self, X: Any, y: Any) -> "AdditiveRegressor":
        """Fit the model to rows X and target y.

        X has shape (n, d) and y has shape (n,). The model's ledger, if any, is charged before any row is read.
        """
        self._requested()  # refuses
        rows = self._rows(X)
        target = read_target(y, len(rows))
        one_of(("auto", "preconditioned"), solver=self.solver)
        layout, range_ = self._layout(X, rows.shape[1]), read_bounds("target_bounds", self.target_bounds)
        ends = float(range_[0]), float(range_[1])
        if self.solver == "auto":
            self._descend(layout, rows, target, ends)
        else:
            self._precondition(layout, rows, target, ends)
        return self

    def _descend(self, layout: Layout, rows: np.ndarray, target: np.ndarray, ends: tuple[float, float]) -> None:
        plan = _Plan.of(self, layout, len(rows))
        warn_before_charge(self, len(rows), plan.n_features)
        reservation = self._pay(plan.guarantee, self._requested(), rows.shape)
        with after_paying(reservation):
            rng = self._generator()
            known, rows = with_targets(self.neighbours, target, rows)
            target = into_box(known, *(np.array(end) for end in ends))
            n_rows, left, level = plan.level(target, rng)
            if hides_slopes(self, n_rows, plan.n_features):
                mean = MeanAlone.calibrate((n_rows, 1), left, self.neighbours == "replace", False, 1.0)
                bins, constant = layout.trial_bins(self.bins), mean.start(target, np.ones(len(target)), rng)
                weights, exactness = np.zeros(sum(part.basis.shape[1] for part in bins)), mean.exactness
            else:
                read = layout.reading(rows)
                bins = layout.bins(plan.search, read, self.bins, rng)
                design = into_ball(features(bins, read), 2, longest(bins))
                weights, constant = plan.descent.solve(design, target, level or plan.descent.level(target, rng), rng)
                exactness = plan.descent.exactness(weights.size)
        half = (ends[1] - ends[0]) / 2
        start = np.array([(ends[0] + ends[1]) / 2 + half * constant])
        self._show(layout, bins, weights[None] * half / longest(bins), start)
        self._finish(plan.guarantee, exactness, reservation)
        warn_after_release(self, n_rows, plan.n_features)

    def _precondition(self, layout: Layout, rows: np.ndarray, target: np.ndarray, ends: tuple[float, float]) -> None:
        bins = layout.bins(None, rows, self.bins, self._generator())
        inner = LinearRegression(
            self.epsilon, self.delta, row_norm=longest(bins), target_bounds=ends, solver="preconditioned",
            neighbours=self.neighbours, random_state=self._seed,
        )  # fmt: skip
        inner._is_trial = True
        frame = inner._frame(sum(part.basis.shape[1] for part in bins), None)
        guarantee = inner._plan(len(rows), frame)[2]
        reservation = self._pay(guarantee, self._requested(), rows.shape)
        with after_paying(reservation):
            inner.fit(features(bins, layout.reading(rows)), target)
        assert inner._best is not None
        middle = inner._best.median
        self._show(layout, bins, middle[None, :-1], middle[-1:], inner._best)
        self._finish(guarantee, inner.release_.exactness, reservation)

    def _finish(self, guarantee: Guarantee, exactness: str, reservation: Any) -> None:
        values = {**self._shape_values, "intercept": self.intercept_}
        self._publish(values, guarantee, exactness, {"solver": self.solver}, reservation)

    def predict(self, X: Any) -> np.ndarray:
        """Return a prediction for each row, within the target's bounds."""
        low, high = (float(end) for end in self.target_bounds)
        return np.clip(self._scores(X), low, high)
