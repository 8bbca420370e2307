"""F·H·g, g independent Laplace variables, as a function of real numbers with proved bounds."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from gaugedp.samplers.box_noise import minus_log, minus_log_bracket, together
from gaugedp.samplers.reals import UNIT, WORD, Ends, Law, Reals

_LEAST = 2.0**-500  # of a row's size, so that a row of zeros has one


@dataclass(frozen=True, eq=False)
class CombinedLaplace(Law):
    """F·H·g for floats F (d, n) and H (n, k), n + k ≤ 2^12, taken as the rational numbers that they are.

    One number V makes a variable: its first bit is the sign, and −log of the rest the size (docs/theory/reals.md,
    theorem 4). `matrix` is the product in floats.
    """

    left: np.ndarray
    right: np.ndarray

    @property
    def d(self) -> int:  # type: ignore[override]
        """The rows of F."""
        return len(self.left)

    @property
    def n_reals(self) -> int:
        """The columns of H."""
        return self.right.shape[1]

    @cached_property
    def matrix(self) -> np.ndarray:
        """F·H in floats, shape (d, k)."""
        return np.asarray(self.left @ self.right)

    def floats(self, reals: Reals, n_bits: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the products, with bounds of the rows' sizes times one number for each draw."""
        words = reals.words if n_bits == WORD else reals.words >> np.uint64(WORD - n_bits)
        parts = words & np.uint64(2 ** (n_bits - 1) - 1)
        sizes = minus_log(parts * 2.0 ** (1 - n_bits))
        total, k = sizes.sum(axis=1), self.n_reals
        least = together(parts, np.minimum)[:, 0].astype(float)
        unknown = np.full_like(total, np.inf)
        np.divide(k, least, out=unknown, where=least > 0)
        roundings = UNIT * (5 * total + 6 * k) + (self.left.shape[1] + k + 8) * UNIT * total
        variables = np.copysign(sizes, reals.words.view(np.int64))  # a size is at least 0, and so no farther off
        return variables @ self.matrix.T, np.multiply.outer((roundings + unknown) * (1 + 2.0**-30), self._row_sizes)

    def brackets(self, reals: Reals, draw: int, places: Iterable[int], n_bits: int) -> list[Ends]:
        """Return the sums of the outer products of the ends."""
        while 0 in (parts := [word & (1 << n_bits - 1) - 1 for word in self._words(reals, draw, n_bits)]):
            n_bits += WORD  # a variable has no bound yet
        signs = [word >> n_bits - 1 for word in self._words(reals, draw, n_bits)]
        sizes = [minus_log_bracket([part], n_bits - 1) for part in parts]
        ends = [(-high, -low) if sign else (low, high) for sign, (low, high) in zip(signs, sizes, strict=True)]
        return [_combined(*self._exact_row(place), ends, n_bits - 1) for place in places]

    def _words(self, reals: Reals, draw: int, n_bits: int) -> list[int]:
        return [reals.bits(draw, place, n_bits) for place in range(self.n_reals)]

    @cached_property
    def _row_sizes(self) -> np.ndarray:
        """At least max_k Σ_m |F_im·H_mk| for each row, shape (d,)."""
        sizes = (np.abs(self.left) @ np.abs(self.right)).max(axis=1)
        return np.asarray(np.maximum(sizes * (1 + 2.0**-40), _LEAST))

    @cached_property
    def _exact_rows(self) -> dict[int, tuple[list[int], int]]:
        return {}

    def _exact_row(self, place: int) -> tuple[list[int], int]:
        """Return whole numbers and an exponent: a row of F·H is the numbers times 2^−exponent."""
        if place not in self._exact_rows:
            left, right = _whole(self.left[place]), _whole(self.right.ravel())
            table = [right[0][start : start + self.n_reals] for start in range(0, len(right[0]), self.n_reals)]
            row = [sum(map(int.__mul__, left[0], column)) for column in zip(*table, strict=True)]
            self._exact_rows[place] = row, left[1] + right[1]
        return self._exact_rows[place]


def _whole(floats: np.ndarray) -> tuple[list[int], int]:
    """Return whole numbers and the exponent e with floats = numbers·2^−e."""
    fractions = [Fraction(float(value)) for value in floats]
    exponent = max(value.denominator for value in fractions).bit_length() - 1
    return [int(value * 2**exponent) for value in fractions], exponent


def _combined(row: list[int], exponent: int, ends: list[tuple[int, int]], n_bits: int) -> Ends:
    low = sum(factor * pair[factor < 0] for factor, pair in zip(row, ends, strict=True))
    high = sum(factor * pair[factor >= 0] for factor, pair in zip(row, ends, strict=True))
    return Fraction(low, 1 << exponent + n_bits), Fraction(high, 1 << exponent + n_bits)
