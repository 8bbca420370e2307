"""Noise with the shape of a body: reference errors, guarantees, lattices, refusals."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.optimize

import gaugedp as gd
from gaugedp.bodies import Ellipsoid, LinearImage, LpBall, Polytope
from gaugedp.errors import InvalidRequest
from gaugedp.mechanisms.base import is_integer
from gaugedp.mechanisms.ellipsoid import EllipsoidNoise
from gaugedp.mechanisms.norm_noise import NormNoise
from gaugedp.samplers import body_noise
from tests.mechanisms.registry import SHAPED
from tests.samplers.test_facet_walk import signs_matrix, two_way_marginals

pytestmark = pytest.mark.statistical
ONE = gd.PureDP(1.0)

# expected ℓ₂ errors at ε = 1, measured apart from this library by other programs
KNORM = {
    "signs 5x50": (signs_matrix(5, 50), 7.534),
    "signs 10x100": (signs_matrix(10, 100), 18.81),
    "signs 20x200": (signs_matrix(20, 200), 42.11),
    "marginals 3x3x3": (two_way_marginals(3, 3, 3), 11.18),
    "prefix 32": (np.tril(np.ones((32, 32))), 28.33),
}
CUBE = {"signs 5x50": 7.574, "signs 10x100": 19.872, "signs 20x200": 53.944, "prefix 32": 107.4}


@pytest.mark.parametrize("name", KNORM)
def test_the_error_of_k_norm_noise(name: str) -> None:
    matrix, error = KNORM[name]
    mechanism = gd.KNorm.calibrate(Polytope.symmetric_hull(matrix), ONE)
    assert mechanism.error() == pytest.approx(error, rel=0.012)
    assert mechanism.error_deviation() < 0.004 * error
    half = gd.KNorm.calibrate(Polytope.symmetric_hull(matrix), gd.PureDP(0.5))
    assert half.error() == pytest.approx(2 * error, rel=0.012)


@pytest.mark.parametrize("name", CUBE)
def test_the_error_of_the_cube(name: str) -> None:
    mechanism = gd.Cube.calibrate(Polytope.symmetric_hull(KNORM[name][0]), ONE)
    assert mechanism.error() == pytest.approx(CUBE[name], rel=0.012)
    assert mechanism.exactness == "exact"


# root mean squares (r + 1)^½·γ; for the first the error itself, both from another program
ELLIPSOID = {"signs 5x50": 11.18, "signs 10x100": 31.62, "signs 20x200": 89.18, "prefix 32": 58.8}


@pytest.mark.parametrize("name", ELLIPSOID)
def test_the_error_of_the_ellipsoid(name: str) -> None:
    body = Polytope.symmetric_hull(KNORM[name][0])
    mechanism = EllipsoidNoise.calibrate(body, ONE)
    assert mechanism.error() == pytest.approx(ELLIPSOID[name], rel=0.015)
    assert mechanism.shape.gauge(KNORM[name][0].T).max() <= mechanism.scale_factor
    assert mechanism.exactness == "exact"


IN_FLOATS = ("spectral",)


@pytest.fixture(params=SHAPED, scope="module")
def mechanism(request) -> NormNoise:
    return gd.KNorm.calibrate(SHAPED[request.param], ONE)


def test_the_guarantee_and_the_kind_of_it(mechanism: NormNoise) -> None:
    if mechanism.noise.walks:
        assert mechanism.exactness == "mixing"
        assert mechanism.guarantee == gd.ApproxDP(1.0, 1e-9)
        assert mechanism.steps > 1000
    else:
        assert mechanism.exactness == (
            "idealized" if any(mechanism.body == SHAPED[name] for name in IN_FLOATS) else "exact"
        )
        assert mechanism.guarantee == ONE
        assert mechanism.steps == 0


def test_a_walk_says_that_it_is_not_pure(mechanism: NormNoise) -> None:
    """Asked was PureDP(1); what is guaranteed stands in the description, and so in plans, releases and reports."""
    assert ("not pure: its allowance is δ = 1e-09" in mechanism.describe()) == mechanism.noise.walks
    assert ("ApproxDP(1, 1e-09), mixing" in repr(mechanism)) == mechanism.noise.walks


def test_it_covers_halves_of_its_body_but_not_of_a_count(mechanism: NormNoise) -> None:
    """Half of a count is none: such answers would have to be rounded."""
    body = mechanism.body
    if not isinstance(body, Ellipsoid | LinearImage):  # their size is part of a matrix: halves are refused
        assert mechanism.is_valid_for(gd.bodies.scaled(body, 0.5)) is not is_integer(body)


def test_less_noise_has_no_wider_intervals_where_counts_hardly_have_any() -> None:
    """Relative to their deviation, counts whose noise is rarely ±1 have a larger error than a sum."""
    domain = gd.Domain.of(a=gd.integers(1, 5), v=gd.bounded(0, 5000))
    query, wide, narrow = (
        gd.query(domain, "share(a); sum(v); count"),
        *(gd.PrivacyUnit("pid", max_rows=n) for n in (2, 1)),
    )
    more, less = (gd.plan(query, unit, epsilon=9.69) for unit in (wide, narrow))
    assert isinstance(less.mechanism, gd.KNorm)
    assert (less.mechanism.half_widths(0.95, True) <= more.mechanism.half_widths(0.95, True)).all()
    noise = np.abs(less.mechanism.sample_noise(4000, gd.research_rng(2)))
    assert (noise <= less.mechanism.half_widths(0.95, True)).all(axis=1).mean() >= 0.93


@pytest.mark.parametrize("epsilon", [3.0, 8.0, 12.0])
def test_narrow_cube_noise_has_the_variance_that_is_stated(epsilon: float) -> None:
    """Rounding makes narrow noise much smaller or larger than its density says: six standard errors of 40,000 draws."""
    query = gd.query(gd.Domain.of(A=["1", "2"], B=["1", "2"]), "A; B; A*B")
    mechanism = gd.Cube.calibrate(query.sensitivity(gd.PrivacyUnit()), gd.PureDP(epsilon))
    assert mechanism.step == 1
    squares = mechanism.sample_noise(40_000, gd.research_rng(5)) ** 2
    room = 6 * squares.std(axis=0) / math.sqrt(len(squares))
    assert (np.abs(squares.mean(axis=0) - mechanism.variances) <= room).all()


def test_real_answers_pay_for_their_rounding() -> None:
    """Two answers, each rounded: their difference is off by at most a step in each coordinate."""
    assert all(gd.KNorm.calibrate(SHAPED[name], ONE).noise.cube_gauge is None for name in ("spectral", "walk"))
    for name in ("ball", "ellipsoid", "few facets", "cube", "spectral", "walk"):
        mechanism = gd.KNorm.calibrate(SHAPED[name], ONE)
        body, step = SHAPED[name], float(mechanism.lattice_step)
        corners = body.argmax(np.eye(body.ambient_dim)) + step * np.sign(np.eye(body.ambient_dim) + 0.5)
        assert (body.gauge(corners) <= mechanism.scale_factor).all()
        assert mechanism.scale_factor < 1.002
    assert gd.KNorm.calibrate(SHAPED["question"], ONE).scale_factor == pytest.approx(1, abs=2e-9)
    assert gd.KNorm.calibrate(SHAPED["question"], ONE).lattice_step == Fraction(1)


def test_flat_bodies_off_every_lattice_are_refused() -> None:
    body = Polytope.symmetric_hull(np.array([[1.0], [math.pi]]) @ np.array([[1.0, 0.3]]))
    with pytest.raises(InvalidRequest, match="Some answers follow from others"):
        gd.KNorm.calibrate(body, ONE)
    straight = gd.bodies.project(body, body.span)
    assert gd.KNorm.calibrate(straight, ONE).error() == pytest.approx(math.hypot(1, math.pi), rel=0.02)


def test_noise_can_be_prepared_ahead() -> None:
    mechanism = gd.KNorm.calibrate(SHAPED["walk"], ONE)
    told: list[float] = []
    pool = mechanism.pool(6, gd.research_rng(3), told.append)
    assert told
    assert told[-1] == 1
    assert sorted(told) == told
    noises = [tuple(noise(np.zeros(10, dtype=int))) for noise in pool]
    assert len(set(noises)) == 6


def test_a_smaller_allowance_takes_a_longer_walk() -> None:
    body = SHAPED["walk"]
    steps = [gd.KNorm.calibrate(body, gd.ApproxDP(1, delta)).steps for delta in (1e-9, 1e-12, 1e-30)]
    assert steps[0] < steps[1] < steps[2]
    assert gd.KNorm.calibrate(body, gd.ApproxDP(1, 1e-6)).guarantee == gd.ApproxDP(1, 1e-9)
    assert gd.KNorm.calibrate(body, gd.ApproxDP(1, 1e-12)).guarantee == gd.ApproxDP(1, 1e-12)
    assert gd.KNorm.calibrate(body, gd.PureDP(10)).steps > gd.KNorm.calibrate(body, gd.PureDP(1)).steps


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        (np.array([[1.0, math.nan]]), "NaN or infinity"),
        (np.zeros((3, 4)), "no unit can change"),
        (np.zeros((0, 4)), "shape"),
        (np.ones(3), "shape"),
    ],
    ids=["nan", "zero columns only", "no rows", "no matrix"],
)
def test_bad_generators_are_refused(matrix, words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        gd.KNorm.calibrate(Polytope.symmetric_hull(matrix), ONE)


def test_nearly_parallel_generators_are_answered_or_refused() -> None:
    """Condition 1e12: the long axis has the noise of its length, the short one of its own."""
    matrix = np.array([[1.0, 1.0, 1.0], [0.0, 1e-12, 2e-12]])
    mechanism = gd.KNorm.calibrate(Polytope.symmetric_hull(matrix), ONE)
    draws = mechanism.noise.draw(20_000, gd.research_rng(3))
    assert draws[:, 0].std() == pytest.approx(np.sqrt(mechanism.noise.second_moment[0, 0] * 12), rel=0.05)
    assert draws[:, 1].std() / draws[:, 0].std() < 5e-12


def test_many_columns_are_answered() -> None:
    """A million generators, most of them inside the hull of the others' copies, in two dimensions."""
    angle = np.random.default_rng(0).uniform(0, math.pi, 10**5)
    body = Polytope.symmetric_hull(np.stack([np.cos(angle), np.sin(angle)]))
    assert gd.KNorm.calibrate(body, ONE).error() == pytest.approx(2.0, rel=0.02)  # (r + 1)·r/(r + 1) on the disc


