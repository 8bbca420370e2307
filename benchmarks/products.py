"""How large is Gaussian noise for products of ranges or prefix sums, beside published figures?

The workload is that of ResidualPlanner+: the product of five times all ranges, or all prefix sums, of n cells; noise
that is 1-GDP (the published privacy cost 1). Ours is computed from the strategy, which is not written out. Writes
docs/benchmarks/queries.md.

    python benchmarks/products.py
"""

import math

import pages

from gaugedp.mechanisms.strategies.ordered import best_ordered

POWER = 5
PUBLISHED = {  # (OPT_X of HDMM, OPT_M of HDMM, ResidualPlanner+), as their repository prints them; the page names it
    ("ranges", 8): (20.286, 10.945, 10.944),
    ("ranges", 64): (1362.319, 679.015, 677.293),
    ("prefix", 8): (42.957, 14.320, 14.782),
    ("prefix", 64): (770.097, 818.146, 1172.219),
}


def main() -> None:
    """Write the page."""
    rows = [row(kind, n) for kind, n in PUBLISHED]
    head = "| factor | n | gaugedp | lower bound | HDMM, products | HDMM, marginals | ResidualPlanner+ |"
    pages.put("queries", "products", [head, "|---|---:|---:|---:|---:|---:|---:|", *rows])


def row(kind: str, n: int) -> str:
    """Return one line of the table."""
    strategy = best_ordered(n, kind == "ranges")
    answers = len(strategy.squares)
    error = (strategy.radius * math.sqrt(float(strategy.squares.sum()) / answers)) ** POWER
    bound = (strategy.least / math.sqrt(answers)) ** POWER
    published = [f"{value:,.2f}" for value in PUBLISHED[kind, n]]
    cells = (kind, str(n), f"{error:,.3f}", f"{bound:,.3f}", *published)
    print(*cells, flush=True)
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    main()
