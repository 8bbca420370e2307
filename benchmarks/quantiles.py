"""How far off are private medians and deciles, in ranks, and what do they cost, beside opendp and diffprivlib?

Incomes 0 … 200,000 in steps of 10, none or a quarter of them 0, ε = 1 for the whole question. Each figure is a median
over repeats. Prints a table and writes docs/benchmarks/quantiles.md.

    python benchmarks/quantiles.py
"""

import importlib.metadata
import itertools
import os
import platform
import statistics
import sys
import time
import types
from collections.abc import Callable

import numpy as np
import pages
import pandas as pd

import gaugedp as gd

HIGH, STEP, EPSILON, REPEATS, DRAWS = 200_000, 10, 1.0, 11, 200
SIZES, ZEROS = (1_000, 100_000), (0.0, 0.25)
QUESTIONS = {"median": [0.5], "deciles": [i / 10 for i in range(1, 10)]}

Act = Callable[[], list[float]]


def incomes(size: int, zeros: float) -> np.ndarray:
    rng = np.random.default_rng(2018)
    drawn = np.exp(rng.normal(10.3, 0.9, size))
    drawn[rng.random(size) < zeros] = 0
    return np.rint(np.clip(drawn, 0, HIGH) / STEP).astype(np.int64) * STEP


def ours(values: np.ndarray, shares: list[float]) -> Act:
    """Return a whole release: the plan, the payment, the look, answers and intervals, stored in a ledger in memory."""
    domain = gd.Domain.of(income=gd.bounded(0, HIGH, STEP))
    table = gd.Table.scan(pd.DataFrame({"income": values}), domain=domain)
    query = gd.quantiles(domain, "income", *shares)

    def act() -> list[float]:
        ledger = gd.Ledger.in_memory(gd.PureDP(EPSILON))
        return gd.release(query, table, ledger=ledger, epsilon=EPSILON).values.tolist()

    return act


def opendp(values: np.ndarray, shares: list[float]) -> Act:
    """Return its private quantile over the same values as candidates, ε shared out evenly, calibrated once."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    candidates, rows = list(range(0, HIGH + 1, STEP)), values.tolist()

    def made(scale: float, share: float) -> "dp.Measurement":
        return dp.m.make_private_quantile(*space, dp.max_divergence(), candidates, share, scale)

    scales = {
        share: dp.binary_search_param(lambda scale, share=share: made(scale, share), 1, EPSILON / len(shares), T=float)
        for share in shares
    }
    ready = [made(scales[share], share) for share in shares]
    return lambda: [float(one(rows)) for one in ready]


def diffprivlib(values: np.ndarray, shares: list[float]) -> Act:
    """Return its quantiles, which are real numbers within the bounds; NaN where it raises. ε is shared out evenly."""
    # its models, which are not used here, do not load with every scikit-learn
    sys.modules.setdefault("diffprivlib.models", types.ModuleType("diffprivlib.models"))
    from diffprivlib.tools import quantile

    rows = values.astype(float)

    def act() -> list[float]:
        try:
            with np.errstate(invalid="ignore"):
                return list(np.atleast_1d(quantile(rows, shares, epsilon=EPSILON, bounds=(0, HIGH))))
        except RuntimeError:  # "Can't find a candidate to return", where rows are tied
            return [np.nan] * len(shares)

    return act


WAYS = {"gaugedp": ours, "opendp": opendp, "diffprivlib": diffprivlib}


def rank_error(ordered: np.ndarray, value: float, share: float) -> float:
    """Return how many rows lie between the value and the true quantile; infinity without a value."""
    if np.isnan(value):
        return np.inf
    below, up_to = np.searchsorted(ordered, value, "left"), np.searchsorted(ordered, value, "right")
    return float(max(below - share * len(ordered), share * len(ordered) - up_to, 0))


def measured(values: np.ndarray, shares: list[float]) -> dict[str, tuple[float, float]]:
    """Return (worst rank error over the quantiles, seconds) of each way; all take their turn in every round."""
    acts = {name: way(values, shares) for name, way in WAYS.items()}
    ordered = np.sort(values)
    results: dict[str, list[tuple[float, float]]] = {name: [] for name in acts}
    for _ in range(REPEATS):
        for name, act in acts.items():
            start = time.perf_counter()
            answers = act()
            seconds = time.perf_counter() - start
            worst = max(rank_error(ordered, *pair) for pair in zip(answers, shares, strict=True))
            results[name].append((worst, seconds))
    return {
        name: tuple(statistics.median(column) for column in zip(*rows, strict=True)) for name, rows in results.items()
    }


def held(values: np.ndarray, shares: list[float]) -> tuple[str, list[float]]:
    """Return the mechanism, how many of its 95 % intervals hold, alone and all at once, and how many rows they hold."""
    domain = gd.Domain.of(income=gd.bounded(0, HIGH, STEP))
    query = gd.quantiles(domain, "income", *shares)
    mechanism = gd.plan(query, gd.PrivacyUnit(), epsilon=EPSILON).mechanism
    histogram = np.bincount(values // STEP, minlength=HIGH // STEP + 1)
    below = np.concatenate([[0], np.cumsum(histogram)])
    true = np.searchsorted(below[1:], np.array(shares) * len(values))
    figures = []
    for one in mechanism.pool(DRAWS, gd.research_rng(1)):
        _, *ends = one(histogram).reshape(5, -1)
        holds = [(lower <= true) & (true <= upper) for lower, upper in (ends[2:], ends[:2])]
        lengths = [(below[upper] - below[lower + 1]).clip(0).mean() for lower, upper in (ends[2:], ends[:2])]
        figures.append([holds[0].mean(), holds[1].all(), *lengths])
    return mechanism.name, np.mean(figures, axis=0).tolist()


def intervals() -> list[str]:
    lines = [
        "| query | rows | individual | simultaneous | rows inside, individual | simultaneous |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    others = []
    for size, zeros, (name, shares) in itertools.product(SIZES, ZEROS, QUESTIONS.items()):
        _, (alone, at_once, *lengths) = held(incomes(size, zeros), shares)
        cells = f"{alone:.1%} | {at_once:.1%} | {' | '.join(f'{length:,.0f}' for length in lengths)}"
        if zeros:
            others += [alone, at_once]
        else:
            lines.append(f"| {name} | {size:,} | {cells} |")
    return [*lines, "", f"With a quarter of zeros, coverage is at least {min(others):.1%}."]


def shown(ranks: float) -> str:
    return f"{ranks:,.1f}" if np.isfinite(ranks) else "fails"


def table() -> str:
    heads = [f"{name} {what}" for name in WAYS for what in ("ranks", "ms")]
    lines = [f"| query | rows | zeros | {' | '.join(heads)} |", "|---|---:|---:|" + "---:|" * len(heads)]
    for size, zeros, (name, shares) in itertools.product(SIZES, ZEROS, QUESTIONS.items()):
        result = measured(incomes(size, zeros), shares).values()
        cells = [f"{shown(ranks)} | {1000 * seconds:,.1f}" for ranks, seconds in result]
        lines.append(f"| {name} | {size:,} | {zeros:.0%} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    packages = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("numpy", "opendp", "diffprivlib"))
    machine = f"Python {platform.python_version()}, {packages}; {os.cpu_count()} cores."
    pages.put("quantiles", "quantiles", [table(), "", f"Medians of {REPEATS} rounds in turn. {machine}"])
    pages.put("quantiles", "intervals", intervals())


if __name__ == "__main__":
    main()
