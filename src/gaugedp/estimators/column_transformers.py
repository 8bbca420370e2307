"""Private transformers: standardisation of columns and imputation."""

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gaugedp._internal.validate import one_of
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.base import PrivateEstimator
from gaugedp.estimators.column_sums import GroupSums, least_noise, moments_of
from gaugedp.estimators.feature_names import names_of
from gaugedp.estimators.partial_fits import PartialFits
from gaugedp.estimators.reading import Reading
from gaugedp.estimators.rows import read_table


@dataclass(eq=False, repr=False)
class ColumnTransformer(OneToOneFeatureMixin, TransformerMixin, PartialFits, PrivateEstimator):
    """Base of both transformers, with one release of sums."""

    epsilon: float = 1.0
    delta: float = 0.0
    _: KW_ONLY
    bounds: Any = None

    def fit(self, X: Any, y: Any = None) -> "ColumnTransformer":
        """Estimate column statistics from rows X of shape (n, d).

        Missing numbers are left out. The model's ledger, if any, is charged before any row is read.
        """
        del y
        requested, rows = self._requested(), self._rows(X)
        self._check()
        reading = Reading.in_box(self.bounds, names_of(X), rows.shape[1], False)
        shape = 1, self._numbers * rows.shape[1]
        sums = GroupSums.calibrate(shape, least_noise(shape, requested, self.neighbours), self.neighbours)
        reservation = self._pay(sums.guarantee, requested, rows.shape)
        is_there = ~np.isnan(rows)
        results = self._found(np.where(is_there, reading.in_cube(rows), 0.0), is_there, sums, self._generator())
        self._read_by(reading)
        assert reading.box is not None
        low, high = reading.box
        self._show((low + high) / 2, (high - low) / 2, *results)
        self._publish(self._values(), sums.guarantee, sums.noise.exactness, {}, reservation)
        return self

    def _found(self, cube: np.ndarray, is_there: np.ndarray, sums: GroupSums, rng: Entropy) -> list[np.ndarray]:
        parts = [is_there.astype(float), cube, cube**2][: self._numbers]
        noisy = self._added(sums.release(np.hstack(parts), np.zeros(len(cube), dtype=int), rng), sums.guarantee)[0]
        return np.split(noisy, self._numbers)

    def _check(self) -> None:
        """Refuse invalid parameters, before anything is charged."""

    @property
    @abstractmethod
    def _numbers(self) -> int:
        """Number of sums per column (presence, values, squares)."""

    @abstractmethod
    def _show(self, middle: np.ndarray, half: np.ndarray, *released: np.ndarray) -> None:
        """Set the fitted attributes from sums in scaled units."""

    @abstractmethod
    def _values(self) -> dict[str, np.ndarray]:
        """Return the published values of a fit."""


