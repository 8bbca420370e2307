"""Ratings as rows of (user, item, value), and the model that is released of them."""

from dataclasses import dataclass

import numpy as np

BITS = 12  # of a rating in [−1, 1], and of what is subtracted from it
OWN_RIDGE = 10.0  # variance of a rating over that of a user's mean: a guess


@dataclass(frozen=True, eq=False)
class Ratings:
    """Rows (user, item, value): indices below `shape` = (m, n), and values in [−1, 1] in whole steps of 2^−12."""

    users: np.ndarray
    items: np.ndarray
    values: np.ndarray
    shape: tuple[int, int]

    def weights(self, most: float | None, power: int) -> np.ndarray:
        """Return each row's weight: 1, or with `most` what gives a user's rows at most most^(1/p) in the ℓ_p norm.

        A user whose items are rated c_1, c_2, … times weighs Σ c^p, p = 1 or 2.
        """
        if most is None:
            return np.ones(len(self.users))
        codes, counts = np.unique(self._pairs, return_counts=True)
        sizes = np.bincount(codes // self.shape[1], counts.astype(float) ** power, minlength=self.shape[0])
        shares = np.minimum(1.0, most / np.maximum(sizes, 1.0))
        found: np.ndarray = (np.sqrt(shares) if power == 2 else shares)[self.users]
        return found

    def once(self) -> "Ratings":
        """Return the rows whose user and item have no other row together."""
        _, places, counts = np.unique(self._pairs, return_inverse=True, return_counts=True)
        alone = counts[places] == 1
        return Ratings(self.users[alone], self.items[alone], self.values[alone], self.shape)

    def residuals(self, model: "Completed") -> np.ndarray:
        """Return the values less the public part of the model, clipped to [−1, 1]: whole multiples of 2^−12."""
        found: np.ndarray = np.clip(self.values * 2.0**-BITS - model.mean - model.items[self.items], -1, 1)
        return found

    @property
    def _pairs(self) -> np.ndarray:
        return self.users.astype(np.int64) * self.shape[1] + self.items


@dataclass(frozen=True, eq=False)
class Completed:
    """A released model in units where ratings are in [−1, 1]: value ≈ mean + items_i + users_u + ⟨scores_u, factors_i⟩.

    All numbers are releases or functions of them; `reason` says what was done with the promise, and why.
    """

    mean: float
    items: np.ndarray
    users: np.ndarray
    factors: np.ndarray  # (n, k), mean square 1 over ratings
    scores: np.ndarray  # (m, k)
    variance: float = 1.0  # of ratings around the items' means
    ridge: float = OWN_RIDGE  # their variance over that of a score: a guess
    reason: str = ""

    def own(self, ratings: Ratings) -> tuple[np.ndarray, np.ndarray]:
        """Return offsets (m,) and scores (m, k) of users by their own ratings, without noise: for their eyes only.

        Ridge regression of a user's residuals on 1 and the items' factors: a function of the user's rows and of
        released numbers.
        """
        sides = np.hstack([np.ones((len(self.items), 1)), self.factors])
        left = sides[ratings.items]
        size, residuals = ratings.shape[0], ratings.residuals(self)
        products = np.stack([np.bincount(ratings.users, column * residuals, minlength=size) for column in left.T], 1)
        squares = [
            [np.bincount(ratings.users, one * other, minlength=size) for other in left.T] for one in left.T
        ]  # fmt: skip
        ridge = np.diag([OWN_RIDGE, *[self.ridge] * self.factors.shape[1]])
        found = np.linalg.solve(np.moveaxis(np.array(squares), 2, 0) + ridge, products[:, :, None])[:, :, 0]
        return found[:, 0], found[:, 1:]
