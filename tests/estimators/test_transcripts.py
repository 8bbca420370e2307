"""Transcripts of whole fits on worst-case neighbours: see tests/optimization/transcripts.py for what is shown, and how.

The releases of a fit are all that its results are made of, each has the noise that it claims, none moves further than
it is charged, and the pairs of tables reach what is charged, or the share of it that a test names.
"""

import numpy as np
import pytest

import gaugedp as gd

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from gaugedp.estimators import spectral
from gaugedp.estimators.descent_regressor import HuberRegressor, PoissonRegressor
from gaugedp.estimators.matrix_completion import MatrixCompletion
from gaugedp.estimators.moment_regressor import ElasticNet, Ridge
from gaugedp.estimators.pca import PCA, LowRankCovariance, TopEigenvector
from gaugedp.estimators.regression import LinearRegression
from gaugedp.estimators.trace_regression import TraceRegression
from gaugedp.guarantees.gaussian_curve import gaussian_mu
from tests.optimization.transcripts import check

pytestmark = pytest.mark.statistical
BOTH = pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
EPSILON, DELTA = 1.0, 1e-6


def claim(neighbours: str, pure: bool = False, gaussian_count: bool = False) -> dict[str, float]:
    """What the parts of a fit may take: where rows are added a tenth of ε is for their number, or a part of μ."""
    if neighbours == "replace" or gaussian_count:
        return {"epsilon": EPSILON} if pure else {"mu": gaussian_mu(EPSILON, DELTA)}
    return {"epsilon": EPSILON} if pure else {"mu": gaussian_mu(0.9 * EPSILON, DELTA), "epsilon": 0.1 * EPSILON}


def fits(model, *names: str):
    def run(table, rng):
        model.set_params(random_state=rng.seed).fit(*table)
        return [getattr(model, name) for name in names]

    return run


# -- principal components --------------------------------------------------------------------------------


def far(neighbours: str, d: int, n: int) -> tuple:
    """Rows e₂, so that their mean is as far from 0 as it can be, and e₁; −e₁ in its place, or no row.

    x and −x move the mean's sums by 2. Seen from the mean e₂ they are at right angles: the second moments move by √2.
    """
    rest, one = np.repeat(np.eye(d)[[1]], n, axis=0), np.eye(d)[[0]]
    return (np.vstack([rest, one]),), (np.vstack([rest, -one]) if neighbours == "replace" else rest,)


@pytest.mark.thorough
@BOTH
@pytest.mark.parametrize("solver", ["gaussian", "oja"])
def test_pca(solver: str, neighbours: str) -> None:
    """Mean, explained variances and components: all releases are moved as far as they are charged."""
    d, n, runs = (70, 20_000, 4) if solver == "gaussian" else (2, 2000, 70)
    model = PCA(2, EPSILON, DELTA, row_norm=1.0, solver=solver, neighbours=neighbours)
    run = fits(model, "components_", "explained_variance_", "mean_", "n_rows_")
    check(run, far(neighbours, d, n), claim(neighbours), runs)


@BOTH
@pytest.mark.parametrize("solver", ["gaussian", "oja"])
def test_low_rank_covariance(solver: str, neighbours: str) -> None:
    d, n, runs = (70, 20_000, 4) if solver == "gaussian" else (2, 2000, 70)
    model = LowRankCovariance(2, EPSILON, DELTA, row_norm=1.0, solver=solver, neighbours=neighbours)
    check(fits(model, "covariance_", "location_", "n_rows_"), far(neighbours, d, n), claim(neighbours), runs)


@BOTH
@pytest.mark.parametrize("solver", ["gaussian", "oja"])
def test_top_eigenvector(solver: str, neighbours: str) -> None:
    d, runs = (70, 4) if solver == "gaussian" else (2, 120)
    rows = np.repeat(np.eye(d)[[0]], 3000, axis=0)
    other = np.vstack([rows, np.eye(d)[[1]]]) if neighbours == "replace" else rows
    tables = (np.vstack([rows, np.eye(d)[[0]]]),), (other,)
    model = TopEigenvector(EPSILON, DELTA, row_norm=1.0, solver=solver, neighbours=neighbours)
    check(fits(model, "component_", "eigenvalue_"), tables, claim(neighbours), runs)