@dataclass(eq=False, repr=False)
class StandardScaler(ColumnTransformer):
    """Standardise columns by private means and standard deviations.

    Use it before a private model if you know only wide bounds of the columns, so that most values lie in a small part
    of the interval. The scaler and the model each spend their own budget, so give both the same ledger. In such a
    pipeline, the bounds of the model refer to the scaled columns, such as (−3, 3).

    Parameters
    ----------
    bounds : (low, high)
        Public bounds, as in `LogisticRegression`, to which columns are clipped.
    with_mean, with_std : bool
        Whether to centre the columns, and whether to divide them by their standard deviations. Default True.
    copy
        Ignored, because X is never changed.
    epsilon, delta, neighbours, random_state, ledger
        The privacy budget for one row, and its options, as in `LogisticRegression`.

    Notes
    -----
    Theorem. For each column, a row contributes whether its number is present, the number, and its square, all of which
    are in [−1, 1] because of the bounds. `fit` releases the sums of these with noise, and is (ε, δ)-DP for one row, and
    ε-DP at δ = 0 (see `GroupSums`). A standard deviation is at least a hundredth of half the range.

    After `fit`, the model has the attributes mean_, var_ and scale_ (d,), guarantee_ and release_.

    Examples
    --------
    Scale two columns, which lie within [0, 100], for ε = 1:

    >>> import numpy as np
    >>> from gaugedp.estimators import StandardScaler
    >>> X = np.random.default_rng(0).uniform(20, 60, (1000, 2))
    >>> scaler = StandardScaler(epsilon=1.0, bounds=(0, 100)).fit(X)
    >>> scaler.transform(X).shape, scaler.guarantee_
    ((1000, 2), PureDP(1))
    """

    _: KW_ONLY
    with_mean: bool = True
    with_std: bool = True
    copy: Any = None

    _numbers = 3

    def transform(self, X: Any) -> np.ndarray:
        """Return the scaled rows (x − mean_)/scale_ (n, d); missing numbers become 0."""
        rows = np.asarray(self._like_fitted(X), dtype=float)
        scaled = (rows - (self.mean_ if self.with_mean else 0)) / (self.scale_ if self.with_std else 1)
        return np.where(np.isnan(read_table(X)), 0.0, scaled)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return scaled rows (n, d) in their original units."""
        check_is_fitted(self, "scale_")
        scaled = read_table(X)
        if scaled.shape[1] != self.n_features_in_:
            raise InvalidRequest(
                f"X has {scaled.shape[1]} columns, but the transformer was fitted to {self.n_features_in_}.",
                "Pass the columns that were passed to `fit`.",
                "",
            )
        return scaled * (self.scale_ if self.with_std else 1) + (self.mean_ if self.with_mean else 0)

    def _show(self, middle: np.ndarray, half: np.ndarray, *released: np.ndarray) -> None:
        counts, sums, squares = released
        means, variances = moments_of(sums, counts, squares, 1e-4)  # of the square of half a range: less is noise
        self.mean_, self.var_ = middle + half * means, half**2 * variances
        self.scale_ = np.sqrt(self.var_)

    def _values(self) -> dict[str, np.ndarray]:
        return {"mean": self.mean_, "var": self.var_}


@dataclass(eq=False, repr=False)
class SimpleImputer(ColumnTransformer):
    """Replace missing numbers by private means of their columns.

    Use it as the first step of a pipeline whose models cannot handle missing numbers. It spends a budget of its own on
    the means of the columns.

    Parameters
    ----------
    bounds : (low, high)
        Public bounds, as in `LogisticRegression`, to which numbers are clipped before averaging.
    strategy : "mean"
        The only strategy. A median or a most frequent value is another query (`gd.query`).
    missing_values, copy
        Ignored: NaN and everything that is not a number is missing.
    epsilon, delta, neighbours, random_state, ledger
        The privacy budget for one row, and its options, as in `LogisticRegression`.

    Notes
    -----
    Theorem. For each column, a row contributes whether its number is present, and the number, which is in [−1, 1]
    because of the bounds. `fit` releases the sums of these with noise, and is (ε, δ)-DP for one row, and ε-DP at δ = 0
    (see `GroupSums`).

    After `fit`, the model has the attributes statistics_ (d,), the means of the d columns, guarantee_ and release_.

    Examples
    --------
    After the transformation no number is missing:

    >>> import numpy as np
    >>> from gaugedp.estimators import SimpleImputer
    >>> X = np.array([[1.0, np.nan], [2.0, 3.0]] * 500)
    >>> imputer = SimpleImputer(epsilon=1.0, bounds=(0, 10)).fit(X)
    >>> bool(np.isnan(imputer.transform(X)).any())
    False
    """

    _: KW_ONLY
    strategy: str = "mean"
    missing_values: Any = None
    copy: Any = None

    _numbers = 2

    def _check(self) -> None:
        one_of(("mean",), strategy=self.strategy)

    def transform(self, X: Any) -> np.ndarray:
        """Return X (n, d) with means for missing numbers."""
        self._like_fitted(X)
        rows = read_table(X)
        return np.where(np.isnan(rows), self.statistics_, rows)

    def _show(self, middle: np.ndarray, half: np.ndarray, *released: np.ndarray) -> None:
        counts, sums = released
        means, _ = moments_of(sums, counts, np.zeros_like(sums), 0.0)
        self.statistics_ = middle + half * means

    def _values(self) -> dict[str, np.ndarray]:
        return {"statistics": self.statistics_}
