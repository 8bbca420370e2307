"""How near to the optimum is Gaussian noise for prefix sums and ranges of many cells, and how long does it take?

For each size the error of the strategy in use, of the Toeplitz root, and of a certified bound. Writes
docs/benchmarks/queries.md. Needs a minute.

    python benchmarks/ordered.py
"""

import math
import time

import pages

import gaugedp as gd
from gaugedp.mechanisms.strategies import best_strategy
from gaugedp.mechanisms.strategies.base import Strategy
from gaugedp.mechanisms.strategies.ranges import RangeStrategy
from gaugedp.mechanisms.strategies.toeplitz import toeplitz

SIZES = {"ranges": (64, 4096), "prefix sums": (64, 16_384, 100_000)}


def main() -> None:
    """Write the page."""
    rows = [row(kind, n) for kind, sizes in SIZES.items() for n in sizes]
    head = "| query | cells | error | above the bound | Toeplitz root above the bound | processor s |"
    pages.put("queries", "ordered", [head, "|---|---:|---:|---:|---:|---:|", *rows])


def row(kind: str, n: int) -> str:
    """Return one line of the table: root mean squared errors for noise of 1-GDP."""
    domain = gd.Domain.of(x=gd.integers(1, n))
    query = gd.ranges(domain, "x") if kind == "ranges" else gd.prefix_sums(domain, "x")
    body = query.sensitivity(gd.PrivacyUnit())
    start = time.process_time()
    strategy = best_strategy(body, 2)
    seconds = time.process_time() - start
    root = RangeStrategy(toeplitz(body), n) if kind == "ranges" else toeplitz(body)
    least = strategy.least
    scale = math.sqrt(body.ambient_dim)
    cells = (
        kind, f"{n:,}", f"{length(strategy) / scale:.4f}",
        f"{length(strategy) / least - 1:.1e}", f"{length(root) / least - 1:.1%}", f"{seconds:.2f}",
    )  # fmt: skip
    print(*cells, flush=True)
    return "| " + " | ".join(cells) + " |"


def length(strategy: Strategy) -> float:
    """Return the expected length of the noise for one unit of guarantee, in root mean square."""
    return strategy.radius * math.sqrt(float(strategy.squares.sum()))


if __name__ == "__main__":
    main()
