"""Code blocks of Markdown pages, and how to run them. A ```text block right after a Python block is its output."""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import dedent

from gaugedp.domain import Domain, PrivacyUnit

FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\w+)[^\n]*\n(?P<code>.*?)^(?P=indent)```[ ]*$", re.MULTILINE | re.DOTALL
)
MARK = re.compile(r"<!-- (?P<kind>not run|exit|needs|saved as): (?P<said>\S.*?) -->\s*\Z", re.DOTALL)
OUTPUT = re.compile(r"\s*^```text\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
SHELLS = ("bash", "console", "shell", "sh")
RUN_COMMAND = "import sys; from gaugedp.cli.main import main; sys.argv[0] = 'gaugedp'; sys.exit(main())"
PROGRAMS: dict[str, tuple[str, ...]] = {"gaugedp": ("-c", RUN_COMMAND), "python": ()}


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, text, first line, and what the remark right before it says.

    `kind` is "not run" with a reason, "needs" with a tool, "exit" with the code its commands must have, "saved as" with
    the name of its file, or nothing. `output` is the printed output that the page shows.
    """

    language: str
    code: str
    line: int
    kind: str = ""
    said: str = ""
    output: str | None = None

    @property
    def exit_code(self) -> int:
        """The exit code that the commands must have."""
        return int(self.said) if self.kind == "exit" else 0

    @property
    def commands(self) -> list[str]:
        """The commands of a shell block, continuation lines joined, prompts removed.

        Where lines begin with a prompt, the others are what was printed.
        """
        lines = [line.strip() for line in self.code.replace("\\\n", " ").splitlines()]
        typed = [line for line in lines if line.startswith("$ ")] or lines
        return [line.removeprefix("$ ") for line in typed if line and not line.startswith("#")]


def all_blocks(text: str) -> list[Block]:
    """Return all fenced blocks of a page."""
    results = []
    for match in FENCE.finditer(text):
        before = text[: match.start()]
        mark = MARK.search(before[max(before.rfind("<!--"), 0) :])
        line = before.count("\n") + 2
        remark = (mark["kind"], " ".join(mark["said"].split())) if mark else ("", "")
        output = OUTPUT.match(text, match.end())
        results.append(Block(match["language"], dedent(match["code"]), line, *remark, output and output["text"]))
    return results


def blocks(text: str, tool: str = "") -> list[Block]:
    """Return the blocks that run where there is `tool`, or no tool: none that is marked "not run"."""
    return [
        block
        for block in all_blocks(text)
        if block.kind != "not run" and (block.kind != "needs" or block.said == tool) and runs(block)
    ]


def runs(block: Block) -> bool:
    """Whether a block is of a kind that can run: Python, a shell's commands, a whole domain file, a file in JSON."""
    if block.language == "json":
        return block.kind == "saved as"
    return block.language in ("python", *SHELLS) or (block.language == "toml" and "[attributes]" in block.code)


def run_page(page: Path, folder: Path, tool: str = "", edit: Callable[[str], str] = str) -> int:
    """Run the blocks of a page in order, inside `folder`, with shared names; return how many ran.

    `edit` puts the addresses of this machine in the place of those in the text.
    """
    names: dict[str, object] = {"__name__": "__main__"}
    chosen = blocks(page.read_text("utf-8"), tool)
    for block in chosen:
        run_block(replace(block, code=edit(block.code)), page, folder, names)
    return len(chosen)


def run_block(block: Block, page: Path, folder: Path, names: dict[str, object]) -> None:
    """Run one block."""
    if block.language == "python":
        printed = run_python(block, page, names)
        assert block.output is None or block.output == printed, f"{page.name} does not show:\n{printed}"
    elif block.language == "toml":
        load_domain(block.code, folder / (block.said if block.kind == "saved as" else "printed-domain.toml"))
    elif block.language == "json":
        (folder / block.said).write_text(block.code, "utf-8")
    else:
        for command in block.commands:
            run_command(command, folder, block.exit_code)


def run_python(block: Block, page: Path, names: dict[str, object]) -> str:
    """Run a block of Python and return what it printed."""
    # Empty lines in front make a traceback point at the page's own lines.
    program = compile("\n" * (block.line - 1) + block.code, str(page), "exec")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(program, names)
    return printed.getvalue()


def load_domain(text: str, file: Path) -> None:
    """Load a printed domain file."""
    file.write_text(text, "utf-8")
    Domain.load(file)
    PrivacyUnit.load(file)


def run_command(command: str, folder: Path, exit_code: int = 0) -> None:
    """Run one `gaugedp` or `python` command line as a new process and check its exit code; there are no others."""
    program, *arguments = shlex.split(command, comments=True)
    assert program in PROGRAMS, f"{command}: only {' and '.join(PROGRAMS)} can be run here"
    run = subprocess.run(
        [sys.executable, *PROGRAMS[program], *arguments],
        cwd=folder,
        env={**os.environ, "COLUMNS": "120"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == exit_code, f"{command}\nexit {run.returncode}\n{run.stdout}{run.stderr}"
