"""Drawings by name, imported on demand."""

import importlib
from typing import Any

_PLACES = {
    "page": ("html", "render"),
    "press_page": ("press", "press"),
    "erratum": ("erratum", "erratum"),
    "keys_page": ("keys_page", "keys_page"),
    "ledger_page": ("ledger_page", "ledger_page"),
    "error_curves": ("plots", "draw_curves"),
    "shadows": ("plots", "draw_shadows"),
    "shapes": ("plots", "draw_shapes"),
    "amount": ("words", "amount"),
    "check_installed": ("plots", "check_installed"),
}


def __getattr__(name: str) -> Any:
    module, function = _PLACES.get(name, ("notebook", name))
    return getattr(importlib.import_module(f"gaugedp.report.{module}"), function)
