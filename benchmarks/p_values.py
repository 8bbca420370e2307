"""How often do tests of released numbers reject, with and without an effect?

Tables are drawn 2,000 times, and noise with them; each p-value is that of 199 simulated tables. Without an effect the
tests at 5 % must reject in at most 5 % of the tables, within three standard errors. With one they are compared with
Pearson's and Welch's tests of the rows without noise, and for independence with the published private test of Gaboardi,
Lim, Rogers and Vadhan (2016, algorithm 2, Laplace noise), as described there: it knows the number of rows, its noise is
of the same size, and it never rejects where an expected count is at most 5. Writes docs/benchmarks/intervals.md.

    python benchmarks/p_values.py [tables]
"""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pages
import scipy

import gaugedp as gd
from gaugedp.queries import Workload, builders
from gaugedp.statistics import p_value
from gaugedp.statistics.equal_means import EqualMeans, EqualMeansByBounds

TIMES, LEVEL, DRAWS = int(sys.argv[1]) if len(sys.argv) > 1 else 2000, 0.05, 199
POOL = 20_000  # draws of the noise, of which each test takes some
MOST = 3900  # numbers of the tables that are tested at once
SETTINGS = ((20, 1.0), (100, 0.1), (1000, 0.01), (1000, 1.0))  # rows and epsilon
UNIT = gd.PrivacyUnit()
Tables = Callable[
    [int, np.random.Generator], tuple[np.ndarray, float]
]  # of so many rows: numbers, p-value without noise


@dataclass(frozen=True)
class Case:
    """A test and a distribution of the numbers that it is computed from."""

    name: str
    query: Workload
    tables: Tables
    cells: np.ndarray | None = None  # probabilities, where a published test is compared
    inner: int = 1  # cells of a share, which come after groups


def crossed(*sizes: int) -> gd.Domain:
    return gd.Domain.of(**{name: [str(i) for i in range(size)] for name, size in zip("ab", sizes, strict=True)})


def of_cells(name: str, cells: np.ndarray, text: str = "independence(a, b)") -> Case:
    """Return tests of a multinomial table."""

    def tables(n: int, rng: np.random.Generator) -> tuple[np.ndarray, float]:
        counts = rng.multinomial(n, cells.ravel()).reshape(cells.shape)
        due = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / n
        far = (np.divide((counts - due) ** 2, due, out=np.zeros_like(due), where=due > 0)).sum()
        freedom = (np.count_nonzero(due.any(axis=1)) - 1) * (np.count_nonzero(due.any(axis=0)) - 1)
        return counts.ravel().astype(float), float(scipy.special.chdtrc(freedom, far)) if freedom else 1.0

    query = gd.query(crossed(*cells.shape), text)
    assert isinstance(query, Workload)
    return Case(name, query, tables, cells, 1 if text.startswith("independence") else cells.shape[1])


def of_means(name: str, values: Callable[[int, int, np.random.Generator], np.ndarray], kind: type[EqualMeans]) -> Case:
    """Return tests of the means of `values(group, n, rng)` in [0, 1]; three rows in ten are in the second group."""
    has_squares = kind is EqualMeans

    def tables(n: int, rng: np.random.Generator) -> tuple[np.ndarray, float]:
        second = rng.binomial(n, 0.3)
        groups = [values(group, size, rng) for group, size in enumerate((n - second, second))]
        sums, squares = ([f(group - 0.5) for group in groups] for f in (np.sum, lambda d: (2 * d**2 - 0.25).sum()))
        with np.errstate(invalid="ignore", divide="ignore"):
            alone = scipy.stats.ttest_ind(*groups, equal_var=False).pvalue if 1 < second < n - 1 else 1.0
        return np.array([*sums, *squares * has_squares, n - second, second]), float(np.nan_to_num(alone, nan=1.0))

    domain = gd.Domain.of(g=["0", "1"], v=gd.bounded(0, 1, step=0.001))
    return Case(name, builders.equality(domain, "v", "g", kind), tables)


def bell(group: int, n: int, rng: np.random.Generator, effect: float = 0.0) -> np.ndarray:
    return np.clip(rng.normal(0.4 + effect * group, 0.2, n), 0, 1)


def zeros(group: int, n: int, rng: np.random.Generator, effect: float = 0.0) -> np.ndarray:
    """Of 100 values 95 are 0."""
    return (rng.random(n) < 0.05) * rng.random(n) + effect * group


def without_effect() -> list[Case]:
    margins = {
        "2 x 2": ([0.5, 0.5], [0.4, 0.6]),
        "3 x 4, sparse": ([0.9, 0.07, 0.03], [0.85, 0.05, 0.05, 0.05]),
        "3 x 3, one cell holds 96 %": ([0.98, 0.01, 0.01], [0.98, 0.01, 0.01]),
        "5 x 5, sparse": ([0.9, *[0.025] * 4], [0.9, *[0.025] * 4]),
    }
    return [
        *(of_cells(f"independence, {name}", np.outer(*pair)) for name, pair in margins.items()),
        of_cells("equal shares, 3 x 2", np.outer([0.1, 0.6, 0.3], [0.8, 0.2]), "test(share(b) by a)"),
        of_means("equal means, normal", bell, EqualMeans),
        of_means("equal means, 95 % zeros", zeros, EqualMeans),
        of_means("equal means by bounds, 95 % zeros", zeros, EqualMeansByBounds),
    ]


