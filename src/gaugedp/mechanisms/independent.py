"""Noise with independent coordinates: what the Laplace and the Gaussian mechanism share."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gaugedp._validate import between, one_of
from gaugedp.entropy import Entropy
from gaugedp.samplers.laws import Law


@dataclass(frozen=True)
class IndependentNoise:
    """Coordinates with laws of their own, in runs: `runs` = ((how many, law), …)."""

    runs: tuple[tuple[int, Law], ...]

    @property
    def ambient_dim(self) -> int:
        """The number of coordinates."""
        return sum(count for count, _ in self.runs)

    def draw(self, size: int, rng: Entropy) -> np.ndarray:
        """Return `size` draws, shape (size, d)."""
        return np.hstack([law.draw(size * count, rng).reshape(size, count) for count, law in self.runs])

    @cached_property
    def variances(self) -> np.ndarray:
        """The variance of each coordinate."""
        return self._spread([law.variance for _, law in self.runs])

    def half_widths(self, level: float, simultaneous: bool) -> np.ndarray:
        """Return each law's own width; all at once by independence, at level^(1/d) each."""
        each = level ** (1 / self.ambient_dim) if simultaneous else level
        return self._spread([law.half_width(each) for _, law in self.runs])

    def expected_norm(self, norm: float, weights: np.ndarray) -> float:
        """Return E‖noise/weights‖, the weights being constant on each run."""
        one_of(("1", "2"), norm=f"{norm:g}")
        scales = weights[np.cumsum([0, *(count for count, _ in self.runs[:-1])])]
        if norm == 1:
            return float(sum(c * _mean_size(law) / w for (c, law), w in zip(self.runs, scales, strict=True)))
        return self._expected_length(scales)

    def _expected_length(self, scales: np.ndarray) -> float:
        """E√S = (2√π)⁻¹·∫ (1 − E e^(−tS))·t^(−3/2) dt, S the sum of squares; on a grid of log t.

        Below the grid 1 − E e^(−tS) = t·E S, above it 1; both tails are added in closed form.
        """
        mean = sum(c * law.variance / w**2 for (c, law), w in zip(self.runs, scales, strict=True))
        if mean == 0:  # noise so narrow that its variance underflows
            return 0.0
        log_t = np.linspace(-30, 40, 1401) - math.log(mean)
        t = np.exp(log_t)
        log_moment = sum(
            count * np.log(law.gaussian_moment(t / w**2)) for (count, law), w in zip(self.runs, scales, strict=True)
        )
        integrand = -np.expm1(log_moment) / np.sqrt(t)  # (1 − E e^(−tS))·t^(−3/2), times dt/dlog t
        core = float(np.trapezoid(integrand, log_t)) if hasattr(np, "trapezoid") else float(np.trapz(integrand, log_t))
        below, above = 2 * mean * math.sqrt(t[0]), 2 / math.sqrt(t[-1])
        return (core + below + above) / (2 * math.sqrt(math.pi))

    def _spread(self, values: Sequence[float]) -> np.ndarray:
        return np.repeat(np.asarray(values, dtype=float), [count for count, _ in self.runs])


def check_level(level: float) -> None:
    """Refuse a level of confidence outside (0, 1)."""
    between(0, 1, level=level)


def as_runs(weights: np.ndarray | None, d: int) -> list[tuple[int, float]]:
    """Return (how many, weight) for each run of equal weights."""
    if weights is None:
        return [(d, 1.0)]
    starts = np.flatnonzero(np.concatenate([[True], weights[1:] != weights[:-1]]))
    lengths = np.diff(np.append(starts, d))
    return [(int(length), float(weights[start])) for start, length in zip(starts, lengths, strict=True)]


def _mean_size(law: Law) -> float:
    """E|N| = Σ_{k ≥ 0} P(|N| > k), in strides of a thousandth of the deviation."""
    std = math.sqrt(law.variance)
    stride = max(1, int(std / 1000))
    width = np.arange(0, int(60 * std) + 60, stride)
    return float((1 - law.coverage(width)).sum()) * stride
