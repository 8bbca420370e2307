"""How often do the intervals of coefficients hold, and how wide are they beside those without privacy?

Rows from a known model, drawn anew with the noise TIMES times; 95 % intervals of all coefficients. δ = 1e-6 where it is
not 0. Beside linear ones stand those of Ferrando, Wang and Sheldon (2022), written here by hand: least squares by noisy
moments, and a parametric bootstrap. Then rows are drawn with replacement from public tables, whose own least squares or
maximum likelihood is the truth. `--targets` measures binary targets and 20,000 rows of public tables instead. Writes
docs/benchmarks/intervals.md.

    python benchmarks/coefficients.py TIMES FOLDER [--targets]    # with adult.csv, CPS1988.csv, diamonds.csv and, for
                                                                  # targets, Fertility2.csv
"""

import csv
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import learned_bounds
import numpy as np
import pages
from scipy.special import expit
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LogisticRegression as Plain

from gaugedp import ApproxDP
from gaugedp.bodies import LpBall
from gaugedp.estimators import LinearRegression, LogisticRegression
from gaugedp.mechanisms import Gaussian

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "coefficients.svg"
LOW = 94.0  # a coverage that the page lists, in percent
Z, BOOTSTRAP, HALF = 1.959964, 200, 4.0  # HALF of the range of the target


SHAPES: dict[str, tuple[float, Callable[..., np.ndarray]]] = {  # the share of ones in binary columns, and others
    "skewed": (0.3, lambda rng, shape: 2 * np.clip(rng.exponential(0.25, shape), 0, 1) - 1),
    "rare": (0.1, lambda rng, shape: np.clip(rng.standard_normal(shape) / 2, -1, 1)),
}


