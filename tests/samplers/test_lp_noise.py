"""Noise of ℓ_p balls: a function of the bits alone, of the right law. Keys are fixed."""

from itertools import count

import mpmath
import numpy as np
import pytest
import scipy.stats

import gaugedp as gd
from gaugedp.bodies import LpBall, image
from gaugedp.samplers.known_laws import LpNoise, exponential
from gaugedp.samplers.reals import rounded, rounded_draws
from tests.samplers.tape import MANY, Tape, tape

LAWS = {
    "half": LpNoise(3, 1.5),
    "three": LpNoise(2, 3.0),
    "near one": LpNoise(2, 1 + 2.0**-30),
    "far": LpNoise(4, 64.0),
}
ALARM = 1e-6


def trial(law: LpNoise, reals: Tape, draw: int, place: int) -> tuple[mpmath.mpf, mpmath.mpf]:
    """Signed x and t of a trial."""
    first, second, third = (reals.number(draw, 3 * place + i) for i in range(3))
    size = -mpmath.log(first * min(mpmath.mpf(1), law.p * second))
    width = (law.p - 1 + size) / law.p
    return (2 * third if third < 0.5 else 1 - 2 * third) * width, size


def truth(law: LpNoise, reals: Tape, draw: int) -> list[mpmath.mpf]:
    """From the definition of the law."""
    with mpmath.workprec(MANY):
        kept, further = [], count(law.d)
        for place in range(law.d):
            point, size = trial(law, reals, draw, place)
            while abs(point) ** law.p > size:
                point, size = trial(law, reals, draw, next(further))
            kept.append((point, size))
        power = mpmath.fsum(abs(point) ** law.p for point, _ in kept)
        radius = mpmath.fsum(size for _, size in kept) - power
        return [radius * point / power ** (1 / mpmath.mpf(law.p)) for point, _ in kept]


def test_trials_that_are_not_taken_are_made_again_from_further_numbers() -> None:
    """First numbers of 2^−64 give no large t; W near 1 is then refused, more often than there are numbers at hand."""
    law, reals = LAWS["half"], tape(LAWS["half"], 30, 4)
    reals.words = reals.words.copy()
    reals.words[:, 0::3] = 2**64 - 2**40  # t near 0 for Q above 1/p
    reals.words[:, 1::3] = 2**64 - 1
    reals.words[:, 2::3] |= np.uint64(2**62 + 2**61)
    assert np.isinf(law.floats(reals, 64)[1]).all()
    actual = rounded(law, reals, np.array([50.0]))
    assert len(np.unique(actual, axis=0)) > 20
    for draw in range(5):
        assert list(actual[draw]) == [int(mpmath.floor(50 * x + 0.5)) for x in truth(law, reals, draw)]


def near_the_edge(law: LpNoise, reals: Tape, places: range, share: float) -> None:
    """Let |x|^p of these trials of draw 0 be a little less than t."""
    reals.words = reals.words.copy()
    with mpmath.workprec(MANY):
        for place in places:
            _, size = trial(law, reals, 0, place)
            edge = size ** (1 / mpmath.mpf(law.p)) / ((law.p - 1 + size) / law.p)
            reals.words[0, 3 * place + 2] = int(mpmath.floor(edge * (1 - share) * 2**63))
    reals._further.clear()


def test_a_trial_at_the_edge_is_not_known_by_floats() -> None:
    """|x|^p is t to the last bit of the word of W: integers decide, as the truth does, one way or the other."""
    law, sides = LAWS["three"], []
    for draw in range(12):
        reals = tape(law, 1, 100 + draw)
        near_the_edge(law, reals, range(1), 0.0)
        with mpmath.workprec(MANY):
            point, size = trial(law, reals, 0, 0)
            sides.append(bool(abs(point) ** law.p <= size))
        assert np.isinf(law.floats(reals, 64)[1]).all()
        assert list(rounded(law, reals, np.array([50.0]))[0]) == [
            int(mpmath.floor(50 * x + 0.5)) for x in truth(law, reals, 0)
        ]
    assert len(set(sides)) == 2


def test_where_little_is_left_of_the_radius_the_bound_is_wide() -> None:
    """T − N is a millionth of T: what both are off by is a million times as large a share."""
    law, ratios = LAWS["three"], []
    for draw in range(20):
        reals = tape(law, 1, 200 + draw)
        near_the_edge(law, reals, range(2), 1e-6)
        (values, bounds), true = law.closer(reals, 64), truth(law, reals, 0)
        ratios += [float(abs(mpmath.mpf(float(v)) - x) / b) for v, b, x in zip(values[0], bounds[0], true, strict=True)]
    assert 1e-3 < max(ratios) < 1


def test_the_exponential_of_floats_is_within_its_bound() -> None:
    rng = np.random.default_rng(8)
    numbers = np.concatenate(
        [rng.uniform(-690, 690, 1500), rng.uniform(-1, 1, 1500), [0.0, 0.34657359, -0.34657359, 690]]
    )
    with mpmath.workprec(200):
        results = [mpmath.log(mpmath.mpf(float(y))) for y in exponential(numbers)]
        units = [float(abs(y - mpmath.mpf(float(x)))) * 2**53 for x, y in zip(numbers, results, strict=True)]
    assert 0.5 < max(units) < 4
    assert 0 < exponential(np.array([-1e6]))[0] < 2.0**-900


@pytest.mark.statistical
@pytest.mark.parametrize("law", [LpNoise(2, 1.5), LpNoise(2, 4.0)], ids=["half", "four"])
def test_coarse_draws_have_the_chances_of_their_cells(law: LpNoise) -> None:
    """Cells of the plane by the integral of e^{−‖z‖_p}. Chi-square, false alarm 10⁻⁶; controls of other p and scale."""
    size = 100_000
    draws = rounded_draws(law, size, np.array([2.0]), gd.research_rng(6))
    cells = np.clip(draws, -5, 5) @ [11, 1]
    counts = np.bincount(cells + 60, minlength=121)

    def p_value(p: float, scale: float) -> float:
        points = (np.arange(-600, 600) + 0.5) / 20  # in steps, the middle of squares
        heights = np.exp(-np.linalg.norm(np.stack(np.meshgrid(points, points, indexing="ij")), p, axis=0) / scale)
        edges = np.clip(np.rint(points), -5, 5).astype(int) + 5
        chances = np.zeros((11, 11))
        np.add.at(chances, (edges[:, None], edges[None, :]), heights)
        return float(scipy.stats.chisquare(counts, chances.ravel() / chances.sum() * size).pvalue)

    assert p_value(law.p, 2.0) > ALARM
    assert max(p_value(1.4 * law.p, 2.0), p_value(law.p, 2.1)) < ALARM


def test_balls_of_any_p_are_exact_and_of_a_huge_one_are_not() -> None:
    for body in (LpBall(3, 1.5, 0.3), LpBall(2, 40.0), image(LpBall(3, 3), np.diag([1.0, 10.0, 1000.0]))):
        assert gd.KNorm.calibrate(body, gd.PureDP(1.0)).exactness == "exact"
    assert gd.KNorm.calibrate(LpBall(1, 80.0), gd.PureDP(1.0)).exactness == "exact"
    assert gd.KNorm.calibrate(LpBall(2, 80.0), gd.PureDP(1.0)).exactness == "idealized"
