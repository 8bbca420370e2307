"""Roots of functions with a sign."""

import math
from collections.abc import Callable

import pytest

from gaugedp._internal.bisection import root_of


@pytest.mark.parametrize(
    ("function", "low", "high", "root"),
    [
        (lambda x: x * x - 2, 0.0, 2.0, math.sqrt(2)),
        (lambda x: math.exp(x) - 5, -10.0, 10.0, math.log(5)),
        (lambda x: 1.0 if x > 0.3 else -1.0, 0.0, 1.0, 0.3),
        (lambda x: max(-50.0, min(50.0, -1e6 * math.log(x + 1e-300))), 0.0, 7.0, 1.0),
        (lambda x: (x - 0.5) ** 9, 0.0, 1.0, 0.5),
        (lambda x: x - 1e-200, 0.0, 1.0, 1e-200),
        (lambda x: x, 0.0, 1.0, 0.0),
        (lambda x: 1.0 if x > 0 else -1.0, 0.0, 1.0, 0.0),
        (lambda x: 1.0 if x > 1e-310 else -1.0, 0.0, 1.0, 1e-310),
    ],
)
def test_roots(function: Callable[[float], float], low: float, high: float, root: float) -> None:
    for ends in ((low, high), (high, low)):
        assert root_of(function, *ends) == pytest.approx(root, rel=1e-14, abs=5e-324)


def test_the_sign_changes_within_what_is_asked() -> None:
    assert root_of(lambda x: x - 0.3, 0.0, 1.0, apart=0.1) == pytest.approx(0.3, abs=0.1)


def test_one_sign_is_refused() -> None:
    with pytest.raises(ValueError, match="the same sign"):
        root_of(lambda _: 1.0, 0.0, 1.0)
