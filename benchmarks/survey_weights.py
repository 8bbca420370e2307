"""How often do total intervals hold the values of a population?

Three designs; 1,000 samples of 6,500 persons of one made-up population, each with fresh noise. Coverage and length of
95 % intervals, next to those of a survey package without noise. Writes docs/benchmarks/intervals.md.

    python benchmarks/survey_weights.py [repetitions]
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pages
import pyarrow as pa

import gaugedp as gd
from gaugedp.statistics.base import split_answers

TIMES = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
N, SAMPLE, Z = 650_000, 6500, 1.959964
REGIONS, SEXES, TOP = ["north", "south", "west"], ["f", "m"], 100_000
TERMS = ("weighted count by region", "mean(income) by region", "share(sex)", "sum(income)")
UNIT = gd.PrivacyUnit()


class Population(NamedTuple):
    """Persons: codes of region and sex, incomes within the bounds, sizes of households."""

    region: np.ndarray
    sex: np.ndarray
    income: np.ndarray
    size: np.ndarray


class Design(NamedTuple):
    """A way of sampling: persons with their weights, and the public bound on a weight."""

    draw: Callable[[Population, np.random.Generator], tuple[np.ndarray, np.ndarray]]
    high: float


def population(seed: int) -> Population:
    """Return a made-up population."""
    rng = np.random.default_rng(seed)
    region = rng.choice(3, N, p=[0.5, 0.3, 0.2])
    sex = (rng.random(N) < 0.48 + 0.02 * region).astype(int)
    income = np.clip(np.exp(rng.normal(10 + 0.15 * region + 0.1 * sex, 0.7, N)).round(-2), 0, TOP)
    return Population(region, sex, income, rng.choice(4, N, p=[0.3, 0.35, 0.2, 0.15]) + 1)


def simple(people: Population, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw persons at random, without replacement."""
    del people
    return rng.choice(N, SAMPLE, replace=False), np.full(SAMPLE, N / SAMPLE)


def by_size(people: Population, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw persons with replacement, in proportion to the size of their household."""
    chances = people.size / people.size.sum()
    chosen = rng.choice(N, SAMPLE, p=chances)
    return chosen, 1 / (SAMPLE * chances[chosen])


def oversampled(people: Population, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw persons with replacement, those of the third region three times as often."""
    sizes = np.where(people.region == 2, 3.0, 1.0)
    chances = sizes / sizes.sum()
    chosen = rng.choice(N, SAMPLE, p=chances)
    return chosen, 1 / (SAMPLE * chances[chosen])


DESIGNS = {
    "simple random": Design(simple, 120),
    "by size": Design(by_size, 240),
    "oversampled": Design(oversampled, 150),
}


def truth(people: Population) -> list[np.ndarray]:
    """Return the values of the population, by term."""
    counts = np.bincount(people.region)
    means = np.bincount(people.region, people.income) / counts
    return [counts, means, np.bincount(people.sex) / N, np.array([people.income.sum()])]


def lengths_without_noise(people: Population, chosen: np.ndarray, w: np.ndarray) -> list[np.ndarray]:
    """Return lengths of 95 % intervals by the formulas of survey packages, for sampling with replacement."""
    region, sex, x = people.region[chosen], people.sex[chosen], people.income[chosen]
    n = len(w)
    marks = (region[None] == np.arange(3)[:, None]).astype(float)
    means = (marks * w * x).sum(axis=1) / (marks * w).sum(axis=1)
    share = (w * (sex == 1)).sum() / w.sum()
    of_means = np.sqrt((marks * (w * (x - means[:, None])) ** 2).sum(axis=1)) / (marks * w).sum(axis=1)
    of_share = np.sqrt(((w * ((sex == 1) - share)) ** 2).sum()) / w.sum()
    of_counts = np.sqrt(n / (n - 1) * (((marks * w) ** 2).sum(axis=1) - (marks * w).sum(axis=1) ** 2 / n))
    of_sum = np.sqrt(n / (n - 1) * (((w * x) ** 2).sum() - (w * x).sum() ** 2 / n))
    return [2 * Z * of_counts, 2 * Z * of_means, np.full(2, 2 * Z * of_share), np.array([2 * Z * of_sum])]


def measured(design: Design, people: Population, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return coverage and relative length of the intervals of each term."""
    rng = np.random.default_rng(seed)
    columns = {"region": REGIONS, "sex": SEXES, "income": gd.bounded(0, TOP, 100)}
    domain = gd.Domain.of(**columns).with_weights("w", gd.bounded(10, design.high, 0.1))
    query = gd.with_sampling_error(gd.query(domain, "; ".join(TERMS)))
    plan = gd.plan(query, UNIT, epsilon=1.0)
    noise = [part.sample_noise(TIMES, gd.research_rng(seed + i)) for i, part in enumerate(plan.mechanism.parts)]
    true, held, ratios, template = truth(people), [], [], None
    for i in range(TIMES):
        chosen, w = design.draw(people, rng)
        table = gd.Table.scan(rows(people, chosen, w), domain=domain, name="survey")
        if template is None:
            template = gd.release(query, table, ledger=gd.Ledger.in_memory(gd.PureDP(1)), planned=plan)
        exact = [part.evaluate(table, bytes(16)) + own[i] for part, own in zip(query.parts, noise, strict=True)]
        answer = replace(template, numbers=np.concatenate(exact))
        low, high = (split_answers(answer.estimates, end)[:4] for end in answer.interval())
        held.append([np.mean((a <= t) & (t <= b)) for a, t, b in zip(low, true, high, strict=True)])
        without = lengths_without_noise(people, chosen, np.round(w, 1))
        ratios.append([np.mean((b - a) / length) for a, b, length in zip(low, high, without, strict=True)])
    return np.mean(held, axis=0), np.mean(ratios, axis=0)


def rows(people: Population, chosen: np.ndarray, w: np.ndarray) -> pa.Table:
    """Return the sample as a table."""
    return pa.table(
        {
            "region": np.array(REGIONS)[people.region[chosen]],
            "sex": np.array(SEXES)[people.sex[chosen]],
            "income": people.income[chosen],
            "w": w,
        }
    )


def main() -> None:
    """Write the figures."""
    people = population(2026)
    found = {name: measured(design, people, 51) for name, design in DESIGNS.items()}
    head = "| coverage, % (length over that without noise) | " + " | ".join(DESIGNS) + " |"
    lines = [head, "|---|" + "---:|" * len(DESIGNS)]
    for place, text in enumerate(TERMS):
        cells = [f"{100 * held[place]:.1f} ({ratios[place]:.2f})" for held, ratios in found.values()]
        lines.append(f"| `{text}` | {' | '.join(cells)} |")
    pages.put("intervals", "survey", ["", *lines])


if __name__ == "__main__":
    main()
