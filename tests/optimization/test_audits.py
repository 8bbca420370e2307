"""Black-box audits of whole fits: two neighbouring tables of one row, a claim, and the same with far too little noise.

The audits' false-alarm rate is 1 % each; keys are fixed. 700 runs and one number of what is released see only gross
errors, and the controls are such: a fourth or a tenth of the noise of a pure promise, a sixteenth or less of that of an
approximate one. Half of the noise is NOT seen here. The softmax is not audited here; see its simulation beside.
"""

from collections.abc import Callable

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.entropy import research_rng
from gaugedp.optimization.frank_wolfe import FrankWolfe, frank_wolfe
from gaugedp.optimization.least_squares import BITS, LeastSquares
from gaugedp.optimization.losses import Logistic
from gaugedp.optimization.objective_perturbation import CappedLogistic, ObjectivePerturbation, Problem
from gaugedp.optimization.smoothing import SmoothHinge

pytestmark = pytest.mark.statistical
ROW, RUNS = np.ones((1, 1)), 700
Fit = Callable[[float], float]


def perturbed(loss, target: np.ndarray, promise: gd.guarantees.Guarantee) -> Fit:
    mechanism, rng = ObjectivePerturbation.calibrate(Problem(loss, 1, 5.0), promise, 4), research_rng(7)
    return lambda side: mechanism.solve(ROW, target[[int(side)]], rng)[-1]


def least_squares(solver: str, promise: gd.guarantees.Guarantee) -> Fit:
    mechanism, rng = LeastSquares.calibrate((4, 1), promise, 50.0, "replace", solver), research_rng(8)
    unit = 2.0**BITS
    return lambda side: mechanism.solve(ROW * unit, np.array([2 * side - 1]) * unit, rng)[0]


def vertices(promise: gd.guarantees.Guarantee) -> Fit:
    made, rng = FrankWolfe.calibrate(4, 1, Logistic(), 1.0, promise, steps=2), research_rng(9)
    return lambda side: frank_wolfe(ROW, np.array([2 * side - 1]), Logistic(), 1.0, made, rng)[0]


SIGNS = np.array([-1.0, 1.0])
FITS: dict[str, Callable[[gd.guarantees.Guarantee], Fit]] = {
    "logistic": lambda promise: perturbed(CappedLogistic(0.8), SIGNS, promise),
    "rounded hinge": lambda promise: perturbed(SmoothHinge(1.0), SIGNS, promise),
    "least squares, gradient": lambda promise: least_squares("gradient", promise),
    "least squares, preconditioned": lambda promise: least_squares("preconditioned", promise),
    "Frank-Wolfe": vertices,
}
LOUD = {"logistic": 4, "rounded hinge": 4, "least squares, gradient": 4}


def violated(fit: Fit, claim: gd.guarantees.Guarantee) -> bool:
    return gd.audit.audit(fit, 0.0, 1.0, claim, runs=RUNS, rng=research_rng(3)).violated


@pytest.mark.parametrize("name", FITS)
def test_a_pure_promise_holds_and_too_little_noise_is_seen(name: str) -> None:
    assert not violated(FITS[name](gd.PureDP(2.0)), gd.PureDP(2.0))
    assert violated(FITS[name](gd.PureDP(2.0 * LOUD.get(name, 10))), gd.PureDP(2.0))


@pytest.mark.parametrize("name", FITS)
def test_an_approximate_promise_holds_and_too_little_noise_is_seen(name: str) -> None:
    claim = gd.ApproxDP(2.0, 1e-6)
    assert not violated(FITS[name](claim), claim)
    assert violated(FITS[name](gd.ApproxDP(60.0, 1e-6)), claim)
