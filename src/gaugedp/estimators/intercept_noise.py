"""The intercept of two classes, re-estimated under large noise."""

import math
from dataclasses import dataclass

import numpy as np

from gaugedp._internal.rounding import SCORES
from gaugedp.bodies import LpBall
from gaugedp.entropy import Entropy
from gaugedp.estimators.rows import ball_steps
from gaugedp.estimators.tuning import TUNED
from gaugedp.guarantees import ApproxDP, GaussianDP, Guarantee, PureDP
from gaugedp.guarantees.gaussian_curve import gaussian_delta, gaussian_mu
from gaugedp.mechanisms import Gaussian, KNorm
from gaugedp.mechanisms.base import AdditiveNoise
from gaugedp.mechanisms.pure_within import pure_within
from gaugedp.optimization.lattice import BITS, SUM_BITS, ball_noise, released
from gaugedp.optimization.row_blocks import slices
from gaugedp.optimization.shrinkage import bounded_mean

_FIRST_LIMIT, _SECOND_LIMIT = TUNED.score_limits
_LEAST = 0.02  # share of a class


def spares_delta(auxiliary_mu: float, guarantee: ApproxDP, n_classes: int) -> bool:
    """Return True if releases of μ = `auxiliary_mu` leave nearly all of δ to objective perturbation."""
    corners = 1 if n_classes == 2 else n_classes**2
    return corners * gaussian_delta(auxiliary_mu, guarantee.epsilon_value) <= TUNED.spared_delta * guarantee.delta_value


@dataclass(frozen=True, eq=False)
class InterceptNoise:
    """Noise for the sums of labels ±1, of scores, and of scores near their mean; none where there are no `noises`.

    The intercept is re-estimated from them, with noise of one dimension instead of d: noise along the rows' mean shifts
    all scores alike. Where noise hides the slopes, only the labels are summed. If it `is_first`, only the labels are
    summed, before the weights. `auxiliary_mu` is the μ of Gaussian noise, else 0.

    Theorem. Given the weights and earlier releases, a row adds a number in [−1, 1] to each sum, so each changes by at
    most 2 if a row is replaced, 1 if it is added. docs/theory/objective_perturbation.md
    """

    noises: tuple[AdditiveNoise, ...]
    remaining: Guarantee
    auxiliary_mu: float = 0.0
    is_first: bool = False

    @classmethod
    def plan(
        cls, guarantee: Guarantee, n_rows: float, replaced: bool, beside: float = 0.0, takes_delta: bool = False
    ) -> "InterceptNoise":
        """Return the noise and what remains; the share of the labels grows with the noise of their mean.

        Next to releases of μ = `beside` it takes little of δ, or there is none, unless it `takes_delta`.
        """
        ball, (least, most) = _ball(replaced), TUNED.label_shares
        fine = ball.radius(2) / (n_rows * TUNED.label_noise)
        if isinstance(guarantee, ApproxDP):
            mu = gaussian_mu(guarantee.epsilon_value, guarantee.delta_value)
            shares = _shares(min((fine / mu) ** 2, most if takes_delta else least))
            mus = [math.sqrt(share) * mu for share in shares]
            auxiliary_mu = math.hypot(*mus)
            if not takes_delta and not spares_delta(math.hypot(auxiliary_mu, beside), guarantee, 2):
                return cls((), guarantee)
            return cls(tuple(Gaussian.calibrate(ball, GaussianDP(each)) for each in mus), guarantee, auxiliary_mu)
        assert isinstance(guarantee, PureDP)
        shares = _shares(min(math.sqrt(2) * fine / guarantee.epsilon_value, most))
        epsilons = [share * guarantee.epsilon_value for share in shares]
        rest = PureDP((guarantee.epsilon_value - sum(epsilons)) * (1 - 2.0**-50))
        return cls(tuple(KNorm.calibrate(ball, PureDP(each)) for each in epsilons), rest)

    @classmethod
    def first(cls, guarantee: Guarantee, n_rows: float, replaced: bool, beside: float) -> "InterceptNoise":
        """Return the noise of labels before the weights, next to releases of μ = `beside`."""
        ball = _ball(replaced)
        fine = ball.radius(2) / (n_rows * TUNED.first_label_noise)
        if isinstance(guarantee, ApproxDP):
            most = gaussian_mu(guarantee.epsilon_value, guarantee.delta_value)
            auxiliary_mu = min(fine, math.sqrt(TUNED.first_label_share) * most)
            if not spares_delta(math.hypot(auxiliary_mu, beside), guarantee, 2):
                return cls((), guarantee)
            return cls((Gaussian.calibrate(ball, GaussianDP(auxiliary_mu)),), guarantee, auxiliary_mu, True)
        assert isinstance(guarantee, PureDP)
        spent = min(math.sqrt(2) * fine, TUNED.first_label_share * guarantee.epsilon_value)
        rest = PureDP((guarantee.epsilon_value - spent) * (1 - 2.0**-50))
        return cls((KNorm.calibrate(ball, PureDP(spent)),), rest, is_first=True)

    @classmethod
    def of_labels(cls, guarantee: Guarantee, replaced: bool) -> "InterceptNoise":
        """Return the noise of labels alone: Gaussian for GDP, Laplace for other guarantees."""
        if not isinstance(guarantee, GaussianDP):
            guarantee = pure_within(guarantee)
        return cls((ball_noise(_ball(replaced), guarantee),), guarantee)

    def log_odds(self, labels: np.ndarray, n_rows: float, rng: Entropy, least: float = _LEAST) -> float:
        """Return the logarithm of the odds of label 1, for shares of at least `least`."""
        noisy, faint = self._mean(0, float(labels.sum()), n_rows, rng)
        return _log_odds(bounded_mean(noisy, math.sqrt(faint)), least)

    def intercept(
        self,
        rows: np.ndarray,
        labels: np.ndarray,
        weights: np.ndarray,
        known: tuple[float, float, float],
        rng: Entropy,
    ) -> tuple[float, float]:
        """Return (kept, b) such that sign(⟨kept·weights, x⟩ + b) predicts the class, for rows x of norm at most 1.

        `known` is (number of rows, kept, length), where kept is the share of the weights that noise does not explain:
        with less of it the classes are nearer to each other, and the more common one is favoured. If the weights are a
        single step of this length (else 0) from 0, they point to the mean of the rows times that of the labels, too,
        which tells no classes apart and is not kept.
        """
        n_rows, kept, step = known
        largest = max(float(np.abs(weights).max()), 1e-300)
        direction = weights / largest  # so that no square is 0 or infinite
        length = float(np.linalg.norm(direction)) / math.sqrt(len(weights))
        spread, direction = length * largest, direction / (_FIRST_LIMIT * length) if length > 0 else direction
        noisy, faint = self._mean(0, float(labels.sum()), n_rows, rng)
        middle = min(1.0, max(-1.0, _shrunk(*self._mean(1, _sum(rows, direction), n_rows, rng))))
        near = _shrunk(*self._mean(2, _sum(rows, direction, middle), n_rows, rng))
        score = _FIRST_LIMIT * middle + _SECOND_LIMIT * near
        of_mean = step / 2 * _label(noisy, faint, kept) * score / max(spread * len(weights), 1e-300)
        kept = max(min(kept, kept - of_mean), TUNED.least_kept)
        sure = spread / TUNED.class_distance + (1 - kept) ** 4
        return kept, sure * _log_odds(_label(noisy, faint, kept)) - kept * spread * score

    def _mean(self, which: int, total: float, n_rows: float, rng: Entropy) -> tuple[float, float]:
        """Return a noisy mean and the variance of its noise."""
        noise = self.noises[which]
        return float(released(np.array([total]), noise, rng)[0]) / n_rows, float(noise.variances[0]) / n_rows**2


