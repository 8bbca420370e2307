"""F·H·x of random x, with error bounds."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from gaugedp._internal.rounding import UNIT
from gaugedp.samplers.integer_exp import Bracket
from gaugedp.samplers.reals import Ends, RealFunction, Reals, joined
from gaugedp.samplers.variables import LaplaceVariables, Variables


@dataclass(frozen=True, eq=False)
class Combined(RealFunction):
    """F·H·x for floats F (d, n) and H (n, k).

    n + k ≤ 2^20. F and H are read as exact rational numbers, and x are the variables of a `kind` (docs/theory/reals.md,
    theorem 4). Row i is divided by the integer `divisors`[i], if given. `matrix` is the product in floats.
    """

    left: np.ndarray
    right: np.ndarray
    kind: type[Variables] = LaplaceVariables
    divisors: np.ndarray | None = None

    @property
    def d(self) -> int:
        """The number of rows of F."""
        return len(self.left)

    @cached_property
    def variables(self) -> Variables:
        """The variables, one per column of H."""
        return self.kind(self.right.shape[1])

    @property
    def n_reals(self) -> int:
        """The number of real numbers of the variables."""
        return self.variables.n_reals

    @cached_property
    def matrix(self) -> np.ndarray:
        """F·H in floats, shape (d, k)."""
        return np.asarray(self._divided(self.left @ self.right))

    def floats(self, reals: Reals, n_bits: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the products, with bounds proportional to row sizes."""
        values, error, total = self.variables.floats(reals, n_bits)
        error = (error + (sum(self.right.shape) + 8) * UNIT * total) * (1 + 2.0**-30)
        return (self.matrix @ values.T).T, np.multiply.outer(error, self._row_sizes)

    def closer(self, reals: Reals, n_bits: int) -> tuple[np.ndarray, np.ndarray]:
        """Return bounds from those of the single variables."""
        values, errors = self.variables.apart(reals.words, n_bits)
        errors = np.minimum(errors, 2.0**500)  # a variable that a row does not use may have no bound: ∞·0 would be NaN
        errors = (errors + (sum(self.right.shape) + 8) * UNIT * np.abs(values)) * (1 + 2.0**-30)
        return (self.matrix @ values.T).T, (self._sizes @ errors.T).T

    def brackets(self, reals: Reals, draw: int, places: Iterable[int], n_bits: int) -> list[Ends]:
        """Return the outer sums of products of the ends."""
        rows = {place: self._exact_row(place) for place in places}
        columns = sorted({column for row, _ in rows.values() for column in row})
        ends, n_bits = self.variables.brackets(reals, draw, columns, n_bits)
        ends_at = dict(zip(columns, ends, strict=True))
        sums = {
            place: combined_ends([*row.values()], exponent, [ends_at[column] for column in row], n_bits)
            for place, (row, exponent) in rows.items()
        }
        if self.divisors is None:
            return list(sums.values())
        return [
            (low / int(self.divisors[place]), high / int(self.divisors[place])) for place, (low, high) in sums.items()
        ]

    def _divided(self, rows: np.ndarray) -> np.ndarray:
        return rows if self.divisors is None else rows / self.divisors[:, None]

    @cached_property
    def _sizes(self) -> np.ndarray:
        """Upper bounds on Σ_m |F_im·H_mk|, shape (d, k)."""
        return np.asarray(self._divided(np.abs(self.left) @ np.abs(self.right)) * (1 + 2.0**-30))

    @cached_property
    def _row_sizes(self) -> np.ndarray:
        """Bounds on max_k Σ_m |F_im·H_mk| per row, shape (d,), or (1,) if they are similar."""
        sizes = np.maximum(self._sizes.max(axis=1), 2.0**-500)  # of a row's size, so that a row of zeros has one
        return joined(sizes)

    @cached_property
    def _exact_rows(self) -> dict[int, tuple[dict[int, int], int]]:
        return {}

    def _exact_row(self, place: int) -> tuple[dict[int, int], int]:
        """Return a row of F·H as integers by column times 2^−exponent."""
        if place not in self._exact_rows:
            used = np.flatnonzero(self.left[place])
            factors, shift = whole_numbers(self.left[place, used])
            below = self.right[used]
            at, columns = np.nonzero(below)
            numbers, exponent = whole_numbers(below[at, columns])
            row: dict[int, int] = {}
            for number, factor, column in zip(numbers, at.tolist(), columns.tolist(), strict=True):
                row[column] = row.get(column, 0) + number * factors[factor]
            self._exact_rows[place] = row, shift + exponent
        return self._exact_rows[place]


@dataclass(frozen=True)
class Alone(RealFunction):
    """The variables themselves, as a function of real numbers."""

    variables: Variables

    @property
    def d(self) -> int:
        """The number of variables."""
        return self.variables.k

    @property
    def n_reals(self) -> int:
        """The number of real numbers of the variables."""
        return self.variables.n_reals

    def floats(self, reals: Reals, n_bits: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the variables and their bounds."""
        values, errors = self.variables.apart(reals.words, n_bits)
        return values, (errors + 8 * UNIT * np.abs(values)) * (1 + 2.0**-30)

    def brackets(self, reals: Reals, draw: int, places: Iterable[int], n_bits: int) -> list[Ends]:
        """Return the ends of the variables."""
        ends, n_bits = self.variables.brackets(reals, draw, [*places], n_bits)
        return [(Fraction(low, 1 << n_bits), Fraction(high, 1 << n_bits)) for low, high in ends]


def whole_numbers(floats: np.ndarray) -> tuple[list[int], int]:
    """Return integers and an exponent e: floats = integers·2^−e."""
    ratios = [float(value).as_integer_ratio() for value in floats]
    exponent = max((below for _, below in ratios), default=1).bit_length() - 1
    return [above << exponent - below.bit_length() + 1 for above, below in ratios], exponent


def combined_ends(row: list[int], exponent: int, ends: list[Bracket], n_bits: int) -> Ends:
    """Return the ends of Σ factor·2^−exponent·x from brackets of 2^n_bits·x."""
    low = sum(factor * pair[factor < 0] for factor, pair in zip(row, ends, strict=True))
    high = sum(factor * pair[factor >= 0] for factor, pair in zip(row, ends, strict=True))
    return Fraction(low, 1 << exponent + n_bits), Fraction(high, 1 << exponent + n_bits)
