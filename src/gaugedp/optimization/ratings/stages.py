"""Private completion of ratings, by stages."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gaugedp._internal.rounding import NORMS
from gaugedp.bodies import LpBall
from gaugedp.entropy import Entropy
from gaugedp.guarantees import ApproxDP, GaussianDP, Guarantee, PureDP
from gaugedp.guarantees.gaussian_curve import gaussian_mu
from gaugedp.mechanisms import AdditiveNoise, Gaussian, Laplace
from gaugedp.optimization.lattice import BITS, SUM_BITS, released
from gaugedp.optimization.ratings.group_means import LEAST_VARIANCE, Groups, gain
from gaugedp.optimization.ratings.item_factors import ITERATIONS, ItemFactors
from gaugedp.optimization.ratings.model import Completed, Ratings, Spread
from gaugedp.optimization.tuning import TUNED

_FIRST, _SPREAD, _REST = TUNED.ratings_shares
_ROOT = 5793 / 4096  # √2 and a little more, with few binary digits


@dataclass(frozen=True)
class Terms:
    """The guarantee, its unit "rating" or "user", and whether units are replaced.

    `max_rows` is the largest weight of a user's ratings, unused if the unit is a rating.
    """

    requested: Guarantee
    unit: str
    replaced: bool
    max_rows: float = 1.0

    @property
    def is_pure(self) -> bool:
        """True if δ = 0."""
        return isinstance(self.requested, PureDP)

    @property
    def mu(self) -> float:
        """The largest μ with μ-GDP within (ε, δ)."""
        assert isinstance(self.requested, ApproxDP)
        return gaussian_mu(self.requested.epsilon_value, self.requested.delta_value) * (1 - 2.0**-40)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of all releases together."""
        return self.requested if self.is_pure else GaussianDP(self.mu)

    @property
    def user_weight(self) -> float | None:
        """Largest weight of a user, None for ratings."""
        return self.max_rows if self.unit == "user" else None

    def totals_factor(self, n_users: int, share: float) -> float:
        """Return the power of two that scales totals so that the mean's noise is small, from public numbers."""
        count = n_users * (1 if self.unit == "user" else 10)  # ratings of a user, to plan totals by
        once = (
            4 * math.sqrt(2) / (self.requested.epsilon(0) * share) if self.is_pure else 2 / (self.mu * math.sqrt(share))
        )
        exponent = math.ceil(math.log2(once / (count * 0.03)))  # the noise of the mean that is wanted
        return 2.0 ** min(max(exponent, -4), 1)

    @property
    def spread_noise(self) -> AdditiveNoise:
        """The noise of `spread_sum`, calibrated to its sensitivity."""
        if self.unit == "user":
            sensitivity = 1.0 + min(1.0, 2 / self.max_rows) * self.replaced
        else:
            sensitivity = 3.0 + 2.0**-20 + self.replaced
        square = sensitivity if self.is_pure else sensitivity**2
        return self.noise(1, square / (2 if self.replaced else 1), _SPREAD)

    def noise(self, size: int, square: float, share: float) -> AdditiveNoise:
        """Return noise for a share of the guarantee.

        A unit's part has squared ℓ₂ norm at most `square` (at δ = 0: ℓ₁ norm), and two units' parts never have a
        negative inner product, so that a replacement changes sums by √2 in ℓ₂.
        """
        grown = square * (1 + NORMS)
        if self.is_pure:
            ball = LpBall(size, 1, grown * (2 if self.replaced else 1))
            return Laplace.calibrate(ball, PureDP(self.requested.epsilon(0) * share * (1 - 2.0**-40)))
        ball = LpBall(size, 2, math.sqrt(grown * (2 if self.replaced else 1)))
        return Gaussian.calibrate(ball, GaussianDP(self.mu * math.sqrt(share) * (1 - 2.0**-40)))


