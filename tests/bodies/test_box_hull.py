"""Hulls of a box and its negative: closed forms against linear programs and facets, draws against laws."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import gaugedp as gd
from gaugedp.bodies import BoxHull, LinearImage, Polytope, image, scaled, volume
from gaugedp.bodies.digest import digest
from gaugedp.entropy import research_rng
from gaugedp.errors import InvalidRequest
from gaugedp.samplers.direct import uniform_direct
from gaugedp.samplers.gauge_noise import gauge_noise
from gaugedp.samplers.uniform import moments
from tests.queries.strategies import examples

ALARM = 1e-5  # each p-value's chance of a false alarm
KINDS = [(False, False), (True, True), (True, False)]
SIZES = st.sampled_from([0.0, 1e-3, 0.5, 1.0, 3.0, 200.0])


@st.composite
def hulls(draw, most: int = 6, sizes=SIZES, lows: tuple[float, ...] = (-2.0, -1.0, 0.0, 0.7, 300.0)) -> BoxHull:
    """Bodies of up to 6 coordinates, some without a width, some away from 0."""
    d = draw(st.integers(1, most))
    low = np.array([draw(st.sampled_from(lows)) for _ in range(d)])
    high = low + np.array([draw(sizes) for _ in range(d)])
    high[0] += not (low.any() or high.any())
    body = BoxHull.of(low, high, draw(st.sampled_from([1, 2.5])), *draw(st.sampled_from(KINDS)))
    return body if body.rank else BoxHull.of(low, high)


@pytest.mark.slow
@examples(150)
@given(hulls(), st.integers(0, 10**6))
def test_gauges_are_those_of_the_linear_program(body: BoxHull, seed: int) -> None:
    points = np.random.default_rng(seed).normal(size=(3, body.ambient_dim)) @ body.span @ body.span.T
    listed = body.listed
    assert type(listed) is Polytope
    assert body.gauge(points) == pytest.approx(listed.gauge(points), rel=1e-5)


@examples(60)
@given(hulls(5, st.sampled_from([0.0, 0.5, 1.0, 3.0]), (-2.0, -1.0, 0.0, 0.7)))
def test_volumes_and_second_moments_are_those_of_the_facets(body: BoxHull) -> None:
    listed, known = volume(body.listed), volume(body)
    assert listed.kind == known.kind == "exact"
    assert known.log_volume == pytest.approx(listed.log_volume, abs=1e-6)
    assert body.rank == body.listed.rank
    noise = gauge_noise(body.listed)
    if not noise.walks:  # there are facets that cannot be told apart
        assert body.second_moment == pytest.approx(noise.second_moment, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("d", [1, 2, 7, 1000])
def test_one_sided_sums(d: int) -> None:
    widths = np.linspace(1, 3, d)
    body = BoxHull.of(np.zeros(d), widths)
    points = np.random.default_rng(d).normal(size=(20, d))
    scaled_points = points / widths
    parts = np.maximum(scaled_points, 0).max(axis=1) + np.maximum(-scaled_points, 0).max(axis=1)
    assert body.gauge(points) == pytest.approx(parts, rel=1e-12)
    assert volume(body).log_volume == pytest.approx(math.log(d + 1) + np.log(widths).sum(), rel=1e-12)
    noise = (d + 1) * (d + 2) * np.trace(body.second_moment / np.outer(widths, widths))
    assert noise == pytest.approx(d * (d + 2) * (d + 3) / 6, rel=1e-9)


def test_a_thousand_coordinates_take_no_list() -> None:
    low, high = -np.arange(1000.0), np.arange(1000.0) + 1
    high[5] = low[5] = 1
    for differences, with_zero in KINDS:
        body = BoxHull.of(low, high, 1, differences, with_zero)
        ends = body.argmax(np.random.default_rng(3).normal(size=(10, 1000)))
        assert body.gauge(ends) == pytest.approx(1)
        assert body.generators.n_generators == 2**999
        with pytest.raises(InvalidRequest, match=r"2\^999 corners"):
            body.generators.adjoint(np.ones(1000))


def draws_of(body: BoxHull, size: int, seed: int) -> np.ndarray:
    return uniform_direct(body, size, research_rng(seed))


LAWS = [
    BoxHull.of(low, high, 1, *kind)
    for low, high in [
        ([0.0, 0], [1.0, 1]),
        ([0.0, 0, 0], [1.0, 5, 0.2]),
        ([3.0, -1], [4.0, 2]),
        ([1.0, -2, 1, 0], [1.0, 2, 1, 3]),
    ]
    for kind in KINDS
]


@pytest.mark.statistical
@pytest.mark.parametrize("body", LAWS, ids=lambda body: f"{body!r} {body.generators.low}")
def test_draws_are_uniform_in_cells(body: BoxHull) -> None:
    """Cells of the span's cube, by quasi-random points and the linear program's gauge. False alarms: 1e-5 a body."""
    draws = draws_of(body, 20_000, 4) @ body.span
    ends = np.abs(draws).max(axis=0)
    grid = (2 * stats.qmc.Sobol(body.rank, seed=1).random(2**14) - 1) * ends * 1.001
    inside = grid[body.gauge(grid @ body.span.T) <= 1]
    cells = [
        np.digitize(rows @ np.linspace(1, 2, body.rank) / ends.sum(), np.linspace(-1, 1, 9)) for rows in (draws, inside)
    ]
    counts = np.array([np.bincount(cell, minlength=12) for cell in cells])
    counts = counts[:, counts[1] > 20]
    assert stats.chi2_contingency(counts).pvalue > ALARM
    assert (body.gauge(draws @ body.span.T) <= 1 + 1e-9).all()


@pytest.mark.statistical
@pytest.mark.parametrize("body", LAWS, ids=lambda body: f"{body!r} {body.generators.low}")
def test_powers_of_gauges_and_moments_of_draws(body: BoxHull) -> None:
    """False alarms: 1e-5 a body for the gauges, five standard errors for each moment."""
    draws = draws_of(body, 40_000, 5)
    assert stats.kstest(body.gauge(draws) ** body.rank, "uniform").pvalue > ALARM
    products = draws[:, :, None] * draws[:, None, :]
    errors = products.std(axis=0) / math.sqrt(len(draws))
    assert (np.abs(products.mean(axis=0) - body.second_moment) <= 5 * errors + 1e-12).all()
    assert moments(body).kind == "exact"


@pytest.mark.statistical
def test_the_number_of_positive_coordinates_is_uniform_at_a_thousand() -> None:
    """Chi-square over 11 cells of 91 numbers; false alarms: 1e-5. A control: the box alone alarms."""
    body = BoxHull.of(np.zeros(1000), np.linspace(1, 9, 1000))
    positive = (draws_of(body, 3000, 6) > 0).sum(axis=1)
    assert stats.chisquare(np.bincount(positive // 91, minlength=11)).pvalue > ALARM
    alone = (draws_of(BoxHull.of(-np.ones(1000), np.ones(1000)), 3000, 6) > 0).sum(axis=1)
    assert stats.chisquare(np.bincount(alone // 91, minlength=11)).pvalue < ALARM


def test_knorm_noise_has_the_body_s_own_moments() -> None:
    body = BoxHull.of(np.zeros(12), np.ones(12))
    mechanism = gd.KNorm.calibrate(body, gd.PureDP(1.0))
    assert mechanism.guarantee == gd.PureDP(1.0)
    assert mechanism.exactness == "exact"
    assert mechanism.variances.sum() == pytest.approx(12 * 14 * 15 / 6, rel=0.01)
    assert mechanism.error() == pytest.approx(19.3, rel=0.03)
    assert mechanism.is_valid_for(BoxHull.of(np.zeros(12), np.ones(12), 0.5))
    assert not mechanism.is_valid_for(BoxHull.of(np.zeros(12), np.ones(12), 1.1))
    assert not mechanism.is_valid_for(BoxHull.of(np.zeros(12), np.linspace(1, 1.1, 12)))


def test_images_and_digests() -> None:
    body = BoxHull.of([0.0, -1], [2.0, 3])
    stretched = image(body, np.diag([-2.0, 0.5]))
    assert isinstance(stretched, BoxHull)
    points = np.random.default_rng(1).normal(size=(5, 2))
    assert stretched.gauge(points * [-2.0, 0.5]) == pytest.approx(body.gauge(points))
    turned = image(body, np.array([[1.0, 1], [1, -1]]))
    assert turned.support(points) == pytest.approx(body.support(points @ np.array([[1.0, 1], [1, -1]])))
    assert scaled(body, 3).gauge(points) == pytest.approx(body.gauge(points) / 3)
    large = BoxHull.of(np.zeros(50), np.ones(50))
    assert isinstance(image(large, np.ones((1, 50))), LinearImage)
    assert len({digest(large), digest(scaled(large, 2)), digest(BoxHull.of(np.zeros(50), np.full(50, 1.5)))}) == 3


@pytest.mark.parametrize(
    ("low", "high"), [([0.0], [0.0]), ([1.0], [0.0]), ([0.0, 0], [1.0]), ([0.0], [math.inf]), ([0.0], [math.nan])]
)
def test_bounds_that_are_none_are_refused(low: list[float], high: list[float]) -> None:
    with pytest.raises(InvalidRequest):
        BoxHull.of(low, high)
