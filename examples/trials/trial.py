"""From a raw table to a published folder by four commands, as an office does it.

A trial has the raw table, what its codebook says, and the file of the publication. It runs `gaugedp domain`, fills in
the lines that it proposes, runs `check`, `publish --dry-run` and `publish`, and prints each command with its seconds.
"""

import re
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gaugedp.cli.main import run

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Trial:
    """A table, the facts about it, and what is published.

    `write` writes the raw table to a file with the name `table`. `facts` are lines of the domain file by the beginnings
    of those that are proposed. `publication` is the file of the publication without its `data` and `domain`.
    """

    table: str
    write: Callable[[Path], object]
    facts: Mapping[str, str]
    publication: str

    def publish(self, folder: Path) -> dict[str, float]:
        """Publish in a folder; return the commands with their seconds."""
        folder.mkdir(parents=True, exist_ok=True)
        table, domain, publication = (folder / name for name in (self.table, "domain.toml", "publication.toml"))
        self.write(table)
        publication.write_text(f'data = "{self.table}"\ndomain = "domain.toml"\n{self.publication}', "utf-8")
        ledger = ["--ledger", str(folder / "ledger"), "--budget", "1"]
        seconds = _timed("domain", str(table), "--out", str(domain))
        domain.write_text(filled_in(domain.read_text("utf-8"), self.facts), "utf-8")
        seconds |= _timed("check", str(table), "--domain", str(domain))
        seconds |= _timed("publish", str(publication), "--dry-run")
        return seconds | _timed("publish", str(publication), *ledger, "--out", str(folder / "published"))


def _timed(*words: str) -> dict[str, float]:
    """Run a command; return it with its seconds."""
    started = time.perf_counter()
    if run(list(words)):
        sys.exit(f"gaugedp {words[0]} failed.")
    return {" ".join(("gaugedp", *words)): time.perf_counter() - started}


def filled_in(proposed: str, facts: Mapping[str, str]) -> str:
    """Return a proposed domain file with the lines of the codebook."""
    for start, line in facts.items():
        pattern = rf"^{re.escape(start)}[^\n]*$"
        proposed, found = re.subn(pattern, lambda _, line=line: line, proposed, count=1, flags=re.MULTILINE)
        if not found:
            raise ValueError(f"The proposed domain file has no line that begins with {start!r}.")
    return proposed


def main(trial: Trial) -> None:
    """Publish in the folder that the command line names; print the commands and their seconds."""
    seconds = trial.publish(Path(sys.argv[1]))
    for command, needed in seconds.items():
        print(f"{needed:6.1f} s  {command}")
    print(f"{sum(seconds.values()):6.1f} s  {len(seconds)} commands")
