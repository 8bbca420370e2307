"""How often do the intervals of derived figures hold?

Four tables, noise drawn anew 1,000 times, 95 % intervals. Each alone: the mean over the cells of how often an interval
holds its true answer, the least and the most. All at once: how often all of them do. Writes
docs/benchmarks/intervals.md.

    python benchmarks/derived.py [repetitions]
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pages

import gaugedp as gd
from gaugedp.mechanisms.base import AdditiveNoise
from gaugedp.queries import Query
from gaugedp.releases.deriving.terms import form_term
from gaugedp.statistics.base import curves_of
from gaugedp.statistics.forms import FormPivot, FormQuotient

TIMES, LEVEL = int(sys.argv[1]) if len(sys.argv) > 1 else 1000, 0.95
DRAWS, FEW = 4000, 20  # of which intervals of figures are made; of which both ends are computed
DOMAIN = gd.Domain.of(A=[f"a{i}" for i in range(8)], B=["b0", "b1", "b2"], C=gd.bounded(0, 1000), D=gd.bins(0, 80, 10))
VALUES = np.array([0, 50, 100, 200, 400, 1000])  # of C
OF_VALUES = np.stack([np.roll([0.1, 0.2, 0.3, 0.25, 0.1, 0.05], 2 * cell) for cell in range(3)])  # in each cell of B
TABLES = {
    "large": np.full((8, 3), 2000),
    "small": np.full((8, 3), 10),
    "tiny": np.full((8, 3), 3),
    "skewed": np.rint(np.outer(6000 * 0.4 ** np.arange(8), [1, 0.1, 0.01])).astype(int),
}
QUESTIONS = (
    *("share(A)", "share(A) by B", "share(B) by A", "sd(C)", "sd(C) by B"),
    *("difference(A)", "ratio(A) by B", "index(A)", "change(A)", "change(A) by B", "change(B) by A"),
)
FIGURES = ("gini(D)", "gini(D) by B", "lorenz(D, 0.5, 0.9)", "difference(mean(C) by B)", "ratio(mean(C) by B)")
GUARANTEES: tuple[tuple[str, dict[str, float]], ...] = (("ε = 1", {"epsilon": 1.0}), ("ρ = 0.05", {"rho": 0.05}))


@dataclass(frozen=True)
class Seen:
    """What 1,000 repetitions show."""

    alone: np.ndarray
    at_once: float | None = None


def main() -> None:
    """Write the page."""
    found = {
        (words, name): dict(all_seen(table, guarantee))
        for words, guarantee in GUARANTEES
        for name, table in TABLES.items()
    }
    pages.put("intervals", "derived", block(found))


def all_seen(table: np.ndarray, guarantee: dict[str, float]) -> Iterator[tuple[str, Seen]]:
    """Yield what is seen of each question."""
    yield from ((text, seen(table, text, guarantee)) for text in QUESTIONS)
    yield from ((text, figures_seen(table, text, guarantee)) for text in FIGURES)


def seen(table: np.ndarray, text: str, guarantee: dict[str, float]) -> Seen:
    """Return how often intervals hold the true answers over the noise."""
    query = gd.query(DOMAIN, text)
    plan = gd.plan(query, gd.PrivacyUnit(), **guarantee)  # type: ignore[arg-type]
    noise, (one,) = plan.mechanism, query.estimates
    assert isinstance(noise, AdditiveNoise)
    exact = released(table, query)
    true, many = one.answers(exact), replace(one, n_answers=TIMES * one.n_answers)
    wide = (noise.half_widths(1 - 0.6 * (1 - LEVEL), simultaneous=True)) * query.steps.sizes
    rows = np.array([exact + row * query.steps.sizes for row in noise.sample_noise(TIMES, gd.research_rng(2026))])
    n_blocks = len(one.moments) or one.parts  # type: ignore[attr-defined]
    values, widths = (stacked(each, n_blocks) for each in (rows, np.tile(wide, (TIMES, 1))))
    (curves,) = curves_of(query.estimates, plan.curves(LEVEL))
    assert curves is not None
    n_blocks = 1 if one.moments else one.parts - one.first_cell  # type: ignore[attr-defined]
    curves = stacked(np.tile(curves, (TIMES, 1, 1)), n_blocks).reshape(-1, curves.shape[-1])
    ends = np.array([many.intervals(values, widths, each) for each in (curves, None)])  # kinds, ends, answers
    low, high = np.moveaxis(ends.reshape(2, 2, n_blocks, TIMES, -1), (1, 3), (0, 2)).reshape(2, 2, TIMES, -1)
    holds = (low <= true + 1e-9) & (true - 1e-9 <= high)
    return Seen(holds[0].mean(axis=0), float(holds[1].all(axis=1).mean()))


def stacked(rows: np.ndarray, n_blocks: int) -> np.ndarray:
    """Return rows (times, n_blocks·n, …), as one question whose blocks have n answers for each time."""
    return np.moveaxis(rows.reshape(len(rows), n_blocks, -1), 0, 1).ravel()


def figures_seen(table: np.ndarray, text: str, guarantee: dict[str, float]) -> Seen:
    """Return how often intervals of figures of a release hold the true ones."""
    term = form_term(DOMAIN, text)
    assert term is not None
    query = gd.query(DOMAIN, term.question.text)
    noise = gd.plan(query, gd.PrivacyUnit(), **guarantee).mechanism  # type: ignore[arg-type]
    assert isinstance(noise, AdditiveNoise)
    exact = released(table, query)
    known, drawn = (
        np.array([row * query.steps.sizes for row in noise.sample_noise(size, gd.research_rng(seed)).astype(float)])
        for size, seed in ((DRAWS, 1912), (TIMES, 2026))
    )
    holds = []
    for figure, place in zip(term.quotients, term.places, strict=True):
        interval, true = FormPivot(figure, known[:, place]), figure.value(exact[place])
        rows = (exact + drawn)[:, place]
        inside = np.array([interval.leaves_open(row, 1 - LEVEL, true) for row in rows])
        ends = {
            i: interval.ends(row, 1 - LEVEL) for i, row in enumerate(rows) if i < FEW or below_is_small(figure, row)
        }
        for i, (low, high) in ends.items():
            assert inside[i] <= (low <= true + 1e-9 and true - 1e-9 <= high), "ends hold what numbers leave open"
            inside[i] = low <= true + 1e-9 and true - 1e-9 <= high
        holds.append(inside.mean())
    return Seen(np.array(holds))


def below_is_small(figure: FormQuotient, row: np.ndarray) -> bool:
    """Return whether the ends hold more than what the numbers leave open."""
    return figure.bottom.at(row) < figure.least


def released(table: np.ndarray, query: Query) -> np.ndarray:
    """Return what would be released without noise."""
    (outline,) = query.outlines
    joint = table.astype(float)
    if outline.column is not None:
        kinds = np.rint(joint.sum(axis=0)[:, None] * OF_VALUES)
        kinds = kinds if outline.names else kinds.sum(axis=0, keepdims=True)
        distances = VALUES - 500.0
        squares = [kinds @ (2 * distances**2 - 500.0**2)] if query.estimates[0].kind == "standard deviation" else []
        return np.concatenate([kinds @ distances, *squares, kinds.sum(axis=1)])
    if len(outline.names) == 1:
        return joint.sum(axis=1)
    return (joint if outline.names == ("A", "B") else joint.T).ravel()


def block(found: dict[tuple[str, str], dict[str, Seen]]) -> list[str]:
    """Return what holds for all statistics, tables and guarantees."""
    every = [seen for each in found.values() for seen in each.values()]
    means = [round(100 * seen.alone.mean(), 1) for seen in every]
    cells = [100 * share for seen in every for share in (seen.alone.min(), seen.alone.max())]
    together = min(100 * seen.at_once for seen in every if seen.at_once is not None)
    return [
        f"With {' and with '.join(words for words, _ in GUARANTEES)}, coverage is between 95 and 98 % in "
        f"{sum(95 <= mean <= 98 for mean in means)} of {len(means)} cases. Coverage of single cells is between "
        f"{min(cells):.1f} and {max(cells):.1f} %,\nand of simultaneous intervals at least {together:.1f} %.",
    ]


if __name__ == "__main__":
    main()
