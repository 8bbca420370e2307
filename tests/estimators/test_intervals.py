"""Intervals of coefficients: what they hold, how often, and how they are shown. Keys are fixed."""

import numpy as np
import pytest
from scipy.special import gammaincinv, ndtr, ndtri

from gaugedp.errors import InvalidRequest

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from sklearn.datasets import load_diabetes

from gaugedp.estimators.regression import LinearRegression
from gaugedp.optimization.best_weights import NoisyEvidence, NormalMixture, _shares
from gaugedp.optimization.least_squares import before_clipping, explained

BETA = np.array([-0.6, 0.0, 0.6])


def drawn(n: int, key: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(key)
    rows = rng.uniform(-1, 1, (n, 3))
    return rows, rows @ BETA + 0.5 + rng.uniform(-0.5, 0.5, n)


def fitted(n: int, key: int, epsilon: float = 1.0, delta: float = 1e-6, **more: object) -> LinearRegression:
    model = LinearRegression(epsilon, delta, bounds=(-1, 1), target_bounds=(-2, 3), random_state=key, **more)
    return model.fit(*drawn(n, key))


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("n", "epsilon", "delta", "neighbours"),
    [
        (1000, 1.0, 1e-6, "replace"),
        (2000, 1.0, 0.0, "replace"),
        (5000, 2.0, 1e-6, "add_remove"),
        (800, 100.0, 1e-6, "replace"),
    ],
)
def test_intervals_hold_the_coefficients(n: int, epsilon: float, delta: float, neighbours: str) -> None:
    """600 intervals at 95 %, three of a fit; a false alarm below 1e-4 for independent ones. Half as wide do not."""
    held, halved = [], []
    for key in range(200):
        low, high = fitted(n, key, epsilon, delta, neighbours=neighbours).coef_interval()
        held += list((low <= BETA) & (high >= BETA))
        halved += list(np.abs(BETA - (low + high) / 2) <= (high - low) / 4)
    assert np.mean(held) > 0.91
    assert np.mean(halved) < 0.91


def test_without_noise_they_are_those_of_least_squares() -> None:
    rows, target = drawn(2000, 1)
    model = fitted(2000, 1, 1e4)
    with_constant = np.column_stack([rows, np.ones(2000)])
    best, squares, *_ = np.linalg.lstsq(with_constant, target, rcond=None)
    errors = np.sqrt(np.diag(np.linalg.inv(with_constant.T @ with_constant)) * squares / 1996)
    low, high = model.coef_interval(0.9)
    assert (low + high) / 2 == pytest.approx(best[:3], abs=0.05 * errors.max())
    assert (high - low) / 2 == pytest.approx(-ndtri(0.04) * errors[:3], rel=0.02)
    assert model.release_.values["standard_error"] == pytest.approx(errors, rel=0.02)


def test_a_summary_names_coefficients_and_shows_their_intervals() -> None:
    summary = fitted(2000, 2).summary(0.9)
    text = repr(summary)
    assert text.splitlines()[1].split() == ["coefficient", "estimate", "std.", "error", "lower", "upper"]
    assert [line.split()[0] for line in text.splitlines()[2:6]] == ["x0", "x1", "x2", "intercept"]
    assert "0.9" in summary.note
    assert all(name in summary._repr_html_() for name in ("x0", "intercept", "std. error"))


def test_where_no_moments_are_released_it_says_so() -> None:
    model = fitted(2000, 3, solver="gradient")
    for ask in (model.coef_interval, model.summary):
        with pytest.raises(InvalidRequest, match="preconditioned"):
            ask()
    with pytest.raises(InvalidRequest, match="level"):
        fitted(2000, 3).coef_interval(95)


@pytest.mark.slow
@pytest.mark.parametrize(("deviation", "least"), [(2.0, 1e-300), (0.05, 600.0)], ids=["told", "held back"])
def test_the_law_is_that_of_simulated_releases(deviation: float, least: float) -> None:
    """400 draws of moments and of eight steps by them; the deviations to 11 %, three standard errors.

    ExactAnswers back, the least curvature is a sixth of what it is raised to, and half of the way from 0 is left.
    """
    rng, d, n = np.random.default_rng(5), 3, 400
    root = np.array([[3.0, 1.0, 0.0], [0.0, 2.0, 0.5], [0.0, 0.0, 4.0]])
    second, beta, scores = 40 * root.T @ root, np.array([1.0, -1.0, 0.5]), []
    for _ in range(n):
        noisy = second + deviation * symmetric(rng, d)
        values, vectors = np.linalg.eigh(noisy)
        pulled = np.sqrt(40 * 0.3) * root.T @ rng.standard_normal(d)
        points, gradients = [np.zeros(d)], []
        for _ in range(8):
            gradients.append(second @ (points[-1] - beta) - pulled + 5 * rng.standard_normal(d))
            points.append(points[-1] - vectors @ (vectors.T @ gradients[-1] / np.maximum(values, least)))
        law = NoisyEvidence(noisy, np.array(points[:-1]), np.array(gradients), deviation, 5.0, 1e9).best(0.3)
        scores.append((law.median - beta) / law.deviations)
    assert np.std(scores, axis=0) == pytest.approx(np.ones(d), abs=0.11)
    assert np.abs(np.mean(scores, axis=0)).max() < 0.15


