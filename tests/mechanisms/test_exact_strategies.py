"""Laplace noise of a searched strategy is exact: every generator is reached within the radius, in rational numbers."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import gaugedp as gd
from gaugedp._internal.validate import decimal
from gaugedp.bodies.prepare import distinct
from gaugedp.bodies.whole_basis import whole_basis
from gaugedp.mechanisms.strategies import best_strategy, certified, p_identity
from gaugedp.mechanisms.strategies.residual import residual
from gaugedp.mechanisms.strategies.weighted import weighted
from gaugedp.samplers.combined import Combined
from gaugedp.samplers.variables import Spherical
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


def reach(strategy: np.ndarray, law: Combined) -> Fraction:
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
    actual = p_identity.p_identity(body, None)
    assert isinstance(actual.law, Combined)
    needed = reach(used[0], actual.law) * Fraction(body.coefficient_radius)
    assert needed <= Fraction(actual.radius) <= needed * (1 + Fraction(1, 2**30))
    kept = [sign * one for one in actual.law.left.T for sign in (1, -1)]
    for column in filter(np.any, body.columns().T):
        assert any(np.array_equal(column, one) for one in kept)


@pytest.mark.parametrize("name", ["stack", "mixed, replaced"])
def test_radii_of_blocks_add_up(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each generator is in every block a column of that block, up to sign, or 0."""
    body, used = BODIES[name], []
    inverse = p_identity._inverse
    monkeypatch.setattr(p_identity, "_inverse", lambda strategy: used.append(strategy) or inverse(strategy))
    heights = body.generators.structure.heights
    actual = p_identity.by_block(body, heights, np.linspace(1, 3, body.ambient_dim))
    assert isinstance(actual.law, Combined)
    needed, row, column, place = Fraction(0), 0, 0, 0
    for height, strategy in zip(heights, used, strict=True):
        left = actual.law.left[row : row + height, column : column + strategy.shape[1]]
        right = actual.law.right[column : column + strategy.shape[1], place : place + len(strategy)]
        needed += reach(strategy, Combined(left, right))
        kept = [np.zeros(height), *left.T, *-left.T]
        assert all(any(np.array_equal(one, other) for other in kept) for one in body.columns()[row : row + height].T)
        row, column, place = row + height, column + strategy.shape[1], place + len(strategy)
    assert (row, column, place) == (body.ambient_dim, *actual.law.right.shape)
    needed *= Fraction(body.coefficient_radius)
    assert needed <= Fraction(actual.radius) <= needed * (1 + Fraction(1, 2**30))
    stated = actual.preimages()
    assert np.abs(stated).sum(axis=1).max() * body.coefficient_radius <= actual.radius
    assert np.allclose(actual.apply(stated).T, body.columns()[:, distinct(body.columns())])


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


EVERY = [*((name, 2) for name in BODIES if name not in ("flat", "only differences")), ("random", 1), ("one cell", 1)]


@pytest.mark.parametrize(("name", "p"), EVERY)
def test_every_difference_of_answers_is_reached_within_the_radius(name: str, p: int) -> None:
    """u = Lᵀ(LLᵀ)⁻¹·v is the shortest with L·u = v: its square in rational numbers is within that of the radius."""
    body = BODIES[name]
    mechanism = gd.Matrix.calibrate(body, gd.PureDP(1.0) if p == 1 else gd.GaussianDP(1.0))
    assert mechanism.exactness == "exact"
    if p == 1 or body.generators.n_generators > 12:
        return
    law = mechanism.strategy.law
    left, right, columns = rational(law.left), rational(law.right), rational(body.columns())
    units = np.eye(law.left.shape[1])
    places = [next(i for i, row in enumerate(law.left) if np.array_equal(row, unit)) for unit in units]
    assert product(left, [columns[place] for place in places]) == columns
    gram = product(right, [list(column) for column in zip(*right, strict=True)])
    results = [[columns[place][j] for place in places] for j in range(len(columns[0]))]
    points = results if not body.differences or body.with_zero else []
    if body.differences:
        pairs = [(a, b) for place, a in enumerate(results) for b in results[:place]]
        points = points + [[x - y for x, y in zip(a, b, strict=True)] for a, b in pairs]
    squares = [sum(map(Fraction.__mul__, point, solved(gram, point)), Fraction(0)) for point in points]
    needed, radius = max(squares) * Fraction(body.factor) ** 2, Fraction(mechanism.strategy.radius) ** 2
    assert needed <= radius <= needed * (1 + Fraction(1, 2**20))