def test_a_million_columns_are_refused_where_a_walk_would_take_hours() -> None:
    matrix = np.random.default_rng(0).normal(size=(5, 10**6))
    with pytest.raises(InvalidRequest, match="would take too long"):
        gd.KNorm.calibrate(Polytope.symmetric_hull(matrix), ONE)


def test_a_walk_that_mixes_too_slowly_is_refused() -> None:
    """A round body of rank 3 with many facets: neighbours are near, and the way around is long."""
    points = np.random.default_rng(0).normal(size=(3, 60_000))
    body = Polytope.symmetric_hull(points / np.linalg.norm(points, axis=0))
    mechanism = gd.KNorm.calibrate(body, ONE)
    with pytest.raises(InvalidRequest, match="mixes too slowly"):
        mechanism.prepare()


def test_weights_shape_the_cube() -> None:
    weights = np.array([1.0, 1.0, 4.0])
    mechanism = gd.Cube.calibrate(LpBall(3, np.inf, 2.0), ONE, weights)
    deviations = np.sqrt(mechanism.variances)
    assert deviations / deviations[0] == pytest.approx(weights, rel=0.03)
    assert mechanism.is_valid_for(LpBall(3, np.inf, 1.9))
    assert not mechanism.is_valid_for(LpBall(3, np.inf, 2.1))


