"""Lazy imports: a package's names, as its stub file lists them, are imported when they are first used."""

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def attach(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return a package's `__getattr__`, `__dir__` and `__all__`.

    `file` is the package's `__init__.py`; the stub beside it imports every public name from the module that holds it.
    """
    modules = _modules(Path(file).with_suffix(".pyi"))

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = modules[name]
        if module == package:
            return importlib.import_module(f"{package}.{name}")
        found = getattr(importlib.import_module(module), name)
        vars(sys.modules[package])[name] = found  # so that the next access does not come here
        return found

    return get, lambda: sorted(modules), sorted(modules)


def _modules(stub: Path) -> dict[str, str]:
    """Return the module that each name of a stub is imported from; `import *` stands for the module's `__all__`."""
    statements = ast.parse(stub.read_text("utf-8")).body
    imports = [statement for statement in statements if isinstance(statement, ast.ImportFrom)]
    return {
        name: str(statement.module)
        for statement in imports
        for alias in statement.names
        for name in (_exported(stub.parent, str(statement.module)) if alias.name == "*" else [alias.name])
    }


def _exported(root: Path, module: str) -> list[str]:
    """Return a package's `__all__` without importing it."""
    source = root.joinpath(*module.split(".")[1:], "__init__.py").read_text("utf-8")
    lists = (node.value for node in ast.parse(source).body if isinstance(node, ast.Assign))
    return list(ast.literal_eval(next(lists)))
