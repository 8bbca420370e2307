"""How far off are private medians and deciles, in ranks, and what do they cost, beside opendp and diffprivlib?

Incomes 0 … 200,000 in steps of 10, none or a quarter of them 0, ε = 1 for the whole question. Each figure is a median
over repeats. Prints a table and writes docs/benchmarks/quantiles.md.

    python benchmarks/quantiles.py
"""

import itertools
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
SHOWN = (
    ("median", 1_000, 0.0), ("deciles", 1_000, 0.0), ("deciles", 1_000, 0.25),
    ("median", 100_000, 0.0), ("deciles", 100_000, 0.25),
)  # fmt: skip
WIDTHS, COVERED = 50, 2000  # draws of each table for widths, and for coverage
ROWS, STEPS = (300, 1_000, 10_000), (501, 500_001)

Act = Callable[[], list[float]]


def incomes(size: int, zeros: float) -> np.ndarray:
    rng = np.random.default_rng(2018)
    drawn = np.exp(rng.normal(10.3, 0.9, size))
    drawn[rng.random(size) < zeros] = 0
    return np.rint(np.clip(drawn, 0, HIGH) / STEP).astype(np.int64) * STEP


def ours(values: np.ndarray, shares: list[float], interval: bool = True) -> Act:
    """Return a whole release: the plan, the payment, the look, answers and intervals, stored in a ledger in memory."""
    domain = gd.Domain.of(income=gd.bounded(0, HIGH, STEP))
    table = gd.Table.scan(pd.DataFrame({"income": values}), domain=domain)
    query = gd.quantiles(domain, "income", *shares, interval=interval)

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


def ours_alone(values: np.ndarray, shares: list[float]) -> Act:
    """Return a whole release of answers without intervals, as the others give them."""
    return ours(values, shares, interval=False)


WAYS = {"gaugedp": ours, "without intervals": ours_alone, "opendp": opendp, "diffprivlib": diffprivlib}


def rank_error(ordered: np.ndarray, value: float, share: float) -> float:
    """Return how many rows lie between the value and the true quantile; infinity without a value."""
    if np.isnan(value):
        return np.inf
    below, up_to = np.searchsorted(ordered, value, "left"), np.searchsorted(ordered, value, "right")
    return float(max(below - share * len(ordered), share * len(ordered) - up_to, 0))


def measured(values: np.ndarray, shares: list[float]) -> dict[str, tuple[float, float]]:
    """Return (worst rank error, processor seconds) of each way; all take their turn in every round."""
    acts = {name: way(values, shares) for name, way in WAYS.items()}
    ordered = np.sort(values)
    results: dict[str, list[tuple[float, float]]] = {name: [] for name in acts}
    for _ in range(REPEATS):
        for name, act in acts.items():
            start = time.process_time()
            answers = act()
            seconds = time.process_time() - start
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
    coverages, inside = [], dict[str, list[float]]()
    for size, zeros, (name, shares) in itertools.product(SIZES, ZEROS, QUESTIONS.items()):
        _, (alone, at_once, *lengths) = held(incomes(size, zeros), shares)
        coverages += [alone, at_once]
        if not zeros:
            inside.setdefault(name, []).extend(lengths)
    rows = " and ".join(f"{min(each):,.0f} to {max(each):,.0f} for {name}" for name, each in inside.items())
    return [f"Coverage is at least {min(coverages):.1%}. Without zeros, the mean number of rows inside is {rows}."]


