"""Which tests wait for `make thorough`, which share a worker, when a run ends, and what random numbers a test has.

A test that a planted fault names runs in `make test`, long or not, unless it says `thorough` itself, as do cases that
add little. Of the cases of a test that is marked `many`, every tenth runs there.
`.ci/run` takes one part of the long tests a day, so that each runs once in `N_PARTS` days.
"""

import os
import sys
import time
import zlib
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.mutants.faults import read

TESTS = Path(__file__).parent
LONG = {"slow", "statistical"}  # marks of tests that are long
SERVERS = {"spark", "postgres"}  # engines that are started
THOROUGH = (
    "faults/",
    *(
        f"statistics/test_{name}.py"
        for name in ("audits", "black_box", "coverage", "low_order_bits", "streams", "white_box")
    ),
    "report/test_browser.py",
    "report/test_explorer_browser.py",
    "tables/test_spark.py",
)

UNTIL = float(os.environ.get("GAUGEDP_TESTS_UNTIL", "inf"))  # seconds since 1970: .ci/run has 25 minutes
DAY, N_PARTS = os.environ.get("GAUGEDP_TESTS_DAY", ""), 20


def pytest_runtest_setup() -> None:
    if time.time() > UNTIL:
        pytest.skip("the time of this run was over: make long runs it")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        sys.stderr.write(f"\nfailed: {report.nodeid}\n")  # at once: a run that is stopped tells, too


@pytest.fixture(autouse=True)
def same_numbers_in_any_order(request: pytest.FixtureRequest) -> None:
    """A module's generator starts each test from the test's own name: no test depends on what ran before it."""
    generator = vars(request.module).get("RNG")
    if generator is not None:
        fresh = np.random.default_rng(zlib.crc32(request.node.name.encode()))
        generator.bit_generator.state = fresh.bit_generator.state


def pytest_collection_modifyitems(items: list[pytest.Item], config: pytest.Config) -> None:
    catchers = {test for fault in read() for test in fault.tests}
    for item in items:
        place, engine = item.path.relative_to(TESTS).as_posix(), _engine(item)
        if engine == "spark" or item.path.name == "test_spark.py":
            item.add_marker(pytest.mark.xdist_group("spark"))  # each of its sessions takes a gigabyte and half a minute
        long = LONG & {mark.name for mark in item.iter_markers()} and item.nodeid.partition("[")[0] not in catchers
        if place.startswith(THOROUGH) or engine in SERVERS or long:
            item.add_marker(pytest.mark.thorough)
    for item in _all_but_every_tenth([item for item in items if item.get_closest_marker("many")]):
        item.add_marker(pytest.mark.thorough)
    if DAY:
        config.hook.pytest_deselected(items=[item for item in items if not _is_of_the_day(item)])
        items[:] = filter(_is_of_the_day, items)


def _all_but_every_tenth(items: list[pytest.Item]) -> list[pytest.Item]:
    """The cases of each test but the first, the eleventh, …: those of a long law differ in what is drawn."""
    numbers: Counter[str] = Counter()
    left = []
    for item in items:
        name = item.nodeid.partition("[")[0]
        left += [item] if numbers[name] % 10 else []
        numbers[name] += 1
    return left


def _is_of_the_day(item: pytest.Item) -> bool:
    """Whether the test, with all its cases, is in the part of the day."""
    return zlib.crc32(item.nodeid.partition("[")[0].encode()) % N_PARTS == int(DAY) % N_PARTS


def _engine(item: pytest.Item) -> object:
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    return "postgres" if "postgres" in getattr(item, "fixturenames", ()) else parameters.get("engine")