def symmetric(rng: np.random.Generator, d: int) -> np.ndarray:
    """Draw noise of deviation 1 in the Frobenius norm."""
    upper = rng.standard_normal((d, d))
    return (np.tril(upper, -1) + np.tril(upper, -1).T) / np.sqrt(2) + np.diag(np.diag(upper))


@pytest.mark.slow
@pytest.mark.parametrize("curvature", [1.0, 30.0], ids=["hidden", "half seen"])
def test_where_noise_hides_curvature_intervals_are_wide_and_hold(curvature: float) -> None:
    """Four directions beside one that is seen, moments with noise of deviation 10: a false alarm below 1e-5."""
    rng, d, held, wide = np.random.default_rng(6), 5, [], []
    second, beta = np.diag([400.0] + [curvature] * 4), np.array([1.0, -0.5, 0.5, 1.0, 0.0])
    for _ in range(200):
        noisy, points = second + 10 * symmetric(rng, d), rng.normal(0, 0.3, (5, d))
        gradients = (points - beta) @ second + 10 * rng.standard_normal((5, d))
        low, high = NoisyEvidence(noisy, points, gradients, 10.0, 10.0, 1e9).best(0.1).interval(0.95)
        held.append((low <= beta) & (beta <= high))
        wide.append(high - low)
    assert np.mean(held, axis=0).min() > 0.87
    assert np.median(wide, axis=0)[1:].min() > 4 * 1.96 * 10 / np.sqrt(5) / max(curvature, 30)


def test_no_curvature_is_below_zero_and_clear_ones_stay() -> None:
    """Eigenvalues of noise alone, ±√(2d) deviations at the edge, are told from curvature."""
    seen = NoisyEvidence(np.eye(3), np.zeros((1, 3)), np.zeros((1, 3)), 1.0, 1.0, 1e-6)
    mean, _ = seen._curvature(np.array([-1e9, 0.0, 50.0]), seen.points, seen.gradients)
    actual = seen._quantiles(mean, np.ones(3), np.zeros(3), np.zeros(3), 0.0)
    assert actual.min() > 0
    hidden = np.sqrt(2 * gammaincinv(0.25, 0.5))  # of density exp(−h²/2)/√h
    assert np.median(actual, axis=0)[1:] == pytest.approx([hidden, 50], abs=0.1)
    d = 40
    noise = np.linalg.eigvalsh(symmetric(np.random.default_rng(7), d))
    mean, _ = seen._curvature(noise, np.zeros((1, d)), np.zeros((1, d)))
    assert noise[-1] > 7
    assert mean[-1] < noise[-1] / 2


def test_gradients_that_wander_tell_curvature() -> None:
    """Points ten apart, gradients with noise of deviation 1, moments with noise of 10."""
    points, nothing = np.array([[-5.0], [5.0]]), np.zeros((2, 1))
    seen = NoisyEvidence(np.zeros((1, 1)), points, 3 * points, 10.0, 1.0, 1e9)
    (told, closely), (untold, roughly) = (seen._curvature(np.zeros(1), at, 3 * at) for at in (points, nothing))
    assert abs(told - 3) < 0.7 * abs(untold - 3)
    assert closely < 0.7 * roughly


def test_a_mixture_has_the_quantiles_of_its_parts() -> None:
    law = NormalMixture(np.array([[0.0], [10.0]]), np.ones((2, 1)), np.zeros((2, 1, 1)), np.eye(1), np.zeros(1))
    low, high = law.interval(0.9)  # 4 % on each side, which is 8 % of one part
    assert (low, high) == (pytest.approx([ndtri(0.08)]), pytest.approx([10 + ndtri(0.92)]))
    assert law.median == pytest.approx([5])


