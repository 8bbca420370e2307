"""Exact decisions whether integer points lie in multiples of a polytope."""

import math
from fractions import Fraction

import numpy as np

from gaugedp._internal.rounding import UNIT
from gaugedp.bodies.frame import independent
from gaugedp.errors import InvalidRequest

_MOST_PIVOTS = 400
_PIVOT_TOLERANCE = 1e-9
_WEIGHT_BITS, _FUNCTIONAL_BITS = 12, 22  # binary digits of weights and functionals in certificates


class GaugeSide:
    """Membership in t·K, K = conv{±w_j} for the columns w_j of an integer matrix (r, n) of rank r.

    The simplex method in floats proposes certificates, and integers verify them: weights x with W·x close to the point
    and Σ|x| small prove that it is inside, a functional g with |⟨g, w_j⟩| ≤ c and |⟨g, point⟩| > c·t that it is
    outside. What neither decides is decided by the simplex method in rational numbers (docs/theory/flat_knorm.md).
    """

    def __init__(self, columns: np.ndarray) -> None:
        self.columns, self._whole = np.asarray(columns, dtype=float), columns.astype(np.int64)
        self.start = independent(self.columns)
        self.inverse = np.linalg.inv(self.columns[:, self.start])
        self._unit_gauge = _sum_of_inverse(self.columns[:, self.start], self.inverse)
        self._longest = len(self.columns) * float(np.abs(self.columns).max())
        self._growth = 2.0**_WEIGHT_BITS * self._unit_gauge * self._longest * self.columns.shape[1]

    def inside(self, points: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Return whether ‖point‖_K ≤ size, for integer points (k, r) and sizes ≥ 0 (k,), int64."""
        values, weights, duals = self.programs(points / np.maximum(sizes, 1)[:, None])
        is_in = (values <= 1) & (self._sums_above(points, sizes[:, None] * weights) <= sizes << _WEIGHT_BITS)
        left = np.flatnonzero(~is_in & ~self._is_beyond(points, sizes, duals))
        for place in left:
            is_in[place] = exact_gauge(self.columns, self.start, points[place].tolist()) <= int(sizes[place])
        return is_in

    def multiples(self, points: np.ndarray, unit: int) -> np.ndarray:
        """Return the least k ≥ 1 with ‖point‖_K ≤ k·unit, for integer points (k, r), int64."""
        values, weights, duals = self.programs(points / unit)
        found = np.maximum(1, np.ceil(values)).astype(np.int64)
        is_sure = self._sums_above(points, unit * weights) <= found * unit << _WEIGHT_BITS
        is_sure &= (found == 1) | self._is_beyond(points, (found - 1) * unit, duals)
        for place in np.flatnonzero(~is_sure):
            gauge = exact_gauge(self.columns, self.start, points[place].tolist())
            found[place] = max(1, math.ceil(gauge / unit))
        return found

    def programs(self, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return min Σ|x| with W·x = target, the weights x (k, n) and dual functionals (k, r), in floats."""
        # 128 programs are solved together
        parts = [self._solved(targets[first : first + 128]) for first in range(0, max(1, len(targets)), 128)]
        values, weights, duals = (np.concatenate(part) for part in zip(*parts, strict=True))
        return values, weights, duals

    def functionals(self, duals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return integer functionals near multiples of `duals` (k, r), and their maxima |⟨g, w_j⟩| (k,)."""
        found = np.rint(np.ldexp(duals, _FUNCTIONAL_BITS))
        missing = np.arange(len(duals))
        for size in range(1, 65):
            numbers = duals[missing] * size
            is_close = np.abs(numbers - np.rint(numbers)).max(axis=1, initial=0.0) < 1e-6
            found[missing[is_close]] = np.rint(numbers[is_close])
            missing = missing[~is_close]
        return found, np.abs(found @ self.columns).max(axis=1)

    def _sums_above(self, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return upper bounds of 2^_WEIGHT_BITS gauges: Σ|x| of rounded weights, and the gauge of what they miss."""
        largest = max(np.abs(points).max(initial=0), np.abs(weights).max(initial=0.0))
        if not float(largest) * self._growth < 2.0**62:  # sums fit 64 bits
            return np.full(len(points), 2**62)
        chosen = np.rint(np.ldexp(weights, _WEIGHT_BITS)).astype(np.int64)
        missed = (points << _WEIGHT_BITS) - chosen @ self._whole.T
        return np.asarray(np.abs(chosen).sum(axis=1) + self._unit_gauge * np.abs(missed).sum(axis=1))

    def _is_beyond(self, points: np.ndarray, sizes: np.ndarray, duals: np.ndarray) -> np.ndarray:
        """Return True if a rounded dual functional separates the point from the multiple of the body."""
        largest = float(np.abs(points).max(initial=0)) + float(sizes.max(initial=0))
        if not float(np.abs(duals).max(initial=0.0)) * largest * self._longest * 2**_FUNCTIONAL_BITS < 2.0**62:
            return np.zeros(len(points), dtype=bool)
        chosen = np.rint(np.ldexp(duals, _FUNCTIONAL_BITS)).astype(np.int64)
        most = np.abs(chosen @ self._whole).max(axis=1)
        return np.asarray(np.abs((chosen * points).sum(axis=1)) > most * sizes)

    def _solved(self, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        count, n = len(targets), self.columns.shape[1]
        values = targets @ self.inverse.T
        signs = np.where(values < 0, -1.0, 1.0)
        inverses, values = self.inverse * signs[:, :, None], np.abs(values)
        basis = np.tile(self.start, (count, 1))
        duals, open_ = inverses.sum(axis=1), np.arange(count)
        for _ in range(_MOST_PIVOTS):
            prices = duals[open_] @ self.columns
            enter = np.rint(2.0**30 * np.abs(prices)).argmax(axis=1)  # the first of equal ones on every machine
            price = prices[np.arange(len(open_)), enter]
            is_open = np.abs(price) > 1 + _PIVOT_TOLERANCE
            open_, enter, side = open_[is_open], enter[is_open], np.sign(price[is_open])
            if not len(open_):
                break
            some = inverses[open_]
            steps = (some @ self.columns.T[enter][:, :, None])[:, :, 0] * side[:, None]
            with np.errstate(divide="ignore", invalid="ignore"):
                ratios = np.where(steps > _PIVOT_TOLERANCE, values[open_] / steps, np.inf)
            leave, every = ratios.argmin(axis=1), np.arange(len(open_))
            rows = some[every, leave] / steps[every, leave][:, None]
            length = ratios[every, leave]
            some -= steps[:, :, None] * rows[:, None, :]
            some[every, leave] = rows
            left = values[open_] - length[:, None] * steps
            left[every, leave] = length
            inverses[open_], values[open_], duals[open_] = some, np.maximum(left, 0), some.sum(axis=1)
            basis[open_, leave], signs[open_, leave] = enter, side
        weights = np.zeros((count, n))
        np.put_along_axis(weights, basis, values * signs, axis=1)
        return values.sum(axis=1), weights, duals


def _sum_of_inverse(square: np.ndarray, inverse: np.ndarray) -> int:
    """Return an integer at least the largest ‖B⁻¹e_i‖₁, which bounds the gauges of the unit vectors.

    X ≈ B⁻¹ with ‖B·X − I‖₁ ≤ η < 1/2 gives B⁻¹ = X·(B·X)⁻¹ and ‖B⁻¹‖₁ ≤ ‖X‖₁/(1 − η) ≤ 2·‖X‖₁.
    """
    sizes = np.abs(square) @ np.abs(inverse)
    missed = np.abs(square @ inverse - np.eye(len(square))) + (len(square) + 2) * UNIT * (sizes + 1)
    if not missed.sum(axis=0).max() < 0.5:
        raise InvalidRequest("The body is too thin to draw exact K-norm noise.", "Use Matrix, or KNorm with walk=True.")
    return math.ceil(2.0 * float(np.abs(inverse).sum(axis=0).max())) + 1


def exact_gauge(columns: np.ndarray, start: np.ndarray, point: list[int]) -> Fraction | float:
    """Return min Σ|x| with W·x = point, by Bland's rule in rational numbers.

    `start` are r independent columns; every integer point of the span has a first solution on them, up to signs. The
    gauge of others is infinite.
    """
    matrix = [[Fraction(int(entry)) for entry in row] for row in columns]
    table = _eliminated([[*row, Fraction(value)] for row, value in zip(matrix, point, strict=True)], start.tolist())
    basis = start.tolist()
    if any(any(row) for row in table[len(basis) :]):
        return math.inf
    table = table[: len(basis)]
    for place, row in enumerate(table):
        if row[-1] < 0:
            table[place] = [-entry for entry in row]
    n = columns.shape[1]
    while True:
        prices = [sum((row[j] for row in table), Fraction(0)) for j in range(n)]
        enter = next((j for j, price in enumerate(prices) if abs(price) > 1), None)
        if enter is None:
            return sum((row[-1] for row in table), Fraction(0))
        side = 1 if prices[enter] > 0 else -1
        able = [(row[-1] / (side * row[enter]), basis[i], i) for i, row in enumerate(table) if side * row[enter] > 0]
        _, _, leave = min(able)
        pivot = [entry / (side * table[leave][enter]) for entry in table[leave]]
        table = [
            pivot if i == leave else [a - side * row[enter] * b for a, b in zip(row, pivot, strict=True)]
            for i, row in enumerate(table)
        ]
        basis[leave] = enter


def _eliminated(table: list[list[Fraction]], start: list[int]) -> list[list[Fraction]]:
    for place, column in enumerate(start):
        chosen = next(i for i in range(place, len(table)) if table[i][column])
        table[place], table[chosen] = table[chosen], table[place]
        pivot = [entry / table[place][column] for entry in table[place]]
        table = [
            pivot if i == place else [a - row[column] * b for a, b in zip(row, pivot, strict=True)]
            for i, row in enumerate(table)
        ]
    return table
