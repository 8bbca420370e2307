"""Calibrated noise is enough, and a little less is not."""

import copy
import math
import pickle
from collections.abc import Callable

import mpmath
import pytest
from hypothesis import strategies as st

from gaugedp._internal.validate import decimal
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import (
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    GaussianDP,
    Guarantee,
    LaplaceLoss,
    SubsampledGaussian,
    discrete_gaussian_std,
    discrete_laplace_scale,
    gaussian_std,
    laplace_scale,
    subsampled_noise_multiplier,
)
from gaugedp.guarantees.calibrate import Noise
from tests.guarantees import oracles
from tests.steady import given

TARGETS = [(1.0, 1e-6), (0.1, 1e-9), (5.0, 1e-3), (20.0, 1e-12), (0.5, 0.1)]
Finder = Callable[..., Noise]
KINDS: dict[str, tuple[Finder, Callable[[float], Guarantee], tuple[int, ...]]] = {
    "laplace": (laplace_scale, LaplaceLoss, (1, 7)),
    "discrete laplace": (discrete_laplace_scale, DiscreteLaplaceLoss, (1, 7)),
    "discrete gaussian": (discrete_gaussian_std, DiscreteGaussianLoss, (1, 7)),
}
SAMPLED = [(1.0, 1e-6, 0.01, 100), (5.0, 1e-3, 0.1, 50), (0.5, 1e-6, 0.001, 2000)]


def assert_enough_and_the_least(found: Noise, make: Callable[[float], Guarantee], epsilon: float, delta: float) -> None:
    """Less noise by twice the slack, and a little for rounding, fails by the tight method."""
    assert 0 < found.slack < 1e-6
    assert found.guarantee == make(float(found))
    assert found.guarantee.delta(epsilon) <= delta
    assert found.guarantee.delta(epsilon, "tight") <= delta
    assert found.guarantee.epsilon(delta) <= epsilon * (1 + 1e-9)
    less = make(found / (1 + 2 * found.slack + 1e-9))
    assert less.delta(epsilon, "tight") > delta


@pytest.mark.parametrize(("epsilon", "delta"), TARGETS)
@pytest.mark.parametrize("kind", KINDS)
def test_noise_is_enough_and_the_least(kind: str, epsilon: float, delta: float) -> None:
    find, leaf, counts = KINDS[kind]
    for count in counts:
        actual = find(epsilon, delta, count=count)
        assert_enough_and_the_least(actual, lambda noise, count=count: count * leaf(noise), epsilon, delta)


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "delta", "rate", "steps"), SAMPLED)
def test_sampled_noise_is_enough_and_the_least(epsilon: float, delta: float, rate: float, steps: int) -> None:
    actual = subsampled_noise_multiplier(epsilon, delta, rate, steps)
    assert_enough_and_the_least(actual, lambda noise: steps * SubsampledGaussian(rate, noise), epsilon, delta)


@pytest.mark.parametrize(("epsilon", "delta"), [*TARGETS, (0.0, 1e-3), (50.0, 1e-15)])
@pytest.mark.parametrize("count", [1, 7])
def test_gaussian_noise_is_enough_and_the_least(epsilon: float, delta: float, count: int) -> None:
    actual = gaussian_std(epsilon, delta, count=count)
    assert 0 < actual.slack < 1e-6
    with mpmath.workdps(60):
        root = mpmath.sqrt(count)
        assert oracles.gaussian_delta(root / mpmath.mpf(float(actual)), epsilon) <= delta
        less = mpmath.mpf(float(actual)) / (1 + 2 * actual.slack + 1e-9)
        assert oracles.gaussian_delta(root / less, epsilon) > delta
    assert actual.guarantee.delta(epsilon) <= delta
    assert actual.guarantee.mu == pytest.approx(math.sqrt(count) / actual, rel=1e-12)
    assert (count * GaussianDP(1 / actual)).delta(epsilon) <= delta * (1 + 1e-9)


@given(st.floats(-2, 1.3), st.floats(-12, -1), st.integers(1, 20), examples=30)
def test_laplace_noise_anywhere(log_epsilon: float, log_delta: float, count: int) -> None:
    epsilon, delta = 10**log_epsilon, 10**log_delta
    actual = laplace_scale(epsilon, delta, count=count)
    assert actual.guarantee == count * LaplaceLoss(float(actual))
    assert actual.guarantee.delta(epsilon) <= delta
    assert actual <= laplace_scale(epsilon, count=count) * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 1 / 3, 40.0])
@pytest.mark.parametrize("count", [1, 3, 10])
def test_without_delta_laplace_noise_is_the_quotient(epsilon: float, count: int) -> None:
    actual = laplace_scale(epsilon, count=count)
    assert decimal(actual) * decimal(epsilon) >= count
    assert actual == pytest.approx(count / epsilon, rel=1e-15)
    assert actual.guarantee.cost("pure")[0] <= decimal(epsilon)
    assert actual.guarantee.epsilon(0) <= epsilon * (1 + 1e-15)
    whole = discrete_laplace_scale(epsilon, sensitivity=4, count=count)
    assert decimal(whole) * decimal(epsilon) >= 4 * count
    assert whole.guarantee == count * DiscreteLaplaceLoss(float(whole), 4)
    assert whole.guarantee.cost("pure")[0] <= decimal(epsilon)


