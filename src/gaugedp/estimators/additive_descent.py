"""Least squares by clipped descent around a noisy mean, with a noisy calibration of its predictions."""

import math
from dataclasses import dataclass

import numpy as np

from gaugedp.entropy import Entropy
from gaugedp.estimators.column_sums import GroupSums
from gaugedp.estimators.rows import products
from gaugedp.guarantees import GaussianDP, Guarantee
from gaugedp.optimization.gradient import NoisyDescent, Scale
from gaugedp.optimization.lattice import shared
from gaugedp.optimization.losses import Huber

_TOTALS_SHARE, _CALIBRATION_SHARE = 0.1, 0.1  # of the guarantee, for (n, Σt), and for sums of the predictions
_NARROW, _WIDE = 0.1, 2.0  # of residuals that count fully, over half the target's range; 2 is every residual
_FAINT, _POWER = 0.004, 1.66  # noise over the sum of the rows below which the width grows, and how fast
_FLAT = 0.25  # of slopes over the width: the smoothness that steps are planned for
_RADIUS = 2.0  # of the coefficients for rows of norm 1, in the same units
_CONSTANT = 0.5  # the constant feature over the norm of a row
_HALF = 0.5  # the slope of the calibration expected where noise hides it, and its standard deviation


@dataclass(frozen=True, eq=False)
class AdditiveDescent:
    """Coefficients (k,) and an intercept for rows in the unit ball and targets in [−1, 1].

    Noisy totals give the mean m of the targets. Descent fits t − m with the Huber loss, so that a row's gradient and
    its noise are small; the more rows and budget, the wider is its parabola, up to least squares. The calibration fits
    t − m again, by least squares, to these predictions, each clipped to [−1, 1]: it shrinks them where they are mostly
    noise, and removes the bias of the loss from level and slope.

    Theorem. Three Gaussian releases whose μ² add up to that of the guarantee, or three pure ones whose ε add up: sums
    of vectors (1, t) and (r, rg, g, g²) in [−1, 1] (`GroupSums`), and descent (`NoisyDescent`), each given the results
    before it. docs/theory/additive_models.md
    """

    guarantee: Guarantee
    neighbours: str
    totals: GroupSums
    calibration: GroupSums

    @classmethod
    def calibrate(cls, guarantee: Guarantee, neighbours: str) -> "AdditiveDescent":
        """Return the method for GaussianDP or PureDP."""
        of = [
            GroupSums.calibrate((1, size), guarantee, neighbours, share)
            for size, share in ((2, _TOTALS_SHARE), (4, _CALIBRATION_SHARE))
        ]
        return cls(shared(guarantee, 1 - _TOTALS_SHARE - _CALIBRATION_SHARE), neighbours, *of)

    def exactness(self, size: int) -> str:
        """Return the exactness of the noise for `size` coefficients: "exact" or "idealized"."""
        of = {self.totals.noise.exactness, self.calibration.noise.exactness, self._descent(size, 1.0).noise.exactness}
        return "exact" if of == {"exact"} else "idealized"

    def _descent(self, size: int, n_rows: float) -> NoisyDescent:
        scale = Scale(_RADIUS, n_rows, self.neighbours == "replace")
        return NoisyDescent.calibrate(self.guarantee, (1, size + 1), _FLAT * self._width(size, n_rows), scale)

    def _width(self, size: int, n_rows: float) -> float:
        """Return the width of the Huber loss: noise falls with it, and least squares are those of the widest."""
        if isinstance(self.guarantee, GaussianDP):
            noise = math.sqrt(size) / (n_rows * self.guarantee.mu)
        else:
            noise = size / (n_rows * self.guarantee.epsilon(0))
        noise *= 2.0 if self.neighbours == "replace" else 1.0
        return min(_WIDE, _NARROW * max(1.0, (_FAINT / max(noise, _FAINT * _NARROW / _WIDE)) ** _POWER))

    def solve(self, rows: np.ndarray, target: np.ndarray, rng: Entropy) -> tuple[np.ndarray, float]:
        """Return coefficients and intercept for rows (n, k) of norm at most 1."""
        n_rows, mean = self._mean(target, rng)
        length = math.hypot(1.0, _CONSTANT)
        design = np.column_stack([rows, np.full(len(rows), _CONSTANT)]) / length
        weights = self._descended(design, target, (n_rows, mean), rng)
        predicted = np.clip(products(design, weights), -1, 1)
        slope, shift = self._calibrated(predicted, target - mean, n_rows, rng)
        return weights[:-1] * (slope / length), mean + shift + slope * float(weights[-1]) * _CONSTANT / length

    def _mean(self, target: np.ndarray, rng: Entropy) -> tuple[float, float]:
        pairs = np.column_stack([np.ones(len(target)), target])
        count, total = self.totals.release(pairs, np.zeros(len(target), dtype=int), rng)[0]
        variance = float(self.totals.noise.variances.max())
        n_rows = float(len(target)) if self.neighbours == "replace" else max(1.0, float(count), math.sqrt(variance))
        return n_rows, float(np.clip(total / (n_rows + variance / n_rows), -1, 1))  # shrunk where noise hides it

    def _descended(
        self, design: np.ndarray, target: np.ndarray, facts: tuple[float, float], rng: Entropy
    ) -> np.ndarray:
        (n_rows, mean), size = facts, design.shape[1] - 1
        loss, descent = Huber(self._width(size, n_rows)), self._descent(size, n_rows)

        def slopes(z: np.ndarray, y: np.ndarray) -> np.ndarray:
            return descent.cap * loss.derivative(z[:, 0] + mean, y)[:, None]

        return descent.solve((design, target), slopes, n_rows, rng)[0]

    def _calibrated(
        self, predicted: np.ndarray, target: np.ndarray, n_rows: float, rng: Entropy
    ) -> tuple[float, float]:
        """Return slope and shift of the target given predictions g, from sums of (r, rg, g, g²), r = t − m − g."""
        left = np.clip(target - predicted, -1, 1)
        parts = np.column_stack([left, left * predicted, predicted, predicted**2])
        sums = self.calibration.release(parts, np.zeros(len(parts), dtype=int), rng)[0]
        variance = float(self.calibration.noise.variances.max())
        square = max(float(sums[3] - sums[2] ** 2 / n_rows), math.sqrt(variance))
        measured = 1 + float(sums[1] - sums[0] * sums[2] / n_rows) / square
        trust = _HALF**2 / (_HALF**2 + variance / square**2)
        slope = min(max(_HALF + trust * (measured - _HALF), 0.0), 2.0)
        shift = (sums[0] + (1 - slope) * sums[2]) / (n_rows + variance / n_rows)
        return slope, float(np.clip(shift, -1, 1))
