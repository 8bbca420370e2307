"""Quotients of forms of released numbers, and intervals for them from draws of the noise.

With x = c + e the released numbers and h(c, θ) = h₀(c) − θ·h₁(c) = 0 for the true value θ, h(x, θ) is noise alone,
whose law is known but for c. docs/theory/derived.md, theorem 5
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gaugedp.mechanisms.noise_widths import safe_rank
from gaugedp.statistics.inversion import values_within

_MOMENTS = (2, 4, 6)
_STEPS = 4  # towards the numbers nearest to the released ones


@dataclass(frozen=True, eq=False)
class Quadratic:
    """½·c'Qc, Q symmetric."""

    squares: np.ndarray

    def at(self, c: np.ndarray) -> float:
        """Return the value."""
        return float(c @ self.squares @ c) / 2

    def gradient(self, c: np.ndarray) -> np.ndarray:
        """Return Qc."""
        return np.asarray(self.squares @ c)

    def around(self, noise: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Return c ↦ the values (m,) at c + e for draws e (m, k)."""
        halves = np.einsum("ij,ij->i", noise @ self.squares, noise) / 2
        return lambda c: halves + noise @ self.gradient(c) + self.at(c)


@dataclass(frozen=True, eq=False)
class Highest:
    """The largest of ⟨g, c⟩ for rows g of `factors` (n, k): of one row, a linear form."""

    factors: np.ndarray

    def at(self, c: np.ndarray) -> float:
        """Return the value."""
        return float((self.factors @ c).max())

    def gradient(self, c: np.ndarray) -> np.ndarray:
        """Return the row of the largest."""
        return np.asarray(self.factors[np.argmax(self.factors @ c)])

    def around(self, noise: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Return c ↦ the values (m,) at c + e for draws e (m, k)."""
        along = noise @ self.factors.T
        return lambda c: np.asarray((along + self.factors @ c).max(axis=1))


@dataclass(frozen=True, eq=False)
class FormQuotient:
    """h₀(c)/h₁(c) in [low, high], high infinite where there is no bound; defined where h₁ ≥ least > 0."""

    top: Quadratic | Highest
    bottom: Quadratic | Highest
    low: float
    high: float
    least: float

    def value(self, numbers: np.ndarray) -> float:
        """Return the quotient of released numbers, kept in its range."""
        return float(np.clip(self.top.at(numbers) / max(self.bottom.at(numbers), self.least), self.low, self.high))

    def gap(self, numbers: np.ndarray, value: float) -> float:
        """Return the pivot h(c, θ), 0 for the true numbers and value."""
        return self.top.at(numbers) - value * self.bottom.at(numbers)

    def nearest(self, numbers: np.ndarray, value: float, covariance: np.ndarray) -> np.ndarray:
        """Return c with h(c, θ) = 0 near the numbers, in the norm of the noise, by steps that would do for linear h."""
        c = numbers
        for _ in range(_STEPS):
            gradient = self.top.gradient(c) - value * self.bottom.gradient(c)
            along = covariance @ gradient
            length = gradient @ along
            if not length > 0:
                return c
            c = numbers + along * ((gradient @ (c - numbers) - self.gap(c, value)) / length)
        return c


@dataclass(frozen=True, eq=False)
class FormPivot:
    """{θ : |h(x, θ)| ≤ what it is seldom beyond at the nearest c whose value is θ}, by draws of noise (m, k)."""

    quotient: FormQuotient
    noise: np.ndarray

    def ends(self, numbers: np.ndarray, misses: float) -> tuple[float, float]:
        """Return the least and the largest value, which hold the estimate too, for released numbers."""
        quotient = self.quotient
        return values_within(
            lambda value: self.leaves_open(numbers, misses, value),
            quotient.value(numbers),
            (quotient.low, quotient.high),
            is_inside=quotient.bottom.at(numbers) >= quotient.least,
        )

    def leaves_open(self, numbers: np.ndarray, misses: float, value: float) -> bool:
        """Return whether released numbers leave the value open."""
        near = self.quotient.nearest(numbers, value, self._covariance)
        top, bottom = (around(near) for around in self._around)
        noise = np.abs(top - value * bottom - self.quotient.gap(near, value))
        return abs(self.quotient.gap(numbers, value)) <= beyond(noise, misses)

    @cached_property
    def _around(self) -> tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], np.ndarray]]:
        return self.quotient.top.around(self.noise), self.quotient.bottom.around(self.noise)

    @cached_property
    def _covariance(self) -> np.ndarray:
        return np.atleast_2d(np.cov(self.noise.T))


def beyond(sizes: np.ndarray, misses: float) -> float:
    """Return what a size is beyond with probability at most `misses`, by independent draws of it (m,).

    An order statistic three standard errors up; where draws are too few, Markov's bound with a moment, as far up.
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
