"""Lloyd's algorithm on noisy sums, from many places in the region where the rows are."""

import math
from dataclasses import dataclass

import numpy as np
from sklearn import cluster

from gaugedp.entropy import Entropy
from gaugedp.estimators.column_sums import GroupSums
from gaugedp.estimators.tuning import TUNED
from gaugedp.guarantees import Guarantee

_CENTRE_BITS = 18  # with rows of 12 bits, distances are exact in floats


@dataclass(frozen=True)
class Region:
    """Noisy number, mean and spread of rows in the cube."""

    n_rows: float
    mean: np.ndarray
    spread: float

    @classmethod
    def of(cls, released: np.ndarray, variance: float) -> "Region":
        """Return the region of noisy sums of (1, x, 2·mean(x²) − 1); the mean is shrunk towards 0 by its noise."""
        n_rows = max(float(released[0]), 1.0)
        mean, noise = np.clip(released[1:-1] / n_rows, -1, 1), variance / n_rows**2
        length = float((mean**2).mean())
        square = (released[-1] / n_rows + 1) / 2 - max(length - noise, 0.0)
        shrunk = mean * max(0.0, 1 - noise / max(length, 2.0**-64))
        return cls(n_rows, shrunk, math.sqrt(min(max(square, 0.01**2), 1 / 3)))

    def draw(self, n_places: int, rng: Entropy) -> np.ndarray:
        """Return random places (n, d) in the region."""
        offsets = math.sqrt(3) * self.spread * uniform((n_places, len(self.mean)), rng)
        return np.clip(self.mean + offsets, -1, 1)

    def start(self, n_clusters: int, per_cluster: int, rng: Entropy) -> np.ndarray:
        """Return places: as many as clusters far from one another, the others at random."""
        places = self.draw(1, rng)
        while len(places) < n_clusters:
            trials = self.draw(64, rng)  # that a start chooses from
            gaps = np.min([((trials - place) ** 2).sum(axis=1) for place in places], axis=0)
            places = np.vstack([places, trials[gaps.argmax()]])
        return on_lattice(np.vstack([places, self.draw(n_clusters * (per_cluster - 1), rng)]))


@dataclass(frozen=True)
class Lloyd:
    """Rounds of noisy sums for `n_clusters` centres.

    The region of the rows is released first, for a tenth of the guarantee. The rest is for as many rounds, at most
    `rounds`, as its noise permits; the last round has two fifths of it. If noise is small, the first half of the
    rounds has up to eight places per cluster, whose noisy means and numbers are then clustered without rows.
    """

    n_clusters: int
    rounds: int
    requested: Guarantee
    neighbours: str

    def sums(self, shape: tuple[int, int], share: float) -> GroupSums:
        """Return the sums for a share of the guarantee."""
        return GroupSums.calibrate(shape, self.requested, self.neighbours, share)

    def run(self, rows: np.ndarray, weights: np.ndarray, rng: Entropy) -> tuple[np.ndarray, int]:
        """Return centres (K, d), and the number of rounds, for rows (n, d) in the cube in multiples of 2^−12."""
        region = self._region(rows, weights, rng)
        rounds, per_cluster = self._plan(rows.shape[1], region)
        vectors = np.hstack([np.ones((len(rows), 1)), rows]) * weights[:, None]
        centres = region.start(self.n_clusters, per_cluster, rng)
        many = rounds // 2 if per_cluster > 1 else 0
        for turn, share in enumerate(_shares(rounds), start=1):
            sums = self.sums((len(centres), vectors.shape[1]), share * (1 - TUNED.region_share))
            found = Clusters.of(sums.release(vectors, nearest(rows, centres), rng), centres, sums.deviation)
            if turn == rounds:
                centres = found.shrunk()
            else:
                centres = found.merged(self.n_clusters, region, rng) if turn == many else found.split(rng)
            centres = on_lattice(centres)
        return centres, rounds

    def _region(self, rows: np.ndarray, weights: np.ndarray, rng: Entropy) -> Region:
        sums = self.sums((1, rows.shape[1] + 2), TUNED.region_share)
        squares = 2 * np.einsum("ij,ij->i", rows, rows) / rows.shape[1] - 1
        vectors = np.column_stack([np.ones(len(rows)), rows, squares]) * weights[:, None]
        return Region.of(sums.release(vectors, np.zeros(len(rows), int), rng)[0], sums.deviation**2)

    def _plan(self, n_columns: int, region: Region) -> tuple[int, int]:
        shape = self.n_clusters, 1 + n_columns
        noise = [
            self.sums(shape, (1 - TUNED.region_share) / n).deviation * self.n_clusters / region.n_rows / region.spread
            for n in range(1, self.rounds + 1)
        ]
        rounds = max([n for n in range(1, self.rounds + 1) if noise[n - 1] <= TUNED.round_noise], default=1)
        places = int(TUNED.places_noise / noise[rounds - 1]) if rounds > 1 else 1
        return rounds, min(max(places, 1), 8)


