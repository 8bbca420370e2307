"""Two samples compared: total intervals cover the change of the population, and intervals of the noise do not."""

from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

import gaugedp as gd
from gaugedp.report.html import render

GROUPS = [f"g{k}" for k in range(12)]
DOMAIN = gd.Domain.of(G=GROUPS, PAY=gd.bounded(0, 100)).with_weights("W", gd.bounded(1, 20, 0.01))
TEXT = "mean(PAY) by G; weighted count by G"
SIZE = 4000
UNIT = gd.PrivacyUnit()


class Population(NamedTuple):
    """Persons, and the probabilities with which they are drawn."""

    persons: pd.DataFrame
    chances: np.ndarray

    @classmethod
    def of(cls, seed: int) -> "Population":
        """Return 40,000 persons; the chance to be drawn depends on their pay."""
        draw = np.random.default_rng(seed)
        group, pay = draw.integers(0, 12, 40_000), draw.integers(0, 61, 40_000)
        pay = np.minimum(pay + seed * 3 + group, 100)
        sizes = 1.0 + (pay > 40) + draw.random(len(pay))
        return cls(pd.DataFrame({"G": np.array(GROUPS)[group], "PAY": pay}), sizes / sizes.sum())

    def sample(self, seed: int) -> gd.Table:
        """Return independent draws with replacement, with weights that are the inverse expected numbers of draws."""
        at = np.random.default_rng(seed).choice(len(self.persons), SIZE, p=self.chances)
        rows = self.persons.iloc[at].assign(W=1 / (SIZE * self.chances[at]))
        return gd.Table.scan(rows, domain=DOMAIN, name="survey")


POPULATIONS = Population.of(1), Population.of(2)
TRUE = {
    name: [getattr(own.persons.groupby(keys)["PAY"], how)().reindex(GROUPS).to_numpy(float) for own in POPULATIONS]
    for name, keys, how in (("mean(PAY) by G", "G", "mean"), ("weighted count by G", "G", "count"))
}


def plan(intervals: str) -> gd.Plan:
    query = gd.query(DOMAIN, TEXT)
    return gd.plan(gd.with_sampling_error(query) if intervals == "total" else query, UNIT, epsilon=4.0)


PLANS = {intervals: plan(intervals) for intervals in ("total", "noise")}


def pair(which: tuple[str, str], seed: int, plans: dict[str, gd.Plan] = PLANS) -> tuple[gd.Release, gd.Release]:
    """Return a release of a sample of the later population, and of one of the earlier."""
    both = []
    for place, intervals in zip((1, 0), which, strict=True):
        ledger, planned = gd.Ledger.in_memory(gd.PureDP(1e6)), plans[intervals]
        table, draw = POPULATIONS[place].sample(2 * seed + place), gd.research_rng(2 * seed + place)
        both.append(gd.release(planned.query, table, ledger=ledger, planned=planned, rng=draw))
    return both[0], both[1]


def compared(
    both: tuple[gd.Release, gd.Release], which: tuple[str, str], text: str, plans: dict[str, gd.Plan] = PLANS
) -> gd.Release:
    return gd.compare_releases(*both, text, planned=(plans[which[0]], plans[which[1]]))


def covers(answer: gd.Release, text: str) -> int:
    """Return how many intervals contain the change of the population."""
    earlier, later = TRUE[text]
    truth = later / earlier if text.startswith("weighted") else later - earlier
    low, high = answer.interval()
    return int(((low <= truth) & (truth <= high)).sum())


@pytest.mark.slow
def test_intervals_cover_the_change_of_the_population() -> None:
    """Of 120 intervals at 95 %, fewer than 105 cover with a chance of 0.04 %; intervals of the noise alone do so."""
    covered = {"total": 0, "noise": 0}
    for intervals in covered:
        for seed in range(5):
            both = pair((intervals, intervals), seed)
            for kind, text in (("difference", "mean(PAY) by G"), ("ratio", "weighted count by G")):
                answer = compared(both, (intervals, intervals), f"{kind}({text})")
                assert answer.intervals == intervals
                covered[intervals] += covers(answer, text)
    assert covered["total"] >= 105
    assert covered["noise"] < 105


@pytest.mark.slow
def test_with_little_noise_variances_of_both_samples_add_up() -> None:
    which = ("total", "total")
    precise = {"total": gd.plan(PLANS["total"].query, UNIT, epsilon=1e5)}
    later, earlier = both = pair(which, 1, precise)
    for place, text in enumerate(("mean(PAY) by G", "weighted count by G")):
        low, high = compared(both, which, f"difference({text})", precise).interval()
        reach = 1.959964 * np.hypot(later.sampling_errors[place], earlier.sampling_errors[place])
        assert (high - low) / 2 == pytest.approx(reach, rel=0.02)
    ratio = compared(both, which, "ratio(weighted count by G)", precise)
    (x, y), (s, t) = (  # Fieller's interval, for independent x and y
        [of_one[12:24] for of_one in (later.raw, earlier.raw)],
        [of_one.sampling_errors[1] for of_one in both],
    )
    z = 1.959964**2
    a, b, c = y**2 - z * t**2, x * y, x**2 - z * s**2
    root = np.sqrt(b**2 - a * c)
    assert np.array(ratio.interval()) == pytest.approx(np.array([(b - root) / a, (b + root) / a]), rel=0.003)
    margin = compared(both, which, "difference(weighted count)", precise)
    assert margin.intervals == "total", "the sums of finer cells serve a margin"


def test_only_two_total_releases_are_compared_with_sampling_errors() -> None:
    said = []
    for which in (("total", "total"), ("total", "noise")):
        answer = gd.Release.from_json(compared(pair(which, 3), which, "difference(mean(PAY) by G)").to_json())
        assert answer.intervals == answer.facts["intervals"] == ("total" if which[1] == "total" else "noise")
        (flag,), rules, page = answer.flags, answer.facts["rules"], render(answer)
        assert ("sampling" in flag.text) == (which[1] == "total")
        said.append(next(rule for rule in rules if rule.startswith("The intervals account")))
        assert said[-1] in page
    assert "the samples overlap" in said[0]
    assert "not for sampling error" in said[1]