@pytest.mark.parametrize("sensitivity", [0.1, 2.0, 1e6])
@pytest.mark.parametrize("find", [gaussian_std, laplace_scale])
def test_noise_grows_with_the_sensitivity(find: Finder, sensitivity: float) -> None:
    one, scaled = find(1.0, 1e-6), find(1.0, 1e-6, sensitivity)
    assert scaled == pytest.approx(one * sensitivity, rel=1e-12)
    assert scaled >= one * sensitivity * (1 - 2.0**-52)
    assert scaled.guarantee == one.guarantee


def test_laplace_noise_without_delta_grows_with_the_sensitivity() -> None:
    assert laplace_scale(0.5, sensitivity=3.0) == pytest.approx(6.0, rel=1e-14)
    assert laplace_scale(0.5, sensitivity=3.0) >= 6.0


@pytest.mark.parametrize("sensitivity", [2, 5])
def test_whole_sensitivities_are_in_the_guarantee(sensitivity: int) -> None:
    laplace = discrete_laplace_scale(1.0, 1e-6, sensitivity, 3)
    assert laplace.guarantee == 3 * DiscreteLaplaceLoss(float(laplace), sensitivity)
    assert laplace.guarantee.delta(1.0) <= 1e-6
    gaussian = discrete_gaussian_std(1.0, 1e-6, sensitivity, 3)
    assert gaussian.guarantee == 3 * DiscreteGaussianLoss(float(gaussian), sensitivity)
    assert gaussian.guarantee.delta(1.0) <= 1e-6
    assert gaussian >= 0.99 * gaussian_std(1.0, 1e-6, float(sensitivity), 3)


def test_more_privacy_needs_more_noise() -> None:
    for find in (gaussian_std, laplace_scale, discrete_laplace_scale, discrete_gaussian_std):
        noises = [find(epsilon, delta) for epsilon, delta in [(4.0, 1e-3), (1.0, 1e-3), (1.0, 1e-9), (0.2, 1e-9)]]
        assert noises == sorted(noises)
        assert noises[0] < noises[-1]


def test_noise_keeps_its_guarantee_and_its_slack() -> None:
    actual = laplace_scale(1.0, 1e-6, count=3)
    for other in (pickle.loads(pickle.dumps(actual)), copy.copy(actual), copy.deepcopy(actual)):
        assert (other, other.guarantee, other.slack) == (actual, actual.guarantee, actual.slack)
    assert type(actual * 2) is float


# -- what is refused ---------------------------------------------------------------------------------------------------

FINDERS = [
    gaussian_std,
    laplace_scale,
    discrete_laplace_scale,
    discrete_gaussian_std,
    lambda epsilon, delta: subsampled_noise_multiplier(epsilon, delta, 0.01, 10),
]
LAPLACE, DISCRETE = (laplace_scale, discrete_laplace_scale), (discrete_laplace_scale, discrete_gaussian_std)
NO_COUNT = (0, -1, 1.5, 2.0, math.nan, "1", None, True)
BAD = [  # the name of the bad number, who gets it, its values, and the other numbers
    ("epsilon", FINDERS, (-1, -1e-300, math.nan, math.inf, "1", None, True, [1]), {"delta": 1e-6}),
    ("epsilon", LAPLACE, (0,), {"delta": 0}),
    ("delta", FINDERS, (-1e-9, 1, 1.5, math.nan, math.inf, "0.1", None, True), {"epsilon": 1.0}),
    ("delta", [FINDERS[0], *FINDERS[3:]], (0,), {"epsilon": 1.0}),
    *(
        ("sensitivity", (gaussian_std, laplace_scale), (0, -1, math.nan, math.inf, "1", None, True), {"delta": delta})
        for delta in (1e-9, 1e-6)
    ),
    ("sensitivity", (laplace_scale,), (0, -1, math.nan, math.inf, "1", None, True), {"delta": 0.0}),
    ("sensitivity", DISCRETE, NO_COUNT, {"delta": 1e-6}),
    ("count", FINDERS[:4], NO_COUNT, {"delta": 1e-6}),
    ("count", LAPLACE, NO_COUNT, {"delta": 0.0}),
    ("rate", (subsampled_noise_multiplier,), (0, -0.1, 1.1, math.nan, math.inf, "0.1", None, True), {"steps": 10}),
    ("steps", (subsampled_noise_multiplier,), (0, -1, 1.5, True, "10", None), {"rate": 0.01}),
]


@pytest.mark.parametrize(("name", "finders", "values", "others"), BAD)
def test_bad_numbers_are_refused(name: str, finders: list[Finder], values: tuple, others: dict) -> None:
    for find in finders:
        for value in values:
            with pytest.raises(InvalidRequest, match=f"`{name.replace('steps', 'count')}` is"):
                find(**{"epsilon": 1.0, "delta": 1e-6, **others, name: value})


@pytest.mark.parametrize(("epsilon", "delta"), [(1e300, 0.5), (1e300, 1e-6)])
@pytest.mark.parametrize("find", FINDERS[1:])
def test_guarantees_that_any_noise_keeps_are_refused_or_kept(find: Finder, epsilon: float, delta: float) -> None:
    try:
        actual = find(epsilon, delta)
    except InvalidRequest:
        return
    assert actual.guarantee.delta(epsilon) <= delta


def test_a_sample_that_is_small_enough_hides_any_noise() -> None:
    """With rate·steps ≤ δ the sample alone keeps the guarantee."""
    with pytest.raises(InvalidRequest):
        subsampled_noise_multiplier(1.0, 0.01, 0.001, 5)
