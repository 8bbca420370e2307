"""Widths for shares: they hold as often as they say at every share, and hardly more often."""

import math

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.entropy import research_rng
from gaugedp.mechanisms.laplace import Laplace
from gaugedp.mechanisms.share_intervals import PLACES, NoisePairs, ShareQuotients, comparison_widths, share_widths
from gaugedp.queries.estimates import comparison_terms, share_terms
from gaugedp.queries.share_estimates import share_places
from gaugedp.queries.trials import Trials

DOMAIN = gd.Domain.of(a=["u", "w", "x"], b=["p", "q"], c=[str(i) for i in range(12)], v=gd.bounded(0, 10))
ROW, REPLACED = gd.PrivacyUnit(), gd.PrivacyUnit(neighbours="replace")
CASES = [
    ("share(a) by b", ROW, {"epsilon": 1}, "Laplace"),
    ("share(a) by b", ROW, {"epsilon": 2}, "Laplace"),  # coarse: |e − p·E| has atoms
    ("share(c)", ROW, {"rho": 0.1}, "Gaussian"),
    ("share(c)", ROW, {"epsilon": 0.5}, "Laplace"),
    ("share(a)", REPLACED, {"epsilon": 1}, "KNorm"),
    ("prefix(c); share(a) by b", ROW, {"mu": 1}, "Matrix"),
    ("mean(v); share(a) by b; a", ROW, {"epsilon": 1}, "KNorm"),
]
COMPARED = [
    ("change(c)", ROW, {"epsilon": 1}),
    ("difference(a) by b", REPLACED, {"epsilon": 1}),
    ("ratio(c)", ROW, {"rho": 0.1}),
    ("prefix(c); index(a) by b", ROW, {"mu": 1}),
]
DRAWS, LEVELS = 40_000, (0.5, 0.8, 0.9, 0.95, 0.99)


def made(text: str, unit: gd.PrivacyUnit, guarantee: dict) -> tuple:
    query = gd.query(DOMAIN, text)
    noise = gd.plan(query, unit, **guarantee).mechanism
    return noise, share_terms(query.estimates)


def coverage(noise, term: tuple[int, int, int], widths: np.ndarray) -> np.ndarray:
    """How often |e − p·E| is within its width, for p at and between the places, shape (cells, shares)."""
    start, n, parts = term
    table = noise.sample_noise(DRAWS, research_rng(99))[:, start : start + n].reshape(DRAWS, parts, -1)
    totals = np.broadcast_to(table.sum(axis=1, keepdims=True), table.shape).reshape(DRAWS, n)
    places = np.concatenate([[0, 1, 1 / 3, 0.5], (PLACES[:-1] + PLACES[1:]) / 2, PLACES[:-1] + np.diff(PLACES) / 7])
    seen = [
        (np.abs(table.reshape(DRAWS, n) - p * totals) <= [np.interp(p, PLACES, width) + 1e-9 for width in widths]).mean(
            0
        )
        for p in places
    ]
    return np.array(seen).T


@pytest.mark.thorough
@pytest.mark.statistical
@pytest.mark.parametrize(("text", "unit", "guarantee", "name"), CASES, ids=str)
def test_they_hold_as_often_as_they_say_and_hardly_more(text, unit, guarantee, name) -> None:
    noise, terms = made(text, unit, guarantee)
    assert name == noise.name
    actual = share_widths(noise, terms)
    for level in LEVELS:
        error = 5.5 * math.sqrt(level * (1 - level) / DRAWS)  # of some 10^4 shares: a false alarm in 10^3 runs
        widths = actual.widths(level)
        assert coverage(noise, terms[0], widths).min() >= level - error, level
        if level >= 0.9:  # below, coarse noise is mostly 0, and any width would do
            assert coverage(noise, terms[0], 0.8 * widths).min() < level - error, "and a fifth less would not do"


