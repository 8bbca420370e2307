"""Numbers about noise that take draws or sums, and are asked for again: kept for as long as their owner lives."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
T = TypeVar("T")


def remembered(method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """Return a method of numbers and arrays that computes the same once."""

    @wraps(method)
    def recalled(self: Any, *args: P.args, **named: P.kwargs) -> T:
        known = vars(self).setdefault(f"_known_{method.__name__}", {})
        key = *map(_key, args), *((name, _key(value)) for name, value in named.items())
        if key not in known:
            known[key] = method(self, *args, **named)
        return known[key]

    return recalled


def _key(value: Any) -> bytes | None:
    return None if value is None else np.asarray(value, dtype=float).tobytes()
