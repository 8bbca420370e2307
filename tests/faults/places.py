"""Where the fault tests keep a ledger: in a file, and on a server."""

from pathlib import Path

import pytest

from tests.ledger.kit import Place
from tests.postgres import postgres

__all__ = ["place", "postgres"]


@pytest.fixture(params=["file", "server"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """The path of a file, or the address of a schema, where there is no ledger yet."""
    return tmp_path / "people.ledger" if request.param == "file" else request.getfixturevalue("postgres").new_ledger()
