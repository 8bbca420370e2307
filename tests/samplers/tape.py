"""Real numbers whose bits are known before anybody asks for them: the same to every precision."""

import hashlib

import mpmath

import gaugedp as gd
from gaugedp.samplers.reals import WORD, Law, Reals

MANY = 512  # bits, at which the truth is computed


class Tape(Reals):
    """Numbers of a fixed key: each further word is named by the draw, the place and its order."""

    def __init__(self, shape: tuple[int, int], key: int) -> None:
        super().__init__(shape, gd.research_rng(key))
        self.key = key

    def _more(self, draw: int, place: int, block: int) -> int:
        name = f"{self.key},{draw},{place},{block}".encode()
        return int.from_bytes(hashlib.blake2b(name, digest_size=WORD // 8).digest(), "little")

    def number(self, draw: int, place: int) -> mpmath.mpf:
        """One number, to MANY bits."""
        return mpmath.ldexp(mpmath.mpf(self.bits(draw, place, MANY)), -MANY)


def box_truth(reals: Tape, draw: int, d: int) -> list[mpmath.mpf]:
    """Return R·U from the definition: d + 1 numbers for R, d for U, whose first bit is the sign."""
    with mpmath.workprec(MANY):
        radius = -mpmath.fsum(mpmath.log(reals.number(draw, place)) for place in range(d + 1))
        sides = [2 * reals.number(draw, d + 1 + place) for place in range(d)]
        return [radius * (side if side < 1 else side - 2) for side in sides]


def tape(law: Law, size: int, key: int) -> Tape:
    """Return numbers for `size` draws."""
    return Tape((size, law.n_reals), key)
