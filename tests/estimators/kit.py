"""What the tests of estimators share."""

from typing import Any

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest


def check_refused(model: Any, change: dict[str, Any], words: str, table: tuple[np.ndarray, np.ndarray]) -> None:
    """Insist that the model with other parameters is refused in these words, before the ledger is charged."""
    from sklearn.base import clone

    ledger = gd.Ledger.in_memory(gd.ApproxDP(50, 1e-3))
    with pytest.raises(InvalidRequest, match=words):
        clone(model).set_params(ledger=ledger, **change).fit(*table)
    assert [entry.kind for entry in ledger.entries()] == ["open"]