def with_effect() -> list[tuple[Case, tuple[tuple[int, float], ...]]]:
    shift = np.array([[1, -1], [-1, 1]])
    sparse = np.outer([0.9, 0.07, 0.03], [0.85, 0.05, 0.05, 0.05])
    sparse[1:, 1:] += 0.004
    few = ((1000, 0.1), (1000, 1.0))
    return [
        (of_cells("independence, 2 x 2, 0.25 ± 0.025", 0.25 + 0.025 * shift), few),
        (of_cells("independence, 3 x 4, sparse", sparse / sparse.sum()), few),
        (of_means("equal means, normal", lambda *given: bell(*given, 0.03), EqualMeans), few),
        (of_means("equal means by bounds, normal", lambda *given: bell(*given, 0.03), EqualMeansByBounds), few[1:]),
    ]


def rejected(
    case: Case, n: int, epsilon: float, times: int, compared: bool = False
) -> tuple[float, float, float | None]:
    """Return how often the test, that without noise, and the published one reject."""
    rng, mechanism = np.random.default_rng(n), gd.plan(case.query, UNIT, epsilon=epsilon).mechanism
    units = case.query.steps.sizes
    noises, pool = (mechanism.trial_noise(size, size) * units for size in (times, POOL))  # type: ignore[attr-defined]
    drawn = [case.tables(n, rng) for _ in range(times)]
    numbers = np.array([units * np.rint(table / units) for table, _ in drawn]) + noises
    at_once = np.array_split(numbers, math.ceil(numbers.size / MOST))
    own = np.concatenate([p_values(case, some, pool, rng) for some in at_once]) <= LEVEL
    alone = float(np.mean([value <= LEVEL for _, value in drawn]))
    if case.cells is None or not compared:
        return float(own.mean()), alone, None
    tables = (table.reshape(case.cells.shape) for table, _ in drawn)
    return float(own.mean()), alone, float(np.mean([published(table, epsilon, rng) for table in tables]))


def p_values(case: Case, numbers: np.ndarray, pool: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the first p-value of each table, the tables being the groups of one statistic."""
    (one,), n_tables = case.query.estimates, len(numbers)

    def grouped(tables: np.ndarray) -> np.ndarray:
        parts = tables.reshape(*tables.shape[:-1], -1, case.inner)
        return np.moveaxis(parts, -3, -2).reshape(*tables.shape[:-2], -1)

    def draws(size: int, seed: int) -> np.ndarray:  # noqa: ARG001
        return grouped(pool[rng.integers(POOL, size=(size, n_tables))])

    many, values = replace(one, n_answers=n_tables * one.n_answers), grouped(numbers)
    return many.concluded(values, draws).answers(values).reshape(-1, n_tables, case.inner)[0, :, 0]


def published(table: np.ndarray, epsilon: float, rng: np.random.Generator) -> bool:
    """Return whether the published test rejects."""
    n = table.sum()
    noisy = table + rng.laplace(scale=1 / epsilon, size=table.shape)
    expected = fitted(noisy, n)
    if expected.min() <= 5:
        return False
    drawn = rng.multinomial(int(n), expected.ravel() / expected.sum(), size=DRAWS).reshape(-1, *table.shape)
    simulated = drawn + rng.laplace(scale=1 / epsilon, size=drawn.shape)
    fits = [fitted(each, n) for each in simulated]
    far = [pearson(each, fit) for each, fit in zip(simulated, fits, strict=True) if fit.min() > 5]
    rank = int(np.ceil((DRAWS + 1) * (1 - LEVEL)))
    return len(far) >= rank and bool(pearson(noisy, expected) > np.sort(far)[rank - 1])


def fitted(noisy: np.ndarray, n: float) -> np.ndarray:
    """Return the counts of independence, of the nearest table of n rows without negative cells."""
    ordered = np.sort(noisy.ravel())[::-1]
    excess = (np.cumsum(ordered) - n) / np.arange(1, ordered.size + 1)
    table = np.maximum(noisy - excess[np.flatnonzero(ordered > excess)[-1]], 0)
    return np.outer(table.sum(axis=1), table.sum(axis=0)) / n


def pearson(table: np.ndarray, expected: np.ndarray) -> float:
    return float(((table - expected) ** 2 / expected).sum())


def main() -> int:
    p_value._MOST_DRAWS = p_value._LEAST_DRAWS = DRAWS  # type: ignore[attr-defined]
    levels: list[list[float]] = []
    faults: list[str] = []
    for case in without_effect():
        shares = [rejected(case, n, epsilon, TIMES)[0] for n, epsilon in SETTINGS]
        levels.append(shares)
        print(case.name, shares, flush=True)
        faults += [f"{case.name}: {share}" for share in shares if share > LEVEL + 3 * (LEVEL / TIMES) ** 0.5]
    settings = "; ".join(f"{n:,} rows, ε = {epsilon:g}" for n, epsilon in SETTINGS)
    ends = f"{100 * np.min(levels):.1f} to {100 * np.max(levels):.1f} %"
    words = [f"In {len(levels)} tests for each of four settings ({settings}),", f"{ends} of the tables are rejected."]
    pages.put("intervals", "level", words)
    lines = ["| test | rows | ε | rejected | without noise | published |", "|---|---:|---:|---:|---:|---:|"]
    for case, settings in with_effect():
        for n, epsilon in settings:
            own, alone, other = rejected(case, n, epsilon, TIMES // 2, compared=True)
            shown = "" if other is None else f"{100 * other:.0f}"
            lines.append(f"| {case.name} | {n:,} | {epsilon:g} | {100 * own:.0f} | {100 * alone:.0f} | {shown} |")
            print(lines[-1], flush=True)
    pages.put("intervals", "power", lines)
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
