"""Sums of many losses on a lattice, by one period of a contour, against their convolution."""

import math

import numpy as np
import pytest

from gaugedp import guarantees as g
from gaugedp.accountant import tight
from gaugedp.accountant.total import Total


def true_delta(scale: float, sensitivity: int, count: int, epsilon: float) -> float:
    """δ of `count` releases of discrete Laplace noise, by convolving the probabilities of its losses."""
    steps = np.arange(sensitivity + 1)
    one = np.exp(-(sensitivity - steps) / scale) * -math.expm1(-1 / scale) / (1 + math.exp(-1 / scale))
    one[0], one[-1] = math.exp(-sensitivity / scale) / (1 + math.exp(-1 / scale)), 1 / (1 + math.exp(-1 / scale))
    law = one.astype(np.longdouble)
    for _ in range(count - 1):
        law = np.convolve(law, one.astype(np.longdouble))
    losses = (2 * np.arange(len(law)) - count * sensitivity) / scale
    above = losses > epsilon
    return float(law[above] @ -np.expm1(epsilon - losses[above]))


@pytest.mark.parametrize(("scale", "sensitivity", "count"), [(40.0, 80, 3), (400.0, 80, 50), (25.0, 70, 20)])
def test_discrete_noise_is_its_convolution(scale: float, sensitivity: int, count: int) -> None:
    total = count * g.DiscreteLaplaceLoss(scale, sensitivity)
    largest = count * sensitivity / scale
    for epsilon in (0.0, 0.02 * largest, 0.1 * largest, 0.3 * largest):
        bound, truth = total.delta(epsilon, "tight"), true_delta(scale, sensitivity, count, epsilon)
        assert bound.low <= truth * (1 + 1e-12)
        assert truth * (1 - 1e-12) <= bound <= truth * (1 + 1e-7)


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
def test_every_order_gives_bounds(factor: float) -> None:
    total = Total(((g.DiscreteLaplaceLoss(40.0, 80), 10),))
    truth = math.log(true_delta(40.0, 80, 10, 8.0))
    bracket = tight._contour(total, factor * tight.saddle(total, 8.0), 8.0, truth).log_delta(8.0)
    assert bracket.low <= truth + 1e-12
    assert truth - 1e-12 <= bracket.high <= bracket.low + 1e-7


def test_delta_near_one_has_a_narrow_bracket() -> None:
    """The best order is near 0 there, and the period has room for few steps: a larger order is taken."""
    bound, truth = (20 * g.DiscreteLaplaceLoss(25.0, 70)).delta(10.0), true_delta(25.0, 70, 20, 10.0)
    assert truth * (1 - 1e-10) <= bound.low <= truth * (1 + 1e-12)
    assert truth * (1 - 1e-12) <= bound <= truth * (1 + 1e-10)


def test_lattices_of_decimals_are_found() -> None:
    assert Total(((g.DiscreteLaplaceLoss(2.0, 3), 10), (g.PureDP(0.75), 2))).lattice == (0.0, 0.5)
    assert Total(((g.LaplaceLoss(1), 10),)).lattice is None
