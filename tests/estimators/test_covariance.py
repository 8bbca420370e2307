"""A private covariance of low rank: what it finds, what it guarantees, scikit-learn's contract. Keys are fixed."""

import math

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from sklearn.base import clone
from sklearn.covariance import EmpiricalCovariance

from gaugedp.estimators.fit_release import FitRelease
from gaugedp.estimators.pca import PCA, LowRankCovariance
from gaugedp.optimization.eigenvectors.noisy_moments import NoisyMoments, without_noise
from gaugedp.optimization.symmetric import released_square
from tests.estimators.kit import check_habits
from tests.estimators.test_pca import EXPECTED, ROWS, SKIPPED, spiked

BOTH = pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
DELTAS = pytest.mark.parametrize("delta", [0.0, 1e-6])


def cut(matrix: np.ndarray, rank: int) -> np.ndarray:
    values, vectors = np.linalg.eigh(matrix)
    return (vectors[:, -rank:] * values[-rank:]) @ vectors[:, -rank:].T


def miss(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.linalg.norm(one - other))


# -- what it finds -----------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("rank", [1, 3, 5])
@pytest.mark.parametrize(("delta", "solver"), [(0.0, "auto"), (1e-6, "gaussian"), (1e-6, "oja"), (1e-6, "exponential")])
@pytest.mark.parametrize("given", [{"row_norm": 3.0}, {"bounds": (-4, 5)}])
def test_without_noise_it_is_the_empirical_one_cut_to_its_rank(given, delta, solver, rank, neighbours) -> None:
    plain = EmpiricalCovariance().fit(ROWS)
    model = LowRankCovariance(rank, 1e9, delta, solver=solver, neighbours=neighbours, random_state=1, **given).fit(ROWS)
    expected = cut(plain.covariance_, rank)
    assert miss(model.covariance_, expected) < 1e-3 * np.linalg.norm(expected)
    assert model.location_ == pytest.approx(plain.location_, abs=1e-3)


def test_a_public_centre_gives_second_moments() -> None:
    model = LowRankCovariance(2, 1e9, 1e-6, row_norm=3.0, centre="public", random_state=1).fit(ROWS)
    expected = cut(ROWS.T @ ROWS / len(ROWS), 2)
    assert miss(model.covariance_, expected) < 1e-3 * np.linalg.norm(expected)
    assert (model.location_ == 0).all()


@BOTH
@pytest.mark.parametrize(("delta", "solver"), [(0.0, "auto"), (1e-6, "gaussian"), (1e-6, "oja")])
def test_any_noise_gives_a_positive_matrix_of_its_rank(delta: float, solver: str, neighbours: str) -> None:
    for epsilon in (0.01, 1.0):
        model = LowRankCovariance(2, epsilon, delta, row_norm=3.0, solver=solver, neighbours=neighbours, random_state=1)
        actual = model.fit(ROWS).covariance_
        values = np.linalg.eigvalsh(actual)
        assert (actual == actual.T).all()
        assert values[0] > -1e-12 * max(values[-1], 1e-300)
        assert np.abs(values[:-2]).max() <= 1e-12 * max(values[-1], 1e-300)
        assert actual == pytest.approx((model.components_.T * model.explained_variance_) @ model.components_)


def test_less_variance_has_less_error_than_eigenvalues_that_are_right() -> None:
    """60 columns, 1,500 rows at ε = 1: with the same noise, against both the noisy and the corrected eigenvalues."""
    rows, errors = spiked(1500, 60, 3), []
    truth = rows.T @ rows / 1500
    for key in range(20):
        model = LowRankCovariance(6, 1.0, 1e-6, row_norm=1.0, centre="public", random_state=key).fit(rows)
        right = PCA(6, 1.0, 1e-6, row_norm=1.0, centre="public", random_state=key).fit(rows)
        assert (right.components_ == model.components_).all()
        values = right.explained_variance_ * 1499 / 1500
        eigen = (right.components_.T * values) @ right.components_
        errors.append([miss(model.covariance_, truth), miss(eigen, truth)])
    mine, theirs = np.mean(errors, axis=0)
    assert mine < 0.95 * theirs


