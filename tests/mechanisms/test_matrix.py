"""The matrix mechanism: its noise, what it says of it, what it covers and what it refuses."""

import math
import re
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
import scipy.special

import gaugedp as gd
from gaugedp.bodies import LpBall, Polytope
from gaugedp.errors import InvalidRequest
from gaugedp.mechanisms import matrix, unit_draws
from gaugedp.mechanisms.matrix import Matrix
from gaugedp.mechanisms.noise_widths import (
    expected_root,
    laplace_reach,
    rounded_laplace_variances,
    rounded_means,
    rounded_quantiles,
    rounded_variances,
)
from gaugedp.mechanisms.strategies.trees import best_tree
from gaugedp.samplers.laws import DiscreteLaplace, RoundedGaussian
from tests.mechanisms.matrix_zoo import (
    BODIES,
    N_DRAWS,
    NORMAL,
    PERSON,
    PURE,
    QUERIES,
    ROW,
    grid,
    least_norm,
    line,
    matrix_of,
    two_way,
)
from tests.mechanisms.registry import STRATEGIES


def test_the_reference_of_a_pure_strategy_is_reached() -> None:
    mechanism = Matrix.calibrate(gd.prefix_sums(line(32), "x").sensitivity(ROW), PURE)
    assert mechanism.error() <= 26.94  # the best that was known when this was written; noise on the cells has 28.33


@pytest.mark.parametrize("size", [2, 3, 17])
def test_for_one_histogram_no_strategy_errs_less_than_laplace_noise_on_each_count(size: int) -> None:
    query = gd.marginals(line(size), ["x"])
    body = query.sensitivity(ROW)
    for weights in (None, np.full(size, 0.3)):
        alone = gd.Laplace.calibrate(body, PURE, weights).error(2, weights)
        assert Matrix.calibrate(body, PURE, weights).error(2, weights) > alone * (1 - 1e-3)
        assert not list(Matrix.candidates(body, PURE, weights))
    assert Matrix.why_not(body, PURE) == "no strategy has a smaller mean square here"
    assert list(Matrix.candidates(body, PURE, np.arange(1.0, size + 1)))
    assert list(Matrix.candidates(query.sensitivity(gd.PrivacyUnit(neighbours="replace")), PURE))
    assert list(Matrix.candidates(gd.prefix_sums(line(size), "x").sensitivity(ROW), PURE))


@pytest.mark.parametrize("requested", [{"rho": 0.1}, {"mu": 1.0}, {"epsilon": 0.1, "delta": 1e-2}], ids=str)
def test_a_plan_of_one_histogram_states_the_bound_of_normal_noise(requested: dict[str, float]) -> None:
    plan = gd.plan(gd.marginals(line(3), ["x"]), ROW, **requested)
    assert plan.mechanism.name == "Gaussian"
    bound = plan.bound_facts()
    assert bound is not None
    assert bound["kind"] == "factorisation"
    assert 1 <= bound["ratio"] < (1.2 if "delta" in requested else 1.05)


LARGE = [
    (gd.prefix_sums(line(100_000), "x"), PURE, 7_000),
    pytest.param(gd.prefix_sums(line(100_000), "x"), NORMAL, 6_200, marks=pytest.mark.thorough),
    (two_way(10, 10, 10, 10, 10), PURE, 420),
    (two_way(10, 10, 10, 10, 10), NORMAL, 385),
]


@pytest.mark.slow
@pytest.mark.parametrize(("query", "guarantee", "most"), LARGE, ids=lambda value: repr(value)[:40])
def test_a_hundred_thousand_cells_are_planned_in_seconds(query, guarantee, most: float) -> None:
    mechanism = Matrix.calibrate(query.sensitivity(ROW), guarantee)
    error = mechanism.error()
    assert error <= most
    total = math.sqrt(float(mechanism.variances.sum()))
    assert 0.97 * total <= error <= total
    lengths = np.linalg.norm(mechanism.sample_noise(10, gd.research_rng(1)), axis=1)
    assert lengths.mean() == pytest.approx(error, abs=4.5 * max(lengths.std(), 0.02 * error) / math.sqrt(10))
    assert (mechanism.half_widths(0.95, simultaneous=True) > mechanism.half_widths(0.95)).all()


# -- the noise -----------------------------------------------------------------------------------------


