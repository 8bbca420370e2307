"""How long do wide questionnaires take: all pairs of k yes/no columns, and one-way margins of a thousand?

Every row is a process of its own: processor seconds of each step on 100,000 rows of Parquet at rho = 0.1, and the
largest memory of the process. Next to it, in the same run, peers where they are at hand: OpenDP (Gaussian noise on
the same counts, the counts made by one product of matrices) and ResidualPlanner+ (its published code in a FOLDER; the
closed form, which needs none of its solvers). Prints tables and writes docs/benchmarks/wide.md.

    python benchmarks/wide.py [FOLDER]
"""

import importlib.metadata
import importlib.util
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks" / "wide.md"
PAIRS = (10, 20, 32, 50, 70, 100)
FITTED = 50  # columns from which the exponents are fitted: below, what is done once counts most
MARGINS = (100, 1000)
ROWS, RHO = 100_000, 0.1
PEER_COLUMNS = 50  # up to which ResidualPlanner+ measures: a histogram for each set of columns

START = """
import itertools, json, math, resource, sys, types
import numpy as np
facts = json.loads(sys.argv[1])
names = [f"q{i}" for i in range(facts["k"])]
tables = list(itertools.combinations(names, facts["order"]))
times, before = {}, 0.0
def lap(step):
    global before
    now = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    times[step], before = now - before, now
def done(**found):
    with open("/proc/self/status") as status:  # ru_maxrss holds what the process that started this one had
        memory = next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
    print(json.dumps({**times, **found, "MiB": memory}))
"""
GAUGEDP = """
import gaugedp as gd
from gaugedp.ledger import Ledger
domain = gd.Domain.of(**{name: ["yes", "no"] for name in names})
query = gd.marginals(domain, *tables)
table = gd.Table.scan(facts["file"], domain=domain)
lap("import")
plan = gd.plan(query, gd.PrivacyUnit(), rho=facts["rho"])
lap("plan")
str(plan)
lap("print")
answer = gd.release(query, table, ledger=Ledger.in_memory(gd.ZCDP(1.0)), planned=plan)
lap("release")
text = answer.to_json()
lap("JSON")
square = math.sqrt(plan.mechanism.mean_square())
done(mechanism=plan.mechanism.name, error=square, bytes=len(text))
"""
COUNTS = """
import duckdb
columns = duckdb.sql(f"SELECT * FROM '{facts['file']}'").fetchnumpy()
lap("read")
def counts():
    marks = np.array([columns[name] == word for name in names for word in ("yes", "no")], dtype=np.float32)
    crossed = (marks @ marks.T).astype(np.int64)
    places = itertools.combinations(range(len(names)), 2)
    return np.concatenate([crossed[2 * i : 2 * i + 2, 2 * j : 2 * j + 2].ravel() for i, j in places])
"""
OPENDP = """
import opendp.prelude as dp
dp.enable_features("contrib")
lap("import")
scale = math.sqrt(len(tables)) / math.sqrt(2 * facts["rho"])
space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float)
noise = dp.m.make_gaussian(*space, scale=scale)
numbers = counts()
noise(numbers.tolist())
lap("release")
done(error=scale * math.sqrt(len(numbers)))
"""
RESIDUAL = """

for name in ("cvxpy", "gurobipy"):  # imported, and not used by the closed form
    sys.modules[name] = types.ModuleType(name)
sys.modules["gurobipy"].GRB = None
sys.path.insert(0, facts["folder"])
import pandas as pd
from resplan.ResPlan import ResPlanSum
lap("import")
planner = ResPlanSum([2] * len(names), ["I"] * len(names))
planner.input_data(pd.DataFrame({name: (columns[name] == "yes").astype(int) for name in names}), names)
for pair in itertools.combinations(range(len(names)), 2):
    planner.input_mech(pair)
total = planner.get_noise_level()
lap("plan")
if len(names) <= facts["most"]:
    planner.measurement()
    planner.reconstruction()
lap("release")
done(error=math.sqrt(float(total) / (2 * facts["rho"])))  # at a privacy cost of 1, which is rho = 1/2
"""


def run(program: str, **facts: Any) -> dict[str, Any]:
    """Return what a program found in a process of its own."""
    command = [sys.executable, "-c", START + program, json.dumps({"rho": RHO, "most": PEER_COLUMNS, **facts})]
    return dict(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1]))


