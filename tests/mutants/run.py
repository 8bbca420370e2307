"""Plant the faults one at a time in a copy of the library, and say which the tests catch: `make mutants`.

A fault is caught where a test fails. A library that cannot be imported catches nothing: that fault is badly written.
"""

import argparse
import contextlib
import itertools
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from tests.mutants.faults import ROOT, SOURCE, Fault, read

COPIED = ("src", "tests", "examples", "pyproject.toml")
PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--hypothesis-seed=1", "-o", "junit_family=xunit2")
NO_FAULT_BUT_NO_CODE = ("collection failure", "ImportError", "ModuleNotFoundError", "SyntaxError", "NameError")
ALL_SECONDS = 3600.0


@dataclass(frozen=True)
class Outcome:
    """What tests came to ("passed", "failed", "skipped", "hang", "does not run"), and which failed."""

    kind: str
    detail: str = ""
    failed: tuple[str, ...] = ()


class Copy:
    """The library and its tests in a folder of their own, for one worker."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._times = folder, itertools.count(1)

    @classmethod
    def made(cls, folder: Path) -> "Copy":
        """Return a fresh copy in a new folder."""
        folder.mkdir()
        for name in COPIED:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
            copy(ROOT / name, folder / name)
        return cls(folder)

    @contextlib.contextmanager
    def planted(self, fault: Fault) -> Iterator[None]:
        """Change the file, and bring it back with the time it had: what was compiled of it holds again."""
        path = self.folder / SOURCE / fault.file
        source, times = path.read_bytes(), path.stat()
        path.write_text(fault.planted(source.decode()), "utf-8")
        time_of_its_own = next(self._times)  # so that nothing that was compiled before stands for it
        os.utime(path, (time_of_its_own, time_of_its_own))
        try:
            yield
        finally:
            path.write_bytes(source)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    def run(self, tests: tuple[str, ...], seconds: float, *options: str) -> Outcome:
        """Run tests on the copy as it is, all of its processes within `seconds`."""
        report = self.folder / "report.xml"
        report.unlink(missing_ok=True)
        command = [sys.executable, *PYTEST, *options, f"--junitxml={report}", *tests]
        settings = {**os.environ, "PYTHONPATH": str(self.folder / "src"), "PYTHONDONTWRITEBYTECODE": ""}
        run = subprocess.Popen(
            command, cwd=self.folder, env=settings, start_new_session=True, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            output, _ = run.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
            run.communicate()
            return Outcome("hang", f"no end after {seconds:.0f} s")
        return outcome_of(report, run.returncode) if report.exists() else Outcome("does not run", output[-2000:])


def outcome_of(report: Path, code: int) -> Outcome:
    """Read the report that pytest wrote."""
    cases = list(ElementTree.parse(report).getroot().iter("testcase"))
    troubles = [(case, part) for case in cases for part in case if part.tag in ("failure", "error")]
    messages = [part.get("message", "") for _, part in troubles]
    if code not in (0, 1) or any(message.startswith(NO_FAULT_BUT_NO_CODE) for message in messages):
        return Outcome("does not run", "; ".join(messages) or f"pytest ended with {code}")
    if troubles:
        return Outcome("failed", messages[0], tuple(_name(case) for case, _ in troubles))
    return Outcome("skipped" if all(case.find("skipped") is not None for case in cases) else "passed")


def _name(case: ElementTree.Element) -> str:
    """Return the test as it is named to pytest, without its parameters."""
    parts = case.get("classname", "").split(".")
    classes = [part for part in parts if part[:1].isupper()]
    file = "/".join(part for part in parts if part not in classes)
    return "::".join([f"{file}.py", *classes, case.get("name", "").partition("[")[0]])


# -- all of them -------------------------------------------------------------------------------------


class Workers:
    """Copies that take work in turn."""

    def __init__(self, folder: Path, count: int, *options: str) -> None:
        self._free: queue.SimpleQueue[Copy] = queue.SimpleQueue()
        self.count, self._options = count, options
        for index in range(count):
            self._free.put(Copy.made(folder / str(index)))

    @contextlib.contextmanager
    def copy(self) -> Iterator[Copy]:
        """Pass a copy that nobody else has."""
        copy = self._free.get()
        try:
            yield copy
        finally:
            self._free.put(copy)

    def clean(self, tests: list[str]) -> list[Outcome]:
        """Run tests on clean copies, a part on each."""

        def run(part: list[str]) -> Outcome:
            with self.copy() as copy:
                return copy.run(tuple(part), ALL_SECONDS)

        parts = [tests[index :: self.count] for index in range(self.count)]
        with ThreadPoolExecutor(self.count) as pool:
            return list(pool.map(run, [part for part in parts if part]))

    def outcomes(self, faults: list[Fault]) -> list[Outcome]:
        """Plant each fault, and run its tests until one fails."""
        done: list[str] = []

        def run(fault: Fault) -> Outcome:
            with self.copy() as copy, copy.planted(fault):
                outcome = copy.run(fault.tests, fault.seconds, "-x", *self._options)
            done.append(fault.name)
            _note(f"{len(done)}/{len(faults)} {fault}: {outcome.kind} {' '.join(outcome.failed)}")
            return outcome

        with ThreadPoolExecutor(self.count) as pool:
            return list(pool.map(run, faults))


def check(faults: list[Fault]) -> list[str]:
    """Return a sentence for each fault that has not exactly one place in the library."""
    sentences = []
    for fault in faults:
        try:
            fault.planted((ROOT / SOURCE / fault.file).read_text("utf-8"))
        except (OSError, ValueError) as error:
            sentences.append(f"{error}{_elsewhere(fault)}")
    return sentences


def _elsewhere(fault: Fault) -> str:
    """Return in which other files the fragment occurs once, where there are some: a file may have moved."""
    files = [path for path in sorted((ROOT / SOURCE).rglob("*.py")) if path.read_text("utf-8").count(fault.old) == 1]
    names = ", ".join(path.relative_to(ROOT / SOURCE).as_posix() for path in files)
    return f" It occurs once in {names}." if names else ""


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _note(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--room", default="", help="the faults of one file, such as ledger")
    parser.add_argument("--only", default="", help="the faults with this word in their name or file")
    parser.add_argument("--quick", action="store_true", help="run only the tests of `make test`")
    parser.add_argument("--list", action="store_true", help="list them and plant nothing")
    parser.add_argument("--workers", type=int, default=2)
    return parser.parse_args()


def main() -> int:
    """Return 0 where all faults were caught, 1 where one was not, 2 where they could not be planted."""
    options = _options()
    faults = [
        fault for fault in read() if options.room in ("", fault.room) and options.only in f"{fault.name} {fault.file}"
    ]
    if not faults:
        _say("No fault has this room and word.")
        return 2
    if options.list:
        _say("\n".join(f"{fault}: {fault.why}" for fault in faults))
        return 0
    if unplaced := check(faults):
        _say("\n".join([*unplaced, "Mend the fragments in tests/mutants, so that each names one place again."]))
        return 2
    with tempfile.TemporaryDirectory(prefix="gaugedp-mutants-") as folder:
        marks = ("-m", "not thorough") if options.quick else ()
        return _plant(faults, Workers(Path(folder), options.workers, *marks))


def _plant(faults: list[Fault], workers: Workers) -> int:
    """Run the tests of each fault, then those that failed without a fault: they must pass there."""
    start = time.monotonic()
    outcomes = dict(zip(faults, workers.outcomes(faults), strict=True))
    for fault in [fault for fault, outcome in outcomes.items() if outcome.kind == "skipped"]:
        _say(f"{fault}: left out, for its tests are skipped on this machine.")
        del outcomes[fault]
    catchers = sorted({test for outcome in outcomes.values() for test in outcome.failed})
    _note(f"{time.monotonic() - start:.0f} s; now the {len(catchers)} tests that failed, without a fault ...")
    if troubles := [clean for clean in workers.clean(catchers) if clean.kind != "passed"]:
        _say("\n".join(["Without a fault these fail:", *(f"{clean.failed} {clean.detail}" for clean in troubles)]))
        return 2
    missed = {fault: outcome for fault, outcome in outcomes.items() if outcome.kind != "failed"}
    for fault, outcome in missed.items():
        place = fault.place((ROOT / SOURCE / fault.file).read_text("utf-8"))
        _say(f"{place}: {fault}: {outcome.kind}. {fault.why} {outcome.detail}")
    _note(f"{time.monotonic() - start:.0f} s")
    _say(f"{len(outcomes)} planted, {len(outcomes) - len(missed)} caught")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
