"""Drawings of values for pages and notebooks.

Values do not know how they are drawn: the package registers a module (`gaugedp/__init__.py`), imported at first use.
"""

import importlib
from collections.abc import Callable
from typing import Any

_places: list[str] = []


def drawings_are_in(module: str) -> None:
    """Register the module of the drawings."""
    _places[:] = [module]


def drawing(name: str) -> Callable[..., Any]:
    return getattr(importlib.import_module(*_places), name)


def drawn_by(name: str) -> Callable[[Any], str]:
    """Return a `_repr_html_` that calls the drawing `name`."""

    def display(self: Any) -> str:
        return str(drawing(name)(self))

    return display