@dataclass(frozen=True)
class Case:
    """n rows of d columns in [−1, 1], their common part `together`, bounds `wide` times as wide as needed.

    Coefficients are `steep` times as large.
    """

    n: int
    d: int
    epsilon: float
    delta: float = 1e-6
    together: float = 0.0
    wide: float = 1.0
    constant: float = 0.0
    neighbours: str = "replace"
    shape: str = ""
    steep: float = 1.0

    def rows(self, rng: np.random.Generator) -> np.ndarray:
        """Draw them."""
        if self.shape:
            share, columns = SHAPES[self.shape]
            drawn = columns(rng, (self.n, self.d))
            drawn[:, ::2] = 2 * (rng.random((self.n, (self.d + 1) // 2)) < share) - 1
            return drawn
        common = np.clip(rng.standard_normal((self.n, 1)) / 2, -1, 1)
        return (1 - self.together) * rng.uniform(-1, 1, (self.n, self.d)) + self.together * common


CASES = (
    Case(1000, 3, 1.0),
    Case(1000, 3, 1.0, delta=0.0),
    Case(1000, 5, 4.0),
    Case(50_000, 5, 1.0),
    Case(50_000, 5, 1.0, delta=0.0),
    Case(50_000, 5, 0.2),
    Case(50_000, 5, 1.0, together=0.7),
    Case(50_000, 5, 1.0, wide=3.0),
    Case(50_000, 5, 1.0, constant=-3.0),
    Case(50_000, 5, 1.0, neighbours="add_remove"),
    Case(50_000, 20, 1.0),
    Case(1000, 4, 1.0, shape="skewed"),
    Case(50_000, 4, 1.0, shape="skewed"),
    Case(1000, 4, 1.0, shape="rare"),
    Case(50_000, 4, 1.0, shape="rare"),
    Case(1000, 4, 1.0, together=0.7),
    Case(1000, 20, 1.0),
)
LOGISTIC = (Case(50_000, 5, 1.0, constant=-6.0), Case(10_000, 5, 1.0, steep=3.0), Case(3000, 3, 0.5, steep=4.0))


def linear(case: Case, rng: np.random.Generator, key: int) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return a fit, the coefficients, and the standard errors of least squares on the same rows."""
    rows, beta, target = drawn(case, rng)
    model = LinearRegression(
        case.epsilon, case.delta, bounds=(-case.wide, case.wide),
        target_bounds=(case.constant - HALF, case.constant + HALF), solver="preconditioned",
        neighbours=case.neighbours, random_state=key,
    ).fit(rows, target)  # fmt: skip
    return model, beta, _errors(rows, np.full(case.n, 1 / 0.25))


def drawn(case: Case, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, linear coefficients and targets."""
    rows, beta = case.rows(rng), np.linspace(-0.6, 0.6, case.d)
    return rows, beta, rows @ beta + case.constant + 0.5 * np.clip(rng.standard_normal(case.n), -3, 3)


def noisy_moments(case: Case, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the ends of intervals (d,) by noisy moments, and the coefficients.

    z = (x/√(d + 1), t) has length √2 at most, so a row moves Σ zzᵀ by 2 in the Frobenius norm, replaced by 2√2.
    """
    (rows, beta, target), k = drawn(case, rng), case.d + 1
    z = np.column_stack([rows / case.wide, np.ones(case.n), np.sqrt(k) * (target - case.constant) / HALF]) / np.sqrt(k)
    moved = 2.0 if case.neighbours == "add_remove" else 2 * np.sqrt(2)
    law = Gaussian.calibrate(LpBall((k + 1) * (k + 2) // 2, 2, moved), ApproxDP(case.epsilon, case.delta))
    noise = _symmetric(float(np.sqrt(law.variances.max())), BOOTSTRAP + 1, k + 1, rng)
    moments = z.T @ z + noise[0]
    square, product = moments[:k, :k], moments[:k, k]
    slopes = np.linalg.solve(square, product)
    variance = max(moments[k, k] - product @ slopes, 0.0) / case.n
    values, vectors = np.linalg.eigh(square)
    pulls = rng.standard_normal((BOOTSTRAP, k)) * np.sqrt(variance * np.maximum(values, 0)) @ vectors.T
    again = np.linalg.solve(square + noise[1:, :k, :k], (product + pulls + noise[1:, :k, k])[..., None])[..., 0]
    low, high = np.quantile(again[:, :-1], [0.025, 0.975], axis=0) * HALF / (np.sqrt(k) * case.wide)
    return low, high, beta


def _symmetric(deviation: float, times: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return noise that is normal in the Frobenius norm, shape (times, size, size)."""
    upper = np.triu(rng.standard_normal((times, size, size)), 1)
    diagonal = rng.standard_normal((times, size, 1)) * np.eye(size)
    return deviation * (diagonal + (upper + upper.transpose(0, 2, 1)) / np.sqrt(2))


def logistic(case: Case, rng: np.random.Generator, key: int) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return the same for logistic regression and maximum likelihood."""
    rows, beta = case.rows(rng), case.steep * np.linspace(-2, 2, case.d)
    p = expit(rows @ beta + case.constant)
    model = LogisticRegression(
        case.epsilon, case.delta, bounds=(-case.wide, case.wide), classes=[0, 1],
        solver="newton", neighbours=case.neighbours, random_state=key,
    ).fit(rows, (rng.random(case.n) < p).astype(int))  # fmt: skip
    return model, beta, _errors(rows, p * (1 - p))


def _errors(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    whole = np.column_stack([rows, np.ones(len(rows))])
    return np.sqrt(np.diag(np.linalg.inv((whole.T * weights) @ whole))[:-1])


class Seen(NamedTuple):
    """What repetitions of a case show: coverages in percent, half widths, and the same of the published method."""

    label: str
    coverage: float
    least: float
    half: float
    ratio: float
    other_coverage: float
    other_half: float


def seen(case: Case, fit: Callable[..., tuple[Any, np.ndarray, np.ndarray]], times: int) -> Seen:
    """Return what a case shows."""
    held, halves, without = [], [], []
    rng = np.random.default_rng(2026)
    for key in range(times):
        model, beta, errors = fit(case, rng, key)
        low, high = model.coef_interval()
        held.append((low <= beta) & (beta <= high))
        halves.append((high - low) / 2)
        without.append(Z * errors)
    share, wide, best = np.array(held).mean(axis=0), np.median(halves), np.median(without)
    others = published(case, times) if fit is linear and case.delta > 0 else (math.nan, math.nan)
    parts = [f"{case.n:,} × {case.d}", f"ε = {case.epsilon:g}", words(case)]
    label = f"{fit.__name__}: {', '.join(part for part in parts if part)}"
    result = Seen(label, 100 * share.mean(), 100 * share.min(), wide, wide / best, *others)
    print(result, flush=True)
    return result


def published(case: Case, times: int) -> tuple[float, float]:
    """Return how often intervals by noisy moments hold, and their half width."""
    rng = np.random.default_rng(2026)
    low, high, beta = np.moveaxis([noisy_moments(case, rng) for _ in range(times)], 1, 0)
    return 100 * ((low <= beta) & (beta <= high)).mean(), np.median(high - low) / 2


def words(case: Case) -> str:
    """Return what is particular to a case."""
    parts = {
        "δ = 0": case.delta == 0,
        f"correlated, {case.together:g}": case.together > 0,
        f"bounds {case.wide:g} times too wide": case.wide > 1,
        f"constant −{-case.constant:g}": case.constant != 0,
        f"coefficients {case.steep:g} times as large": case.steep != 1,
        case.shape: bool(case.shape),
        "rows added": case.neighbours == "add_remove",
    }
    return ", ".join(text for text, holds in parts.items() if holds)


@dataclass(frozen=True)
class Population:
    """Rows (N, d) in [−1, 1] and targets (N,) that others are drawn from; without `ends` targets are 0 or 1."""

    name: str
    rows: np.ndarray
    target: np.ndarray
    ends: tuple[float, float] | None

    def truth(self) -> np.ndarray:
        """Return the slopes of all rows, without privacy."""
        if self.ends is None:
            return np.asarray(Plain(C=1e8, max_iter=5000).fit(self.rows, self.target).coef_[0])
        whole = np.column_stack([self.rows, np.ones(len(self.rows))])
        return np.linalg.lstsq(whole, self.target, rcond=None)[0][:-1]

    def errors(self, n: int) -> np.ndarray:
        """Return the standard errors of least squares on n rows."""
        whole = np.column_stack([self.rows, np.ones(len(self.rows))])
        left = self.target - whole @ np.linalg.lstsq(whole, self.target, rcond=None)[0]
        return _errors(self.rows, np.full(len(left), n / len(left) / np.mean(left**2)))

    def interval(self, n: int, epsilon: float, delta: float, key: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends of intervals from n rows."""
        drawn = np.random.default_rng(key).integers(0, len(self.rows), n)
        given: dict[str, Any] = {"bounds": (-1, 1), "random_state": key}
        if self.ends is None:
            model = LogisticRegression(epsilon, delta, neighbours="replace", classes=[0, 1], solver="newton", **given)
        else:
            model = LinearRegression(
                epsilon, delta, neighbours="replace", target_bounds=self.ends, solver="preconditioned", **given
            )
        return model.fit(self.rows[drawn], self.target[drawn]).coef_interval()


def populations(folder: Path) -> Iterator[Population]:
    """Yield public tables, columns brought from their bounds to [−1, 1]."""
    rows, target = load_diabetes(return_X_y=True, scaled=False)
    yield Population("diabetes", _spread(rows, rows.min(axis=0), rows.max(axis=0)), target, (0, 400))
    for table in learned_bounds.TABLES:
        rows, target = table.read(folder)
        spread = _spread(rows, *np.array(list(table.columns.values())).T)
        ends = table.target_bounds
        name = f"{table.target} ({table.file.removesuffix('.csv')})"
        yield Population(name, spread, target if ends is None else np.clip(target, *ends), ends)


def _spread(rows: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return 2 * np.clip((rows - low) / (high - low), 0, 1) - 1


SHARES = (0.02, 0.1, 0.3, 0.5)  # of ones in binary targets
N_TARGETS, LOUD = 20_000, (3.0, 1.0)


def targets(folder: Path) -> Iterator[Population]:
    """Yield binary targets, weeks worked, and the linear tables of `populations`."""
    rng = np.random.default_rng(49)
    for share in SHARES:
        rows = rng.uniform(-1, 1, (200_000, 3))
        ones = rng.random(len(rows)) < share * (1 + rows @ np.array([-0.4, 0.1, 0.4]))
        yield Population(f"binary, {share:.0%} ones", rows, ones.astype(float), (0, 1))
    with (folder / "Fertility2.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    age = 2 * (np.array([float(line["age"]) for line in lines]) - 21) / 14 - 1
    yes = [[line[name] == "yes" for line in lines] for name in ("morekids", "afam", "hispanic")]
    work = np.array([float(line["work"]) for line in lines])
    yield Population("weeks worked (Fertility2)", np.column_stack([age, *(2 * np.array(yes) - 1)]), work, (0, 52))
    yield from (one for one in populations(folder) if one.ends is not None)


def of_target(population: Population, times: int) -> str:
    """Return a row of the table of targets."""
    truth, best, cells = population.truth(), Z * population.errors(N_TARGETS), []
    for epsilon in LOUD:
        ends = [population.interval(N_TARGETS, epsilon, 1e-6, key) for key in range(times)]
        low, high = np.moveaxis(ends, 1, 0)
        share = 100 * ((low <= truth) & (truth <= high)).mean(axis=0)
        ratio = np.median((high - low) / 2 / best)
        cells.append(f"{share.mean():.1f}, {share.min():.1f} ({ratio:.2g})")
    return f"| {population.name} | {' | '.join(cells)} |"


SETTINGS = ((1000, 1.0, 1e-6), (1000, 4.0, 1e-6), (1000, 1.0, 0.0), (10_000, 1.0, 1e-6))  # rows, ε, δ


def drawn_from(population: Population, times: int) -> Iterator[np.ndarray]:
    """Yield the coverages of coefficients, in percent, for each setting."""
    truth = population.truth()
    for setting in SETTINGS:
        low, high = np.moveaxis([population.interval(*setting, key) for key in range(times)], 1, 0)
        shares = 100 * ((low <= truth) & (truth <= high)).mean(axis=0)
        print(population.name, *setting, f"{shares.mean():.1f}, {shares.min():.1f}", flush=True)
        yield shares


def draw(results: list[Seen]) -> None:
    """Draw coverages, and widths beside those without privacy."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams |= {"svg.hashsalt": "coefficients", "svg.fonttype": "none"}
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 8.5), sharey=True, layout="constrained")
    places = range(len(results), 0, -1)
    left.axvline(95, color="grey", linestyle=":")
    left.plot([one.coverage for one in results], places, "o", label="mean over coefficients")
    left.plot([one.least for one in results], places, "|", color="C0", markersize=9, label="worst coefficient")
    left.plot([one.other_coverage for one in results], places, "x", color="C1", label="published method")
    left.set(xlabel="coverage of 95 % intervals, %", yticks=list(places), yticklabels=[one.label for one in results])
    right.semilogx([one.ratio for one in results], places, "o", label="gaugedp")
    others = [one.ratio * one.other_half / one.half for one in results]
    right.semilogx(others, places, "x", color="C1", label="published method")
    right.set_xlabel("half width over that without privacy")
    left.tick_params(axis="y", labelsize=7)
    for axis in (left, right):
        axis.grid(axis="x", alpha=0.25)
        axis.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, 1.07), ncols=2)
    figure.savefig(PICTURE, metadata={"Date": None})


def low_ones(results: list[Seen]) -> Iterator[str]:
    """Yield the table of the cases whose worst coefficient is covered too seldom."""
    yield f"| case with a coverage below {LOW} % | coverage, % | worst, % | width ratio |"
    yield "|---|---:|---:|---:|"
    for one in results:
        if one.least < LOW:
            yield f"| {one.label} | {one.coverage:.1f} | {one.least:.1f} | {one.ratio:.3g} |"


def main(times: int, folder: Path) -> None:
    """Write the page."""
    results = [seen(case, fit, times) for fit in (linear, logistic) for case in CASES]
    results += [seen(case, logistic, times) for case in LOGISTIC]
    draw(results)
    pages.put("intervals", "coefficients", low_ones(results))
    shares = [one for population in populations(folder) for one in drawn_from(population, times)]
    means, least = [one.mean() for one in shares], min(one.min() for one in shares)
    text = f"Coverage is {min(means):.1f} to {max(means):.1f} %, and at least {least:.1f} % for the worst coefficient."
    pages.put("intervals", "real", [text])


def main_targets(times: int, folder: Path) -> None:
    """Write the table of targets."""
    heads = " | ".join(f"ε = {epsilon:g}" for epsilon in LOUD)
    lines = [of_target(population, times) for population in targets(folder)]
    pages.put("intervals", "targets", [f"| target (table) | {heads} |", "|---|---:|---:|", *lines])


if __name__ == "__main__":
    (main_targets if "--targets" in sys.argv else main)(int(sys.argv[1]), Path(sys.argv[2]))
