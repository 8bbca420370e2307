"""The acceptance and the rounding of Gaussian magnitudes: every bracket and every decision against exact numbers."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import strategies as st

from gaugedp.entropy import research_rng
from gaugedp.samplers import half_gaussian
from gaugedp.samplers.half_gaussian import HalfGaussian, Proposals
from tests.samplers.playback import ALL_ONES, Playback, extended
from tests.steady import given

TOP = 2**62
HALVES = {
    "continuous": HalfGaussian.continuous(),
    "scale 512": HalfGaussian.on_lattice(Fraction(512) ** 2),
    "scale 1023.9": HalfGaussian.on_lattice(Fraction(10239, 10) ** 2),
    "scale 123457/3": HalfGaussian.on_lattice(Fraction(123457, 3) ** 2),
    "scale 2^54": HalfGaussian.on_lattice(Fraction(2) ** 108),
}
CELLS = st.one_of(st.integers(0, 10), st.integers(0, 1500), st.integers(1500, 8000))
FRACTIONS = st.one_of(
    st.integers(0, TOP - 1),
    st.integers(0, 64),
    st.integers(TOP - 64, TOP - 1),
    st.integers(0, 62).map(lambda n: 1 << n),
).map(lambda n: min(n, TOP - 1))
NAMES = st.sampled_from(sorted(HALVES))


def on_its_lattice(half: HalfGaussian, fraction: int) -> int:
    """Clear the bits of a fraction that the lattice does not have."""
    unused = 0 if half.lattice_bits is None else 62 - half.lattice_bits
    return fraction >> unused << unused


def exponent(half: HalfGaussian, cell: int, fraction: Fraction) -> Fraction:
    return half.rate * fraction * (2 * cell + fraction)


def ends(half: HalfGaussian, fraction: int, n_bits: int = 62) -> tuple[Fraction, Fraction]:
    """Return the least and the largest fraction that begin with these bits."""
    last = fraction + (half.lattice_bits is None)
    return Fraction(fraction, 2**n_bits), Fraction(last, 2**n_bits)


def rejection(half: HalfGaussian, cell: int, fraction: Fraction, n_bits: int) -> mpmath.mpf:
    """Return 2^n_bits·(1 − e^(−g)) at the precision of the caller."""
    g = exponent(half, cell, fraction)
    return -mpmath.ldexp(mpmath.expm1(-mpmath.mpf(g.numerator) / g.denominator), n_bits)


@pytest.mark.parametrize("name", HALVES)
def test_cells_are_between_a_256th_and_a_512th_of_the_scale(name: str) -> None:
    assert Fraction(1, 2 * 512**2) < HALVES[name].rate <= Fraction(1, 2 * 256**2)


@pytest.mark.parametrize("scale", ["1/10", "1/2", "1", "10/3", "64", "255", "256", "511", "511.99"])
def test_small_scales_have_a_cell_for_every_integer(scale: str) -> None:
    half = HalfGaussian.on_lattice(Fraction(scale) ** 2)
    assert half == HalfGaussian(1 / (2 * Fraction(scale) ** 2), 0)


@given(NAMES, CELLS, FRACTIONS)
def test_the_exponent_is_bracketed(name: str, cell: int, fraction: int) -> None:
    half = HALVES[name]
    fraction = on_its_lattice(half, fraction)
    (low,), (high,) = half._exponent(np.array([cell]), np.array([fraction]))
    nearest, farthest = ends(half, fraction)
    assert 0 <= int(low) <= exponent(half, cell, nearest) * TOP
    assert exponent(half, cell, farthest) * TOP <= int(high) < TOP
    assert int(high) - int(low) < TOP / 2**24 + exponent(half, cell, nearest) * TOP / 2**10


def proposal(cell: int, fraction: int) -> Proposals:
    return Proposals(np.array([cell]), np.array([fraction]), np.array([True]), {})


def consistent(half: HalfGaussian, cell: int, fraction: int, uniform: int, n_bits: int) -> set[bool]:
    """Return the decisions that are right for every pair of numbers that begin with these bits; two if it is open."""
    with mpmath.workprec(n_bits + 200):
        low, high = (rejection(half, cell, end, n_bits) for end in ends(half, fraction, n_bits))
        return {True} if uniform >= high else {False} if uniform + 1 <= low else {True, False}


def check_acceptance(half: HalfGaussian, cell: int, fraction: int, uniform: int, more: list[int]) -> Playback:
    """Play back one proposal; the decision must be the right one for all the bits that were drawn."""
    played = Playback([[uniform << 2]], more)
    made = proposal(cell, fraction)
    half._accept(made, played)
    accepted = bool(made.accepted[0])
    pairs = len(played.drawn) if half.lattice_bits is not None else len(played.drawn) // 2
    tail = [0] * pairs if half.lattice_bits is not None else played.drawn[::2]
    head = played.drawn if half.lattice_bits is not None else played.drawn[1::2]
    actual = consistent(half, cell, extended(fraction, tail), extended(uniform, head), 62 + 64 * pairs)
    assert actual == {accepted}, (cell, fraction, uniform, more)
    assert pairs == 0 or made.further[0] == (extended(fraction, tail), 62 + 64 * pairs)
    return played


@given(NAMES, CELLS, FRACTIONS, st.integers(0, TOP - 1), st.lists(st.integers(0, ALL_ONES), min_size=3, max_size=7))
def test_any_proposal_is_decided_right(name: str, cell: int, fraction: int, uniform: int, more: list[int]) -> None:
    half = HALVES[name]
    check_acceptance(half, cell, on_its_lattice(half, fraction), uniform, [*more, 77])


@given(
    NAMES, CELLS, FRACTIONS, st.integers(-3, 3), st.sampled_from(["low", "high", "band", "truth"]),
    st.lists(st.integers(0, ALL_ONES), min_size=3, max_size=7),
)  # fmt: skip
def test_proposals_at_the_edges_are_decided_right(
    name: str, cell: int, fraction: int, nudge: int, edge: str, more: list[int]
) -> None:
    half = HALVES[name]
    fraction = on_its_lattice(half, fraction)
    (low,), (high,) = half._exponent(np.array([cell]), np.array([fraction]))
    with mpmath.workprec(300):
        truth = int(mpmath.floor(rejection(half, cell, ends(half, fraction)[0], 62)))
    at = {"low": int(low), "high": int(high), "truth": truth, "band": int(low) - (((int(high) >> 31) + 1) ** 2 >> 1)}
    check_acceptance(half, cell, fraction, min(max(at[edge] + nudge, 0), TOP - 1), [*more, 77])


@pytest.mark.parametrize("name", HALVES)
@pytest.mark.parametrize("cell", [0, 1, 255, 2000])
def test_undecided_proposals_draw_more_bits_and_are_decided_right(name: str, cell: int) -> None:
    """The first bits of 1 − e^(−g) never decide; neither do two further words of it on a lattice."""
    half = HALVES[name]
    fraction = on_its_lattice(half, 0xB504F333F9DE648 << 2)
    with mpmath.workprec(400):
        bits = int(mpmath.floor(rejection(half, cell, ends(half, fraction)[0], 62 + 128)))
    words = [bits >> 64 & ALL_ONES, bits & ALL_ONES]
    more = [*words, 5] if half.lattice_bits is not None else [0, words[0], 0, words[1], 5, 5]
    assert len(check_acceptance(half, cell, fraction, bits >> 128, more).drawn) >= 3


@given(NAMES, CELLS, FRACTIONS, st.integers(1, 4))
def test_the_acceptance_is_bracketed_tightly(name: str, cell: int, fraction: int, n_words: int) -> None:
    half, n_bits = HALVES[name], 62 + 64 * n_words
    fraction = on_its_lattice(half, fraction) << 64 * n_words
    low, high = half._acceptance(cell, fraction, n_bits)
    with mpmath.workprec(n_bits + 200):
        for end in ends(half, fraction, n_bits):
            assert low <= mpmath.ldexp(1, n_bits) - rejection(half, cell, end, n_bits) <= high
    assert high - low <= 4


def test_few_are_decided_one_by_one() -> None:
    """Fewer than 1 in 1000 proposals leave the fast path."""
    for half in HALVES.values():
        decided = []
        slow = HalfGaussian(half.rate, half.lattice_bits)
        object.__setattr__(slow, "_decide", lambda *_, decided=decided: decided.append(1))
        slow._propose(100_000, research_rng(1))
        assert len(decided) < 100


STEPS = st.one_of(
    st.builds(Fraction, st.integers(1, 10**9), st.integers(1, 10**9)),
    st.builds(lambda n, k: Fraction(n, 997) * Fraction(2) ** k, st.integers(1, 999), st.integers(-60, 46)),
    st.integers(-70, 46).map(lambda k: Fraction(2) ** k),
    st.sampled_from([Fraction(2**23) - Fraction(1, 10**9), Fraction(2**23), Fraction(2**54, 256)]),
)  # fmt: skip


def check_rounding(step: Fraction, cell: int, fraction: int, more: list[int]) -> Playback:
    """The result must be right for every number that begins with the bits that were drawn."""
    played = Playback([], more)
    result = int(half_gaussian._round(step, proposal(cell, fraction), np.array([0]), played)[0])
    n_bits, bits = 62 + 64 * len(played.drawn), extended(fraction, played.drawn)
    low = step * (cell + Fraction(bits, 2**n_bits)) + Fraction(1, 2)
    high = low + step / 2**n_bits
    assert result <= low
    assert high <= result + 1
    return played


@given(STEPS, CELLS, FRACTIONS, st.lists(st.integers(0, ALL_ONES), min_size=1, max_size=4))
def test_any_number_is_rounded_exactly(step: Fraction, cell: int, fraction: int, more: list[int]) -> None:
    check_rounding(step, cell, fraction, [*more, 77])


@given(STEPS, st.integers(0, 2**60), st.integers(-2, 2), st.lists(st.integers(0, ALL_ONES), min_size=1, max_size=4))
def test_numbers_near_a_tie_are_rounded_exactly(step: Fraction, whole: int, nudge: int, more: list[int]) -> None:
    tie = (Fraction(whole % max(1, int(8000 * step))) + Fraction(1, 2)) / step
    cell = tie.__floor__()
    if cell < 8000:
        fraction = int((tie - cell) * TOP) + nudge
        check_rounding(step, cell, min(max(fraction, 0), TOP - 1), [*more, 77])


@given(STEPS, CELLS, FRACTIONS)
def test_the_rounding_bracket_holds_both_ends(step: Fraction, cell: int, fraction: int) -> None:
    (low,), (high,) = half_gaussian._round_bracket(step, np.array([cell]), np.array([fraction]))
    value = step * (cell + Fraction(fraction, TOP)) + Fraction(1, 2)
    if int(step) < 2**23:
        assert int(low) <= value.__floor__()
        assert (value + step / TOP).__floor__() <= int(high)
    else:
        assert int(low) != int(high)


def test_a_tie_needs_more_bits() -> None:
    step = Fraction(7, 10)
    tie = Fraction(3, 2) / step
    bits = int((tie - 2) * 2 ** (62 + 128))
    words = [bits >> 64 & ALL_ONES, bits & ALL_ONES]
    assert len(check_rounding(step, 2, bits >> 128, [*words, 9]).drawn) == 3


def test_a_number_keeps_the_bits_that_decided_about_it() -> None:
    """Accepting reads further bits of a number, and a number accepted on them is no longer uniform below them."""
    half, step, cell = HALVES["continuous"], Fraction(5 * 2**46, 7), 100
    tie = ((step * 100).__floor__() + 10**9 + 1 + Fraction(1, 2)) / step
    fraction = int((tie - cell) * TOP)
    assert straddles(step, cell, fraction)
    with mpmath.workprec(300):
        uniform = int(mpmath.floor(rejection(half, cell, Fraction(fraction, TOP), 62)))
    played = Playback([[fraction << 2], [uniform << 2]], [0, ALL_ONES] * 17 + [ALL_ONES])
    drawn = HalfGaussian(half.rate, None)
    object.__setattr__(drawn, "_cells", Constant(cell))
    result = int(drawn.rounded(1, step * 256, played)[0])
    assert played.drawn[:2] == [0, ALL_ONES]
    assert result == (step * (cell + Fraction(fraction, TOP)) + Fraction(1, 2)).__floor__()


def straddles(step: Fraction, cell: int, fraction: int) -> bool:
    """Whether the numbers that begin with these 62 bits are rounded to two different integers."""
    value = step * (cell + Fraction(fraction, TOP)) + Fraction(1, 2)
    return value.__floor__() < (value + step / TOP).__ceil__() - 1


class Constant:
    """A law with one value."""

    def __init__(self, value: int) -> None:
        self.value = value

    def draw(self, size: int, _rng: object) -> np.ndarray:
        return np.full(size, self.value, dtype=np.int64)
