"""Zoos in two parts: `make test` asks some of the cases everything, `make thorough` the others."""

from collections.abc import Iterable
from typing import Any

import pytest


def one_in(n: int, cases: Iterable[Any]) -> list[Any]:
    """Return the cases as parameters: every n-th runs in `make test`, the others in `make thorough`.

    Choose an n without a common divisor with the lengths of a product, so that each of its factors takes its turn.
    """
    return [
        case if place % n == 0 else pytest.param(case, marks=pytest.mark.thorough) for place, case in enumerate(cases)
    ]
