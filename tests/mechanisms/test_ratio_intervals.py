"""Widths for quotients: they hold as often as they say at every slope, and hardly more often."""

import math

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.entropy import research_rng
from gaugedp.mechanisms.ratio_intervals import PLACES, Quotients, quotients
from gaugedp.queries.estimates import Estimate, quotient_terms

DOMAIN = gd.Domain.of(
    s=["u", "w", "x"],
    v=gd.bounded(-2, 8, step=0.5),
    y=gd.bounded(-3, 4),
    x=gd.bounded(0, 10, step=0.1),
    b=gd.bounded(0, 1),
)
ROW = gd.PrivacyUnit()
CASES = [
    ("mean(v)", {"epsilon": 0.5}, "Cube"),
    ("mean(v)", {"rho": 0.1}, "Gaussian"),
    ("mean(v) by s", {"epsilon": 1}, "Matrix"),
    ("mean(v) by s", {"mu": 0.7}, "Gaussian"),
    ("mean(v); s", {"epsilon": 1}, "KNorm"),
    ("mean(y); mean(x)", {"epsilon": 3}, "KNorm"),  # coarse: |a − m·b| has atoms, and a chord is no bound by itself
    ("mean(y)", {"epsilon": 5}, "Cube"),
    ("mean(b); s", {"epsilon": 2}, "KNorm"),
    ("mean(y)", {"rho": 2}, "Gaussian"),
]
DRAWS, LEVELS = 60_000, (0.5, 0.68, 0.75, 0.8, 0.84, 0.9, 0.95, 0.99)


def made(text: str, guarantee: dict) -> tuple:
    query = gd.query(DOMAIN, text)
    noise = gd.plan(query, ROW, **guarantee).mechanism
    return noise, np.array([float(step) for step in query.steps]), quotient_terms(query.estimates)


def coverage(noise, units, term: tuple[int, int, float], curves: np.ndarray) -> np.ndarray:
    """How often |a − m·b| is within its width, for m at and between the places."""
    start, n, reach = term
    rows = noise.sample_noise(DRAWS, research_rng(99)) * units
    places = np.linspace(-1, 1, 14 * (PLACES - 1) + 1)  # sevenths and halves of places, too
    widths = np.array([np.interp(places, np.linspace(-1, 1, PLACES), curve) for curve in curves])
    gaps = np.abs(rows[:, start : start + n, None] - reach * places * rows[:, start + n : start + 2 * n, None])
    return (gaps <= widths + 1e-9).mean(axis=0)


@pytest.mark.statistical
@pytest.mark.parametrize(("text", "guarantee", "name"), CASES, ids=str)
def test_they_hold_as_often_as_they_say_and_hardly_more(text: str, guarantee: dict, name: str) -> None:
    noise, units, terms = made(text, guarantee)
    actual = quotients(noise, units, terms)
    assert actual is not None
    for level in LEVELS:
        error = 5.5 * math.sqrt(level * (1 - level) / DRAWS)  # of some 10^4 shares: a false alarm in 10^3 runs
        curves = actual.widths(level)
        assert coverage(noise, units, terms[0], curves).min() >= level - error, (name, level)
        lattice = float(noise.lattice_step) * (units[0] + terms[0][2] * units[terms[0][1]])
        narrow = 0.8 * (curves - lattice).clip(0)
        assert coverage(noise, units, terms[0], narrow).min() < level - error, "and a fifth less would not do"


def test_they_are_narrower_than_both_widths_together() -> None:
    noise, units, terms = made("mean(v) by s", {"epsilon": 1})
    ((start, n, reach),) = terms
    curves = quotients(noise, units, terms).widths(0.95)
    each = noise.half_widths(0.975) * units
    both = each[start : start + n] + reach * each[start + n : start + 2 * n]
    assert (curves[:, -1] < 0.75 * both).all()
    assert curves.shape == (n, PLACES)


def test_answers_with_the_same_noise_get_the_same_widths() -> None:
    curves = quotients(*made("mean(v) by s", {"rho": 0.1})).widths(0.9)
    assert (curves == curves[0]).all()


def test_walks_and_long_lists_get_both_widths_together() -> None:
    noise, units, _ = made("mean(v)", {"rho": 0.1})
    scaled = units * [1, 5]

    class Walk:
        exactness, half_widths = "mixing", noise.half_widths

    first, second = np.array([0]), np.array([1])
    each = noise.half_widths(0.95) * scaled
    for pairs, one in ((1, Walk()), (2000, noise)):
        curves = Quotients(one, scaled, np.repeat(first, pairs), np.repeat(second, pairs)).widths(0.9)
        assert curves == pytest.approx(np.tile(each[0] + each[1] * np.abs(np.linspace(-1, 1, PLACES)), (pairs, 1)))


def test_a_level_beyond_the_trials_gets_both_widths_together() -> None:
    noise, units, terms = made("mean(v)", {"rho": 0.1})
    each = noise.half_widths((1 + 0.99999) / 2) * units * [1, terms[0][2]]
    assert quotients(noise, units, terms).widths(0.99999)[0, 0] == pytest.approx(each.sum())


def test_without_means_there_is_nothing_to_compute() -> None:
    noise, units, terms = made("s", {"epsilon": 1})
    assert terms == []
    assert quotients(noise, units, terms) is None


@pytest.mark.statistical
def test_whole_intervals_hold_the_true_mean_as_often_as_they_say() -> None:
    """Of 5 and of 500 rows, at the bounds and inside: 95 % hold, within what 4,000 draws tell; three fifths fail."""
    noise, units, terms = made("mean(v)", {"epsilon": 1})
    curves, widths = quotients(noise, units, terms).widths(0.95), np.zeros(2)
    estimate = Estimate(1, (3.0, 5.0))
    noises = noise.sample_noise(4000, research_rng(7)) * units
    error = 5 * math.sqrt(0.95 * 0.05 / 4000)
    for count in (5, 500):
        for mean in (-2.0, -1.0, 3.0, 8.0):
            exact = np.array([count * (mean - 3.0), count])
            for factor, holds in ((1.0, True), (0.6, False)):
                ends = [estimate.intervals(exact + one, widths, factor * curves) for one in noises]
                seen = np.mean([low[0] - 1e-9 <= mean <= high[0] + 1e-9 for low, high in ends])
                assert (seen >= 0.95 - error) if holds else (seen < 0.95 - error or abs(mean - 3) == 5 or count == 5)