def tables(size: int, m: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return rows of m values by the shape of their distribution."""
    spread, is_less = rng.integers(0, m, size), rng.random(size)
    long_tailed = np.exp(rng.normal(0.8 * np.log(m), 0.8, size))
    return {
        "uniform": spread,
        "lognormal": np.minimum(m - 1, long_tailed).astype(np.int64),
        "a quarter of zeros": np.where(is_less < 0.25, 0, spread),
        "two atoms of a fifth": np.where(is_less < 0.2, m // 3, np.where(is_less < 0.4, 2 * m // 3, spread)),
        "two atoms, 60 % and 40 %": np.where(is_less < 0.6, m // 5, 4 * m // 5),
        "two atoms, 50 % and 50 %": np.where(is_less < 0.5, m // 5, 4 * m // 5),
    }


def median_widths(size: int, m: int, name: str) -> tuple[float, ...]:
    """Return medians over draws: rows strictly inside the interval, and the rank error of the answer."""
    mechanism = gd.plan(
        gd.quantiles(gd.Domain.of(v=gd.bounded(0, m - 1)), "v", 0.5), gd.PrivacyUnit(), epsilon=1
    ).mechanism
    rng, found = np.random.default_rng(size + m), []
    for one in mechanism.pool(WIDTHS, gd.research_rng(1)):
        rows = np.sort(tables(size, m, rng)[name])
        value, lower, upper = one(np.bincount(rows, minlength=m))[:3]
        strictly = np.searchsorted(rows, upper, "left") - np.searchsorted(rows, lower, "right")
        found.append([max(0, strictly), rank_error(rows, float(value), 0.5)])
    return tuple(np.median(found, axis=0).tolist())


def widths() -> list[str]:
    """Return a sentence for distributions with rows at many values, and one for those with rows at two values only."""
    found: dict[bool, list[tuple[float, ...]]] = {False: [], True: []}
    for name in tables(1, 501, np.random.default_rng(1)):
        found[name.endswith("%")] += [median_widths(size, m, name) for m in STEPS for size in ROWS]
    ends = [
        f"{min(inside):.0f} to {max(inside):.0f} rows strictly between their ends, and the answers are at most "
        f"{max(errors):.0f} ranks off"
        for inside, errors in (zip(*each, strict=True) for each in found.values())
    ]
    return [f"The intervals contain {ends[0]}.", f"If all rows share two values, they contain {ends[1]}."]


def adversarial(m: int) -> dict[str, np.ndarray]:
    """Return histograms, most of them chosen against the mechanism."""

    def atoms(rows: dict[int, int]) -> np.ndarray:
        table = np.zeros(m, dtype=np.int64)
        table[list(rows)] = list(rows.values())
        return table

    rng, middle = np.random.default_rng(4), m // 2
    spread = {n: np.bincount(rng.integers(0, m, n), minlength=m) for n in (15, 150, 300, 1000)}
    return {
        "uniform": spread[1000],
        "a quarter of zeros": spread[300] + atoms({0: 100}),
        "15 rows": spread[15],
        "no rows": atoms({0: 0}),
        "one row": atoms({7: 1}),
        "two atoms at the bounds": atoms({0: 200, m - 1: 200}),
        "the same, with three more rows": atoms({0: 203, m - 1: 200}),
        "one atom": atoms({middle: 300}),
        "neighbours of the median": atoms({middle - 1: 150, middle: 1, middle + 1: 150}),
        "a gap at the median": atoms({m // 5: 150, m // 5 + 1: 2, 4 * m // 5: 152}),
        "an atom below the median": spread[150] + atoms({middle - 10: 140}),
        "five adjacent atoms": atoms({middle - 2: 90, middle - 1: 30, middle: 40, middle + 1: 30, middle + 2: 90}),
    }


def coverage(m: int = 20_001) -> list[str]:
    """Return in how many draws the interval of the median holds all medians, by table."""
    mechanism = gd.plan(
        gd.quantiles(gd.Domain.of(v=gd.bounded(0, m - 1)), "v", 0.5), gd.PrivacyUnit(), epsilon=1
    ).mechanism
    found: dict[str, float] = {}
    for name, table in adversarial(m).items():
        up_to = np.cumsum(table)
        is_median = (2 * (up_to - table) <= up_to[-1]) & (2 * up_to >= up_to[-1])
        first, last = np.flatnonzero(is_median)[[0, -1]]
        ends = np.array([one(table)[1:3] for one in mechanism.pool(COVERED, gd.research_rng(2))])
        found[name] = float(((ends[:, 0] <= first) & (last <= ends[:, 1])).mean())
    lowest = "; ".join(f"{name}: {held:.2%}" for name, held in found.items() if held < 0.99)
    return [f"Coverage is at least {min(found.values()):.2%} for {len(found)} tables. Below 99 %: {lowest}."]


def shown(ranks: float) -> str:
    return f"{ranks:,.1f}" if np.isfinite(ranks) else "fails"


def table() -> str:
    heads = [f"{name} {what}" for name in WAYS for what in ("ranks", "ms")]
    lines = [f"| query | rows | zeros | {' | '.join(heads)} |", "|---|---:|---:|" + "---:|" * len(heads)]
    for name, size, zeros in SHOWN:
        shares = QUESTIONS[name]
        result = measured(incomes(size, zeros), shares).values()
        cells = [f"{shown(ranks)} | {1000 * seconds:,.1f}" for ranks, seconds in result]
        lines.append(f"| {name} | {size:,} | {zeros:.0%} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    pages.put("quantiles", "quantiles", [table(), "", f"Medians of {REPEATS} rounds in turn."])
    pages.put("quantiles", "intervals", intervals())
    pages.put("quantiles", "widths", widths())
    pages.put("quantiles", "coverage", coverage())


if __name__ == "__main__":
    main()
