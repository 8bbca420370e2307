"""How wrong are counts of nested areas at each level, and how long do large trees take?

Four levels of 10, 100, 1,000 and 10,000 areas, each crossed with 5 cells, of people whose number in a cell falls like a
power of its rank. At one guarantee: independent noise of equal shares on each level, as it is and after least squares;
"top-down", which holds the coarsest counts and moves those of each area's parts to the nearest ones of at least
0 that add up; and plans, with equal answers and with equal levels. The large tree has 100,000 finest areas in
five levels x 50 cells. Writes docs/benchmarks/queries.md.

    python benchmarks/nested.py
"""

import resource
import time

import numpy as np
import pages
import pyarrow as pa

import gaugedp as gd
from gaugedp.mechanisms.base import AdditiveNoise
from gaugedp.queries.linear import Workload
from gaugedp.releases.processing import process

FAN, N_LEVELS, N_CELLS, N_RUNS, SEED = 10, 4, 5, 20, 1
GUARANTEES = {"ε = 1": gd.PureDP(1.0)}
BOTH = ("consistent", "non_negative", "rounded")
UNIT = gd.PrivacyUnit()


def main() -> None:
    """Write the page."""
    tables = [errors(name, guarantee) for name, guarantee in GUARANTEES.items()]
    pages.put("queries", "nested", [*tables, large()])


