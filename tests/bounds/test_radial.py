"""The sums and the minimum behind the bounds, against 40 digits."""

import math

import mpmath
import numpy as np
import pytest

from gaugedp.bounds.volume import log_least_ratio, scaled_sums


def exact_sums(u: float, epsilon: float, last: int) -> list[mpmath.mpf]:
    """Σ (u + k)^m e^{−εk} for m = 0 … last, by S_m(u) = u^m + q·S_m(u + 1) in 60 digits."""
    q, offset = mpmath.exp(-mpmath.mpf(epsilon)), mpmath.mpf(u)
    sums = [1 / (1 - q)]
    for m in range(1, last + 1):
        sums.append((offset**m + q * mpmath.fsum(mpmath.binomial(m, j) * sums[j] for j in range(m))) / (1 - q))
    return sums


@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_the_oracle_adds_the_series(epsilon: float) -> None:
    with mpmath.workdps(60):
        sums = exact_sums(0.25, epsilon, 5)
        for m in (0, 3, 5):
            series = mpmath.fsum((mpmath.mpf(0.25) + k) ** m * mpmath.exp(-mpmath.mpf(epsilon) * k) for k in range(900))
            assert abs(series / sums[m] - 1) < 1e-50


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1e-6, 1e-2, 1.0, 9.0, 50.0])
def test_scaled_sums_have_the_guaranteed_digits(epsilon: float) -> None:
    last, offsets = 62, [0.0, 1e-9, 0.37, 1.0]
    actual = scaled_sums(np.array(offsets), epsilon, last)
    with mpmath.workdps(60):
        for place, u in enumerate(offsets):
            for m, value in enumerate(exact_sums(u, epsilon, last)):
                scale = -mpmath.expm1(-mpmath.mpf(epsilon)) * mpmath.mpf(epsilon) ** m / mpmath.factorial(m)
                assert abs(actual[m, place] / (value * scale) - 1) < 3 * (last + 2) ** 2 * 2.0**-53


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 0.2, 1.0, 4.0, 12.0, 50.0])
@pytest.mark.parametrize("exponent", [0, 1, 2, 8, 40, 60])
def test_the_minimum_is_below_the_values_and_near_the_least(exponent: int, epsilon: float, power: int) -> None:
    low = log_least_ratio(exponent, epsilon, power)
    offsets = np.concatenate([np.linspace(0, 1, 2001), np.geomspace(1e-40, 1, 4001)])
    table = scaled_sums(offsets, epsilon, exponent + power)
    scale = sum(math.log((exponent + i) / epsilon) for i in range(1, power + 1))
    least = float(np.log(table[-1] / table[exponent]).min()) + scale
    assert low <= least + 1e-11
    assert low >= least - 2e-4


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 5.0, 20.0])
def test_closed_forms_in_one_dimension(epsilon: float) -> None:
    plain = math.exp(log_least_ratio(0, epsilon, 1))
    assert plain == pytest.approx(1 / math.expm1(epsilon), rel=1e-7)
    sharp = math.exp(log_least_ratio(1, epsilon, 1)) / 2
    assert sharp == pytest.approx(math.exp(epsilon / 2) / math.expm1(epsilon), rel=1e-6)
    assert plain <= 1 / math.expm1(epsilon) * (1 + 1e-15)
    assert sharp <= math.exp(epsilon / 2) / math.expm1(epsilon) * (1 + 1e-15)


@pytest.mark.parametrize("exponent", [3, 60])
def test_small_epsilon_is_a_gamma_law(exponent: int) -> None:
    assert log_least_ratio(exponent, 1e-6, 1) == pytest.approx(math.log((exponent + 1) / 1e-6), abs=1e-9)


def test_nothing_is_guaranteed_where_floats_end() -> None:
    assert log_least_ratio(3, 800.0, 1) == -math.inf
    assert math.isfinite(log_least_ratio(3, 1e-300, 2))
