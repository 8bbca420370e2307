"""How often do the intervals of private scores hold, and how wide are they beside those without privacy?

One model of each kind is fitted once; other rows are drawn with other noise 500 times, or as often as is asked for;
95 % intervals. Writes docs/benchmarks/intervals.md.

    python benchmarks/scores.py [TIMES]
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pages
from scipy.special import expit, ndtri
from scipy.stats import qmc

from gaugedp.estimators import LinearRegression, LogisticRegression, score_report

TIMES, WITHOUT, LARGE, POWER, Z = 500, 100, 1e6, 19, 1.959964
CASES = ((1000, 1.0), (50_000, 1.0))
Table = tuple[np.ndarray, np.ndarray]


def classes(uniform: np.ndarray) -> Table:
    """Return rows and labels for uniform numbers (n, 4)."""
    rows = 2 * uniform[:, :3] - 1
    return rows, (uniform[:, 3] < expit(rows @ [3, -1, 0] - 1)).astype(int)


def numbers(uniform: np.ndarray) -> Table:
    """Return rows and targets for uniform numbers (n, 4)."""
    rows = 2 * uniform[:, :3] - 1
    return rows, rows @ [1, -1, 0] + 0.5 * ndtri(uniform[:, 3])


MODELS: dict[Callable[[np.ndarray], Table], Any] = {
    classes: LogisticRegression(1.0, 1e-6, neighbours="replace", bounds=(-1, 1), classes=[0, 1], random_state=1),
    numbers: LinearRegression(1.0, 1e-6, neighbours="replace", bounds=(-1, 1), target_bounds=(-3, 3), random_state=1),
}


def scored(model: Any, table: Table, epsilon: float, key: int) -> dict[str, tuple[float, float, float]]:
    """Return the scores of the model on a table."""
    return score_report(model, *table, neighbours="replace", epsilon=epsilon, random_state=key).scores_


def seen(table: Callable[[np.ndarray], Table], n: int, epsilon: float, times: int) -> dict[str, tuple[float, float]]:
    """Return coverage and width of the intervals of each score."""
    rng = np.random.default_rng((n, round(epsilon)))
    model = MODELS[table].fit(*table(np.random.default_rng(1).random((10_000, 4))))
    exact = scored(model, table(qmc.Sobol(4, seed=1).random_base2(POWER)), LARGE, 1)
    scores = [scored(model, table(rng.random((n, 4))), epsilon, key) for key in range(times)]
    without = [scored(model, table(rng.random((n, 4))), LARGE, 1) for _ in range(WITHOUT)]
    cells = {}
    for name, (value, *_) in exact.items():
        ends = np.array([result[name][1:] for result in scores])
        share = ((ends[:, 0] <= value) & (value <= ends[:, 1])).mean()
        half = np.median(ends[:, 1] - ends[:, 0]) / 2
        wide = half / (Z * np.std([result[name][0] for result in without], ddof=1))
        cells[name] = 100 * float(share), float(wide)
        print(name, n, f"{value:.4f}", cells[name], f"{half:.3g}", flush=True)
    return cells


def main(times: int) -> None:
    """Write the block of the page."""
    lines = [f"| score: ratio | {' | '.join(f'{n:,} rows' for n, _ in CASES)} |", "|---|" + "---:|" * len(CASES)]
    shares: list[float] = []
    for table in MODELS:
        found = [seen(table, *case, times) for case in CASES]
        shares += [share for cells in found for share, _ in cells.values()]
        lines += [f"| {name} | {' | '.join(f'{cells[name][1]:.2g}' for cells in found)} |" for name in found[0]]
    pages.put("intervals", "scores", [f"Coverage is {min(shares):.1f} to {max(shares):.1f} %.", "", *lines])


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else TIMES)
