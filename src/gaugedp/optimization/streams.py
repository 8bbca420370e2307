"""Noise for running decayed sums D_t = Σ_{s ≤ t} a^{t−s}·g_s, released at every t: four ways to correlate it."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gaugedp._validate import one_of, whole
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.mechanisms.strategies.toeplitz import square_root
from gaugedp.samplers.continuous import normals

NOISES = ("toeplitz", "tree", "independent", "uniform")
MOST_NUMBERS = 2**27  # of noise kept in memory: 1 GiB
_DRAWN = 2**20  # numbers at a time
_UP = 1 + 2.0**-28  # the rounding of products of up to 10^7 factors, and of the transform


@dataclass(frozen=True)
class NoiseStream(ABC):
    """D = A·g with A_{ts} = a^{t−s} as A = B·C: noise B·w on D_0 … D_{n−1}, w one standard normal vector a step.

    Theorem. Where one row moves g_0 by at most Δ_0, or one later g_s by at most Δ, and each depends on its rows and on
    what was released before, D + σ·B·w is (max(Δ_0·c_0, Δ·c_1)/σ)-GDP, (c_0, c_1) = `columns`. The g may be chosen
    adaptively. docs/theory/stochastic_frank_wolfe.md
    """

    n_steps: int
    decay: float

    @property
    @abstractmethod
    def columns(self) -> tuple[float, float]:
        """‖C·e_0‖₂ and max_{s > 0} ‖C·e_s‖₂ (0 where there is none), rounded up."""

    @property
    @abstractmethod
    def row(self) -> float:
        """max_t ‖B_t‖₂: σ·row is the largest deviation of the noise."""

    @abstractmethod
    def spread(self, units: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
        """Yield (B·w)_t in order, for the vectors w_t of `units`."""

    def check(self, width: int) -> None:  # noqa: B027 - most need little memory
        """Refuse vectors too wide for the memory that the noise takes."""

    def noise(self, width: int, rng: Entropy) -> Iterator[np.ndarray]:
        """Yield (B·w)_t, shape (width,), drawn in floats."""
        self.check(width)
        return self.spread(_units(self.n_steps, width, rng))


@dataclass(frozen=True)
class Independent(NoiseStream):
    """B = 1, C = A: fresh noise for every D_t, calibrated to all the steps that a row lasts.

    A column's norm is (Σ_k a^{2k})^½. `uniform` forgets that a row fades and counts every step in full: √n.
    """

    uniform: bool = False

    @cached_property
    def columns(self) -> tuple[float, float]:
        """(Σ a^{2k})^½, or √n and √(n − 1)."""
        rate = 1.0 if self.uniform else self.decay
        return _lengths(rate ** np.arange(self.n_steps))

    row = 1.0

    def spread(self, units: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
        """Yield what is given."""
        yield from units


@dataclass(frozen=True)
class DyadicTree(NoiseStream):
    """Sums over dyadic intervals, decayed to the interval's end, with noise; D_t adds those that make up [1, t].

    Interval e = 1 … n ends at step e and has as many steps as the largest power of two that divides e. Noise of
    interval e enters D_t with a^{t−e}. Memory: log₂ n vectors. (Dwork and others 2010; Chan, Shi and Song 2011)
    """

    @cached_property
    def columns(self) -> tuple[float, float]:
        """(Σ a^{2(e−s)})^½ over the intervals e that hold s."""
        place, total = np.arange(1, self.n_steps + 1), np.zeros(self.n_steps)
        for level in range(self.n_steps.bit_length()):
            size = 1 << level
            end = -(-place // size) * size
            held = (end // size % 2 == 1) & (end <= self.n_steps)
            total += np.where(held, self.decay ** (2.0 * (end - place)), 0.0)
        return math.sqrt(float(total[0])) * _UP, math.sqrt(float(total[1:].max(initial=0))) * _UP

    @cached_property
    def row(self) -> float:
        """The largest (Σ a^{2(t−e)})^½ over the intervals e that make up [1, t]."""
        place = np.arange(1, self.n_steps + 1)
        end, total = place.copy(), np.zeros(self.n_steps)
        while end.any():
            total += np.where(end > 0, self.decay ** (2.0 * (place - end)), 0.0)
            end &= end - 1
        return math.sqrt(float(total.max()))

    def spread(self, units: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
        """Yield the sums; intervals that a larger one swallows are forgotten."""
        nodes: dict[int, np.ndarray] = {}
        for step, unit in enumerate(units, 1):
            ends = _ends(step)
            nodes = {end: nodes[end] for end in ends[1:]} | {step: unit}
            yield np.sum([self.decay ** (step - end) * nodes[end] for end in ends], axis=0)


@dataclass(frozen=True)
class ToeplitzRoot(NoiseStream):
    """B = C = √A, the lower triangular Toeplitz matrix of c_k = a^k·C(2k, k)/4^k.

    Its generating function is (1 − ax)^{−½}. Column and row are (Σ c_k²)^½, about (1 + log(n)/π)^½ at most. Noise is
    convolved by the fast Fourier transform and kept, 8·n bytes a coordinate; beyond 1 GiB it is refused.
    """

    @cached_property
    def roots(self) -> np.ndarray:
        """c_0 … c_{n−1}."""
        return square_root(self.n_steps) * self.decay ** np.arange(self.n_steps)

    @cached_property
    def columns(self) -> tuple[float, float]:
        """(Σ c_k²)^½, and that without the last."""
        return _lengths(self.roots)

    @cached_property
    def row(self) -> float:
        """(Σ c_k²)^½."""
        return float(np.linalg.norm(self.roots))

    def check(self, width: int) -> None:
        """Refuse more than 1 GiB."""
        if width * self.n_steps > MOST_NUMBERS:
            raise InvalidRequest("The noise would not fit in memory.", 'Take noise="tree".')

    def spread(self, units: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
        """Yield the rows of the convolution."""
        yield from self._convolved(self._table(units)).T

    def _table(self, units: Iterable[np.ndarray]) -> np.ndarray:
        """Return the units as columns, (width, n)."""
        rows = iter(units)
        first = next(rows)
        table = np.empty((first.size, self.n_steps))
        table[:, 0] = first
        for step, unit in enumerate(rows, 1):
            table[:, step] = unit
        return table

    def _convolved(self, table: np.ndarray) -> np.ndarray:
        length = 2 ** math.ceil(math.log2(2 * self.n_steps))
        kernel = np.fft.rfft(self.roots, length)
        height = max(1, _DRAWN // length)
        for start in range(0, len(table), height):
            product = np.fft.rfft(table[start : start + height], length) * kernel
            table[start : start + height] = np.fft.irfft(product, length)[:, : self.n_steps]
        return table


def stream(name: str, n_steps: int, decay: float) -> NoiseStream:
    """Return "toeplitz", "tree", "independent" or "uniform" for `n_steps` sums that decay by the factor `decay`."""
    one_of(NOISES, noise=name)
    whole(minimum=1, n_steps=n_steps)
    if name in ("independent", "uniform"):
        return Independent(n_steps, decay, name == "uniform")
    return ToeplitzRoot(n_steps, decay) if name == "toeplitz" else DyadicTree(n_steps, decay)


def _lengths(column: np.ndarray) -> tuple[float, float]:
    """Return the norms of the first two columns of a lower triangular Toeplitz matrix; later ones are shorter."""
    return float(np.linalg.norm(column)) * _UP, float(np.linalg.norm(column[:-1])) * _UP


def _ends(step: int) -> list[int]:
    """Return the ends of the dyadic intervals that make up [1, step], the last first."""
    ends = []
    while step:
        ends.append(step)
        step &= step - 1
    return ends


def _units(n_steps: int, width: int, rng: Entropy) -> Iterator[np.ndarray]:
    height = max(1, _DRAWN // width)
    for start in range(0, n_steps, height):
        count = min(height, n_steps - start)
        yield from normals(count * width, rng).reshape(count, width)
