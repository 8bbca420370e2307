"""Figures that are quotients of linear or quadratic forms of released numbers, and intervals for them.

With x = c + e the released numbers and h(c, θ) = h₀(c) − θ·h₁(c) = 0 for the true figure θ, h(x, θ) is noise alone,
whose law is known but for its gradient. docs/theory/derived.md, theorem 5
"""

from bisect import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gaugedp.mechanisms.noise_widths import safe_rank

OF_GRADIENT, OF_PAIRS, OF_SQUARES = 0.1, 0.05, 0.05  # of the misses: for the gradient twice, for the squares of noise
OF_PLACE = 0.05  # for which cells a quantile may lie in
_PAIRS = 2 * 10**6  # of draws
_MOMENTS = (2, 4, 6)
_LADDER = np.concatenate([[0.0], np.geomspace(1e-6, 1, 25)])  # from the estimate to the end of the range
_HALVINGS = 9


@dataclass(frozen=True, eq=False)
class Form:
    """½·c'Qc + ⟨g, c⟩."""

    linear: np.ndarray
    squares: np.ndarray | None = None

    def at(self, c: np.ndarray) -> float:
        """Return the value."""
        half = 0.0 if self.squares is None else float(c @ self.squares @ c) / 2
        return half + float(self.linear @ c)

    def gradient(self, c: np.ndarray) -> np.ndarray:
        """Return the gradient, shape of c."""
        return self.linear if self.squares is None else self.linear + self.squares @ c


@dataclass(frozen=True, eq=False)
class Quotient:
    """The figure h₀(c)/h₁(c) in [low, high], high infinite where it has no bound; `middle` where h₁ is not positive."""

    top: Form
    bottom: Form
    low: float
    high: float
    middle: float

    @property
    def is_linear(self) -> bool:
        """Whether both forms are."""
        return self.top.squares is None and self.bottom.squares is None

    def value(self, numbers: np.ndarray) -> float:
        """Return the figure of released numbers, kept in its range."""
        bottom = self.bottom.at(numbers)
        return float(np.clip(self.top.at(numbers) / bottom, self.low, self.high)) if bottom > 0 else self.middle

    def under(self, noise: np.ndarray) -> "Interval":
        """Return the intervals for noise of which there are draws (m, k)."""
        return Interval(self, noise)


@dataclass(frozen=True, eq=False)
class Interval:
    """{θ : |h(x, θ)| ≤ its noise} of theorem 5, which holds the true figure with probability 1 − misses."""

    figure: Quotient
    noise: np.ndarray

    def ends(self, numbers: np.ndarray, misses: float) -> tuple[float, float]:
        """Return the least and the largest figure, which hold the estimate too, for released numbers.

        All of the range where the number below the line is not positive.
        """
        figure = self.figure
        if figure.bottom.at(numbers) <= 0:
            return figure.low, figure.high
        flat, steep = (squares.reach(misses) for squares in self._squares)
        of_gradient = misses if figure.is_linear else (1 - OF_GRADIENT - OF_PAIRS - OF_SQUARES) * misses
        along = [self.noise @ form.gradient(numbers) for form in (figure.top, figure.bottom)]
        top, bottom = figure.top.at(numbers), figure.bottom.at(numbers)

        def is_open(value: float) -> bool:
            reach = beyond(np.abs(along[0] - value * along[1]), of_gradient) + flat + abs(value) * steep
            return abs(top - value * bottom) <= reach

        estimate = figure.value(numbers)
        return _end(is_open, estimate, figure.low), _end(is_open, estimate, figure.high)

    @cached_property
    def _squares(self) -> "tuple[Squares, Squares]":
        return Squares(self.figure.top, self.noise), Squares(self.figure.bottom, self.noise)


