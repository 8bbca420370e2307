"""How large is Gaussian noise for products of ranges or prefix sums, beside published figures?

The workload is that of ResidualPlanner+: the product of five times all ranges, or all prefix sums, of n cells; noise
that is 1-GDP (the published privacy cost 1). Ours is computed from the strategy, which is not written out. Writes
docs/benchmarks/products.md.

    python benchmarks/products.py
"""

import math
import time
from pathlib import Path

from gaugedp.mechanisms.strategies.ordered import best_ordered

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks" / "products.md"
POWER = 5
PUBLISHED = {  # (OPT_X of HDMM, OPT_M of HDMM, ResidualPlanner+), as their repository prints them
    ("ranges", 8): (20.286, 10.945, 10.944),
    ("ranges", 16): (88.182, 38.023, 38.019),
    ("ranges", 32): (357.450, 152.787, 152.593),
    ("ranges", 64): (1362.319, 679.015, 677.293),
    ("prefix", 8): (42.957, 14.320, 14.782),
    ("prefix", 16): (112.466, 49.510, 60.168),
    ("prefix", 32): (302.719, 192.295, 259.727),
    ("prefix", 64): (770.097, 818.146, 1172.219),
}
SOURCE = (
    "github.com/cmla-psu/ResidualPlannerPlus, commit 82a9a89, "
    "experiments/HDMM_baseline/journal/scalability_kron_comparison_R.csv and _P.csv"
)


def main() -> None:
    """Write the page."""
    rows = [row(kind, n) for kind, n in PUBLISHED]
    PAGE.write_text(page(rows), "utf-8")
    print(f"{PAGE.name}: {len(rows)} rows")


def row(kind: str, n: int) -> str:
    """Return one line of the table."""
    start = time.process_time()
    strategy = best_ordered(n, kind == "ranges")
    seconds = time.process_time() - start
    answers = len(strategy.squares)
    error = (strategy.radius * math.sqrt(float(strategy.squares.sum()) / answers)) ** POWER
    bound = (strategy.least / math.sqrt(answers)) ** POWER
    published = [f"{value:,.2f}" for value in PUBLISHED[kind, n]]
    cells = (kind, str(n), f"{error:,.3f}", f"{bound:,.3f}", *published, f"{seconds:.3f}")
    print(*cells, flush=True)
    return "| " + " | ".join(cells) + " |"


def page(rows: list[str]) -> str:
    """Return the page."""
    head = (
        "# Products of ranges and prefix sums\n\n"
        "The product of five times all ranges, or all prefix sums, of n cells; rows are added or removed, 1-GDP: the\n"
        "root of the mean squared error of an answer. No normal noise has less than the bound. The published figures\n"
        "are quoted, not measured.\n\n"
        "| factor | n | ours | bound | HDMM, products | HDMM, marginals | ResidualPlanner+ | our s |\n"
        "|---|---|---|---|---|---|---|---|\n"
    )
    foot = (
        f"\n\nPublished: {SOURCE}.\n"
        "Another file there, scalability_kron_comparison.csv, has HDMM's products with a strategy for normal noise:\n"
        "64.67 for ranges, n = 64, which is the optimum too. Written by `python benchmarks/products.py`.\n"
    )
    return head + "\n".join(rows) + foot


if __name__ == "__main__":
    main()
