"""Noisy gradient descent: exact sums, their sensitivity, their noise, and what they compose to. Keys are fixed."""

import dataclasses
import math

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.entropy import research_rng
from gaugedp.errors import InvalidRequest
from gaugedp.optimization import gradient
from gaugedp.optimization.gradient import BITS, NoisyDescent, Path, Scale, whole_blocks
from gaugedp.optimization.lattice import with_noise
from gaugedp.optimization.losses import Hinge, Softmax

RNG = np.random.default_rng(1)


def made_rows(n: int, d: int) -> np.ndarray:
    rows = RNG.standard_normal((n, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def hinge(z: np.ndarray, y: np.ndarray) -> np.ndarray:
    return Hinge().derivative(z[:, 0], y)[:, None]


@pytest.mark.parametrize("replaced", [True, False])
def test_one_row_moves_the_sum_within_the_ball_and_up_to_its_edge(replaced: bool) -> None:
    for shape, cap, slopes in [((1, 4), 1.0, hinge), ((3, 4), 1.0, Softmax(3).derivative)]:
        descent = NoisyDescent.calibrate(gd.GaussianDP(1.0), shape, cap, Scale(5.0, 50, replaced))
        weights, furthest = RNG.standard_normal(shape) * 3, 0.0
        common, labels = made_rows(5, 4), np.ones(5, dtype=int)
        for _ in range(300):
            x = made_rows(1, 4)
            parts = [(x, np.array([1])), (-x, np.array([1]))] if replaced else [(x, np.array([1])), (x[:0], labels[:0])]
            sums = [
                descent.gradient(whole_blocks((np.vstack([common, row]), np.append(labels, y))), weights, slopes)
                for row, y in parts
            ]
            furthest = max(furthest, float(np.linalg.norm(sums[0] - sums[1])))
        radius = descent.noise.body.radius(2)
        assert 0.8 * (2 if replaced else 1) * cap < furthest <= radius
        assert radius == pytest.approx((2 if replaced else 1) * cap, rel=1e-6)


def test_sums_are_the_same_in_any_order_and_of_whole_numbers() -> None:
    rows, labels = made_rows(1000, 7), RNG.integers(0, 3, 1000)
    descent = NoisyDescent.calibrate(gd.GaussianDP(1.0), (3, 7), 1.0, Scale(5.0, 1000))
    weights = RNG.standard_normal((3, 7))
    actual = descent.gradient(whole_blocks((rows, labels)), weights, Softmax(3).derivative)
    order = RNG.permutation(1000)
    assert (
        descent.gradient(whole_blocks((rows[order], labels[order])), weights, Softmax(3).derivative) == actual
    ).all()
    assert (actual * 4.0**BITS == np.rint(actual * 4.0**BITS)).all()
    exact = Softmax(3).derivative(rows @ weights.T, labels)
    exact *= np.minimum(1, 1 / np.linalg.norm(exact, axis=1, keepdims=True))
    assert actual == pytest.approx(exact.T @ rows, abs=1000 * 2.0**-BITS)


def test_all_steps_together_keep_the_guarantee() -> None:
    descent = NoisyDescent.calibrate(gd.GaussianDP(0.7), (2, 3), 1.0, Scale(5.0, 400))
    each = descent.noise.guarantee
    assert isinstance(each, gd.GaussianDP)
    assert 0.7 * (1 - 1e-9) < math.sqrt(descent.path.n_steps) * each.mu <= 0.7
    pure = NoisyDescent.calibrate(gd.PureDP(0.7), (2, 3), 1.0, Scale(5.0, 400))
    assert 0.7 * (1 - 1e-9) < pure.path.n_steps * pure.noise.guarantee.epsilon(0) <= 0.7


@pytest.mark.statistical
@pytest.mark.parametrize("replaced", [True, False])
def test_gaussian_noise_has_the_deviation_that_mu_asks_for(replaced: bool) -> None:
    """Noise of 2C√T/μ (C√T/μ) a step over 8,000 draws; a false alarm is five standard errors; 10 % less is seen."""
    descent = NoisyDescent.calibrate(gd.GaussianDP(0.5), (2, 4), 0.8, Scale(5.0, 300, replaced))
    expected = (1.6 if replaced else 0.8) * math.sqrt(descent.path.n_steps) / 0.5
    actual = descent.noise.sample_noise(1000, research_rng(5)).std()
    assert actual == pytest.approx(expected, rel=5 / math.sqrt(2 * 8000))
    assert abs(0.9 * actual - expected) > expected * 5 / math.sqrt(2 * 8000)


@pytest.mark.statistical
def test_an_audit_of_a_whole_descent_is_quiet_and_alarms_at_half_the_noise() -> None:
    """Black-box, 2,000 runs at ε = 2; the audit's false-alarm rate is 1 %."""
    guarantee = gd.GaussianDP(1.0)
    honest = NoisyDescent.calibrate(guarantee, (1, 1), 1.0, Scale(5.0, 4))
    loud = NoisyDescent.calibrate(gd.GaussianDP(2.5), (1, 1), 1.0, Scale(5.0, 4))
    rng = research_rng(11)

    def run(descent: NoisyDescent):
        return lambda label: descent.solve((np.ones((1, 1)), np.array([label])), hinge, 4, rng).item()

    assert not gd.audit.audit(run(honest), 1.0, -1.0, guarantee, runs=2000, rng=research_rng(3)).violated
    assert gd.audit.audit(run(loud), 1.0, -1.0, guarantee, runs=2000, rng=research_rng(3)).violated


def reach(path: Path) -> float:
    """How far descent gets where the loss is a plane: with momentum steps grow."""
    return path.length * (path.n_steps**2 / 4 if path.momentum else path.n_steps)


def test_the_path_grows_as_noise_falls_and_stays_within_its_limits() -> None:
    for guarantee in (gd.GaussianDP, gd.PureDP):
        for kinked in (False, True):
            paths = [
                NoisyDescent.calibrate(guarantee(size), (1, 5), 1.0, Scale(5.0, 1000, kinked=kinked)).path
                for size in (1e-3, 0.1, 10.0, 1e4)
            ]
            fast = not kinked
            assert [path.momentum for path in paths] == [False, False, fast and guarantee is gd.PureDP, fast]
            assert list(map(reach, paths)) == sorted(map(reach, paths))
            assert all(8 <= path.n_steps <= 600 and path.length <= 8 for path in paths)


@pytest.mark.slow
@pytest.mark.parametrize("guarantee", [gd.GaussianDP(20.0), gd.PureDP(40.0)], ids=repr)
def test_momentum_carries_noise_no_further_than_a_quarter_of_the_radius(guarantee) -> None:
    """On a plane, 400 times; the standard error of the mean square is 5 % at most."""
    descent = NoisyDescent.calibrate(guarantee, (1, 3), 1.0, Scale(5.0, 1000))
    assert descent.path.momentum
    rows, n_rows, rng = np.zeros((1, 3)), 1000.0, research_rng(5)
    free = dataclasses.replace(descent, path=dataclasses.replace(descent.path, radius=1e6))
    ends = [free.solve((rows, np.zeros(1)), lambda z, _: z * 0, n_rows, rng) for _ in range(400)]
    carried = math.sqrt(np.mean([np.sum(end**2) for end in ends]))
    assert 0.01 * 5 < carried < 0.25 * 5 * 1.1


@pytest.mark.parametrize("guarantee", [gd.GaussianDP(20.0), gd.PureDP(40.0)], ids=repr)
@pytest.mark.parametrize("kinked", [False, True], ids=["momentum", "plain"])
def test_each_step_has_noise_of_its_own_and_is_taken_within_the_ball(
    guarantee, kinked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All rows pull outwards. Beyond the ball, products of weights and rows would be no whole numbers of a float."""
    used, lengths = [], []

    class Watched(NoisyDescent):
        def gradient(self, blocks, weights, slopes):
            lengths.append(float(np.linalg.norm(weights)))
            return super().gradient(blocks, weights, slopes)

    def noisy(exact, noise, prepared):
        used.append(prepared)
        return with_noise(exact, noise, prepared)

    monkeypatch.setattr(gradient, "with_noise", noisy)
    made = NoisyDescent.calibrate(guarantee, (1, 3), 1.0, Scale(5.0, 1000, kinked=kinked))
    assert made.path.momentum is not kinked
    noises = made.noise.pool(made.path.n_steps, research_rng(1))
    monkeypatch.setattr(type(made.noise), "pool", lambda *_: list(noises))
    descent = Watched(made.shape, made.cap, made.path, made.noise, made.guarantee)
    end = descent.solve((made_rows(1, 3).repeat(1000, axis=0), np.zeros(1000)), lambda z, _: z * 0 - 1, 1000.0, None)
    assert len(used) == len(lengths) == made.path.n_steps
    assert all(one is other for one, other in zip(used, noises, strict=True))
    assert 0.9 * 5 < max(*lengths, np.linalg.norm(end)) <= 5 * (1 + 1e-12)


@pytest.mark.parametrize("guarantee", [gd.GaussianDP(1e3), gd.PureDP(1e5)], ids=repr)
def test_momentum_finds_the_least_squares_that_plain_steps_do_not_reach(guarantee) -> None:
    draw = np.random.default_rng(3)
    rows = draw.standard_normal((2000, 4)) * [1, 0.6, 0.4, 0.3]
    rows /= np.linalg.norm(rows, axis=1).max()
    target = rows @ [0.5, 1.0, -2.0, 3.0]
    descent = NoisyDescent.calibrate(guarantee, (1, 4), 0.25, Scale(5.0, 2000))
    plain = dataclasses.replace(descent, path=Path(600, 8.0, 5.0))

    def error(one: NoisyDescent) -> float:
        weights = one.solve((rows, target), lambda z, y: (z - y[:, None]) / 4, 2000, research_rng(1))[0]
        return float(np.mean((rows @ weights - target) ** 2))

    assert descent.path.momentum
    assert descent.path.n_steps <= 192
    assert error(descent) < error(plain) / 2


@pytest.mark.parametrize("guarantee", [gd.GaussianDP(1e5), gd.PureDP(1e7)], ids=repr)
def test_without_noise_it_is_gradient_descent(guarantee) -> None:
    rows = np.random.default_rng(2).standard_normal((300, 3))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    labels = np.where(rows[:, 0] > 0, 1.0, -1.0)
    descent = NoisyDescent.calibrate(guarantee, (1, 3), 1.0, Scale(10.0, 300, kinked=True))
    actual = descent.solve((rows, labels), hinge, 300, research_rng(1))[0]
    assert np.linalg.norm(actual) <= 10 * (1 + 1e-9)
    assert np.mean(np.maximum(0, 1 - labels * (rows @ actual))) < 0.06


def test_other_guarantees_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="divided between steps"):
        NoisyDescent.calibrate(gd.ApproxDP(1.0, 1e-6), (1, 2), 1.0, Scale(5.0, 10))
    with pytest.raises(InvalidRequest, match="cap"):
        NoisyDescent.calibrate(gd.PureDP(1.0), (1, 2), 0.0, Scale(5.0, 10))
