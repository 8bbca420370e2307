"""The staircase mechanism: least expected error for one integer answer."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from gaugedp._internal.validate import decimal, one_of
from gaugedp.bodies.base import Body
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import Guarantee, PureDP
from gaugedp.mechanisms.base import AdditiveNoise, lattice_radius
from gaugedp.mechanisms.noise_laws import StairLaw
from gaugedp.mechanisms.pure_within import pure_within
from gaugedp.samplers.choice import choose
from gaugedp.samplers.discrete import MAX_SCALE, check_scale, geometric, symmetric, uniform_below
from gaugedp.samplers.laws import SymmetricLaw


@dataclass(frozen=True)
class StaircaseLaw(SymmetricLaw):
    """The staircase distribution on the integers.

    P(k) ∝ e^(−ε·⌊|k|/Δ⌋)·(1 if |k| mod Δ < r, else e^(−ε)), with Δ = `period` and 1 ≤ r = `stair` ≤ Δ. |k| is Δ·G + J:
    G geometric, J uniform on the first r places of a period or, e^(−ε) times as likely each, on the others.
    """

    epsilon: Fraction
    period: int
    stair: int

    def __post_init__(self) -> None:
        check_scale(self.period * (1 + 1 / self.epsilon))

    @classmethod
    def narrowest(cls, epsilon: Fraction, period: int) -> "StaircaseLaw":
        """Return the distribution of least E|N|, which is convex in the stair."""
        q = _odds(epsilon)
        middle = period * math.sqrt(q / (1 + q)) / (1 + math.sqrt(q / (1 + q))) + 0.5  # Δ(√(q + q²) − q) + 1/2
        stairs = {min(max(1, math.floor(middle) + shift), period) for shift in (-1, 0, 1)}
        return min((cls(epsilon, period, stair) for stair in sorted(stairs)), key=lambda law: law.mean_size)

    def draw(self, size: int, rng: Entropy) -> np.ndarray:
        """Return `size` exact independent draws, dtype int64."""

        def propose(count: int) -> tuple[np.ndarray, np.ndarray]:
            places = np.array([self.stair, self.period - self.stair])  # of weight 1, and of weight e^(−ε)
            parts = choose(np.arange(2), self.epsilon, count, rng, places)
            within = parts * self.stair + uniform_below(places[parts], rng)
            return geometric(count, 1 / self.epsilon, rng) * self.period + within, np.ones(count, dtype=bool)

        return symmetric(size, propose, rng)

    @property
    def mean_size(self) -> float:
        """E|N| = (2Δq·(r + Δq) + r(r − 1) + qΔ(Δ − 1))/(2r − 1 + 2Δq), q = 1/(e^ε − 1)."""
        q, period, stair = _odds(self.epsilon), self.period, self.stair
        return (2 * period * q * self._places + stair * (stair - 1) + q * period * (period - 1)) / self._total

    @property
    def variance(self) -> float:
        """The variance, by periods (docs/theory/staircase.md)."""
        q, period, stair = _odds(self.epsilon), float(self.period), float(self.stair)
        first = stair * (stair - 1) + q * period * (period - 1)
        second = _squares(stair) + q * _squares(period)
        return 2 * (period**2 * self._places * q * (1 + 2 * q) + period * q * first + second) / self._total

    def coverage(self, width: np.ndarray) -> np.ndarray:
        """Return P(|N| ≤ width) in closed form (docs/theory/staircase.md)."""
        periods, place = np.divmod(np.asarray(width) + 1, self.period)
        rate = float(self.epsilon)
        later = np.maximum(self.stair - place, 0) + math.exp(-rate) * (
            self.period - np.maximum(place, self.stair) + self._places
        )
        return 1 - 2 * np.exp(-rate * periods) * later / self._total

    @property
    def _places(self) -> float:
        """Total weight of the magnitudes, r + Δq."""
        return self.stair + self.period * _odds(self.epsilon)

    @property
    def _total(self) -> float:
        return 2 * self._places - 1


@dataclass(frozen=True, eq=False, repr=False)
class Staircase(AdditiveNoise):
    """Noise with the smallest expected error for one answer.

    Use it for a single sum under pure differential privacy. It is more accurate than Laplace noise, above all at a
    large ε. For a count, both are the same. The probabilities of the noise fall in steps, like a staircase, and not
    smoothly.

    Notes
    -----
    Sums are integers in units of a public step, and one unit changes a sum by at most Δ steps. The probabilities of the
    noise fall by the factor e^{−ε} within every Δ steps, on two stairs of the widths r and Δ − r.

    Theorem. The release is ε-DP for every r, because a shift by at most Δ steps changes the probability of an output by
    at most the factor e^ε. With the best r, no other ε-DP noise on the integers has a smaller expected absolute value
    (Geng and Viswanath 2016; docs/theory/staircase.md).

    Examples
    --------
    At ε = 2, the expected size of the noise is 0.43, compared with 0.50 for Laplace noise:

    >>> import gaugedp as gd
    >>> body = gd.bodies.LpBall(1, 1)
    >>> [round(noise.calibrate(body, gd.PureDP(2)).error(1), 2) for noise in (gd.Staircase, gd.Laplace)]
    [0.43, 0.5]
    """

    body: Body
    guarantee: PureDP
    step: Fraction
    law: StaircaseLaw
    name: ClassVar[str] = "Staircase"
    exactness: ClassVar[str] = "exact"
    form: ClassVar[str] = "independent"

    @classmethod
    def calibrate(cls, body: Body, guarantee: Guarantee) -> "Staircase":
        """Return the mechanism for one coordinate and a pure guarantee."""
        if not isinstance(guarantee, PureDP) or guarantee.epsilon_value <= 0:
            raise InvalidRequest(f"Staircase noise does not support {guarantee!r}.", "Use PureDP with epsilon above 0.")
        step, period = _lattice(body)
        return cls(body, guarantee, step, StaircaseLaw.narrowest(decimal(guarantee.epsilon_value), period))

    @classmethod
    def candidates(cls, body: Body, guarantee: Guarantee, weights: np.ndarray | None = None) -> "Iterator[Staircase]":
        """Yield one for an answer of sensitivity 2 or more."""
        if not cls.why_not(body, guarantee, weights):
            yield cls.calibrate(body, pure_within(guarantee))

    @classmethod
    def why_not(cls, body: Body, guarantee: Guarantee, weights: np.ndarray | None = None) -> str:  # noqa: ARG003
        """Return the reason why there is no candidate."""
        if body.ambient_dim > 1:
            return "for one answer"
        _, period = _lattice(body)
        if period * (1 + 1 / pure_within(guarantee).epsilon_value) > MAX_SCALE / 2:
            return "its noise would not fit 64-bit numbers"
        return "identical to Laplace for this query" if period == 1 else ""

    def recalibrated(self, guarantee: Guarantee) -> "Staircase":
        """Return the mechanism for the same body."""
        return Staircase.calibrate(self.body, guarantee)

    @property
    def runs(self) -> tuple[tuple[int, StaircaseLaw]]:
        """One coordinate and its distribution, for audits."""
        return ((1, self.law),)

    def noise_law(self) -> StairLaw:
        """Return the distribution drawn from, with stairs inside periods."""
        return StairLaw(self.law.epsilon, self.law.period)

    @property
    def lattice_step(self) -> Fraction:
        """1 for integer answers, otherwise a small power of two."""
        return self.step

    def draw(self, size: int, rng: Entropy) -> np.ndarray:
        """Return draws in lattice steps."""
        return self.law.draw(size, rng)[:, None]

    @property
    def variances(self) -> np.ndarray:
        """The variance of the distribution."""
        return np.array([self.law.variance]) * float(self.step) ** 2

    def error(self, norm: float = 2, weights: np.ndarray | None = None) -> float:
        """Return the expected size of noise/weight, in closed form."""
        one_of(("1", "2"), norm=f"{norm:g}")
        return self.law.mean_size * float(self.step) / (1.0 if weights is None else float(weights[0]))

    def half_widths(self, level: float, simultaneous: bool = False) -> np.ndarray:  # noqa: ARG002
        """Return the exact quantile of the distribution."""
        return np.array([self.law.half_width(level) * float(self.step)])

    def is_valid_for(self, body: Body) -> bool:
        """Return True if lattices agree and Δ is no larger."""
        if body.ambient_dim != 1:
            return False
        step, period = _lattice(body)
        return step == self.step and period <= self.law.period

    def describe(self) -> str:
        """Return the two widths, in the body's units, and rate."""
        period, stair = (float(self.step) * places for places in (self.law.period, self.law.stair))
        return f"discrete staircase, e^-{float(self.law.epsilon):.6g} every {period:.6g}, first stair {stair:.6g}"


def _lattice(body: Body) -> tuple[Fraction, int]:
    """Return (step, Δ): neighbours' answers differ by at most Δ integer steps."""
    step, radius = lattice_radius(body, 1, None)
    if body.ambient_dim != 1:
        raise InvalidRequest("The staircase mechanism supports only a single answer.", "Use Laplace.")
    return step, math.floor(radius)


def _odds(epsilon: Fraction) -> float:
    """Return q = 1/(e^ε − 1)."""
    rate = float(epsilon)
    return math.exp(-rate) / -math.expm1(-rate)


def _squares(n: float) -> float:
    """Return 0² + 1² + … + (n − 1)²."""
    return (n - 1) * n * (2 * n - 1) / 6
