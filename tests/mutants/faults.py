"""Planted faults: one line of the library each, with the tests that must fail while it is there.

They stand in the TOML files of this folder, one file a room. Each is a table named for what goes wrong:

    [no-lock-before-the-sum]
    file = "ledger/sqlite.py"                      # below src/gaugedp
    old = '"BEGIN IMMEDIATE" if write'             # occurs once in the file; the shorter, the longer it lives
    new = '"BEGIN" if write'
    why = "Two processes read one sum, and both spend what is left."
    tests = ["tests/faults/test_ledger_races.py::test_two_processes_never_exceed_the_budget"]
"""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
SOURCE = Path("src/gaugedp")


@dataclass(frozen=True)
class Fault:
    """One fault; `tests` are files, or tests in them, that must fail within `seconds` in all."""

    room: str
    name: str
    file: str
    old: str
    new: str
    why: str
    tests: tuple[str, ...]
    seconds: float = 180.0

    def planted(self, source: str) -> str:
        """Return the source with the fault in it; refuse a source in which it has not exactly one place."""
        count = source.count(self.old)
        if count != 1 or self.old == self.new:
            raise ValueError(f"{self}: {self.old!r} occurs {count} times in {self.file}, and must occur once.")
        return source.replace(self.old, self.new)

    def place(self, source: str) -> str:
        """Return the file and the line of the fault."""
        return f"{SOURCE / self.file}:{source[: source.find(self.old)].count(chr(10)) + 1}"

    def __str__(self) -> str:
        return f"{self.room}/{self.name}"


def read(folder: Path = FOLDER) -> Iterator[Fault]:
    """Yield the faults of all rooms."""
    for path in sorted(folder.glob("*.toml")):
        for name, facts in tomllib.loads(path.read_text("utf-8")).items():
            yield Fault(path.stem, name, **{**facts, "tests": tuple(facts["tests"])})
