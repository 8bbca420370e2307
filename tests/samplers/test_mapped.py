"""Images of noise: functions of the bits alone, of the right law, paid for by proof. Keys are fixed."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

import gaugedp as gd
from gaugedp.bodies import LpBall, image
from gaugedp.samplers.box_noise import BoxNoise
from gaugedp.samplers.known_laws import LpNoise
from gaugedp.samplers.mapped import Mapped
from tests.mechanisms.test_exact_strategies import rational, solved
from tests.samplers import tape as tapes
from tests.samplers import test_lp_noise
from tests.samplers.tape import MANY, Tape

MATRIX = np.array([[1.0, -0.3, 0.1], [0.0, 0.7, -2.0], [0.4, 0.0, 1.0]])
TURNED = np.array([[0.0, 1e-3], [1.0, 0.0], [-1.0, 0.3]])
LAWS = {
    "box": Mapped(MATRIX, BoxNoise(3)),
    "half": Mapped(MATRIX, LpNoise(3, 1.5)),
    "flat": Mapped(TURNED, BoxNoise(2)),
}


def truth(law: Mapped, reals: Tape, draw: int) -> list[mpmath.mpf]:
    """The matrix times the truth of the law itself."""
    known = {LpNoise: test_lp_noise.truth, Mapped: truth}
    inner = known.get(type(law.law), tapes.truth)
    with mpmath.workprec(MANY):
        return list(mpmath.matrix(law.matrix.tolist()) * mpmath.matrix(inner(law.law, reals, draw)))


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
