import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.kit import Desk, furnish
from tests.forking import Nursery, nursery


@pytest.fixture(scope="session")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("furnished")
    furnish(folder)
    return folder


@pytest.fixture
def desk(furnished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Desk:
    folder = tmp_path / "desk"
    shutil.copytree(furnished, folder)
    monkeypatch.chdir(folder)
    return Desk(folder, capsys.readouterr)


@pytest.fixture(scope="module")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    with nursery(tmp_path_factory.mktemp("forks")) as running:
        yield running
