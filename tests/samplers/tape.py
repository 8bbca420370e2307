"""Real numbers whose bits are known before anybody asks for them: the same to every precision."""

import hashlib
from collections.abc import Callable

import mpmath
import numpy as np

import gaugedp as gd
from gaugedp.samplers.box_noise import BoxNoise
from gaugedp.samplers.reals import WORD, RealFunction, Reals, rounded
from gaugedp.samplers.variables import LaplaceVariables, Normal, Spherical

MANY = 512  # bits, at which the truth is computed


class Tape(Reals):
    """Numbers of a fixed key: each further word is named by the draw, the place and its order."""

    def __init__(self, shape: tuple[int, int], key: int) -> None:
        super().__init__(shape, gd.research_rng(key))
        self.key = key

    def _more(self, draw: int, place: int, block: int) -> int:
        name = f"{self.key},{draw},{place},{block - 1}".encode()
        return int.from_bytes(hashlib.blake2b(name, digest_size=WORD // 8).digest(), "little")

    def number(self, draw: int, place: int) -> mpmath.mpf:
        """One number, to MANY bits."""
        return mpmath.ldexp(mpmath.mpf(self.bits(draw, place, MANY)), -MANY)


def truth(law: RealFunction, reals: Tape, draw: int) -> list[mpmath.mpf]:
    """Return the values of a draw, from the definition of the law."""
    with mpmath.workprec(MANY):
        numbers = [reals.number(draw, place) for place in range(law.n_reals)]
        if isinstance(law, BoxNoise):
            return _box(law, numbers)
        variables = _KINDS[law.kind](numbers, law.right.shape[1])
        return list(mpmath.matrix(law.left.tolist()) * (mpmath.matrix(law.right.tolist()) * mpmath.matrix(variables)))


def _box(law: BoxNoise, numbers: list[mpmath.mpf]) -> list[mpmath.mpf]:
    """R·U: d + 1 numbers for R, d for U, whose first bit is the sign."""
    radius = -mpmath.fsum(map(mpmath.log, numbers[: law.d + 1]))
    return [radius * (2 * number if number < 0.5 else 2 * number - 2) for number in numbers[law.d + 1 :]]


def _laplace(numbers: list[mpmath.mpf], k: int) -> list[mpmath.mpf]:
    """−log of what is left of a number without its first bit, which is the sign."""
    return [mpmath.log(2 * x - 1) if x >= 0.5 else -mpmath.log(2 * x) for x in numbers[:k]]


def _normal(numbers: list[mpmath.mpf], k: int) -> list[mpmath.mpf]:
    """Box and Muller: two signs and an angle in a quarter of the circle from the second number of a pair."""
    half, first, second = len(numbers) // 2, [], []
    for x, turn in zip(numbers[:half], numbers[half:], strict=True):
        quarter = int(mpmath.floor(4 * turn))
        length, angle = mpmath.sqrt(-2 * mpmath.log(x)), (4 * turn - quarter) * mpmath.pi / 2
        first.append((-1) ** (quarter >> 1) * length * mpmath.cos(angle))
        second.append((-1) ** (quarter & 1) * length * mpmath.sin(angle))
    return [*first, *second][:k]


def _spherical(numbers: list[mpmath.mpf], k: int) -> list[mpmath.mpf]:
    """R·g/|g|: k numbers for R, the others for g."""
    radius, points = -mpmath.fsum(map(mpmath.log, numbers[:k])), _normal(numbers[k:], k)
    length = mpmath.sqrt(mpmath.fsum(x * x for x in points))
    return [radius * x / length for x in points]


_KINDS = {LaplaceVariables: _laplace, Normal: _normal, Spherical: _spherical}


def tape(law: RealFunction, size: int, key: int) -> Tape:
    """Return numbers for `size` draws."""
    return Tape((size, law.n_reals), key)


def undecided(law: RealFunction, reals: Reals, lattice: np.ndarray, n_bits: int) -> float:
    """The share of draws that the first `n_bits` bits leave open somewhere."""
    values, bounds = law.floats(reals, n_bits)
    away = np.abs(values * lattice - np.rint(values * lattice))
    return float((away >= 0.5 - bounds * lattice).any(axis=1).mean())


def misses_of_floats(
    law: RealFunction, reals: Tape, true_values: Callable[[RealFunction, Tape, int], list[mpmath.mpf]]
) -> int:
    """Check that integers are right where the first coordinate is within a rounding of a half; count wrong floats."""
    wrong = 0
    for draw in range(len(reals.words)):
        true = true_values(law, reals, draw)
        single = Tape((1, law.n_reals), reals.key)
        single.words = reals.words[draw : draw + 1]
        single._more = lambda _, place, block, draw=draw: reals._more(draw, place, block)  # type: ignore[method-assign]
        half = 1000.5 if true[0] > 0 else -1000.5
        lattice = np.array([float(half / true[0])] + [1.0] * (law.d - 1))
        with mpmath.workprec(MANY):
            expected = [int(mpmath.floor(mpmath.mpf(s) * x + 0.5)) for s, x in zip(lattice, true, strict=True)]
        assert list(rounded(law, single, lattice)[0]) == expected
        wrong += int(np.rint(law.floats(single, 64)[0][0, 0] * lattice[0])) != expected[0]
    return wrong