@pytest.mark.slow
def test_what_vectors_hold_is_what_is_taken_off_twice() -> None:
    """A spike of 1 and 1.5 noise edges: vᵀAv of the noisy eigenvector to 4 %, 5 % or more below the eigenvalue."""
    d, mu = 150, 1.0
    noise = NoisyMoments.calibrate((d, 1), gd.GaussianDP(mu))
    for times in (1.0, 1.5):
        truth = np.diag(np.r_[times * noise.std * np.sqrt(2 * d), np.zeros(d - 1)])
        rng, actual, exact = gd.research_rng(4), [], []
        for _ in range(30):
            values, vectors = np.linalg.eigh(released_square(truth, noise.noise, rng))
            actual.append(without_noise(values[::-1], noise.std**2 / 2, 2)[0])
            exact.append(truth[0, 0] * vectors[0, -1] ** 2)
        assert np.mean(actual) == pytest.approx(np.mean(exact), rel=0.04)
        assert np.mean(exact) < 0.95 * truth[0, 0]


def test_where_nothing_stands_out_the_matrix_is_small() -> None:
    """200 rows of 40 columns at ε = 0.1: the noise has an edge of ten times the rows' eigenvalues and more."""
    rows = spiked(200, 40, 1)
    model = LowRankCovariance(1, 0.1, 1e-6, row_norm=1.0, centre="public", solver="gaussian", random_state=1)
    model.set_params(neighbours="replace").fit(rows)
    noise = NoisyMoments.calibrate((40, 1), gd.GaussianDP(model.guarantee_.mu))
    assert np.linalg.norm(model.covariance_, 2) < noise.std * np.sqrt(2 * 40) / 200 / 2


# -- what it guarantees --------------------------------------------------------------------------------


@BOTH
@DELTAS
def test_the_guarantee_is_the_one_asked_for_and_the_ledger_pays_it_first(delta: float, neighbours: str) -> None:
    unit = gd.PrivacyUnit(neighbours=neighbours)
    ledger = gd.Ledger.in_memory(gd.ApproxDP(1.5, 1e-5) if delta else gd.PureDP(1.5), unit=unit)
    model = LowRankCovariance(2, 1.0, delta, row_norm=3.0, neighbours=neighbours, ledger=ledger, random_state=1)
    model.fit(ROWS)
    assert 0.96 < model.guarantee_.epsilon(delta) <= 1.0
    assert 0.9 < ledger.spent.epsilon(delta) <= 1.0
    with pytest.raises(gd.errors.LedgerRefused):
        model.fit(ROWS)


@DELTAS
def test_the_order_of_rows_changes_nothing_and_bad_rows_are_taken(delta: float) -> None:
    order = np.random.default_rng(2).permutation(len(ROWS))
    model = LowRankCovariance(2, 1.0, delta, row_norm=3.0, random_state=1)
    assert (model.fit(ROWS).covariance_ == clone(model).fit(ROWS[order]).covariance_).all()
    rows = np.array([[1e300, -1e300, 5], [np.nan, 1, 2], [np.inf, 0, 0], [0.1, 0.2, 0.3]])
    assert np.isfinite(clone(model).fit(rows).covariance_).all()


def test_wrong_requests_are_refused_before_anything_is_paid() -> None:
    ledger = gd.Ledger.in_memory(gd.PureDP(9), unit=gd.PrivacyUnit(neighbours="replace"))
    for given in (
        {}, {"row_norm": 1.0, "bounds": (0, 1)}, {"row_norm": -1.0}, {"bounds": (1, 0)}, {"bounds": (0, math.nan)},
        {"row_norm": 1.0, "epsilon": 0}, {"row_norm": 1.0, "delta": 1.0}, {"row_norm": 1.0, "solver": "oja"},
        {"row_norm": 1.0, "rank": 6}, {"row_norm": 1.0, "rank": 0}, {"row_norm": 1.0, "rank": 1.5},
        {"row_norm": 1.0, "centre": "median"}, {"row_norm": 1.0, "neighbours": "both"},
    ):  # fmt: skip
        with pytest.raises(InvalidRequest):
            LowRankCovariance(ledger=ledger, **given).fit(ROWS)
    assert ledger.spent.epsilon(0) == 0
    with pytest.raises(InvalidRequest, match="`rank` is 6, but X has 5 columns"):
        LowRankCovariance(6, row_norm=1.0).fit(ROWS)


@DELTAS
def test_what_is_published_comes_back_from_text(delta: float) -> None:
    model = LowRankCovariance(2, 1.0, delta, row_norm=3.0, random_state=3).fit(ROWS)
    again = FitRelease.from_json(model.release_.to_json())
    assert again.guarantee == model.guarantee_
    held = again.values["explained_variance"]
    assert (again.values["components"].T * held) @ again.values["components"] == pytest.approx(model.covariance_)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_scikit_learns_own_checks(delta: float) -> None:
    model = LowRankCovariance(1, 20.0, delta, row_norm=10.0, random_state=0)
    check_habits(model, EXPECTED, SKIPPED)