@dataclass(frozen=True, eq=False)
class Start:
    """The first release: noisy sums and weights by item, and totals of values, weights and squares, for m users."""

    groups: Groups
    totals: np.ndarray
    terms: Terms
    n_users: int
    doubt: float  # the variance of the totals' noise

    def with_more(self, second: "Start") -> "Start":
        """Return both releases combined."""
        share = second.groups.variance / (self.groups.variance + second.groups.variance)
        totals = share * self.totals + (1 - share) * second.totals
        groups = self.groups.with_more(second.groups)
        return replace(
            self, groups=groups, totals=totals, doubt=share**2 * self.doubt + (1 - share) ** 2 * second.doubt
        )

    def _ratio(self, place: int, guess: float) -> float:
        weight, doubt = max(float(self.totals[1]), 0.0), 10 * self.doubt
        return (float(self.totals[place]) * weight + guess * doubt) / (weight**2 + doubt)

    @property
    def mean(self) -> float:
        """Mean of ratings, a multiple of 2^−12."""
        return float(_rounded(np.clip(self._ratio(0, 0.0), -1, 1)))

    @property
    def weight(self) -> float:
        """Total weight of users in `spread_sum`, rounded up, at least 1; for ratings their number."""
        user_weight = self.terms.user_weight or 1.0
        return max(float(self.totals[1]) / (user_weight if self.terms.is_pure else math.sqrt(user_weight)), 1.0)

    @property
    def variance(self) -> float:
        """Variance of ratings."""
        return float(np.clip(self._ratio(2, 1 / 3) - self.mean**2, 0.05, 1.0))

    @property
    def density(self) -> float:
        """Mean number of ratings per user."""
        is_rating = self.terms.unit == "rating"
        per_user = max(float(self.totals[1] if is_rating else self.groups.sizes.sum()) / self.n_users, 1e-9)
        if is_rating or self.terms.is_pure:
            return per_user
        return max(per_user, per_user**2 / self.terms.max_rows)  # a user with k > c ratings weighs √(ck)

    @property
    def sizes(self) -> np.ndarray:
        """Number of ratings of each item."""
        sizes = self.groups.sizes
        return sizes * (self.density * self.n_users / max(float(sizes.sum()), 1e-9))

    @property
    def noise_in_means(self) -> float:
        """Variance of a rating's weighted part, per weight."""
        weight = float(self.groups.sizes.sum()) / max(self.density * self.n_users, 1e-9)
        return max(self.variance * min(weight, 1.0), 1e-3)


