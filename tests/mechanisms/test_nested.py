"""Noise for levels of a tree: privacy on every row, what is said of the matrix, shares, errors and intervals."""

from fractions import Fraction

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.guarantees import Guarantee
from gaugedp.mechanisms.matrix import Matrix
from gaugedp.mechanisms.strategies import best_strategy
from gaugedp.mechanisms.strategies.dense import optimal
from gaugedp.mechanisms.strategies.nested import NestedStrategy, nested
from gaugedp.releases.processing import process
from tests.mechanisms.matrix_zoo import NORMAL, PERSON, PURE, REPLACED, ROW, least_norm, length, matrix_of
from tests.release.test_nested import DOMAIN, QUESTIONS, areas

UNITS = {"row": ROW, "replaced": REPLACED, "person": PERSON}
REGULAR = gd.query(areas([[4, 4], [4, 4], [4, 4]]), "REGION; DISTRICT; TRACT")
N_DRAWS = 1000


def nesting_of(query):
    return query.operator.nesting


def strategy_of(text: str, unit: gd.PrivacyUnit, p: int, weights: np.ndarray | None = None) -> NestedStrategy:
    body = gd.query(DOMAIN, text).sensitivity(unit)
    return nested(body, body.generators.nesting, p, weights)


@pytest.mark.many
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("text", QUESTIONS)
def test_every_row_is_within_the_radius_and_one_attains_it(text: str, unit: str, p: int) -> None:
    """Rows removed, or replaced by all others: the least length of what moves the answers so, by an oracle.

    Laplace shares may leave a level nearly without any; the longest move is then told to 1 in 1,000.
    """
    strategy = strategy_of(text, UNITS[unit], p)
    body = gd.query(DOMAIN, text).sensitivity(UNITS[unit])
    moves = body.symmetric_columns().T * body.factor
    moves = np.unique(moves, axis=0)
    matrix = matrix_of(strategy)
    all_of_them = unit != "replaced" and p == 2
    needed = max(least_norm(matrix, move, p) for move in moves[:: 1 if all_of_them else 1 + len(moves) // 30])
    assert needed <= strategy.radius * (1 + 1e-7)
    if all_of_them:
        assert needed >= 0.999 * strategy.radius


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("text", QUESTIONS)
def test_what_is_said_of_the_matrix_is_true(text: str, p: int) -> None:
    weights = np.random.default_rng(1).uniform(0.2, 5, len(gd.query(DOMAIN, text).steps))
    for chosen in (None, weights):
        strategy = strategy_of(text, ROW, p, chosen)
        matrix = matrix_of(strategy)
        assert strategy.squares == pytest.approx((matrix**2).sum(axis=1), rel=1e-9)
        largest = np.abs(matrix).max(axis=1)
        assert (strategy.largest >= largest * (1 - 1e-9)).all()
        assert (strategy.largest <= 1.25 * largest).all()


@pytest.mark.parametrize("text", QUESTIONS)
def test_normal_noise_has_the_shares_of_least_error(text: str) -> None:
    """No other shares, of 200 near and far, err less; nor any Gaussian noise at all by 0.5 %, by the dense optimum."""
    body, rng = gd.query(DOMAIN, text).sensitivity(ROW), np.random.default_rng(2)
    strategy = strategy_of(text, ROW, 2)
    for spread in np.repeat([0.01, 0.3], 100):
        shares = strategy.shares * np.exp(spread * rng.normal(size=len(strategy.shares)))
        other = NestedStrategy(strategy.nesting, shares, float(np.linalg.norm(shares)))
        assert length(strategy) <= length(other) * (1 + 1e-7)
    assert length(strategy) <= 1.005 * optimal(body, None).least


def test_in_a_regular_tree_it_is_the_best_of_all_normal_noise() -> None:
    body = REGULAR.sensitivity(ROW)
    assert length(nested(body, body.generators.nesting, 2, None)) <= optimal(body, None).least * (1 + 1e-3)


@pytest.mark.parametrize("p", [1, 2])
def test_what_is_wanted_more_gets_more(p: int) -> None:
    weights = np.repeat([0.05, 1, 1], [3, 6, 24])
    body = REGULAR.sensitivity(ROW)
    alike, expected = (nested(body, body.generators.nesting, p, scales) for scales in (None, weights))
    errors = [strategy.radius * np.sqrt(strategy.squares) for strategy in (alike, expected)]
    assert errors[1][0] < 0.8 * errors[0][0]
    assert errors[1][-1] > errors[0][-1]
    assert ((errors[1] / weights) ** 2).sum() < ((errors[0] / weights) ** 2).sum()


@pytest.mark.parametrize("guarantee", [NORMAL, PURE])
def test_it_errs_less_than_independent_levels_after_least_squares(guarantee: Guarantee) -> None:
    body = REGULAR.sensitivity(ROW)
    kind = gd.Laplace if guarantee == PURE else gd.Gaussian
    alone = kind.calibrate(body, guarantee).draw(N_DRAWS, gd.research_rng(1)).astype(float)
    deviations = np.full(len(REGULAR.steps), 1.0)
    after = [process(("consistent",), draw, REGULAR.are_counts, REGULAR, deviations) for draw in alone]
    ours = Matrix.calibrate(body, guarantee).draw(N_DRAWS, gd.research_rng(2))
    assert (np.square(ours).sum(axis=1).mean()) < 0.9 * np.square(after).sum(axis=1).mean()


@pytest.mark.slow
def test_a_large_tree_gets_it() -> None:
    """400,000 finest cells: there is nothing to be written out."""
    query = gd.query(areas([[100] * 100] * 20), "SEX*REGION; SEX*DISTRICT; SEX*TRACT")
    for p in (1, 2):
        assert isinstance(best_strategy(query.sensitivity(ROW), p), NestedStrategy)


@pytest.mark.statistical
@pytest.mark.parametrize(("p", "sizes"), [(2, [3, 4, 5]), (1, [3, 4, 5]), (1, [10, 10, 100])])
def test_intervals_hold_as_often_as_they_say(p: int, sizes: list[int]) -> None:
    """95 to 98 % at every level in 1,000 repetitions, four standard errors allowed: one false alarm in 3,000.

    The third tree is too large for trials to tell the widths of Laplace noise: they follow from its moments.
    """
    query = gd.query(areas([[sizes[2]] * sizes[1]] * sizes[0]), "REGION; DISTRICT; TRACT")
    body, weights = (
        query.sensitivity(ROW),
        np.repeat([0.1, 0.3, 1], [place.n_areas for place in nesting_of(query).places]),
    )
    strategy = nested(body, nesting_of(query), p, weights)
    mechanism = Matrix(body, gd.PureDP(1) if p == 1 else gd.GaussianDP(1), strategy, Fraction(1), 30.0)
    noise, widths = np.abs(mechanism.draw(N_DRAWS, gd.research_rng(3))), mechanism.half_widths(0.95)
    for held in nesting_of(query).split(noise <= widths):
        often = held.mean(axis=(1, 2))
        slack = 4 * float(often.std()) / N_DRAWS**0.5
        assert 0.95 - slack <= often.mean() <= 0.98 + slack