def nation(n_levels: int, n_cells: int) -> tuple[gd.Domain, list[str]]:
    """Return a domain of levels L1, L2, … in which each area has 10 parts, and the names of the finest areas."""
    places = np.arange(FAN**n_levels)
    columns = {
        f"L{level}": [f"{level}.{code}" for code in (places // FAN ** (n_levels - level)).tolist()]
        for level in range(1, n_levels + 1)
    }
    finest = f"L{n_levels}"
    domain = gd.Domain.of(**{"CELL": gd.integers(1, n_cells), finest: gd.tree(columns)})
    return domain, columns[finest]


def question(domain: gd.Domain, n_levels: int) -> Workload:
    """Return all levels, crossed with the cells."""
    return gd.query(domain, "; ".join(f"L{level}*CELL" for level in range(1, n_levels + 1)))


def errors(name: str, guarantee: gd.PureDP | gd.ZCDP) -> str:
    """Return the table of errors at a guarantee: the root of the mean square at each level."""
    domain, _ = nation(N_LEVELS, N_CELLS)
    query = question(domain, N_LEVELS)
    alike = query.with_importance({f"L{level}*CELL": FAN ** (N_LEVELS - level) for level in range(1, N_LEVELS + 1)})
    rng = np.random.default_rng(SEED)
    cells = rng.permutation(rng.poisson(3e4 / np.arange(1, FAN**N_LEVELS * N_CELLS + 1)))
    tables = [cells.reshape(-1, N_CELLS)]
    while len(tables) < N_LEVELS:
        tables.insert(0, tables[0].reshape(-1, FAN, N_CELLS).sum(axis=1))
    truth = np.concatenate([table.ravel() for table in tables]).astype(float)
    laws = {"epsilon": 1.0} if isinstance(guarantee, gd.PureDP) else {"rho": 0.1}
    body = query.sensitivity(UNIT)
    independent = (gd.Laplace if isinstance(guarantee, gd.PureDP) else gd.Gaussian).calibrate(body, guarantee)
    plans = [gd.plan(requested, UNIT, **laws) for requested in (query, alike)]
    rows = {
        "independent levels": _run(query, independent, truth, ()),
        "the same, top-down": _run(query, independent, truth, None),
        "the same, `consistent`": _run(query, independent, truth, ("consistent",)),
        f"plan, equal answers ({plans[0].mechanism.name})": _run(query, plans[0].mechanism, truth, ("consistent",)),
        f"plan, equal levels ({plans[1].mechanism.name})": _run(query, plans[1].mechanism, truth, ("consistent",)),
        "the same, `non_negative` and `rounded`": _run(query, plans[1].mechanism, truth, BOTH),
    }
    head = f"| {name} | " + " | ".join(f"{len(table):,} areas" for table in tables) + " | coverage |\n"
    lines = ["| " + " | ".join([who, *figures]) + " |" for who, figures in rows.items()]
    return head + "|---|" + "---:|" * (N_LEVELS + 1) + "\n" + "\n".join(lines) + "\n"


def _run(query: Workload, mechanism: AdditiveNoise, truth: np.ndarray, steps: tuple[str, ...] | None) -> list[str]:
    """Return the errors of each level, and how often the 95 % intervals of the raw answers hold the truth."""
    rng, widths, deviations = gd.research_rng(SEED), mechanism.half_widths(0.95), np.sqrt(mechanism.variances)
    squares, held = np.zeros(len(truth)), 0.0
    for _ in range(N_RUNS):
        noise = mechanism.draw(1, rng)[0].astype(float)
        held += float((np.abs(noise) <= widths).mean()) / N_RUNS
        raw = truth + noise
        result = top_down(raw) if steps is None else raw
        if steps:
            result = process(steps, raw, query.are_counts, query, deviations)
        squares += (result - truth) ** 2 / N_RUNS
    ends = np.cumsum([FAN**level * N_CELLS for level in range(1, N_LEVELS)])
    return [f"{np.sqrt(part.mean()):.2f}" for part in np.split(squares, ends)] + [f"{100 * held:.1f} %"]


def top_down(raw: np.ndarray) -> np.ndarray:
    """Return counts of at least 0 that add up, by hand: each area's parts moved to the nearest that sum to it."""
    ends = np.cumsum([FAN**level * N_CELLS for level in range(1, N_LEVELS)])
    levels = [part.reshape(-1, N_CELLS) for part in np.split(raw, ends)]
    results = [np.maximum(levels[0], 0)]
    for level in levels[1:]:
        parts, totals = level.reshape(-1, FAN, N_CELLS), results[-1][:, None]
        falling = -np.sort(-parts, axis=1)
        lowered = (np.cumsum(falling, axis=1) - totals) / np.arange(1, FAN + 1)[:, None]
        last = (falling > lowered).sum(axis=1, keepdims=True).clip(1) - 1
        results.append(np.maximum(parts - np.take_along_axis(lowered, last, axis=1), 0).reshape(-1, N_CELLS))
    return np.concatenate([table.ravel() for table in results])


def large() -> str:
    """Return what 100,000 areas in five levels x 50 cells take, in seconds of one processor and in memory."""
    domain, areas = nation(5, 50)
    rng, n_rows = np.random.default_rng(SEED), 2 * 10**6
    places = (rng.pareto(1.2, n_rows) * 300).astype(int) % len(areas)
    rows = pa.table({"L5": pa.array(areas).take(pa.array(places)), "CELL": rng.integers(1, 51, n_rows)})
    query, table, laps = question(domain, 5), gd.Table.scan(rows, domain=domain), [time.process_time()]
    plan = gd.plan(query, UNIT, epsilon=1.0)
    laps.append(time.process_time())
    ledger = gd.Ledger.in_memory(gd.PureDP(1))
    release = gd.release(query, table, ledger=ledger, planned=plan, rng=gd.research_rng(SEED))
    laps.append(time.process_time())
    printed = release.processed(*BOTH, query=query)
    low, high = release.interval()
    laps.append(time.process_time())
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    plan_seconds, release_seconds, rest = np.diff(laps)
    return (
        f"A tree of {len(areas):,} areas in five levels x 50 cells at ε = 1 has {len(printed.values):,} answers. "
        f"Planning takes {plan_seconds:.0f} s, the release of {n_rows:,}\nrows {release_seconds:.0f} s, postprocessing "
        f"and intervals {rest:.0f} s of processor time, with {memory:.1f} GB of memory. Half widths of 95 % intervals: "
        f"{(high - low).min() / 2:.0f} to {(high - low).max() / 2:.0f}."
    )


if __name__ == "__main__":
    main()
