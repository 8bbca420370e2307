"""K-means by private sums in Lloyd's algorithm."""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin

from gaugedp._internal.validate import whole
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.base import after_paying
from gaugedp.estimators.column_sums import GroupSums
from gaugedp.estimators.feature_names import names_of
from gaugedp.estimators.reading import Reading
from gaugedp.estimators.weights import WeightedEstimator
from gaugedp.optimization.trace_designs import cut

_CENTRE_BITS, _MOST_COLUMNS = 18, 2**15  # with rows of 12 bits, distances are exact in floats
_THIN, _FAINT_CLUSTER = (
    0.02,
    2.0,
)  # a cluster is thin below this share of the average, or this many deviations of noise
_WORD = 2.0**-64


@dataclass(eq=False, repr=False)
class KMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, WeightedEstimator):
    """K-means clustering with noisy counts and sums.

    Each round of Lloyd's algorithm counts and sums the rows of each cluster, with noise, and moves the centres.

    n_clusters : the number of clusters, K.
    bounds : (low, high), public, as in `LogisticRegression`. Distances are measured in units of half their width,
        column by column. A missing number counts as the middle of its bounds.
    weight_bound : as in `LogisticRegression`.
    rounds : the number of rounds; each gets the same share of μ², or of ε at δ = 0. `max_iter` is an upper limit.
    init, n_init : accepted as in scikit-learn, and ignored: centres start at random, and each start costs budget.

    Theorem. A row adds 1 and its numbers, in [−1, 1] by the bounds, to its nearest cluster: a vector of norm at most
    √(1 + d). Which cluster that is depends on the row and on earlier releases only. `fit` releases the sums of all
    clusters in each round and is (ε, δ)-DP for one row, ε-DP at δ = 0 (GroupSums). docs/theory/means.md

    Centres start at random in the bounds, far from one another. A centre whose cluster is nearly empty, by its noisy
    count, moves next to the fullest cluster. There are no `labels_` and no `inertia_`: both would reveal rows.

    After fit: cluster_centers_ (K, d), guarantee_, release_.

    Examples
    --------
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
        """Fit to rows X (n, d)."""
        del y
        requested, rows = self._requested(), self._rows(X)
        weights = self._weights(sample_weight, len(rows))
        whole(minimum=1, n_clusters=self.n_clusters, rounds=self.rounds)
        if self.max_iter is not None:
            whole(minimum=1, max_iter=self.max_iter)
        if rows.shape[1] > _MOST_COLUMNS:
            raise InvalidRequest(f"There are more than {_MOST_COLUMNS:,} columns.", "Use fewer columns.")
        reading = Reading.in_box(self.bounds, names_of(X), rows.shape[1], False)
        shape = int(self.n_clusters), 1 + rows.shape[1]
        sums = GroupSums.calibrate(shape, math.sqrt(shape[1]), requested, self.neighbours, self._n_rounds)
        reservation = self._pay(sums.guarantee, requested, rows.shape)
        with after_paying(reservation):
            centres = _lloyd((cut(reading.in_cube(rows)), weights), sums, self._n_rounds, self._generator())
        assert reading.box is not None
        low, high = reading.box
        self._centres, self.cluster_centers_ = centres, (low + high) / 2 + (high - low) / 2 * centres
        self._read_by(reading)
        values = {"cluster_centers": self.cluster_centers_}
        self._publish(values, sums.guarantee, sums.noise.exactness, {"rounds": self._n_rounds}, reservation)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the index (n,) of each row's nearest centre."""
        return _nearest(cut(self._read_as.in_cube(self._like_fitted(X))), self._centres)

    def transform(self, X: Any) -> np.ndarray:
        """Return the distances (n, K) of rows, clipped to the bounds, to the centres, in the units of X."""
        rows = self._read_as(self._like_fitted(X))
        return np.stack([np.linalg.norm(rows - centre, axis=1) for centre in self.cluster_centers_], axis=1)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return minus the (weighted) sum of squared distances to the nearest centres.

        It reads rows X without privacy and charges no ledger: for public rows, or for your own eyes.
        """
        del y
        squares = self.transform(X).min(axis=1) ** 2
        return -float(np.sum(squares if sample_weight is None else squares * np.asarray(sample_weight, dtype=float)))

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Fit, and return `predict` of the same rows, for your own eyes: each label reveals its row."""
        return self.fit(X, y, sample_weight).predict(X)


def _lloyd(data: tuple[np.ndarray, np.ndarray], sums: GroupSums, rounds: int, rng: Entropy) -> np.ndarray:
    """Return centres (K, d), for rows (n, d) in the cube in multiples of 2^−12, and weights (n,)."""
    rows, weights = data
    centres = _start(sums.n_groups, rows.shape[1], rng)
    vectors = np.hstack([np.ones((len(rows), 1)), rows]) * weights[:, None]
    faint = _FAINT_CLUSTER * math.sqrt(float(sums.noise.variances.max()))
    for left in reversed(range(rounds)):
        noisy = sums.release(vectors, _nearest(rows, centres), rng)
        counts, thin = noisy[:, 0], max(faint, _THIN * float(noisy[:, 0].mean()))
        means = np.clip(noisy[:, 1:] / np.maximum(counts, 1.0)[:, None], -1, 1)
        centres = np.where(counts[:, None] > thin, means, centres)
        centres = _on_lattice(_split(centres, counts, thin, rng) if left else centres)
    return centres


def _nearest(rows: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Return the index (n,) of each row's nearest centre.

    It is the first of equally near ones. Rows and centres are on lattices, so that every sum is exact: the index of a
    row depends on no other row.
    """
    nearest: np.ndarray = (rows @ centres.T - (centres**2).sum(axis=1) / 2).argmax(axis=1)
    return nearest


def _start(n_clusters: int, n_columns: int, rng: Entropy) -> np.ndarray:
    """Return random, well separated points in the cube."""
    centres = _uniform((1, n_columns), rng)
    while len(centres) < n_clusters:
        trials = _uniform((64, n_columns), rng)  # points that a start chooses from
        gaps = np.min([((trials - centre) ** 2).sum(axis=1) for centre in centres], axis=0)
        centres = np.vstack([centres, trials[gaps.argmax()]])
    return _on_lattice(centres)


def _split(centres: np.ndarray, counts: np.ndarray, thin: float, rng: Entropy) -> np.ndarray:
    """Return centres with those of thin clusters moved next to the fullest, halfway to its neighbour."""
    means, shares = centres.copy(), counts.copy()
    for place in np.flatnonzero(counts <= thin):
        fullest = int(shares.argmax())
        gaps = np.delete(np.linalg.norm(means - means[fullest], axis=1), fullest)
        direction = _uniform(centres.shape[1:], rng)
        step = gaps.min(initial=1.0) / 2 * direction / max(float(np.linalg.norm(direction)), _WORD)
        means[place] = np.clip(means[fullest] + step, -1, 1)
        shares[fullest] = shares[place] = shares[fullest] / 2
    return means


def _uniform(shape: tuple[int, ...], rng: Entropy) -> np.ndarray:
    return (rng.words(math.prod(shape)) * (2 * _WORD) - 1).reshape(shape)


def _on_lattice(centres: np.ndarray) -> np.ndarray:
    return np.rint(centres * 2.0**_CENTRE_BITS) * 2.0**-_CENTRE_BITS