@dataclass(frozen=True)
class Clusters:
    """Noisy numbers and means of clusters; a thin cluster keeps its earlier place."""

    counts: np.ndarray
    means: np.ndarray
    is_thin: np.ndarray
    middle: np.ndarray
    deviation: float

    @classmethod
    def of(cls, noisy: np.ndarray, places: np.ndarray, deviation: float) -> "Clusters":
        """Return the clusters of noisy sums (K, 1 + d) at the `places`."""
        counts, total = noisy[:, 0], noisy.sum(axis=0)
        is_thin = counts <= max(TUNED.thin_deviations * deviation, TUNED.thin_share * float(counts.mean()))
        means = np.clip(noisy[:, 1:] / np.maximum(counts, 1.0)[:, None], -1, 1)
        middle = np.clip(total[1:] / max(total[0], 1.0), -1, 1)
        return cls(counts, np.where(is_thin[:, None], places, means), is_thin, middle, deviation)

    def shrunk(self) -> np.ndarray:
        """Return the means, moved towards the mean of all by the share of noise (James and Stein 1961)."""
        gaps = self.means - self.middle
        noise = gaps.shape[1] * (self.deviation / np.maximum(self.counts, 1.0)) ** 2
        kept = np.clip(1 - noise / np.maximum((gaps**2).sum(axis=1), 2.0**-64), 0, 1)
        return self.middle + np.where(self.is_thin, 0.0, kept)[:, None] * gaps

    def split(self, rng: Entropy) -> np.ndarray:
        """Return the means with those of thin clusters moved next to the fullest, halfway to its neighbour."""
        means, shares = self.means.copy(), self.counts.copy()
        for place in np.flatnonzero(self.is_thin):
            fullest = int(shares.argmax())
            gaps = np.delete(np.linalg.norm(means - means[fullest], axis=1), fullest)
            direction = uniform(means.shape[1:], rng)
            step = gaps.min(initial=1.0) / 2 * direction / max(float(np.linalg.norm(direction)), 2.0**-64)
            means[place] = np.clip(means[fullest] + step, -1, 1)
            shares[fullest] = shares[place] = shares[fullest] / 2
        return means

    def merged(self, n_clusters: int, region: Region, rng: Entropy) -> np.ndarray:
        """Return centres of the means, weighted by their numbers: post-processing, from ten starts."""
        means, counts = self.means[~self.is_thin], self.counts[~self.is_thin]
        if len(np.unique(means, axis=0)) <= n_clusters:
            return np.vstack([means, region.draw(n_clusters, rng)])[:n_clusters]
        start = int(rng.words(1)[0] * 2.0**-64 * 2**32)
        model = cluster.KMeans(n_clusters, n_init=10, random_state=start).fit(means, sample_weight=counts)
        return np.asarray(model.cluster_centers_)


def _shares(rounds: int) -> list[float]:
    last = TUNED.last_round_share
    return [*[(1 - last) / (rounds - 1)] * (rounds - 1), last] if rounds > 1 else [1.0]


def nearest(rows: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Return the index (n,) of each row's nearest centre.

    It is the first of equally near ones. Rows and centres are on lattices, so that every sum is exact: the index of a
    row depends on no other row.
    """
    places: np.ndarray = (rows @ centres.T - (centres**2).sum(axis=1) / 2).argmax(axis=1)
    return places


def uniform(shape: tuple[int, ...], rng: Entropy) -> np.ndarray:
    """Return uniform numbers in [−1, 1)."""
    return (rng.words(math.prod(shape)) * 2.0**-63 - 1).reshape(shape)


def on_lattice(centres: np.ndarray) -> np.ndarray:
    """Return centres in multiples of 2^−18."""
    return np.rint(centres * 2.0**_CENTRE_BITS) * 2.0**-_CENTRE_BITS
