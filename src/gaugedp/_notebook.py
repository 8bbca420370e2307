"""Notebook displays of objects; the drawing code is imported when a notebook asks for it."""

import importlib
from collections.abc import Callable
from typing import Any


def drawn_by(name: str) -> Callable[[Any], str]:
    """Return a `_repr_html_` that calls the function `name` of gaugedp.report.notebook."""

    def drawing(self: Any) -> str:
        return str(getattr(importlib.import_module("gaugedp.report.notebook"), name)(self))

    return drawing
