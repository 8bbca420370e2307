"""Cache for expensive noise statistics, one per instance."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
T = TypeVar("T")


def remembered(method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """Cache a method of numbers and arrays per instance."""

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
