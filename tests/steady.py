"""Made-up inputs that are the same in every run, without a clock."""

from collections.abc import Callable
from typing import Any

import hypothesis
from hypothesis.strategies import SearchStrategy


def given(*strategies: SearchStrategy[Any], examples: int = 100) -> Callable[[Any], Any]:
    """Return Hypothesis' `given` for a test that must not depend on luck or on the speed of the machine."""

    def decorated(test: Any) -> Any:
        quiet = hypothesis.settings(deadline=None, derandomize=True, max_examples=examples, database=None)
        return quiet(hypothesis.given(*strategies)(test))

    return decorated
