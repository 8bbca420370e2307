"""How far a release climbs: the calls of one release that go up in the house, and how deep its draw of noise is.

    PYTHONPATH=src:. python -m tests.architecture.floors "a*b"

A call goes up where the function that is called stands in a later room of `checks.ORDER` than the one that calls it.
No import goes up: such a call is a method of an interface of the lower room, on an object that was handed down.
"""

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gaugedp as gd
from tests.architecture.checks import ORDER, floor

ROOT = Path(gd.__file__).parent
Frame = tuple[str, str]  # file and function


@dataclass
class Climb:
    """What one call did: `upward` (caller's file, file, function) and how often, and the deepest way to a sampler."""

    upward: dict[tuple[str, str, str], int] = field(default_factory=dict)
    files: set[str] = field(default_factory=set)
    to_sampler: list[Frame] = field(default_factory=list)
    _stack: list[Frame] = field(default_factory=list)

    def watch(self, act: Callable[[], Any]) -> "Climb":
        """Follow the calls of `act` between files of the library."""
        sys.setprofile(self._step)
        try:
            act()
        finally:
            sys.setprofile(None)
        return self

    def _step(self, frame: Any, event: str, _: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if event not in {"call", "return"} or not path.is_relative_to(ROOT):
            return
        if event == "return":
            self._stack = self._stack[:-1]
            return
        here = path.relative_to(ROOT).as_posix(), frame.f_code.co_qualname
        if self._stack and ORDER.index(floor(here[0])) > ORDER.index(floor(self._stack[-1][0])):
            edge = (self._stack[-1][0], *here)
            self.upward[edge] = self.upward.get(edge, 0) + 1
        self._stack.append(here)
        self.files.add(here[0])
        draws = floor(here[0]) == "samplers" and any(name == "_noise" for _, name in self._stack)
        if draws and len(self._stack) > len(self.to_sampler):
            self.to_sampler = list(self._stack)


def climb(text: str) -> Climb:
    """Watch the release of a question, asked once before so that everything is imported."""
    domain = gd.Domain.of(a=gd.integers(1, 8), b=["x", "y"], v=gd.bounded(0, 9))
    query = gd.query(domain, text)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.csv"
        file.write_text("a,b,v\n" + "1,x,3\n2,y,4\n" * 50, "utf-8")
        table = gd.Table.scan(file, domain=domain)
        ledger = gd.Ledger.in_memory(gd.PureDP(2.0))
        gd.release(query, table, ledger=ledger, epsilon=1.0)
        return Climb().watch(lambda: gd.release(query, table, ledger=ledger, epsilon=1.0))


def _show(text: str) -> None:
    actual = climb(text)
    print(  # noqa: T201
        f"{text}: {len(actual.upward)} kinds of calls go up ({sum(actual.upward.values())} calls); "
        f"{len(actual.files)} files; {len(actual.to_sampler)} functions from release to the sampler"
    )
    for (caller, file, name), count in sorted(actual.upward.items()):
        print(f"  {caller} calls {name} in {file}, {count} times")  # noqa: T201
    print("  " + " > ".join(name for _, name in actual.to_sampler))  # noqa: T201


if __name__ == "__main__":
    for requested in sys.argv[1:] or ["a*b"]:
        _show(requested)
