"""How often do the intervals of private scores hold, and how wide are they beside those without privacy?

One model of each kind is fitted once; other rows are drawn with other noise 500 times, or as often as is asked for;
95 % intervals. Writes docs/benchmarks/scores.md.

    python benchmarks/scores.py [TIMES]
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit

from gaugedp.estimators import LinearRegression, LogisticRegression, score_report

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks" / "scores.md"
TIMES, WITHOUT, LARGE, MANY, Z = 500, 30, 1e6, 400_000, 1.959964
CASES = ((1000, 1.0), (50_000, 1.0))
Table = tuple[np.ndarray, np.ndarray]


def classes(n: int, rng: np.random.Generator) -> Table:
    """Draw rows and labels."""
    rows = rng.uniform(-1, 1, (n, 3))
    return rows, (rng.random(n) < expit(rows @ [3, -1, 0] - 1)).astype(int)


def numbers(n: int, rng: np.random.Generator) -> Table:
    """Draw rows and targets."""
    rows = rng.uniform(-1, 1, (n, 3))
    return rows, rows @ [1, -1, 0] + rng.normal(0, 0.5, n)


MODELS: dict[Callable[..., Table], Any] = {
    classes: LogisticRegression(1.0, 1e-6, bounds=(-1, 1), classes=[0, 1], random_state=1),
    numbers: LinearRegression(1.0, 1e-6, bounds=(-1, 1), target_bounds=(-3, 3), random_state=1),
}


def seen(draw: Callable[..., Table], n: int, epsilon: float, times: int) -> list[str]:
    """Return rows of the table, one a score."""
    rng = np.random.default_rng((n, round(epsilon)))
    model = MODELS[draw].fit(*draw(10_000, rng))
    exact = score_report(model, *draw(MANY, rng), epsilon=LARGE, random_state=1).scores_
    scores = [score_report(model, *draw(n, rng), epsilon=epsilon, random_state=key).scores_ for key in range(times)]
    without = [score_report(model, *draw(n, rng), epsilon=LARGE, random_state=1).scores_ for _ in range(WITHOUT)]
    lines = []
    for name, (value, *_) in exact.items():
        ends = np.array([found[name][1:] for found in scores])
        share = ((ends[:, 0] <= value) & (value <= ends[:, 1])).mean()
        half = np.median(ends[:, 1] - ends[:, 0]) / 2
        wide = half / (Z * np.std([found[name][0] for found in without], ddof=1))
        lines.append(f"| {name} | {n:,} | {epsilon:g} | {value:.4f} | {100 * share:.1f} % | {half:.3g} | {wide:.2g} |")
        print(lines[-1], flush=True)
    return lines


def main(times: int) -> None:
    """Write the page."""
    rows = [line for draw in MODELS for case in CASES for line in seen(draw, *case, times)]
    PAGE.write_text(page(rows, times), "utf-8")


def page(rows: list[str], times: int) -> str:
    """Return the page with the rows of the table."""
    return (
        "# Intervals of scores\n\n"
        f"`python benchmarks/scores.py {times}` wrote this page. A model of each kind is fitted once; other rows are "
        f"drawn {times} times and scored by `score_report`, each time with other noise, rows replaced.\n\n"
        f"How often a 95 % interval holds the score of the law that rows are drawn from, which is that of {MANY:,} "
        "rows without noise; the half width is the median, and stands beside 1.96 deviations of the score without "
        f"privacy over {WITHOUT} such tables.\n\n"
        "| score | rows | ε | exact | holds | half width | over that without privacy |\n"
        "|---|---:|---:|---:|---:|---:|---:|\n" + "\n".join(rows) + "\n\n"
        f"With {times} repetitions a share of 95 % has a standard error of {100 * np.sqrt(0.95 * 0.05 / times):.2g} %. "
        "Intervals are made for three tenths fewer failures than they may have, as the law of sampling is taken as "
        "normal or Gamma; so most hold more often than they say. What is taken as exact is drawn too: beside 50,000 "
        "rows its error is a third of theirs, and lowers the shares.\n"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else TIMES)
