"""Names that are imported when they are first used, so that importing a package stays quick."""

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def late(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a module's `__getattr__`: `modules` maps each name to the module that holds it, or that it is."""

    def found(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = importlib.import_module(modules[name])
        return module if modules[name] == f"{package}.{name}" else getattr(module, name)

    return found
