"""Ratings (user, item, value), and the model released for them."""

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy

from gaugedp.optimization.lattice import BITS

_RATIOS = np.array([0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8])  # of the variance of users' offsets to that of their ratings
_PRIOR = np.array([9, *6 * [1]]) / 15  # their assumed prior probabilities


@dataclass(frozen=True, eq=False)
class Ratings:
    """Rows (user, item, value): indices below `shape`, values in [−1, 1] in integer steps of 2^−12."""

    users: np.ndarray
    items: np.ndarray
    values: np.ndarray
    shape: tuple[int, int]

    def weights(self, user_weight: float | None, power: int) -> np.ndarray:
        """Return each row's weight, 1 without `user_weight`.

        With `user_weight` c, a user's rows stay within c^(1/p) in ℓ_p: items rated c_1, c_2, … times weigh Σ c^p.
        """
        if user_weight is None:
            return np.ones(len(self.users))
        codes, counts = np.unique(self._pairs, return_counts=True)
        sizes = np.bincount(codes // self.shape[1], counts.astype(float) ** power, minlength=self.shape[0])
        shares = np.minimum(1.0, user_weight / np.maximum(sizes, 1.0))
        return (np.sqrt(shares) if power == 2 else shares)[self.users]

    def once(self) -> "Ratings":
        """Return the ratings of pairs that occur once."""
        _, places, counts = np.unique(self._pairs, return_inverse=True, return_counts=True)
        alone = counts[places] == 1
        return Ratings(self.users[alone], self.items[alone], self.values[alone], self.shape)

    def residuals(self, model: "Completed") -> np.ndarray:
        """Return values less the model's public part, clipped to [−1, 1], in multiples of 2^−12."""
        return np.clip(self.values * 2.0**-BITS - model.mean - model.items[self.items], -1, 1)

    @property
    def _pairs(self) -> np.ndarray:
        return self.users.astype(np.int64) * self.shape[1] + self.items


@dataclass(frozen=True)
class Spread:
    """A released variance of users' offsets, with its noise."""

    value: float = 0.0
    std: float = math.inf

    def log_prior(self, within: float) -> np.ndarray:
        """Return the log prior of `_RATIOS` for ratings of variance `within`, up to a constant."""
        return np.log(_PRIOR) - ((_RATIOS * within - self.value) / self.std) ** 2 / 2


@dataclass(frozen=True, eq=False)
class Completed:
    """A released model of ratings scaled to [−1, 1].

    value ≈ mean + items_i + users_u + ⟨scores_u, factors_i⟩. All numbers are releases or functions of them; `reason`
    explains how the guarantee was used.
    """

    mean: float
    items: np.ndarray
    users: np.ndarray
    factors: np.ndarray  # (n, k), mean square 1 over ratings
    scores: np.ndarray  # (m, k)
    variance: float = 1.0  # of ratings around the items' means
    ridge: float = 10.0  # their variance over that of a score: a guess
    spread: Spread = Spread()
    reason: str = ""

    def predict(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        """Return values in [−1, 1] for pairs of indices (k,); an index below 0 has no own part."""
        values = self.mean + np.where(users >= 0, self.users[users], 0) + np.where(items >= 0, self.items[items], 0)
        products = (self.scores[users] * self.factors[items]).sum(axis=1)
        return np.clip(values + np.where((users >= 0) & (items >= 0), products, 0), -1, 1)

    def alone(self, user: int) -> "Completed":
        """Return the model of one user, at index 0; without an own part if `user` is below 0."""
        users = np.array([user])
        scores = np.where(user >= 0, self.scores[users], 0)
        return replace(self, users=np.where(user >= 0, self.users[users], 0), scores=scores)

    def with_own(self, ratings: Ratings) -> "Completed":
        """Return the model with users' own parts from their ratings, each for that user only."""
        theirs = np.isin(np.arange(len(self.users)), ratings.users)
        offsets, scores = self.own(ratings)
        return replace(
            self, users=np.where(theirs, offsets, self.users), scores=np.where(theirs[:, None], scores, self.scores)
        )

    def own(self, ratings: Ratings) -> tuple[np.ndarray, np.ndarray]:
        """Return users' own offsets (m,) and scores (m, k).

        They have no noise and are for each user only: regressions of the user's residuals on 1 and the items' factors.
        The unknown variance of offsets is integrated out over `_RATIOS`, given its release and the user's own ratings.
        """
        sides = np.hstack([np.ones((len(self.items), 1)), self.factors])
        features, n_factors = sides[ratings.items], self.factors.shape[1]
        size, residuals = ratings.shape[0], ratings.residuals(self)
        products = np.stack(
            [np.bincount(ratings.users, column * residuals, minlength=size) for column in features.T], 1
        )
        squares = [
            [np.bincount(ratings.users, a * b, minlength=size) for b in features.T] for a in features.T
        ]  # fmt: skip
        sums = np.moveaxis(np.array(squares), 2, 0), products
        within = max(self.variance, 1e-3) / (1 + n_factors / self.ridge)  # what factors leave of ratings' variance
        ridges = [np.array([1 / ratio, *[self.ridge] * n_factors]) for ratio in np.maximum(_RATIOS, 1e-6)]
        ways, evidence = zip(*(_regression(sums, ridge, within) for ridge in ridges), strict=True)
        shares = scipy.special.softmax(np.stack(evidence, 1) + self.spread.log_prior(within), axis=1)
        estimates = np.einsum("jmk,mj->mk", np.array(ways), shares)
        return estimates[:, 0], estimates[:, 1:]


def _regression(sums: tuple[np.ndarray, np.ndarray], ridge: np.ndarray, within: float) -> tuple[np.ndarray, np.ndarray]:
    """Return ridge regressions (m, k) and their log evidence (m,).

    Coefficients have the prior N(0, within/ridge) and residuals N(0, within); terms that no ridge changes are omitted.
    """
    matrix = sums[0] + np.diag(ridge)
    coefficients = np.linalg.solve(matrix, sums[1][:, :, None])[:, :, 0]
    fit = (sums[1] * coefficients).sum(axis=1) / within
    return coefficients, (fit + np.log(ridge).sum() - np.linalg.slogdet(matrix)[1]) / 2
