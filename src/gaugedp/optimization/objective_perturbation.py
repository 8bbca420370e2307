"""Objective perturbation: the exact minimum of a randomly perturbed loss."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import scipy

from gaugedp._internal.bisection import bisected
from gaugedp._internal.rounding import NORMS, UNIT
from gaugedp._internal.validate import between, positive
from gaugedp.accountant.rounding import up
from gaugedp.bodies import LpBall
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import ApproxDP, GaussianDP, Guarantee, PureDP
from gaugedp.guarantees.gaussian_curve import gaussian_delta, gaussian_mu
from gaugedp.mechanisms import AdditiveNoise, Gaussian, KNorm
from gaugedp.optimization.lattice import with_noise
from gaugedp.optimization.losses import Loss, Softmax
from gaugedp.optimization.minimise import Binary, Multiclass, minimise
from gaugedp.optimization.smoothing import SmoothHinge
from gaugedp.optimization.tuning import TUNED
from gaugedp.samplers.continuous import gammas, normals

_TANGENTS = np.linspace(0.5, 1.0, 11)


@dataclass(frozen=True)
class CappedLogistic(Loss):
    """The logistic loss with slopes of at most `cap`.

    It is log(1 + e^{−yz}), y = ±1, and its tangent where the slope exceeds `cap` in [1/2, 1], which limits the
    influence of rows far on the wrong side. It is not twice differentiable at one point.
    """

    cap: float = 1.0

    def __post_init__(self) -> None:
        if self.cap != 1:
            between(0.499999, 1, cap=self.cap)

    @property
    def lipschitz(self) -> float:
        """The Lipschitz constant `cap`."""
        return self.cap

    smoothness = 0.25

    @property
    def _bend(self) -> float:
        return math.log(self.cap / (1 - self.cap)) if self.cap < 1 else math.inf

    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the loss, without overflow."""
        wrong = -y * z
        inside = np.minimum(wrong, self._bend)
        return np.maximum(inside, 0) + np.log1p(np.exp(-np.abs(inside))) + self.cap * (wrong - inside)

    def derivative(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return −y·min(1/(1 + e^{yz}), cap)."""
        return -y * np.minimum(scipy.special.expit(-y * z), self.cap)

    def curvature(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return s(1 − s) for slopes below cap, else 0."""
        share = scipy.special.expit(-y * z)
        return np.where(share < self.cap, share * (1 - share), 0.0)


PerturbedLoss = CappedLogistic | SmoothHinge | Softmax  # losses for which extremes of the privacy loss are proved


@dataclass(frozen=True)
class Extreme:
    """`count` privacy losses N(m²/2, m²), m = `reach`/σ, shifted by `jacobian`."""

    count: int
    reach: float
    jacobian: float


@dataclass(frozen=True)
class Problem:
    """The problem that objective perturbation is calibrated for.

    Rows have norm at most 1. `radius` is the expected length of w; λ is at least the length of the noise divided by it.
    `auxiliary_mu` is the μ of Gaussian releases of the same rows, before and after. The ridge pulls the last weight to
    a number of at most `most_middle`.
    """

    loss: PerturbedLoss
    ambient_dim: int
    radius: float
    replaced: bool = True
    auxiliary_mu: float = 0.0
    most_middle: float = 0.0

    def extremes(self, strength: float) -> list[list[Extreme]]:
        """Return lists that each bound the privacy loss: docs/theory/objective_perturbation.md."""
        curvature = (1 + NORMS) ** 2 / strength
        match self.loss:
            case CappedLogistic():
                lists = [_signed(self.loss.cap, self.replaced, curvature, t) for t in _TANGENTS]
            case SmoothHinge():
                lists = [_one_sided(self.loss, self.replaced, curvature)]
            case Softmax():
                lists = [_softmax(self.loss.n_classes, self.replaced, curvature)]
        return [[*few, Extreme(1, 0.0, max(extreme.jacobian for extreme in few))] for few in lists]

    def least_strength(self, n_rows: int) -> float:
        """Return the least λ for precision in floats.

        It applies if the noise requires less: float sums over rows are accurate enough, and λ‖w‖²/2 is at most the
        losses at 0, so that a minimum without noise is near.

        A larger λ never makes a profile larger, as all shifts c increase with q = 1/λ. For the lines log(1 + s(1 − s)q)
        + slope·(t − s) of theorem 2, put D = 1 + q·s(1 − s). The derivative in q is s·(s + q·s(1 − s)²)/D² ≥ 0 at t =
        0. At t = C ≤ 1 it is s(1 − s)/D + (1 − 2s)(t − s)/D², which is at least (1 − s)²/D² for s ≥ ½, and a sum of
        nonnegative terms otherwise. The other Jacobians increase with q, too.
        """
        match self.loss:
            case CappedLogistic() | SmoothHinge():
                at_zero = 1.0
            case Softmax():
                at_zero = math.log(self.loss.n_classes)
        sums = n_rows * UNIT * self.loss.lipschitz * (2**12 + n_rows / 2**12 + 16)
        # a precision of 2^−20 radii, and minima within 32 radii
        return max(sums / (2.0**-20 * self.radius), 2 * n_rows * at_zero / (32.0 * self.radius) ** 2)

    def rounding(self, n_rows: int, strength: float, linear: float) -> float:
        """Return a bound on the gradient's error in floats.

        `linear` bounds ‖b − λw₀‖, below ‖b‖. Sums over rows, 2^12 at a time, are off by n·L·(2^12 + n/2^12 + 16)
        roundings of 2^−53. Predictions are off by at most (d + 4)·2^−53·‖w‖, so they add nβ·(d + 4)·‖w‖ of them. As
        ⟨∇F(w), w⟩ = 0, λ‖w‖² ≤ n·c + ‖b‖·‖w‖ with c = max −φ′(z)·z, so ‖w‖ ≤ √(n·c/λ) + 2‖b‖/λ. This c is 0.28 for
        the logistic loss, 1 + h/2 for the smoothed hinge, and log K for the softmax (H(p) + log p_y ≤ H(p)).
        """
        match self.loss:
            case CappedLogistic():
                losses = 0.28 * n_rows
            case SmoothHinge():
                losses = (1 + self.loss.width / 2) * n_rows
            case Softmax():
                losses = math.log(self.loss.n_classes) * n_rows
        farthest = math.sqrt(losses / strength) + 2 * linear / strength
        sums = self.loss.lipschitz * (2**12 + n_rows / 2**12 + 16)
        return n_rows * UNIT * (sums + self.loss.smoothness * (self.ambient_dim + 4) * farthest)


def _signed(cap: float, replaced: bool, curvature: float, tangent: float) -> list[Extreme]:
    """Return the extremes for slopes of one sign, by a tangent of log(1 + s(1 − s)q) at s = `tangent`·cap."""
    s = tangent * cap
    height, slope = math.log1p(curvature * s * (1 - s)), curvature * (1 - 2 * s) / (1 + curvature * s * (1 - s))
    bent, flat = height + slope * (cap - s), height - slope * s
    if not replaced:
        return [Extreme(1, cap, bent), Extreme(1, 0.0, flat)]
    return [Extreme(1, 2 * cap, bent), Extreme(1, cap, bent), Extreme(1, cap, flat)]


def _one_sided(loss: Loss, replaced: bool, curvature: float) -> list[Extreme]:
    """Return the extremes for slopes −s·y, s in [0, 1], of any curvature up to the smoothness."""
    jacobian = math.log1p(loss.smoothness * curvature)
    if not replaced:
        return [Extreme(1, loss.lipschitz, jacobian)]
    return [Extreme(1, 2 * loss.lipschitz, jacobian), Extreme(2, loss.lipschitz, jacobian)]


def _softmax(n_classes: int, replaced: bool, curvature: float) -> list[Extreme]:
    others = n_classes - 1
    jacobian = others * math.log1p(curvature / n_classes)
    if not replaced:
        return [Extreme(others, math.sqrt(2), jacobian)]
    return [
        Extreme(others, math.sqrt(8), jacobian),
        Extreme(others * (others - 1), math.sqrt(6), jacobian),
        Extreme(2 * others, math.sqrt(2), jacobian),
    ]


@dataclass(frozen=True, eq=False)
class ObjectivePerturbation:
    """A private minimum of Σφ + λ‖w‖²/2 + ⟨b, w⟩.

    The computed w is within `distance` of the minimum and has output noise, on a lattice. b is N(0, σ²I), or of density
    ∝ e^{−‖b‖/σ} for a pure guarantee (σ is `noise`, λ `strength`).

    Theorem. For rows of norm at most 1 and neighbours as in `problem` the output is (ε, δ)-DP, together with Gaussian
    releases of `problem.auxiliary_mu`-GDP; ε-DP for a pure guarantee (Chaudhuri, Monteleoni and Sarwate 2011, theorem
    9, corrected). docs/theory/objective_perturbation.md
    """

    problem: Problem
    guarantee: Guarantee
    strength: float
    noise: float
    output: AdditiveNoise
    distance: float
    exactness = "idealized"

    @classmethod
    def calibrate(cls, problem: Problem, guarantee: Guarantee, n_rows: int) -> "ObjectivePerturbation":
        """Return the mechanism with the least σ; `n_rows` only sets the precision of w."""
        positive(radius=problem.radius)
        if not isinstance(guarantee, ApproxDP | PureDP):
            raise InvalidRequest(
                f"Objective perturbation supports guarantees in ε and δ, but {guarantee!r} is of another kind.",
                "Use ApproxDP or PureDP.",
            )
        noise = least_noise(problem, guarantee)
        strength = max(strength_of(problem, guarantee, noise), problem.least_strength(n_rows))
        length = 400.0 * length_of(problem, guarantee, noise)  # b is longer with a probability below 1e−170
        rounding = problem.rounding(n_rows, strength, length + strength * problem.most_middle)
        distance = max(2 * rounding / strength, 2.0**-30 * problem.radius)
        ball = LpBall(problem.ambient_dim, 2, 2 * distance)
        if isinstance(guarantee, ApproxDP):
            mu = TUNED.output_share * gaussian_mu(guarantee.epsilon_value, guarantee.delta_value)
            output: AdditiveNoise = Gaussian.calibrate(ball, GaussianDP(mu))
        else:
            output = KNorm.calibrate(ball, PureDP(guarantee.epsilon_value * TUNED.output_share**2))
        return cls(problem, guarantee, strength, noise, output, distance)

    def variance(self, n_rows: float) -> float:
        """Return about the noise variance of a weight, if rows are as long in each direction."""
        d = self.problem.ambient_dim
        square = self.noise**2 * (1 if isinstance(self.guarantee, ApproxDP) else d + 1)
        return square / (self.strength + self.problem.loss.smoothness * n_rows / d) ** 2

    def draw(self, rng: Entropy) -> np.ndarray:
        """Return a draw of b."""
        d = self.problem.ambient_dim
        direction = normals(d, rng)
        if isinstance(self.guarantee, ApproxDP):
            return direction * self.noise
        length = float(gammas(d, 1, rng)[0])
        return direction / np.linalg.norm(direction) * (length * self.noise)

    def solve(
        self,
        rows: np.ndarray,
        target: np.ndarray,
        rng: Entropy,
        weights: np.ndarray | float = 1.0,
        middle: float = 0.0,
    ) -> np.ndarray:
        """Return w (d,) or (K·d,) for rows (n, d) of norm at most 1 and weights in [0, 1].

        The ridge is λ‖w − w₀‖²/2, where w₀ is 0 but for its last entry `middle`, a public or released number.
        """
        linear, output = self.draw(rng), self.output.prepare(rng)
        data = rows, target, np.broadcast_to(weights, (len(rows),))
        linear[-1] -= self.strength * max(-self.problem.most_middle, min(middle, self.problem.most_middle))
        exact = minimise(self._objective(data, linear), self.distance / 2)
        farthest = 64.0 * self.problem.radius  # coefficients are clipped to this many radii
        return with_noise(np.clip(exact, -farthest, farthest), self.output, output)

    def _objective(self, data: tuple[np.ndarray, ...], linear: np.ndarray) -> Binary | Multiclass:
        loss = self.problem.loss
        if isinstance(loss, Softmax):
            return Multiclass(loss, data, self.strength, linear)
        return Binary(loss, data, self.strength, linear)


def length_of(problem: Problem, guarantee: ApproxDP | PureDP, noise: float) -> float:
    """Return the usual length of b."""
    return noise * (math.sqrt(problem.ambient_dim) if isinstance(guarantee, ApproxDP) else problem.ambient_dim)


def strength_of(problem: Problem, guarantee: ApproxDP | PureDP, noise: float) -> float:
    """Return λ: the noise's norm over the radius, and enough that the Jacobian does not use up ε."""
    length = length_of(problem, guarantee, noise)
    epsilon = guarantee.epsilon_value
    bend = 4 * problem.loss.smoothness * (2 if isinstance(problem.loss, Softmax) else 1)
    least = TUNED.least_ridge_of_hinge if isinstance(problem.loss, SmoothHinge) else TUNED.least_ridge
    return max(length / problem.radius, least * bend / epsilon, 1e-9)  # less, and floats have no minimum


def profile(problem: Problem, strength: float, noise: float, epsilon: float, enough: float = 0.0) -> float:
    """Return δ(ε) of minimum and side releases, rounded up.

    It is the least of several bounds; 1 if nothing is proved. With `enough` it is the first bound that is at most
    `enough`, or a number above `enough`.
    """
    least = 1.0
    for few in problem.extremes(strength):
        least = min(least, _profile(few, noise, epsilon, problem.auxiliary_mu, limit=enough or least))
        if least <= enough:
            break
    return least


def _profile(few: list[Extreme], noise: float, epsilon: float, auxiliary_mu: float, limit: float) -> float:
    """Return the bound of one list, or a number above `limit` as soon as it is known to be above it."""
    if any(extreme.jacobian > epsilon for extreme in few):
        return 1.0
    total = 0.0
    for extreme in few:
        mu = up(math.hypot((1 + NORMS) * extreme.reach / noise, auxiliary_mu))
        total += extreme.count * gaussian_delta(mu, epsilon - extreme.jacobian)
        if total > limit:
            break
    return min(1.0, up(total))


def pure_epsilon(problem: Problem, strength: float, noise: float) -> float:
    """Return ε of the minimum for b ∝ e^{−‖b‖/noise}."""
    lists = problem.extremes(strength)
    return up(min(max(extreme.jacobian + (1 + NORMS) * extreme.reach / noise for extreme in few) for few in lists))


@lru_cache(maxsize=256)
def least_noise(problem: Problem, guarantee: ApproxDP | PureDP) -> float:
    """Return the least σ for the guarantee with output noise, rounded up by at most one millionth."""
    beside = problem
    if isinstance(guarantee, ApproxDP):
        mu = TUNED.output_share * gaussian_mu(guarantee.epsilon_value, guarantee.delta_value)
        beside = replace(problem, auxiliary_mu=math.hypot(problem.auxiliary_mu, mu))

    def keeps(noise: float) -> bool:
        strength = strength_of(problem, guarantee, noise)
        if isinstance(guarantee, PureDP):
            epsilon = guarantee.epsilon_value * (1 - TUNED.output_share**2) * (1 - 1e-12)
            return pure_epsilon(problem, strength, noise) <= epsilon
        delta = guarantee.delta_value
        return profile(beside, strength, noise, guarantee.epsilon_value, enough=delta) <= delta

    low, high = -10.0, 50.0
    if not keeps(math.exp(high)):
        raise InvalidRequest("No amount of noise achieves this guarantee.", "Choose a larger epsilon or delta.")
    return math.exp(bisected(low, high, lambda log: not keeps(math.exp(log)), apart=1e-6)[1])
