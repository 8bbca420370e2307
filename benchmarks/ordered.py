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
    pages.put("queries", "ordered", ["\n\n".join(line(kind, sizes) for kind, sizes in SIZES.items())])


def line(kind: str, sizes: tuple[int, ...]) -> str:
    """Return the extremes of the sizes of a query."""
    ours, roots, seconds = zip(*(excesses(kind, n) for n in sizes), strict=True)
    return (
        f"For all {kind} of {sizes[0]:,} to {sizes[-1]:,} cells, our error exceeds the bound by at most "
        f"{max(ours):.1e}, and that of the Toeplitz root by {min(roots):.1%} to {max(roots):.1%}. "
        f"Planning takes at most {max(seconds):.1f} s."
    )


def excesses(kind: str, n: int) -> tuple[float, float, float]:
    """Return how far errors of 1-GDP noise exceed the bound, with the strategy in use and the root, and the seconds."""
    domain = gd.Domain.of(x=gd.integers(1, n))
    query = gd.ranges(domain, "x") if kind == "ranges" else gd.prefix_sums(domain, "x")
    body = query.sensitivity(gd.PrivacyUnit())
    start = time.process_time()
    strategy = best_strategy(body, 2)
    seconds = time.process_time() - start
    root = RangeStrategy(toeplitz(body), n) if kind == "ranges" else toeplitz(body)
    found = length(strategy) / strategy.least - 1, length(root) / strategy.least - 1, seconds
    print(kind, n, *found, flush=True)
    return found


def length(strategy: Strategy) -> float:
    """Return the expected length of the noise for one unit of guarantee, in root mean square."""
    return strategy.radius * math.sqrt(float(strategy.squares.sum()))


if __name__ == "__main__":
    main()
