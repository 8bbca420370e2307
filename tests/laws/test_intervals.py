"""Law 6, intervals: those of a release hold the true answers at least as often as their level says, and are not long.

A world is read once; then come `DRAWS` releases of its exact answers, each with noise of its own. A true answer is what
the exact numbers give; where none is defined (the mean of no rows, a ratio to 0) any interval holds. A true quantile is
any value that has the right numbers of rows on its sides.

Intervals hold in a share of draws that is compared with their level: single intervals over all answers, and whether all
hold at once. Together, the worlds of a batch are at most `most()` standard errors below it: three, and more where many
batches are looked at. If all intervals held exactly as often as their level says, a run would alarm falsely with
probability `FALSE_ALARM`; they are longer where noise is on a lattice. Each answer alone is allowed the misses that an
exact binomial law has with probability 1e-9. The control, intervals of half the length, must alarm in each batch that
has three worlds or more whose intervals miss at all: where noise is smaller than a step they hold always.

How long: half an interval of a number that is released as it is, is at most what Gauss's inequality gives for
unimodal noise: 2/(3√0.05) = 2.98 standard deviations, and a step of the lattice. For a quantile, at most twice the
planned width in rows lies inside.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, norm

import gaugedp as gd
from gaugedp.releases.answer import Release
from gaugedp.releases.metadata import release_facts
from gaugedp.statistics import KINDS
from gaugedp.statistics.base import COUNTED
from tests.laws.kit import batches, generator
from tests.laws.worlds import FIGURES, WORDS, World, matrix, world

COVERS = {
    "terms": set(WORDS),
    "statistics": set(KINDS) - set(FIGURES),
}
LEVEL, DRAWS = 0.95, 100
RARE = 1e-9
FALSE_ALARM = 1e-3  # of all batches of a run together, were intervals exact
MISSES = 0.97  # of intervals that hold in a world: more do where noise is hardly larger than a step
GAUSS = 2 / (3 * (1 - LEVEL) ** 0.5)


@dataclass(frozen=True)
class Truth:
    """The true answers: where they are `defined`, each lies in [lowest, highest], which differ for quantiles."""

    lowest: np.ndarray
    highest: np.ndarray
    defined: np.ndarray

    def held(self, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """Return which answers the intervals hold."""
        spare = 1e-9 * np.abs(self.lowest)
        return ~self.defined | ((lower <= self.highest + spare) & (upper >= self.lowest - spare))


def truth(query: Any, exact: list[np.ndarray]) -> Truth:
    """Return the true answers of a query whose parts have these exact integers."""
    found = [
        _of_ranks(part, numbers) if part.estimates[0].ends else _of_sums(part, numbers)
        for part, numbers in zip(query.parts, exact, strict=True)
    ]
    return Truth(
        *(np.concatenate([getattr(part, name) for part in found]) for name in ("lowest", "highest", "defined"))
    )


def _of_sums(query: Any, exact: np.ndarray) -> Truth:
    numbers, answers, defined = exact.astype(float) * query.steps.sizes, [], []
    starts = np.cumsum([0, *(estimate.n_released for estimate in query.estimates)])
    for estimate, start, end in zip(query.estimates, starts, starts[1:], strict=False):
        answers.append(estimate.answers(numbers[start:end]))
        defined.append(_is_defined(estimate, numbers[start:end]))
    values = np.concatenate(answers)
    return Truth(values, values, np.concatenate(defined))


def _is_defined(estimate: Any, numbers: np.ndarray) -> np.ndarray:
    n = estimate.n_answers
    if COUNTED in estimate.moments:
        return numbers[-n:] > 0
    if estimate.pivot == "comparisons":
        _, other = estimate.compared(numbers)
        return (other > 0) | (estimate.kind == "difference")
    if estimate.pivot == "shares":
        totals = numbers.reshape(estimate.parts, -1).sum(axis=0)
        return np.broadcast_to(totals > 0, (estimate.parts, len(totals))).ravel()
    return np.ones(n, dtype=bool)


def _of_ranks(query: Any, exact: np.ndarray) -> Truth:
    """Return the values that have at most q·n rows below and (1 − q)·n above them."""
    fact = query.domain.columns[query.column]
    lowest, highest = [], []
    for counts in exact.reshape(query.domain.n_cells(query.by), -1).tolist():
        below, total = np.cumsum([0, *counts]), sum(counts)
        for share in query.quantiles:
            rank = share * total
            able = [i for i in range(len(counts)) if below[i] <= rank <= below[i + 1]]
            lowest.append(float((fact.low_steps + able[0]) * fact.step))
            highest.append(float((fact.low_steps + able[-1]) * fact.step))
    return Truth(np.array(lowest), np.array(highest), np.ones(len(lowest), dtype=bool))


@dataclass
class Tally:
    """How often intervals held in the draws of some worlds: sums of shares, of levels, and of variances of shares."""

    draws: int = 0
    held: float = 0.0
    variance: float = 0.0

    def add(self, shares: np.ndarray) -> None:
        """Add the shares of answers that were held, one a draw."""
        self.draws += len(shares)
        self.held += float(shares.sum())
        self.variance += len(shares) * max(float(shares.var()), LEVEL * (1 - LEVEL) / 100)

    @property
    def below(self) -> float:
        """By how many standard errors they held too seldom."""
        return (LEVEL * self.draws - self.held) / self.variance**0.5


def most() -> float:
    """Return how many standard errors alarm: three, and more where a run looks at many batches, each of two kinds."""
    return max(3.0, float(norm.isf(FALSE_ALARM / (2 * len(batches("intervals", 5))))))


def releases(made: World, query: Any, exact: np.ndarray, table: gd.Table) -> tuple[Any, list[Release]]:
    """Return the plan, and releases of the exact answers with noise of their own."""
    plan = gd.plan(query, made.unit, **made.budget)
    facts, seed = release_facts(plan, table, 1), int(made.rng.integers(2**32))
    pool = plan.mechanism.pool(DRAWS, gd.research_rng(seed))
    about = (query.labels, query.estimates, plan.mechanism.guarantee, facts)
    return plan, [Release(noise(exact), *about) for noise in pool]


def too_long(plan: Any, query: Any, exact: list[np.ndarray], lower: np.ndarray, upper: np.ndarray) -> list[str]:
    """Return the terms whose intervals are longer on average than is documented."""
    mechanism, found = plan.mechanism, []
    deviations, halves = np.sqrt(mechanism.variances), mechanism.half_widths(LEVEL)
    place = 0
    for text_of, estimate in zip(query.labels.terms, query.estimates, strict=True):
        part = slice(place, place + estimate.n_widths)
        if estimate.is_plain and (halves[part] > GAUSS * deviations[part] + 1).any():
            found.append(f"{text_of[0]}: {halves[part]} and {deviations[part]}")
        place += estimate.n_widths
    for part, numbers in zip(query.parts, exact, strict=True):
        if part.estimates[0].ends and part.interval and len(query.parts) == 1:  # others are the column's range
            inside = _rows_inside(part, numbers, lower, upper)
            if (inside > 2 * halves.max() + 1).any():
                found.append(f"{part.text}: {inside} rows inside, {halves.max()} planned")
    return found


def _rows_inside(query: Any, exact: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return the mean number of rows strictly between the ends of each quantile's interval."""
    fact = query.domain.columns[query.column]
    values = [float((fact.low_steps + i) * fact.step) for i in range(fact.high_steps - fact.low_steps + 1)]
    cells = np.repeat(exact.reshape(query.domain.n_cells(query.by), -1), len(query.quantiles), axis=0)
    inside = (np.array(values) > lower[..., None]) & (np.array(values) < upper[..., None])
    return np.asarray((inside * cells).sum(axis=-1).mean(axis=0))


