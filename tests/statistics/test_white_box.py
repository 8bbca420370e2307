"""White-box audits of every mechanism's noise: its law, its size, its signs, its independence.

False alarms: kit.QUARTER for the whole module, shared evenly (ALARM below); by the central limit theorem for sizes,
signs and correlations. The keys are fixed, so a pass is a pass. Every test is run on noise 10 % too small, or on
dependent noise, and must alarm.
"""

from functools import cache

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.audit import goodness_of_fit
from gaugedp.bodies import LpBall
from gaugedp.samplers.laws import DiscreteGaussian, DiscreteLaplace, RoundedGaussian
from tests.statistics import kit

pytestmark = pytest.mark.statistical

DOMAIN = gd.Domain.of(a=gd.integers(1, 4), b=["x", "y"])
HISTOGRAM = gd.marginals(DOMAIN, "a").sensitivity(gd.PrivacyUnit())
REPLACED = gd.marginals(DOMAIN, "a").sensitivity(gd.PrivacyUnit("pid", "replace", 3))
N_DRAWS = 50_000

MECHANISMS = {
    "Laplace": gd.Laplace.calibrate(HISTOGRAM, gd.PureDP(1)),
    "Laplace, narrow": gd.Laplace.calibrate(HISTOGRAM, gd.PureDP(3)),
    "Laplace, person": gd.Laplace.calibrate(REPLACED, gd.PureDP(0.1)),
    "Laplace, real": gd.Laplace.calibrate(LpBall(4, 1, 0.3), gd.PureDP(1)),
    "rounded Gaussian": gd.Gaussian.calibrate(HISTOGRAM, gd.GaussianDP(0.5)),
    "rounded Gaussian, real": gd.Gaussian.calibrate(LpBall(4, 2, 5.0), gd.ApproxDP(1, 1e-6)),
    "discrete Gaussian": gd.Gaussian.calibrate(HISTOGRAM, gd.ZCDP(0.05)),
    "discrete Gaussian, wide": gd.Gaussian.calibrate(REPLACED, gd.ZCDP(1e-5)),
    "Identity": gd.Identity.calibrate(HISTOGRAM, gd.PureDP(0.5)),
}
ALARM = kit.QUARTER / (4 * len(MECHANISMS) + 4)  # four tests on each, and four on prefix sums


def law_of(mechanism):
    return mechanism.law if isinstance(mechanism, gd.Identity) else mechanism.runs[0][1]


def too_small(law):
    """The law of noise 10 % too small."""
    if isinstance(law, DiscreteLaplace):
        return DiscreteLaplace(law.scale * 10 / 11)
    if isinstance(law, DiscreteGaussian):
        return DiscreteGaussian(law.parameter * 100 / 121)
    return RoundedGaussian(law.std * 10 / 11)


@cache
def draws_of(name: str) -> np.ndarray:
    return MECHANISMS[name].draw(N_DRAWS, gd.research_rng(20240301))


def weak(name: str) -> np.ndarray:
    return too_small(law_of(MECHANISMS[name])).draw(4 * N_DRAWS, gd.research_rng(20240302))


@pytest.fixture(params=MECHANISMS)
def name(request) -> str:
    return request.param


def test_the_noise_follows_its_law(name: str) -> None:
    law = law_of(MECHANISMS[name])
    assert goodness_of_fit.fit(draws_of(name).ravel(), law) > ALARM
    assert goodness_of_fit.fit(weak(name), law) < ALARM
    assert goodness_of_fit.fit(weak(name), too_small(law)) > ALARM  # the control is what it says


def test_the_noise_is_as_wide_as_claimed(name: str) -> None:
    law = law_of(MECHANISMS[name])
    assert goodness_of_fit.size(draws_of(name).ravel(), law) > ALARM
    assert goodness_of_fit.size(weak(name), law) < ALARM


def test_the_noise_has_fair_signs(name: str) -> None:
    assert goodness_of_fit.sign(draws_of(name).ravel()) > ALARM
    tilted = np.where(np.arange(4 * N_DRAWS) % 20 == 0, np.abs(draws_of(name).ravel()), draws_of(name).ravel())
    assert goodness_of_fit.sign(tilted) < ALARM


def test_the_noise_is_independent(name: str) -> None:
    assert goodness_of_fit.independence(draws_of(name)) > ALARM
    copied = draws_of(name).copy()
    copied[::20, 1] = copied[::20, 0]  # one draw in twenty is used for two answers
    assert goodness_of_fit.independence(copied) < ALARM
    resized = draws_of(name).copy()
    resized[::6, 2] = resized[::6, 3] * np.where(np.arange(len(resized[::6])) % 2, 1, -1)  # of equal size only
    assert goodness_of_fit.independence(resized) < ALARM


def test_noise_on_cells_is_the_question_of_independent_noise() -> None:
    """F is invertible for prefix sums, so the cells' noise can be read off and put to the same tests."""
    body = gd.prefix_sums(DOMAIN, "a").sensitivity(gd.PrivacyUnit())
    mechanism = gd.Identity.calibrate(body, gd.PureDP(0.5))
    cells = np.diff(mechanism.draw(N_DRAWS, gd.research_rng(20240303)), axis=1, prepend=0)
    assert goodness_of_fit.fit(cells.ravel(), mechanism.law) > ALARM
    assert goodness_of_fit.size(cells.ravel(), mechanism.law) > ALARM
    assert goodness_of_fit.sign(cells.ravel()) > ALARM
    assert goodness_of_fit.independence(cells) > ALARM
    assert goodness_of_fit.independence(np.cumsum(cells, axis=1)) < ALARM


def test_what_is_guaranteed_decides_the_law() -> None:
    """The scales come from the bodies and guarantees: 1/ε, 2·3/ε under replace with three rows, Δ/μ, Δ²/(2ρ)."""
    assert law_of(MECHANISMS["Laplace"]).scale == 1
    assert law_of(MECHANISMS["Laplace, person"]).scale == 60
    assert law_of(MECHANISMS["Identity"]).scale == 2
    assert float(law_of(MECHANISMS["rounded Gaussian"]).std) == pytest.approx(2, rel=1e-11)
    assert float(law_of(MECHANISMS["discrete Gaussian"]).parameter) == pytest.approx(10, rel=1e-11)
    assert float(law_of(MECHANISMS["discrete Gaussian, wide"]).parameter) == pytest.approx(18 / 2e-5, rel=1e-9)
