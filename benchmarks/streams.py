"""How much noise has a stream, beside separate releases, a tree of sums, and the best factorisation?

Counts, a person is in one period, (1, 1e-6)-DP for all periods together: the root of the mean squared error over the
periods. Writes docs/benchmarks/streams.md in seconds.

    python benchmarks/streams.py
"""

import math

import numpy as np
import pages

import gaugedp as gd
from gaugedp.guarantees.gaussian_curve import gaussian_mu
from gaugedp.mechanisms import Matrix
from gaugedp.releases.streams.time_factor import time_factor

EPSILON, DELTA = 1.0, 1e-6
Row = tuple[str, float, float]


def main() -> None:
    """Write the page."""
    pages.put("streams", "streams", table({periods: rows(periods) for periods in (12, 60, 365)}))
    pages.put("streams", "several", several())


def rows(periods: int) -> list[Row]:
    """Return (method, error of the running total, of the period), the stream first."""
    mu, places = gaussian_mu(EPSILON, DELTA), np.arange(1, periods + 1)
    factor, best = time_factor(periods), prefix_optimum(periods)
    each = math.sqrt(periods)
    return [
        ("stream", rms(factor.running_deviations) / mu, rms(factor.period_deviations) / mu),
        ("best factorisation for running totals (bound)", best / mu, math.nan),
        ("binary tree of sums", *(error / mu for error in tree(periods))),
        ("a release per period, each charged", each * rms(np.sqrt(places)) / mu, each / mu),
        ("a release per period, charged once", rms(np.sqrt(places)) / mu, 1 / mu),
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


def several() -> list[str]:
    """Return the table of more periods a person."""
    mu = gaussian_mu(EPSILON, DELTA)
    lines = [
        "| periods per person | stream: running total | period | release per period: running total | period |",
        "|---:|---:|---:|---:|---:|",
    ]
    for count in (1, 6, 60):
        factor = time_factor(60, count)
        numbers = [rms(factor.running_deviations), rms(factor.period_deviations)]
        numbers += [math.sqrt(count) * rms(np.sqrt(np.arange(1, 61))), math.sqrt(count)]
        lines.append(f"| {count} | " + " | ".join(f"{number / mu:.1f}" for number in numbers) + " |")
    return lines


def rms(errors: np.ndarray) -> float:
    """Return the root of the mean square."""
    return float(np.sqrt((errors**2).mean()))


def table(measured: dict[int, list[Row]]) -> list[str]:
    """Return the table: methods, and two errors for each number of periods."""
    heads = (f"{periods} periods: running total | period" for periods in measured)
    lines = [f"| | {' | '.join(heads)} |", "|---|" + "---:|" * 2 * len(measured)]
    for same in zip(*measured.values(), strict=True):
        cells = (f"{total:.2f} | {'' if math.isnan(single) else f'{single:.2f}'}" for _, total, single in same)
        lines.append(f"| {same[0][0]} | {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    main()