# -- what a sceptic found --------------------------------------------------------------------------------


def test_noise_beyond_64_bits_is_refused_before_anything_is_paid() -> None:
    domain = gd.Domain.of(a=["x", "y"], s=gd.bounded(0, 10**9))
    body = gd.bounded_sums(domain, "s", "a").sensitivity(gd.PrivacyUnit("pid", max_rows=10**6))
    for kind in (gd.KNorm, gd.Cube, gd.EllipsoidNoise):
        with pytest.raises(InvalidRequest, match="64-bit"):
            kind.calibrate(body, gd.PureDP(1e-9))
    with pytest.raises(InvalidRequest, match="The body is so long and thin that the noise"):
        gd.NIM.calibrate(Polytope.symmetric_hull(np.array([[1, 1, 1], [1, 1 + 2**-40, 1 + 2**-41]])), ONE)
    cells = gd.Domain.of(**{f"a{i}": gd.integers(1, 500) for i in range(3)})
    query = gd.marginals(cells, *cells.attributes)
    names = [
        candidate.mechanism.name
        for candidate in gd.plan(query, gd.PrivacyUnit("p", max_rows=10**6), epsilon=5e-10).candidates
    ]
    assert "Laplace" in names
    assert "Cube" not in names


def test_noise_on_another_lattice_is_never_added_to_counts() -> None:
    """The same columns as numbers, not counts: coarser steps, which a release would count as ones."""
    domain = gd.Domain.of(a=gd.integers(1, 3))
    query, unit = gd.workload([[1, 1, 0], [0, 1, 1]], domain), gd.PrivacyUnit(max_rows=1)
    body = query.sensitivity(unit)
    for kind in (gd.KNorm, gd.NIM, gd.EllipsoidNoise):
        mechanism = kind.calibrate(Polytope.symmetric_hull(1e6 * body.columns(), 1e-6), ONE)
        assert not mechanism.is_valid_for(body)
        assert not kind.calibrate(body, ONE).is_valid_for(Polytope.symmetric_hull(body.columns()))
    import pandas as pd

    table = gd.Table.scan(pd.DataFrame({"a": [1, 2]}), domain=domain, unit=unit, name="t")
    ledger = gd.Ledger.in_memory(gd.PureDP(2.0))
    with pytest.raises(InvalidRequest, match=r"lattice step is .*, but a release needs 1"):
        gd.release(query, table, ledger=ledger, mechanism=mechanism)
    assert ledger.spent.epsilon(0) == 0


