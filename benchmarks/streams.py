"""How much noise has a stream, beside separate releases, a tree of sums, and the best factorisation?

Counts, a person is in one period, (1, 1e-6)-DP for all periods together: the root of the mean squared error over the
periods. Writes docs/benchmarks/streams.md in seconds.

    python benchmarks/streams.py
"""

import math
from pathlib import Path

import numpy as np

import gaugedp as gd
from gaugedp.guarantees.gaussian_curve import gaussian_mu
from gaugedp.mechanisms import Matrix
from gaugedp.releases.streams.time_factor import time_factor

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks" / "streams.md"
EPSILON, DELTA = 1.0, 1e-6
Row = tuple[str, float, float]


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), "utf-8")
    print(f"{PAGE.name} is written")


def page() -> str:
    """Return the page."""
    parts = [
        "# Streams: one price for all periods",
        "A count for each period, a person is in one of them, (1, 1e-6)-DP for all periods together. The root of\n"
        "the mean squared error over the periods, in rows: of the running total and of the single period.\n"
        "[Theory](../theory/streams.md).",
    ]
    for periods in (12, 60, 365):
        parts += [f"## {periods} periods", table(rows(periods))]
    parts += ["## A person in several of 60 periods", several(), "Written by `python benchmarks/streams.py`.", ""]
    return "\n\n".join(parts)


def rows(periods: int) -> list[Row]:
    """Return (method, error of the running total, of the period), the stream first."""
    mu, places = gaussian_mu(EPSILON, DELTA), np.arange(1, periods + 1)
    factor, best = time_factor(periods), prefix_optimum(periods)
    each = math.sqrt(periods)
    plain = gaussian_mu(EPSILON / periods, DELTA / periods)
    return [
        ("stream", rms(factor.running_deviations) / mu, rms(factor.period_deviations) / mu),
        ("best factorisation for running totals alone (bound)", best / mu, math.nan),
        ("binary tree of sums", *(error / mu for error in tree(periods))),
        ("a release a period, each charged (sum of mu²)", each * rms(np.sqrt(places)) / mu, each / mu),
        ("a release a period, each charged (sum of ε and δ)", rms(np.sqrt(places)) / plain, 1 / plain),
        ("a release a period, charged once", rms(np.sqrt(places)) / mu, 1 / mu),
    ]


def prefix_optimum(periods: int) -> float:
    """Return the certified bound for running totals, 1-GDP."""
    domain = gd.Domain.of(period=gd.integers(1, periods))
    body = gd.prefix_sums(domain, "period").sensitivity(gd.PrivacyUnit())
    return Matrix.calibrate(body, gd.GaussianDP(1.0)).floor / math.sqrt(periods)


def tree(periods: int) -> tuple[float, float]:
    """Return the errors of noise on each node of a binary tree, 1-GDP: a person is in a node of every level."""
    levels = math.ceil(math.log2(periods)) + 1
    nodes = [bin(place).count("1") for place in range(1, periods + 1)]
    return math.sqrt(levels * float(np.mean(nodes))), math.sqrt(levels)


def several() -> str:
    """Return the table of more periods a person."""
    mu = gaussian_mu(EPSILON, DELTA)
    lines = [
        "| periods a person | running total | period | release a period: running total | period |",
        "|---|---|---|---|---|",
    ]
    for count in (1, 2, 3, 6, 12, 60):
        factor = time_factor(60, count)
        numbers = [rms(factor.running_deviations), rms(factor.period_deviations)]
        numbers += [math.sqrt(count) * rms(np.sqrt(np.arange(1, 61))), math.sqrt(count)]
        lines.append(f"| {count} | " + " | ".join(f"{number / mu:.1f}" for number in numbers) + " |")
    return "\n".join(lines)


def table(measured: list[Row]) -> str:
    """Return the table, with how many times each error is that of the stream."""
    _, running, period = measured[0]
    lines = ["| | running total | period | running/stream | period/stream |", "|---|---|---|---|---|"]
    for name, total, single in measured:
        singles = ("", "") if math.isnan(single) else (f"{single:.2f}", f"{single / period:.2f}")
        lines.append(f"| {name} | {total:.2f} | {singles[0]} | {total / running:.2f} | {singles[1]} |")
    return "\n".join(lines)


def rms(errors: np.ndarray) -> float:
    """Return the root of the mean square."""
    return float(np.sqrt((errors**2).mean()))


if __name__ == "__main__":
    main()
