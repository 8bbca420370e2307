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
from gaugedp.optimization.lattice import BITS, SUM_BITS, released
from gaugedp.optimization.row_blocks import slices
from gaugedp.optimization.shrinkage import bounded_mean

(_FIRST_LIMIT, _SECOND_LIMIT), _LABEL = TUNED.score_limits, TUNED.label_weight


def spares_delta(auxiliary_mu: float, guarantee: ApproxDP, n_classes: int) -> bool:
    """Return True if releases of μ = `auxiliary_mu` leave nearly all of δ to objective perturbation."""
    corners = 1 if n_classes == 2 else n_classes**2
    return corners * gaussian_delta(auxiliary_mu, guarantee.epsilon_value) <= TUNED.spared_delta * guarantee.delta_value


@dataclass(frozen=True, eq=False)
class InterceptNoise:
    """Noise for two releases of the scores' sums.

    The intercept is re-estimated from the sum of scores and then from those of (score, label) near its mean, with noise
    of one dimension instead of d: noise along the rows' mean shifts all scores alike. `auxiliary_mu` is the μ of
    Gaussian noise, else 0.

    Theorem. Given the weights and the first release, a row's number and its vector have norm at most 1, so each of the
    sums changes by at most 2 if a row is replaced, 1 if it is added. docs/theory/objective_perturbation.md
    """

    noise: AdditiveNoise | None
    remaining: Guarantee
    auxiliary_mu: float = 0.0
    coarse: AdditiveNoise | None = None

    @classmethod
    def plan(cls, guarantee: Guarantee, replaced: bool, beside: float = 0.0) -> "InterceptNoise":
        """Return the noise, if it takes little of δ next to releases of μ = `beside`, and what remains."""
        moved = (2.0 if replaced else 1.0) * (1 + SCORES)
        coarse, fine = LpBall(1, 2, moved), LpBall(2, 2, moved)
        if isinstance(guarantee, ApproxDP):
            mu = math.sqrt(TUNED.intercept_share) * gaussian_mu(guarantee.epsilon_value, guarantee.delta_value)
            shares = math.sqrt(TUNED.first_score_share) * mu, math.sqrt(1 - TUNED.first_score_share) * mu
            auxiliary_mu = math.hypot(*shares)
            if not spares_delta(math.hypot(auxiliary_mu, beside), guarantee, 2):
                return cls(None, guarantee)
            first, noise = (Gaussian.calibrate(*of) for of in zip((coarse, fine), map(GaussianDP, shares), strict=True))
            return cls(noise, guarantee, auxiliary_mu, first)
        assert isinstance(guarantee, PureDP)
        spent = TUNED.intercept_share * guarantee.epsilon_value
        rest = PureDP((guarantee.epsilon_value - spent) * (1 - 2.0**-50))
        wide = KNorm.calibrate(coarse, PureDP(TUNED.first_score_share * spent))
        return cls(KNorm.calibrate(fine, PureDP((1 - TUNED.first_score_share) * spent)), rest, 0.0, wide)

    def intercept(
        self, rows: np.ndarray, labels: np.ndarray, weights: np.ndarray, known: tuple[float, float], rng: Entropy
    ) -> float:
        """Return b such that sign(⟨kept·weights, x⟩ + b) predicts the class, for rows x of norm at most 1.

        `known` is (number of rows, kept), where kept is the share of the weights that noise does not explain: with less
        of it the classes are nearer to each other, and the more common one is favoured.
        """
        n_rows, kept = known
        assert self.noise is not None
        assert self.coarse is not None
        largest = max(float(np.abs(weights).max()), 1e-300)
        direction = weights / largest  # so that no square is 0 or infinite
        length = float(np.linalg.norm(direction)) / math.sqrt(len(weights))
        spread, direction = length * largest, direction / (_FIRST_LIMIT * length) if length > 0 else direction
        first = released(_sums(rows, np.zeros(len(rows)), direction, wanted=0.0)[:1], self.coarse, rng) / n_rows
        middle = min(1.0, max(-1.0, _shrunk(float(first[0]), float(self.coarse.variances[0]) / n_rows**2)))
        unit = math.hypot(1.0, _LABEL) / n_rows
        noisy = released(_sums(rows, labels, direction, middle), self.noise, rng) * unit
        faint = float(self.noise.variances[0]) * unit**2
        score = _FIRST_LIMIT * middle + _SECOND_LIMIT * _shrunk(float(noisy[0]), faint)
        label = _label(float(noisy[1]) / _LABEL, faint / _LABEL**2, kept)
        second = min(max((1 + label) / 2, 0.02), 1 - 0.02)
        sure = math.sqrt(kept) * spread / TUNED.class_distance + (1 - kept) ** 4
        return float(sure * math.log(second / (1 - second)) - kept * spread * score)


def _label(noisy: float, variance: float, kept: float) -> float:
    """Return the estimated mean of the labels."""
    return kept * _shrunk(noisy, TUNED.label_doubt * variance) + (1 - kept) * bounded_mean(noisy, math.sqrt(variance))


def _shrunk(value: float, faint: float) -> float:
    """Return a number shrunk towards 0 by its noise variance `faint`."""
    return value * max(0.0, 1 - faint / max(value * value, faint, 1e-300))


def _sums(
    rows: np.ndarray, labels: np.ndarray, weights: np.ndarray, middle: float | None = None, wanted: float = _LABEL
) -> np.ndarray:
    """Return Σ (s, a·y)/‖(1, a)‖, exact in any order.

    a is `wanted`, and s the score in [−1, 1], or with a `middle` its distance from it, clipped to [−0.8/1.5, 0.8/1.5]
    and divided by 0.8/1.5. `weights` have norm at most √d/1.5, so that a score is a sum of integers below 2^53.
    """
    bits = 51 - BITS - math.ceil(math.log2(math.sqrt(len(weights)) + 1))
    fine, total = np.rint(weights * 2.0**bits), np.zeros(2)
    zoom = 1.0 if middle is None else _FIRST_LIMIT / _SECOND_LIMIT
    for part in slices(rows):
        scores = np.trunc(rows[part] * 2.0**BITS) @ fine * 2.0 ** -(BITS + bits) - (middle or 0.0)
        pairs = np.column_stack([np.clip(scores * zoom, -1, 1), wanted * labels[part]]) / math.hypot(1.0, wanted)
        total += ball_steps(pairs).sum(axis=0)
    return total * 2.0**-SUM_BITS