@BOTH
def test_pure_pca(neighbours: str) -> None:
    """The mean's noise has the shape of a ball, that of the variances is Laplace's; directions: mechanisms' tests.

    They have 95 % of what the mean leaves; the rest is the claim here. Rows that are replaced by their opposite move
    the variance along e₂ by little.
    """
    d, n, epsilon = 120, 600, 10.0
    share = 0.9 if neighbours == "add_remove" else 1.0
    rest = spectral._centre(gd.PureDP(share * epsilon), d, n, neighbours).remaining.epsilon_value
    model = PCA(1, epsilon, row_norm=1.0, neighbours=neighbours)
    run = fits(model, "components_", "explained_variance_", "mean_")
    check(run, far(neighbours, d, n), {"epsilon": epsilon - 0.95 * rest}, 85, 0.9)


# -- regression on matrices --------------------------------------------------------------------------------


def flat_tables(neighbours: str) -> tuple:
    """Rows e₁ … e₁₂ with y = 0, which hold X near 0, and a row e₁ with y = 1; e₂ in its place, or no row."""
    rows, target = np.tile(np.eye(12), (400, 1)), np.zeros(4800)
    one = np.vstack([rows, np.eye(12)[[0]]]), np.append(target, 1.0)
    return one, (np.vstack([rows, np.eye(12)[[1]]]), one[1]) if neighbours == "replace" else (rows, target)


@BOTH
@pytest.mark.parametrize("solver", ["descent", "frank_wolfe"])
def test_trace_regression(solver: str, neighbours: str) -> None:
    """The squared loss: two rows at right angles move a sum by √2 at X = 0; 2 is charged, for any loss.

    Slopes of 1 and −1 on one design are at no X together: (p − 0)·A and (p − 1)·A differ by A.
    """
    model = TraceRegression(EPSILON, DELTA, row_norm=1.0, target_bounds=(0, 1), solver=solver, neighbours=neighbours)
    least = 0.65 if neighbours == "replace" else 0.94
    check(fits(model, "coef_"), flat_tables(neighbours), claim(neighbours), 20, least)


@BOTH
def test_trace_regression_by_moments(neighbours: str) -> None:
    """Two rows at right angles, with y = 1 both, attain what is charged where targets are at least 0."""
    model = TraceRegression(EPSILON, DELTA, row_norm=1.0, target_bounds=(0, 1), solver="moments", neighbours=neighbours)
    check(fits(model, "coef_"), flat_tables(neighbours), claim(neighbours), 5, 0.99)


@BOTH
@pytest.mark.parametrize(("solver", "runs"), [("descent", 20), ("frank_wolfe", 90), ("moments", 5)])
def test_pure_trace_regression(solver: str, runs: int, neighbours: str) -> None:
    """Noise of balls; of moments that of H, for b has too few numbers here: see the mechanisms' tests."""
    model = TraceRegression(EPSILON, row_norm=1.0, target_bounds=(0, 1), solver=solver, neighbours=neighbours)
    least = 0.65 if neighbours == "replace" else 0.96
    check(fits(model, "coef_"), flat_tables(neighbours), claim(neighbours, pure=True), runs, least)


@BOTH
@pytest.mark.parametrize("noise", ["toeplitz", "oja"])
def test_one_pass(noise: str, neighbours: str) -> None:
    """As many slots as rows, shuffled: the row stands in a slot that chance chose. The worst: mechanisms' tests."""
    model = TraceRegression(
        EPSILON, DELTA, row_norm=1.0, target_bounds=(0, 1), solver="stochastic", noise=noise, neighbours=neighbours
    )
    tables = tuple((rows[4640:], target[4640:]) for rows, target in flat_tables(neighbours))
    check(fits(model, "coef_"), tables, claim(neighbours), 6, 0.05)


# -- regressions in a cube ---------------------------------------------------------------------------------


def cube_tables(neighbours: str, d: int) -> tuple:
    """Rows e_j with y in the middle, which hold w near 0, and a corner at one end; at the other end, or no row."""
    rows, target = np.tile(np.eye(d), (300, 1)), np.zeros(300 * d)
    corner = np.ones((1, d))
    one = np.vstack([rows, corner]), np.append(target, 1.0)
    return one, (one[0], np.append(target, -1.0)) if neighbours == "replace" else (rows, target)


