"""Pairs of strongly log-concave densities by quadrature, and tails of Lipschitz functions in closed form."""

import math

import numpy as np
import pytest
from scipy import stats

import gaugedp as gd
from gaugedp.errors import InvalidRequest
from gaugedp.optimization import lipschitz_tail, log_concave_pair

GRID = np.linspace(-6, 6, 400_001)
STEEP, CONVEX = 0.9, 1.7
EXPONENTS = {  # F and F̃ − F on the line, or inf outside of an interval
    "normal": (CONVEX * GRID**2 / 2, STEEP * GRID),
    "kink": (CONVEX * GRID**2 / 2 + 3 * np.abs(GRID - 0.2), STEEP * np.abs(GRID - 0.3)),
    "interval": (np.where(np.abs(GRID - 0.1) < 0.7, CONVEX * GRID**2 / 2, np.inf), -STEEP * GRID),
    "quartic": (CONVEX * GRID**2 / 2 + GRID**4, STEEP * np.sin(GRID)),
}


def delta(name: str, epsilon: float) -> float:
    """∫(p − e^ε·q)⁺ by a sum over the grid."""
    exponent, change = EXPONENTS[name]
    p, q = (np.exp(-(each - np.min(each))) for each in (exponent, exponent + np.where(np.isinf(exponent), 0, change)))
    return float(np.maximum(p / p.sum() - math.exp(epsilon) * q / q.sum(), 0).sum())


@pytest.mark.parametrize("name", EXPONENTS)
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_no_pair_is_further_apart_than_theorem_2_says(name: str, epsilon: float) -> None:
    bound = log_concave_pair(STEEP, CONVEX).delta(epsilon)
    assert delta(name, epsilon) <= bound * (1 + 1e-4)
    if name == "normal":
        assert delta(name, epsilon) == pytest.approx(bound, rel=1e-4)


def test_the_parameter_is_rounded_up() -> None:
    assert log_concave_pair(0.0, 2.0) == gd.GaussianDP(0.0)
    assert log_concave_pair(1.0, 2.0).mu ** 2 >= 0.5
    for numbers in ((-1.0, 1.0), (1.0, 0.0)):
        with pytest.raises(InvalidRequest):
            log_concave_pair(*numbers)


@pytest.mark.parametrize("t", [0.0, 0.5, 2.0, 4.0])
def test_tails_of_normal_variables_are_below(t: float) -> None:
    """ℓ = G·x under N(0, 1/μ), and |x|, whose mean is not 0; linear functions attain the exponent."""
    std = CONVEX**-0.5
    bound = lipschitz_tail(t, STEEP, CONVEX)
    assert stats.norm.sf(t / (STEEP * std)) <= bound
    mean = math.sqrt(2 / math.pi) * std
    assert 2 * stats.norm.sf((t / STEEP + mean) / std) <= bound
    if t >= 2:
        assert math.log(bound) == pytest.approx(stats.norm.logsf(t / (STEEP * std)), rel=0.45)
