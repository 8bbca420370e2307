"""Figures that are quotients of forms of released numbers, and intervals for them.

With x = c + e the released numbers and h(c, θ) = h₀(c) − θ·h₁(c) = 0 for the true figure θ, h(x, θ) is noise alone,
whose law is known but for c. docs/theory/derived.md, theorem 5
"""

from bisect import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from gaugedp.mechanisms.noise_widths import safe_rank

_MOMENTS = (2, 4, 6)
_LADDER = np.concatenate([[0.0], np.geomspace(1e-6, 1, 25)])  # from the estimate to the end of the range
_HALVINGS = 9
_PLACES = 33  # of figures that are tried, where the number below the line may be 0
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


Form = Quadratic | Highest  # a function of numbers c (k,), with its gradient


@dataclass(frozen=True, eq=False)
class Quotient:
    """The figure h₀(c)/h₁(c) in [low, high], high infinite where there is no bound; defined where h₁ ≥ least > 0."""

    top: Form
    bottom: Form
    low: float
    high: float
    least: float

    def value(self, numbers: np.ndarray) -> float:
        """Return the figure of released numbers, kept in its range."""
        return float(np.clip(self.top.at(numbers) / max(self.bottom.at(numbers), self.least), self.low, self.high))

    def gap(self, numbers: np.ndarray, value: float) -> float:
        """Return h(c, θ), 0 for the true numbers and figure."""
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

    def under(self, noise: np.ndarray) -> "Interval":
        """Return the intervals for noise of which there are draws (m, k)."""
        return Interval(self, noise)


@dataclass(frozen=True, eq=False)
class Interval:
    """{θ : |h(x, θ)| ≤ what it is seldom beyond at the nearest c whose figure is θ}. Theorem 5."""

    figure: Quotient
    noise: np.ndarray

    def ends(self, numbers: np.ndarray, misses: float) -> tuple[float, float]:
        """Return the least and the largest figure, which hold the estimate too, for released numbers."""
        figure = self.figure
        estimate = figure.value(numbers)
        is_open = partial(self.leaves_open, numbers, misses)
        first = last = estimate
        if figure.bottom.at(numbers) < figure.least:  # the estimate may not be open
            first, last = _outermost(is_open, figure.low, figure.high)
        return min(estimate, _end(is_open, first, figure.low)), max(estimate, _end(is_open, last, figure.high))

    def leaves_open(self, numbers: np.ndarray, misses: float, value: float) -> bool:
        """Return whether released numbers leave the figure open."""
        near = self.figure.nearest(numbers, value, self._covariance)
        top, bottom = (around(near) for around in self._around)
        noise = np.abs(top - value * bottom - self.figure.gap(near, value))
        return abs(self.figure.gap(numbers, value)) <= beyond(noise, misses)

    @cached_property
    def _around(self) -> tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], np.ndarray]]:
        return self.figure.top.around(self.noise), self.figure.bottom.around(self.noise)

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


def _end(is_open: Callable[[float], bool], start: float, end: float) -> float:
    """Return the farthest open figure between `start` and `end`, which are open together or to one place."""
    rungs = [_rung(start, end, float(step)) for step in _LADDER]
    if is_open(rungs[-1]):
        return end
    last = bisect(range(1, len(rungs)), False, key=lambda i: not is_open(rungs[i]))
    near, far = rungs[last], rungs[last + 1]
    for _ in range(_HALVINGS):
        middle = (near + far) / 2
        near, far = (middle, far) if is_open(middle) else (near, middle)
    return far


def _outermost(is_open: Callable[[float], bool], low: float, high: float) -> tuple[float, float]:
    """Return the least and the largest open figure of some, at equal distances; the ends where none is."""
    places = [_rung(low, high, float(step)) for step in np.linspace(0, 1, _PLACES)]
    some = [place for place in places if is_open(place)] or [low, high]
    return some[0], some[-1]


def _rung(start: float, end: float, step: float) -> float:
    """Return what is a `step`, of 1, from start to end; to infinity straight in θ/(1 + θ), and short of its end."""
    if np.isfinite(end):
        return start + step * (end - start)
    along = min(step, 1 - 1e-9)
    return (start + along) / (1 - along)


def lowest(values: np.ndarray, share: float) -> Quotient:
    """Return the part of the total that the `share` of rows with the least values has; rows of cell i have values[i].

    Values are from 0 and grow. Where cell k holds the last of these rows, Σ c_i·([i < k]·(v_i − v_k) + share·v_k) is
    their total, and for other k no more: the dual of a linear programme. docs/theory/derived.md
    """
    below = np.tri(len(values), k=-1)
    totals = below * (values - values[:, None]) + share * values[:, None]
    return Quotient(Highest(totals), Highest(values[None]), 0.0, share, values.min())


def gini(values: np.ndarray) -> Quotient:
    """Return Gini's coefficient, ½·Σ c_i·c_j·|v_i − v_j|/(n·Σ c·v), where each row of cell i has values[i] ≥ 0."""
    apart = np.abs(values[:, None] - values)
    total = values[:, None] + np.zeros(len(values))
    return Quotient(Quadratic(apart), Quadratic(total + total.T), 0.0, 1.0, values.min())


def difference(half_range: float) -> Quotient:
    """Return m − m′ of numbers (sum, count, sum′, count′), sums centred: |means| ≤ half_range."""
    return Quotient(
        _products([(0, 3, 1.0), (2, 1, -1.0)]), _products([(1, 3, 1.0)]), -2 * half_range, 2 * half_range, 1.0
    )


def ratio(middle: float, half_range: float, step: float) -> Quotient:
    """Return (middle + m)/(middle + m′) of numbers (sum, count, sum′, count′), sums centred; middle ≥ half_range.

    A sum that is not 0 is at least a step.
    """
    low, high = middle - half_range, middle + half_range
    tops = _products([(0, 3, 1.0), (1, 3, middle)])
    bottoms = _products([(2, 1, 1.0), (3, 1, middle)])
    return Quotient(tops, bottoms, low / high, high / low if low > 0 else np.inf, max(low, step))


def _products(terms: Sequence[tuple[int, int, float]]) -> Quadratic:
    """Return Σ factor·c_i·c_j of four numbers."""
    squares = np.zeros((4, 4))
    for i, j, factor in terms:
        squares[i, j] += factor
        squares[j, i] += factor
    return Quadratic(squares)