def test_prepared_noise_belongs_to_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = gd.KNorm.calibrate(LpBall(2, 2), ONE).prepare(gd.research_rng(1))
    monkeypatch.setattr("gaugedp.entropy._forks", 1)
    assert prepared.is_used
    with pytest.raises(InvalidRequest, match="before the process forked"):
        prepared(np.zeros(2, dtype=int))


def test_a_pure_strategy_holds_every_generator() -> None:
    """Sums in unlike units once let the searched strategy lose digits; what F − L·A leaves is paid for now."""
    domain = gd.Domain.of(a=["x", "y"], c=gd.integers(1, 5), s=gd.bounded(2, 5439), t=gd.bounded(2, 7))
    for text in ("sum(s) by a; sum(t); ranges(c)", "mean(t); ranges(c); a"):
        query = gd.query(domain, text)
        body = query.sensitivity(gd.PrivacyUnit())
        mechanism = gd.Matrix.calibrate(body, ONE, query.errors.reach)
        left = mechanism.strategy.apply(np.eye(mechanism.strategy.n_noise)).T
        ways, sums = left / query.errors.reach[:, None], np.ones(2 * left.shape[1])
        for column in (body.columns() / query.errors.reach[:, None]).T:
            least = scipy.optimize.linprog(sums, A_eq=np.hstack([ways, -ways]), b_eq=column, method="highs")
            assert least.fun <= mechanism.strategy.radius * (1 + 1e-6)


@pytest.mark.parametrize("p", [1, 2])
def test_balls_of_many_dimensions_fit_memory(p: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A matrix of all pairs of coordinates would have 80 GB."""
    monkeypatch.setattr(body_noise, "TUNED", replace(body_noise.TUNED, most_trial_numbers=10**6))
    d = 100_000
    mechanism = gd.KNorm.calibrate(LpBall(d, p), ONE)
    assert mechanism.sample_noise(1).shape == (1, d)
    lengths = {1: math.sqrt(2 * d), 2: float(d)}  # of d Laplace variables; of Gamma(d)
    assert mechanism.error() == pytest.approx(lengths[p], rel=0.02)
    assert mechanism.variances.sum() == pytest.approx(mechanism.error() ** 2, rel=0.05)


@pytest.mark.parametrize(("p", "share"), [(1, 2 / (8 * 9)), (2, 1 / 9), (math.inf, 1 / 3)])
def test_variances_of_balls_are_exact_without_a_draw(p: float, share: float) -> None:
    """R·U with R ~ Gamma(d + 1) and U uniform in the ball, d = 7; E U_i² in closed form."""
    mechanism = gd.KNorm.calibrate(LpBall(7, p, 3.25), gd.PureDP(0.5))  # a size of its own: noise is kept
    assert mechanism.variances == pytest.approx([8 * 9 * 3.25**2 * share * 4] * 7, rel=2e-3)
    assert "trials" not in vars(mechanism.noise)
    draws = mechanism.sample_noise(50_000, rng=gd.research_rng(3))
    assert (draws**2).mean(axis=0) == pytest.approx(mechanism.variances, rel=0.06)


@pytest.mark.parametrize("kind", [gd.KNorm, gd.NIM])
def test_wide_noise_hides_the_last_digit(kind: type[gd.KNorm] | type[gd.NIM]) -> None:
    """4,000 draws: the share of odd numbers has a deviation of 0.008, and leaves 0.45 to 0.55 once in 10^9 seeds."""
    domain = gd.Domain.of(sex=["1", "2"], pay=gd.bounded(0, 2**40))
    noise = kind.calibrate(gd.query(domain, "sum(pay) by sex").sensitivity(gd.PrivacyUnit()), gd.PureDP(4e-4))
    assert float(np.sqrt(noise.variances.max())) > 2**51
    shares = (noise.draw(4000, gd.research_rng(7)) % 2).mean(axis=0)
    assert 0.45 < float(shares.min()) <= float(shares.max()) < 0.55


def test_wide_noise_in_floats_hides_the_last_digit() -> None:
    """Of a spectral ball, which has no exact law: drawn for a look, and for a release. The same limits."""
    noise = gd.KNorm.calibrate(SHAPED["spectral"], gd.PureDP(2.0**-38))
    assert noise.noise.law is None
    assert float(np.sqrt(noise.variances.max()) / noise.lattice_step) > 2**54
    for draws in (noise.draw(4000, gd.research_rng(7)), noise.releasable(4000, gd.research_rng(8))):
        shares = (draws % 2).mean(axis=0)
        assert 0.45 < float(shares.min()) <= float(shares.max()) < 0.55
