"""What holds for every noise that is a function of its bits: its integers, bounds and law. Keys are fixed."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import mpmath
import numpy as np
import pytest
import scipy.stats

import gaugedp as gd
from gaugedp.bodies import Body, LpBall, image
from gaugedp.samplers.gauge_noise import gauge_noise
from gaugedp.samplers.reals import RealFunction, rounded, rounded_draws
from tests.mechanisms import test_nested_law
from tests.samplers import test_cones, test_lp_noise, test_mapped, test_reals, test_swept_noise
from tests.samplers.tape import MANY, Tape, misses_of_floats, tape, truth, undecided


class Case(NamedTuple):
    """A law, and its values of a draw from their definition."""

    law: RealFunction
    truth: Callable[[RealFunction, Tape, int], list[mpmath.mpf]]


def swept(name: str) -> Case:
    return Case(test_swept_noise.law(name), lambda _, reals, draw: test_swept_noise.truth(name, reals, draw))


CASES = {
    **{f"sums {name}": Case(law, truth) for name, law in test_reals.LAWS.items()},
    **{f"ball {name}": Case(law, test_lp_noise.truth) for name, law in test_lp_noise.LAWS.items()},
    **{f"swept {name}": swept(name) for name in test_swept_noise.BODIES},
    **{f"cones {name}": Case(test_cones.law(name), test_cones.truth) for name in test_cones.BODIES},
    **{f"mapped {name}": Case(law, test_mapped.truth) for name, law in test_mapped.LAWS.items()},
    "levels": Case(test_nested_law.of(test_nested_law.BOX, 3)[2], test_nested_law.truth),
}
BODIES: dict[str, Body] = {
    **{f"ball {p}": LpBall(d, p) for d, p in ((3, 1.5), (2, 3.0), (2, 1 + 2.0**-30), (4, 64.0), (40, 2.7))},
    **{f"swept {name}": body for name, body in test_swept_noise.BODIES.items()},
    **{f"mapped {p}": image(LpBall(3, p, 2.0), test_mapped.MATRIX) for p in (1.5, 3.0, np.inf)},
}
every = partial(pytest.mark.parametrize, "name")


@every(CASES)
def test_every_first_precision_gives_the_integers_of_the_truth(name: str) -> None:
    law, true_values = CASES[name]
    lattice, reals = np.geomspace(20.0, 50.0, law.d), tape(law, 60, 1)
    expected = []
    for draw in range(60):
        pairs = zip(lattice.tolist(), true_values(law, reals, draw), strict=True)
        expected.append([int(mpmath.floor(side * x + 0.5)) for side, x in pairs])
    for first_bits in (8, 16, 53, 64, 120):
        assert rounded(law, tape(law, 60, 1), lattice, first_bits).tolist() == expected, first_bits
    assert undecided(law, reals, lattice, 8) > 0.9
    assert undecided(law, reals, lattice, 64) == 0


@every([name for name in CASES if name.startswith(("sums", "ball", "mapped")) and name != "mapped flat"])
def test_a_hair_beside_a_border_the_integer_is_right(name: str) -> None:
    """The control rounds floats, without the bound: some of these go to the other side."""
    law, true_values = CASES[name]
    assert misses_of_floats(law, tape(law, 60, 3), true_values) > 3


def tapes(law: RealFunction) -> list[Tape]:
    """Return usual numbers, and some without a bit or with all of them, of which few are taken where p is large."""
    extreme = tape(law, 2, 2)
    extreme.words = extreme.words.copy()
    extreme.words[:, 2:] = np.array([[0], [2**64 - 1]], dtype=np.uint64)
    return [tape(law, 40, 2), extreme][: 1 if law is test_lp_noise.LAWS["far"] else 2]


@every(CASES)
def test_the_truth_is_within_bounds_and_brackets(name: str) -> None:
    """Of a bound a share is used: it is not idle."""
    law, true_values = CASES[name]
    largest = 0.0
    for reals in tapes(law):
        true = [true_values(law, reals, draw) for draw in range(len(reals.words))]
        for n_bits in (8, 16, 30, 64):
            for values, bounds in (law.floats(reals, n_bits), law.closer(reals, n_bits)):
                each = np.broadcast_to(bounds, values.shape)
                for draw in np.flatnonzero(np.isfinite(each).all(axis=1)):
                    for value, bound, x in zip(values[draw], each[draw], true[draw], strict=True):
                        largest = max(largest, float(abs(mpmath.mpf(float(value)) - x) / bound))
        for draw in range(len(true)):
            for (low, high), x in zip(law.brackets(reals, draw, range(law.d), 256), true[draw], strict=True):
                with mpmath.workprec(MANY):
                    ends = [mpmath.mpf(end.numerator) / end.denominator for end in (low, high)]
                    assert ends[0] <= x <= ends[1]
                assert high - low < 2.0**-30 or len(true) == 2
    assert 1e-3 < largest < 1


@pytest.mark.statistical
@every(BODIES)
def test_the_gauge_is_a_gamma_variable_and_moments_are_the_bodys(name: str) -> None:
    """‖z‖_K ~ Gamma(r), where the body fills the space. False alarms: 10⁻⁵; controls of one more, and a tenth more."""
    body, fine, rank = BODIES[name], 2.0**20, BODIES[name].rank
    noise, size = gauge_noise(body), 200_000 // body.ambient_dim
    draws = rounded_draws(noise.law, size, noise.sides * fine, gd.research_rng(5)) / fine
    if rank == body.ambient_dim:
        gauges = body.gauge(draws[:5000])
        assert scipy.stats.kstest(gauges, scipy.stats.gamma(rank).cdf).pvalue > 1e-6
        assert scipy.stats.kstest(gauges, scipy.stats.gamma(rank + 1).cdf).pvalue < 1e-6
    moment = gd.samplers.moments(body).second_moment * (rank + 1) * (rank + 2)
    products = draws[:, :, None] * draws[:, None, :]
    errors = products.std(axis=0) / size**0.5
    assert np.abs((products.mean(axis=0) - moment) / errors).max() < 6
    assert np.abs((products.mean(axis=0) - 1.1 * moment) / errors).max() > 6