@pytest.mark.statistical
@pytest.mark.parametrize(("text", "unit", "guarantee"), COMPARED, ids=str)
def test_those_of_comparisons_hold_both_ways_and_hardly_more(text, unit, guarantee) -> None:
    query = gd.query(DOMAIN, text)
    noise = gd.plan(query, unit, **guarantee).mechanism
    ((own, other),) = comparison_terms(query.estimates)
    rows = noise.sample_noise(DRAWS, research_rng(98))
    actual = comparison_widths(noise, [(own, other)])
    for level in (0.5, 0.9, 0.95, 0.99):
        error = 5.5 * math.sqrt(level * (1 - level) / DRAWS)
        seen = []
        for tops, bottoms, widths in zip((own, other), (other, own), np.hsplit(actual.widths(level), 2), strict=True):
            for p in (0, 0.3, 0.5, 0.9, 1):
                reach = np.array([np.interp(p, PLACES, width) for width in widths])
                gaps = np.abs(rows[:, tops] - p * rows[:, bottoms])
                assert ((gaps <= reach + 1e-9).mean(axis=0) >= level - error).all(), (level, p)
                seen.append((gaps <= 0.8 * reach).mean(axis=0).min())
        assert level < 0.9 or min(seen) < level - error, "and a fifth less would not do"


def test_walks_have_no_widths_of_comparisons() -> None:
    query = gd.query(DOMAIN, "change(c)")
    noise = gd.plan(query, ROW, epsilon=1).mechanism
    terms = comparison_terms(query.estimates)
    assert comparison_widths(noise, terms).widths(0.9).shape == (11, 2 * len(PLACES))
    assert comparison_widths(noise, terms).widths(0.99999) is None
    assert comparison_widths(noise, []) is None

    class Walk:
        exactness, half_widths, form, n_answers = "mixing", noise.half_widths, noise.form, noise.n_answers
        variances = noise.variances

    assert comparison_widths(Walk(), terms) is None


def test_the_places_are_those_at_which_estimates_read_them() -> None:
    assert (share_places(len(PLACES)) == PLACES).all()


def test_widths_are_those_of_the_cells_own_term() -> None:
    noise, terms = made("share(a) by b; share(c)", ROW, {"epsilon": 1})
    widths = share_widths(noise, terms).widths(0.95)
    assert widths.shape == (18, len(PLACES))
    assert widths[0, -1] < widths[-1, -1], "the total of twelve cells is noisier than that of three"


def test_walks_and_long_lists_have_none_and_high_levels_neither() -> None:
    noise, terms = made("share(a) by b", ROW, {"epsilon": 1})
    assert share_widths(noise, terms).widths(0.99999) is None
    assert share_widths(noise, []) is None

    class Walk:
        exactness, half_widths, form, n_answers = "mixing", noise.half_widths, noise.form, noise.n_answers
        variances = noise.variances

    assert share_widths(Walk(), terms) is None

    class Long(Walk):
        exactness, n_answers = noise.exactness, 20_000

    assert share_widths(Long(), terms) is None


def test_a_question_without_shares_has_no_widths_for_them() -> None:
    query = gd.query(DOMAIN, "a; mean(v)")
    assert "shares" not in Trials(query, gd.plan(query, ROW, epsilon=1).mechanism).curves(0.95)


def test_unlike_cells_that_count_as_one_kind_get_the_largest_widths() -> None:
    rows = np.random.default_rng(3).normal(size=(4000, 2)) * [1, 5]
    one_kind, cells = np.zeros(2, dtype=int), np.arange(2)
    terms = [NoisePairs(rows, rows.sum(axis=1, keepdims=True), cells, one_kind, one_kind)]
    both = ShareQuotients(terms, one_tells=False).widths(0.9)
    assert (both[0] == both[1]).all()
    gaps = np.abs(rows[:, 1])
    assert np.mean(gaps <= both[0, 0]) >= 0.9
    assert np.mean(gaps <= ShareQuotients(terms, one_tells=True).widths(0.9)[1, 0]) < 0.5


@pytest.mark.statistical
def test_one_cell_tells_nothing_of_cells_with_a_little_more_noise() -> None:
    """Widths of counts are whole numbers and may be the same where the noise is not."""
    body = gd.query(DOMAIN, "share(a)").sensitivity(ROW)
    noise = Laplace.calibrate(body, gd.PureDP(1.1), weights=np.array([1.0, 1.0, 1.3]))
    assert np.unique(noise.half_widths(0.95)).size == 1
    widths = share_widths(noise, [(0, 3, 3)]).widths(0.99)
    noises = noise.sample_noise(DRAWS, research_rng(4))
    assert np.mean(np.abs(noises[:, 2]) <= widths[2, 0]) >= 0.99
