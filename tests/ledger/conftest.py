from pathlib import Path

import pytest

from gaugedp.guarantees import PureDP
from gaugedp.ledger import Ledger
from tests.ledger.kit import Place
from tests.postgres import postgres

__all__ = ["postgres"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "people.ledger"


@pytest.fixture(params=["file", "server"])
def place(request: pytest.FixtureRequest, path: Path) -> Place:
    """Where there is no ledger yet: the path of a file, the address of one on a server."""
    return path if request.param == "file" else request.getfixturevalue("postgres").new_ledger()


@pytest.fixture(params=["file", "memory", "server"])
def ledger(request: pytest.FixtureRequest, path: Path) -> Ledger:
    if request.param == "memory":
        return Ledger.in_memory(PureDP(2))
    place = path if request.param == "file" else request.getfixturevalue("postgres").new_ledger()
    return Ledger.open(place, PureDP(2))
