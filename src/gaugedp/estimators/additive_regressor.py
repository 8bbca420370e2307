"""Private additive regression."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from gaugedp._internal.validate import one_of
from gaugedp.estimators.additive_descent import AdditiveDescent
from gaugedp.estimators.additive_model import PURE_SHARE, SEARCH_SHARE, AdditiveModel, Layout
from gaugedp.estimators.base import Scored, after_paying
from gaugedp.estimators.regression import LinearRegression
from gaugedp.estimators.rows import into_ball, into_box, read_bounds, read_target
from gaugedp.estimators.shape_functions import features, longest
from gaugedp.guarantees import Guarantee, PureDP
from gaugedp.optimization.lattice import for_gaussian_releases, shared


@dataclass(eq=False, repr=False)
class AdditiveRegressor(Scored, RegressorMixin, AdditiveModel):
    """Additive regression with differential privacy.

    A prediction is a sum of functions of one feature each. Such a function has one value per bin. It is a sum of few
    cosines of the bin's number with falling amplitude, so it is smooth.

    Theorem. `fit` is (ε, δ)-DP for one row, ε-DP at δ = 0: docs/theory/additive_models.md

    After fit: shape_functions_, intercept_ (1,), guarantee_, release_, n_features_in_, and feature_names_in_ if X
    is a data frame.

    Parameters
    ----------
    epsilon, delta : float
        Total privacy budget for one row. delta = 0 gives pure ε-DP.
    bounds, missing_indicator
        The public interval of each column, and the columns with an indicator of missing numbers, in the forms of
        `LogisticRegression`. Columns of `categories` need no bounds.
    target_bounds : (low, high)
        Public bounds to which the target and the predictions are clipped.
    categories : {column: list of values}, optional
        Public categories of columns, by name or by number from 0. Each value gets a bin; any other value adds nothing.
    bins : int
        The largest number of bins of a numeric column.
    edges : "private", "equal" or {column: edges}
        "private" learns the edges of bins from the rows, for 6 % of μ² (a tenth of ε at δ = 0). "equal" makes bins of
        equal width. Public edges may be given for some columns; the others then get bins of equal width.
    monotone : {column: 1 or −1}, optional
        Columns whose functions are made monotone after the fit.
    solver : {"auto", "preconditioned"}
        "auto" is clipped descent with a calibration. "preconditioned" is that of `LinearRegression` on bins of equal
        width or public edges, which provides standard errors and needs more rows.

    Examples
    --------
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

    def fit(self, X: Any, y: Any) -> "AdditiveRegressor":
        """Fit to rows X (n, d) and target y (n,)."""
        self._requested()  # refuses
        rows = self._rows(X)
        target = read_target(y, len(rows))
        one_of(("auto", "preconditioned"), solver=self.solver)
        layout, range_ = self._layout(X, rows.shape[1]), read_bounds("target_bounds", self.target_bounds)
        ends = float(range_[0]), float(range_[1])
        if self.solver == "auto":
            self._descend(layout, rows, into_box(target, *range_), ends)
        else:
            self._precondition(layout, rows, target, ends)
        return self

    def _descend(self, layout: Layout, rows: np.ndarray, target: np.ndarray, ends: tuple[float, float]) -> None:
        requested = self._requested()
        guarantee, search = for_gaussian_releases(requested), layout.search(requested, self.neighbours)
        rest = 0.0 if search is None else PURE_SHARE if isinstance(guarantee, PureDP) else SEARCH_SHARE
        descent = AdditiveDescent.calibrate(shared(guarantee, 1 - rest), self.neighbours)
        reservation = self._pay(guarantee, requested, rows.shape)
        with after_paying(reservation):
            rng, read = self._generator(), layout.reading(rows)
            bins = layout.bins(search, read, self.bins, rng)
            weights, constant = descent.solve(into_ball(features(bins, read), 2, longest(bins)), target, rng)
        half = (ends[1] - ends[0]) / 2
        start = np.array([(ends[0] + ends[1]) / 2 + half * constant])
        self._show(layout, bins, weights[None] * half / longest(bins), start)
        self._finish(guarantee, descent.exactness(weights.size), reservation)

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
        """Return predictions (n,), within the bounds of the target."""
        low, high = (float(end) for end in self.target_bounds)
        return np.clip(self._scores(X), low, high)
