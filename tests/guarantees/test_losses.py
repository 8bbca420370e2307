"""Moments at complex orders: each family's line, moment and tail bound beside 40 digits."""

import cmath
import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from gaugedp.accountant.loss import PrivacyLoss
from gaugedp.guarantees.losses.bounded_range import BoundedRangePrivacyLoss
from gaugedp.guarantees.losses.finite import Atoms, FinitePrivacyLoss
from gaugedp.guarantees.losses.gaussian import GaussianPrivacyLoss
from gaugedp.guarantees.losses.laplace import LaplacePrivacyLoss
from gaugedp.guarantees.losses.lattice_gaussian import LatticeGaussianPrivacyLoss
from gaugedp.guarantees.losses.mixed import MixedPrivacyLoss
from gaugedp.guarantees.losses.response import ResponsePrivacyLoss
from gaugedp.guarantees.losses.small_noise import FaintPrivacyLoss
from gaugedp.guarantees.losses.subsampled import SubsampledPrivacyLoss, _turn

ORDERS = (0.05, 0.9, 7.3, 60.0)
HEIGHTS = (0.0, 1e-4, 0.03, 0.7, 4.0, 33.0, 500.0)


def gaussian(z: Any, mu: float) -> Any:
    return mpmath.exp(z * (z + 1) * mpf(mu) ** 2 / 2)


def response(z: Any, loss: float) -> Any:
    return mpmath.cosh((z + 0.5) * loss) / mpmath.cosh(mpf(loss) / 2)


def laplace(z: Any, shift: float) -> Any:
    return ((z + 1) * mpmath.exp(z * shift) + z * mpmath.exp(-(z + 1) * shift)) / (2 * z + 1)


def bounded_range(z: Any, width: float) -> Any:
    def sinhc(x: Any) -> Any:
        return mpmath.sinh(x) / x

    return sinhc((z + 0.5) * width) / sinhc(mpf(width) / 2)


def finite(z: Any, atoms: Atoms) -> Any:
    return mpmath.fsum(w * mpmath.exp(z * mpf(x)) for x, w in zip(atoms.values, atoms.weights, strict=True))


def lattice_gaussian(z: Any, std: float, shift: int) -> Any:
    centre = int(z.real * shift)
    reach = int(16 * std) + 20
    weights = [(k, mpmath.exp(-(mpf(k) ** 2) / (2 * mpf(std) ** 2))) for k in range(-reach, reach + 1)]
    moved = [(k - centre, mpmath.exp(-(mpf(k - centre) ** 2) / (2 * mpf(std) ** 2))) for k in range(-reach, reach + 1)]
    total = mpmath.fsum(w * mpmath.exp(z * (shift**2 - 2 * mpf(k) * shift) / (2 * mpf(std) ** 2)) for k, w in moved)
    return total / mpmath.fsum(w for _, w in weights)


def mixture(x: Any, rate: float, std: float, size: int) -> Any:
    ways = [(k, math.comb(size, k) * mpf(rate) ** k * (1 - mpf(rate)) ** (size - k)) for k in range(size + 1)]
    return mpmath.fsum(p * mpmath.exp(k * (2 * x - k) / (2 * mpf(std) ** 2)) for k, p in ways)


def subsampled(z: Any, rate: float, std: float, removed: int, added: int) -> Any:
    """Return E[A^{1+z}·B^{−z}] on a contour that is moved, so that the trapezoid rule sees a falling integrand."""
    turn = (0.6 if added else 1.2) * min(1.0, 1.5 / std) / max(removed, added)
    step = mpf(std) * min(0.05, 0.05 * std) / max(removed, added)
    start, end = -15 * std - added, 15 * std + removed * (z.real + 1)
    total = mpf(0)
    for k in range(int(start / step), int(end / step) + 1):
        x = mpmath.mpc(k * step, turn * mpf(std) ** 2)
        logs = mpmath.log(mixture(x, rate, std, removed)), mpmath.log(mixture(-x, rate, std, added))
        total += mpmath.exp(-x * x / (2 * mpf(std) ** 2) + (1 + z) * logs[0] - z * logs[1])
    return total * step / (mpf(std) * mpmath.sqrt(2 * mpmath.pi))