def test_what_is_not_proved_is_not_called_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Strategies too large to be written out, and those whose proved radius is larger than their own."""
    body = gd.prefix_sums(gd.Domain.of(x=gd.integers(1, 1500)), "x").sensitivity(gd.PrivacyUnit())
    assert gd.Matrix.calibrate(body, gd.GaussianDP(1.0)).exactness == "idealized"
    strategy = best_strategy(BODIES["random"], 2)
    monkeypatch.setattr(certified, "_longest", lambda *_: 1.001 * strategy.radius)
    assert not certified.proved(BODIES["random"], strategy.inner, 2).law
    real = gd.Matrix.calibrate(BODIES["random"], gd.GaussianDP(2.0))
    assert replace(real, strategy=replace(strategy, cube=None)).exactness == "idealized"


def test_an_ellipsoid_whose_radius_is_not_proved_is_not_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Although noise of its own shape would be: the radius in floats may be too small."""
    body = BODIES["random"]
    made = gd.EllipsoidNoise.calibrate(body, gd.PureDP(1.0))
    assert made.exactness == "exact"
    monkeypatch.setattr(certified, "_longest", lambda *_: 1.001 * made.scale_factor)
    mechanism = gd.EllipsoidNoise.calibrate(body, gd.PureDP(1.0))
    assert (mechanism.exactness, mechanism.noise.law) == ("idealized", None)
    assert gd.KNorm.calibrate(mechanism.shape, gd.PureDP(1.0)).exactness == "exact"


