"""Black-box audits of whole fits of a number, X (1, 1): quiet at what is asked, an alarm at noise a third too small.

What is seen is the sign of coef_, which is that of one noisy sum: of y·A for moments, of slopes for a single step of
Frank–Wolfe. Tables make it as telling as the guarantee lets it be, or nearly. Keys are fixed; an audit that is quiet
alarms with a chance of 0.1 % under fresh ones.
"""

from itertools import count

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.entropy import research_rng
from gaugedp.mechanisms.base import Prepared
from gaugedp.optimization import matrix_moments

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from gaugedp.estimators.row_count import NoisyRowCount
from gaugedp.estimators.trace_regression import TraceRegression

pytestmark = [pytest.mark.statistical, pytest.mark.thorough]
EXACT_CALL = Prepared.__call__


def violated(model: TraceRegression, tables: tuple[list[float], list[float]], runs: int) -> bool:
    """Audit fits to designs of 1 with these targets."""
    keys = count()

    def sign(side: float) -> float:
        target = np.array(tables[int(side)])
        model.set_params(random_state=next(keys)).fit(np.ones((len(target), 1, 1)), target)
        return float(np.sign(model.coef_[0, 0]))

    sign(0.0)
    claim = model.method_.guarantee
    return gd.audit.audit(sign, 0.0, 1.0, claim, runs=runs, confidence=0.999, rng=research_rng(3)).violated


def narrower(prepared: Prepared, answer: np.ndarray) -> np.ndarray:
    return answer + np.rint((EXACT_CALL(prepared, answer) - answer) * 2 / 3).astype(np.int64)


FITS = [
    (("frank_wolfe", 2.0, 0.0, "replace"), ([-1.0, -1.0], [-1.0, 1.0]), 2600),
    (("frank_wolfe", 6.0, 0.05, "add_remove"), ([-1.0, 0.05], [0.05]), 800),
    (("moments", 6.0, 0.05, "replace"), ([-1.0], [1.0]), 700),
]


@pytest.mark.parametrize(("asked", "tables", "runs"), FITS)
def test_whole_fits(asked, tables, runs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slopes of the absolute loss at 0 are −y/|y|, half of that at y = 0.05: sums are 2 and 0, or ±1/2.

    Of a number the first step of moments has the sign of the last. The noisy number of rows is no part of the claim.
    """
    monkeypatch.setattr(matrix_moments, "_STEPS", 1)
    monkeypatch.setattr(NoisyRowCount, "draw", lambda *_: 1.0)
    solver, epsilon, delta, neighbours = asked
    loss = "squared" if solver == "moments" else "absolute"
    model = TraceRegression(
        epsilon, delta, design_norm=1.0, target_bounds=(-1, 1), solver=solver, loss=loss, neighbours=neighbours
    )
    assert not violated(model, tables, runs // 4)
    monkeypatch.setattr(Prepared, "__call__", narrower)
    assert violated(model, tables, runs)
    assert getattr(model.method_, "n_steps", 1) == 1
