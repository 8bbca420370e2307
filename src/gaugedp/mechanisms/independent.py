"""Independent noise, shared by the Laplace and the Gaussian mechanism."""

from abc import ABC
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from gaugedp._internal.trial_stream import trial_stream
from gaugedp._internal.validate import one_of
from gaugedp.bodies.base import Body
from gaugedp.entropy import Entropy
from gaugedp.guarantees.base import Guarantee
from gaugedp.mechanisms.base import AdditiveNoise, lattice_radius
from gaugedp.mechanisms.noise_laws import IndependentLaw
from gaugedp.mechanisms.noise_widths import mean_root
from gaugedp.mechanisms.remember import remembered
from gaugedp.samplers.laws import Law


@dataclass(frozen=True, eq=False, repr=False)
class IndependentNoise(AdditiveNoise, ABC):
    """Independent noise of a given distribution on each coordinate.

    Coordinate i has the noise w_i·law(radius), where w, shape (d,), are the `weights` (or ones), and `radius` is the
    ℓ_p radius of body/w in steps. `runs` are pairs (count, law), in order.
    """

    body: Body
    guarantee: Guarantee
    weights: np.ndarray | None
    step: Fraction
    radius: Fraction
    runs: tuple[tuple[int, Law], ...]
    p: ClassVar[float]
    form: ClassVar[str] = "independent"

    @property
    def lattice_step(self) -> Fraction:
        """1 for integer answers, otherwise a small power of two."""
        return self.step

    def draw(self, size: int, rng: Entropy) -> np.ndarray:
        """Return draws in lattice steps."""
        return np.hstack([law.draw(size * count, rng).reshape(size, count) for count, law in self.runs])

    def noise_law(self) -> IndependentLaw:
        """Return the distribution that the draws have."""
        law = self.runs[0][1]
        return IndependentLaw(law.accounting, law.power, tuple((count, law.rate) for count, law in self.runs))

    def trial_noise(self, size: int, seed: int) -> np.ndarray:
        """Return trial draws by numpy's generator."""
        rng = trial_stream(seed)
        parts = [law.trial(size * count, rng).reshape(size, count) for count, law in self.runs]
        return np.hstack(parts) * float(self.step)

    def trials_of(self, places: np.ndarray, size: int, seed: int) -> np.ndarray:
        """Return trial draws of these answers only."""
        rng, trials = trial_stream(seed), np.empty((size, len(places)))
        runs = np.repeat(np.arange(len(self.runs)), [count for count, _ in self.runs])[places]
        for run in np.unique(runs).tolist():
            at = np.flatnonzero(runs == run)
            trials[:, at] = self.runs[run][1].trial(size * len(at), rng).reshape(size, len(at))
        return trials * float(self.step)

    @cached_property
    def variances(self) -> np.ndarray:
        """The variances of the coordinates."""
        return self._spread([law.variance for _, law in self.runs]) * float(self.step) ** 2

    @remembered
    def error(self, norm: float = 2, weights: np.ndarray | None = None) -> float:
        """Return the expected norm of noise/weights, to 1e-4.

        The weights must be constant on runs.
        """
        one_of(("1", "2"), norm=f"{norm:g}")
        starts = np.cumsum([0, *(count for count, _ in self.runs[:-1])])
        scales = np.ones(len(starts)) if weights is None else np.asarray(weights, dtype=float)[starts]
        parts = [(count, law, float(scale)) for (count, law), scale in zip(self.runs, scales, strict=True)]
        mean_sum = sum(count * law.mean_size / scale for count, law, scale in parts)
        return (mean_sum if norm == 1 else _expected_length(parts)) * float(self.step)

    def half_widths(self, level: float, simultaneous: bool = False) -> np.ndarray:
        """Return exact quantiles, at level^(1/d) if `simultaneous`."""
        single_level = level ** (1 / self.body.ambient_dim) if simultaneous else level
        return self._spread([law.half_width(single_level) for _, law in self.runs]) * float(self.step)

    def is_valid_for(self, body: Body) -> bool:
        """Return True if lattices agree and the radius suffices."""
        if body.ambient_dim != self.body.ambient_dim:
            return False
        step, radius = lattice_radius(body, self.p, self.weights)
        return step == self.step and radius <= self.radius

    def _in_units(self, sizes: Sequence[float]) -> str:
        words = in_words([float(self.step) * size for size in sizes])
        return words if self.step == 1 else f"{words} on steps of {self.step}"

    def _spread(self, values: Sequence[float]) -> np.ndarray:
        return np.repeat(np.asarray(values, dtype=float), [count for count, _ in self.runs])


Parts = list[tuple[int, Law, float]]


def laws_for(
    body: Body, weights: np.ndarray | None, radius: Fraction, law: Callable[[Fraction], Law]
) -> tuple[tuple[int, Law], ...]:
    """Return (count, law(weight·radius)) for each run of equal weights."""
    if weights is None:
        return ((body.ambient_dim, law(radius)),)
    starts = np.flatnonzero(np.concatenate([[True], weights[1:] != weights[:-1]]))
    lengths = np.diff(np.append(starts, body.ambient_dim))
    return tuple(
        (int(length), law(radius * Fraction(float(weights[start]))))
        for start, length in zip(starts, lengths, strict=True)
    )


def in_words(scales: Sequence[float]) -> str:
    """Return the smallest and the largest number as text."""
    low, high = min(scales), max(scales)
    return f"{low:.6g}" if low == high else f"{low:.6g} to {high:.6g}"


def _expected_length(parts: Parts) -> float:
    """Return E√S, S the sum of squares over the scales."""
    parts = _alike_together(parts)
    mean = sum(count * law.variance / scale**2 for count, law, scale in parts)
    if sum(count * law.variance for count, law, _ in parts) < 1e-8:  # hardly ever more than one coordinate is ±1
        return sum(count * law.variance / scale for count, law, scale in parts)

    def log_moment(t: np.ndarray) -> np.ndarray:
        return np.sum([count * np.log(law.gaussian_moment(t / scale**2)) for count, law, scale in parts], axis=0)

    return mean_root(mean, log_moment)


def _alike_together(parts: Parts) -> Parts:
    counts: Counter[tuple[Law, float]] = Counter()
    for count, law, scale in parts:
        counts[law, scale] += count
    return [(count, law, scale) for (law, scale), count in counts.items()]
