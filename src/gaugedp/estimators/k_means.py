"""K-means by private sums in Lloyd's algorithm."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin

from gaugedp._internal.validate import whole
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.base import after_paying
from gaugedp.estimators.column_sums import least_noise
from gaugedp.estimators.feature_names import names_of
from gaugedp.estimators.lloyd import Lloyd, nearest
from gaugedp.estimators.reading import Reading
from gaugedp.estimators.tuning import TUNED
from gaugedp.estimators.weights import WeightedEstimator
from gaugedp.optimization.trace_designs import cut

_EXACT_COLUMNS = 2**15  # whose distances are exact in floats


@dataclass(eq=False, repr=False)
class KMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, WeightedEstimator):
    """K-means clustering with noisy counts and sums.

    Use it to find groups of similar rows, or typical rows, without revealing which rows are in a group. In each round
    of Lloyd's algorithm, every centre moves to the mean of the rows nearest to it, computed from a noisy count and a
    noisy sum. There are no attributes `labels_` and `inertia_`, because both would reveal rows.

    Parameters
    ----------
    n_clusters : int
        The number K of clusters. Default 8.
    bounds : (low, high)
        The public interval of each column, as in `LogisticRegression`. Distances are measured in units of half the
        width of the interval, column by column. A missing number counts as the middle of the interval.
    weight_bound : float
        Public bound on `sample_weight`. A larger weight counts as the bound. Default 1.
    rounds : int
        The largest number of rounds, default 6. The actual number follows from the noise relative to the spread of the
        rows, both of which are released. `max_iter` is an upper limit, too.
    init, n_init
        Ignored, because centres start at random and each further start would cost budget.
    epsilon, delta, neighbours, random_state, ledger
        The privacy budget for one row, and its options, as in `LogisticRegression`.

    Notes
    -----
    Theorem (docs/theory/means.md). A row adds 1 and its numbers, which are in [−1, 1] because of the bounds, to its
    nearest cluster. Which cluster that is depends on the row and on earlier releases only. `fit` releases the mean and
    spread of all rows, then the sums of all clusters in each round. It is (ε, δ)-DP for one row, and ε-DP at δ = 0 (see
    `GroupSums`).

    Centres start at up to eight random places per cluster around the noisy mean, and are merged after half of the
    rounds. A centre whose cluster is nearly empty, by its noisy count, moves next to the fullest cluster. At the end
    all centres move towards the mean of all rows by the share of noise. After `fit`, the model has the attributes
    cluster_centers_ of shape (K, d), guarantee_ and release_.

    Examples
    --------
    Half of the rows are at (1, 1) and half at (9, 9). The fit returns two centres with two coordinates each:

    >>> import numpy as np
    >>> from gaugedp.estimators import KMeans
    >>> X = np.array([[1.0, 1.0], [9.0, 9.0]] * 500)
    >>> model = KMeans(n_clusters=2, epsilon=1.0, delta=1e-6, bounds=(0, 10)).fit(X)
    >>> model.cluster_centers_.shape
    (2, 2)
    """

    n_clusters: int = 8
    epsilon: float = 1.0
    delta: float = 0.0
    _: KW_ONLY
    bounds: Any = None
    rounds: int = 6
    init: Any = None
    n_init: Any = None

    @property
    def _n_rounds(self) -> int:
        return int(self.rounds) if self.max_iter is None else min(int(self.rounds), int(self.max_iter))

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "KMeans":
        """Find cluster centres for rows X of shape (n, d).

        The model's ledger, if any, is charged before any row is read.
        """
        del y
        requested, rows = self._requested(), self._rows(X)
        weights = self._weights(sample_weight, len(rows))
        whole(minimum=1, n_clusters=self.n_clusters, rounds=self.rounds)
        if self.max_iter is not None:
            whole(minimum=1, max_iter=self.max_iter)
        if rows.shape[1] > _EXACT_COLUMNS:
            raise InvalidRequest(
                f"X has more than {_EXACT_COLUMNS:,} columns, the most that are supported.", "Use fewer columns."
            )
        reading = Reading.in_box(self.bounds, names_of(X), rows.shape[1], False)
        kind = least_noise((1, 1 + rows.shape[1]), requested, self.neighbours, TUNED.last_round_share)
        plan = Lloyd(int(self.n_clusters), self._n_rounds, kind, self.neighbours)
        sums = plan.sums((1, 1 + rows.shape[1]), 1.0)
        reservation = self._pay(sums.guarantee, requested, rows.shape)
        with after_paying(reservation):
            centres, rounds = plan.run(cut(reading.in_cube(rows)), weights, self._generator())
        assert reading.box is not None
        low, high = reading.box
        self._centres, self.cluster_centers_ = centres, (low + high) / 2 + (high - low) / 2 * centres
        self._read_by(reading)
        values = {"cluster_centers": self.cluster_centers_}
        self._publish(values, sums.guarantee, sums.noise.exactness, {"rounds": rounds}, reservation)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the index of each row's nearest centre, shape (n,)."""
        return nearest(cut(self._read_as.in_cube(self._like_fitted(X))), self._centres)

    def transform(self, X: Any) -> np.ndarray:
        """Return the distances (n, K) to the centres, in units of X."""
        rows = self._read_as(self._like_fitted(X))
        return np.stack([np.linalg.norm(rows - centre, axis=1) for centre in self.cluster_centers_], axis=1)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return minus the sum of squared distances to centres.

        The distance of a row is that to its nearest centre. The method reads rows X without privacy and charges no
        ledger, so use it only on public rows, or if only you will see the result.
        """
        del y
        squares = self.transform(X).min(axis=1) ** 2
        return -float(np.sum(squares if sample_weight is None else squares * np.asarray(sample_weight, dtype=float)))

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Fit and predict the same rows; labels are not private."""
        return self.fit(X, y, sample_weight).predict(X)
