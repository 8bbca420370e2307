"""Comparisons that know which way a number may err."""

import math


def assert_upper(found: float, truth, relative: float = 1e-9, absolute: float = 0.0) -> None:
    """An upper bound is never below the truth, and above it by no more than the tolerances."""
    assert not math.isnan(found)
    assert found >= truth, f"{found!r} is below {truth}"
    assert found <= truth * (1 + relative) + absolute, f"{found!r} is far above {truth}"
