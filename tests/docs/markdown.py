"""Code blocks of Markdown pages, and how to run them."""

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

from gaugedp.domain import Domain, PrivacyUnit

FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\w+)[^\n]*\n(?P<code>.*?)^(?P=indent)```[ ]*$", re.MULTILINE | re.DOTALL
)
NOT_RUN = re.compile(r"<!-- not run: \S.*? -->\s*\Z", re.DOTALL)
EXIT = re.compile(r"<!-- exit: (\d) -->\s*\Z")
RUN_COMMAND = "import sys; from gaugedp.cli.main import main; sys.argv[0] = 'gaugedp'; sys.exit(main())"


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, text, first line, and the exit code its commands must have."""

    language: str
    code: str
    line: int
    exit_code: int = 0

    @property
    def commands(self) -> list[str]:
        """The `gaugedp` commands of a shell block, continuation lines joined, prompts removed."""
        lines = self.code.replace("\\\n", " ").splitlines()
        typed = [line.strip().removeprefix("$ ") for line in lines]
        return [line for line in typed if line.split(" ")[0] == "gaugedp"]


def blocks(text: str) -> list[Block]:
    """Return the blocks that are to run: all but those right after `<!-- not run: reason -->`."""
    found = []
    for match in FENCE.finditer(text):
        before = text[: match.start()]
        if NOT_RUN.search(before[before.rfind("<!--") :] if "<!--" in before else ""):
            continue
        wanted = EXIT.search(before[-40:])
        line = before.count("\n") + 2
        found.append(Block(match["language"], dedent(match["code"]), line, int(wanted[1]) if wanted else 0))
    return found


def run_page(page: Path, folder: Path) -> int:
    """Run the blocks of a page in order, inside `folder`, with shared names; return how many ran."""
    names: dict[str, object] = {"__name__": "__main__"}
    n_run = 0
    for block in blocks(page.read_text("utf-8")):
        if block.language == "python":
            # Empty lines in front make a traceback point at the page's own lines.
            exec(compile("\n" * (block.line - 1) + block.code, str(page), "exec"), names)
            n_run += 1
        elif block.language == "toml" and "[attributes]" in block.code:
            load_domain(block.code, folder)
            n_run += 1
        elif block.language in ("bash", "console", "shell"):
            for command in block.commands:
                run_command(command, folder, block.exit_code)
                n_run += 1
    return n_run


def load_domain(text: str, folder: Path) -> None:
    """Load a printed domain file."""
    file = folder / "printed-domain.toml"
    file.write_text(text, "utf-8")
    Domain.load(file)
    PrivacyUnit.load(file)


def run_command(command: str, folder: Path, exit_code: int = 0) -> None:
    """Run one `gaugedp` command line as a new process and check its exit code."""
    arguments = shlex.split(command, comments=True)[1:]
    run = subprocess.run(
        [sys.executable, "-c", RUN_COMMAND, *arguments],
        cwd=folder,
        env={**os.environ, "COLUMNS": "120"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == exit_code, f"{command}\nexit {run.returncode}\n{run.stdout}{run.stderr}"