@cache
def drawn(name: str, guarantee) -> tuple[Matrix, np.ndarray]:
    mechanism = Matrix.calibrate(BODIES[name], guarantee)
    return mechanism, mechanism.sample_noise(N_DRAWS, gd.research_rng(len(name) + 7))


@pytest.mark.parametrize(("name", "guarantee"), STRATEGIES, ids=str)
def test_the_noise_has_the_covariance_of_its_strategy(name: str, guarantee) -> None:
    mechanism, noise = drawn(name, guarantee)
    matrix = matrix_of(mechanism.strategy) * mechanism.scale * float(mechanism.lattice_step)
    direction = np.random.default_rng(1).normal(size=BODIES[name].ambient_dim)
    expected = float(((direction @ matrix) ** 2).sum()) * (2 if isinstance(guarantee, gd.PureDP) else 1)
    expected += float((direction**2).sum()) * float(mechanism.lattice_step) ** 2 / 12
    actual = (noise @ direction) ** 2
    assert actual.mean() == pytest.approx(expected, abs=4.5 * actual.std() / math.sqrt(N_DRAWS) + 2e-3 * expected)


@pytest.mark.parametrize("guarantee", [PURE, NORMAL], ids=str)
def test_variables_drawn_some_at_a_time_are_as_many_and_as_wide(guarantee, monkeypatch) -> None:
    monkeypatch.setattr(unit_draws, "_DRAWN", 64)
    unit = unit_draws.units(64 * 1000 + 9, not isinstance(guarantee, gd.PureDP), gd.research_rng(4))
    variance = 2 if isinstance(guarantee, gd.PureDP) else 1
    for part in (unit[:64_000].reshape(1000, 64), unit[-9_000:].reshape(90, 100)):
        spread = 4.5 * math.sqrt(5 / len(part)) * variance
        assert (part**2).mean(axis=0) == pytest.approx(np.full(part.shape[1], variance), abs=spread)
    assert len(np.unique(unit)) == len(unit)


def test_the_root_mean_square_stands_for_the_length_of_steady_laplace_noise() -> None:
    query = two_way(20, 20, 20, 20)
    mechanism = Matrix.calibrate(query.sensitivity(ROW), PURE)
    values, counts = mechanism.strategy.spectrum(None)
    assert 5 * (values**2 @ counts) <= 0.01 * (values @ counts) ** 2
    assert mechanism.error() == math.sqrt(mechanism.variances.sum())
    assert mechanism.error() == pytest.approx(mechanism._trial_error(2, None), rel=0.006)
    fewer = Matrix.calibrate(two_way(4, 4, 4).sensitivity(ROW), PURE)
    assert fewer.error() == fewer._trial_error(2, None)


@pytest.mark.parametrize("guarantee", [PURE, NORMAL], ids=str)
def test_answers_alike_share_a_width_and_others_have_their_own(guarantee) -> None:
    mechanism = Matrix.calibrate(two_way(3, 5, 7).sensitivity(ROW), guarantee)
    deviations = mechanism.scale * np.sqrt(mechanism.strategy.squares * (2 if guarantee == PURE else 1))
    assert mechanism._spread(mechanism._deviations) == pytest.approx(deviations, rel=1e-12)
    assert len(mechanism._runs[2]) < len(deviations) == mechanism._runs[2].sum()
    prefixes = Matrix.calibrate(QUERIES["prefix"].sensitivity(ROW), guarantee)
    assert prefixes._spread(prefixes._deviations).tolist() == prefixes._deviations.tolist()


@pytest.mark.slow
def test_a_million_prefix_sums_have_a_tree() -> None:
    assert math.isfinite(best_tree(10**6, ranges=False).radius)


def test_in_one_dimension_it_is_the_gaussian_mechanism() -> None:
    body = QUERIES["count"].sensitivity(PERSON)
    for guarantee in (NORMAL, gd.GaussianDP(0.2)):
        mechanism, known = Matrix.calibrate(body, guarantee), gd.Gaussian.calibrate(body, guarantee)
        assert mechanism.guarantee == known.guarantee
        assert mechanism.variances == pytest.approx(known.variances, rel=1e-9)
        assert mechanism.half_widths(0.95).tolist() == known.half_widths(0.95).tolist()
        assert mechanism.error() == pytest.approx(known.error(), rel=1e-3)