@dataclass(frozen=True)
class Completion:
    """Matrix completion that spends the guarantee where it helps most.

    1. Noisy sums, weights and totals of ratings by items (40 %) give shrunk item means.
    2. A noisy sum of products of users' residuals (3 %) gives the variance of users' offsets.
    3. The result of 1 decides on the rest: the same sums again; users' means (unit "rating" only); or item factors
       (`ItemFactors`) and, for the unit "rating", users' noisy scores on them.

    `rank` is the number of factors that are tried: by default chosen from 1, 0 for none; `is_forced` always tries them.
    At δ = 0 there are none.

    Theorem. `fit` is (ε, δ)-DP, μ-GDP with Gaussian noise, ε-DP with Laplace noise at δ = 0, for one rating or for all
    ratings of one user, whatever 1 decides. docs/theory/matrix_completion.md
    """

    terms: Terms
    rank: int | None = None
    is_forced: bool = False

    def fit(self, ratings: Ratings, rng: Entropy) -> Completed:
        """Return the model. Charge the budget first."""
        start = self._items(ratings, _FIRST, rng)
        spread = self._spread(ratings, start, rng)
        return replace(self._spend_remaining(ratings, start, rng), spread=spread)

    def _spend_remaining(self, ratings: Ratings, start: Start, rng: Entropy) -> Completed:
        """Spend the remaining guarantee where it reduces the error most."""
        rank = self._tried(start, ratings.shape)
        if rank:
            return self._with_factors(ratings, start, rank, rng)
        share = self._user_share(start, ratings.shape)
        if share < _REST:
            start = start.with_more(self._items(ratings, _REST - share, rng))
        model = replace(_with_items(start, ratings.shape), reason=f"{share:.0%} of the guarantee went to users' means")
        return self._with_users(ratings, model, share, rng) if share else model

    def _items(self, ratings: Ratings, share: float, rng: Entropy) -> Start:
        (n_users, n_items), times = ratings.shape, self.terms.totals_factor(ratings.shape[0], share)
        noise = self.item_noise(ratings.shape, share)
        variance = max(float(noise.variances.max()), LEAST_VARIANCE)
        noisy = released(item_sums(ratings, self.terms, times), noise, rng)
        groups = Groups(noisy[:n_items], noisy[n_items:-3], variance, variance)
        return Start(groups, noisy[-3:] / times, self.terms, n_users, variance / times**2)

    def _spread(self, ratings: Ratings, start: Start, rng: Entropy) -> Spread:
        exact = spread_sum(ratings, _with_items(start, ratings.shape), self.terms.user_weight)
        noise = self.terms.spread_noise
        noisy = float(released(np.array([exact]), noise, rng)[0])
        std = math.sqrt(max(float(noise.variances[0]), LEAST_VARIANCE))
        return Spread(noisy / start.weight, std / start.weight)

    def item_noise(self, shape: tuple[int, int], share: float) -> AdditiveNoise:
        """Return the noise of `item_sums` for a share."""
        terms, power = self.terms, 1 if self.terms.is_pure else 2
        square = (terms.user_weight or 1.0) * (2 + 3 * terms.totals_factor(shape[0], share) ** power)
        return terms.noise(2 * shape[1] + 3, square, share)

    def _tried(self, start: Start, shape: tuple[int, int]) -> int:
        """Return the number of factors expected to exceed the noise with half of the ratings' variance."""
        most_factors = min(TUNED.most_factors, *shape) if self.rank is None else self.rank
        if self.terms.is_pure or most_factors == 0:
            return 0
        mu = self.terms.mu * math.sqrt(self._factor_share)
        signal = start.density * shape[0] * mu / (TUNED.factor_signal * shape[1])
        possible = min(signal**2 / ITERATIONS, 1e6)
        possible = int(possible) if possible >= 1.5 else 0
        if self.rank is not None:
            return self.rank if possible or self.is_forced else 0
        return min(most_factors, max(possible, int(self.is_forced)))

    @property
    def _factor_share(self) -> float:
        return _REST if self.terms.unit == "user" else _REST / 2

    def _with_factors(self, ratings: Ratings, start: Start, rank: int, rng: Entropy) -> Completed:
        model, terms = _with_items(start, ratings.shape), self.terms
        single = ratings.once()
        length = TUNED.user_length * math.sqrt(start.variance * (terms.user_weight or start.density))
        length = length if terms.unit == "user" else max(length, 1.0)
        guarantee = GaussianDP(terms.mu * math.sqrt(self._factor_share) * (1 - 2.0**-40))
        method = ItemFactors.calibrate(ratings.shape, rank, length, terms.unit, (guarantee, terms.replaced))
        factors, ridge = method.solve((single.users, single.items, single.residuals(model)), start.sizes, rng)
        model = replace(
            model, factors=factors, ridge=ridge, reason=f"{factors.shape[1]} of {rank} factors stand out of the noise"
        )
        if terms.unit == "user":
            return replace(model, scores=np.zeros((ratings.shape[0], factors.shape[1])))
        return self._with_users(ratings, model, _REST / 2, rng)

    def _user_share(self, start: Start, shape: tuple[int, int]) -> float:
        if self.terms.unit == "user":
            return 0.0
        spread = start.groups.means(start.mean, start.noise_in_means)[1]
        users, within = np.full(shape[0], start.density), start.variance

        def gained(share: float) -> float:
            items = gain(start.groups.sizes, spread, within, start.groups.variance * _FIRST / (_FIRST + _REST - share))
            if not share:
                return items
            return items + gain(users, within / TUNED.values_per_mean, within, self._user_noise(shape[0], 0, share)[1])

        return max((0.0, 0.1, 0.2, 0.3, 0.4, _REST), key=gained)

    def _user_noise(self, n_users: int, n_factors: int, share: float) -> tuple[AdditiveNoise, float]:
        noise = self.terms.noise(n_users * (2 + n_factors), 2 + _ROOT**2 if n_factors else 2.0, share)
        return noise, max(float(noise.variances.max()), LEAST_VARIANCE)

    def _with_users(self, ratings: Ratings, model: Completed, share: float, rng: Entropy) -> Completed:
        n_users, n_factors = ratings.shape[0], model.factors.shape[1]
        noise, variance = self._user_noise(n_users, n_factors, share)
        exact, longest = user_sums(ratings, model)
        *sums, counts = released(exact, noise, rng).reshape(-1, n_users)
        root, within = _ROOT if n_factors else 1.0, max(model.variance, 1e-3)
        means = [
            Groups(column * scale, counts / root, variance * scale**2, variance / root**2).means(0.0, within)[0]
            for column, scale in zip(sums, [1.0, *[longest] * n_factors], strict=True)
        ]
        return replace(model, users=means[0], scores=np.stack(means[1:], 1) if n_factors else model.scores)


