"""Losses: derivatives by differences, convexity, and constants that are kept and reached."""

import math

import numpy as np
import pytest

from gaugedp.errors import InvalidRequest
from gaugedp.optimization import Absolute, Hinge, Huber, Logistic, Loss, Softmax, Squared
from gaugedp.optimization.smoothing import SmoothHinge, smoothed

LOSSES = [Logistic(), Hinge(), Squared(0.7), Squared(3.0), Huber(0.3), Huber(), Absolute(), SmoothHinge(0.4)]
SIGNED = Logistic | Hinge | SmoothHinge


def grid(loss: Loss) -> tuple[np.ndarray, np.ndarray]:
    """Predictions away from kinks, with every target."""
    targets = np.array([-1.0, 1.0]) if isinstance(loss, SIGNED) else np.array([-1.3, 0.0, 0.8])
    z, y = np.meshgrid(np.linspace(-9, 9, 2001) + 1e-3 * math.pi, targets)
    return z.ravel(), y.ravel()


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_derivative_is_that_of_the_value(loss: Loss) -> None:
    z, y = grid(loss)
    step = 1e-6
    slope = (loss.value(z + step, y) - loss.value(z - step, y)) / (2 * step)
    smooth = np.abs(loss.derivative(z + step, y) - loss.derivative(z - step, y)) < 0.5
    assert smooth.mean() > 0.99
    assert np.abs(slope - loss.derivative(z, y))[smooth].max() < 1e-5


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_curvature_is_that_of_the_derivative(loss: Loss) -> None:
    z, y = grid(loss)
    step = 1e-6
    second = (loss.derivative(z + step, y) - loss.derivative(z - step, y)) / (2 * step)
    away = np.abs(loss.curvature(z + step, y) - loss.curvature(z - step, y)) < 1e-3
    away &= np.abs(second) < 1e3
    assert away.mean() > 0.99
    assert np.abs(second - loss.curvature(z, y))[away].max() < 1e-6


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_it_is_convex_and_its_constants_are_kept_and_reached(loss: Loss) -> None:
    z, y = grid(loss)
    first, other = z, z[::-1]
    middle = loss.value((first + other) / 2, y)
    assert (middle <= (loss.value(first, y) + loss.value(other, y)) / 2 + 1e-12).all()
    slopes = np.abs(loss.derivative(z, y))
    assert loss.lipschitz * (1 - 1e-3) <= slopes.max() <= loss.lipschitz * (1 + 1e-12)
    if math.isfinite(loss.smoothness):
        seconds = loss.curvature(z, y)
        assert loss.smoothness * (1 - 1e-4) <= seconds.max() <= loss.smoothness * (1 + 1e-12)
        steepness = np.abs(np.diff(loss.derivative(z, y))) / np.maximum(np.abs(np.diff(z)), 1e-9)
        assert steepness[np.diff(z) > 0].max() <= loss.smoothness * (1 + 1e-9)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_nothing_overflows(loss: Loss) -> None:
    z, y = np.array([-1e200, 1e150, 1e4, -1e4]), np.array([1.0, -1.0, -1.0, 1.0])
    with np.errstate(over="ignore"):  # squares that `where` throws away
        assert np.isfinite(loss.derivative(z, y)).all()
        assert np.isfinite(loss.value(z[2:], y[2:])).all()


def test_softmax_is_what_it_says() -> None:
    loss, rng = Softmax(4), np.random.default_rng(1)
    z, y = 3 * rng.standard_normal((50, 4)), rng.integers(0, 4, 50)
    step = 1e-6
    for column in range(4):
        move = np.zeros(4)
        move[column] = step
        slope = (loss.value(z + move, y) - loss.value(z - move, y)) / (2 * step)
        assert np.abs(slope - loss.derivative(z, y)[:, column]).max() < 1e-7
    assert loss.value(z, y) == pytest.approx(-np.log(loss.probabilities(z)[np.arange(50), y]))
    extreme = np.array([[50.0, -50, -50, -50]])
    assert np.linalg.norm(loss.derivative(extreme, np.array([1]))) == pytest.approx(loss.lipschitz)
    assert np.linalg.norm(loss.derivative(z, y), axis=1).max() <= loss.lipschitz
    share = loss.probabilities(np.array([[20.0, 20, -20, -20]]))[0]
    assert np.linalg.eigvalsh(np.diag(share) - np.outer(share, share))[-1] == pytest.approx(loss.smoothness)


@pytest.mark.parametrize(("kinked", "width"), [(Hinge(), 0.3), (Absolute(), 0.3), (Hinge(), 1e-3)])
def test_a_smoothed_loss_is_near(kinked: Loss, width: float) -> None:
    smooth, gap = smoothed(kinked, width)
    z, y = grid(kinked)
    z, y = np.concatenate([z, y]), np.concatenate([y, y])  # at z = y the hinge has its kink
    lost = np.abs(kinked.value(z, y) - smooth.value(z, y))
    assert gap == (width / 8 if isinstance(kinked, Hinge) else width / 2)
    assert 0.99 * gap <= lost.max() <= gap + 1e-12
    assert (smooth.lipschitz, smooth.smoothness) == (kinked.lipschitz, pytest.approx(1 / width))


def test_a_smooth_loss_stays_and_an_unknown_kink_is_refused() -> None:
    assert smoothed(Logistic(), 0.1) == (Logistic(), 0.0)

    class Steps(Absolute):
        """Another loss with a kink."""

    assert smoothed(Steps(), 0.1)[0] == Huber(0.1)

    class Other(Huber):
        smoothness = math.inf  # type: ignore[assignment]

    with pytest.raises(InvalidRequest, match="kink"):
        smoothed(Other(1.0), 0.1)
