"""Laplace noise of a searched strategy is exact: every generator is reached within the radius, in rational numbers."""

from fractions import Fraction

import numpy as np
import pytest

import gaugedp as gd
from gaugedp._validate import decimal
from gaugedp.mechanisms.strategies import p_identity
from gaugedp.samplers.combined_laplace import CombinedLaplace
from tests.mechanisms.matrix_zoo import BODIES

NAMES = ("mixed", "matrix", "two-way", "ranges, replaced", "prefix, person", "count")


def rational(matrix: np.ndarray) -> list[list[Fraction]]:
    return [[Fraction(float(value)) for value in row] for row in matrix]


def product(left: list[list[Fraction]], right: list[list[Fraction]]) -> list[list[Fraction]]:
    columns = list(zip(*right, strict=True))
    return [[sum(map(Fraction.__mul__, row, column), Fraction(0)) for column in columns] for row in left]


def solved(square: list[list[Fraction]], column: list[Fraction]) -> list[Fraction]:
    """Return the solution of a system of equations, by elimination."""
    rows = [[*row, value] for row, value in zip(square, column, strict=True)]
    for place in range(len(rows)):
        pivot = next(row for row in rows[place:] if row[place])
        rows.remove(pivot)
        rows.insert(place, [value / pivot[place] for value in pivot])
        for other, row in enumerate(rows):
            if other != place and row[place]:
                rows[other] = [a - row[place] * b for a, b in zip(row, rows[place], strict=True)]
    return [row[-1] for row in rows]


def reach(strategy: np.ndarray, law: CombinedLaplace) -> Fraction:
    """Return max_j ‖u_j‖₁ with F·H·u_j = F·e_j, u_j = A·(H·A)⁻¹·e_j, and check the equations."""
    left, right, sums = rational(law.left), rational(law.right), rational(strategy)
    square, longest = product(right, sums), Fraction(0)
    for place in range(len(square)):
        unit = [Fraction(int(place == other)) for other in range(len(square))]
        u = product(sums, [[value] for value in solved(square, unit)])
        made = product(left, product(right, u))
        assert [row[0] for row in made] == [row[place] for row in left]
        longest = max(longest, sum((abs(row[0]) for row in u), Fraction(0)))
    return longest


@pytest.mark.parametrize("name", NAMES)
def test_every_generator_is_reached_within_the_radius(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The columns that are merged are equal up to sign, so these are all generators, times the coefficients' radius."""
    body, used = BODIES[name], []
    inverse = p_identity._inverse
    monkeypatch.setattr(p_identity, "_inverse", lambda strategy: used.append(strategy) or inverse(strategy))
    found = p_identity.p_identity(body, None)
    assert isinstance(found.law, CombinedLaplace)
    needed = reach(used[0], found.law) * Fraction(body.coefficient_radius)
    assert needed <= Fraction(found.radius) <= needed * (1 + Fraction(1, 2**30))
    kept = [sign * one for one in found.law.left.T for sign in (1, -1)]
    for column in filter(np.any, body.columns().T):
        assert any(np.array_equal(column, one) for one in kept)


@pytest.mark.parametrize("epsilon", [1.0, 0.1, 1e-6, 40.0])
def test_the_scale_is_no_smaller_than_the_theorem_asks(epsilon: float) -> None:
    mechanism = gd.Matrix.calibrate(BODIES["mixed"], gd.PureDP(epsilon))
    assert (mechanism.exactness, mechanism.lattice_step) == ("exact", 1)
    paid = Fraction(mechanism.scale) * decimal(epsilon) / Fraction(mechanism.strategy.radius)
    assert 1 <= paid < 1 + Fraction(1, 2**38)


def test_what_an_inverse_misses_is_paid_for() -> None:
    """An inverse that is off by a millionth is refused, one that is off by 10⁻⁹ makes the radius as much larger."""
    strategy = np.vstack([np.eye(3), np.ones((1, 3))]) / 2
    inverse, missed = p_identity._inverse(strategy)
    exact = product(rational(inverse), rational(strategy))
    off = max(sum(abs(exact[i][j] - (i == j)) for i in range(3)) for j in range(3))
    assert off <= Fraction(missed) < Fraction(1, 10**13)


def test_normal_noise_and_real_answers_are_not_called_exact() -> None:
    assert gd.Matrix.calibrate(BODIES["mixed"], gd.GaussianDP(1.0)).exactness == "idealized"
    real = gd.Matrix.calibrate(BODIES["random"], gd.PureDP(1.0))
    assert (real.strategy.law is not None, real.exactness) == (True, "idealized")


def test_the_draws_are_those_of_the_law() -> None:
    """A release is a function of the key: the same with the strategy's law by itself."""
    from gaugedp.samplers.reals import rounded_draws

    mechanism = gd.Matrix.calibrate(BODIES["matrix"], gd.PureDP(0.5))
    ours = mechanism.draw(300, gd.research_rng(3))
    law, scale = mechanism.strategy.law, np.array([mechanism.scale])
    assert np.array_equal(ours, rounded_draws(law, 300, scale, gd.research_rng(3)))
