"""Folds and candidates of searches: who pays, in which process, and what is said when a fit is refused."""

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import GridSearchCV, cross_val_score

import gaugedp as gd
from gaugedp.errors import InvalidRequest, LedgerRefused
from gaugedp.estimators import LinearRegression, LogisticRegression

ROWS = np.random.default_rng(1).uniform(-1, 1, (120, 2))
LABELS = (ROWS[:, 0] > 0).astype(int)
MODEL = LogisticRegression(1.0, 1e-6, bounds=(-1, 1), classes=[0, 1])
ELSEWHERE = r"The ledger of this model is in the memory of another process\. Pass a ledger file.*n_jobs=1"
REFUSED = (
    r"LedgerRefused: This release costs ApproxDP\(1, 1e-06\); .* is left in .*"
    r"a refused fit is scored NaN, unless error_score='raise' is given\. Nothing was read and nothing was spent\."
)


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.thorough)])
def test_folds_share_a_ledger_file_whatever_their_processes(n_jobs: int, tmp_path) -> None:
    ledger = gd.Ledger.open(tmp_path / "people.ledger", gd.ApproxDP(10, 1e-4))
    model = clone(MODEL).set_params(ledger=ledger)
    assert np.isfinite(cross_val_score(model, ROWS, LABELS, cv=3, n_jobs=n_jobs)).all()
    assert ledger.spent.epsilon(3e-6) == pytest.approx(3)
    GridSearchCV(model, {"radius": [1.0, 10.0]}, cv=3, n_jobs=n_jobs).fit(ROWS, LABELS)
    assert ledger.spent.epsilon(10e-6) == pytest.approx(10)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [LogisticRegression, LinearRegression])
def test_a_ledger_in_memory_is_refused_in_words_in_other_processes(kind) -> None:
    ledger = gd.Ledger.in_memory(gd.ApproxDP(10, 1e-4))
    given = {"classes": [0, 1]} if kind is LogisticRegression else {"target_bounds": (0, 1)}
    model = kind(1.0, 1e-6, bounds=(-1, 1), ledger=ledger, **given)
    with pytest.raises(ValueError, match=ELSEWHERE):
        cross_val_score(model, ROWS, LABELS, cv=3, n_jobs=2)
    with pytest.raises(InvalidRequest, match=ELSEWHERE):
        cross_val_score(model, ROWS, LABELS, cv=3, n_jobs=2, error_score="raise")
    with pytest.raises(ValueError, match=ELSEWHERE):
        GridSearchCV(model, {"epsilon": [0.5, 1.0]}, n_jobs=2).fit(ROWS, LABELS)
    assert [entry.kind for entry in ledger.entries()] == ["open"]
    assert np.isfinite(cross_val_score(model, ROWS, LABELS, cv=3)).all(), "it serves in its own process"


def test_a_fold_that_is_refused_says_why_its_score_is_nan() -> None:
    model = clone(MODEL).set_params(ledger=gd.Ledger.in_memory(gd.ApproxDP(2, 1e-4)))
    with pytest.warns(FitFailedWarning, match=REFUSED) as told:
        scores = cross_val_score(model, ROWS, LABELS, cv=3)
    assert np.isnan(scores).tolist() == [False, False, True]
    assert str(told[0].message).count("\n") < 25, "no long traceback before what matters"
    with pytest.raises(LedgerRefused, match="scored NaN"):
        cross_val_score(model, ROWS, LABELS, cv=3, error_score="raise")
    with pytest.raises(ValueError, match=REFUSED):
        cross_val_score(model, ROWS, LABELS, cv=3)