def test_rows_that_depend_on_others_are_whole_multiples_of_them() -> None:
    """Those of all ranges are: of this matrix, a third of a row is needed, and nothing is called certified."""
    thirds = np.array([[3.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    assert whole_basis(thirds[[0, 1]]) is not None
    actual = whole_basis(np.array([[3.0, 0.0], [0.0, 2.0], [2.0, 1.0]]))
    assert actual is None
    left, rows = whole_basis(BODIES["ranges"].columns())
    assert np.array_equal(left @ BODIES["ranges"].columns()[rows], BODIES["ranges"].columns())


def test_the_draws_are_those_of_the_law() -> None:
    """A release is a function of the key: the same with the strategy's law by itself."""
    from gaugedp.samplers.reals import rounded_draws

    mechanism = gd.Matrix.calibrate(BODIES["matrix"], gd.PureDP(0.5))
    ours = mechanism.draw(300, gd.research_rng(3))
    law, scale = mechanism.strategy.law, np.array([mechanism.scale])
    assert np.array_equal(ours, rounded_draws(law, 300, scale, gd.research_rng(3)))


MARGINALS = ("two-way", "mixed", "two-way, replaced", "mixed, replaced", "only differences", "count")


def exact_matrix(law: Combined) -> list[list[Fraction]]:
    """F·H over the divisors, in rational numbers."""
    rows = product(rational(law.left), rational(law.right))
    return [[value / int(divisor) for value in row] for row, divisor in zip(rows, law.divisors, strict=True)]


@pytest.mark.parametrize("name", [name for name in MARGINALS if "mixed" not in name])
def test_normal_noise_of_marginals_reaches_every_generator_within_its_radius(name: str) -> None:
    """u_T = the residual of a cell over c_T: L·u = v in rational numbers, and the longest u is the radius."""
    body = BODIES[name]
    strategy = residual(body, body.generators.structure)
    radius, law, _ = strategy.proof(body)
    assert np.allclose(law.matrix, strategy.apply(np.eye(strategy.n_noise)).T, rtol=0, atol=1e-14)
    columns = rational(body.columns())
    z, actual = strategy.interactions, []
    for cell in np.ndindex(*z.structure.shape):
        u = []
        for axes, factor in zip(z.sets, strategy._factors, strict=True):
            for t in np.ndindex(*z.sizes(axes)):
                sizes = zip(axes, t, z.sizes(axes), strict=True)
                value = math.prod(
                    (Fraction(int(cell[a] == i)) - Fraction(1, n) for a, i, n in sizes), start=Fraction(1)
                )
                u.append(value / Fraction(factor) if factor else Fraction(0))
        actual.append(u)
    if min(strategy._factors) > 0:
        assert product(exact_matrix(law), [list(row) for row in zip(*actual, strict=True)]) == columns
    pairs = [[x - y for x, y in zip(a, b, strict=True)] for i, a in enumerate(actual) for b in actual[:i]]
    points = pairs * body.differences + actual * (body.with_zero or not body.differences)
    needed = max(sum((x * x for x in u), Fraction(0)) for u in points) * Fraction(body.factor) ** 2
    assert needed <= Fraction(radius) ** 2 <= needed * (1 + Fraction(1, 2**30))


@pytest.mark.parametrize("name", MARGINALS)
def test_laplace_noise_of_marginals_pays_for_what_its_floats_miss(name: str) -> None:
    """(1 + η_T) on each E_T, in rational numbers; with weights that are off by a thousandth the radius is larger."""
    body = BODIES[name]
    strategy = weighted(body, body.generators.structure)
    radius, law, _ = strategy.proof(body)
    assert np.allclose(law.matrix, strategy.apply(np.eye(strategy.n_noise)).T, rtol=0, atol=1e-14)
    total = sum(map(Fraction, strategy.weights.tolist())) * Fraction(body.coefficient_radius)
    assert total <= Fraction(radius) <= total * (1 + Fraction(1, 2**30))
    off = replace(strategy, noise=strategy.noise * 1.001)
    assert off.proof(body)[0] > 1.0009 * float(total)
    assert certified.proved(body, off, 1).law is None
    cells = np.zeros((strategy.n_noise, body.generators.n_generators))
    row, z = 0, strategy.interactions
    for axes, weight in zip(z.sets, strategy.weights, strict=True):
        for t in np.ndindex(*z.sizes(axes)):
            inside = (
                all(cell[a] == i for a, i in zip(axes, t, strict=True)) for cell in np.ndindex(*z.structure.shape)
            )
            cells[row] = weight * np.array(list(inside))
            row += 1
    assert np.abs(law.matrix @ cells - body.columns()).max() < 1e-12


def test_a_table_that_is_never_written_out_has_exact_marginals() -> None:
    domain = gd.Domain.of(a=gd.integers(1, 4), c=gd.integers(1, 30), d=gd.integers(1, 20), e=gd.integers(1, 50))
    body = gd.query(domain, "a; c; d; e").sensitivity(gd.PrivacyUnit())
    for guarantee in (gd.PureDP(1.0), gd.GaussianDP(1.0)):
        assert gd.Matrix.calibrate(body, guarantee).exactness == "exact"


@pytest.mark.parametrize("name", ["random", "thin", "matrix"])
def test_an_ellipsoid_has_the_radius_that_is_proved(name: str) -> None:
    """Its lattice is no finer than the theorem asks, rounding of real answers included; the law is that of the ball."""
    body = BODIES[name]
    mechanism = gd.EllipsoidNoise.calibrate(body, gd.PureDP(0.7))
    strategy = best_strategy(body, 2)
    assert (mechanism.exactness, mechanism.noise.law.kind) == ("exact", Spherical)
    cube = 0 if body.generators.whole_numbers else Fraction(strategy.cube) * mechanism.lattice_step
    needed = (Fraction(strategy.radius) + cube) / (decimal(0.7) * mechanism.lattice_step)
    assert needed <= Fraction(float(mechanism._lattice[0])) <= needed * (1 + Fraction(1, 2**20))
    draws = mechanism.sample_noise(4000, gd.research_rng(8))
    assert draws.var(axis=0) == pytest.approx(mechanism.variances, rel=0.25)