@pytest.mark.parametrize("guarantee", [NORMAL, PURE, gd.ZCDP(0.3)], ids=str)
def test_three_rows_of_a_person_cost_three_times_the_noise(guarantee) -> None:
    one, three = (Matrix.calibrate(QUERIES["prefix"].sensitivity(unit), guarantee) for unit in (ROW, PERSON))
    assert three.scale * math.sqrt(float(three.strategy.squares.sum())) == pytest.approx(
        3 * one.scale * math.sqrt(float(one.strategy.squares.sum())), rel=1e-5
    )


def test_rounding_is_paid_for_where_answers_are_no_integers() -> None:
    body = BODIES["random"]
    mechanism = Matrix.calibrate(body, gd.GaussianDP(1.0))
    step = float(mechanism.lattice_step)
    matrix = matrix_of(mechanism.strategy) * step
    for vertex in np.random.default_rng(1).choice([-1.0, 1.0], size=(50, 4)):
        for column in body.symmetric_columns().T[:10] * body.factor:
            assert least_norm(matrix, column + step * vertex, 2) <= mechanism.scale
    assert mechanism.scale * step <= mechanism.strategy.radius * (1 + 2.0**-11)


def test_zcdp_and_the_curve_use_the_same_noise() -> None:
    body = BODIES["prefix"]
    narrow, same = (Matrix.calibrate(body, guarantee) for guarantee in (gd.GaussianDP(0.5), gd.ZCDP(0.125)))
    assert same.variances == pytest.approx(narrow.variances, rel=1e-12)
    assert isinstance(same.guarantee, gd.ZCDP)


# -- the parts -----------------------------------------------------------------------------------------


def test_rounded_normal_variables() -> None:
    stds = np.array([0.0, 0.2, 1.0, 3.9, 4.1, 50.0])
    laws = [RoundedGaussian(Fraction(float(std))) for std in stds[1:]]
    assert rounded_variances(stds)[1:] == pytest.approx([law.variance for law in laws], rel=1e-6)
    assert rounded_variances(stds)[0] == rounded_means(stds)[0] == 0
    for level in (0.3, 0.95, 1 - 1e-9):
        assert rounded_quantiles(stds, level).tolist() == [0, *(law.half_width(level) for law in laws)]
    widths = np.arange(2000)
    means = [float((1 - law.coverage(widths)).sum()) for law in laws]
    assert rounded_means(stds)[1:] == pytest.approx(means, rel=1e-4)


def test_rounded_laplace_variables() -> None:
    """One variable of size a has P(|N| > k) = e^(−(k + ½)/a); many that are small have nearly a normal sum."""
    sizes, k = np.array([0.01, 0.05, 0.2, 0.7, 2.8, 3.0, 20.0]), np.arange(2000)
    truth = [float((2 * k + 1) @ np.exp(-(k + 0.5) / size)) for size in sizes]
    assert rounded_laplace_variances(sizes[:, None]) == pytest.approx(truth, rel=1e-3, abs=2e-14)
    for std in (0.2, 0.5, 1.0):
        one_each = rounded_laplace_variances(np.full((1, 2000), std / math.sqrt(4000)))
        assert one_each == pytest.approx(rounded_variances(np.array([std])), rel=0.02)
        assert rounded_laplace_variances(np.full((1, 1), std / math.sqrt(4000)), 2000.0) == pytest.approx(one_each)
    assert rounded_laplace_variances(np.zeros((1, 2))) == 0


@pytest.mark.parametrize("kind", [gd.Laplace, gd.Identity, gd.Cube, Matrix], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("epsilon", [4.0, 8.0])
def test_narrow_noise_has_the_variances_that_it_states(kind, epsilon: float) -> None:
    """Within six standard errors of the draws: 18 answers fail by chance in one case of 10^7."""
    query = gd.query(gd.Domain.of(a=gd.integers(1, 4), b=["x", "y"]), "a; b; a*b; prefix(a)")
    mechanism = kind.calibrate(query.sensitivity(ROW), gd.PureDP(epsilon))
    squares = mechanism.sample_noise(20_000, gd.research_rng(5)) ** 2
    room = 6 * squares.std(axis=0) / math.sqrt(len(squares)) + 1e-3
    assert (np.abs(squares.mean(axis=0) - mechanism.variances) <= room).all()


def test_large_strategies_state_nearly_the_same_variances(monkeypatch: pytest.MonkeyPatch) -> None:
    query = gd.query(gd.Domain.of(a=gd.integers(1, 4), b=["x", "y"]), "a; b; a*b; prefix(a)")
    written_out = Matrix.calibrate(query.sensitivity(ROW), gd.PureDP(8.0))
    large = replace(written_out)
    monkeypatch.setattr(matrix, "_MOST_ENTRIES", 0)
    assert large._sizes is None
    assert np.sqrt(large.variances) == pytest.approx(np.sqrt(written_out.variances), rel=0.1)


def test_the_error_of_noise_that_is_hardly_ever_there() -> None:
    """At most one of four counts is ±1, with the chance that a normal variable rounds to it."""
    noise = gd.Gaussian.calibrate(gd.query(line(4), "x").sensitivity(ROW), gd.GaussianDP(17.4))
    chance = math.erfc(17.4 / 2 / math.sqrt(2))
    assert [noise.error(1), noise.error(2), noise.variances.sum()] == pytest.approx([4 * chance] * 3, rel=1e-6, abs=0)


def test_expected_roots_are_those_of_chi() -> None:
    for count in (1, 2, 10, 1000):
        exact = math.sqrt(2) * math.exp(math.lgamma((count + 1) / 2) - math.lgamma(count / 2))
        assert expected_root(np.array([4.0]), np.array([count])) == pytest.approx(2 * exact, rel=1e-4)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99, 1 - 1e-6])
