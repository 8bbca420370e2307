"""A private covariance matrix of low rank."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from gaugedp.estimators.spectral import SpectralEstimator


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
