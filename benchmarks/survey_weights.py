"""How often do total intervals hold the values of a population?

Six designs; 1,000 samples of 6,500 persons of one made-up population, each with fresh noise. Coverage and length of
95 % intervals, next to those of a survey package without noise. Writes docs/benchmarks/intervals.md.

    python benchmarks/survey_weights.py [repetitions]
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pages
import pyarrow as pa
from scipy.stats import t as student

import gaugedp as gd
from gaugedp.queries import Query
from gaugedp.statistics.base import split_answers
from gaugedp.tables.aggregate import Aggregate, Coarse, Rows

TIMES = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
N, SAMPLE, Z = 650_000, 6500, 1.959964
REGIONS, SEXES, TOP = ["north", "south", "west"], ["f", "m"], 100_000
TERMS = ("weighted count by region", "mean(income) by region", "share(sex)", "sum(income)")
OF_DESIGNS = ("weighted count by sex", "mean(income) by sex", "share(sex)", "sum(income)")
STRATA = [0.3, 0.2, 0.15, 0.1, 0.1, 0.08, 0.05, 0.02]  # parts of the population
DRAWN = [1500, 1200, 900, 700, 700, 600, 500, 400]  # persons drawn from each
AREAS, N_DRAWN = 1000, 65  # areas, and those in a sample
UNIT = gd.PrivacyUnit()


class Population(NamedTuple):
    """Persons: codes of region and sex, incomes within the bounds, sizes of households, strata and areas."""

    region: np.ndarray
    sex: np.ndarray
    income: np.ndarray
    size: np.ndarray
    stratum: np.ndarray
    area: np.ndarray


class Drawn(NamedTuple):
    """A sample: persons with their weights, and codes of their strata and clusters."""

    chosen: np.ndarray
    w: np.ndarray
    stratum: np.ndarray | int = 0
    cluster: np.ndarray | int = 0


class Design(NamedTuple):
    """A way of sampling, the public bound on a weight, terms, and the attributes of strata and clusters."""

    draw: Callable[[Population, np.random.Generator], Drawn]
    high: float
    terms: tuple[str, ...] = TERMS
    names: Mapping[str, str] = MappingProxyType({})
    attributes: Mapping[str, object] = MappingProxyType({})


def population(seed: int) -> Population:
    """Return a made-up population, whose strata and areas are alike."""
    rng = np.random.default_rng(seed)
    region = rng.choice(3, N, p=[0.5, 0.3, 0.2])
    sex = (rng.random(N) < 0.48 + 0.02 * region).astype(int)
    income = np.clip(np.exp(rng.normal(10 + 0.15 * region + 0.1 * sex, 0.7, N)).round(-2), 0, TOP)
    none = np.zeros(N, dtype=int)
    return Population(region, sex, income, rng.choice(4, N, p=[0.3, 0.35, 0.2, 0.15]) + 1, none, none)


def unequal(seed: int) -> Population:
    """Return a made-up population whose strata, or areas, differ; areas 5 k + i are in stratum i of five."""
    rng = np.random.default_rng(seed)
    stratum = rng.choice(len(STRATA), N, p=STRATA)
    area = rng.choice(AREAS, N, p=rng.dirichlet(np.full(AREAS, 20.0)))
    of_area, of_sex = rng.normal(0, 0.25, AREAS), rng.normal(0, 0.04, AREAS)
    sex = (rng.random(N) < 0.45 + 0.01 * stratum + of_sex[area]).astype(int)
    log = 9.4 + 0.12 * stratum + 0.1 * (area % 5) + of_area[area] + 0.1 * sex
    income = np.clip(np.exp(rng.normal(log, 0.6)).round(-2), 0, TOP)
    return Population(rng.choice(3, N), sex, income, np.ones(N, dtype=int), stratum, area)


def simple(people: Population, rng: np.random.Generator) -> Drawn:
    """Draw persons at random, without replacement."""
    del people
    return Drawn(rng.choice(N, SAMPLE, replace=False), np.full(SAMPLE, N / SAMPLE))


def by_size(people: Population, rng: np.random.Generator) -> Drawn:
    """Draw persons with replacement, in proportion to the size of their household."""
    chances = people.size / people.size.sum()
    chosen = rng.choice(N, SAMPLE, p=chances)
    return Drawn(chosen, 1 / (SAMPLE * chances[chosen]))


def oversampled(people: Population, rng: np.random.Generator) -> Drawn:
    """Draw persons with replacement, those of the third region three times as often."""
    sizes = np.where(people.region == 2, 3.0, 1.0)
    chances = sizes / sizes.sum()
    chosen = rng.choice(N, SAMPLE, p=chances)
    return Drawn(chosen, 1 / (SAMPLE * chances[chosen]))


def stratified(people: Population, rng: np.random.Generator) -> Drawn:
    """Draw a number of persons from each stratum, with replacement."""
    members = [np.flatnonzero(people.stratum == code) for code in range(len(STRATA))]
    chosen = np.concatenate([rng.choice(own, n) for own, n in zip(members, DRAWN, strict=True)])
    w = np.repeat([len(own) / n for own, n in zip(members, DRAWN, strict=True)], DRAWN)
    return Drawn(chosen, w, people.stratum[chosen])


def of_areas(n_strata: int) -> Callable[[Population, np.random.Generator], Drawn]:
    """Return a design of areas drawn in each stratum, nearly in proportion to size, with 100 persons of each."""

    def draw(people: Population, rng: np.random.Generator) -> Drawn:
        order = np.argsort(people.area, kind="stable")
        sizes = np.bincount(people.area, minlength=AREAS)
        starts = np.cumsum(sizes) - sizes
        measures = sizes * np.exp(np.random.default_rng(5).normal(0, 0.25, AREAS))
        chosen, w, each, n = [], [], N_DRAWN // n_strata, SAMPLE // N_DRAWN
        for code in range(n_strata):
            own = np.flatnonzero(np.arange(AREAS) % n_strata == code)
            chances = measures[own] / measures[own].sum()
            for place in rng.choice(len(own), each, p=chances):
                area = own[place]
                chosen.append(order[starts[area] + rng.choice(sizes[area], n, replace=False)])
                w.append(np.full(n, sizes[area] / n / (each * chances[place])))
        cluster = np.repeat(np.arange(each * n_strata), n)
        return Drawn(np.concatenate(chosen), np.concatenate(w), cluster // each, cluster)

    return draw


AREA_NAMES = [f"a{code:02d}" for code in range(N_DRAWN)]
PROVINCES = {"stratum": [f"s{code}" for code in range(len(STRATA))]}
NESTED = gd.tree({"stratum": [f"s{code // 13}" for code in range(N_DRAWN)], "area": AREA_NAMES})
DESIGNS = {
    "simple random": Design(simple, 120),
    "by size": Design(by_size, 240),
    "oversampled": Design(oversampled, 150),
}
OTHERS = {
    "8 strata": Design(stratified, 150, OF_DESIGNS, {"strata": "stratum"}, PROVINCES),
    "65 clusters": Design(of_areas(1), 220, OF_DESIGNS, {"clusters": "area"}, {"area": AREA_NAMES}),
    "65 clusters, 5 strata": Design(
        of_areas(5), 220, OF_DESIGNS, {"strata": "stratum", "clusters": "area"}, {"area": NESTED}
    ),
}


def truth(people: Population, group: np.ndarray) -> list[np.ndarray]:
    """Return the values of the population, by term; counts and means are those of the cells of `group`."""
    counts = np.bincount(group)
    means = np.bincount(group, people.income) / counts
    return [counts, means, np.bincount(people.sex) / N, np.array([people.income.sum()])]


def lengths_without_noise(people: Population, drawn: Drawn, group: np.ndarray) -> list[np.ndarray]:
    """Return lengths of 95 % intervals by the formulas of survey packages, for sampling with replacement."""
    chosen, w = drawn.chosen, drawn.w
    sex, x, codes = people.sex[chosen], people.income[chosen], group[chosen]
    units = np.arange(len(w)) if np.ndim(drawn.cluster) == 0 else drawn.cluster
    strata = np.zeros(units.max() + 1, dtype=int)
    strata[units] = drawn.stratum
    n = np.bincount(strata)
    freedom = np.inf if np.ndim(drawn.cluster) == 0 else len(strata) - len(n)

    def length(z: np.ndarray) -> float:
        sums = np.bincount(units, z)
        away = sums - (np.bincount(strata, sums) / n)[strata]
        return float(2 * student.ppf(0.975, freedom) * np.sqrt(((n / (n - 1))[strata] * away**2).sum()))

    marks = [codes == code for code in range(group.max() + 1)]
    means = [length(w * own * (x - np.average(x[own], weights=w[own]))) / w[own].sum() for own in marks]
    share = length(w * (sex - np.average(sex, weights=w))) / w.sum()
    return [np.array([length(w * own) for own in marks]), np.array(means), np.full(2, share), np.array([length(w * x)])]


def measured(design: Design, people: Population, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return coverage and relative length of the intervals of each term."""
    rng = np.random.default_rng(seed)
    columns = {"region": REGIONS, "sex": SEXES, "income": gd.bounded(0, TOP, 100), **design.attributes}
    domain = gd.Domain.of(**columns).with_weights("w", gd.bounded(10, design.high, 0.1), **design.names)
    query = gd.with_sampling_error(gd.query(domain, "; ".join(design.terms)))
    plan = gd.plan(query, UNIT, epsilon=1.0)
    noise = [part.sample_noise(TIMES, gd.research_rng(seed + i)) for i, part in enumerate(plan.mechanism.parts)]
    group = people.sex if design.names else people.region
    true, held, ratios, template = truth(people, group), [], [], None
    for i in range(TIMES):
        drawn = design.draw(people, rng)
        sample = Sample(people, drawn, domain)
        exact = [part.evaluate(sample, bytes(16)) + own[i] for part, own in zip(query.parts, noise, strict=True)]
        if template is None:
            template = first_release(query, rows(people, drawn, domain), plan, sample)
        answer = replace(template, numbers=np.concatenate(exact))
        low, high = (split_answers(answer.estimates, end)[:4] for end in answer.interval())
        held.append([np.mean((a <= t) & (t <= b)) for a, t, b in zip(low, true, high, strict=True)])
        without = lengths_without_noise(people, drawn._replace(w=np.round(drawn.w, 1)), group)
        ratios.append([np.mean((b - a) / length) for a, b, length in zip(low, high, without, strict=True)])
    return np.mean(held, axis=0), np.mean(ratios, axis=0)