def _ball(replaced: bool) -> LpBall:
    return LpBall(1, 2, (2.0 if replaced else 1.0) * (1 + SCORES))


def _shares(label: float) -> list[float]:
    """Return the shares of the three releases, of labels at least the least."""
    label = max(label, TUNED.label_shares[0])
    return [label, *((1 - label) * share for share in TUNED.score_shares)]


def _log_odds(mean: float, least: float = _LEAST) -> float:
    """Return the log-odds of label 1 by the mean of labels ±1, within limits."""
    second = min(max((1 + mean) / 2, least), 1 - least)
    return math.log(second / (1 - second))


def _label(noisy: float, variance: float, kept: float) -> float:
    """Return the estimated mean of the labels."""
    return kept * _shrunk(noisy, TUNED.label_doubt * variance) + (1 - kept) * bounded_mean(noisy, math.sqrt(variance))


def _shrunk(value: float, faint: float) -> float:
    """Return a number shrunk towards 0 by its noise variance `faint`."""
    return value * max(0.0, 1 - faint / max(value * value, faint, 1e-300))


def _sum(rows: np.ndarray, weights: np.ndarray, middle: float | None = None) -> float:
    """Return the sum of the scores in [−1, 1], exact in any order.

    With a `middle`, of their distances from it, clipped to [−0.8/1.5, 0.8/1.5] and divided by 0.8/1.5. `weights` have
    norm at most √d/1.5, so that a score is a sum of integers below 2^53.
    """
    bits = 51 - BITS - math.ceil(math.log2(math.sqrt(len(weights)) + 1))
    fine, total = np.rint(weights * 2.0**bits), 0.0
    zoom = 1.0 if middle is None else _FIRST_LIMIT / _SECOND_LIMIT
    for part in slices(rows):
        scores = np.trunc(rows[part] * 2.0**BITS) @ fine * 2.0 ** -(BITS + bits) - (middle or 0.0)
        total += float(ball_steps(np.clip(scores * zoom, -1, 1)[:, None]).sum())
    return total * 2.0**-SUM_BITS
