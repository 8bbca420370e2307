"""What the settings of adaptive tables do on another table than adaptive_rows.py reports: the survey of the repository.

Eight attributes of 7,244 rows, all tables of three. Prints how the error depends on the share of the budget that the
single attributes take, and on the steps of a fit.

    python benchmarks/adaptive_rows_settings.py
"""

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

import gaugedp as gd
from gaugedp.synthesis import adaptive_measurement
from gaugedp.synthesis.tuning import TUNED

ACS = Path(__file__).resolve().parents[1] / "examples" / "acs" / "acs_ma2018.csv"
CATEGORIES = ["SEX", "MSP", "RAC1P", "HOUSING_TYPE", "INDP_CAT", "EDU", "PINCP_DECILE"]
ROUNDS, STEPS, SEEDS = (2, 3, 4, 6), (15, 60), (11, 12, 13)
EPSILON, DELTA = 3.6, 1e-9  # as many rows to the noise as the page's table has


def survey() -> tuple[pd.DataFrame, dict[str, int]]:
    """Return the cells of all rows, and how many cells each attribute has."""
    frame = pd.read_csv(ACS)
    cells = {name: np.unique(frame[name].astype(str), return_inverse=True)[1] for name in CATEGORIES}
    cells["AGEP"] = np.minimum(frame["AGEP"].to_numpy() // 10, 8)
    return pd.DataFrame(cells), {name: int(column.max()) + 1 for name, column in cells.items()}


def error(made: pd.DataFrame, cells: pd.DataFrame, sizes: dict[str, int]) -> float:
    """Return the mean over all threes of the sum of the distances from the true shares."""

    def shares(rows: pd.DataFrame, names: tuple[str, ...]) -> np.ndarray:
        shape = [sizes[name] for name in names]
        places = np.ravel_multi_index([rows[name] for name in names], shape)
        return np.bincount(places, minlength=int(np.prod(shape))) / len(rows)

    threes = itertools.combinations(cells, 3)
    return float(np.mean([np.abs(shares(made, names) - shares(cells, names)).sum() for names in threes]))


def errors(cells: pd.DataFrame, sizes: dict[str, int], first: int, steps: int) -> list[float]:
    """Return the errors of rows, for each seed, under settings."""
    domain = gd.Domain.of(**{name: gd.integers(0, size - 1) for name, size in sizes.items()})
    expected, table = gd.marginals(domain, *itertools.combinations(sizes, 3)), gd.Table.scan(cells, domain=domain)
    adaptive_measurement.TUNED = replace(TUNED, rounds_per_attribute=first, fit_steps=steps)  # type: ignore[attr-defined]
    seen = []
    for seed in SEEDS:
        ledger, rng = gd.Ledger.in_memory(gd.ZCDP(1e12)), gd.research_rng(seed)
        released = gd.release_adaptively(expected, table, ledger=ledger, epsilon=EPSILON, delta=DELTA, rng=rng)
        made = gd.draw_rows(released, rng=gd.research_rng(seed)).columns
        seen.append(error(pd.DataFrame({name: made[name].astype(int) for name in sizes}), cells, sizes))
    adaptive_measurement.TUNED = TUNED  # type: ignore[attr-defined]
    return seen


def main() -> None:
    """Print the errors under settings."""
    cells, sizes = survey()
    tried = [(first, TUNED.fit_steps) for first in ROUNDS] + [(TUNED.rounds_per_attribute, steps) for steps in STEPS]
    print(f"built in: 1/{TUNED.rounds_per_attribute}, {TUNED.fit_steps} steps")
    for first, steps in tried:
        seen = errors(cells, sizes, first, steps)
        print(f"1/{first}, {steps} steps: {np.mean(seen):.3f} ({min(seen):.3f} to {max(seen):.3f})", flush=True)


if __name__ == "__main__":
    main()
