"""The intercept of two classes, re-estimated from the rows' scores where noise is loud."""

import math
from dataclasses import dataclass

import numpy as np

from gaugedp.bodies import LpBall
from gaugedp.entropy import Entropy
from gaugedp.estimators.rows import SUM_BITS, ball_steps
from gaugedp.guarantees import ApproxDP, GaussianDP, Guarantee, PureDP
from gaugedp.guarantees.gaussian_curve import gaussian_delta, gaussian_mu
from gaugedp.mechanisms import Gaussian, KNorm
from gaugedp.mechanisms.base import AdditiveNoise
from gaugedp.optimization.row_blocks import slices

_SHARE = 0.2  # of μ², of ε for a pure guarantee
_REACH = 1.5  # scores are clipped at so many times what weights without direction give a row
_LABEL = 0.7  # the weight of a label beside a score
_MOST_OF_DELTA = 0.02  # what a level or a centre may take of δ: objective perturbation pays it several times
_DOUBT = 2.0  # times the variance of its noise that the square of the label's mean loses
_APART = 2.0  # how many spreads classes are taken to lie apart: the closer, the more goes to the commoner one
_FEWEST = 0.02  # no class is taken to be rarer
_ROW_BITS, _SCORE_BITS = 12, 51  # scores are sums of whole numbers below 2^53
_ROUNDING = 1 + 2.0**-20  # of vectors of norm 1 in floats


def spares_delta(mu_side: float, guarantee: ApproxDP, n_classes: int) -> bool:
    """Return whether releases of μ = `mu_side` leave nearly all of δ to objective perturbation beside them."""
    corners = 1 if n_classes == 2 else n_classes**2
    return corners * gaussian_delta(mu_side, guarantee.epsilon_value) <= _MOST_OF_DELTA * guarantee.delta_value


@dataclass(frozen=True, eq=False)
class InterceptNoise:
    """Noise for the sums of (score, label) over the rows, or None, and what is left of the guarantee.

    Re-estimates the intercept from the sums of score and label over the rows, with noise of one dimension instead of d:
    loud noise along the rows' mean moves all scores alike. `mu_side` is the μ of Gaussian noise, else 0.

    Theorem. Given the weights, a row's vector has norm at most 1, so the sums move by at most 2 where it is replaced, 1
    where it is added. docs/theory/objective_perturbation.md
    """

    noise: AdditiveNoise | None
    remaining: Guarantee
    mu_side: float = 0.0

    @classmethod
    def plan(cls, guarantee: Guarantee, replaced: bool, beside: float = 0.0) -> "InterceptNoise":
        """Return the noise and what remains; no noise where it would take much of δ, with releases of μ = `beside`."""
        ball = LpBall(2, 2, (2.0 if replaced else 1.0) * _ROUNDING)
        if isinstance(guarantee, ApproxDP):
            mu_side = math.sqrt(_SHARE) * gaussian_mu(guarantee.epsilon_value, guarantee.delta_value)
            if not spares_delta(math.hypot(mu_side, beside), guarantee, 2):
                return cls(None, guarantee)
            return cls(Gaussian.calibrate(ball, GaussianDP(mu_side)), guarantee, mu_side)
        assert isinstance(guarantee, PureDP)
        spent = _SHARE * guarantee.epsilon_value
        return cls(KNorm.calibrate(ball, PureDP(spent)), PureDP((guarantee.epsilon_value - spent) * (1 - 2.0**-50)))

    def intercept(
        self, rows: np.ndarray, labels: np.ndarray, weights: np.ndarray, n_rows: float, rng: Entropy
    ) -> float:
        """Return b such that the sign of ⟨weights, x⟩ + b predicts the class of a row x of norm at most 1."""
        assert self.noise is not None
        largest = max(float(np.abs(weights).max()), 1e-300)
        direction = weights / largest  # so that no square is 0 or infinite
        length = float(np.linalg.norm(direction)) / math.sqrt(len(weights))
        step, spread = float(self.noise.lattice_step), length * largest
        sums = _sums(rows, labels, direction / (_REACH * length) if length > 0 else direction)
        noisy = self.noise.prepare(rng)(np.rint(sums / step).astype(np.int64)) * (step / n_rows)
        score, label = noisy * math.hypot(1.0, _LABEL) * np.array([_REACH * spread, 1 / _LABEL])
        faint = float(self.noise.variances[1]) * (math.hypot(1.0, _LABEL) / (_LABEL * n_rows)) ** 2
        second = (1 + label * max(0.0, 1 - _DOUBT * faint / max(label * label, faint, 1e-300))) / 2
        second = min(max(second, _FEWEST), 1 - _FEWEST)
        return float(spread / _APART * math.log(second / (1 - second)) - score)


def _sums(rows: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return Σ (s, 0.7·y)/‖(1, 0.7)‖, s the score in [−1, 1], exact: the same in any order of the rows.

    `weights` have norm at most √d/1.5, so that a score is a sum of whole numbers below 2^53.
    """
    bits = _SCORE_BITS - _ROW_BITS - math.ceil(math.log2(math.sqrt(len(weights)) + 1))
    fine, total = np.rint(weights * 2.0**bits), np.zeros(2)
    for part in slices(rows):
        scores = np.clip(np.trunc(rows[part] * 2.0**_ROW_BITS) @ fine * 2.0 ** -(_ROW_BITS + bits), -1, 1)
        pairs = np.column_stack([scores, _LABEL * labels[part]]) / math.hypot(1.0, _LABEL)
        total += ball_steps(pairs).sum(axis=0)
    return total * 2.0**-SUM_BITS
