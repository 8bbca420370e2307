"""Functions of random real numbers, rounded to integers exactly: bits are drawn as the rounding needs them.

docs/theory/reals.md has the theorem and its proof.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from copy import copy
from fractions import Fraction

import numpy as np

from gaugedp._internal.rounding import PARAMETERS
from gaugedp.entropy import Entropy

WORD = 64
_UNDERFLOW = 2.0**-60  # far more than what underflow changes

Ends = tuple[Fraction, Fraction]


class Reals:
    """Independent uniform real numbers in [0, 1], shape (m, k): 64 bits of each, and further ones as they are needed.

    All bits of a number stay with it: two decisions on one number see the same bits.
    """

    def __init__(self, shape: tuple[int, int], rng: Entropy) -> None:
        self.words = rng.words(shape[0] * shape[1]).reshape(shape[::-1]).T  # one number of all draws lies together
        self._rng = rng
        self._further: dict[tuple[int, int], list[int]] = {}
        self._views: dict[int, Reals] = {}

    def bits(self, draw: int, place: int, n_bits: int) -> int:
        """Return the first `n_bits` bits of a number, as an integer w: it is in [w, w + 1]·2^−n_bits. k is no limit."""
        known = self._further.setdefault((draw, place), self.words[draw, place : place + 1].tolist())
        while WORD * len(known) < n_bits:
            known.append(self._more(draw, place, len(known)))
        value = 0
        for word in known:
            value = value << WORD | word
        return value >> (WORD * len(known) - n_bits)

    def many(self, draw: int, places: Sequence[int], n_bits: int) -> list[int]:
        """Return the same of several numbers."""
        if n_bits > WORD:
            return [self.bits(draw, place, n_bits) for place in places]
        return (self.words[draw, places] >> np.uint64(WORD - n_bits)).tolist()

    def part(self, draws: np.ndarray) -> "Reals":
        """Return the first words of these draws alone, for floats to look at."""
        reals = copy(self)
        reals.words = self.words[draws]
        return reals

    def columns(self, start: int, stop: int) -> "Reals":
        """Return some numbers of each draw; what a law draws beyond them is theirs alone."""
        if start not in self._views:
            view = self._views[start] = copy(self)
            view._further, view._views = {}, {}
        reals = copy(self._views[start])
        reals.words = self.words[:, start:stop]
        return reals

    def _more(self, draw: int, place: int, block: int) -> int:  # noqa: ARG002 - a test names each word by its place
        return self._rng.integer(WORD)


class RealFunction(ABC):
    """A function f of `n_reals` real numbers with values in ℝ^d, known to any precision."""

    @property
    @abstractmethod
    def d(self) -> int:
        """Return the number of coordinates."""

    @property
    @abstractmethod
    def n_reals(self) -> int:
        """Return the number of real numbers per draw."""

    @abstractmethod
    def floats(self, reals: Reals, n_bits: int) -> tuple[np.ndarray, np.ndarray]:
        """Return v (m, d) and bounds (m, 1) or (m, d), from the first `n_bits` ≤ 64 bits of each number.

        |f − v·(1 + t)| ≤ bound for every |t| ≤ 2^−52, whatever the other bits are; infinite where nothing is known.
        """

    def closer(self, reals: Reals, n_bits: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the same with bounds for each coordinate, where these are nearer and take longer."""
        return self.floats(reals, n_bits)

    @abstractmethod
    def brackets(self, reals: Reals, draw: int, places: Iterable[int], n_bits: int) -> list[Ends]:
        """Return ends of an interval that holds f at each place of a draw, whatever bits follow the first `n_bits`."""


def joined(bounds: np.ndarray, *, unlike: float = 8.0) -> np.ndarray:
    """Return the largest of some bounds for all, (1,), where they are alike, which is quicker; else the bounds (d,)."""
    return bounds if bounds.max() > unlike * bounds.min() else bounds.max(keepdims=True)


def rounded_draws(law: RealFunction, size: int, lattice: np.ndarray, rng: Entropy) -> np.ndarray:
    """Return `size` independent draws of lattice·f, rounded as in `rounded`: shape (size, d), dtype int64."""
    result = np.empty((size, law.d), dtype=np.int64)
    batch = max(1, 2**17 // law.n_reals)  # numbers at a time: a megabyte, so that calls cost little beside them
    for start in range(0, size, batch):
        count = min(batch, size - start)
        result[start : start + count] = rounded(law, Reals((count, law.n_reals), rng), lattice)
    return result


def rounded(law: RealFunction, reals: Reals, lattice: np.ndarray, first_bits: int = WORD) -> np.ndarray:
    """Return lattice·f(reals), rounded to the nearest integers, modulo 2^64: shape (m, d), dtype int64, exactly.

    `lattice` (1,) or (d,) are positive floats, taken as the rational numbers that they are. The integers are a function
    of the bits alone, for every `first_bits`, which are the bits that the first try sees (64 of them in floats).
    Whole numbers beyond 64 bits are wrapped: so is the sum of answer and noise, which is post-processing of it.
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
    """Return the whole numbers at some places of a draw, with as many bits as they take."""
    decided: dict[int, int] = {}
    while len(decided) < len(steps):
        places = [place for place in steps if place not in decided]
        for place, (low, high) in zip(places, law.brackets(reals, draw, places, n_bits), strict=True):
            if _nearest(steps[place] * low) == (whole := _nearest(steps[place] * high)):
                decided[place] = whole
        n_bits += WORD
    return [_wrapped(decided[place]) for place in steps]


def _by_floats(known: tuple[np.ndarray, np.ndarray], lattice: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest whole numbers and where the bound leaves them open.

    A float below the rounded difference 1/2 − margin is below the difference itself, for rounding is monotone.
    """
    values, bounds = known
    scaled = values * lattice
    nearest = np.rint(scaled)
    limit = 0.5 - (bounds * lattice * (1 + PARAMETERS) + _UNDERFLOW)
    scaled -= nearest  # exact: both are multiples of the last place of the larger
    undecided = ~(np.abs(scaled, out=scaled) < limit)
    if undecided.any():
        nearest[undecided] = 0
    return nearest.astype(np.int64), undecided


def _nearest(x: Fraction) -> int:
    return math.floor(x + Fraction(1, 2))


def _wrapped(whole: int) -> int:
    return (whole + 2**63) % 2**64 - 2**63