@pytest.mark.parametrize("cases", batches("intervals", 5), ids=str)
def test_intervals_hold_the_truth_and_are_not_long(cases: range, tmp_path: Path) -> None:
    tallies = {name: Tally() for name in ("single", "simultaneous", "half as long")}
    for case in cases:
        made = world(generator("intervals", case), most_cells=8, quick=True)
        query = matrix(made.domain, made.rng) if made.domain.n_cells() <= 8 and case % 5 == 4 else made.query
        place, table = f"case {case}: {made}", made.table("csv", tmp_path)
        exact = [part.evaluate(table, bytes(16)) for part in query.parts]
        true = truth(query, exact)
        plan, drawn = releases(made, query, np.concatenate(exact), table)
        single, at_once = (np.array([one.interval(LEVEL, together) for one in drawn]) for together in (False, True))
        held = np.array([true.held(*ends) for ends in single])
        all_held = np.array([true.held(*ends).all() for ends in at_once])
        allowed = binom.isf(RARE / held.shape[1], DRAWS, 1 - LEVEL)
        assert ((~held).sum(axis=0) <= allowed).all(), (place, (~held).sum(axis=0))
        assert (~all_held).sum() <= allowed, (place, int((~all_held).sum()))
        assert not (long := too_long(plan, query, exact, single[:, 0], single[:, 1])), (place, long)
        tallies["single"].add(held.mean(axis=1))
        tallies["simultaneous"].add(all_held)
        if held.mean() < MISSES:
            halved = (_halved(one.raw, ends) for one, ends in zip(drawn, single, strict=True))
            tallies["half as long"].add(np.array([true.held(*ends).mean() for ends in halved]))
    assert tallies["single"].below < most()
    assert tallies["simultaneous"].below < most()
    control = tallies["half as long"]
    assert control.draws < 3 * DRAWS or control.below > most(), "the control"


def _halved(middle: np.ndarray, ends: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):  # an end may be infinite
        return middle + (ends - middle) / 2
