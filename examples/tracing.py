"""Can a person be found in a released mean? The tracing adversary, without privacy and with it.

n rows of d = 20,000 independent N(0, 1) numbers; released are the s = 100 coordinates of their mean that are largest in
size. The adversary holds a row x and the release M, and says "in the data" where ⟨x, M⟩/‖M‖ is above what 1 % of other
people reach. A mean of 50 rows gives nearly all of them away. Under (ε, δ) no adversary finds more than
e^ε·1 % + δ of them: the dashed lines.

Besides, without privacy: what the test of a published lower bound finds, which asks for fewer false alarms, and the
power that is computed for it.

    python examples/tracing.py [--out docs/images/tracing.svg] [--n-rows 50 100 200 400] [--d 20000] [--s 100]

Prints a table and draws the power against n and ε. Needs matplotlib. Takes about two minutes.
"""

import argparse
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

import gaugedp as gd
from gaugedp.audit import Tracing, tracing_attack, tracing_power
from gaugedp.estimators import SparseMean, TooFewRows
from gaugedp.report.plots import draw_power

N_OTHERS = 1000
CLIP, DELTA = 4.0, 1e-6
EPSILONS = (64.0, 16.0, 4.0)
PRINTED_SIZES = ((25, 1000, 1e-6), (50, 1000, 1e-2), (9, 100, 1e-6))  # n, s, δ
N_MEMBERS = 200  # at least, over releases, for each row of the second table

Release = Callable[[np.ndarray], Any]


def sparse_mean(s: int) -> Release:
    """The mean's s largest coordinates, as they are."""

    def release(rows: np.ndarray) -> np.ndarray:
        mean = rows.mean(axis=0)
        kept = np.argsort(-np.abs(mean))[:s]
        found = np.zeros_like(mean)
        found[kept] = mean[kept]
        return found

    return release


def private_sparse_mean(epsilon: float, s: int, seed: int | None = None) -> Release:
    """The same with the library's own estimator, of numbers that are cut to ±CLIP."""

    def release(rows: np.ndarray) -> np.ndarray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TooFewRows)  # so few rows are the adversary's best case
            model = SparseMean(s, epsilon, DELTA, bounds=(-CLIP, CLIP), random_state=seed)
            return model.fit(rows).mean_

    release.guarantee = gd.ApproxDP(epsilon, DELTA)  # type: ignore[attr-defined]
    return release


def attack(release: Release, n_rows: int, d: int, seed: int = 1, **options: Any) -> Tracing:
    """Draw n rows and 1,000 others, and trace."""
    rows = np.random.default_rng(seed)
    members, others = rows.normal(size=(n_rows, d)), rows.normal(size=(N_OTHERS, d))
    return tracing_attack(release, members, others, **options)


def printed_power(n_rows: int, d: int, s: int, delta: float, statistic: str = "printed") -> float:
    """Return the share of members that the published test finds in means of `n_rows` rows, over several means."""
    options = {"statistic": statistic, "s": s, "delta": delta}
    seeds = range(1, -(-N_MEMBERS // n_rows) + 1)
    found = [attack(lambda rows: rows.mean(axis=0), n_rows, d, seed, **options) for seed in seeds]
    return float(np.mean([one.true_positive_rate for one in found]))


def releases(s: int, epsilons: Iterable[float] = EPSILONS) -> dict[str, Release]:
    """Every release by its name."""
    return {"not private": sparse_mean(s)} | {f"ε = {one:g}": private_sparse_mean(one, s) for one in epsilons}


def power(n_rows: list[int], d: int, s: int) -> dict[str, list[tuple[int, Tracing]]]:
    """What the adversary finds, for each release and number of rows."""
    return {name: [(n, attack(release, n, d)) for n in n_rows] for name, release in releases(s).items()}


def drawn(found: dict[str, list[tuple[int, Tracing]]], title: str) -> str:
    curves = {name: [(float(n), one.true_positive_rate) for n, one in runs] for name, runs in found.items()}
    ceilings = {name: runs[0][1].ceiling for name, runs in found.items()}
    return draw_power(curves, ceilings, title)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="docs/images/tracing.svg")
    parser.add_argument("--n-rows", type=int, nargs="+", default=[25, 50, 100, 200, 400])
    parser.add_argument("--d", type=int, default=20_000)
    parser.add_argument("--s", type=int, default=100)
    options = parser.parse_args(arguments)
    found = power(options.n_rows, options.d, options.s)
    print(f"{'release':<12} {'rows':>5} {'found':>7} {'others':>7} {'ceiling':>8}")
    for name, runs in found.items():
        for n, one in runs:
            rates = f"{one.true_positive_rate:>7.3f} {one.false_positive_rate:>7.3f} {one.ceiling:>8.3f}"
            print(f"{name:<12} {n:>5} {rates}")
    print(f"\n{'statistic':<10} {'rows':>4} {'s':>5} {'delta':>7} {'found':>7} {'computed':>9}")
    for statistic in ("printed", "signed"):
        for n, s, delta in PRINTED_SIZES:
            s = min(s, options.d)  # noqa: PLW2901
            measured = printed_power(n, options.d, s, delta, statistic)
            computed = tracing_power(n, options.d, s, delta, statistic)
            print(f"{statistic:<10} {n:>4} {s:>5} {delta:>7.0e} {measured:>7.3f} {computed:>9.3f}")
    title = f"Members found at 1 % false positives; top {options.s} of {options.d:,} means"
    out = Path(options.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(drawn(found, title), "utf-8")


if __name__ == "__main__":
    main()
