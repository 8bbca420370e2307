"""How do planning and K-norm noise grow with cells, answers, generators and rank?

Every row is a process of its own: seconds from the question to the plan (or to one draw that may be released), and
the largest memory the process had. Prints tables and writes docs/benchmarks/growth.md. Needs about five minutes.

    python benchmarks/growth.py
"""

import importlib.metadata
import importlib.util
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks" / "growth.md"
PREFIX = (100, 1000, 10_000, 100_000)
ATTRIBUTES = (2, 3, 4, 5)
RANKS = ((10, 50), (20, 100), (30, 150), (40, 200), (50, 250), (60, 300))
COLUMNS = ((10, 100), (10, 1000), (10, 10_000), (5, 100_000))

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
PLAN = """
if "cells" in facts:
    query = gd.prefix_sums(gd.Domain.of(x=gd.integers(1, facts["cells"])), "x")
else:
    domain = gd.Domain.of(**{f"a{k}": gd.integers(1, 10) for k in range(facts["attributes"])})
    query = gd.marginals(domain, *itertools.combinations(domain.attributes, 2))
made = gd.plan(query, unit, epsilon=1.0, delta=facts.get("delta"))
laplace = next(one.error for one in made.candidates if one.mechanism.name == "Laplace")
done(chosen=made.mechanism.name, error=made.error, laplace=laplace, answers=len(query.steps))
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


def plans() -> Iterator[str]:
    yield "| question | δ | cells | answers | chosen | error | Laplace's | seconds | MiB |"
    yield "|---|---|---:|---:|---|---:|---:|---:|---:|"
    for delta in (None, 1e-6):
        requested = [(f"prefix sums of {n:,}", n, {"cells": n}) for n in PREFIX]
        requested += [(f"all two-way marginals of {k} x 10", 10**k, {"attributes": k}) for k in ATTRIBUTES]
        for text, cells, facts in requested:
            result = run(PLAN, delta=delta, **facts)
            yield (
                f"| {text} | {delta or 0:g} | {cells:,} | {result['answers']:,} | {result['chosen']} "
                f"| {result['error']:,.4g} | {result['laplace']:,.4g} | {result['seconds']:.2f} | {result['MiB']:.0f} |"
            )


def noises(shapes: tuple[tuple[int, int], ...]) -> Iterator[str]:
    yield "| rank, generators | kind | error | autocorrelation time | steps | planning | with a draw | MiB |"
    yield "|---|---|---:|---:|---:|---:|---:|---:|"
    for d, n in shapes:
        cell = run(NOISE, shape=[d, n])
        yield (
            f"| {d}, {n:,} | {cell['exactness']} | {cell['error']:.4g} | {cell['apart']:.0f} | {cell['steps']:,} "
            f"| {cell['planned']:.2f} s | {cell['seconds']:.2f} s | {cell['MiB']:.0f} |"
        )


def main() -> None:
    compiled = importlib.util.find_spec("numba") is not None
    parts = ["gaugedp", "numpy", "scipy"] + (["numba"] if compiled else [])
    versions = ", ".join(f"{part} {importlib.metadata.version(part)}" for part in parts)
    lines = [
        "# How planning and noise grow",
        "",
        f"Python {platform.python_version()}, {versions}; {os.cpu_count()} cores. ε = 1. Each row is a new process,",
        "whose memory includes the library itself (about 90 MiB); one run each, so that seconds are rough.",
        "",
        "## Planning a question",
        "",
        *plans(),
        "",
        "## K-norm noise against rank, five generators a dimension",
        "",
        *noises(RANKS),
        "",
        "## K-norm noise against generators",
        "",
        *noises(COLUMNS),
        "",
        "A step of the walk takes time in proportion to rank times distinct generators. Autocorrelation grows",
        "with the rank. Bodies with rank² times generators above 10 million are refused: a walk would take too long;",
        "`plan` considers a walk up to a million.",
        "",
        "Written by `python benchmarks/growth.py`.",
    ]
    print("\n".join(lines))
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