@dataclass(frozen=True, eq=False)
class Squares:
    """What the squares of noise add: |e'Qẽ| for pairs of draws, and ½·|e'Qe|, of a form."""

    form: Form
    noise: np.ndarray

    def reach(self, misses: float) -> float:
        """Return R + S for half the misses: |e'Qẽ| > R and ½·|e'Qe| > S are seldom enough; 0 of a linear form."""
        if self.form.squares is None:
            return 0.0
        own, pairs = self._sizes
        return beyond(pairs, OF_GRADIENT * OF_PAIRS * misses**2 / 2) + beyond(own, OF_SQUARES * misses / 2)

    @cached_property
    def _sizes(self) -> tuple[np.ndarray, np.ndarray]:
        turned = self.noise @ np.asarray(self.form.squares)
        shifts = np.linspace(1, len(self.noise) - 1, max(_PAIRS // len(self.noise), 1)).astype(int)
        pairs = [np.einsum("ij,ij->i", turned, np.roll(self.noise, int(by), axis=0)) for by in shifts]
        return np.abs(np.einsum("ij,ij->i", turned, self.noise)) / 2, np.abs(np.concatenate(pairs))


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


def _rung(start: float, end: float, step: float) -> float:
    """Return what is a `step`, of 1, from start to end; to infinity straight in θ/(1 + θ), and short of its end."""
    if np.isfinite(end):
        return start + step * (end - start)
    place = (start + min(step, 1 - 1e-9)) / (1 + start)
    return place / (1 - place)


@dataclass(frozen=True, eq=False)
class Lowest:
    """The part that the `share` of rows with the least values has of the total; each row of cell i has values[i] ≥ 0.

    Values grow. Where cell k holds the last of these rows, it is ⟨[i < k]·(v_i − v_k) + share·v_k, c⟩/⟨v, c⟩.
    """

    values: np.ndarray
    share: float

    @cached_property
    def _quotients(self) -> Sequence[Quotient]:
        below = np.tri(len(self.values), k=-1)
        tops = below * (self.values - self.values[:, None]) + self.share * self.values[:, None]
        return [Quotient(Form(top), Form(self.values), 0.0, self.share, self.share) for top in tops]

    def value(self, numbers: np.ndarray) -> float:
        """Return the part, of released counts, of which negative ones do not move the last of the rows."""
        return self._quotients[self.places(np.maximum(numbers, 0), np.zeros(len(numbers)))[0]].value(numbers)

    def under(self, noise: np.ndarray) -> "LowestInterval":
        """Return the intervals for noise of which there are draws (m, k)."""
        sums = np.abs(np.cumsum(noise, axis=1) - self.share * noise.sum(axis=1, keepdims=True))
        return LowestInterval(self, sums, [quotient.under(noise) for quotient in self._quotients])

    def places(self, numbers: np.ndarray, widths: np.ndarray) -> list[int]:
        """Return the cells k for which Σ_{i<k} ≤ share of all ≤ Σ_{i≤k} when sums are off by their widths."""
        sums = np.cumsum(numbers) - self.share * numbers.sum()
        upto, before = sums + widths, np.concatenate([[-np.inf], (sums - widths)[:-1]])
        return np.flatnonzero((before <= 0) & (upto >= 0)).tolist() or [len(numbers) - 1]


@dataclass(frozen=True, eq=False)
class LowestInterval:
    """The hull of the intervals for each cell that may hold the last of the rows."""

    figure: Lowest
    sums: np.ndarray  # draws of the noise of those that tell which cells may
    of_places: Sequence[Interval]

    def ends(self, numbers: np.ndarray, misses: float) -> tuple[float, float]:
        """Return the least and the largest part, which hold the estimate too, for released counts."""
        if numbers.sum() <= 0:
            return 0.0, self.figure.share
        widths = np.array([beyond(column, OF_PLACE * misses / 2) for column in self.sums.T])
        places = self.figure.places(numbers, widths)
        ends = [self.of_places[place].ends(numbers, (1 - OF_PLACE) * misses) for place in places]
        lows, highs = zip(*ends, (self.figure.value(numbers),) * 2, strict=True)
        return min(lows), max(highs)


def gini(values: np.ndarray) -> Quotient:
    """Return Gini's coefficient, ½·Σ c_i·c_j·|v_i − v_j|/(n·Σ c·v), where each row of cell i has values[i] ≥ 0."""
    none = np.zeros(len(values))
    apart = np.abs(values[:, None] - values)
    total = values[:, None] + np.zeros(len(values))
    return Quotient(Form(none, apart), Form(none, total + total.T), 0.0, 1.0, 0.0)


def difference(half_range: float) -> Quotient:
    """Return m − m′ of numbers (sum, count, sum′, count′), sums centred: |means| ≤ half_range."""
    return Quotient(
        _products([(0, 3, 1.0), (2, 1, -1.0)]), _products([(1, 3, 1.0)]), -2 * half_range, 2 * half_range, 0.0
    )


def ratio(middle: float, half_range: float) -> Quotient:
    """Return (middle + m)/(middle + m′) of numbers (sum, count, sum′, count′), sums centred; middle ≥ half_range."""
    low, high = middle - half_range, middle + half_range
    tops = _products([(0, 3, 1.0), (1, 3, middle)])
    bottoms = _products([(2, 1, 1.0), (3, 1, middle)])
    return Quotient(tops, bottoms, low / high, high / low if low > 0 else np.inf, 1.0)


def _products(terms: Sequence[tuple[int, int, float]]) -> Form:
    """Return Σ factor·c_i·c_j of four numbers."""
    squares = np.zeros((4, 4))
    for i, j, factor in terms:
        squares[i, j] += factor
        squares[j, i] += factor
    return Form(np.zeros(4), squares)