def item_sums(ratings: Ratings, terms: Terms, times: float) -> np.ndarray:
    """Return weighted sums by item, and scaled totals (2n + 3,).

    The sums are of values and of 1, the totals of values, of 1 and of squares. The ℓ₂ norm of a unit's part is at most
    √(c·(2 + 3·times²)), and at δ = 0 its ℓ₁ norm c·(2 + 3·times), c = 1 or, for a user, `max_rows`. No inner product of
    two parts is negative, as no sum of values exceeds that of weights. All terms are multiples of 2^−22 (`times` a
    power of two), so sums are exact in any order.
    """
    power, user_weight, unit = (1 if terms.is_pure else 2), terms.user_weight, 2.0**SUM_BITS
    values = ratings.values * 2.0**-BITS
    weights = ratings.weights(user_weight, power)
    root = (user_weight or 1.0) ** (1 / power - 1)
    light = ratings.weights(user_weight, 1) * root  # 1/k-th of √c: totals of a user's means
    sums = [np.bincount(ratings.items, np.trunc(weights * column * unit), ratings.shape[1]) for column in (values, 1.0)]
    totals = [np.trunc(light * column * unit).sum() * times for column in (values, 1.0, values**2)]
    return np.concatenate([*sums, totals]) / unit


def user_sums(ratings: Ratings, model: Completed) -> tuple[np.ndarray, float]:
    """Return users' sums ((2 + k)·m,), and the longest ‖factors_i‖.

    The sums are of residuals, of residuals times factors over that length, and of 1. Counts are multiplied by κ =
    5793/4096 > √2 if there are factors. A row's part has squared norm at most 2 (2 + κ² with factors), ℓ₁ norm at most
    2 without; no inner product of two rows' parts is negative. All terms are multiples of 2^−24, so sums over 2^28 rows
    are exact.
    """
    longest = max(float(np.linalg.norm(model.factors, axis=1).max(initial=0.0)), 1e-9)
    sides = np.trunc(model.factors / longest * 2.0**BITS) * 2.0**-BITS
    residuals, root = ratings.residuals(model), _ROOT if sides.shape[1] else 1.0
    columns = [residuals, *(residuals * side[ratings.items] for side in sides.T), np.full(len(residuals), root)]
    return np.concatenate([np.bincount(ratings.users, column, ratings.shape[0]) for column in columns]), longest


def spread_sum(ratings: Ratings, model: Completed, user_weight: float | None) -> float:
    """Return a sum whose mean estimates users' offset variance.

    It is Σ w·t, t the mean product of two of a user's k residuals, w = k − 1 or min(1, k/`user_weight`). A row added
    changes (k − 1)·t by at least −3 and at most 1, one that is replaced by at most 4; with `user_weight` c, w·t is in
    [−min(1, 2/c), 1]. Each term is truncated towards 0 to a multiple of 2^−22.
    """
    residuals = ratings.residuals(model)
    columns = np.ones(len(residuals)), residuals, residuals**2
    counts, sums, squares = (np.bincount(ratings.users, column, ratings.shape[0]) for column in columns)
    weights = np.maximum(counts - 1, 0.0) if user_weight is None else np.minimum(1.0, counts / user_weight)
    products = (sums**2 - squares) / np.maximum(counts * (counts - 1), 1.0)
    return float(np.trunc(weights * np.clip(products, -1, 1) * 2.0**SUM_BITS).sum() * 2.0**-SUM_BITS)


def _with_items(start: Start, shape: tuple[int, int]) -> Completed:
    offsets, spread = start.groups.means(start.mean, start.noise_in_means)
    none = np.zeros((shape[1], 0)), np.zeros((shape[0], 0))
    return Completed(start.mean, _rounded(offsets), np.zeros(shape[0]), *none, variance=start.variance - spread)


def _rounded(numbers: Any) -> Any:
    """Round to multiples of 2^−12, as residuals must be."""
    return np.rint(numbers * 2.0**BITS) * 2.0**-BITS