def test_the_bounds_of_laplace_sums_hold(level: float) -> None:
    law = DiscreteLaplace(Fraction(1000))
    assert 1000 * laplace_reach(np.ones(1), np.ones(1), level)[0] >= law.half_width(level)
    many = laplace_reach(np.full(1, 400.0), np.ones(1), level)[0]
    assert many >= math.sqrt(800) * math.sqrt(2) * scipy.special.erfinv(level) * 0.99
    assert many <= laplace_reach(np.full(1, 400.0), np.full(1, 20.0), level)[0]


# -- what is covered and what is refused ---------------------------------------------------------------


def test_it_covers_its_own_body_and_smaller_ones_only() -> None:
    body = QUERIES["prefix"].sensitivity(PERSON)
    for guarantee in (NORMAL, PURE):
        mechanism = Matrix.calibrate(body, guarantee)
        assert mechanism.is_valid_for(body)
        assert mechanism.is_valid_for(QUERIES["prefix"].sensitivity(ROW))
        assert not mechanism.is_valid_for(replace(body, factor=3.1))
        assert not mechanism.is_valid_for(replace(body, differences=True, with_zero=True))
        assert not mechanism.is_valid_for(QUERIES["ranges"].sensitivity(ROW))
        assert not mechanism.is_valid_for(LpBall(11, 1))
        wide = Matrix.calibrate(replace(body, differences=True, with_zero=True), guarantee)
        assert wide.is_valid_for(body)
        narrow = Matrix.calibrate(replace(body, differences=True, with_zero=False), guarantee)
        assert not narrow.is_valid_for(body)
        points = np.random.default_rng(4).normal(size=(2, 5))
        real = Matrix.calibrate(Polytope.symmetric_hull(points), guarantee)
        assert real.is_valid_for(Polytope.symmetric_hull(points, 0.5))
        assert not real.is_valid_for(Polytope.symmetric_hull(points * 0.5))


@pytest.mark.parametrize("guarantee", [NORMAL, PURE], ids=str)
def test_bodies_it_cannot_serve_are_refused(guarantee) -> None:
    with pytest.raises(InvalidRequest, match="requires a polytope, not"):
        Matrix.calibrate(LpBall(3, 1), guarantee)
    with pytest.raises(InvalidRequest, match=r"use gaugedp\.bodies\.project"):
        Matrix.calibrate(Polytope.symmetric_hull(np.array([[1.0, 0.5, 0], [1, 0.5, 0]])), guarantee)
    with pytest.raises(InvalidRequest, match="no unit can change the answer"):
        Matrix.calibrate(Polytope.symmetric_hull(np.zeros((2, 3))), guarantee)
    with pytest.raises(InvalidRequest, match="NaN or infinity"):
        Matrix.calibrate(Polytope.symmetric_hull(np.array([[1.0, np.nan]])), guarantee)
    with pytest.raises(InvalidRequest):
        Matrix.calibrate(gd.bounded_sums(gd.Domain.of(x=gd.integers(1, 9000), v=gd.bounded(0, 9)), "v", "x")
                         .sensitivity(ROW), guarantee)  # fmt: skip
    with pytest.raises(InvalidRequest, match="wider than 2"):
        Matrix.calibrate(BODIES["prefix"], gd.PureDP(1e-20) if guarantee == PURE else gd.GaussianDP(1e-20))


