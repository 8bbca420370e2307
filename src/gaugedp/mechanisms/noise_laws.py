"""Noise distributions and the privacy loss of shifted answers."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import mul
from typing import TYPE_CHECKING

import numpy as np

from gaugedp._internal.validate import decimal
from gaugedp.bodies.frame import independent
from gaugedp.errors import InvalidRequest
from gaugedp.samplers.gauge_side import GaugeSide, exact_gauge

if TYPE_CHECKING:
    from gaugedp.guarantees.base import Guarantee

_MOST_ENTRIES = 4 * 10**6  # of a matrix that is written out
CLOSE = 1e-9  # relative error of products in floating point


class NoiseLaw(ABC):
    """A noise distribution and the privacy loss of its shifts.

    A shift of the integers by z costs `costs`, in the unit of `accounting`: ε ("pure"), μ² ("gaussian") or ρ ("zcdp").
    `rounding` is the relative error of a cost, 0 for rational arithmetic. `unknown` is empty or the reason.
    """

    accounting: str
    rounding: float = 0.0
    unknown: str = ""

    def coordinates(self, rows: np.ndarray) -> np.ndarray | float | None:
        """Return the coordinates of single rows' effects (n, d); None if unknown, infinity if no noise reaches one."""
        return rows

    def width(self, n_answers: int) -> int:
        """Return the length of a row, in answers or coordinates."""
        return n_answers

    def stated(self, guarantee: "Guarantee") -> Fraction | None:
        """Return the largest cost for which the noise satisfies the guarantee, None if it is of another kind."""
        cost = guarantee.cost(guarantee.accounting) if guarantee.accounting else None
        return None if cost is None or guarantee.accounting != self.accounting else cost[0]

    @abstractmethod
    def costs(self, shifts: np.ndarray) -> Sequence[Fraction | float | None] | None:
        """Return the costs, in any order, or None instead of all or of single ones."""


@dataclass(frozen=True)
class Unchecked(NoiseLaw):
    """An unknown distribution, with the reason."""

    unknown: str
    accounting: str = ""

    def costs(self, shifts: np.ndarray) -> None:  # noqa: ARG002
        """Return None."""
        return


@dataclass(frozen=True)
class IndependentLaw(NoiseLaw):
    """Independent coordinates, `rates` (count, rate): z costs Σ rate_i·|z_i|^power."""

    accounting: str
    power: int
    rates: tuple[tuple[int, Fraction], ...]

    def costs(self, shifts: np.ndarray) -> list[Fraction]:
        """Return the sums, as rational numbers."""
        sizes, starts = np.abs(shifts), np.cumsum([0, *(count for count, _ in self.rates)])
        if len(sizes) and int(sizes.max()) ** self.power * sizes.shape[1] >= 2**62:
            sizes = sizes.astype(object)
        sums = np.add.reduceat(sizes**self.power, starts[:-1], axis=1)
        rates, whole = _over_one(rate for _, rate in self.rates)
        return [Fraction(sum(map(mul, rates, row)), whole) for row in set(map(tuple, sums.tolist()))]


