"""One-dimensional distributions on the integers: sampling and width."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
import scipy

from gaugedp._internal.trial_stream import TrialStream
from gaugedp._internal.validate import between
from gaugedp.entropy import Entropy
from gaugedp.samplers.discrete import check_scale, discrete_gaussian, discrete_laplace, rounded_gaussian
from gaugedp.samplers.tuning import TUNED


class SymmetricLaw(ABC):
    """Spread of a symmetric distribution on the integers."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """The variance E N²."""

    @abstractmethod
    def coverage(self, width: np.ndarray) -> np.ndarray:
        """Return P(|N| ≤ width) for integer widths ≥ 0."""

    def beyond(self, width: np.ndarray) -> np.ndarray:
        """Return P(|N| > width), overridden to keep digits of small chances."""
        return 1 - self.coverage(width)

    @property
    def mean_size(self) -> float:
        """E|N| = Σ_{k ≥ 0} P(|N| > k), by Euler and Maclaurin."""
        std = math.sqrt(self.variance)
        stride = max(1, int(std / 1000))
        beyond = self.beyond(np.arange(0, int(60 * std) + 60, stride))
        return float(stride * beyond.sum() - (stride - 1) * beyond[0] / 2)

    def half_width(self, level: float) -> int:
        """Return the least integer width of coverage ≥ `level`, in (0, 1)."""
        between(0, 1, level=level)
        low, high = -1, max(1, int(2 * math.sqrt(self.variance)))
        while float(self.coverage(np.array(high))) < level:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if float(self.coverage(np.array(middle))) >= level else (middle, high)
        return high


class Law(SymmetricLaw):
    """Symmetric distribution on the integers with an exact sampler.

    A shift by z costs rate·|z|^power in the numbers of `accounting`: ε ("pure"), μ² ("gaussian") or ρ ("zcdp").
    """

    accounting: ClassVar[str]
    power: ClassVar[int] = 2

    @property
    @abstractmethod
    def rate(self) -> Fraction:
        """The cost of a shift by one."""

    @abstractmethod
    def draw(self, size: int, rng: Entropy) -> np.ndarray:
        """Return `size` exact independent draws, dtype int64."""

    def trial(self, size: int, rng: TrialStream) -> np.ndarray:
        """Return `size` draws for simulations, never for release."""
        # 1 - 1e-9: of the magnitudes of trial draws, of which some 10^7 are made at most
        # 10**5: widths, between which they are straight, where there are more
        widths = np.linspace(0, self.half_width(1 - 1e-9), 10**5).astype(np.int64)
        widths = widths[np.diff(widths, prepend=-1) > 0]
        magnitudes = np.ceil(np.interp(rng.random(size), self.coverage(widths), widths))
        return magnitudes * rng.choice((-1.0, 1.0), size)

    @abstractmethod
    def gaussian_moment(self, rate: np.ndarray) -> np.ndarray:
        """Return E e^(−rate·N²), shape of `rate` ≥ 0."""


@dataclass(frozen=True)
class DiscreteLaplace(Law):
    """P(k) ∝ e^(−|k|/scale)."""

    scale: Fraction
    accounting: ClassVar[str] = "pure"
    power: ClassVar[int] = 1

    def __post_init__(self) -> None:
        check_scale(self.scale)

    @property
    def rate(self) -> Fraction:
        """1/scale."""
        return 1 / self.scale

    def draw(self, size: int, rng: Entropy) -> np.ndarray:
        """Return exact draws of `discrete_laplace`."""
        return discrete_laplace(size, self.scale, rng)

    @property
    def variance(self) -> float:
        """2q/(1 − q)², q = e^(−1/scale)."""
        rate = float(1 / self.scale)
        return 2 * math.exp(-rate) / math.expm1(-rate) ** 2

    def coverage(self, width: np.ndarray) -> np.ndarray:
        """Return 1 − 2q^(width + 1)/(1 + q)."""
        return 1 - self.beyond(width)

    def beyond(self, width: np.ndarray) -> np.ndarray:
        """Return 2q^(width + 1)/(1 + q)."""
        rate = float(1 / self.scale)
        return 2 * np.exp(-rate * (np.asarray(width, dtype=float) + 1)) / (1 + math.exp(-rate))

    def gaussian_moment(self, rate: np.ndarray) -> np.ndarray:
        """Return a sum, or √π·u·erfcx(u) with u = 1/(2·scale·√rate)."""
        if self.scale <= TUNED.summed_scale:
            magnitude = np.arange(int(40 * self.scale) + 40)
            weight = np.exp(-magnitude / float(self.scale)) * np.where(magnitude > 0, 2, 1)
            return _moment(rate, magnitude, weight)
        u = 1 / (2 * float(self.scale) * np.sqrt(rate))
        return math.sqrt(math.pi) * u * scipy.special.erfcx(u)


@dataclass(frozen=True)
class DiscreteGaussian(Law):
    """P(k) ∝ e^(−k²/(2·parameter))."""

    parameter: Fraction
    accounting: ClassVar[str] = "zcdp"

    def __post_init__(self) -> None:
        check_scale(Fraction(math.isqrt(math.ceil(self.parameter))))

    @property
    def rate(self) -> Fraction:
        """1/(2·parameter) (Canonne, Kamath and Steinke 2020, theorem 4)."""
        return 1 / (2 * self.parameter)

    def draw(self, size: int, rng: Entropy) -> np.ndarray:
        """Return exact draws of `discrete_gaussian`."""
        return discrete_gaussian(size, self.parameter, rng)

    @property
    def variance(self) -> float:
        """A sum; for large scales the parameter."""
        if self.parameter > TUNED.summed_scale**2:
            return float(self.parameter)
        magnitude, weight = self._weights()
        return float((magnitude.astype(float) ** 2 * weight).sum() / weight.sum())

    def coverage(self, width: np.ndarray) -> np.ndarray:
        """Return a sum, or a rounded normal's coverage."""
        if self.parameter > TUNED.summed_scale**2:
            return _normal_coverage(width, float(self.parameter))
        _, weight = self._weights()
        running = np.cumsum(weight) / weight.sum()
        running[-1] = 1.0  # whatever the rounding of the sum
        return running[np.minimum(np.asarray(width), len(running) - 1)]

    def beyond(self, width: np.ndarray) -> np.ndarray:
        """Return a sum, or what a rounded normal leaves."""
        if self.parameter > TUNED.summed_scale**2:
            return super().beyond(width)
        _, weight = self._weights()
        left = np.append(np.cumsum(weight[::-1])[::-1], 0.0) / weight.sum()
        return left[np.minimum(np.asarray(width) + 1, len(weight))]

    def gaussian_moment(self, rate: np.ndarray) -> np.ndarray:
        """Return a sum, or (1 + 2·rate·variance)^(−1/2)."""
        if self.parameter > TUNED.summed_scale**2:
            return 1 / np.sqrt(1 + 2 * rate * float(self.parameter))
        return _moment(rate, *self._weights())

    def _weights(self) -> tuple[np.ndarray, np.ndarray]:
        parameter = float(self.parameter)
        magnitude = np.arange(int(12 * math.sqrt(parameter)) + 12)
        return magnitude, np.exp(-(magnitude.astype(float) ** 2) / (2 * parameter)) * np.where(magnitude > 0, 2, 1)


