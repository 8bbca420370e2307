"""The expected error of noise on cells where hardly a cell has any."""

import numpy as np
import pytest

import gaugedp as gd

DOMAIN = gd.Domain.of(x=gd.integers(0, 9), y=gd.integers(0, 3))


def noise_on_cells(text: str, epsilon: float) -> gd.Identity:
    return gd.Identity.calibrate(gd.query(DOMAIN, text).sensitivity(gd.PrivacyUnit()), gd.PureDP(epsilon))


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("text", ["x*y", "x*y; x", "x; y"])
def test_faint_noise_has_an_error_that_falls_with_epsilon_and_is_never_zero(text: str, norm: float) -> None:
    errors = [noise_on_cells(text, epsilon).error(norm) for epsilon in (5, 6, 6.5, 7, 8, 12, 20, 100, 600)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] > 0


def test_faint_noise_on_a_histogram_has_the_mean_of_its_sizes() -> None:
    law = noise_on_cells("x*y", 9.0).law
    mean = 2 * sum(k * float(law.coverage(k) - law.coverage(k - 1)) / 2 for k in range(1, 40))
    assert noise_on_cells("x*y", 9.0).error(1) == pytest.approx(40 * mean, rel=0.01)


def test_entries_beyond_2_to_the_20_are_drawn_as_plain_numbers() -> None:
    """Sums of them are made of Python's integers, which no release takes."""
    query = gd.workload(np.array([[2.0**24, 0, 1], [0, 1, 0]]), gd.Domain.of(a=["x", "y", "z"]))
    mechanism = gd.Identity.calibrate(query.sensitivity(gd.PrivacyUnit()), gd.PureDP(1))
    draws = mechanism.draw(50, gd.research_rng(1))
    assert draws.dtype == np.int64
    assert mechanism.prepare(gd.research_rng(2)) is not None
    assert np.abs(draws[:, 0]).max() > 2**24
