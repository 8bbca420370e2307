"""The pictures of the docs can be taken again, and that of the report is of the page that `make demo` writes."""

import struct
from pathlib import Path

import pytest

from examples import pictures
from tests.report.test_browser import BROWSER

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"


def test_the_demo_is_read_from_the_makefile() -> None:
    words = pictures.demo_command()
    assert words[:2] == ["release", "examples/acs/acs_ma2018.csv"]
    assert "DEMO_QUERY" not in " ".join(words)
    assert {"--query", "--epsilon", "--budget", "--report"} <= set(words)


@pytest.mark.slow
def test_the_picture_of_the_report_is_of_the_demo(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: the extra gaugedp[report]")
    words = pictures.write_report(tmp_path)
    page = (tmp_path / "report.html").read_text("utf-8")
    assert words[words.index("--query") + 1] in page
    comment = pictures.comment_of((IMAGES / "report.png").read_bytes())
    assert comment == pictures.described(words, page), "make pictures takes it again"


def test_a_comment_is_read_back() -> None:
    png = (IMAGES / "report.png").read_bytes()
    assert pictures.comment_of(pictures.with_comment(png, "SEX; AGEP\nAnswers")) == "SEX; AGEP\nAnswers"
    assert pictures.comment_of((IMAGES / "explorer.png").read_bytes()[:33] + bytes(40)) == ""


@pytest.mark.slow
def test_both_pictures_are_taken(tmp_path: Path) -> None:
    if BROWSER is None:
        pytest.skip("no chromium-headless-shell on this machine")
    pictures.main(["--out", str(tmp_path), "--seconds", "1"])
    for name, size in pictures.SIZES.items():
        taken = (tmp_path / f"{name}.png").read_bytes()
        assert taken[:8] == b"\x89PNG\r\n\x1a\n"
        assert struct.unpack(">II", taken[16:24]) == size
        assert len(taken) > 50_000, "not an empty page"
        assert pictures.comment_of(taken).startswith("gaugedp ")
