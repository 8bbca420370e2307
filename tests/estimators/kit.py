"""What the tests of estimators share."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest

SKIPPED = {"check_pipeline_consistency", "check_array_api_input"}  # fits draw noise; no array-API input
OF_TRANSFORMERS = {"check_transformer_data_not_an_array", "check_transformer_general"}  # fits draw noise

OF_WEIGHTS = {
    "check_all_zero_sample_weights_error": "weights are data: an error would tell",
    "check_sample_weight_equivalence_on_dense_data": "weight 0 is not a row left out: noise follows the number of rows",
    "check_sample_weight_equivalence_on_sparse_data": "as above",
    "check_sample_weights_invariance": "as above, by its older name",
}

OF_ROWS = {
    "check_estimators_empty_data_messages": "the number of rows is private: an error would tell that there are none"
}


def check_refused(model: Any, change: dict[str, Any], words: str, table: tuple[np.ndarray, np.ndarray]) -> None:
    """Insist that the model with other parameters is refused in these words, before the ledger is charged."""
    from sklearn.base import clone

    ledger = gd.Ledger.in_memory(gd.ApproxDP(50, 1e-3))
    with pytest.raises(InvalidRequest, match=words):
        clone(model).set_params(ledger=ledger, **change).fit(*table)
    assert [entry.kind for entry in ledger.entries()] == ["open"]


def check_habits(model: Any, expected: dict[str, str], skipped: Iterable[str] = SKIPPED) -> None:
    """Insist that scikit-learn's own checks pass, one by one, but those expected to fail, each for its reason.

    `skipped` are those that may skip themselves, or fail for noise.
    """
    from sklearn.utils import estimator_checks

    failed, unknown = set(), []
    for parameter in estimator_checks.parametrize_with_checks([model]).args[1]:
        one, check = parameter.values if hasattr(parameter, "values") else parameter
        name = getattr(check, "func", check).__name__
        try:
            check(one)
        except Exception as error:
            failed.add(name)
            if name not in expected | OF_WEIGHTS | OF_ROWS and type(error).__name__ not in ("SkipTest", "Skipped"):
                unknown.append((name, repr(error)[:300]))
    assert not unknown
    assert failed <= {*expected, *OF_WEIGHTS, *OF_ROWS, *skipped}
