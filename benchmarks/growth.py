"""How does K-norm noise grow with generators and rank?

Every row is a process of its own: seconds from the body to one draw that may be released. Writes a table of
docs/benchmarks/knorm.md. Needs some minutes.

    python benchmarks/growth.py
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pages

SHAPES = ((10, 50), (20, 100), (40, 200), (60, 300), (10, 1000), (10, 10_000), (5, 100_000))

START = """
import itertools, json, resource, sys, time
import numpy as np
import gaugedp as gd
facts = json.loads(sys.argv[1])
unit = gd.PrivacyUnit()
start = time.perf_counter()
def done(**found):
    found["seconds"] = time.perf_counter() - start
    found["MiB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(found))
"""
NOISE = """
d, n = facts["shape"]
matrix = np.random.default_rng(1).integers(0, 2, (d, n)) * 2.0 - 1
mechanism = gd.KNorm.calibrate(gd.bodies.Polytope.symmetric_hull(matrix), gd.PureDP(1.0))
error = mechanism.error()
planned = time.perf_counter() - start
mechanism.prepare()
apart = getattr(mechanism.noise, "autocorrelation_time", 0.0)
done(error=error, planned=planned, steps=mechanism.steps, apart=apart, exactness=mechanism.exactness)
"""


def run(program: str, **facts: Any) -> dict[str, Any]:
    """Return what a program found in a process of its own."""
    command = [sys.executable, "-c", START + program, json.dumps(facts)]
    return dict(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))


def noises(shapes: tuple[tuple[int, int], ...]) -> Iterator[str]:
    yield "| rank, generators | error | steps | planning and a draw |"
    yield "|---|---:|---:|---:|"
    for d, n in shapes:
        cell = run(NOISE, shape=[d, n])
        yield (f"| {d}, {n:,} | {cell['error']:.4g} | {cell['steps']:,} | {cell['seconds']:.2f} s |")


def main() -> None:
    pages.put("knorm", "growth", noises(SHAPES))


if __name__ == "__main__":
    main()
