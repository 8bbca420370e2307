"""Quotients of forms of released numbers, with intervals.

With x = c + e the released numbers and h(c, θ) = h₀(c) − θ·h₁(c) = 0 for the true value θ, h(x, θ) is pure noise, whose
distribution is known except for c. docs/theory/derived.md, theorem 1
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from gaugedp.mechanisms.noise_widths import safe_rank
from gaugedp.statistics.inversion import values_within

_MOMENTS = (2, 4, 6)
NO_SAMPLING = np.zeros(1)  # sampling errors of numbers that are not of a sample


@dataclass(frozen=True, eq=False)
class Quadratic:
    """The quadratic form ½·c'Qc, Q symmetric."""

    squares: np.ndarray

    def at(self, c: np.ndarray) -> float:
        """Return the value at c."""
        return float(c @ self.squares @ c) / 2

    def gradient(self, c: np.ndarray) -> np.ndarray:
        """Return the gradient Qc."""
        return np.asarray(self.squares @ c)

    def around(self, noise: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Return c ↦ the values (m,) at c + e for draws e (m, k)."""
        halves = np.einsum("ij,ij->i", noise @ self.squares, noise) / 2
        return lambda c: halves + noise @ self.gradient(c) + self.at(c)


@dataclass(frozen=True, eq=False)
class Highest:
    """max ⟨g, c⟩ over the rows g of `factors` (n, k)."""

    factors: np.ndarray

    def at(self, c: np.ndarray) -> float:
        """Return the value at c."""
        return float((self.factors @ c).max())

    def gradient(self, c: np.ndarray) -> np.ndarray:
        """Return the maximising row."""
        return np.asarray(self.factors[np.argmax(self.factors @ c)])

    def around(self, noise: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Return c ↦ the values (m,) at c + e for draws e (m, k)."""
        along = noise @ self.factors.T
        return lambda c: np.asarray((along + self.factors @ c).max(axis=1))


class Pivot(Protocol):
    """Intervals of one statistic, from draws of the noise."""

    @property
    def quotient(self) -> "Quotient":
        """The statistic."""

    def ends(self, numbers: np.ndarray, misses: float, sampling: np.ndarray = NO_SAMPLING) -> tuple[float, float]:
        """Return the interval that fails with probability `misses`, including the estimate.

        `sampling` (k,) bounds the sampling errors of the numbers, which are independent: 0 without sampling error.
        """


class Quotient(Protocol):
    """Statistic of released numbers."""

    def value(self, numbers: np.ndarray) -> float:
        """Return the statistic of released numbers."""

    def pivot(self, noise: np.ndarray) -> Pivot:
        """Return the intervals for noise draws (m, k)."""


@dataclass(frozen=True, eq=False)
class FormQuotient:
    """h₀(c)/h₁(c) in [low, high], high possibly infinite, for h₁ ≥ least > 0."""

    top: Quadratic | Highest
    bottom: Quadratic | Highest
    low: float
    high: float
    least: float

    def value(self, numbers: np.ndarray) -> float:
        """Return the quotient of released numbers, clipped to its range."""
        return float(np.clip(self.top.at(numbers) / max(self.bottom.at(numbers), self.least), self.low, self.high))

    def pivot(self, noise: np.ndarray) -> "FormPivot":
        """Return the intervals for noise draws (m, k)."""
        return FormPivot(self, noise)

    def gap(self, numbers: np.ndarray, value: float) -> float:
        """Return the pivot h(c, θ), 0 at the truth."""
        return self.top.at(numbers) - value * self.bottom.at(numbers)

    def slope(self, numbers: np.ndarray, value: float) -> np.ndarray:
        """Return the gradient of the pivot."""
        return self.top.gradient(numbers) - value * self.bottom.gradient(numbers)

    def nearest(self, numbers: np.ndarray, value: float, covariance: np.ndarray) -> np.ndarray:
        """Return c near the numbers with h(c, θ) = 0, by linear steps in the norm of the noise."""
        c = numbers
        for _ in range(4):  # towards the nearest numbers
            gradient = self.slope(c, value)
            along = covariance @ gradient
            length = gradient @ along
            if not length > 0:
                return c
            c = numbers + along * ((gradient @ (c - numbers) - self.gap(c, value)) / length)
        return c


@dataclass(frozen=True, eq=False)
class FormPivot:
    """{θ : |h(x, θ)| ≤ its quantile at the nearest c of value θ}, by noise draws (m, k)."""

    quotient: FormQuotient
    noise: np.ndarray

    def ends(self, numbers: np.ndarray, misses: float, sampling: np.ndarray = NO_SAMPLING) -> tuple[float, float]:
        """Return the interval of values, including the estimate."""
        quotient = self.quotient
        return values_within(
            lambda value: self.leaves_open(numbers, misses, value, sampling),
            quotient.value(numbers),
            (quotient.low, quotient.high),
            is_inside=quotient.bottom.at(numbers) >= quotient.least,
        )

    def leaves_open(self, numbers: np.ndarray, misses: float, value: float, sampling: np.ndarray = NO_SAMPLING) -> bool:
        """Return whether released numbers leave the value open."""
        near = self.quotient.nearest(numbers, value, self._covariance)
        top, bottom = (around(near) for around in self._around)
        noise = np.abs(top - value * bottom - self.quotient.gap(near, value))
        of_sampling = np.linalg.norm(self.quotient.slope(near, value) * sampling) if sampling.any() else 0.0
        return abs(self.quotient.gap(numbers, value)) <= float(np.hypot(beyond(noise, misses), of_sampling))

    @cached_property
    def _around(self) -> tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], np.ndarray]]:
        return self.quotient.top.around(self.noise), self.quotient.bottom.around(self.noise)

    @cached_property
    def _covariance(self) -> np.ndarray:
        return np.atleast_2d(np.cov(self.noise.T))


def beyond(sizes: np.ndarray, misses: float) -> float:
    """Return a bound exceeded with probability at most `misses`.

    By independent draws (m,): an order statistic three standard errors up, or Markov's bound with a moment.
    """
    rank = safe_rank(len(sizes), 1 - misses)
    if rank is not None:
        return float(np.partition(sizes, rank)[rank])
    largest = float(sizes.max()) or 1.0
    bounds = []
    for power in _MOMENTS:
        powers = (sizes / largest) ** power
        mean = powers.mean() + 3 * powers.std() / np.sqrt(len(powers))
        bounds.append(largest * float(mean / misses) ** (1 / power))
    return min(bounds)
