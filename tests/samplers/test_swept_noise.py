"""Noise of the hull of a box and its negative: a function of the bits alone, of the right law. Keys are fixed."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

import gaugedp as gd
from gaugedp.bodies.box_hull import BoxHull
from gaugedp.samplers.gauge_noise import gauge_noise
from gaugedp.samplers.reals import rounded
from gaugedp.samplers.swept_noise import SweptNoise
from tests.samplers.tape import MANY, Tape, tape

BODIES = {
    "sums": BoxHull.of([0, 0.1, -1.5], [1, 2.3, 3.0]),
    "replaced": BoxHull.of([1, 0, -1.5], [2, 2, 3.0], 3, True, True),
    "apart": BoxHull.of([1, 0, -1.5], [2, 2, 3.0], 1, True),
    "a count": BoxHull.of([0, 1, -1.5], [1, 1, 3.0]),
    "flat": BoxHull.of([0, 1, 2], [1, 1, 2], 1, True, True),
}


def law(name: str) -> SweptNoise:
    actual = gauge_noise(BODIES[name]).law
    assert isinstance(actual, SweptNoise)
    return actual


def truth(name: str, reals: Tape, draw: int) -> list[mpmath.mpf]:
    """From the shares of volumes that the body states, the definition of R and Q, and the middle of the bounds."""
    body, rank = BODIES[name], BODIES[name].rank
    alpha, beta = (int(size) for size in body.shrinking)
    with mpmath.workprec(MANY):
        numbers = [reals.number(draw, place) for place in range(law(name).n_reals)]
        part = int(np.flatnonzero(np.cumsum(body.shares) > float(numbers[0]))[0]) - 1
        sign, turn = (1, 2 * numbers[1]) if numbers[1] < 0.5 else (-1, 2 * numbers[1] - 1)
        weights = [2 ** (rank - k) if beta else 1 for k in range(1, rank + 1)]
        first = next(k for k in range(1, rank + 1) if turn * sum(weights) < sum(weights[:k]))
        sizes = [-mpmath.log(number) for number in numbers[2 : rank + 3]]
        along = mpmath.fsum(sizes[:first]) if part >= 0 else 0
        across = alpha * mpmath.fsum(sizes) - beta * along
        results = []
        for place, number in enumerate(numbers[rank + 3 :]):
            middle = body.generators.middle[place] * (not body.differences or body.with_zero)
            side = 2 * number if number < 0.5 else 2 * number - 2
            if place == part:
                side = sign * np.sign(middle)
            low, high = (mpmath.mpf(float(ends[place])) for ends in (body.generators.low, body.generators.high))
            centre = (low + high) / 2 if middle else 0
            results.append(sign * along * centre + across * (high - low) / 2 * side)
        return results


@pytest.mark.parametrize("picks", [0, 1])
def test_at_the_end_of_a_share_nothing_is_known_until_further_bits_are_drawn(picks: int) -> None:
    """The first word of a number that picks is that before the end of a share; integers decide, as the truth does."""
    actual, shares = law("sums"), (law("sums")._parts, law("sums")._turns)[picks]
    reals = tape(actual, 20, 4)
    reals.words = reals.words.copy()
    assert np.isfinite(actual.floats(reals, 64)[1]).all()
    reals.words[:, picks] = (shares.sizes[0] << 64) // sum(shares.sizes)
    assert np.isinf(actual.floats(reals, 64)[1]).all()
    drawn = rounded(actual, reals, np.array([50.0]))
    assert len(np.unique(drawn, axis=0)) > 10


def test_shares_are_the_volumes_and_the_cube_is_paid_for() -> None:
    for name, body in BODIES.items():
        actual, noise = law(name), gauge_noise(body)
        shares = np.zeros(body.ambient_dim + 1)
        shares[actual._swept + 1] = np.array(actual._parts.sizes, dtype=float) / sum(actual._parts.sizes)
        assert shares == pytest.approx(body.shares)
        if body.rank == body.ambient_dim:
            assert noise.cube_gauge >= Fraction(float(body.gauge(np.eye(3)).sum())) * (1 - Fraction(1, 10**12))
        else:
            assert noise.cube_gauge is None


def test_forty_sums_are_exact_and_a_thousand_more_are_not() -> None:
    bounds = np.arange(1, 41) / 8
    mechanism = gd.KNorm.calibrate(BoxHull.of(-bounds, 3 * bounds), gd.PureDP(1.0))
    assert mechanism.exactness == "exact"
    assert gd.KNorm.calibrate(BoxHull.of(np.zeros(1100), np.ones(1100)), gd.PureDP(1.0)).exactness == "idealized"
