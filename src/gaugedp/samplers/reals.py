"""Functions of random real numbers, rounded exactly to integers (docs/theory/reals.md)."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from copy import copy
from fractions import Fraction

import numpy as np

from gaugedp._internal.rounding import PARAMETERS
from gaugedp.entropy import Entropy

WORD = 64

Ends = tuple[Fraction, Fraction]


class Reals:
    """Independent uniform real numbers, shape (m, k).

    They are in [0, 1]. 64 bits of each are drawn first, and further ones as needed. All bits of a number are stored:
    two decisions on one number see the same bits.
    """

    def __init__(self, shape: tuple[int, int], rng: Entropy) -> None:
        self.words = rng.words(shape[0] * shape[1]).reshape(shape[::-1]).T  # contiguous over draws
        self._rng = rng
        self._further: dict[tuple[int, int], list[int]] = {}
        self._views: dict[int, Reals] = {}

    def bits(self, draw: int, place: int, n_bits: int) -> int:
        """Return the first `n_bits` bits w of a number in [w, w + 1]·2^−n_bits; its place may exceed k."""
        known = self._further.setdefault((draw, place), self.words[draw, place : place + 1].tolist())
        while WORD * len(known) < n_bits:
            known.append(self._more(draw, place, len(known)))
        value = 0
        for word in known:
            value = value << WORD | word
        return value >> (WORD * len(known) - n_bits)

    def many(self, draw: int, places: Sequence[int], n_bits: int) -> list[int]:
        """Return the first bits of several numbers."""
        if n_bits > WORD:
            return [self.bits(draw, place, n_bits) for place in places]
        return (self.words[draw, places] >> np.uint64(WORD - n_bits)).tolist()

    def part(self, draws: np.ndarray) -> "Reals":
        """Return only the first words of some draws."""
        reals = copy(self)
        reals.words = self.words[draws]
        return reals

    def columns(self, start: int, stop: int) -> "Reals":
        """Return some numbers of each draw, with their own further bits."""
        if start not in self._views:
            view = self._views[start] = copy(self)
            view._further, view._views = {}, {}
        reals = copy(self._views[start])
        reals.words = self.words[:, start:stop]
        return reals

    def _more(self, draw: int, place: int, block: int) -> int:  # noqa: ARG002 - a test names each word by its place
        return self._rng.integer(WORD)


class RealFunction(ABC):
    """Function of real numbers, computable to any precision."""

    @property
    @abstractmethod
    def d(self) -> int:
        """The number of coordinates."""

    @property
    @abstractmethod
    def n_reals(self) -> int:
        """The number of real numbers per draw."""

    @abstractmethod
    def floats(self, reals: Reals, n_bits: int) -> tuple[np.ndarray, np.ndarray]:
        """Return values v (m, d) and error bounds.

        They use the first `n_bits` ≤ 64 bits of each number. |f − v·(1 + t)| ≤ bound for every |t| ≤ 2^−52, whatever
        the other bits are; bounds are (m, 1) or (m, d), infinite if nothing is known.
        """

    def closer(self, reals: Reals, n_bits: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the same with closer, slower bounds per coordinate."""
        return self.floats(reals, n_bits)

    @abstractmethod
    def brackets(self, reals: Reals, draw: int, places: Iterable[int], n_bits: int) -> list[Ends]:
        """Return ends of f at `places` of a draw, valid for all bits after `n_bits`."""


def joined(bounds: np.ndarray, *, unlike: float = 8.0) -> np.ndarray:
    """Return the largest of similar bounds, (1,), else all (d,)."""
    return bounds if bounds.max() > unlike * bounds.min() else bounds.max(keepdims=True)


def rounded_draws(law: RealFunction, size: int, lattice: np.ndarray, rng: Entropy) -> np.ndarray:
    """Return `size` independent draws of lattice·f, rounded as in `rounded`."""
    result = np.empty((size, law.d), dtype=np.int64)
    batch = max(1, 2**17 // law.n_reals)  # numbers per batch: a megabyte, so that calls cost little in comparison
    for start in range(0, size, batch):
        count = min(batch, size - start)
        result[start : start + count] = rounded(law, Reals((count, law.n_reals), rng), lattice)
    return result


def rounded(law: RealFunction, reals: Reals, lattice: np.ndarray, first_bits: int = WORD) -> np.ndarray:
    """Return lattice·f(reals), exactly rounded to integers modulo 2^64.

    The shape is (m, d) and the dtype int64. `lattice` (1,) or (d,) are positive floats, read as exact rational numbers.
    The integers are a function only of the bits, for every `first_bits`, the number of bits of the first try (64 in
    floats). Integers beyond 64 bits wrap around: so does the sum of answer and noise, by post-processing.
    """
    shape = len(reals.words), law.d
    result, undecided = np.zeros(shape, dtype=np.int64), np.ones(shape, dtype=bool)
    if first_bits <= WORD:
        result, undecided = _by_floats(law.floats(reals, first_bits), lattice)
        left = np.flatnonzero(undecided.any(axis=1))
        if len(left):
            result[left], undecided[left] = _by_floats(law.closer(reals.part(left), first_bits), lattice)
    known = max(first_bits, WORD)
    for draw in np.flatnonzero(undecided.any(axis=1)):
        places = [int(place) for place in np.flatnonzero(undecided[draw])]
        steps = {place: Fraction(float(lattice[place % len(lattice)])) for place in places}
        result[draw, places] = _decided(law, reals, int(draw), steps, known)
    return result


def _decided(law: RealFunction, reals: Reals, draw: int, steps: dict[int, Fraction], n_bits: int) -> list[int]:
    decided: dict[int, int] = {}
    while len(decided) < len(steps):
        places = [place for place in steps if place not in decided]
        for place, (low, high) in zip(places, law.brackets(reals, draw, places, n_bits), strict=True):
            if _nearest(steps[place] * low) == (whole := _nearest(steps[place] * high)):
                decided[place] = whole
        n_bits += WORD
    return [_wrapped(decided[place]) for place in steps]


def _by_floats(known: tuple[np.ndarray, np.ndarray], lattice: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest integers, and True where undecided.

    A float below the rounded difference 1/2 − margin is below the difference itself, because rounding is monotone.
    """
    values, bounds = known
    scaled = values * lattice
    nearest = np.rint(scaled)
    limit = 0.5 - (bounds * lattice * (1 + PARAMETERS) + 2.0**-60)  # 2^−60 is far above the effect of underflow
    scaled -= nearest  # exact: both are multiples of the last place of the larger
    undecided = ~(np.abs(scaled, out=scaled) < limit)
    if undecided.any():
        nearest[undecided] = 0
    return nearest.astype(np.int64), undecided


def _nearest(x: Fraction) -> int:
    return math.floor(x + Fraction(1, 2))


def _wrapped(whole: int) -> int:
    return (whole + 2**63) % 2**64 - 2**63
