"""The three mechanisms of the thesis: figures and printed words."""

from pathlib import Path

import pytest


def test_it_writes_three_figures_and_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    import examples.renyi_mechanisms

    examples.renyi_mechanisms.main(["--out", str(tmp_path / "figures")])
    files = sorted((tmp_path / "figures").iterdir())
    assert [file.name for file in files] == [f"renyi_{name}.svg" for name in ("gaussian", "laplace", "response")]
    assert all(file.stat().st_size > 10_000 for file in files)
    printed = capsys.readouterr().out
    assert "Laplace, λ = 1" in printed
    assert "at λ = 100 it is 4.98e-05" in printed
