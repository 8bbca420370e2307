"""A private covariance matrix of low rank."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from gaugedp._validate import one_of
from gaugedp.estimators.pca import CENTRES
from gaugedp.estimators.spectral import SpectralEstimator


@dataclass(eq=False, repr=False)
class LowRankCovariance(SpectralEstimator):
    """The covariance matrix of rows in a ball or in a box, cut to its leading eigenvectors.

    rank : how many; all columns where None. Under pure DP each costs a share of ε; under (ε, δ) all together cost the
        same as one.
    row_norm, bounds, solver : as in `PCA`.
    centre : "mean" releases the rows' mean too, "public" takes the middle of the bounds, or 0, as `PCA` does.

    Theorem. `fit` is (ε, δ)-DP for one row, ε-DP at δ = 0: the matrix is a function of what `PCA` releases;
    docs/theory/eigenvectors.md. Where rows are added or removed, a tenth of ε goes to their number.

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
        one_of(CENTRES, centre=self.centre)
        spectrum = self._find(X, self.rank, self.centre)
        vectors, held = spectrum.pairs.vectors, spectrum.pairs.held
        self.components_, self.location_ = vectors, spectrum.mean
        self.explained_variance_ = held * (spectrum.scale / spectrum.n_rows)
        roots = vectors * np.sqrt(self.explained_variance_)[:, None]
        self.covariance_ = roots.T @ roots
        values = {"components": vectors, "location": spectrum.mean, "explained_variance": self.explained_variance_}
        self._record(X, spectrum, values)
        return self
