"""A process that has the library loaded and forks: programs start in milliseconds, can be limited and can be killed."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SERVER = """
import json, os, signal, sys, traceback
import codecs, csv, gzip, sqlite3, tomllib
import cryptography.hazmat.primitives.ciphers, duckdb, rich.console, rich.table, scipy.sparse, scipy.special
import gaugedp as gd
import gaugedp.cli.main, gaugedp.ledger.sqlite, gaugedp.tables.duckdb.engine, gaugedp.tables.statement
from sqlglot import exp

exp.select("a").from_("t").sql(dialect="duckdb")
codecs.lookup("utf-8-sig")
domain = gd.Domain.of(A=["1", "2"], B=gd.bounded(0, 1))
gd.plan(gd.query(domain, "A; mean(B)"), gd.PrivacyUnit(), epsilon=1.0).table()


def live(order):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.alarm(60)  # a program that hangs does not stay
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for descriptor, path in ((1, order["out"]), (2, order["err"])):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), descriptor)
    os.chdir(order["folder"])
    code = 0
    try:
        exec(order["program"], {"__name__": "__main__", **order["names"]})
    except SystemExit as stop:
        code = stop.code or 0
    except BaseException:
        traceback.print_exc()
        code = 1
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            code = code or 120
    os._exit(code)


for line in sys.stdin:
    order = json.loads(line)
    if "wait" in order:
        answer = os.waitstatus_to_exitcode(os.waitpid(order["wait"], 0)[1])
    else:
        answer = os.fork()
        if answer == 0:
            live(order)
    sys.stdout.write(f"{answer}\\n")
    sys.stdout.flush()
"""


@dataclass(frozen=True)
class Done:
    """How a program ended and what it said."""

    code: int
    out: str
    err: str

    @property
    def last(self) -> str:
        """The last line on standard error."""
        return (self.err.splitlines() or [""])[-1]


class _Pipe:
    """A named pipe that is read as it fills."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path, self._found = str(path), ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with open(self.path, encoding="utf-8") as pipe:
            self._found = pipe.read()

    def text(self) -> str:
        """Everything that was written until the end."""
        self._reader.join()
        return self._found


class Nursery:
    """The forking process. Programs run in a folder of their own choice; `place` holds the pipes."""

    def __init__(self, process: "subprocess.Popen[str]", place: Path) -> None:
        self._process, self._place, self._count = process, place, 0

    def start(
        self, program: str, folder: Path, *, out: str = os.devnull, err: str = os.devnull, **names: object
    ) -> int:
        """Start `program` with the global `names`; return its process id."""
        order = {"program": program, "folder": str(folder), "names": names}
        return self._ask({**order, "out": out, "err": err})

    def wait(self, process: int) -> int:
        """Return the exit code, or minus the signal."""
        return self._ask({"wait": process})

    def run(self, program: str, folder: Path, *, out: str | None = None, **names: object) -> Done:
        """Run `program` to its end; what it says goes through pipes, which have no limit of size."""
        self._count += 1
        said, complained = (_Pipe(self._place / f"{self._count}.{end}") for end in ("out", "err"))
        code = self.wait(self.start(program, folder, out=out or said.path, err=complained.path, **names))
        return Done(code, "" if out else said.text(), complained.text())

    def _ask(self, order: dict[str, object]) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


def wait_for_text(path: Path, longest: float) -> None:
    """Wait until a file has text, `longest` seconds at most: how soon it has depends on the machine."""
    end = time.monotonic() + longest
    while time.monotonic() < end and not (path.exists() and path.stat().st_size):
        time.sleep(0.005)


@contextmanager
def nursery(place: Path) -> Iterator[Nursery]:
    """Start the forking process and end it."""
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    )
    try:
        yield Nursery(process, place)
    finally:
        process.communicate()
