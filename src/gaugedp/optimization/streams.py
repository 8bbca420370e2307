"""Correlated noise for running decayed sums."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gaugedp._internal.rounding import TRANSFORMS
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.mechanisms.strategies.toeplitz import square_root
from gaugedp.samplers.continuous import normals

MOST_NUMBERS = 2**27  # of noise in memory: 1 GiB


@dataclass(frozen=True)
class ToeplitzRoot:
    """Correlated noise C·w for decaying running sums.

    Use it to protect sums that are updated at every step, with less noise than independent draws need. A Toeplitz
    matrix C turns independent standard normal vectors w, one per step, into correlated noise.

    Notes
    -----
    The noise is added to D_0 … D_{n−1}, where D = A·g for the updates g, A_{ts} = a^{t−s} with a = `decay`, and A =
    C·C. C is the lower triangular Toeplitz matrix of c_k = a^k·C(2k, k)/4^k (a binomial coefficient), with the
    generating function (1 − ax)^{−½}. Column and row norms are (Σ c_k²)^½, about (1 + log(n)/π)^½ at most. Noise is
    convolved by the fast Fourier transform and stored in 8·n bytes per coordinate; beyond 1 GiB it is refused.

    Theorem (docs/theory/stochastic_frank_wolfe.md). Let one row change g_0 by at most Δ_0, or one later g_s by at most
    Δ, and let each g depend on its rows and on earlier releases. Then D + σ·C·w is (max(Δ_0·c_0, Δ·c_1)/σ)-GDP, where
    (c_0, c_1) = `columns`. The g may be chosen adaptively.
    """

    n_steps: int
    decay: float

    @cached_property
    def roots(self) -> np.ndarray:
        """The coefficients c_0 … c_{n−1}."""
        return square_root(self.n_steps) * self.decay ** np.arange(self.n_steps)

    @cached_property
    def columns(self) -> tuple[float, float]:
        """The norms ‖C·e_0‖₂ and max_{s > 0} ‖C·e_s‖₂, rounded up."""
        lengths = float(np.linalg.norm(self.roots)), float(np.linalg.norm(self.roots[:-1]))
        return lengths[0] * (1 + TRANSFORMS), lengths[1] * (1 + TRANSFORMS)

    @cached_property
    def row(self) -> float:
        """max_t ‖C_t‖₂: σ·row is the noise's largest standard deviation."""
        return float(np.linalg.norm(self.roots))

    def check(self, width: int) -> None:
        """Refuse noise of more than 1 GiB."""
        if width * self.n_steps > MOST_NUMBERS:
            raise InvalidRequest("The noise of this stream of steps would not fit in memory.", 'Use noise="oja".')

    def noise(self, width: int, rng: Entropy) -> Iterator[np.ndarray]:
        """Yield (C·w)_t, shape (width,), drawn in floats."""
        self.check(width)
        table = np.empty((width, self.n_steps))
        for step, unit in enumerate(steps(self.n_steps, width, rng)):
            table[:, step] = unit
        yield from self.spread(table).T

    def spread(self, table: np.ndarray) -> np.ndarray:
        """Return C·w for columns w_t of `table`, which is overwritten."""
        length = 2 ** math.ceil(math.log2(2 * self.n_steps))
        kernel = np.fft.rfft(self.roots, length)
        height = max(1, 2**20 // length)
        for start in range(0, len(table), height):
            product = np.fft.rfft(table[start : start + height], length) * kernel
            table[start : start + height] = np.fft.irfft(product, length)[:, : self.n_steps]
        return table


def steps(n_steps: int, width: int, rng: Entropy) -> Iterator[np.ndarray]:
    """Yield a standard normal vector, shape (width,), for each step."""
    height = max(1, 2**20 // width)
    for start in range(0, n_steps, height):
        count = min(height, n_steps - start)
        yield from normals(count * width, rng).reshape(count, width)