def test_directions_that_differ_by_rounding_only_are_refused_or_flat() -> None:
    nearly = np.array([[1.0, 1.0], [1.0, 1.0 + 2.0**-50]])
    with pytest.raises(InvalidRequest):
        Matrix.calibrate(Polytope.symmetric_hull(nearly), NORMAL)


def test_questions_that_are_too_large_are_refused_at_once() -> None:
    wide = Polytope.symmetric_hull(np.random.default_rng(1).normal(size=(400, 10_000)))
    many = gd.stack(gd.prefix_sums(grid(300, 300), "a0"), gd.marginals(grid(300, 300), "a1")).sensitivity(ROW)
    for body, guarantee in ((wide, NORMAL), (wide, PURE), (many, PURE)):
        with pytest.raises(InvalidRequest, match=r"Use |at most 1,000,000,000|at most 10,000,000 entries"):
            Matrix.calibrate(body, guarantee)


def test_a_strategy_is_searched_once() -> None:
    first, second = (Matrix.calibrate(gd.prefix_sums(line(9), "x").sensitivity(ROW), gd.ZCDP(rho)) for rho in (1, 2))
    assert first.strategy is second.strategy


def test_it_says_what_it_is() -> None:
    assert "optimal factorisation (gap" in repr(drawn("prefix", NORMAL)[0])
    assert "exact" in repr(drawn("mixed", PURE)[0])
    assert "exact" in repr(drawn("prefix", NORMAL)[0])
    assert "exact" in repr(drawn("random", PURE)[0])
    assert "rounded Laplace on" in drawn("mixed", PURE)[0].describe()


def test_other_norms_and_levels_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="norm"):
        drawn("prefix", NORMAL)[0].error(3)
    with pytest.raises(InvalidRequest, match="level"):
        drawn("prefix", NORMAL)[0].half_widths(1.0)


def test_a_flat_body_of_ones_own_is_told_the_way_out() -> None:
    flat = Polytope.symmetric_hull(np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 1.0], [2.0, 0.0]]))
    with pytest.raises(InvalidRequest, match=r"bodies\.project\(body, body\.span\)"):
        Matrix.calibrate(flat, gd.GaussianDP(1.0))
    assert Matrix.calibrate(gd.bodies.project(flat, flat.span), gd.GaussianDP(1.0)).body.ambient_dim == 2


def test_scales_are_printed_in_the_units_of_the_body() -> None:
    ball, histogram = gd.bodies.LpBall(4, 2, 1.0), gd.marginals(line(3), "x").sensitivity(ROW)
    for kind, guarantee in ((gd.Gaussian, gd.GaussianDP(0.5)), (gd.Laplace, gd.PureDP(1.0))):
        assert re.search(r"(std|scale) 2\.00\d* on steps of 1/8192", repr(kind.calibrate(ball, guarantee)))
        assert "steps" not in repr(kind.calibrate(histogram, guarantee))


def test_wide_noise_hides_the_last_digit() -> None:
    """4,000 draws: the share of odd numbers has a deviation of 0.008, and leaves 0.45 to 0.55 once in 10^9 seeds."""
    body = gd.query(gd.Domain.of(pay=gd.bounded(0, 2**40)), "sum(pay)").sensitivity(gd.PrivacyUnit())
    noise = Matrix.calibrate(body, gd.ApproxDP(2.5e-4, 1e-6))
    assert float(np.sqrt(noise.variances.max())) > 2**52
    drawn = noise.draw(4000, gd.research_rng(7))
    assert 0.45 < float((drawn % 2).mean()) < 0.55
    assert float(drawn.std()) == pytest.approx(float(np.sqrt(noise.variances[0])), rel=0.06)


def test_wide_noise_in_floats_hides_the_last_digit() -> None:
    """Of so many sums that no law is proved for the strategy: 4,400 numbers, the same limits."""
    domain = gd.Domain.of(a=gd.integers(1, 1100), pay=gd.bounded(0, 2**40))
    noise = Matrix.calibrate(gd.query(domain, "sum(pay) by a").sensitivity(ROW), gd.ApproxDP(2.5e-4, 1e-6))
    assert noise.strategy.law is None
    assert float(np.sqrt(noise.variances.min())) > 2**52
    assert 0.45 < float((noise.draw(4, gd.research_rng(7)) % 2).mean()) < 0.55
