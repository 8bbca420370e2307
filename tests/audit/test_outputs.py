"""What an audit reads of outputs, and how it shares its chance of a miss."""

from typing import Any

import numpy as np
import pytest

from gaugedp.audit import distinguish
from gaugedp.audit.outputs import of_objects
from tests.audit.test_audit import audited, telling


def test_two_outputs_have_one_key_exactly_where_they_are_the_same() -> None:
    keys = of_objects([("a", 1.0), ("a", 2.0), ("b", 1.0), ("a", 1.0)]).keys
    assert keys[0] == keys[3]
    assert len(set(keys[:3].tolist())) == 3


def test_counted_tests_share_the_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a rule of rare outputs beside that of common ones, both levels together are the miss."""
    levels: list[tuple[float, bool]] = []
    whole = distinguish._test

    def noted(name: str, rule: Any, held_out: Any, level: tuple[float, bool]) -> Any:
        levels.append(level)
        return whole(name, rule, held_out, level)

    monkeypatch.setattr(distinguish, "_test", noted)
    assert audited(telling(0.01), runs=20_000, confidence=0.99).violated
    counted = [level for level, is_counted in levels if is_counted]
    assert len(counted) == 2
    assert sum(counted) <= 0.01 * (1 + 1e-12)
    assert np.all(np.array(counted) > 0)
