"""Audits of fits where noise is loud: of the single step of two classes, and of several. Keys are fixed."""

import math
from collections.abc import Callable
from itertools import count

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.entropy import research_rng
from gaugedp.guarantees.gaussian_curve import gaussian_mu

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from gaugedp.estimators.linear_model import LinearProblem
from gaugedp.estimators.logistic import LogisticRegression

pytestmark = pytest.mark.statistical
ASKED, WIDTH, N_ROWS, MU_SIDE = gd.ApproxDP(0.5, 1e-6), 4000, 1000, 0.05


def deviation_over_charge(replaced: bool) -> float:
    """Return the deviation of the noise of one step, over the one that μ leaves it: rows of zeros have no gradient."""
    rows, codes = np.zeros((2, WIDTH)), np.array([0, 1])
    problem = LinearProblem(rows, codes, np.ones(2), 2, N_ROWS, ASKED, MU_SIDE, 10.0, replaced, False)
    weights, _, exactness, _ = problem.stepped(research_rng(5))
    left = math.sqrt(gaussian_mu(ASKED.epsilon_value, ASKED.delta_value) ** 2 - MU_SIDE**2)
    charged = (1.0 if replaced else 0.5) / left  # slopes are 1/2
    step = min(8.0, 10.0 * N_ROWS * left / ((1.0 if replaced else 0.5) * math.sqrt(WIDTH)))
    assert exactness == "exact"
    return float(weights.std()) / (step / N_ROWS * charged)


@pytest.mark.parametrize("replaced", [True, False])
def test_the_noise_of_one_step_is_what_its_guarantee_asks_for(replaced: bool) -> None:
    """4,000 numbers: a false alarm is four standard errors, 0.006 % under fresh keys; a tenth less is seen."""
    ratio, allowed = deviation_over_charge(replaced), 4 / math.sqrt(2 * WIDTH)
    assert abs(ratio - 1) < allowed
    assert abs(0.9 * ratio - 1) > allowed


def fits(n_classes: int, times: float) -> Callable[[float], np.ndarray]:
    """Return fits of four rows to `times` ε = 2, and by δ = 1e-3: coefficients and intercepts, one row being given."""
    keys = count()

    def run(row: float) -> np.ndarray:
        model = LogisticRegression(2.0 * times, 1e-3, row_norm=1.0, classes=range(n_classes), random_state=next(keys))
        model.fit(np.array([[row], [0.0], [0.0], [0.0]]), np.array([1, 0, 0, 0]))
        return np.append(model.coef_, model.intercept_)

    return run


@pytest.mark.parametrize(("n_classes", "times"), [(2, 2.5), (3, 5.0)])
def test_a_whole_fit_is_quiet_and_alarms_at_a_fraction_of_its_noise(n_classes: int, times: float) -> None:
    """Black-box, 2,000 runs of rows that are replaced; an audit alarms falsely at a rate of 0.1 %."""
    claim = gd.GaussianDP(gaussian_mu(2.0, 1e-3))
    for loud in (1.0, times):
        actual = gd.audit.audit(
            fits(n_classes, loud), 1.0, -1.0, claim, runs=2000, confidence=0.999, rng=research_rng(3)
        )
        assert actual.violated == (loud > 1)
