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

    Rows are clipped to a ball or a box. Specify `row_norm` or `bounds`.

    Theorem. `fit` is (ε, δ)-DP for one row, ε-DP at δ = 0; docs/theory/eigenvectors.md. If rows are added or removed, a
    tenth of ε is spent on their number.

    After fit: components_ (k, d), orthonormal; explained_variance_ (k,), corrected for noise ("gaussian", "oja"), or
    the noisy variance along the released component: of rows clipped to a ball around the mean of radius
    release_.facts["radius"], so too small if rows have long tails; explained_variance_ratio_ (k,), its share of the
    total variance, for "gaussian" only, else None; mean_ (d,), n_rows_, solver_, reason_, guarantee_, release_.

    Parameters
    ----------
    n_components : int or float, optional
        Number of components, by default that of the columns. Under ε-DP each costs a share; under (ε, δ)-DP all cost as
        much as one. A number such as 0.95 keeps the fewest components whose noisy variances make up this share of the
        sum of all variances, which are released first; it costs as much as all components.
    whiten : bool
        Whether `transform` divides coordinates by their noisy standard deviations (0 for one without variance).
    svd_solver
        Ignored: `solver` chooses among private methods.
    row_norm, bounds
        Rows are clipped to the ℓ₂ ball of the radius `row_norm`, or to the public interval of each column.
    centre : {"mean", "public"}
        "mean" releases the rows' mean and their spread around it, for at most a tenth of the guarantee (0.4 of a pure
        one). It clips rows to a ball around the mean, which is narrow if the noise is large. If the mean would be too
        noisy, and for "public", the centre is the middle of the bounds, or 0.
    solver : {"auto", "gaussian", "oja", "exponential"}
        "gaussian" (noise on the second moments) and "oja" (noise on products with directions, for very many columns)
        need δ > 0. "exponential" draws directions from the sphere, under ε-DP. "auto" chooses by the numbers of columns
        and rows, ε and δ.

    Examples
    --------
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
        """Fit to the rows of X (n, d)."""
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
        """Return (x − mean_)·components_ᵀ, shape (n, k), whitened if requested."""
        coords: np.ndarray = (self._like_fitted(X) - self.mean_) @ self.components_.T
        return coords * np.divide(1.0, self._scales, out=np.zeros_like(self._scales), where=self._scales > 0)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return rows (n, d) from their coordinates (n, k)."""
        check_is_fitted(self, "components_")
        coords = read_table(X)
        if coords.shape[1] != self.n_components_:
            raise InvalidRequest(f"X has {coords.shape[1]} columns.", f"Pass {self.n_components_} columns.", "")
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

    It is the unit vector v with the largest mean of ⟨x, v⟩², for rows x clipped to a ball or a box; nothing is centred.

    Theorem. `fit` has the guarantee of `PCA`.

    After fit: component_ (d,), whose sign is arbitrary; eigenvalue_, the largest of (1/n)·Σ xxᵀ corrected for noise, or
    the noisy mean of ⟨x, v⟩² ("exponential"); n_rows_, solver_, reason_, guarantee_, release_.

    Parameters
    ----------
    row_norm, bounds
        Rows are clipped to the ℓ₂ ball of the radius `row_norm`, or to the public interval of each column.
    solver : str
        The private method, one of those of `PCA`.

    Examples
    --------
    >>> import numpy as np
    >>> from gaugedp.estimators import TopEigenvector
    >>> X = np.random.default_rng(0).uniform(0, 1, (1000, 3))
    >>> TopEigenvector(epsilon=1.0, delta=1e-6, row_norm=1.0).fit(X).component_.shape
    (3,)
    """

    epsilon: float = 1.0
    delta: float = 0.0

    def fit(self, X: Any, y: Any = None) -> "TopEigenvector":
        """Fit to the rows of X (n, d)."""
        del y
        spectrum = self._find(X, 1, None)
        self.component_ = spectrum.pairs.vectors[0]
        self.eigenvalue_ = float(spectrum.pairs.values[0] * spectrum.scale / spectrum.n_rows)
        self._record(spectrum, {"component": self.component_, "eigenvalue": np.array(self.eigenvalue_)})
        return self


@dataclass(eq=False, repr=False)
class LowRankCovariance(SpectralEstimator):
    """Covariance matrix restricted to its leading eigenvectors.

    Rows are clipped to a ball or a box.

    Theorem. `fit` has the guarantee of `PCA`, because the matrix is a function of what `PCA` releases.

    After fit: covariance_ (d, d), symmetric and positive semidefinite of rank at most k, (1/n)·Σ (x − mean)(x − mean)ᵀ
    without noise; components_ (k, d), orthonormal, and explained_variance_ (k,), with covariance_ = Σ variance·vvᵀ: the
    variance along the released vectors, which is smaller than the eigenvalues, and 0 for those that do not exceed the
    noise; location_ (d,), n_rows_, solver_, reason_, guarantee_, release_.

    Parameters
    ----------
    rank : int
        The number of eigenvectors.
    row_norm, bounds, centre, solver
        These say how rows are clipped and centred, and by which method, in the forms of `PCA`.

    Examples
    --------
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
        """Fit to the rows of X (n, d)."""
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
