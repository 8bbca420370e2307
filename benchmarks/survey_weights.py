"""How often do total intervals hold the values of a population?

Three designs; 1,000 samples of 6,500 persons of one made-up population, each with fresh noise. Coverage and length of
95 % intervals, next to those of a survey package without noise. Writes docs/benchmarks/intervals.md.

    python benchmarks/survey_weights.py [repetitions]
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pages
import pyarrow as pa

import gaugedp as gd
from gaugedp.queries import Query
from gaugedp.statistics.base import split_answers
from gaugedp.tables.aggregate import Aggregate, Coarse, Rows

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
        sample = Sample(people, chosen, w, domain)
        exact = [part.evaluate(sample, bytes(16)) + own[i] for part, own in zip(query.parts, noise, strict=True)]
        if template is None:
            template = first_release(query, rows(people, chosen, w), plan, sample)
        answer = replace(template, numbers=np.concatenate(exact))
        low, high = (split_answers(answer.estimates, end)[:4] for end in answer.interval())
        held.append([np.mean((a <= t) & (t <= b)) for a, t, b in zip(low, true, high, strict=True)])
        without = lengths_without_noise(people, chosen, np.round(w, 1))
        ratios.append([np.mean((b - a) / length) for a, b, length in zip(low, high, without, strict=True)])
    return np.mean(held, axis=0), np.mean(ratios, axis=0)


class Sample(Rows):
    """A sample in memory, added up as `tables.aggregate.Aggregate` states: as engines do, and faster for few rows."""

    name, unit = "survey", UNIT

    def __init__(self, people: Population, chosen: np.ndarray, w: np.ndarray, domain: gd.Domain) -> None:
        self.domain, self._heavy = domain, domain.column("w").high_steps
        self._weights = np.clip(np.round(w * 10).astype(np.int64), domain.column("w").low_steps, self._heavy)
        self._cells = {"region": people.region[chosen], "sex": people.sex[chosen]}
        self._steps, self._span = (people.income[chosen] / 100).astype(np.int64), domain.column("income").high_steps

    def totals(self, totals: Sequence[Aggregate], row_key: bytes) -> list[np.ndarray]:  # noqa: ARG002
        """Return the totals."""
        return [self._total(total) for total in totals]

    def _total(self, total: Aggregate) -> np.ndarray:
        added = self._weights**total.weighted * self._number(total)
        cells = self._cells[total.attributes[0]] if total.attributes else np.zeros(len(added), dtype=int)
        sums = np.zeros(self.domain.n_cells(total.attributes), dtype=np.int64)
        np.add.at(sums, cells, added)
        return sums

    def _number(self, total: Aggregate) -> np.ndarray:
        coarse = Coarse(self._span, self._heavy**total.weighted if total.weighted else 1)
        if total.column is None or total.present:
            return np.ones(len(self._steps), dtype=np.int64)
        if not total.squared and total.weighted < 2:
            return 2 * self._steps - self._span
        centred = 2 * ((self._steps + coarse.half) >> coarse.bits) - coarse.reach
        return 2 * centred**2 - coarse.reach**2 if total.squared else centred


def first_release(query: Query, table: pa.Table, plan: gd.Plan, sample: Sample) -> gd.Release:
    """Release the first sample, whose totals an engine computes too."""
    source = gd.Table.scan(table, domain=query.domain, name="survey")
    for part in query.parts:
        assert (part.evaluate(source, bytes(16)) == part.evaluate(sample, bytes(16))).all()
    return gd.release(query, source, ledger=gd.Ledger.in_memory(gd.PureDP(1)), planned=plan)


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
