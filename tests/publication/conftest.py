"""The desk of each test."""

from pathlib import Path

import pytest

from tests.publication.kit import DOMAIN, written


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    (tmp_path / "domain.toml").write_text(DOMAIN, "utf-8")
    (tmp_path / "people.csv").write_text("SEX,AGE,PAY\n" + "1,5,10\n2,25,40\n2,45,90\n" * 100, "utf-8")
    written(tmp_path)
    return tmp_path
