"""The planted faults have their places in the library, and the runner knows a test that fails from one that cannot run.

`make mutants` plants them and runs the tests; here they are only read.
"""

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tests.mutants.faults import FOLDER, ROOT, SOURCE, Fault, read
from tests.mutants.run import Copy, check, outcome_of

FAULTS = list(read())
ROOMS = (
    "audit",
    "bounds",
    "estimators",
    "guarantees",
    "ledger",
    "mechanisms",
    "optimization",
    "queries",
    "samplers",
    "statistics",
    "streams",
    "synthesis",
    "tables",
    "verification",
)
FAULT = Fault("room", "name", "file.py", "one", "two", "Why.", ("tests/test_it.py",))


@cache
def source(file: str) -> str:
    return (ROOT / SOURCE / file).read_text("utf-8")


@cache
def names(file: str) -> frozenset[str]:
    """Return the tests of a file, those of a class as Class::test."""
    results = set()
    for node in ast.parse((ROOT / file).read_text("utf-8")).body:
        results.add(getattr(node, "name", ""))
        inner = node.body if isinstance(node, ast.ClassDef) else []
        results |= {f"{node.name}::{each.name}" for each in inner if isinstance(each, ast.FunctionDef)}
        if isinstance(node, ast.Assign):  # TestModel = Machine.TestCase
            results |= {f"{target.id}::runTest" for target in node.targets if isinstance(target, ast.Name)}
    return frozenset(results)


def test_there_are_faults_enough_in_every_room() -> None:
    counts = Counter(fault.room for fault in FAULTS)
    assert sum(counts.values()) >= 120
    assert min(counts[room] for room in ROOMS) >= 8


def test_every_fault_has_one_place_and_says_why() -> None:
    assert check(FAULTS) == []
    for fault in FAULTS:
        assert re.fullmatch(r"[a-z0-9-]+", fault.name)
        assert re.fullmatch(r"[^.].*\.", fault.why, re.DOTALL)


def test_every_fault_leaves_a_library_that_can_be_compiled() -> None:
    for fault in FAULTS:
        compile(fault.planted(source(fault.file)), str(fault), "exec")


def test_every_fault_names_tests_that_exist() -> None:
    for fault in FAULTS:
        assert fault.tests
        for test in fault.tests:
            file, _, name = test.partition("::")
            assert (ROOT / file).exists(), fault
            assert not name or name in names(file), f"{fault}: {test}"


def test_a_fault_without_one_place_is_refused() -> None:
    assert FAULT.planted("one") == "two"
    for text in ("two", "one one"):
        with pytest.raises(ValueError, match=r"^room/name: 'one' occurs [02] times in file.py, and must occur once.$"):
            FAULT.planted(text)
    assert FAULT.place("a\none") == f"{SOURCE / 'file.py'}:2"
    (sentence,) = check([FAULT])
    assert "file.py" in sentence


def test_a_fault_is_planted_and_taken_away(tmp_path: Path) -> None:
    fault = FAULTS[0]
    path = tmp_path / SOURCE / fault.file
    path.parent.mkdir(parents=True)
    path.write_text(source(fault.file), "utf-8")
    copy, before = Copy(tmp_path), path.stat().st_mtime_ns
    with copy.planted(fault):
        assert path.read_text("utf-8") == fault.planted(source(fault.file))
        assert path.stat().st_mtime_ns != before
    assert path.read_text("utf-8") == source(fault.file)
    assert path.stat().st_mtime_ns == before


CASE = '<testcase classname="tests.room.test_it" name="test_one[a]">{}</testcase>'


@pytest.mark.parametrize(("code", "inside", "kind"), [
    (0, "", "passed"),
    (1, '<failure message="AssertionError: 1 != 2"/>', "failed"),
    (1, '<error message="failed on setup with ValueError"/>', "failed"),
    (1, '<failure message="NameError: name &apos;x&apos; is not defined"/>', "does not run"),
    (1, '<failure message="ImportError: cannot import name"/>', "does not run"),
    (2, '<error message="collection failure"/>', "does not run"),
    (5, "", "does not run"),
    (0, '<skipped message="no server"/>', "skipped"),
])  # fmt: skip
def test_only_a_test_that_runs_and_fails_has_caught_a_fault(code: int, inside: str, kind: str, tmp_path: Path) -> None:
    (tmp_path / "report.xml").write_text(f"<testsuites><testsuite>{CASE.format(inside)}</testsuite></testsuites>")
    outcome = outcome_of(tmp_path / "report.xml", code)
    assert outcome.kind == kind
    assert outcome.failed == (("tests/room/test_it.py::test_one",) if kind == "failed" else ())


def test_every_list_is_a_room() -> None:
    assert {path.stem for path in FOLDER.glob("*.toml")} == {*ROOMS, "front"}
