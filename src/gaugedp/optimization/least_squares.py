"""Private least squares on the unit ball by noisy steps."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gaugedp.bodies import LpBall
from gaugedp.entropy import Entropy
from gaugedp.guarantees import ApproxDP, Guarantee, PureDP, compose
from gaugedp.mechanisms.base import AdditiveNoise
from gaugedp.optimization.best_weights import NoisyEvidence, NormalMixture
from gaugedp.optimization.lattice import BITS, ball_noise, for_gaussian_releases, released, shared, weight_step
from gaugedp.optimization.row_blocks import summed
from gaugedp.optimization.shrinkage import averaged_noise, bounded_mean, signal_share, towards_mean
from gaugedp.optimization.symmetric import released_square
from gaugedp.optimization.tuning import TUNED

Of = Callable[[np.ndarray, np.ndarray], np.ndarray]  # from features and target in integer steps to integers
Sums = Callable[[Of], np.ndarray]  # Σ of(features, target) over blocks of the rows, wherever they are


@dataclass(frozen=True)
class LeastSquares:
    """Private linear least squares for rows in the unit ball.

    Use it for a linear regression. It finds weights w, ‖w‖₂ ≤ `radius`, for which the sum of squared residuals Σ(⟨w, x⟩
    − t)² is small. The sum is over rows x with ‖x‖₂ ≤ 1 and targets t with |t| ≤ 1.

    Notes
    -----
    Each step subtracts M⁻¹ times the noisy gradient Σ x·clip(⟨w, x⟩ − t, ±c), and projects onto the ball in the norm of
    M. For the solver "preconditioned", M is Σ xxᵀ with noise, with its eigenvalues raised to the edge of the noise, and
    the result averages the last steps. For "gradient", M is a multiple of the identity. The path's length depends on n,
    d, ε and δ alone; a long path uses `momentum`, with about twice the square root of the steps (Nesterov 1983). With a
    `constant`, slopes shrink by the part that noise explains, and the way of "gradient" starts at the noisy mean of the
    target. The width c is 1. "preconditioned" doubles it, once, and discards earlier gradients if a noisy count of
    residuals beyond 1 shows that clipping changes the gradient more than noise does.

    Theorem (docs/theory/least_squares.md). One row changes Σ xxᵀ by at most √2 in the Frobenius norm (1 if rows are
    added or removed) and a gradient by at most 2 (1) in ℓ₂. The releases compose to (ε, δ)-DP, and with Gaussian noise
    to μ-GDP.
    """

    n_rows: int
    n_columns: int
    radius: float
    solver: str  # "preconditioned" or "gradient"
    moments: AdditiveNoise | None
    gradient: AdditiveNoise
    steps: int
    pace: float
    momentum: bool = False
    residuals: AdditiveNoise | None = None  # with moments
    clipped: AdditiveNoise | None = None  # of the number of clipped residuals, with moments
    constant: float = 0.0  # the last feature of all rows, 0 if there is none
    mean: AdditiveNoise | None = None  # of Σ constant·t, with a constant and without moments

    @classmethod
    def calibrate(
        cls,
        shape: tuple[int, int],
        guarantee: Guarantee,
        radius: float | None,
        neighbours: str,
        solver: str = "auto",
        constant: float = 0.0,
    ) -> "LeastSquares":
        """Return the method for public `shape` = (rows, columns).

        "auto" chooses the solver by the noise relative to n/d. `radius` defaults to √d for "gradient" and 8√d for
        "preconditioned". Pure noise is used for (ε, δ) if it is clearly smaller.
        """
        given = radius, neighbours, solver, constant
        method = cls._calibrate(shape, guarantee, *given)
        if not isinstance(guarantee, ApproxDP) or guarantee.epsilon_value == 0:
            return method
        pure = cls._calibrate(shape, PureDP(guarantee.epsilon_value), *given)
        # 0.9: pure noise is drawn in floats, Gaussian noise exactly
        return pure if pure._loudness < 0.9 * method._loudness else method

    @property
    def _loudness(self) -> float:
        return deviation_of(self.gradient) / math.sqrt(self.steps)

    @classmethod
    def _calibrate(
        cls,
        shape: tuple[int, int],
        guarantee: Guarantee,
        radius: float | None,
        neighbours: str,
        solver: str,
        constant: float,
    ) -> "LeastSquares":
        n_rows, d = shape
        longest = 1 + math.sqrt(d) * 2.0**-BITS  # of a rounded row
        moments_sensitivity, gradient_sensitivity = (math.sqrt(2.0), 2.0) if neighbours == "replace" else (1.0, 1.0)
        moments = _noise(LpBall(d * (d + 1) // 2, 2, moments_sensitivity * longest**2), guarantee, TUNED.moments_share)
        edge = moments_edge(moments, d)
        if solver == "auto":
            solver = "preconditioned" if edge < n_rows / d else "gradient"
        if radius is None:
            # 8.0: a radius that rarely binds, as noisy moments shrink w where rows carry little information
            radius = math.sqrt(d) * (8.0 if solver == "preconditioned" else 1)
        ball = LpBall(d, 2, gradient_sensitivity * longest)
        if solver == "preconditioned":
            rest = 1 - TUNED.moments_share - TUNED.residuals_share - TUNED.clipped_share
            n_steps = TUNED.preconditioned_steps
            step = _noise(ball, guarantee, rest / n_steps)
            residuals = _noise(LpBall(1, 2, 1.0), guarantee, TUNED.residuals_share)
            clipped = _noise(LpBall(1, 2, 1.0), guarantee, TUNED.clipped_share)
            given = (n_rows, d, radius, solver, moments, step, n_steps, 1.0, False)
            return cls(*given, residuals, clipped, constant)
        if constant == 0:
            _, steps, pace, momentum = _way(_noise(ball, guarantee, 1.0), n_rows, d)
            return cls(n_rows, d, radius, solver, None, _noise(ball, guarantee, 1 / steps), steps, pace, momentum)
        level = LpBall(1, 2, gradient_sensitivity * (constant + 2.0**-BITS))

        def planned(share: float) -> tuple[float, int, float, bool]:
            cost, steps, pace, momentum = _way(_noise(ball, guarantee, 1 - share), n_rows, d)
            of_mean = deviation_of(_noise(level, guarantee, share)) / (n_rows * constant)
            return cost + of_mean**2, steps, pace, momentum

        share = min(TUNED.mean_shares, key=lambda one: planned(one)[0])
        (_, steps, pace, momentum), mean = planned(share), _noise(level, guarantee, share)
        step = _noise(ball, guarantee, (1 - share) / steps)
        return cls(n_rows, d, radius, solver, None, step, steps, pace, momentum, constant=constant, mean=mean)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of all releases together."""
        once = self.moments, self.residuals, self.clipped, self.mean
        parts = [(noise.guarantee, 1) for noise in once if noise is not None]
        return compose([(self.gradient.guarantee, self.steps), *parts])

    @property
    def exactness(self) -> str:
        """Exactness of the noise: "exact" or "idealized"."""
        return self.gradient.exactness

    def describe(self) -> str:
        """Describe the steps and the noise."""
        std = deviation_of(self.gradient)
        return f"{self.steps} {self.solver} steps, noise of deviation {std:.6g} on sums of gradients"

    def solve(self, features: np.ndarray, target: np.ndarray, rng: Entropy) -> np.ndarray:
        """Solve for w (d,), in steps of 2^−BITS. Charge first."""
        return self.solve_sums(lambda of: of(features, target), rng)[0]

    def solve_sums(
        self, sums: Sums, rng: Entropy, span: np.ndarray | None = None
    ) -> tuple[np.ndarray, NormalMixture | None]:
        """Return w and the distribution of the best w.

        Only sums over the rows are used. The distribution is None without second moments. `span` (d, r) is orthonormal
        and public: rows lie in its range, and so does the best w of least norm.
        """
        if self.moments is None:
            return self._by_gradients(sums, rng)
        return self._by_moments(self.moments, sums, rng, span)

    def _by_gradients(self, sums: Sums, rng: Entropy) -> tuple[np.ndarray, None]:
        metric = Metric(np.full(self.n_columns, self.n_rows / self.pace), np.eye(self.n_columns), self.radius)
        centre = self._centre(sums, rng)
        start = weights = centre
        for step in range(self.steps):
            before, gradient = weights, self._gradient(sums, start, 1.0, rng)
            weights = self._rounded(centre + metric.step(start - centre, gradient))
            start = self._rounded(weights + step / (step + 3) * (weights - before)) if self.momentum else weights
        return weights if self.mean is None else self._rounded(self._shrunk(weights, centre)), None

    def _centre(self, sums: Sums, rng: Entropy) -> np.ndarray:
        """Return the weights (d,) that predict the noisy mean of the target, or 0 without a constant."""
        centre = np.zeros(self.n_columns)
        if self.mean is not None:
            noisy = float(released(sums(level_sums)[:1] * 4.0**-BITS, self.mean, rng)[0])
            total = self.n_rows * self.constant
            centre[-1] = bounded_mean(noisy / total, deviation_of(self.mean) / total) / self.constant
        return self._rounded(centre)

    def _shrunk(self, weights: np.ndarray, centre: np.ndarray) -> np.ndarray:
        """Shrink the way from the centre by the share of its square that noise explains (James and Stein 1961)."""
        places = np.arange(1, self.steps + 1)
        lengths = places / 2 * (1 - (places / self.steps) ** 2) if self.momentum else np.full(self.steps, self.pace)
        whole = (
            2 * TUNED.usual_curvature * float(lengths.sum()) / self.n_columns
        )  # of the way, over the length of the curvature
        kept = -math.expm1(-whole) / max(whole, 1e-9)  # of the noise, which later steps lessen
        variance = kept * float((lengths**2).sum()) * (deviation_of(self.gradient) / self.n_rows) ** 2
        return centre + (weights - centre) * signal_share(weights - centre, variance)

    def _by_moments(
        self, moments: AdditiveNoise, sums: Sums, rng: Entropy, span: np.ndarray | None
    ) -> tuple[np.ndarray, NormalMixture]:
        """Return the mean of the last steps and the distribution of the best w, from moments and gradients."""
        second = released_square(sums(second_moments) * 4.0**-BITS, moments, rng)
        metric = Metric.of(second, max(1.1 * moments_edge(moments, self.n_columns), 1e-300), self.radius)
        points, gradients, clip, n_clipped = self._path(metric, sums, rng)
        weights = self._rounded(np.mean(points[2 - self.steps :], axis=0))
        mean_square = self._mean_square(sums, weights, clip, rng)
        unclipped = before_clipping(mean_square) if clip == 1 else mean_square
        whole = self.n_rows * unclipped + explained(second, points[:-1], gradients, weights)
        noise = clip * deviation_of(self.gradient)
        releases = NoisyEvidence(second, points[:-1], gradients, deviation_of(moments), noise, whole)
        errors = mean_square + (self._cut_off(n_clipped) if clip == 1 else 0.0)
        if self.constant:
            weights = self._rounded(towards_mean(weights, metric.matrix, self._doubt(second, metric, noise)))
        if span is None:
            return weights, releases.best(errors)
        return weights, releases.within(span).best(errors).mapped(span, np.zeros(len(span)))

    def _doubt(self, second: np.ndarray, metric: "Metric", noise: float) -> np.ndarray:
        """Return the covariance (d, d) of the noise of the mean of the last points."""
        curvature = np.diag(metric.vectors.T @ second @ metric.vectors) / metric.values
        turned = metric.vectors * (noise * averaged_noise(curvature, self.steps) / metric.values)
        return np.asarray(turned @ turned.T)

    def _path(self, metric: "Metric", sums: Sums, rng: Entropy) -> tuple[np.ndarray, np.ndarray, float, float]:
        """Return points (k + 1, d), their gradients (k, d), the residuals' width since, and how many are clipped."""
        points, clip, n_clipped = [np.zeros(self.n_columns)], 1.0, 0.0
        gradients: list[np.ndarray] = []
        for step in range(self.steps):
            if step == 2:  # clipped residuals are counted once
                n_clipped = self._n_clipped(sums, points[-1], rng)
                if self._is_clipping(n_clipped):
                    points, gradients, clip = points[-1:], [], 2.0
            gradients.append(self._gradient(sums, points[-1], clip, rng))
            points.append(self._rounded(metric.step(points[-1], gradients[-1])))
        return np.array(points), np.array(gradients), clip, n_clipped

    def _gradient(self, sums: Sums, point: np.ndarray, clip: float, rng: Entropy) -> np.ndarray:
        exact = sums(Gradient(np.rint(point / self._fine), self._fine, clip)) * 4.0**-BITS
        return clip * released(exact, self.gradient, rng)

    def _n_clipped(self, sums: Sums, point: np.ndarray, rng: Entropy) -> float:
        assert self.clipped is not None
        exact = sums(Clipped(np.rint(point / self._fine), self._fine)).astype(float)
        return float(released(exact, self.clipped, rng)[0])

    def _is_clipping(self, n_clipped: float) -> bool:
        """Return whether clipping changes the gradient more than noise does, by a noisy count."""
        assert self.clipped is not None
        hidden = math.sqrt(2 * self.n_columns) * deviation_of(self.gradient)
        return n_clipped > max(TUNED.clipped_deviations * deviation_of(self.clipped), TUNED.clipped_gradients * hidden)

    def _cut_off(self, n_clipped: float) -> float:
        """Return what clipping may hide of the residuals' mean square, its bias included."""
        assert self.clipped is not None
        least = max(n_clipped, 0.0)
        most = least + 0.7 * deviation_of(self.clipped)  # the noisy count may be too small
        return (3.0 * least + (0.8 * most) ** 2) / self.n_rows  # of residuals up to 2: their square, their usual size

    def _mean_square(self, sums: Sums, weights: np.ndarray, clip: float, rng: Entropy) -> float:
        assert self.residuals is not None
        exact = sums(Squares(np.rint(weights / self._fine), self._fine, clip)) * 4.0**-BITS
        noisy, std = released(exact, self.residuals, rng)[0], deviation_of(self.residuals)
        return clip**2 * (max(float(noisy), 0.0) + std) / max(self.n_rows - self.n_columns, 1)

    @property
    def _fine(self) -> float:
        return weight_step(self.radius + (1 / self.constant if self.mean else 0.0))  # the ball is around the mean

    def _rounded(self, point: np.ndarray) -> np.ndarray:
        return np.rint(point / self._fine) * self._fine