def faint(z: Any, rate: float, std: float) -> Any:
    q = mpf(rate)
    return (1 - q) ** (z + 1) + q ** (z + 1) * mpmath.exp(z * (z + 1) / (2 * mpf(std) ** 2))


def mixed(z: Any, parts: Any) -> Any:
    (w, _, mu), (u, _, shift) = parts
    return mpf(w) * gaussian(z, *mu) + mpf(u) * laplace(z, *shift)


Case = tuple[type[PrivacyLoss], Callable[..., Any], tuple[Any, ...]]
CASES: list[Case] = [
    *[(GaussianPrivacyLoss, gaussian, (mu,)) for mu in (1e-3, 0.4, 3.0)],
    *[(ResponsePrivacyLoss, response, (loss,)) for loss in (1e-4, 0.3, 5.0)],
    *[(LaplacePrivacyLoss, laplace, (shift,)) for shift in (1e-4, 0.3, 5.0)],
    *[(BoundedRangePrivacyLoss, bounded_range, (width,)) for width in (1e-4, 0.3, 5.0)],
    (FinitePrivacyLoss, finite, (Atoms((-0.7, 0.1, 0.45), (0.25, 0.25, 0.5)),)),
    *[(LatticeGaussianPrivacyLoss, lattice_gaussian, row) for row in ((0.4, 1), (2.0, 1), (3.0, 4))],
    *[(FaintPrivacyLoss, faint, row) for row in ((0.2, 0.02), (1e-6, 0.045), (0.9, 0.005))],
    (MixedPrivacyLoss, mixed, (((0.25, GaussianPrivacyLoss, (1.3,)), (0.75, LaplacePrivacyLoss, (0.4,))),)),
    *[(LatticeGaussianPrivacyLoss, lattice_gaussian, row) for row in ((0.02, 1), (0.09, 3))],
    *[(SubsampledPrivacyLoss, subsampled, row) for row in ((0.01, 1.0, 1, 0), (0.01, 1.0, 0, 1))],
    *[(SubsampledPrivacyLoss, subsampled, row) for row in ((0.3, 3.0, 1, 0), (0.3, 0.5, 0, 1), (1e-4, 0.6, 1, 0))],
    *[(SubsampledPrivacyLoss, subsampled, row) for row in ((0.2, 1.0, 2, 1), (0.4, 2.0, 0, 2))],
]


def named(case: Case) -> str:
    return f"{case[1].__name__}{case[2]}"[:60]


@pytest.fixture(params=CASES, ids=named, scope="module")
def case(request: pytest.FixtureRequest) -> tuple[PrivacyLoss, dict[tuple[float, float], tuple[float, float, float]]]:
    """The family of one row, and log M(c), log |M(c + it)/M(c)| and the argument of M(c + it)/M(c) by definition."""
    family, moment, row = request.param
    quick = family is SubsampledPrivacyLoss
    truth = {}
    with mpmath.workdps(40):
        for order in ORDERS[1:3] if quick else ORDERS:
            axis = moment(mpmath.mpc(order, 0), *row).real
            for height in HEIGHTS[::2] if quick else HEIGHTS:
                ratio = moment(mpmath.mpc(order, height), *row) / axis
                actual = mpmath.log(axis), mpmath.log(abs(ratio)), mpmath.arg(ratio)
                truth[order, height] = tuple(float(value) for value in actual)
    return family([row], [1]), truth


@pytest.mark.slow
def test_moments_on_the_axis(case: Any) -> None:
    losses, truth = case
    for (order, height), (log_moment, _, _) in truth.items():
        if height == 0:
            actual = float(losses.log_moment(np.array([order]))[0])
            assert abs(actual - log_moment) <= losses.rounding(np.array([order]))[0] + 1e-300
            assert losses.rounding(np.array([order]))[0] <= 1e-11 * (1 + log_moment)


