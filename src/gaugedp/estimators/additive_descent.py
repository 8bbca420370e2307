"""Least squares by clipped descent around a noisy mean, with a noisy calibration of its predictions."""

import math
from dataclasses import dataclass

import numpy as np

from gaugedp.entropy import Entropy
from gaugedp.estimators.column_sums import GroupSums
from gaugedp.estimators.rows import products
from gaugedp.estimators.tuning import TUNED
from gaugedp.guarantees import GaussianDP, Guarantee
from gaugedp.optimization.gradient import NoisyDescent, Scale
from gaugedp.optimization.lattice import shared
from gaugedp.optimization.losses import Huber


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
        """Return the method for GaussianDP or PureDP, of which the totals take a share."""
        of = [
            GroupSums.calibrate((1, size), guarantee, neighbours, share)
            for size, share in ((2, TUNED.totals_share), (4, TUNED.calibration_share))
        ]
        return cls(shared(guarantee, 1 - TUNED.totals_share - TUNED.calibration_share), neighbours, *of)

    def exactness(self, size: int) -> str:
        """Return the exactness of the noise for `size` coefficients: "exact" or "idealized"."""
        of = {self.totals.noise.exactness, self.calibration.noise.exactness, self._descent(size, 1.0).noise.exactness}
        return "exact" if of == {"exact"} else "idealized"

    def _descent(self, size: int, n_rows: float) -> NoisyDescent:
        scale = Scale(TUNED.additive_radius, n_rows, self.neighbours == "replace")
        cap = 0.25 * self._width(size, n_rows)  # 0.25: the smoothness that steps are planned for
        return NoisyDescent.calibrate(self.guarantee, (1, size + 1), cap, scale)

    def _noise(self, size: int, n_rows: float) -> float:
        """Return the norm of noise in a mean of unit vectors."""
        twice = 2.0 if self.neighbours == "replace" else 1.0
        if isinstance(self.guarantee, GaussianDP):
            return twice * math.sqrt(size) / (n_rows * self.guarantee.mu)
        return twice * size / (n_rows * self.guarantee.epsilon(0))

    def _width(self, size: int, n_rows: float) -> float:
        """Return the width of the Huber loss: noise falls with it, and least squares are those of the widest."""
        noise = self._noise(size, n_rows)
        least, most, at = TUNED.huber_width, 2.0, TUNED.huber_noise  # at 2 all residuals count fully
        return min(most, least * max(1.0, (at / max(noise, at * least / most)) ** TUNED.huber_power))

    def solve(
        self, rows: np.ndarray, target: np.ndarray, level: tuple[float, float], rng: Entropy
    ) -> tuple[np.ndarray, float]:
        """Return coefficients and intercept for rows (n, k) of norm at most 1, and their released `level`."""
        n_rows, mean = level
        constant = TUNED.additive_constant
        length = math.hypot(1.0, constant)
        design = np.column_stack([rows, np.full(len(rows), constant)]) / length
        weights = self._descended(design, target, (n_rows, mean), rng)
        predicted = np.clip(products(design, weights), -1, 1)
        ratio = self._noise(rows.shape[1], n_rows) / TUNED.slope_noise[isinstance(self.guarantee, GaussianDP)]
        likely = 0.5 + 0.5 / (1 + ratio**2)
        slope, shift = self._calibrated(predicted, target - mean, (n_rows, likely), rng)
        return weights[:-1] * (slope / length), mean + shift + slope * float(weights[-1]) * constant / length

    def level(self, target: np.ndarray, rng: Entropy) -> tuple[float, float]:
        """Return the number of rows, noisy unless they are replaced, and the noisy mean of the target."""
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
        self, predicted: np.ndarray, target: np.ndarray, facts: tuple[float, float], rng: Entropy
    ) -> tuple[float, float]:
        """Return slope and shift of the target given predictions g, from sums of (r, rg, g, g²), r = t − m − g.

        `facts` are the number of rows and the likely slope.
        """
        n_rows, prior = facts
        left = np.clip(target - predicted, -1, 1)
        parts = np.column_stack([left, left * predicted, predicted, predicted**2])
        sums = self.calibration.release(parts, np.zeros(len(parts), dtype=int), rng)[0]
        variance = float(self.calibration.noise.variances.max())
        square = max(float(sums[3] - sums[2] ** 2 / n_rows), math.sqrt(variance))
        measured = 1 + float(sums[1] - sums[0] * sums[2] / n_rows) / square
        trust = 0.5**2 / (0.5**2 + variance / square**2)  # the slope is `prior` ± ½ before it is measured
        slope = min(max(prior + trust * (measured - prior), 0.0), 2.0)
        likely = TUNED.level_bias**2 + float(self.totals.noise.variances.max()) / n_rows**2  # mean square of the shift
        shift = (sums[0] + (1 - slope) * sums[2]) / n_rows * likely / (likely + variance / n_rows**2)
        return slope, float(np.clip(shift, -1, 1))
