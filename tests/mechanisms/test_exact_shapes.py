"""What rounding adds to noise of a body's own shape is paid for by proof: in rational numbers, not in floats."""

from fractions import Fraction

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.bodies import Polytope
from gaugedp.errors import InvalidRequest
from gaugedp.mechanisms import norm_noise
from tests.mechanisms.test_exact_strategies import rational, solved

ONE = gd.PureDP(1.0)


def test_no_answer_in_a_flat_body_is_rounded() -> None:
    """Generators times factor on the lattice are not enough: a row less moves the answer by the generator itself."""
    for below, factor in ((2.0**-8, 1024), (2.0**-14, 0.5)):
        refused, taken = (np.array([[1.0], [1 + share]]) for share in (below, 1 / 8))
        with pytest.raises(InvalidRequest, match="no lattice"):
            gd.KNorm.calibrate(Polytope.symmetric_hull(refused, factor), ONE)
        mechanism = gd.KNorm.calibrate(Polytope.symmetric_hull(taken, factor), ONE)
        assert mechanism.exactness == "exact"
        moves = [Fraction(float(x)) * share for x in taken.ravel() for share in (1, Fraction(factor))]
        assert all((move / mechanism.lattice_step).denominator == 1 for move in moves)


@pytest.mark.parametrize("differences", [False, True])
def test_independent_generators_pay_for_rounding_by_proof(differences: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Σ|B⁻¹·e_i| steps for a cube, B the generators, even where floats tell of none; and the rounding of B itself."""
    points = np.array([[0.1, 2.3]]) if differences else np.random.default_rng(3).normal(size=(4, 4))
    make = Polytope.difference_hull if differences else Polytope.symmetric_hull
    monkeypatch.setattr(norm_noise, "_gauge_of_cube", lambda _: 1e-6)
    mechanism = gd.KNorm.calibrate(make(points, 0.3), ONE)
    assert mechanism.exactness == "exact"
    exact = rational(points)
    if differences:
        exact = [[exact[0][0] - exact[0][1]]]
    units = [[Fraction(int(i == j)) for j in range(len(exact))] for i in range(len(exact))]
    gauge = sum(sum(map(abs, solved(exact, unit))) for unit in units) / Fraction(0.3)
    held = [value for row in rational(mechanism.noise.law.right) for value in row]
    off = max(abs(value - other) for value, other in zip(held, [x for row in exact for x in row], strict=True))
    needed = (mechanism.lattice_step + off * Fraction(0.3)) * gauge
    assert (off > 0) == differences
    assert norm_noise._slip(mechanism.body) >= off * Fraction(0.3)
    assert 1 + needed <= Fraction(mechanism.scale_factor) <= 1 + needed * (1 + Fraction(1, 10**6))
