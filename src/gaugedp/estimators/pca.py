"""Private principal components, top eigenvector and low-rank covariance."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gaugedp.errors import InvalidRequest
from gaugedp.estimators.rows import read_table
from gaugedp.estimators.spectral import SpectralEstimator


@dataclass(eq=False, repr=False)
class PCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SpectralEstimator):
    """Principal component analysis with differential privacy.

    Use it to describe many columns by the few directions in which rows vary most. Rows are clipped to a ball or a box,
    because a single very long row could change the directions arbitrarily. Specify `row_norm` or `bounds` from public
    knowledge.

    Parameters
    ----------
    n_components : int or float, optional
        Number of components; by default there are as many as columns. Under ε-DP each component costs a share of the
        budget; under (ε, δ)-DP all of them together cost as much as one. A number below 1, such as 0.95, keeps the
        fewest components whose noisy variances make up this share of the sum of all variances. These are released
        first, so this option costs as much as all components.
    whiten : bool
        Whether `transform` divides coordinates by their noisy standard deviations (coordinates without variance become
        0). Default False.
    svd_solver
        Ignored, because `solver` chooses among private methods.
    row_norm, bounds
        Rows are clipped to the ℓ₂ ball of the radius `row_norm`, or to the public interval of each column.
    centre : {"mean", "public"}
        "mean", the default, releases the rows' mean and their spread around it, for at most a tenth of the guarantee
        (0.4 of a pure one). It clips rows to a ball around the mean, which is narrow if the noise is large. If the mean
        would be too noisy, and for "public", the centre is the middle of the bounds, or 0.
    solver : {"auto", "gaussian", "oja", "exponential"}
        "gaussian" (noise on the second moments) and "oja" (noise on products with directions, for very many columns)
        need δ > 0. "exponential" draws directions from the sphere, under ε-DP. "auto", the default, chooses by the
        numbers of columns and rows, ε and δ.
    epsilon, delta, neighbours, random_state, ledger
        The privacy budget for one row, and its options, as in `LogisticRegression`.

    Notes
    -----
    Theorem (docs/theory/eigenvectors.md). `fit` is (ε, δ)-DP for one row, and ε-DP at δ = 0. If rows are added or
    removed, a tenth of ε is spent on their number.

    After `fit`, components_ (k, d) are orthonormal. For "gaussian" and "oja", explained_variance_ (k,) is corrected for
    noise. For "exponential" it is the noisy variance along the released component of rows clipped to a ball around the
    mean, of radius release_.facts["radius"], so it is too small if rows have long tails. explained_variance_ratio_
    (k,), its share of the total variance, is available for "gaussian" only, else None. Further attributes are mean_
    (d,), n_rows_, solver_, reason_, guarantee_ and release_.

    Examples
    --------
    Describe three columns by two components:

    >>> import numpy as np
    >>> from gaugedp.estimators import PCA
    >>> X = np.random.default_rng(0).uniform(0, 10, (1000, 3))
    >>> model = PCA(n_components=2, epsilon=1.0, delta=1e-6, bounds=(0, 10)).fit(X)
    >>> model.transform(X).shape
    (1000, 2)
    """

    n_components: float | None = None
    epsilon: float = 1.0
    delta: float = 0.0
    _: KW_ONLY
    centre: str = "mean"
    whiten: bool = False
    svd_solver: Any = None

    def fit(self, X: Any, y: Any = None) -> "PCA":
        """Find the principal components of rows X, shape (n, d).

        The model's ledger, if any, is charged before any row is read.
        """
        del y
        share = self.n_components if isinstance(self.n_components, float) and 0 < self.n_components < 1 else None
        spectrum = self._find(X, None if share is not None else self.n_components, self.centre)
        if share is not None:
            spectrum = spectrum.explaining(share)
        self.components_, self.mean_ = spectrum.pairs.vectors, spectrum.mean
        self.explained_variance_ = spectrum.pairs.values * (spectrum.scale / max(spectrum.n_rows - 1, 1))
        self.n_components_ = len(self.components_)
        values = {"components": self.components_, "mean": self.mean_, "explained_variance": self.explained_variance_}
        self.explained_variance_ratio_, total = None, spectrum.pairs.total
        if total is not None:
            self.explained_variance_ratio_ = spectrum.pairs.values / max(total, 1e-300)
            values["explained_variance_ratio"] = self.explained_variance_ratio_
        self._record(spectrum, values)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the coordinates of rows along the components, (n, k)."""
        coords: np.ndarray = (self._like_fitted(X) - self.mean_) @ self.components_.T
        return coords * np.divide(1.0, self._scales, out=np.zeros_like(self._scales), where=self._scales > 0)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return rows (n, d) from their coordinates (n, k)."""
        check_is_fitted(self, "components_")
        coords = read_table(X)
        if coords.shape[1] != self.n_components_:
            raise InvalidRequest(
                f"X has {coords.shape[1]} columns, but must have one for each of the {self.n_components_} components.",
                "Pass rows as `transform` returned them.",
                "",
            )
        return (coords * self._scales) @ self.components_ + self.mean_

    @property
    def _scales(self) -> np.ndarray:
        return np.sqrt(np.maximum(self.explained_variance_, 0.0)) if self.whiten else np.ones(self.n_components_)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_


@dataclass(eq=False, repr=False)
class TopEigenvector(SpectralEstimator):
    """Leading eigenvector of the second moments, with differential privacy.

    Use it to find the one direction that explains most of the rows: the unit vector v with the largest mean of ⟨x, v⟩²
    over the rows x. Rows are clipped to a ball or a box. Unlike in `PCA`, nothing is centred.

    Parameters
    ----------
    row_norm, bounds
        Rows are clipped to the ℓ₂ ball of the radius `row_norm`, or to the public interval of each column.
    solver : str
        The private method, as in `PCA`. Default "auto".
    epsilon, delta, neighbours, random_state, ledger
        The privacy budget for one row, and its options, as in `LogisticRegression`.

    Notes
    -----
    Theorem. `fit` has the guarantee of `PCA`.

    After `fit`, component_ (d,) is the eigenvector, whose sign is arbitrary. eigenvalue_ is the largest eigenvalue of
    (1/n)·Σ xxᵀ over the n rows, corrected for noise; for "exponential" it is the noisy mean of ⟨x, v⟩². Further
    attributes are n_rows_, solver_, reason_, guarantee_ and release_.

    Examples
    --------
    The eigenvector of three columns has three entries:

    >>> import numpy as np
    >>> from gaugedp.estimators import TopEigenvector
    >>> X = np.random.default_rng(0).uniform(0, 1, (1000, 3))
    >>> TopEigenvector(epsilon=1.0, delta=1e-6, row_norm=1.0).fit(X).component_.shape
    (3,)
    """

    epsilon: float = 1.0
    delta: float = 0.0

    def fit(self, X: Any, y: Any = None) -> "TopEigenvector":
        """Find the leading eigenvector of rows X, shape (n, d).

        The model's ledger, if any, is charged before any row is read.
        """
        del y
        spectrum = self._find(X, 1, None)
        self.component_ = spectrum.pairs.vectors[0]
        self.eigenvalue_ = float(spectrum.pairs.values[0] * spectrum.scale / spectrum.n_rows)
        self._record(spectrum, {"component": self.component_, "eigenvalue": np.array(self.eigenvalue_)})
        return self


@dataclass(eq=False, repr=False)
class LowRankCovariance(SpectralEstimator):
    """Covariance matrix restricted to its leading eigenvectors.

    Use it to estimate the covariances of many columns, if a few directions explain most of them. Rows are clipped to a
    ball or a box. The result is a symmetric matrix of rank at most k = `rank`.

    Parameters
    ----------
    rank : int
        The number k of eigenvectors.
    row_norm, bounds, centre, solver
        How rows are clipped and centred, and the private method, as in `PCA`.
    epsilon, delta, neighbours, random_state, ledger
        The privacy budget for one row, and its options, as in `LogisticRegression`.

    Notes
    -----
    Theorem. `fit` has the guarantee of `PCA`, because the matrix is a function of what `PCA` releases.

    After `fit`, covariance_ (d, d) is symmetric and positive semidefinite of rank at most k; without noise and
    truncation it is (1/n)·Σ (x − mean)(x − mean)ᵀ over the n rows x. components_ (k, d) are orthonormal, and
    explained_variance_ (k,) holds the variance along each component v, so that covariance_ = Σ variance·vvᵀ. This
    variance is smaller than the eigenvalue, and 0 for components that do not exceed the noise. Further attributes are
    location_ (d,), n_rows_, solver_, reason_, guarantee_ and release_.

    Examples
    --------
    The covariance matrix of three columns has three rows and columns:

    >>> import numpy as np
    >>> from gaugedp.estimators import LowRankCovariance
    >>> X = np.random.default_rng(0).uniform(0, 10, (1000, 3))
    >>> LowRankCovariance(rank=1, epsilon=1.0, delta=1e-6, bounds=(0, 10)).fit(X).covariance_.shape
    (3, 3)
    """

    _number = "rank"

    rank: int | None = None
    epsilon: float = 1.0
    delta: float = 0.0
    _: KW_ONLY
    centre: str = "mean"

    def fit(self, X: Any, y: Any = None) -> "LowRankCovariance":
        """Estimate the covariance of rows X of shape (n, d).

        The model's ledger, if any, is charged before any row is read.
        """
        del y
        spectrum = self._find(X, self.rank, self.centre)
        vectors, held = spectrum.pairs.vectors, spectrum.pairs.held
        self.components_, self.location_ = vectors, spectrum.mean
        self.explained_variance_ = held * (spectrum.scale / spectrum.n_rows)
        roots = vectors * np.sqrt(self.explained_variance_)[:, None]
        self.covariance_ = roots.T @ roots
        values = {"components": vectors, "location": spectrum.mean, "explained_variance": self.explained_variance_}
        self._record(spectrum, values)
        return self
