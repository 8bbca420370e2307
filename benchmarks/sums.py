"""How long does a plan for many sums take, and how far are the sums off, by each mechanism?

Each plan is made in a process of its own: seconds from the question to the plan, and the most memory that the process
held, Python and its libraries among it. Errors are expected l2 norms as plans print them, for columns in [0, 1] at
epsilon = 1 and delta = 1e-6. Checks that 30 sums are planned in 1 s and 200 MB and 1,000 in 10 s, that the error of 12
is at most 25, and that what is chosen is below Cube, Laplace and plain Gaussian noise. Prints tables and writes
docs/benchmarks/queries.md.

    python benchmarks/sums.py
"""

import json
import resource
import subprocess
import sys
import time

import numpy as np
import pages

import gaugedp as gd

COUNTS = (2, 12, 30, 200)
LIMITS = {30: (1.0, 200), 1000: (10.0, None)}  # seconds, MB
MOST_AT_TWELVE = 25.0
ROUNDS = 3
OTHERS = ("Cube", "Laplace", "Gaussian")


def planned(count: int) -> gd.Plan:
    """Return the plan for so many one-sided sums."""
    domain = gd.Domain.of(**{f"x{i}": gd.bounded(0, 1, step=0.001, missing=0) for i in range(count)})
    query = gd.query(domain, "; ".join(f"sum(x{i})" for i in range(count)))
    return gd.plan(query, gd.PrivacyUnit(), epsilon=1.0, delta=1e-6)


def measure(count: int) -> None:
    """Print seconds and MB of one plan in this process."""
    start = time.perf_counter()
    planned(count)
    seconds = time.perf_counter() - start
    print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))


def cost(count: int) -> tuple[float, float]:
    """Return the median of the seconds, and the most MB, over fresh processes."""
    command = [sys.executable, __file__, str(count)]
    runs = [json.loads(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(ROUNDS)]
    seconds, memory = zip(*runs, strict=True)
    return float(np.median(seconds)), max(memory)


def main() -> int:
    """Write the page; return 1 where a target is missed."""
    costs = {count: cost(count) for count in LIMITS}
    plans = {count: planned(count) for count in COUNTS}
    errors = {
        count: {candidate.mechanism.name: candidate.error for candidate in plan.candidates}
        for count, plan in plans.items()
    }
    heads = ("sums", *OTHERS, "KNorm", "Matrix", "chosen")
    lines = [f"| {' | '.join(heads)} |", "|" + "---:|" * (len(OTHERS) + 3) + "---|"]
    for count, plan in plans.items():
        cells = [f"{errors[count][name]:.4g}" for name in (*OTHERS, "KNorm", "Matrix")]
        lines.append(f"| {count} | {' | '.join(cells)} | {plan.mechanism.name} |")
    took = ", a plan for ".join(
        f"{count:,} sums {'takes ' * (place == 0)}{seconds:.2f} s and {memory:.0f} MB"
        for place, (count, (seconds, memory)) in enumerate(costs.items())
    )
    words = f"A plan for {took} (medians of {ROUNDS} new processes)."
    lines += ["", words]
    pages.put("queries", "sums", lines)
    quick = all(
        costs[count][0] <= most and costs[count][1] <= (room or np.inf) for count, (most, room) in LIMITS.items()
    )
    least = all(plan.error < min(errors[count][name] for name in OTHERS) for count, plan in plans.items())
    return int(not (quick and least and plans[12].error <= MOST_AT_TWELVE))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(int(sys.argv[1]))
    else:
        sys.exit(main())