@dataclass(frozen=True)
class RoundedGaussian(Law):
    """Normal variable of deviation `std`, rounded to integers."""

    std: Fraction
    accounting: ClassVar[str] = "gaussian"

    def __post_init__(self) -> None:
        check_scale(self.std)

    @property
    def rate(self) -> Fraction:
        """1/std²: rounding is post-processing, as shifts are integers."""
        return 1 / self.std**2

    def draw(self, size: int, rng: Entropy) -> np.ndarray:
        """Return exact draws of `rounded_gaussian`."""
        return rounded_gaussian(size, self.std, rng)

    @property
    def variance(self) -> float:
        """Σ (2k + 1)·P(|N| > k), or std² + 1/12 for large scales."""
        if self.std > TUNED.summed_scale:
            return float(self.std) ** 2 + 1 / 12
        width = np.arange(int(12 * self.std) + 12)
        return float(((2 * width + 1) * self.beyond(width)).sum())

    def coverage(self, width: np.ndarray) -> np.ndarray:
        """Return erf((width + 1/2)/(std·√2))."""
        return _normal_coverage(width, float(self.std) ** 2)

    def beyond(self, width: np.ndarray) -> np.ndarray:
        """Return erfc((width + 1/2)/(std·√2))."""
        return scipy.special.erfc((np.asarray(width) + 0.5) / (math.sqrt(2) * float(self.std)))

    def gaussian_moment(self, rate: np.ndarray) -> np.ndarray:
        """Return a sum, or a normal's moment."""
        if self.std > TUNED.summed_scale:
            return 1 / np.sqrt(1 + 2 * rate * self.variance)
        magnitude = np.arange(int(12 * self.std) + 12)
        weight = np.diff(self.coverage(magnitude), prepend=0.0)
        return _moment(rate, magnitude, weight)


