"""Tridiagonal matrices of conductances, solved without subtractions. All digits are therefore correct."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

_TOLERANCE = 2.0**-30


@dataclass(frozen=True)
class Chain:
    """A chain of nodes with conductances κ and masses m.

    A_jj = κ_j + κ_{j+1}, A_{j,j+1} = −κ_{j+1}; the ends κ_0, κ_n go to ground. `conductances` is κ (n + 1,), all
    positive but the ends, which may be 0; the masses (n,) are positive.
    """

    conductances: np.ndarray
    masses: np.ndarray

    def diagonal(self, poles: "Poles") -> np.ndarray:
        """Return the diagonal of Σ_k weight_k·(A + shift_k·diag(m))⁻¹, to 8n² + 256 roundings."""
        total = np.zeros(len(self.masses))
        for part, shifts in self._parts(poles):
            left = arriving(self.conductances[:-1], self.masses, shifts)
            right = arriving(self.conductances[:0:-1], self.masses[::-1], shifts)[::-1]
            total += (poles.weights[part] / (left + right + self.masses[:, None] * shifts)).sum(axis=1)
        return total

    def solve(self, poles: "Poles", columns: np.ndarray) -> np.ndarray:
        """Return Σ_k weight_k·(A + shift_k·diag(m))⁻¹·columns, columns (n, size)."""
        from scipy.linalg.lapack import dpttrs

        total, rightwards = np.zeros_like(columns), self.conductances[1:]
        n_joints = max(1, len(self.masses) - 1)  # the solver wants one for a single node too
        for part, shifts in self._parts(poles):
            left = arriving(self.conductances[:-1], self.masses, shifts)
            pivots = np.ascontiguousarray((left + self.masses[:, None] * shifts + rightwards[:, None]).T)
            for weight, pivot in zip(poles.weights[part], pivots, strict=True):
                total += weight * dpttrs(pivot, -rightwards[:n_joints] / pivot[:n_joints], columns)[0]
        return total

    def _parts(self, poles: "Poles") -> Iterator[tuple[slice, np.ndarray]]:
        size = max(1, 2**18 // len(self.masses))  # numbers at a time, so that they stay in the cache
        for start in range(0, len(poles.shifts), size):
            part = slice(start, start + size)
            yield part, poles.shifts[part]


def arriving(conductances: np.ndarray, masses: np.ndarray, shifts: np.ndarray) -> np.ndarray:
    """Return the conductance to ground left of each node.

    The shape is (n, shifts). c_0 = κ_0, c_j = κ_j·y/(κ_j + y), y = c_{j−1} + shift·m_{j−1}. About √n blocks of nodes
    run in parallel: each is a map c ↦ a + r·c/(c + f), a, r, f > 0, which yields the first c of every block. After b
    nodes a, r and f are off by at most 5b, 5b² + 6b and 2b³ + 8b² roundings, and every c by less than 4n² + 128.
    """
    first = np.full((1, len(shifts)), conductances[0])
    n_steps = len(masses) - 1
    if n_steps == 0:
        return first
    width = math.isqrt(n_steps)
    steps = list(zip(_blocks(conductances[1:], width, 1.0), _blocks(masses[:-1], width, 0.0), strict=True))
    current = _starts(conductances[0], *_maps(steps, shifts))
    along = np.empty((width, *current.shape))
    for place, (joint, mass) in enumerate(steps):
        total = current + mass * shifts
        current = joint * total / (joint + total)
        along[place] = current
    return np.concatenate([first, along.swapaxes(0, 1).reshape(-1, len(shifts))[:n_steps]])


def _blocks(values: np.ndarray, width: int, filler: float) -> np.ndarray:
    """Return the values in blocks, shape (width, blocks, 1)."""
    padded = np.pad(values, (0, -len(values) % width), constant_values=filler)
    return padded.reshape(-1, width).T[:, :, None]


def _maps(steps: list[tuple[np.ndarray, np.ndarray]], shifts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (a, r, f) of each block."""
    joint, mass = steps[0]
    pole = joint + mass * shifts
    least, reach = joint * (mass * shifts) / pole, joint * joint / pole
    for joint, mass in steps[1:]:
        total = least + mass * shifts
        grounded = joint + total
        both = grounded + reach
        pole = pole * grounded / both
        reach = joint * joint * reach / (grounded * both)
        least = joint * total / grounded
    return least, reach, pole


def _starts(first: float, least: np.ndarray, reach: np.ndarray, pole: np.ndarray) -> np.ndarray:
    starts = np.full_like(least, first)
    for block in range(len(least) - 1):
        starts[block + 1] = least[block] + reach[block] * starts[block] / (starts[block] + pole[block])
    return starts


@dataclass(frozen=True)
class Poles:
    """Σ_k weight_k/(x + shift_k) = x^−α·(1 + ε), |ε| ≤ error, low ≤ x ≤ high, all positive."""

    shifts: np.ndarray
    weights: np.ndarray
    error: float


def negative_power(alpha: float, low: float, high: float) -> Poles:
    """Return poles for x^−α, 0 < α < 1, on [low, high].

    Theorem (docs/theory/matrix.md, theorem 5). x^−α = c·∫ e^((1−α)u)/(e^u + x) du, c = sin(πα)/π. The trapezoidal rule
    of step h = 2π²/y errs by at most 5·e^−y, relative to x^−α. Its nodes s of weights w up to some shift become one
    pole with the same Σ w and Σ w·s, which lowers the sum by at most x^−3·Σ w·s². The nodes from another shift on
    become one pole with the same Σ w/s and Σ w/s², which lowers it by at most x²·Σ w/s³.

    Proof of the last two. Let s̄ be the mean of s under w, and t̄ that of t = 1/s under w·t; a node is w·t/(1 + x·t).
    The functions 1/(s + x) and 1/(1 + x·t) minus their tangents at the means are (s − s̄)²/((s + x)(s̄ + x)²) and
    x²·(t − t̄)²/((1 + x·t)(1 + x·t̄)²), and variances are at most second moments. The relative errors, ∝ x^(α−3) and
    x^(α+2), are largest at `low` and `high`.
    """
    exponent = math.log(20 / _TOLERANCE)
    step = 2 * math.pi**2 / exponent
    height = math.sin(math.pi * alpha) / math.pi * step
    first = low * (_TOLERANCE / 4 / _tail(height, step, 3 - alpha)) ** (1 / (3 - alpha))
    last = high / (_TOLERANCE / 4 / _tail(height, step, 2 + alpha)) ** (1 / (2 + alpha))
    count = math.ceil(math.log(last / first) / step)
    last = first * math.exp(count * step)
    below = [_tail(height, step, 1 - alpha + j) * first ** (1 - alpha + j) for j in range(3)]
    above = [_tail(height, step, alpha + j) * last ** (-alpha - j) for j in range(3)]
    between = first * np.exp(step * np.arange(1, count))
    shifts = np.concatenate([[below[1] / below[0]], between, [above[0] / above[1]]])
    weights = np.concatenate([[below[0]], height * between ** (1 - alpha), [above[0] ** 2 / above[1]]])
    error = 5 * math.exp(-exponent) + below[2] * low ** (alpha - 3) + above[2] * high ** (alpha + 2)
    return Poles(shifts, weights, error)


def _tail(height: float, step: float, power: float) -> float:
    """Return height·Σ_{i ≥ 0} e^(−power·step·i)."""
    return height / (1 - math.exp(-power * step))
