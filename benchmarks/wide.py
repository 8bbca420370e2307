"""How long do wide questionnaires take: all pairs of k yes/no columns?

Every row is a process of its own: processor seconds of each step on 100,000 rows of Parquet at rho = 0.1, and the
largest memory of the process. Next to it, in the same run, peers where they are at hand: OpenDP (Gaussian noise on
the same counts, the counts made by one product of matrices) and ResidualPlanner+ (its published code in a FOLDER; the
closed form, which needs none of its solvers). Prints tables and writes docs/benchmarks/queries.md.

    python benchmarks/wide.py [FOLDER]
"""

import importlib.metadata
import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pages

PAIRS = (10, 32, 50, 70, 100)
ROWS, RHO = 100_000, 0.1
PEER_COLUMNS = 50  # up to which ResidualPlanner+ measures: a histogram for each set of columns

START = """
import itertools, json, math, resource, sys, types
import numpy as np
facts = json.loads(sys.argv[1])
names = [f"q{i}" for i in range(facts["k"])]
tables = list(itertools.combinations(names, 2))
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


def pairs(folder: str, residual: str | None) -> Iterator[str]:
    """Yield the table of all pairs: our plans and, where they are installed, those of peers."""
    peers = {"OpenDP": (OPENDP, {})} if importlib.util.find_spec("opendp") else {}
    peers |= {"ResidualPlanner+": (RESIDUAL, {"folder": residual})} if residual else {}
    heads = ["k", "gaugedp: error", "plan, s", "release, s", "MiB"]
    for name in peers:
        heads += [f"{name}: error", *(["plan, s"] if name != "OpenDP" else []), "release, s"]
    yield f"| {' | '.join(heads)} |"
    yield "|" + "---:|" * len(heads)
    seconds: dict[int, float] = {}
    for k in PAIRS:
        cell = run(GAUGEDP, k=k, file=stored(folder, k))
        seconds[k] = cell["plan"] + cell["release"]
        cells = [str(k), f"{cell['error']:,.6g}", f"{cell['plan']:.2f}", f"{cell['release']:.2f}", f"{cell['MiB']:.0f}"]
        for name, (program, facts) in peers.items():
            cell = run(COUNTS + program, k=k, file=stored(folder, k), **facts)
            is_measured = name == "OpenDP" or k <= PEER_COLUMNS
            cells += [f"{cell['error']:,.6g}", *([f"{cell['plan']:.2f}"] if "plan" in cell else [])]
            cells.append(f"{cell['release']:.2f}" if is_measured else "–")
        yield f"| {' | '.join(cells)} |"
    large = [k for k in PAIRS if k >= 32]
    slope = np.polyfit(np.log(large), [np.log(seconds[k]) for k in large], 1)[0]
    yield from (
        "",
        f"From k = {large[0]} to {large[-1]}, plan and release together grow as k^{slope:.1f}.",
    )


def main() -> None:
    residual = sys.argv[1] if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory() as folder:
        pages.put("queries", "pairs", pairs(folder, residual))


if __name__ == "__main__":
    main()
