"""The pictures of the docs can be taken again."""

import struct
from pathlib import Path

import pytest

from examples import pictures
from tests.report.test_browser import BROWSER


def test_both_pictures_are_taken(tmp_path: Path) -> None:
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make browser")
    if BROWSER is None:
        pytest.skip("no chromium-headless-shell on this machine")
    pictures.main(["--out", str(tmp_path), "--seconds", "1"])
    for name, size in pictures.SIZES.items():
        taken = (tmp_path / f"{name}.png").read_bytes()
        assert taken[:8] == b"\x89PNG\r\n\x1a\n"
        assert struct.unpack(">II", taken[16:24]) == size
        assert len(taken) > 50_000, "not an empty page"
