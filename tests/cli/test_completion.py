"""Shells complete commands and options."""

import subprocess
import sys

import pytest

from gaugedp.cli.completion import SHELLS
from gaugedp.cli.main import run


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_for_each_shell(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", shell]) == 0
    assert f"_GAUGEDP_COMPLETE={shell}_complete" in capsys.readouterr().out


def test_another_shell_is_refused_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", "tcsh"]) == 2
    assert "'bash', 'zsh', 'fish'" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "at", "found"), [("gaugedp rel", 1, "release"), ("gaugedp release --eps", 2, "--epsilon")]
)
def test_words_are_completed(words: str, at: int, found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_GAUGEDP_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(at))
    program = "from gaugedp.cli.main import main; main()"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert f"plain,{found}" in shown.stdout.split()
