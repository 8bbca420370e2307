"""Widened clipping of residuals in private least squares. Keys are fixed."""

import math
from dataclasses import replace

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.optimization.least_squares import (
    BITS,
    Clipped,
    Gradient,
    LeastSquares,
    Of,
    Squares,
    deviation_of,
    level_sums,
    second_moments,
)

N_ROWS, D = 20_000, 2
UNIT = 4.0**BITS
METHOD = LeastSquares.calibrate((N_ROWS, D), gd.ApproxDP(3.0, 1e-6), None, "replace", "preconditioned")


def binary(share: float, key: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows in the unit ball with a constant, a target of −1 and 1, and the slopes of the population."""
    rng = np.random.default_rng((49, key))
    rows = np.column_stack([rng.uniform(-1, 1, (N_ROWS, 3)) / 2, np.full(N_ROWS, 0.5)])
    truth = share * np.array([2.0, -1.0, 0.5, 0.0])
    mean = rows @ truth / 2 + share
    return rows, np.where(rng.random(N_ROWS) < mean, 1.0, -1.0), truth


def in_steps(rows: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Multiples of 2^-BITS."""
    return np.rint(rows * 2.0**BITS), np.rint(target * 2.0**BITS)


# -- what is estimated ---------------------------------------------------------------------------------


@pytest.mark.statistical
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_a_binary_target_has_the_slopes_of_least_squares_and_intervals_that_hold(share: float) -> None:
    """Fixed keys; of 24 slopes' 90 % intervals at most five may miss, with a probability above 0.97."""
    method = LeastSquares.calibrate((N_ROWS, 4), gd.ApproxDP(3.0, 1e-6), None, "replace")
    ratios, held = [], []
    for key in range(8):
        rows, target, truth = binary(share, key)
        data = in_steps(rows, target)
        weights, mixture = method.solve_sums(lambda of, data=data: of(*data), gd.research_rng(key))
        best = np.linalg.lstsq(rows, target, rcond=None)[0]
        ratios.append(weights[0] / best[0])
        low, high = mixture.interval(0.9)
        held.extend(((low <= truth) & (truth <= high))[:3])
    assert np.mean(ratios) == pytest.approx(1, abs=0.05)
    assert sum(held) >= 19


@pytest.mark.statistical
def test_intervals_hold_where_a_count_cannot_show_that_residuals_are_clipped() -> None:
    """5 % of ones in 1,000 rows: of 60 intervals of a mean at 90 %, 12 may miss, with a probability above 0.99."""
    method, held = LeastSquares.calibrate((1000, 1), gd.ApproxDP(1.0, 1e-6), None, "add_remove", "preconditioned"), 0
    for key in range(60):
        target = np.where(np.random.default_rng((50, key)).random(1000) < 0.05, 1.0, -1.0)
        data = in_steps(np.ones((1000, 1)), target)
        (low,), (high,) = method.solve_sums(lambda of, data=data: of(*data), gd.research_rng(key))[1].interval(0.9)
        held += low <= -0.9 <= high
    assert held >= 48


@pytest.mark.parametrize(("share", "is_wide"), [(0.0, False), (0.5, True)])
def test_residuals_are_widened_where_they_are_clipped_and_only_there(share: float, is_wide: bool) -> None:
    """A normal target of deviation 0.25 against a binary one: the widths that gradients were requested with."""
    rows, target, _ = binary(share or 0.5, 1)
    if share == 0:
        target = np.clip(rows[:, 0] / 2 + 0.25 * np.random.default_rng(2).standard_normal(N_ROWS), -1, 1)
    data, widths = in_steps(rows, target), []

    def sums(of: Of) -> np.ndarray:
        if type(of) is Gradient:
            widths.append(of.clip)
        return of(*data)

    method = LeastSquares.calibrate((N_ROWS, 4), gd.ApproxDP(3.0, 1e-6), None, "replace")
    method.solve_sums(sums, gd.research_rng(3))
    assert widths == [1.0] * 2 + [2.0 if is_wide else 1.0] * 6


# -- privacy -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_the_count_is_charged_whatever_it_says(neighbours: str) -> None:
    """Known before rows are: pure guarantees add up to what is requested, a tenth of it for the count."""
    method = LeastSquares.calibrate((5000, 3), gd.PureDP(1.0), None, neighbours, "preconditioned")
    whole, without = (float(one.guarantee.epsilon(0, "basic")) for one in (method, replace(method, clipped=None)))
    assert 0.999 < whole <= 1
    assert whole - without == pytest.approx(0.1)


def test_the_squares_of_mu_add_up() -> None:
    """With the exact μ of (3, 1e-6)."""
    parts = METHOD.moments, METHOD.residuals, METHOD.clipped, *[METHOD.gradient] * METHOD.steps
    square = sum(part.guarantee.mu**2 for part in parts)
    assert gd.GaussianDP(math.sqrt(square)).epsilon(1e-6) == pytest.approx(3.0, rel=1e-6)
    assert METHOD.guarantee.epsilon(1e-6) <= 3.0


def test_one_row_changes_the_count_by_at_most_one() -> None:
    """Random tables, weights of all sizes and each row added, removed and replaced; a change of 1 occurs."""
    rng = np.random.default_rng(5)
    changes = []
    for _ in range(100):
        rows, target = in_steps(rng.uniform(-0.7, 0.7, (6, D)), rng.uniform(-1, 1, 6))
        count = Clipped(np.rint(rng.standard_normal(D) * 10.0 ** rng.uniform(-1, 2) * 2.0**20), 2.0**-20)
        whole = int(count(rows, target)[0])
        for i in range(6):
            kept = np.arange(6) != i
            changes.append(whole - int(count(rows[kept], target[kept])[0]))
            other = np.where(kept, np.arange(6), (i + 1) % 6)
            changes.append(whole - int(count(rows[other], target[other])[0]))
    assert set(changes) == {-1, 0, 1}
    assert METHOD.clipped is not None
    assert METHOD.clipped.body.radius(2) == 1


def test_a_row_moves_a_widened_gradient_by_twice_its_length_at_most() -> None:
    """The sum that is released is of halved residuals, in [−1, 1] at any distance."""
    one = np.array([[2.0**BITS]])
    for weight, slope in ((1.0, 0.5), (2.0, 1.0), (10.0, 1.0), (-10.0, -1.0)):
        assert Gradient(np.array([weight]), 1.0, 2.0)(one, np.zeros(1)) == slope * UNIT


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
@pytest.mark.parametrize("n_rows", [100, 1000])
def test_the_mean_of_the_target_is_charged(neighbours: str, n_rows: int) -> None:
    """Steps and mean share the guarantee, in shares that public numbers decide."""
    for requested in (gd.PureDP(0.5), gd.ApproxDP(0.5, 1e-6)):
        method = LeastSquares.calibrate((n_rows, 5), requested, None, neighbours, "gradient", 0.4)
        assert method.mean is not None
        spent = float(method.guarantee.epsilon(0 if isinstance(requested, gd.PureDP) else 1e-6))
        assert 0.499 < spent <= 0.5
        without = replace(method, mean=None).guarantee
        assert float(without.epsilon(0 if isinstance(requested, gd.PureDP) else 1e-6)) < 0.499


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_no_row_moves_the_sum_of_targets_further_than_its_body(neighbours: str) -> None:
    constant = 0.4
    method = LeastSquares.calibrate((500, 5), gd.ApproxDP(0.5, 1e-6), None, neighbours, "gradient", constant)
    ends = [level_sums(*in_steps(np.full((1, 5), constant), np.array([t])))[0] / UNIT for t in (-1.0, 1.0)]
    moved = ends[1] - ends[0] if neighbours == "replace" else ends[1]
    assert 0.99 * method.mean.body.radius(2) < moved <= method.mean.body.radius(2)


def test_where_noise_hides_all_the_answer_is_near_the_mean() -> None:
    """300 rows at ε = 0.3, and a target far from the middle; from 0, or without shrinkage, the error is larger."""
    rng, errors = np.random.default_rng(4), []
    rows = np.column_stack([rng.uniform(-1, 1, (300, 19)), np.ones(300)]) / math.sqrt(20)
    target = np.clip(-0.7 + 0.1 * rng.standard_normal(300), -1, 1)
    data = in_steps(rows, target)
    method = LeastSquares.calibrate((300, 20), gd.ApproxDP(0.3, 1e-6), None, "add_remove", "gradient", 20**-0.5)
    for key in range(20):
        weights = method.solve(*data, gd.research_rng(key))
        errors.append(np.mean((rows @ weights - target.mean()) ** 2))
    assert np.median(errors) < 0.03


def always_clipping(of: Of) -> np.ndarray:
    """Sums with Σ xxᵀ = n·I and best weights of 0, though all residuals are counted as clipped."""
    if of is second_moments:
        return np.eye(D) * N_ROWS * UNIT
    if type(of) is Gradient:
        return N_ROWS * of.weights * of.fine / of.clip * UNIT
    return np.full(1, N_ROWS if isinstance(of, Clipped) else 0)


@pytest.mark.statistical
def test_wider_residuals_have_twice_the_noise() -> None:
    """Means of six steps with noise 2σ/n each; chi-square of 1600."""
    rng = gd.research_rng(6)
    ends = np.array([METHOD.solve_sums(always_clipping, rng)[0] for _ in range(800)]).ravel()
    expected = 2 * deviation_of(METHOD.gradient) / N_ROWS / math.sqrt(6)
    assert ends.std() == pytest.approx(expected, rel=4 / math.sqrt(2 * 1600))


def test_intervals_contain_the_noise_of_wider_residuals() -> None:
    """Six gradients of noise 2σ and curvature n, and residuals without a size: a deviation of the noise of their sum.

    Both are of residuals that were halved, and the sum of squares is quadrupled.
    """
    assert METHOD.residuals is not None
    mixture = METHOD.solve_sums(
        lambda of: np.full(1, -UNIT * N_ROWS) if isinstance(of, Squares) else always_clipping(of), gd.research_rng(7)
    )[1]
    assert mixture is not None
    noise, sampling = 4 * deviation_of(METHOD.gradient) ** 2 / 6, 4 * deviation_of(METHOD.residuals)
    assert mixture.deviations == pytest.approx(math.sqrt(noise + sampling) / N_ROWS, rel=0.05)
