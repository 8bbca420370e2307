"""Widths for standard deviations, from draws of the noise: they hold as often as they say, and no less."""

import math

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.entropy import research_rng
from gaugedp.queries.deviation_estimates import ENDS, MEANS, PLACES
from gaugedp.queries.trials import Trials

DOMAIN = gd.Domain.of(A=["x", "y"], V=gd.bounded(0, 100))
UNIT = gd.PrivacyUnit()
REPEATS = 500
CELLS = {
    "skewed": (np.repeat([0, 5, 30, 100], [300, 500, 150, 50]), np.repeat([0, 5, 30, 100], [600, 1000, 300, 100])),
    "even": (np.tile(np.arange(101), 20), np.tile(np.arange(101), 40)),
    "constant": (np.full(3000, 40), np.full(2000, 100)),
}


def held(text: str, guarantee: dict, name: str, factor: float) -> np.ndarray:
    """How often 95 % intervals hold the true deviations of two cells, widths times `factor`."""
    query = gd.query(DOMAIN, text)
    noise = gd.plan(query, UNIT, **guarantee).mechanism
    curves = factor * Trials(query, noise).curves(0.95)["deviations"]
    cells = CELLS[name]
    d = [cell - 50.0 for cell in cells]
    exact = np.array([x.sum() for x in d] + [(2 * x**2 - 2500).sum() for x in d] + [len(x) for x in d])
    true, (estimate,) = np.array([cell.std() for cell in cells]), query.estimates
    rows = [exact + query.in_units(row) for row in noise.sample_noise(REPEATS, research_rng(11)).astype(float)]
    ends = np.array([estimate.intervals(row, np.zeros(6), curves) for row in rows])
    return ((ends[:, 0] <= true + 1e-9) & (true - 1e-9 <= ends[:, 1])).mean(axis=0)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("name", "guarantee"),
    [("skewed", {"epsilon": 1.0}), ("even", {"rho": 0.05}), ("constant", {"epsilon": 1.0, "delta": 1e-6})],
)
def test_intervals_hold_as_often_as_they_say(name: str, guarantee: dict) -> None:
    """95 % hold, within what 500 draws tell (a false alarm in 10^6); with half the widths they do not."""
    error = 5 * math.sqrt(0.95 * 0.05 / REPEATS)
    assert held("sd(V) by A", guarantee, name, 1.0).min() > 0.95 - error
    assert held("sd(V) by A", guarantee, name, 0.5).min() < 0.95 - error


def test_there_are_none_where_draws_tell_nothing() -> None:
    many = gd.Domain.of(A=gd.integers(1, 20_000), V=gd.bounded(0, 100))
    query = gd.query(many, "sd(V) by A")
    noise = gd.Laplace.calibrate(query.sensitivity(UNIT), gd.PureDP(1))
    assert Trials(query, noise).curves(0.95) == {}


def test_wider_levels_have_wider_widths_and_the_highest_none() -> None:
    query = gd.query(DOMAIN, "sd(V)")
    trials = Trials(query, gd.plan(query, UNIT, epsilon=1).mechanism)
    single, wide = (trials.curves(level)["deviations"] for level in (0.9, 0.99))
    assert (single[:, len(ENDS) :] < wide[:, len(ENDS) :]).all()
    assert trials.curves(0.99999) == {}


def test_a_term_of_its_own_unit_stands_beside_others() -> None:
    query = gd.query(DOMAIN, "mean(V) by A; sd(V); A; share(A)")
    curves = gd.plan(query, UNIT, epsilon=1).curves(0.95)
    assert {kind: len(rows) for kind, rows in curves.items()} == {"quotients": 2, "deviations": 1, "shares": 2}


def test_the_noise_of_sums_and_of_counts_widens_what_is_open() -> None:
    """Widths at m = ±1 and at c = 3 are far above those at m = 0 and c = 0."""
    query = gd.query(DOMAIN, "sd(V)")
    (curve,) = gd.plan(query, UNIT, rho=0.1).curves(0.95)["deviations"]
    grid = curve[len(ENDS) :].reshape(len(MEANS), len(PLACES))
    middle, no_count = len(MEANS) // 2, list(PLACES).index(0)
    assert grid[middle, -1] > 2 * grid[middle, no_count]
    assert min(grid[0, no_count], grid[-1, no_count]) > 3 * grid[middle, no_count]


def test_widths_leave_a_step_of_the_lattice_for_what_is_between_places() -> None:
    """Chords lie above quantiles of continuous noise alone. With noise of few steps the room is seen at the places."""
    query = gd.query(DOMAIN, "sd(V)")
    noise = gd.plan(query, UNIT, epsilon=30.0).mechanism
    widths = Trials(query, noise).curves(0.95)["deviations"][0, len(ENDS) :].reshape(len(MEANS), len(PLACES))
    steps = query.in_units(np.ones(3)) / [50.0, 2500.0, 1.0]
    e_sum, e_square, e_count = (noise.sample_noise(20_000, research_rng(13)) * steps).T
    for place, mean in enumerate(MEANS):
        for other, c in enumerate(PLACES):
            gaps = np.abs(e_square - 4 * mean * e_sum + c * e_count)
            room = float(noise.lattice_step) * steps @ [abs(4 * mean), 1, abs(c)]
            assert widths[place, other] >= np.quantile(gaps, 0.94) + 0.9 * room