@pytest.mark.slow
def test_the_line_is_within_its_own_rounding(case: Any) -> None:
    losses, truth = case
    for order in dict.fromkeys(order for order, _ in truth):
        heights = np.array([height for actual, height in truth if actual == order])
        line = losses.line(order, heights)
        for height, real, imaginary, lost in zip(heights, *line, strict=True):
            _, log_modulus, angle = truth[order, float(height)]
            shown, true = cmath.exp(complex(real, imaginary)), cmath.exp(complex(log_modulus, angle))
            allowed = lost + 1e-14 * abs(imaginary) + 1e-15
            assert abs(shown - true) <= math.exp(real) * math.expm1(allowed)
            if isinstance(losses, MixedPrivacyLoss):  # the weights have the rounding of log M, whatever is left of M
                assert lost * math.exp(log_modulus) <= 16 * losses.rounding(np.array([order]))[0] + 1e-12
            else:
                assert lost < 1e-7 or log_modulus < -15


@pytest.mark.parametrize(("centre", "spread"), [(0.1, 0.09), (0.1, 1e-4), (0.5, 0.2)])
@pytest.mark.parametrize("order", [0.5, 6.0])
def test_the_tail_bound_of_many_different_laplace_losses(centre: float, spread: float, order: float) -> None:
    """Rows that are nearly alike come back together at t = π/s; what is said of a range holds there too."""
    shifts = centre + spread * np.random.default_rng(3).uniform(-1, 1, 300)
    losses = LaplacePrivacyLoss([(float(shift),) for shift in shifts], [2] * len(shifts))
    height, until = 20.0, 400.0
    bound = losses.log_tail(order, height, until)
    heights = np.append(np.linspace(height, until, 4000), math.pi / centre * np.arange(1, 9))
    assert bound <= losses.log_tail(order, height)
    assert losses.line(order, heights[heights >= height]).real.max() <= bound + 1e-9


def test_different_laplace_losses_turn_against_each_other() -> None:
    shifts = np.random.default_rng(4).uniform(0.02, 0.2, 300)
    losses = LaplacePrivacyLoss([(float(shift),) for shift in shifts], [2] * len(shifts))
    assert losses.log_tail(6.0, 500.0, 5000.0) < losses.log_tail(6.0, 500.0) - 10


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "moment"),
    [(ResponsePrivacyLoss, response), (LaplacePrivacyLoss, laplace), (BoundedRangePrivacyLoss, bounded_range)],
)
def test_many_rows_are_summed_within_their_rounding(family: Any, moment: Any) -> None:
    """Nodes replace 1,030 rows up to height 11, and none at height 90."""
    numbers = [float(t) for t in 0.03 - 0.014 * np.random.default_rng(5).uniform(0, 1, 1030) ** 3] + [0.3]
    losses, order = family([(t,) for t in numbers], [1] * 500 + [3] * 531), 2.0

    def weighted(logs: Any) -> Any:
        return mpmath.fsum(n * mpmath.log(each) for n, each in zip(losses.times, logs, strict=True))

    with mpmath.workdps(25):
        axis = [moment(mpmath.mpc(order, 0), t).real for t in numbers]
        lost = losses.rounding(np.array([order]))[0]
        assert abs(float(losses.log_moment(np.array([order]))[0] - weighted(axis))) <= lost <= 1e-13 * weighted(axis)
        for height in (2.0, 11.0, 90.0):
            real, imaginary, rounding = (part[0] for part in losses.line(order, np.array([height])))
            ratios = [moment(mpmath.mpc(order, height), t) / one for t, one in zip(numbers, axis, strict=True)]
            assert float(abs(mpmath.mpc(real, imaginary) - weighted(ratios))) <= rounding < 1e-9


def test_no_argument_of_a_mixture_wraps() -> None:
    """Each of up to `size` turns of e^{i·turn} counts: together they stay below half a circle."""
    assert all(_turn(std, size) * size < math.pi for std in (0.01, 0.5, 1.0, 2.0, 30.0) for size in range(1, 60))


@pytest.mark.slow
def test_the_tail_bound_holds_from_its_height_on(case: Any) -> None:
    losses, truth = case
    for order, start in truth:
        bound = losses.log_tail(order, max(start, 1e-6))
        assert bound <= 0
        for (other, height), (_, log_modulus, _) in truth.items():
            if other == order and height >= max(start, 1e-6):
                assert log_modulus <= bound + 1e-9