@dataclass(frozen=True)
class StairLaw(NoiseLaw):
    """One coordinate whose probabilities fall by at most e^−rate within a `period`."""

    rate: Fraction
    period: int
    accounting: str = "pure"

    def costs(self, shifts: np.ndarray) -> list[Fraction]:
        """Return the rate for each period that has begun."""
        return [self.rate * -(-abs(int(shift)) // self.period) for shift in shifts[:, 0]]


@dataclass(frozen=True)
class BoxLaw(NoiseLaw):
    """Density e^−max|z_i|/side_i, or less steep; `sides` are (count, side)."""

    sides: tuple[tuple[int, Fraction], ...]
    accounting: str = "pure"

    def costs(self, shifts: np.ndarray) -> list[Fraction]:
        """Return the largest quotient |z_i|/side_i of each shift."""
        starts = np.cumsum([0, *(count for count, _ in self.sides)])[:-1]
        largest = set(map(tuple, np.maximum.reduceat(np.abs(shifts), starts, axis=1).tolist()))
        rates, whole = _over_one(1 / side for _, side in self.sides)
        return [Fraction(max(map(mul, rates, row)), whole) for row in largest]


@dataclass(frozen=True, eq=False)
class RankLaw(NoiseLaw):
    """Values drawn by their rank distances d in cells of a histogram, and counts; the cost is ε of `composition`.

    At ε a draw has weights e^(−max rate_q·d_q), and the counts cost `of_counts` for each row of a shift. A shift moves
    a distance by at most the largest |P − q·n|, P its prefix sums and n their last, and the log weights of values in a
    cell apart by twice that. So a draw costs the norm 2·Σ max_q rate_q·max |P − q·n| of the shift, summed over cells.
    """

    shape: tuple[int, int]  # cells and values
    rates: tuple[tuple[Fraction, Fraction], ...]
    of_counts: Fraction
    composition: "Callable[[float], Guarantee]"
    epsilon: float
    accounting: str = ""

    def stated(self, guarantee: "Guarantee") -> Fraction | None:
        """Return ε, if the guarantee is the composition of it."""
        return decimal(self.epsilon) if guarantee == self.composition(self.epsilon) else None

    def width(self, n_answers: int) -> int:  # noqa: ARG002
        """Return the number of counts in the histogram."""
        return math.prod(self.shape)

    def costs(self, shifts: np.ndarray) -> list[Fraction]:
        """Return the larger of 2·Σ max rate_q·|P − q·n| over the cells and of the counts."""
        sums = np.cumsum(shifts.reshape(len(shifts), *self.shape), axis=2)
        ends = np.stack([sums.max(axis=2, initial=0), sums.min(axis=2, initial=0), sums[:, :, -1]], axis=2)
        of_counts = max((int(size) for size in np.abs(shifts).sum(axis=1)), default=0) * self.of_counts
        moved = {tuple(cell for cell in shift if any(cell)) for shift in _tuples(ends)}
        return [of_counts, *(2 * sum(map(self._moved, shift), Fraction(0)) for shift in moved)]

    def _moved(self, ends: tuple[int, int, int]) -> Fraction:
        high, low, total = ends
        return max(rate * max(high - q * total, q * total - low) for q, rate in self.rates)


def _tuples(numbers: np.ndarray) -> Iterable[tuple[tuple[int, int, int], ...]]:
    return (tuple(map(tuple, rows)) for rows in numbers.tolist())


@dataclass(frozen=True, eq=False)
class HullLaw(NoiseLaw):
    """Density e^−‖z‖ with unit ball `scale`·conv{±column}, integer `columns()` (d, n)."""

    columns: Callable[[], np.ndarray]
    n_columns: int
    scale: Fraction
    accounting: str = "pure"

    def costs(self, shifts: np.ndarray) -> list[Fraction | float | None] | None:
        """Return the shifts as multiples of columns; of others the exact gauges, infinite beyond the span, or None."""
        if self.n_columns * shifts.shape[1] > _MOST_ENTRIES:
            return None
        columns = np.rint(self.columns())
        if not (columns == self.columns()).all():
            return [Fraction(0), None]  # rounded columns prove nothing
        longest: dict[tuple[int, ...], int] = {}
        for column in columns.T.astype(np.int64).tolist():
            direction, times = _primitive(column)
            longest[direction] = max(times, longest.get(direction, 0))
        found: list[tuple[list[int], int, int]] = []
        for shift in {tuple(shift) for shift in shifts.tolist() if any(shift)}:
            direction, times = _primitive(list(shift))
            found.append((list(shift), longest.get(direction, 0), times))
        listed = [Fraction(times, own) / self.scale for _, own, times in found if own]
        return [Fraction(0), *listed, *self._gauges(columns, [shift for shift, own, _ in found if not own])]

    def _gauges(self, columns: np.ndarray, shifts: list[list[int]]) -> Iterable[Fraction | float | None]:
        """Return the exact gauges; of many shifts, lower bounds in floats, or None."""
        if not shifts:
            return []
        start = independent(columns)
        if len(shifts) * len(start) * columns.size <= 3 * 10**4:  # exact gauges take a quarter of a second
            return [exact_gauge(columns, start, shift) / self.scale for shift in shifts]
        points = np.array(shifts, dtype=float)
        if _is_beyond(columns, points):
            return [math.inf]
        found = _least_sums(columns, points)
        return [None] if found is None else (found[1] / float(self.scale)).tolist()


@dataclass(frozen=True, eq=False)
class LinearLaw(NoiseLaw):
    """Noise L·g, g independent (k,): L·u costs rate·Σ|u_j|^power.

    `apply` is L on rows (n, k). The effect of a row is searched among multiples of L·u, u the rows of `preimages()`, or
    found by linear programs; without them, u is the shortest with L·u = z, unique for a power of 1. Either way L itself
    verifies L·u = z.
    """

    accounting: str
    power: int
    rate: Fraction
    n_noise: int
    apply: Callable[[np.ndarray], np.ndarray]
    preimages: Callable[[], np.ndarray | None] | None
    rounding: float

    def width(self, n_answers: int) -> int:
        """Return the larger of `n_answers` and `n_noise`."""
        return max(n_answers, self.n_noise)

    def coordinates(self, rows: np.ndarray) -> np.ndarray | float | None:
        """Return u (n, k) with L·u equal to the rows, None if there is none of a reasonable size, or infinity."""
        k, d = self.n_noise, rows.shape[1]
        if k * max(k, d) > _MOST_ENTRIES:
            return None
        units = None if self.preimages is None else self.preimages()
        found = self._looked_up(rows, units)
        sizes = np.maximum(1.0, np.abs(rows).astype(float))
        is_left = self._misses(found, rows, sizes)
        if not is_left.any():
            return found
        # 2 * 10**7: products of numbers, for one matrix by another: some hundredths of a second
        if k * d * min(k, d) > 2 * 10**7:
            return None
        left = self.apply(np.eye(k)).astype(float).T
        if _is_beyond(left, rows[is_left].astype(float)):
            return math.inf
        solved = self._solved(left, rows[is_left].astype(float), units is not None)
        if solved is None:
            return None
        found = found.astype(float)
        found[is_left] = solved
        return None if self._misses(found, rows, sizes.max(axis=0)).any() else found

    def _misses(self, found: np.ndarray, rows: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Return which rows (n,) are not L·u, up to rounding of numbers of such sizes."""
        return np.asarray((np.abs(self.apply(found) - rows) > CLOSE * sizes).any(axis=1))

    def _solved(self, left: np.ndarray, targets: np.ndarray, is_stated: bool) -> np.ndarray | None:
        """Return the shortest u; where preimages are stated for other rows, by linear programs."""
        if is_stated:
            found = _least_sums(left, targets) if self.rounding else None
            return None if found is None else found[0]
        if self.power == 1 and np.linalg.matrix_rank(left) < self.n_noise:
            return None
        return _shortest(left, targets)

    def _looked_up(self, rows: np.ndarray, units: np.ndarray | None) -> np.ndarray:
        """Return multiples of preimages (n, k) with about the rows as images, or 0."""
        nothing, everything = np.zeros((len(rows), self.n_noise)), np.asarray(rows.any(axis=1))
        if units is None or units.size > _MOST_ENTRIES or len(units) * rows.shape[1] > _MOST_ENTRIES:
            return nothing
        images = np.rint(self.apply(units).astype(float)).astype(np.int64)  # Python's integers where some are large
        own = {image.tobytes(): place for place, image in enumerate(images)}
        targets = rows.astype(np.int64)
        found = np.array([own.get(row.tobytes(), -1) for row in targets])
        if (found[everything] >= 0).all():
            return np.where(everything[:, None], units[found], 0)
        (directions, times), (wanted, multiples) = _primitives(images), _primitives(targets)
        lengths = np.abs(units).sum(axis=1) / np.abs(times)
        # where several images are parallel, the shortest is taken
        parallel = {directions[place].tobytes(): place for place in np.argsort(-lengths, kind="stable").tolist()}
        found = np.where(found < 0, [parallel.get(way.tobytes(), -1) for way in wanted], found)
        is_found = everything & (found >= 0)
        is_whole = not (multiples % times[found])[is_found].any()
        if not is_whole and not self.rounding:
            return nothing
        shares = multiples // times[found] if is_whole else multiples / times[found]
        return np.where(is_found[:, None], units[found] * shares[:, None], 0)

    def costs(self, shifts: np.ndarray) -> list[Fraction]:
        """Return the costs of u; exact for integers."""
        return [self.rate * Fraction(size) for size in set((np.abs(shifts) ** self.power).sum(axis=1).tolist())]


def _over_one(numbers: Iterable[Fraction]) -> tuple[list[int], int]:
    listed = list(numbers)
    whole = math.lcm(*(number.denominator for number in listed))
    return [int(number * whole) for number in listed], whole


def _primitive(vector: list[int]) -> tuple[tuple[int, ...], int]:
    times = math.gcd(*vector)
    first = next((number for number in vector if number), 1)
    step = times if first > 0 else -times
    return (tuple(number // step for number in vector), times) if times else (tuple(vector), 0)


def _primitives(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return integer rows over their greatest common divisors, of which the sign is the first number's; 1 for zeros."""
    first = rows[np.arange(len(rows)), (rows != 0).argmax(axis=1)]
    times = np.where(first < 0, -1, 1) * np.maximum(np.gcd.reduce(rows, axis=1), 1)
    return np.ascontiguousarray(rows // times[:, None]), times


def _evened(left: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return both over the lengths of the rows of `left` (d, k), which leaves the solutions as they are."""
    lengths = np.linalg.norm(left, axis=1)
    lengths[lengths == 0] = 1.0
    return left / lengths[:, None], targets / lengths


def _is_beyond(left: np.ndarray, targets: np.ndarray) -> bool:
    """Return True if some target is no L·u, unless u is extremely long.

    For all r, ⟨r, z⟩ = ⟨Lᵀr, u⟩ ≤ ‖Lᵀr‖·‖u‖. Here r is what the nearest point of the span misses, orthogonal to L up
    to rounding.
    """
    even, points = _evened(left, targets)
    if not even.any():
        return bool(points.any())
    missed_by = np.abs(points - _shortest(left, targets) @ even.T).max(axis=1)
    if (missed_by <= 1e-13 * np.abs(points).max(axis=1)).all():
        return False  # singular values take longer than all else
    nearest = np.linalg.lstsq(even, points.T, rcond=None)[0]
    missed = points.T - even @ nearest
    slopes = np.linalg.norm(even.T @ missed, axis=0)
    # a row with so long a solution is outside the span
    return bool(((missed * points.T).sum(axis=0) > 1e6 * slopes * np.linalg.norm(nearest, axis=0)).any())


def _shortest(left: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return Lᵀ(LLᵀ + τ)⁻¹·z or (LᵀL + τ)⁻¹Lᵀ·z, small τ, refined by three iterations."""
    even, points = _evened(left, targets)
    wide = even.shape[1] >= even.shape[0]
    gram = even @ even.T if wide else even.T @ even
    gram += np.eye(len(gram)) * (1e-8 * float(np.trace(gram)) / len(gram))
    inverse = np.linalg.inv(gram)
    found, missed = np.zeros((len(points), even.shape[1])), points
    for _ in range(4):
        found += missed @ inverse @ even if wide else missed @ even @ inverse
        missed = points - found @ even.T
    return found


def _least_sums(columns: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return x (m, n) of least Σ|x| with W·x = point, and lower bounds (m,) of these, or None if they differ."""
    if columns.size * len(points) > 4 * 10**7:  # programs in floats take a second
        return None
    even, targets = _evened(columns, points)
    kept = independent(even.T)
    try:
        values, weights, duals = GaugeSide(even[kept]).programs(targets[:, kept])
    except (InvalidRequest, np.linalg.LinAlgError):  # of a body that is very thin
        return None
    least = (duals * targets[:, kept]).sum(axis=1) / np.abs(duals @ even[kept]).max(axis=1)
    return (weights, least) if (values * (1 - CLOSE) <= least).all() else None
