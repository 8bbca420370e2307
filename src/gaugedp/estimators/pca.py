"""Private principal components, and the top eigenvector of second moments."""

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
    """Principal components of rows in a ball or in a box.

    n_components : how many; all columns where None. Under ε-DP each costs a share; under (ε, δ) all cost as one.
    row_norm : rows are pulled back to the ℓ₂ ball of this radius. Or
    bounds : as in `LogisticRegression`.
    centre : "mean" releases the rows' mean and how far they are from it, for a tenth of the guarantee or less (up
        to 0.4 of a pure one), and pulls rows back to a ball around it that is narrow where noise is loud; where the
        mean would be too noisy, and for "public", the centre is the middle of the bounds, or 0.
    solver : "gaussian" (noise on the second moments) and "oja" (on products with directions, for very many columns)
        need δ > 0; "exponential" draws directions from the sphere, ε-DP; "auto" by the numbers of columns and rows, ε
        and δ.

    Theorem. `fit` is (ε, δ)-DP for one row, ε-DP at δ = 0; docs/theory/eigenvectors.md. Where rows are added or
    removed, a tenth of ε goes to their number.

    After fit: components_ (k, d), orthonormal; explained_variance_ (k,), less what the noise adds to it ("gaussian",
    "oja"), or the variance along the released component with noise: of rows pulled back to a ball around the mean of
    radius release_.facts["radius"], so too small where rows have long tails; explained_variance_ratio_ (k,), its share
    of all variance, which only "gaussian" knows, else None; mean_ (d,), n_rows_, solver_, reason_, guarantee_,
    release_.
    """

    n_components: int | None = None
    epsilon: float = 1.0
    delta: float = 0.0
    _: KW_ONLY
    centre: str = "mean"

    def fit(self, X: Any, y: Any = None) -> "PCA":
        """Fit to the rows of X (n, d)."""
        del y
        spectrum = self._find(X, self.n_components, self.centre)
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
        """Return (x − mean_)·components_ᵀ, shape (n, k)."""
        return (self._like_fitted(X) - self.mean_) @ self.components_.T

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return rows (n, d) from their coordinates (n, k)."""
        check_is_fitted(self, "components_")
        coords = read_table(X)
        if coords.shape[1] != self.n_components_:
            raise InvalidRequest(f"X has {coords.shape[1]} columns.", f"Give {self.n_components_}.", "")
        return coords @ self.components_ + self.mean_

    @property
    def _n_features_out(self) -> int:
        return self.n_components_


@dataclass(eq=False, repr=False)
class TopEigenvector(SpectralEstimator):
    """The unit vector v with the largest mean of ⟨x, v⟩² over rows x in a ball or in a box; nothing is centred.

    row_norm, bounds, solver : as in `PCA`.

    Theorem. That of `PCA`.

    After fit: component_ (d,), its sign means nothing; eigenvalue_, the largest of (1/n)·Σ xxᵀ less what noise adds to
    it, or the mean of ⟨x, v⟩² with noise ("exponential"); n_rows_, solver_, reason_, guarantee_, release_.
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
    """The covariance matrix of rows in a ball or in a box, cut to its leading eigenvectors.

    rank : how many, as n_components of `PCA`. row_norm, bounds, centre, solver : as in `PCA`.

    Theorem. That of `PCA`: the matrix is a function of what `PCA` releases.

    After fit: covariance_ (d, d), symmetric and positive semidefinite of rank at most k, (1/n)·Σ (x − mean)(x − mean)ᵀ
    without noise; components_ (k, d), orthonormal, and explained_variance_ (k,), with which it is Σ variance·vvᵀ: the
    variance along the released vectors, which is less than the eigenvalues, and 0 where nothing stands out of the
    noise; location_ (d,), n_rows_, solver_, reason_, guarantee_, release_.
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