LONG_HUBER = pytest.param(HuberRegressor, 0.9, marks=pytest.mark.thorough)  # three hundred steps a fit


@pytest.mark.thorough
@BOTH
@pytest.mark.parametrize(("kind", "least"), [(Ridge, 0.6), (ElasticNet, 0.6), LONG_HUBER])
def test_regressions_in_a_cube(kind, least: float, neighbours: str) -> None:
    """Moments: an end against the other moves Σ y·x alone. Slopes of 1 and −1 on one row move a sum by all."""
    model = kind(EPSILON, DELTA, bounds=(-1, 1), target_bounds=(-1, 1), neighbours=neighbours)
    claimed = claim(neighbours, gaussian_count=True)
    if kind is HuberRegressor:  # its mean takes 0.02 of what is left of ε
        left = EPSILON if neighbours == "replace" else 0.9 * EPSILON
        claimed = {"mu": gaussian_mu(0.98 * left, DELTA), "epsilon": EPSILON - 0.98 * left}
    check(fits(model, "coef_", "intercept_"), cube_tables(neighbours, 24), claimed, 45, least)


@BOTH
def test_counts(neighbours: str) -> None:
    """At one prediction two counts have slopes that differ by 1; 2 is charged, for two predictions."""
    model = PoissonRegressor(EPSILON, DELTA, bounds=(-1, 1), target_bounds=(0, 2), neighbours=neighbours)
    tables = tuple((rows, target + 1) for rows, target in cube_tables(neighbours, 24))
    check(fits(model, "coef_", "intercept_"), tables, claim(neighbours, gaussian_count=True), 12, 0.45)


# -- ratings -----------------------------------------------------------------------------------------------


def rating_tables(unit: str, neighbours: str) -> tuple:
    """User 0 has one rating or 50 at the upper end; of other items at the lower end instead, or none."""
    count = 1 if unit == "rating" else 50
    rest = [(user, item, 3 + (-1) ** item / 2) for user in range(1, 200) for item in range(user % 7, 120, 7)]
    mine = [(0, item, 5.0) for item in range(count)]
    others = [(0, 60 + item, 1.0) for item in range(count)] if neighbours == "replace" else []
    return tuple((np.array(rows)[:, :2].astype(int), np.array(rows)[:, 2]) for rows in (rest + mine, rest + others))


@BOTH
@pytest.mark.parametrize("unit", ["rating", "user"])
@pytest.mark.parametrize("rank", [0, None])
def test_matrix_completion(rank: int | None, unit: str, neighbours: str) -> None:
    """With rank=0 the pair attains all but users' spread, 3 % of μ²; with factors tried a part: mechanisms' tests."""
    model = MatrixCompletion(
        EPSILON, DELTA, unit=unit, rank=rank, rating_bounds=(1, 5), users=4000, items=120, neighbours=neighbours,
        solver="offsets" if rank == 0 else "factors",
    )  # fmt: skip
    run = fits(model, "mean_", "item_offsets_", "user_offsets_", "user_spread_", "item_factors_", "user_factors_")
    expected = {"mu": gaussian_mu(EPSILON, DELTA)}
    check(run, rating_tables(unit, neighbours), expected, 60 if rank == 0 else 30, 0.98 if rank == 0 else 0.6)


# -- linear regression -----------------------------------------------------------------------------------


@BOTH
def test_linear_regression(neighbours: str) -> None:
    """e₁ far from its prediction beside rows e₂, and e₃ or no row: moments, slopes, and squared residuals move."""
    d = 70
    rest, first, other = np.repeat(np.eye(d)[[1]], 2000, axis=0), np.eye(d)[[0]], np.eye(d)[[2]]
    target = np.append(np.zeros(2000), 1.0)
    tables = (
        (np.vstack([rest, first]), target),
        (np.vstack([rest, other]), -target) if neighbours == "replace" else (rest, target[:-1]),
    )
    model = LinearRegression(
        EPSILON, DELTA, row_norm=1.0, target_bounds=(-1, 1), fit_intercept=False, solver="preconditioned",
        neighbours=neighbours,
    )  # fmt: skip

    def run(table, rng):
        model.set_params(random_state=rng.seed).fit(*table)
        return model.coef_, *model.coef_interval()

    check(run, tables, claim(neighbours), 12, least=0.5)
