"""Tridiagonal matrices of nodes in a row, joined by conductances: solved without a subtraction, so with all digits."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gaugedp.mechanisms.strategies.powers import Poles

_NUMBERS = 2**18  # at a time, so that they stay in the cache


@dataclass(frozen=True)
class Chain:
    """A_jj = κ_j + κ_{j+1}, A_{j,j+1} = −κ_{j+1} for n nodes, and masses m (n,) > 0; the ends κ_0, κ_n go to ground.

    `conductances` is κ (n + 1,); all are positive but the ends, which may be 0.
    """

    conductances: np.ndarray
    masses: np.ndarray

    def diagonal(self, poles: Poles) -> np.ndarray:
        """Return the diagonal of Σ_k weight_k·(A + shift_k·diag(m))⁻¹, each entry to 8n² + 256 units of rounding."""
        total = np.zeros(len(self.masses))
        for part, shifts in self._parts(poles):
            left = arriving(self.conductances[:-1], self.masses, shifts)
            right = arriving(self.conductances[:0:-1], self.masses[::-1], shifts)[::-1]
            total += (poles.weights[part] / (left + right + self.masses[:, None] * shifts)).sum(axis=1)
        return total

    def solve(self, poles: Poles, columns: np.ndarray) -> np.ndarray:
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

    def _parts(self, poles: Poles) -> Iterator[tuple[slice, np.ndarray]]:
        size = max(1, _NUMBERS // len(self.masses))
        for start in range(0, len(poles.shifts), size):
            part = slice(start, start + size)
            yield part, poles.shifts[part]


def arriving(conductances: np.ndarray, masses: np.ndarray, shifts: np.ndarray) -> np.ndarray:
    """Return the conductance to ground of all that lies left of each node, shape (n, number of shifts).

    c_0 = κ_0, c_j = κ_j·y/(κ_j + y), y = c_{j−1} + shift·m_{j−1}. About √n blocks of nodes run side by side: each is a
    map c ↦ a + r·c/(c + f), a, r, f > 0, by which the first c of every block is known.
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
    """Return the values in blocks of `width`, shape (width, number of blocks, 1)."""
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
