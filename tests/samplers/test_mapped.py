"""Images of noise: functions of the bits alone, of the right law, paid for by proof. Keys are fixed."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
import scipy.stats

import gaugedp as gd
from gaugedp.bodies import LpBall, image
from gaugedp.samplers.box_noise import BoxNoise
from gaugedp.samplers.gauge_noise import gauge_noise
from gaugedp.samplers.known_laws import LpNoise
from gaugedp.samplers.mapped import Mapped
from gaugedp.samplers.reals import rounded, rounded_draws
from tests.mechanisms.test_exact_strategies import rational, solved
from tests.samplers import tape as tapes
from tests.samplers import test_lp_noise
from tests.samplers.tape import MANY, Tape, misses_of_floats, tape

MATRIX = np.array([[1.0, -0.3, 0.1], [0.0, 0.7, -2.0], [0.4, 0.0, 1.0]])
TURNED = np.array([[0.0, 1e-3], [1.0, 0.0], [-1.0, 0.3]])
LAWS = {
    "box": Mapped(MATRIX, BoxNoise(3)),
    "half": Mapped(MATRIX, LpNoise(3, 1.5)),
    "flat": Mapped(TURNED, BoxNoise(2)),
}
ALARM = 1e-6


def truth(law: Mapped, reals: Tape, draw: int) -> list[mpmath.mpf]:
    """The matrix times the truth of the law itself."""
    known = {LpNoise: test_lp_noise.truth, Mapped: truth}
    inner = known.get(type(law.law), tapes.truth)
    with mpmath.workprec(MANY):
        return list(mpmath.matrix(law.matrix.tolist()) * mpmath.matrix(inner(law.law, reals, draw)))


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_every_first_precision_gives_the_integers_of_the_truth(law: Mapped) -> None:
    lattice = np.geomspace(20.0, 50.0, law.d)
    reals = tape(law, 60, 1)
    expected = [
        [int(mpmath.floor(side * x + 0.5)) for side, x in zip(lattice.tolist(), truth(law, reals, draw), strict=True)]
        for draw in range(60)
    ]
    for first_bits in (8, 16, 53, 64, 120):
        assert rounded(law, tape(law, 60, 1), lattice, first_bits).tolist() == expected, first_bits


@pytest.mark.parametrize("law", [LAWS["box"], LAWS["half"]], ids=["box", "half"])
def test_a_hair_beside_a_border_the_integer_is_right(law: Mapped) -> None:
    """The control rounds floats, without the bound: some of these go to the other side."""
    assert misses_of_floats(law, tape(law, 40, 3), truth) > 2


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_the_truth_is_within_the_bounds_and_brackets(law: Mapped) -> None:
    reals, closest = tape(law, 40, 2), 0.0
    for act in (law.floats, law.closer):
        for n_bits in (16, 64):
            values, bounds = act(reals, n_bits)
            for draw in range(40):
                for x, value, bound in zip(truth(law, reals, draw), values[draw], bounds[draw], strict=True):
                    assert abs(x - float(value)) <= float(bound)
                    closest = max(closest, float(abs(x - float(value))) / float(bound))
    assert closest > 1e-3  # a bound that is not idle
    for draw in range(20):
        ends = law.brackets(reals, draw, range(law.d), 64)
        for x, (low, high) in zip(truth(law, reals, draw), ends, strict=True):
            with mpmath.workprec(MANY):
                assert mpmath.mpf(low.numerator) / low.denominator <= x <= mpmath.mpf(high.numerator) / high.denominator
            assert high - low < 2.0**-40


@pytest.mark.parametrize("p", [1.5, 3.0, np.inf])
def test_the_gauge_of_noise_is_a_gamma_variable(p: float) -> None:
    """4,000 draws in fine steps; the control has one more exponential, and second moments that of the body."""
    body = image(LpBall(3, p, 2.0), MATRIX)
    noise = gauge_noise(body)
    assert isinstance(noise.law, Mapped)
    draws = rounded_draws(noise.law, 4000, noise.sides * 2.0**20, gd.research_rng(5)) / 2.0**20
    gauges = body.gauge(draws)
    assert scipy.stats.kstest(gauges, scipy.stats.gamma(3).cdf).pvalue > ALARM
    assert scipy.stats.kstest(gauges, scipy.stats.gamma(4).cdf).pvalue < ALARM
    moment = noise.second_moment * 4 * 5
    whitened = draws @ np.linalg.inv(np.linalg.cholesky(moment)).T
    products = whitened[:, :, None] * whitened[:, None, :]
    scores = (products.mean(axis=0) - np.eye(3)) / (products.std(axis=0) / 4000**0.5)
    assert np.abs(scores).max() < 6


@pytest.mark.parametrize("p", [1.5, 3.0, np.inf])
def test_rounding_is_paid_for_in_the_gauge_of_the_image(p: float) -> None:
    """By the inverse in rational numbers."""
    mechanism = gd.KNorm.calibrate(image(LpBall(3, p, 2.0), MATRIX), gd.PureDP(1.0))
    units = [[Fraction(int(i == j)) for j in range(3)] for i in range(3)]
    columns = [np.array([float(x) for x in solved(rational(MATRIX), unit)]) for unit in units]
    needed = sum(np.linalg.norm(column, p) for column in columns) / 2
    assert mechanism.exactness == "exact"
    assert needed <= float(mechanism.noise.cube_gauge) * (1 + 1e-12) <= 3 * needed
    assert Fraction(mechanism.scale_factor) >= 1 + mechanism.lattice_step * mechanism.noise.cube_gauge