def stored(folder: str, k: int) -> str:
    """Return the path of a table of k columns, written once."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = f"{folder}/{k}.parquet"
    if not Path(path).exists():
        rng, words = np.random.default_rng(k), pa.array(["yes", "no"])
        columns = {f"q{i}": words.take(pa.array(rng.integers(0, 2, ROWS))) for i in range(k)}
        pq.write_table(pa.table(columns), path)
    return path


def exponent(sizes: tuple[int, ...], seconds: list[float]) -> float:
    """Return the slope of log seconds against log size, from `FITTED` columns on."""
    pairs = [(math.log(k), math.log(time)) for k, time in zip(sizes, seconds, strict=True) if k >= FITTED]
    return float(np.polyfit(*zip(*pairs, strict=True), 1)[0])


def questionnaires(folder: str) -> Iterator[str]:
    yield "| question | tables | mechanism | error | plan | print | release | JSON | MB of JSON | MiB |"
    yield "|---|---:|---|---:|---:|---:|---:|---:|---:|---:|"
    totals = []
    for k, order in [(k, 2) for k in PAIRS] + [(k, 1) for k in MARGINS]:
        cell = run(GAUGEDP, k=k, order=order, file=stored(folder, k))
        totals += [cell["plan"] + cell["print"] + cell["release"]] if order == 2 else []
        yield (
            f"| {'pairs' if order == 2 else 'each alone'} of {k} | {math.comb(k, order):,} | {cell['mechanism']} "
            f"| {cell['error']:,.6g} | {cell['plan']:.2f} | {cell['print']:.2f} | {cell['release']:.2f} "
            f"| {cell['JSON']:.2f} | {cell['bytes'] / 1e6:.2f} | {cell['MiB']:.0f} |"
        )
    slope = exponent(PAIRS, totals)
    yield ""
    yield f"Pairs: plan, print and release together grow as k^{slope:.1f} from {FITTED} columns on; the tables as k^2."


def peers(folder: str, residual: str | None) -> Iterator[str]:
    yield "| pairs of | peer | error | plan | release |"
    yield "|---:|---|---:|---:|---:|"
    programs = [("OpenDP, Gaussian", OPENDP, {})] if importlib.util.find_spec("opendp") else []
    programs += [("ResidualPlanner+", RESIDUAL, {"folder": residual})] if residual else []
    for name, program, facts in programs:
        for k in PAIRS:
            cell = run(COUNTS + program, k=k, order=2, file=stored(folder, k), **facts)
            is_measured = name.startswith("OpenDP") or k <= PEER_COLUMNS
            released = f"{cell['release']:.2f}" if is_measured else "–"
            plan = f"{cell['plan']:.2f}" if "plan" in cell else "–"
            yield f"| {k} | {name} | {cell['error']:,.6g} | {plan} | {released} |"


def main() -> None:
    residual = sys.argv[1] if len(sys.argv) > 1 else None
    parts = [part for part in ("gaugedp", "numpy", "scipy", "duckdb", "opendp") if importlib.util.find_spec(part)]
    versions = ", ".join(f"{part} {importlib.metadata.version(part)}" for part in parts)
    with tempfile.TemporaryDirectory() as folder:
        lines = [
            "# Wide questionnaires",
            "",
            f"Python {platform.python_version()}, {versions}; {os.cpu_count()} cores. Processor seconds, each row a",
            f"process of its own; {ROWS:,} rows of Parquet, columns of yes and no, rho = {RHO:g}. The release includes",
            "the reading of the table. Errors are root mean squares of the l2 norm. Wanted at 100 columns: plan 5 s,",
            "print 2 s, release 15 s, 1 GB.",
            "",
            *questionnaires(folder),
            "",
            "## Peers",
            "",
            "OpenDP adds Gaussian noise to each count; one product of matrices makes its counts. ResidualPlanner+",
            "chooses the same noise for each interaction as Matrix does. Matrix rounds it to whole numbers, which adds",
            f"1/12 to each variance. Measurements of ResidualPlanner+ are timed up to {PEER_COLUMNS} columns.",
            "",
            *peers(folder, residual),
            "",
            "Written by `python benchmarks/wide.py FOLDER`.",
        ]
    print("\n".join(lines))
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
