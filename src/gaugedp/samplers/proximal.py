"""The proximal sampler: strongly log-concave laws by exact rejection, with a proof of how near it is."""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gaugedp._internal.progress import Progress
from gaugedp.entropy import Entropy
from gaugedp.samplers.continuous import exponentials, normals


class Potential(Protocol):
    """f on ℝ^d, convex; the law has the density ∝ e^{−f}. Points are (k, d), each by itself."""

    def value(self, points: np.ndarray) -> np.ndarray:
        """Return f, shape (k,)."""

    def gradient(self, points: np.ndarray) -> np.ndarray:
        """Return a subgradient of f, shape (k, d)."""


class Ball(Protocol):
    """{x : ‖x‖ ≤ radius} of a norm."""

    @property
    def radius(self) -> float:
        """The radius."""

    @property
    def bend(self) -> float:
        """1/radius where the norm is ‖·‖₂, else 0."""

    def norm(self, points: np.ndarray) -> np.ndarray:
        """Return ‖x‖, shape (k,)."""

    def normal(self, points: np.ndarray) -> np.ndarray:
        """Return a subgradient of the norm at x ≠ 0, shape (k, d)."""


@dataclass(frozen=True, eq=False)
class ProximalSampler:
    """Draws from the law ∝ e^{−f} on a ball, up to 2τ-GDP; a test may leave the `ball` out.

    Hypotheses, which the supplier proves: f is λ-strongly convex in ℓ₂, λ = `convexity`; no point of the ball is
    further from the start than `distance`. `step` is η > 0.

    Theorem (docs/theory/gibbs.md). From x = 0 repeat T times: y = x + √η·N(0, I), then x from the density
    ∝ e^{−f(x) − ‖x − y‖²/(2η)}, exactly, by rejection. With a = (1 + ηλ)² and 2τ = `distance`·√((a − 1)/(a^T − 1)/η)
    its law and that of e^{−f} are 2τ-GDP, and so within τ in total variation. (The sampler: Lee, Shen and Tian 2021;
    Chen, Chewi, Salim and Wibisono 2022. The distance: Bok, Su and Altschuler 2024.)

    The rejection needs neither the smoothness of f nor an exact proximal point: at any point x̂ with a subgradient v,
    strong convexity puts a Gaussian over the density. Both decide only how many trials a step takes, e^{1/2} or so for
    η ≤ 1/trace of the Hessian. That number depends on f, and so does the time of a draw; nothing else does.
    """

    potential: Potential
    convexity: float
    step: float
    distance: float
    ball: Ball | None = None

    def steps(self, total_variation: float) -> int:
        """Return the least T that is proved to be enough."""
        return least_steps(self.step, self.convexity, self.distance, total_variation)

    def draw(self, shape: tuple[int, int], steps: int, rng: Entropy, progress: Progress = lambda _: None) -> np.ndarray:
        """Return independent points after `steps` steps each, `shape` = (how many, d)."""
        points = np.zeros(shape)
        for t in range(steps):
            places = points + math.sqrt(self.step) * normals(points.size, rng).reshape(shape)
            points = self._oracle(places, rng)[0]
            progress((t + 1) / steps)
        return points

    def trials(self, points: np.ndarray, rng: Entropy) -> float:
        """Return how many proposals a step from these points takes on average, (k, d): for tests and benchmarks."""
        return self._oracle(points + math.sqrt(self.step) * normals(points.size, rng).reshape(points.shape), rng)[1]

    def _oracle(self, places: np.ndarray, rng: Entropy) -> tuple[np.ndarray, float]:
        """Draw from ∝ e^{−f(x) − ‖x − y‖²/(2η)} for the rows y; return the mean number of proposals too."""
        envelope = Envelope.around(self, places)
        draws, missing, count = np.empty_like(places), np.arange(len(places)), 0
        while len(missing):
            here = envelope.of(missing)
            points, logs = here.propose(rng)
            count += len(missing)
            gaps = self._proximal(points, places[missing]) - logs
            accepted = exponentials(len(missing), rng) >= gaps
            if self.ball is not None:
                accepted &= self.ball.norm(points) <= self.ball.radius
            draws[missing[accepted]] = points[accepted]
            missing = missing[~accepted]
        return draws, count / len(places)

    def _proximal(self, points: np.ndarray, places: np.ndarray) -> np.ndarray:
        return self.potential.value(points) + ((points - places) ** 2).sum(axis=1) / (2 * self.step)

    def _slope(self, points: np.ndarray, places: np.ndarray) -> np.ndarray:
        return self.potential.gradient(points) + (points - places) / self.step

    def descend(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return points near argmin f(x) + ‖x − y‖²/(2η), the best of a fixed number of gradient steps; and slopes."""
        points = best = places
        slopes = least = self._slope(points, places)
        pace = 1 / (1.25 / self.step + self.convexity)
        for _ in range(3):  # gradient steps towards a proximal point: always as many, whatever the potential
            points = points - pace * slopes
            slopes = self._slope(points, places)
            better = (slopes**2).sum(axis=1, keepdims=True) < (least**2).sum(axis=1, keepdims=True)
            best, least = np.where(better, points, best), np.where(better, slopes, least)
        return best, least


def least_steps(step: float, convexity: float, distance: float, total_variation: float) -> int:
    """Return the least T of the theorem above."""
    growth = 2 * math.log1p(step * convexity * (1 - 1e-12))
    ratio = 2 * math.log(distance / (2 * math.sqrt(step) * total_variation)) + math.log(math.expm1(growth))
    return max(1, math.ceil(float(np.logaddexp(0, ratio + 1e-9)) / growth))


@dataclass(frozen=True, eq=False)
class Envelope:
    """A law over e^{−g}, g strongly convex with constant A = `precision`: from any x̂ with a subgradient v of g.

    g(x) ≥ g(x̂) + ⟨v, x − x̂⟩ + (A/2)·‖x − x̂‖². In the open that is a Gaussian about x̂ − v/A. At a wall, x̂ on the ball
    with the unit normal u and the push f = −⟨v, u⟩ > √A: write x − x̂ = t − (s + b·‖t‖²/2)·u, t ⊥ u, b the `bend`
    (1/radius of a Euclidean ball, 0 else). The ball lies where s ≥ 0, and there e^{−g} is at most a constant times
    e^{−fs}·e^{−(B/2)·‖t + v_t/B‖²}, B = A + fb, v_t = v + fu: an exponential and a Gaussian.
    """

    precision: float
    bend: float
    points: np.ndarray
    slopes: np.ndarray
    heights: np.ndarray
    normals: np.ndarray
    pushes: np.ndarray

    @classmethod
    def around(cls, sampler: ProximalSampler, places: np.ndarray) -> "Envelope":
        """Return the envelope from near the proximal points, pulled back to the ball where there is one."""
        precision = 1 / sampler.step + sampler.convexity
        points, slopes = sampler.descend(places)
        ball, walls, pushes = sampler.ball, np.zeros_like(points), np.zeros(len(points))
        if ball is not None and (outside := ball.norm(points) > ball.radius).any():
            points[outside] *= ball.radius / ball.norm(points[outside])[:, None]
            slopes[outside] = sampler._slope(points[outside], places[outside])
            walls[outside] = _unit(ball.normal(points[outside]))
            outward = -(slopes * walls).sum(axis=1)
            pushes = np.where(outward > math.sqrt(precision), outward, 0.0)
            walls[pushes == 0] = 0.0
        bend = 0.0 if ball is None else ball.bend
        return cls(precision, bend, points, slopes, sampler._proximal(points, places), walls, pushes)

    def of(self, rows: np.ndarray) -> "Envelope":
        """Return the part of these rows."""
        parts = (part[rows] for part in (self.points, self.slopes, self.heights, self.normals, self.pushes))
        return Envelope(self.precision, self.bend, *parts)

    def propose(self, rng: Entropy) -> tuple[np.ndarray, np.ndarray]:
        """Return one proposal a row, and the negative log of the envelope there, shapes (k, d) and (k,)."""
        precisions = self.precision + self.pushes * self.bend
        aside = self.slopes + self.pushes[:, None] * self.normals
        shifts = normals(self.points.size, rng).reshape(self.points.shape) / np.sqrt(precisions)[:, None]
        shifts -= (shifts * self.normals).sum(axis=1)[:, None] * self.normals
        moves = shifts - aside / precisions[:, None]
        waits = np.where(self.pushes > 0, exponentials(len(moves), rng), 0.0)
        depths = waits / np.where(self.pushes > 0, self.pushes, 1.0) + self.bend * (moves**2).sum(axis=1) / 2
        logs = self.heights - (aside**2).sum(axis=1) / (2 * precisions)
        logs += precisions * (shifts**2).sum(axis=1) / 2 + waits
        return self.points + moves - depths[:, None] * self.normals, logs


def _unit(directions: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(directions, axis=1, keepdims=True)
    return np.divide(directions, lengths, out=np.zeros_like(directions), where=lengths > 0)