class Sample(Rows):
    """A sample in memory, added up as `tables.aggregate.Aggregate` states: as engines do, and faster for few rows."""

    name, unit = "survey", UNIT

    def __init__(self, people: Population, drawn: Drawn, domain: gd.Domain) -> None:
        self.domain, self._heavy, chosen = domain, domain.column("w").high_steps, drawn.chosen
        self._weights = np.clip(np.round(drawn.w * 10).astype(np.int64), domain.column("w").low_steps, self._heavy)
        self._cells = {"region": people.region[chosen], "sex": people.sex[chosen]}
        self._cells |= {"stratum": drawn.stratum, "area": drawn.cluster}
        self._steps, self._span = (people.income[chosen] / 100).astype(np.int64), domain.column("income").high_steps

    def totals(self, totals: Sequence[Aggregate], row_key: bytes) -> list[np.ndarray]:  # noqa: ARG002
        """Return the totals."""
        return [self._total(total) for total in totals]

    def _total(self, total: Aggregate) -> np.ndarray:
        added, cells = self._weights**total.weighted * self._number(total), np.zeros(SAMPLE, dtype=int)
        for name in total.attributes:
            cells = cells * self.domain.attribute(name).n_cells + self._cells[name]
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


def rows(people: Population, drawn: Drawn, domain: gd.Domain) -> pa.Table:
    """Return the sample as a table."""
    chosen, codes = drawn.chosen, {"region": people.region[drawn.chosen], "sex": people.sex[drawn.chosen]}
    codes |= {"stratum": drawn.stratum, "area": drawn.cluster}
    cells = {name: np.array(fact.labels)[codes[name]] for name, fact in domain.attributes.items()}
    return pa.table({**cells, "income": people.income[chosen], "w": drawn.w})


def ends(designs: dict[str, Design], people: Population) -> list[str]:
    """Return a sentence on the coverage and the lengths of all queries under all designs."""
    found = [measured(design, people, 51) for design in designs.values()]
    covered, ratios = ([number for each in column for number in each] for column in zip(*found, strict=True))
    return [
        f"Coverage is {100 * min(covered):.1f} to {100 * max(covered):.1f} %, and the lengths are {min(ratios):.2f} to "
        f"{max(ratios):.2f} times those without noise."
    ]


def main() -> None:
    """Write the figures."""
    pages.put("intervals", "survey", ends(DESIGNS, population(2026)))
    pages.put("intervals", "designs", ends(OTHERS, unequal(2026)))


if __name__ == "__main__":
    main()
