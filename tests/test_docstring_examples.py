"""Examples in docstrings run and show the results that they print."""

import doctest
import importlib
from pathlib import Path

import pytest

import gaugedp

ROOT = Path(gaugedp.__file__).parent
MODULES = sorted(
    ".".join(("gaugedp", *path.relative_to(ROOT).with_suffix("").parts))
    for path in ROOT.rglob("*.py")
    if " >>> " in path.read_text("utf-8")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str) -> None:
    results = doctest.testmod(importlib.import_module(name))
    assert results.attempted > 0
    assert results.failed == 0


def test_examples_are_found() -> None:
    assert "gaugedp.guarantees.calibrate" in MODULES
