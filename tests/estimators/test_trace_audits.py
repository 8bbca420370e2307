"""A black-box audit of whole fits of a number, X (1, 1): quiet at what is asked, an alarm at noise a third too small.

What is seen is the sign of coef_, which is that of one noisy sum of slopes: of a single step of Frank–Wolfe. Keys are
fixed; an audit that is quiet alarms with a chance of 0.1 % under fresh ones.
"""

from itertools import count

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.entropy import research_rng
from gaugedp.mechanisms.base import Prepared

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from gaugedp.estimators.trace_regression import TraceRegression

pytestmark = [pytest.mark.statistical, pytest.mark.thorough]
EXACT_CALL = Prepared.__call__
TABLES = np.array([-1.0, -1.0]), np.array([-1.0, 1.0])


def violated(model: TraceRegression, runs: int) -> bool:
    """Audit fits to two designs of 1 with these targets."""
    keys = count()

    def sign(side: float) -> float:
        model.set_params(random_state=next(keys)).fit(np.ones((2, 1, 1)), TABLES[int(side)])
        return float(np.sign(model.coef_[0, 0]))

    claim = gd.PureDP(model.epsilon)
    return gd.audit.audit(sign, 0.0, 1.0, claim, runs=runs, confidence=0.999, rng=research_rng(3)).violated


def narrower(prepared: Prepared, answer: np.ndarray) -> np.ndarray:
    return answer + np.rint((EXACT_CALL(prepared, answer) - answer) * 2 / 3).astype(np.int64)


def test_whole_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slopes of the absolute loss at 0 are −y: their sums are 2 and 0, as far apart as is charged."""
    public = {"design_norm": 1.0, "target_bounds": (-1, 1), "neighbours": "replace"}
    model = TraceRegression(2.0, solver="frank_wolfe", loss="absolute", **public)
    assert not violated(model, 650)
    monkeypatch.setattr(Prepared, "__call__", narrower)
    assert violated(model, 2600)
    assert model.method_.n_steps == 1
