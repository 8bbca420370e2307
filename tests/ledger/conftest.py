from pathlib import Path

import pytest

from gaugedp.guarantees import PureDP
from gaugedp.ledger import Ledger


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "people.ledger"


@pytest.fixture(params=["file", "memory"])
def ledger(request: pytest.FixtureRequest, path: Path) -> Ledger:
    return Ledger.open(path, PureDP(2)) if request.param == "file" else Ledger.in_memory(PureDP(2))