@dataclass(frozen=True, eq=False)
class Metric:
    """The norm √(wᵀMw), M = V·diag(values)·Vᵀ with positive values."""

    values: np.ndarray
    vectors: np.ndarray
    radius: float

    @classmethod
    def of(cls, matrix: np.ndarray, least: float, radius: float) -> "Metric":
        """Return a matrix's norm, its eigenvalues raised to `least`."""
        values, vectors = np.linalg.eigh(matrix)
        return cls(np.maximum(values, least), vectors, radius)

    @property
    def matrix(self) -> np.ndarray:
        """The matrix M."""
        return np.asarray((self.vectors * self.values) @ self.vectors.T)

    def step(self, point: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Return `point` − M⁻¹·`gradient`, projected in this norm."""
        return self.vectors @ self.inside(self.vectors.T @ point - (self.vectors.T @ gradient) / self.values)

    def inside(self, coordinates: np.ndarray, *, halvings: int = 60) -> np.ndarray:
        """Return the projection v_i·m_i/(m_i + λ) with the least λ ≥ 0, along V."""
        low, high = -700.0, 700.0  # of the logarithm of λ over the largest m
        if np.linalg.norm(coordinates) <= self.radius:
            return coordinates
        shares = self.values / self.values.max()
        for _ in range(halvings):
            middle = (low + high) / 2
            length = np.linalg.norm(coordinates * (shares / (shares + math.exp(middle))))
            low, high = (middle, high) if length > self.radius else (low, middle)
        near = coordinates * (shares / (shares + math.exp(high)))
        return near * min(1.0, self.radius / max(float(np.linalg.norm(near)), 1e-300))


@dataclass(frozen=True, eq=False)
class Gradient:
    """Σ x·clip((⟨w, x⟩ − t)/c, ±1) in steps of 4^−BITS, c = `clip` a power of two.

    w is `weights` integer steps of size `fine`, a power of two. Predictions, residuals and sums are of integer steps:
    exact, and the same in any order and any blocks of the rows.
    """

    weights: np.ndarray
    fine: float
    clip: float = 1.0

    def __call__(self, features: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return the sum over a block of rows."""
        return summed(lambda part: features[part].T @ self.residuals(features[part], target[part]), features)

    def residuals(self, features: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return clip((⟨w, x⟩ − t)/c, ±1) in steps of 2^−BITS."""
        unit = 2.0**-BITS
        clipped: np.ndarray = np.rint(np.clip(self._sizes(features, target), -1, 1) / unit)
        return clipped

    def _sizes(self, features: np.ndarray, target: np.ndarray) -> np.ndarray:
        sizes: np.ndarray = (features @ self.weights * self.fine - target) * (2.0**-BITS / self.clip)
        return sizes


@dataclass(frozen=True, eq=False)
class Squares(Gradient):
    """Σ clip((⟨w, x⟩ − t)/c, ±1)² in steps of 4^−BITS."""

    def __call__(self, features: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return the sum over a block of rows, shape (1,)."""
        residuals = self.residuals(features, target)
        return np.array([residuals @ residuals])


@dataclass(frozen=True, eq=False)
class Clipped(Gradient):
    """Number of rows with |⟨w, x⟩ − t| > c."""

    def __call__(self, features: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return the number in a block of rows, shape (1,)."""
        return np.array([np.count_nonzero(np.abs(self._sizes(features, target)) > 1)])


def second_moments(features: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return Σ xxᵀ over rows, in steps of 4^−BITS."""
    del target
    return features.T @ features


def level_sums(features: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return Σ x·t and Σ x² for the last feature over rows, in steps of 4^−BITS, shape (2,)."""
    return np.array([features[:, -1] @ target, features[:, -1] @ features[:, -1]])


def before_clipping(mean_square: float) -> float:
    """Return an upper bound on normal residuals' variance, given their mean square clipped to [−1, 1]."""
    return mean_square / max(1 - mean_square, 0.01) ** 2


def explained(second: np.ndarray, points: np.ndarray, gradients: np.ndarray, weights: np.ndarray) -> float:
    """Return 2⟨b, w⟩ − ⟨w, Hw⟩, at least 0.

    It uses H + E and the mean of Hw − b + noise at points (k, d), and is Σt² − Σ(⟨w, x⟩ − t)² for H = Σxxᵀ, b = Σx·t.
    """
    products = second @ points.mean(axis=0) - gradients.mean(axis=0)
    return max(float(2 * products @ weights - weights @ second @ weights), 0.0)


def _noise(ball: LpBall, guarantee: Guarantee, share: float) -> AdditiveNoise:
    """Return noise for a share of μ² or ε."""
    return ball_noise(ball, shared(for_gaussian_releases(guarantee), share))


def deviation_of(noise: AdditiveNoise) -> float:
    """Return the standard deviation of a coordinate."""
    return math.sqrt(float(noise.variances.max()))


def moments_edge(moments: AdditiveNoise, d: int) -> float:
    """Return about the largest eigenvalue of the moments' noise, √(2d)·σ."""
    return math.sqrt(2 * d) * deviation_of(moments)


def _way(noise: AdditiveNoise, n_rows: int, d: int) -> tuple[float, int, float, bool]:
    """Return the expected loss, number and length of steps, and whether with momentum."""
    sigma = deviation_of(noise) / n_rows
    paces = np.geomspace(1e-3, 50 * d, 2000)
    costs = (paces * sigma) ** 2 + TUNED.explained * np.exp(-2 * paces / d)
    best, cost = float(paces[costs.argmin()]), float(costs.min())
    steps, with_momentum = max(1, math.ceil(best / 2)), math.ceil(math.sqrt(8 * best))
    return (cost, with_momentum, 1.0, True) if with_momentum < steps else (cost, steps, best / steps, False)