@dataclass(frozen=True)
class LaplaceSum(SymmetricLaw):
    """Sum of `count` independent discrete Laplace variables."""

    scale: Fraction
    count: int

    @property
    def variance(self) -> float:
        """The sum of the variances."""
        return self.count * DiscreteLaplace(self.scale).variance

    def coverage(self, width: np.ndarray) -> np.ndarray:
        """Return P(|S| ≤ w), lowered by 1e-9.

        It is π⁻¹·∫₀^π φ(θ)^count·sin((w + 1/2)θ)/sin(θ/2) dθ, and 1e-9 covers the error of the trapezoid rule. A step h
        adds the mass beyond 2π/h − w, which is chosen 80 deviations away. φ(θ) is the single characteristic function
        1/(1 + sin²(θ/2)/sinh²(1/(2·scale))).
        """
        if self.count == 1:
            return DiscreteLaplace(self.scale).coverage(width)
        n_points, theta, weights, at_zero = self._series
        places = np.ravel(np.asarray(width, dtype=float))
        total = (2 * places + 1) * at_zero
        for start in range(0, len(places), 128):  # widths, whose sums take some 30 MB
            part = slice(start, start + 128)
            total[part] += np.sin(np.multiply.outer(places[part] + 0.5, theta)) @ weights
        return np.clip(total / n_points - 1e-9, 0, 1).reshape(np.shape(width))

    @cached_property
    def _series(self) -> tuple[int, np.ndarray, np.ndarray, float]:
        """Number of trapezoids, angles above 0, φ^count/sin(θ/2) there, and half of φ^count at 0."""
        steepness = math.sinh(min(1 / (2 * float(self.scale)), 350.0))
        step = min(2 * math.pi / (80 * max(1.0, math.sqrt(self.variance))), math.pi / 64)
        n_points = math.ceil(math.pi / step)
        # 2**15: where the scale is wide, the characteristic function has long vanished by then
        theta = np.arange(min(n_points, 2**15) + 1) * (math.pi / n_points)
        power = np.exp(-self.count * np.log1p((np.sin(theta / 2) / steepness) ** 2))
        power[0] /= 2
        power[n_points:] /= 2
        # 1e-14: of a characteristic function: the rest of the sum is far below the 1e-9 that is taken off
        last = 1 + int(np.flatnonzero(power >= 1e-14)[-1])  # power falls as θ grows
        return n_points, theta[1:last], power[1:last] / np.sin(theta[1:last] / 2), float(power[0])


def _moment(rate: np.ndarray, magnitude: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return np.exp(-np.multiply.outer(rate, magnitude.astype(float) ** 2)) @ weight / weight.sum()


def _normal_coverage(width: np.ndarray, variance: float) -> np.ndarray:
    return scipy.special.erf((np.asarray(width, dtype=float) + 0.5) / math.sqrt(2 * variance))