def test_a_law_is_mapped() -> None:
    law = NormalMixture(
        np.array([[1.0, 2.0]]), np.array([[3.0, 9.0]]), np.array([[[1.0, 0.0]]]), np.eye(2), np.zeros(2)
    )
    mapped = law.mapped(np.array([[1.0, 1.0]]), np.array([0.5]))
    assert mapped.median == pytest.approx([3.5])
    assert mapped.deviations == pytest.approx([np.sqrt(13)], rel=1e-5)


def test_the_lattice_fills_the_cube_evenly() -> None:
    """Of 60 points in each half, quarter of a square and eighth of a cube there are as many, to 3 of them."""
    points = _shares(3)
    assert np.sort(points, axis=0) == pytest.approx(np.repeat((np.arange(60)[:, None] + 0.5) / 60, 3, axis=1))
    for columns in ([0, 1], [0, 2], [1, 2], [0, 1, 2]):
        cells = (points[:, columns] > 0.5) @ 2 ** np.arange(len(columns))
        assert np.abs(np.bincount(cells, minlength=2 ** len(columns)) - 60 / 2 ** len(columns)).max() <= 3


def test_a_hidden_slope_explains_no_more_than_the_whole() -> None:
    """Gradients of noise alone, curvature 100 ± 1: the law is normal about 0.

    Its precision adds √d·curvature/most, and a quarter of the mean curvature over most.
    """
    blind = np.zeros((1, 4))
    for most in (100.0, 400.0):
        law = NoisyEvidence(100 * np.eye(4), blind, blind, 1.0, 1e6, most).best(0.01)
        assert law.median == pytest.approx(np.zeros(4), abs=0.01)
        assert law.deviations == pytest.approx(np.full(4, np.sqrt(most / (200 + 100 / 4))), rel=0.02)
    free = NoisyEvidence(100 * np.eye(4), blind, blind, 1.0, 1e6, 1e18).best(0.01)
    assert free.deviations == pytest.approx(np.full(4, 1e4), rel=0.02)


@pytest.mark.statistical
def test_intervals_hold_where_columns_are_nearly_collinear() -> None:
    """200 intervals of the coefficient that noise hides most, of 95 %: a false alarm below 1e-3.

    The least eigenvalue of Σ xxᵀ is 0.8, and its noise has a deviation of 19.
    """
    rows, target = load_diabetes(return_X_y=True, scaled=False)
    low, high = rows.min(axis=0), rows.max(axis=0)
    truth = np.linalg.lstsq(np.column_stack([rows, np.ones(len(rows))]), target, rcond=None)[0][4]
    held = []
    for key in range(200):
        drawn = np.random.default_rng(key).integers(0, len(rows), 10_000)
        model = LinearRegression(
            1.0, 1e-6, bounds=(low, high), target_bounds=(0, 400), solver="preconditioned", neighbours="replace",
            random_state=key,
        ).fit(rows[drawn], target[drawn])  # fmt: skip
        ends = model.coef_interval()
        held.append(ends[0][4] <= truth <= ends[1][4])
    assert sum(held) >= 179


def test_what_weights_explain_is_told_by_moments_and_gradients() -> None:
    """Without noise it is Σt² − Σ(⟨w, x⟩ − t)², and 0 where the weights are worse than none."""
    rng = np.random.default_rng(5)
    rows, target, points = rng.normal(size=(50, 3)), rng.normal(size=50), rng.normal(size=(4, 3))
    second, gradients = rows.T @ rows, points @ (rows.T @ rows) - target @ rows
    for weights in (np.linalg.solve(second, target @ rows), 0.1 * (target @ rows) / 50, np.full(3, 9.0)):
        saved = float(target @ target - ((rows @ weights - target) ** 2).sum())
        assert explained(second, points, gradients, weights) == pytest.approx(max(saved, 0.0))


def test_the_mean_square_of_clipped_residuals_tells_their_variance() -> None:
    for deviation in np.geomspace(0.01, 9, 60):
        inside = ndtr(1 / deviation) - ndtr(-1 / deviation)
        density = np.exp(-1 / (2 * deviation**2)) / np.sqrt(2 * np.pi)
        clipped = deviation**2 * (inside - 2 / deviation * density) + 1 - inside
        assert before_clipping(clipped) >= deviation**2


def test_a_normal_law_as_wide_as_the_truth_can_be_away_costs_no_coverage() -> None:
    """An estimate with deviation `ratio` of a truth at 1, joined with the law N(0, 1), at levels from 95 %."""
    ratio = np.geomspace(1e-3, 1e3, 200)
    for z in (1.96, 2.0537, 3.0):
        reach = z * np.sqrt(1 + ratio**2)
        assert (ndtr(reach + ratio) - ndtr(ratio - reach)).min() >= 2 * ndtr(z) - 1 - 1e-6
