"""Noisy full-batch gradient descent with exact sums and exact noise."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gaugedp._internal.rounding import NORMS, TABLES
from gaugedp._internal.validate import positive, whole
from gaugedp.bodies import LpBall
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import GaussianDP, Guarantee, PureDP
from gaugedp.mechanisms.base import AdditiveNoise, Prepared
from gaugedp.optimization.lattice import BITS, ball_noise, shared, with_noise
from gaugedp.optimization.row_blocks import slices
from gaugedp.optimization.tuning import TUNED

_LONGEST_STEP = 8.0  # in units where rows have norm 1: 2/β of the logistic loss
_FAST_LENGTH = 2.0  # of steps with momentum: 1/(2β) of slopes that are planned for
MOST_CAP = 2.0**9  # for which the sum of a block is exact in floats

Slopes = Callable[[np.ndarray, np.ndarray], np.ndarray]  # of predictions (n, K) and targets (n,): (n, K), row by row
Data = tuple[np.ndarray, ...]  # rows (n, d) of norm at most 1, targets (n,), and weights (n,) in [0, 1] where given
NoisySum = Callable[[np.ndarray, Prepared], np.ndarray]  # of gradients at weights, with a draw of the noise
Blocks = Iterable[Data]  # rows in integer steps of 2^−BITS, truncated towards 0, a million numbers at a time


@dataclass(frozen=True)
class Scale:
    """Public numbers for planning: expected norm of w, number of rows, neighbour relation."""

    radius: float
    n_rows: float
    replaced: bool = True
    kinked: bool = False  # True if the loss is not smooth
    once: bool = False  # True for a single step


@dataclass(frozen=True)
class Path:
    """A descent path of `n_steps` in a ball of `radius`.

    Each step has `length` along the mean gradient; with `momentum`, step t is (t + 1)/2 times as long.
    """

    n_steps: int
    length: float
    radius: float
    momentum: bool = False

    @classmethod
    def plan(cls, guarantee: GaussianDP | PureDP, size: int, sensitivity: float, scale: Scale) -> "Path":
        """Return the path for sums of `size` numbers."""
        if isinstance(guarantee, GaussianDP):
            free = scale.radius * scale.n_rows * guarantee.mu / (sensitivity * math.sqrt(size))
            return cls._with_momentum(free, 0.5, scale) or cls._gaussian(free, scale)
        free = scale.radius * scale.n_rows * guarantee.epsilon_value / (sensitivity * size)
        return cls._with_momentum(free, 1.0, scale) or cls._pure(free, scale)

    @classmethod
    def _gaussian(cls, free: float, scale: Scale) -> "Path":
        total = free / 4 + 2 * math.sqrt(free) if scale.kinked else free
        longest = 4.0 if scale.kinked else _LONGEST_STEP  # longer ones jump over the kink and back
        n_steps = _whole_between(max(2 * math.sqrt(total), total / longest), *TUNED.descent_steps)
        n_steps = 1 if scale.once else n_steps
        return cls(n_steps, min(total / n_steps, longest), scale.radius)

    @classmethod
    def _pure(cls, free: float, scale: Scale) -> "Path":
        n_steps = _whole_between((free / _LONGEST_STEP) ** (2 / 3), *TUNED.descent_steps)
        return cls(n_steps, min(free / n_steps**1.5, _LONGEST_STEP), scale.radius)

    @classmethod
    def _with_momentum(cls, free: float, growth: float, scale: Scale) -> "Path | None":
        """Return the path with momentum if it goes further.

        The noise of a step grows as the `growth`-th power of the number of steps.
        """
        wanted = (TUNED.moved_by_noise * 2 * math.sqrt(3) / _FAST_LENGTH * free) ** (1 / (1.5 + growth))
        least, most = TUNED.descent_steps
        if scale.kinked or scale.once or wanted < least:
            return None
        n_steps = _whole_between(wanted, least, TUNED.fast_steps)
        n_plain = min((TUNED.moved_by_noise * free / _LONGEST_STEP) ** (1 / (0.5 + growth)), most)
        further = _FAST_LENGTH * n_steps**2 / 4 > _LONGEST_STEP * n_plain
        return cls(n_steps, _FAST_LENGTH, scale.radius, momentum=True) if further else None


def _whole_between(value: float, low: int, high: int) -> int:
    return max(low, min(high, math.ceil(min(value, high))))


@dataclass(frozen=True, eq=False)
class NoisyDescent:
    """Projected gradient descent with clipped gradients and noise.

    A step is w ← Π(w − η·(Σ clipped gradients + noise)/n); the result is the mean of the later half of the steps, or
    uses momentum. w has shape (K, d), rows have ℓ₂ norm at most 1 and a row's slopes (K numbers) at most `cap`; Π is
    the projection onto the ball. Noise is Gaussian, or K-norm noise of the ball for a pure guarantee, on a lattice.

    Theorem. Each step's sum is exact and changes by at most 2·cap if a row is replaced (cap if it is added), so T steps
    of μ/√T-GDP are μ-GDP, and T steps of ε/T-DP are ε-DP. docs/theory/gradient.md
    """

    shape: tuple[int, int]
    cap: float
    path: Path
    noise: AdditiveNoise
    guarantee: Guarantee

    @classmethod
    def calibrate(cls, guarantee: Guarantee, shape: tuple[int, int], cap: float, scale: Scale) -> "NoisyDescent":
        """Return the mechanism for GaussianDP or PureDP."""
        positive(cap=cap, radius=scale.radius, n_rows=scale.n_rows)
        if cap > MOST_CAP:
            raise InvalidRequest(f"`cap` is {cap}, which is too large.", f"Scale the slopes to at most {MOST_CAP:g}.")
        whole(minimum=1, n_outputs=shape[0], n_columns=shape[1])
        rounding = NORMS if cap <= 2 else TABLES  # sums over 2^28 rows are exact up to 2, else to 2^−25 of the cap
        size, sensitivity = shape[0] * shape[1], (2.0 if scale.replaced else 1.0) * cap * (1 + rounding)
        if not isinstance(guarantee, GaussianDP | PureDP):
            raise InvalidRequest(f"{guarantee!r} cannot be divided between steps.", "Use GaussianDP or PureDP.")
        path = Path.plan(guarantee, size, sensitivity, scale)
        noise = ball_noise(LpBall(size, 2, sensitivity), shared(guarantee, 1 / path.n_steps))
        return cls(shape, cap, path, noise, guarantee)

    def solve(self, data: Data, slopes: Slopes, n_rows: float, rng: Entropy) -> np.ndarray:
        """Return w (K, d), dividing gradient sums by `n_rows`, which is public or released."""
        noises = self.noise.pool(self.path.n_steps, rng)
        cached = list(whole_blocks(data)) if data[0].size <= 2**23 else None  # so that steps need not cut rows again

        def noisy(weights: np.ndarray, noise: Prepared) -> np.ndarray:
            return with_noise(self.gradient(cached or whole_blocks(data), weights, slopes), self.noise, noise)

        steps = self._with_momentum if self.path.momentum else self._plain
        return steps(noisy, noises, self.path.length / n_rows)

    def _plain(self, noisy: NoisySum, noises: Sequence[Prepared], length: float) -> np.ndarray:
        weights, total, count = np.zeros(self.shape), np.zeros(self.shape), 0
        for t, noise in enumerate(noises):
            weights = self._projected(weights - length * noisy(weights, noise))
            if 2 * t >= self.path.n_steps - 1:
                total, count = total + weights, count + 1
        return total / count

    def _with_momentum(self, noisy: NoisySum, noises: Sequence[Prepared], length: float) -> np.ndarray:
        """Return w by accelerated stochastic approximation (Lan 2012, section 3).

        It restarts when the mean moves up the noisy gradient (O'Donoghue and Candès 2015, section 3.2).
        """
        weights, mean, t = np.zeros(self.shape), np.zeros(self.shape), 0
        for noise in noises:
            t, share = t + 1, 2 / (t + 2)
            gradient = noisy((1 - share) * mean + share * weights, noise)
            weights = self._projected(weights - length / share * gradient)
            before, mean = mean, (1 - share) * mean + share * weights
            if np.vdot(gradient, mean - before) > 0:
                weights, t = mean, 0
        return mean

    def variance(self, n_rows: float, smoothness: float = 0.25) -> float:
        """Return about the noise variance of a weight, as if no step left the ball.

        The loss of rows that are as long in each direction has this `smoothness`; 0 is cautious.
        """
        steps, path = np.arange(self.path.n_steps), self.path
        if path.momentum:
            shares = (steps + 1) / 2 * (1 - ((steps + 1) / path.n_steps) ** 2)
        else:
            first = path.n_steps // 2  # whose weights are averaged
            shares = (path.n_steps - np.maximum(steps, first)) / (path.n_steps - first)
        whole = 2 * path.length * float(shares.sum()) * smoothness / math.prod(self.shape)
        kept = -math.expm1(-whole) / max(whole, 1e-9)  # of the noise, which later steps lessen
        deviation = math.sqrt(float(self.noise.variances.max())) * path.length / n_rows
        return kept * float((shares**2).sum()) * deviation**2

    def gradient(self, blocks: Blocks, weights: np.ndarray, slopes: Slopes) -> np.ndarray:
        """Return Σ weight·slope·x (K, d), rounded to floats once.

        Predictions and the sums of blocks are of integers below 2^53, and the total below 2^62: the same in any order
        of the rows.
        """
        bits = 51 - BITS - math.ceil(math.log2(self.path.radius + 1))  # bits of a prediction
        steps, total = np.rint(weights.T * 2.0**bits), np.zeros(self.shape, dtype=np.int64)
        for points, target, shares in blocks:
            row_slopes = self._capped(slopes(points @ steps * 2.0 ** -(BITS + bits), target)) * shares[:, None]
            total += (np.trunc(row_slopes * 2.0**BITS).T @ points).astype(np.int64)
        return total * 4.0**-BITS

    def _capped(self, slopes: np.ndarray) -> np.ndarray:
        square = np.zeros(len(slopes))
        for column in slopes.T:  # one by one, so that a row is summed in the same order in any table
            square += column * column
        return slopes * (self.cap / np.maximum(np.sqrt(square), self.cap))[:, None]

    def _projected(self, weights: np.ndarray) -> np.ndarray:
        return weights * min(1.0, self.path.radius / max(float(np.linalg.norm(weights)), self.path.radius))


def whole_blocks(data: Data) -> Iterator[Data]:
    """Yield rows in integer steps, with targets and weights."""
    rows, target, *others = data
    weights = others[0] if others else np.broadcast_to(1.0, (len(rows),))
    for part in slices(rows, 2**20):
        yield np.trunc(rows[part] * 2.0**BITS), target[part], weights[part]


def accelerated(moved: Callable[[np.ndarray], np.ndarray], start: np.ndarray, *, n_steps: int = 300) -> np.ndarray:
    """Return the result of accelerated steps `moved` (Nesterov 1983)."""
    point = ahead = start
    for step in range(n_steps):
        after = moved(ahead)
        ahead, point = after + step / (step + 3) * (after - point), after
    return point
