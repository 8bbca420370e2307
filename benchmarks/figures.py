"""How often do the intervals of figures computed from a release hold, and how long are they?

Counts and means of two tables, noise drawn anew 1,000 times, 95 % intervals. Writes docs/benchmarks/figures.md.

    python benchmarks/figures.py
"""

from fractions import Fraction
from pathlib import Path

import numpy as np

from gaugedp.deriving.figures import Lowest, difference, gini, ratio
from gaugedp.deriving.terms import Figure
from gaugedp.entropy import research_rng
from gaugedp.samplers.laws import DiscreteLaplace

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks" / "figures.md"
TIMES, MISSES, DRAWS = 1000, 0.05, 4000
MIDDLES = np.arange(5.0, 85.0, 10.0)  # of eight ranges
SIZES = {"many": 40_000, "some": 2000, "few": 200}
LAW = DiscreteLaplace(Fraction(2))
MEANS = np.array([[-20.0, 1.0], [-12.5, 1.0]])  # sums and counts of a row, of two cells, centred in [−50, 50]
FIGURES: dict[str, tuple[Figure, np.ndarray, np.ndarray]] = {
    "`gini(A)`": (gini(MIDDLES), 0.7 ** np.arange(8), np.ones(8)),
    "`lorenz(A, 0.5)`": (Lowest(MIDDLES, 0.5), 0.7 ** np.arange(8), np.ones(8)),
    "`lorenz(A, 0.9)`": (Lowest(MIDDLES, 0.9), 0.7 ** np.arange(8), np.ones(8)),
    "`difference(mean(C) by A)`": (difference(50), MEANS.ravel(), np.array([50.0, 1, 50, 1])),
    "`ratio(mean(C) by A)`": (ratio(50, 50), MEANS.ravel(), np.array([50.0, 1, 50, 1])),
}


def main() -> None:
    """Write the page."""
    rows = [line(size, name) for size in SIZES for name in FIGURES]
    PAGE.write_text(page(rows), "utf-8")
    print(f"{PAGE.name}: {len(rows)} rows")


def line(size: str, name: str) -> str:
    """Return one line of the table."""
    figure, shape, units = FIGURES[name]
    true = np.rint(SIZES[size] * shape / (shape.sum() if "mean" not in name else 2))
    rng = research_rng(2026)
    draws, noise = (LAW.draw(m * len(true), rng).reshape(m, -1) * units for m in (DRAWS, TIMES))
    interval, wanted = figure.under(draws), figure.value(true)
    ends = np.array([interval.ends(true + e, MISSES) for e in noise])
    held = np.mean((ends[:, 0] <= wanted + 1e-9) & (wanted - 1e-9 <= ends[:, 1]))
    half = float(np.median(np.diff(ends, axis=1))) / 2
    cells = (f"{SIZES[size]:,}", name, f"{100 * held:.1f} %", f"{wanted:.4g}", f"{half:.3g}")
    print(*cells, flush=True)
    return "| " + " | ".join(cells) + " |"


def page(rows: list[str]) -> str:
    """Return the page."""
    head = (
        "# Figures of a release\n\n"
        f"How often 95 % intervals of [figures computed from a release](../how-to/derive.md) hold, over {TIMES:,}\n"
        "repetitions of the noise. A has eight ranges, each with 0.7 times the rows of the one before; or C lies\n"
        "within ± 50 of its middle, in two cells with the same number of rows. Half-lengths are medians. Noise is\n"
        "discrete Laplace of scale 2 in counts, and 50 times as much in sums.\n\n"
        "| rows | figure | holds | true | half-length |\n|---|---|---|---|---|\n"
    )
    foot = (
        "\n\nOf 1,000 repetitions, a share of 95 % is known to ± 1.4 %. `lorenz` is a quotient of sums.\n"
        "The others are quotients of products: where rows are few beside the noise, a bound stands for products\n"
        "of noise, and intervals hold more often than they must. Written by `python benchmarks/figures.py`.\n"
    )
    return head + "\n".join(rows) + foot


if __name__ == "__main__":
    main()
