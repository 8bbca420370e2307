"""The factorisation over time: its radius by brute force, its errors against other factorisations."""

from itertools import combinations, product

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest
from gaugedp.mechanisms import Matrix
from gaugedp.mechanisms.factorisation import factorise
from gaugedp.releases.streams.time_factor import TimeFactor, time_factor


def columns(factor: TimeFactor) -> np.ndarray:
    """C with P = B·C."""
    return np.linalg.solve(factor.matrix, np.tril(np.ones((factor.periods, factor.periods))))


def rms(deviations: np.ndarray) -> float:
    return float(np.sqrt((deviations**2).mean()))


@pytest.mark.parametrize("per_person", [1, 2, 3, 6])
def test_the_radius_covers_every_set_of_periods(per_person: int) -> None:
    factor = time_factor(6, per_person)
    moved = columns(factor)
    longest = max(
        float(np.linalg.norm(moved[:, list(periods)] @ signs))
        for periods in combinations(range(6), per_person)
        for signs in product((-1.0, 1.0), repeat=per_person)
    )
    assert longest <= factor.radius
    assert factor.radius <= longest * (1.001 if per_person in {1, 6} else 1.2)


@pytest.mark.parametrize("per_person", [1, 2, 5])
def test_the_radius_covers_vectors_that_turn(per_person: int) -> None:
    factor, draws = time_factor(5, per_person), np.random.default_rng(1)
    moved = columns(factor)
    for _ in range(2000):
        vectors = draws.normal(size=(5, per_person, 3))  # also for each row of C others: its L may be another one
        vectors /= np.linalg.norm(vectors, axis=2, keepdims=True)
        periods = draws.choice(5, per_person, replace=False)
        for of_rows in (vectors, vectors[:1]):
            assert (
                np.linalg.norm(np.einsum("jt,jtd->jd", moved[:, periods], of_rows * np.ones_like(vectors)))
                <= factor.radius
            )


def test_a_period_needs_the_noise_of_earlier_periods_alone() -> None:
    for per_person in (1, 4):
        matrix = time_factor(12, per_person).matrix
        assert not np.triu(matrix, 1).any()
        assert (np.diag(matrix) > 0).all()


def test_the_best_factor_is_as_good_as_the_certified_optimum() -> None:
    """The optimum for the running totals and the periods, as a question of 2·T rows to the matrix mechanism."""
    question = np.vstack([np.tril(np.ones((12, 12))), np.eye(12)])
    best = factorise(gd.bodies.Polytope.symmetric_hull(question)).lower
    assert best**2 <= time_factor(12).cost <= best**2 * 1.0001


def test_sixty_months_against_separate_releases() -> None:
    """The figures of docs/benchmarks/streams.md that the issue asks for, per unit of sensitivity over μ."""
    factor = time_factor(60)
    body = gd.query(gd.Domain.of(month=gd.integers(1, 60)), "prefix(month)").sensitivity(gd.PrivacyUnit())
    best = Matrix.calibrate(body, gd.GaussianDP(1.0)).floor / np.sqrt(60)
    running, month = rms(factor.running_deviations), rms(factor.period_deviations)
    charged_each = np.sqrt(60) * np.sqrt(np.arange(1, 61))
    assert running <= 1.1 * best
    assert 3 * running <= rms(charged_each)
    assert 3 * month <= np.sqrt(60)
    assert 2.5 * running <= rms(np.sqrt(np.arange(1, 61)))


def test_many_periods_a_person_cost_no_more_than_separate_releases() -> None:
    factor = time_factor(20, 20)
    assert factor.cost <= 20 * (np.arange(1, 21).sum() + 20) * 1.001


@pytest.mark.parametrize(("periods", "per_person"), [(0, 1), (501, 1), (4, 5), (4, 0), (2.5, 1)])
def test_numbers_that_are_refused(periods: int, per_person: int) -> None:
    with pytest.raises(InvalidRequest, match=r"periods|person"):
        time_factor(periods, per_person)


def test_overlaps_are_sizes() -> None:
    """Columns of C that point apart: with P = B·C and C = [[1, 0], [−3, 1]], a person in both periods moves by 5."""
    matrix = np.tril(np.ones((2, 2))) @ np.linalg.inv(np.array([[1.0, 0.0], [-3.0, 1.0]]))
    assert TimeFactor(matrix, 2).radius == pytest.approx(np.sqrt(1 + 16), rel=1e-5)
