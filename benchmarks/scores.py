"""How often do the intervals of private scores hold the exact score of the rows, and how wide are they?

One model of each kind; noise drawn anew 500 times, 95 % intervals. Writes docs/benchmarks/scores.md.

    python benchmarks/scores.py
"""

from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit

from gaugedp.estimators import LinearRegression, LogisticRegression, score_report

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks" / "scores.md"
TIMES, LARGE = 500, 1e7
SIZES = (1000, 50_000)


def classes(n: int, rng: np.random.Generator) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return a fitted model, and other rows and labels."""
    rows = rng.uniform(-1, 1, (2 * n, 3))
    labels = (rng.random(2 * n) < expit(rows @ [3, -1, 0] - 1)).astype(int)
    model = LogisticRegression(1.0, 1e-6, bounds=(-1, 1), classes=[0, 1], random_state=1)
    return model.fit(rows[:n], labels[:n]), rows[n:], labels[n:]


def numbers(n: int, rng: np.random.Generator) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return the same for a regression."""
    rows = rng.uniform(-1, 1, (2 * n, 3))
    target = rows @ [1, -1, 0] + rng.normal(0, 0.5, 2 * n)
    model = LinearRegression(1.0, 1e-6, bounds=(-1, 1), target_bounds=(-3, 3), random_state=1)
    return model.fit(rows[:n], target[:n]), rows[n:], target[n:]


def seen(made: Any, n: int, epsilon: float) -> list[str]:
    """Return rows of the table, one a score."""
    model, rows, target = made(n, np.random.default_rng(2026))
    exact = score_report(model, rows, target, epsilon=LARGE, random_state=1).scores_
    told = [score_report(model, rows, target, epsilon=epsilon, random_state=key).scores_ for key in range(TIMES)]
    lines = []
    for name, (value, *_) in exact.items():
        ends = np.array([scores[name][1:] for scores in told])
        share = ((ends[:, 0] <= value + 1e-6) & (value - 1e-6 <= ends[:, 1])).mean()
        half = np.median(ends[:, 1] - ends[:, 0]) / 2
        lines.append(f"| {name} | {n:,} | {epsilon:g} | {value:.4f} | {100 * share:.1f} % | {half:.3g} |")
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    """Write the page."""
    rows = [line for made in (classes, numbers) for n in SIZES for line in seen(made, n, 1.0)]
    PAGE.write_text(
        "# Intervals of scores\n\n"
        "`python benchmarks/scores.py` wrote this page. A model of each kind is fitted once, and other rows are scored "
        f"{TIMES} times, each time with other noise: `score_report`, ε = 1, rows replaced.\n\n"
        "How often a 95 % interval holds the exact score of the rows; the half width is the median.\n\n"
        "| score | rows | ε | exact | holds | half width |\n|---|---:|---:|---:|---:|---:|\n" + "\n".join(rows) + "\n\n"
        "With 500 repetitions a share of 95 % has a standard error of 1 %.\n",
        "utf-8",
    )


if __name__ == "__main__":
    main()
