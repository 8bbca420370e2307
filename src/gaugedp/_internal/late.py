"""Lazy imports of the names in a package's stub file."""

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

RENAMED = {  # public names of earlier versions, which an error points to
    "KeySelection": "PartitionSelection",
    "Together": "ProductMechanism",
    "BestOrder": "RenyiBudget",
    "Account": "LedgerHeader",
    **dict.fromkeys(
        ("LogSobolev", "convex_risk", "nuclear_risk", "conjectured_rate", "oja_privacy"), "examples/papers"
    ),
}


def attach(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return a package's `__getattr__`, `__dir__` and `__all__`.

    `file` is the package's `__init__.py`; the stub next to it imports every public name from its module.
    """
    places = _places(Path(file).with_suffix(".pyi"), package)

    def get(name: str) -> Any:
        if name not in places:
            hint = f". Use {RENAMED[name]}: the changelog lists new names." if name in RENAMED else ""
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")
        module, attribute = places[name]
        found: Any = importlib.import_module(module)
        if attribute:
            found = getattr(found, attribute)
            vars(sys.modules[package])[name] = found  # so that the next access does not come here
        return found

    return get, lambda: sorted(places), sorted(places)


def _places(stub: Path, package: str) -> dict[str, tuple[str, str]]:
    """Return the module and attribute (none for modules) of each name in a stub; `import *` means `__all__`."""
    statements = ast.parse(stub.read_text("utf-8")).body
    imports = [statement for statement in statements if isinstance(statement, ast.ImportFrom)]
    return {
        name: _place(stub.parent, str(statement.module), name, package)
        for statement in imports
        for alias in statement.names
        for name in (_exported(stub.parent, str(statement.module)) if alias.name == "*" else [alias.name])
    }


def _place(root: Path, module: str, name: str, package: str) -> tuple[str, str]:
    is_module = module == package or root.joinpath(*module.split(".")[1:], name).is_dir()
    return (f"{module}.{name}", "") if is_module else (module, name)


def _exported(root: Path, module: str) -> list[str]:
    source = root.joinpath(*module.split(".")[1:], "__init__.py").read_text("utf-8")
    lists = (node.value for node in ast.parse(source).body if isinstance(node, ast.Assign))
    return list(ast.literal_eval(next(lists)))
