"""Noise distributions and the privacy loss of shifted answers."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import mul

import numpy as np

from gaugedp.bodies.frame import independent
from gaugedp.samplers.gauge_side import exact_gauge

_MOST_SOLVED = 10**5  # rank times numbers of a matrix times points: exact gauges take a second
_MOST_NUMBERS = 4 * 10**6  # of a matrix that is written out
CLOSE = 1e-9  # relative error of products in floating point


class NoiseLaw(ABC):
    """A noise distribution and the privacy loss of its shifts.

    A shift of the integers by z costs `costs`, in the unit of `accounting`: ε ("pure"), μ² ("gaussian") or ρ ("zcdp").
    `rounding` is the relative error of a cost, 0 for rational arithmetic. `unknown` is empty or the reason.
    """

    accounting: str
    rounding: float = 0.0
    unknown: str = ""

    def coordinates(self, rows: np.ndarray) -> np.ndarray | None:
        """Return the coordinates of single rows' effects (n, d); None if unknown."""
        return rows

    def width(self, n_answers: int) -> int:
        """Return the length of a row, in answers or coordinates."""
        return n_answers

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
class HullLaw(NoiseLaw):
    """Density e^−‖z‖ with unit ball `scale`·conv{±column}, integer `columns()` (d, n)."""

    columns: Callable[[], np.ndarray]
    n_columns: int
    scale: Fraction
    accounting: str = "pure"

    def costs(self, shifts: np.ndarray) -> list[Fraction | float | None] | None:
        """Return the shifts as multiples of columns; of others the exact gauges, infinite beyond the span, or None."""
        if self.n_columns * shifts.shape[1] > _MOST_NUMBERS:
            return None
        columns = np.rint(self.columns())
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

    def _gauges(self, columns: np.ndarray, shifts: list[list[int]]) -> Iterator[Fraction | float | None]:
        if not shifts:
            return
        start, is_whole = independent(columns), bool((columns == self.columns()).all())
        most = _MOST_SOLVED // max(1, len(start) * columns.size) if is_whole else 0
        for place, shift in enumerate(shifts):
            yield exact_gauge(columns, start, shift) / self.scale if place < most else None


@dataclass(frozen=True, eq=False)
class LinearLaw(NoiseLaw):
    """Noise L·g, g independent (k,): L·u costs rate·Σ|u_j|^power.

    `apply` is L on rows (n, k). The effect of a row is searched among L·u of the rows u of `preimages()`; without them,
    u is the shortest with L·u = z, unique for a power of 1. Either way L itself verifies L·u = z.
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

    def coordinates(self, rows: np.ndarray) -> np.ndarray | None:
        """Return u (n, k) with L·u equal to the rows, or None."""
        k, d = self.n_noise, rows.shape[1]
        units = None if self.preimages is None or k * max(k, d) > _MOST_NUMBERS else self.preimages()
        # 2 * 10**7: products of numbers, for one matrix by another: some hundredths of a second
        if k * max(k, d) > _MOST_NUMBERS or (units is None and k * d * min(k, d) > 2 * 10**7):
            return None
        found = self._shortest(rows) if units is None else self._looked_up(rows, units)
        if found is None:
            return None
        is_close = np.abs(self.apply(found) - rows).max(initial=0.0) <= CLOSE * max(
            1.0, float(np.abs(rows).max(initial=0))
        )
        return found if is_close else None

    def _shortest(self, rows: np.ndarray) -> np.ndarray | None:
        """Return Lᵀ(LLᵀ + τ)⁻¹·z or (LᵀL + τ)⁻¹Lᵀ·z, small τ, refined by three iterations."""
        left, targets = self.apply(np.eye(self.n_noise)).astype(float), rows.astype(float)
        if self.power == 1 and np.linalg.matrix_rank(left) < self.n_noise:
            return None
        wide = left.shape[0] >= left.shape[1]
        gram = left.T @ left if wide else left @ left.T
        gram += np.eye(len(gram)) * (1e-8 * float(np.trace(gram)) / len(gram))
        inverse = np.linalg.inv(gram)
        found, missed = np.zeros((len(rows), self.n_noise)), targets
        for _ in range(4):
            found += missed @ inverse @ left.T if wide else missed @ left.T @ inverse
            missed = targets - found @ left
        return found

    def _looked_up(self, rows: np.ndarray, units: np.ndarray) -> np.ndarray | None:
        if units.size > _MOST_NUMBERS or len(units) * rows.shape[1] > _MOST_NUMBERS:
            return None
        applied = np.rint(self.apply(units).astype(float)).astype(np.int64)  # Python's integers where some are large
        images = np.vstack([applied, np.zeros((1, rows.shape[1]), np.int64)])
        places = {image.tobytes(): place for place, image in enumerate(images)}
        found = [places.get(row.tobytes(), -1) for row in rows.astype(np.int64)]
        return None if min(found) < 0 else np.vstack([units, np.zeros((1, self.n_noise), units.dtype)])[found]

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
