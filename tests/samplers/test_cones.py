"""Noise of facets: cones are proved in whole numbers, and draws are a function of the bits alone. Keys are fixed."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import scipy.stats

import gaugedp as gd
from gaugedp.bodies import Polytope
from gaugedp.samplers import cone_noise
from gaugedp.samplers.cone_noise import ConeNoise, pulled
from gaugedp.samplers.facets import ListedFacets
from gaugedp.samplers.gauge_noise import gauge_noise
from gaugedp.samplers.reals import rounded, rounded_draws
from gaugedp.samplers.swept_noise import Shares
from tests.samplers.tape import MANY, Tape, tape

ROOTS = np.hstack(
    [np.eye(4), np.array([[float(i == a) - (i == b) for a in range(4) for b in range(a)] for i in range(4)])]
)
BODIES = {
    "hexagon": np.array([[2.0, 0.0, 1.0], [0.0, 1.0, 1.0]]),
    "reals": np.random.default_rng(3).normal(size=(3, 5)),
    "roots": ROOTS,
    "flat": np.vstack([ROOTS[:2], ROOTS[:2].sum(axis=0)]),
}


def law(name: str) -> ConeNoise:
    actual = gauge_noise(Polytope.symmetric_hull(BODIES[name])).law
    assert isinstance(actual, ConeNoise)
    return actual


def determinant(rows: list[list[Fraction]]) -> Fraction:
    """By its definition along the first row."""
    if len(rows) == 1:
        return rows[0][0]
    minors = ([row[:j] + row[j + 1 :] for row in rows[1:]] for j in range(len(rows)))
    return sum(((-1) ** j * rows[0][j] * determinant(minor) for j, minor in enumerate(minors)), Fraction(0))


@pytest.mark.parametrize("name", BODIES)
def test_volumes_and_hyperplanes_are_those_of_rational_numbers(name: str) -> None:
    cones = law(name).cones
    unit = Fraction(1, 2**cones.exponent)
    for columns, size, normal in zip(cones.columns, cones.sizes, cones.normals, strict=True):
        rows = [[Fraction(float(value)) for value in row] for row in columns]
        assert abs(determinant(rows)) == size * unit ** len(rows)
        ends = [sum(int(n) * x for n, x in zip(normal, column, strict=True)) for column in zip(*rows, strict=True)]
        assert ends == [size * unit] * len(rows)


@pytest.mark.parametrize("name", ["reals", "roots"])
def test_every_direction_is_in_as_many_cones(name: str) -> None:
    """And its gauge is the sum of the weights, by a linear program. The control lacks a cone."""
    actual, body = law(name), Polytope.symmetric_hull(BODIES[name])
    points = np.random.default_rng(1).normal(size=(40, len(BODIES[name])))
    weights = np.linalg.solve(actual.cones.columns[None], points[:, None, :, None])[..., 0]
    inside = (weights >= 0).all(axis=2)
    assert (inside.sum(axis=1) == inside[0].sum()).all()
    assert inside[0].any()
    assert weights.sum(axis=2).max(axis=1) == pytest.approx(body.gauge(points), rel=1e-6)
    assert len(set(inside[:, np.argmax(inside.sum(axis=0)) != np.arange(inside.shape[1])].sum(axis=1))) > 1


def test_a_list_that_leaves_a_gap_or_overlaps_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    facets = ListedFacets(BODIES["reals"])
    prove = cone_noise.proved_cones
    assert prove(BODIES["reals"], facets.basis, facets.signs) is not None
    monkeypatch.setattr(cone_noise, "pulled", lambda _: np.zeros((0,)))
    for places in (slice(1, None), [*range(len(facets.basis)), 0]):
        assert prove(BODIES["reals"], facets.basis[places], facets.signs[places]) is None
    inner = np.hstack([BODIES["reals"], 3 * BODIES["reals"][:, :1]])  # the first facets do not support this hull
    assert prove(inner, facets.basis, facets.signs) is None


def test_triangulations_agree_where_faces_meet() -> None:
    """The faces of a cube, pulled at its corners: 2 triangles each, alike on both sides of an edge."""
    corners = np.array([[(place >> axis & 1) * 2 - 1 for place in range(8)] for axis in range(3)])
    incidence = np.array([side * corners[axis] == 1 for axis in range(3) for side in (1, -1)])
    triangles = pulled(incidence)
    assert triangles.shape == (12, 3)
    edges = [tuple(sorted(np.delete(triangle, place))) for triangle in triangles for place in range(3)]
    assert set(map(edges.count, edges)) == {2}
    volumes = [abs(np.linalg.det(corners[:, triangle])) for triangle in triangles]
    assert sum(volumes) == pytest.approx(6 * 8)


def truth(found: ConeNoise, reals: Tape, draw: int) -> list[mpmath.mpf]:
    """A first number picks the cone by the shares of the volumes, further ones are −log V."""
    with mpmath.workprec(MANY):
        place = int(reals.bits(draw, 0, MANY) * sum(found.cones.sizes) >> MANY)
        ends = np.cumsum(np.array(found.cones.sizes, dtype=object))
        index = next(i for i, end in enumerate(ends) if place < end)
        weights = mpmath.matrix([-mpmath.log(reals.number(draw, 1 + j)) for j in range(found.n_reals - 1)])
        matrix = mpmath.matrix(found.left.tolist()) * mpmath.matrix(found.cones.columns[index].tolist())
        return list(matrix * weights)


def test_at_the_end_of_a_share_further_bits_pick_the_cone() -> None:
    """The first word of a number is that before the end of a share, to 64 bits: floats do not know the cone."""
    actual = law("reals")
    total = sum(actual.cones.sizes)
    end = (actual.cones.sizes[0] << 64) // total
    reals = tape(actual, 50, 3)
    reals.words = reals.words.copy()
    reals.words[:, 0] = end
    assert np.isinf(actual.floats(reals, 64)[1]).all()
    drawn = rounded(actual, reals, np.array([50.0]))
    for draw in range(50):
        assert list(drawn[draw]) == [int(mpmath.floor(50 * x + 0.5)) for x in truth(actual, reals, draw)]


@pytest.mark.parametrize("n_bits", [8, 64])
def test_a_cone_is_known_where_both_ends_of_a_number_lie_in_its_share(n_bits: int) -> None:
    """Also of shares below 2^−64, and of the last: what is known is what rational numbers say."""
    sizes = [1, 2**70, 1, 3, 2**71, 2**40, 1]
    actual = Shares(sizes)
    ends = [Fraction(sum(sizes[: place + 1]), sum(sizes)) for place in range(7)]
    words = sorted({max(0, min(2**n_bits - 1, int(end * 2**n_bits) + k)) for end in ends for k in (-1, 0, 1)})
    picked, is_known = actual.picked(np.array(words, dtype=np.uint64), n_bits)
    for word, index, known in zip(words, picked, is_known, strict=True):
        low, high = Fraction(word, 2**n_bits), Fraction(word + 1, 2**n_bits)
        cones = [place for place in range(7) if low >= (ends[place - 1] if place else 0) and high <= ends[place]]
        assert (cones == [index]) if known else not cones
        assert actual.index(word, n_bits) == (index if known else None)
    assert not is_known[-1]


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["hexagon", "reals", "roots"])
def test_the_gauge_has_the_law_of_a_gamma_variable(name: str) -> None:
    """‖z‖_K ~ Gamma(r). False alarm 10⁻⁶; the control has one more."""
    fine, rank = 2.0**20, len(BODIES[name])
    actual = law(name)
    draws = rounded_draws(actual, 4000, np.array([fine]), gd.research_rng(5)) / fine
    planes = actual.cones.normals.astype(float) / np.array(actual.cones.sizes, dtype=float)[:, None]
    gauges = (draws @ planes.T).max(axis=1) * 2.0**actual.cones.exponent
    assert scipy.stats.kstest(gauges, scipy.stats.gamma(rank).cdf).pvalue > 1e-6
    assert scipy.stats.kstest(gauges, scipy.stats.gamma(rank + 1).cdf).pvalue < 1e-6
    moment = gauge_noise(Polytope.symmetric_hull(BODIES[name])).second_moment * (rank + 1) * (rank + 2)
    many = rounded_draws(law(name), 40_000, np.array([fine]), gd.research_rng(6)) / fine
    products = many[:, :, None] * many[:, None, :]
    z = (products.mean(axis=0) - moment) / products.std(axis=0) * math.sqrt(len(many))
    assert np.abs(z).max() < 5.5
    assert np.abs((products.mean(axis=0) - 1.1 * moment) / products.std(axis=0) * math.sqrt(len(many))).max() > 5.5


def test_facets_of_no_one_body_have_no_simplices() -> None:
    """As rounded differences of real generators may be: faces then part into simplices of unlike size."""
    for key in range(5):
        points = np.random.default_rng(key).normal(size=(4, 8))
        noise = gauge_noise(Polytope.difference_hull(points))
        assert noise.rank == 4
    assert pulled(np.array([[True, True, False], [True, True, True]])).ndim in (1, 2)
