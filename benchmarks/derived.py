"""How often do the intervals of derived figures hold, and how long are they?

Four tables, noise drawn anew 1,000 times, 95 % intervals. Each alone: the mean over the cells of how often an interval
holds its true answer, the least and the most. All at once: how often all of them do. Writes docs/benchmarks/derived.md.

    python benchmarks/derived.py [repetitions]
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import gaugedp as gd
from gaugedp.mechanisms.base import AdditiveNoise
from gaugedp.queries import Query
from gaugedp.releases.deriving.terms import form_term
from gaugedp.statistics.base import curves_of
from gaugedp.statistics.forms import FormPivot, FormQuotient

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks" / "derived.md"
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
    half: float
    at_once: float | None = None
    half_at_once: float | None = None


def main() -> None:
    """Write the page."""
    rows = [
        line(name, text, words, result)
        for words, guarantee in GUARANTEES
        for name, table in TABLES.items()
        for text, result in all_seen(table, guarantee)
    ]
    PAGE.write_text(page(rows), "utf-8")
    print(f"{PAGE.name}: {len(rows)} rows")


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
    lengths = np.median((high - low) / 2, axis=(1, 2))
    return Seen(holds[0].mean(axis=0), float(lengths[0]), float(holds[1].all(axis=1).mean()), float(lengths[1]))


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
    holds, halves = [], []
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
        halves.extend(term.scale * (high - low) / 2 for i, (low, high) in ends.items() if i < FEW)
    return Seen(np.array(holds), float(np.median(halves)))


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


def line(name: str, text: str, words: str, found: Seen) -> str:
    """Return one line of the table."""
    percents = [f"{100 * share:.1f} %" for share in (found.alone.mean(), found.alone.min(), found.alone.max())]
    at_once = ("", "")
    if found.at_once is not None:
        at_once = (f"{100 * found.at_once:.1f} %", f"{found.half_at_once:.3g}")
    cells = (words, name, f"`{text}`", *percents, f"{found.half:.3g}", *at_once)
    print(*cells, flush=True)
    return "| " + " | ".join(cells) + " |"


def page(rows: list[str]) -> str:
    """Return the page."""
    head = (
        "# Derived figures\n\n"
        f"How often 95 % intervals hold, over {TIMES:,} repetitions of the noise; a row is added or removed. A has\n"
        "8 cells and B has 3: 2,000 rows in each (large), 10 (small) or 3 (tiny), or 6,000 rows in the first cell\n"
        "and ever fewer in the others, down to none (skewed). C lies between 0 and 1,000, skewed, and otherwise in\n"
        "each cell of B; D has the 8 cells of A, as numbers.\n"
        "Half-lengths are medians over repetitions and cells.\n\n"
        "| guarantee | table | question | each alone | the least | the most | half-length | at once | half-length |\n"
        "|---|---|---|---|---|---|---|---|---|\n"
    )
    means = [float(row.split("|")[4].rstrip(" %")) for row in rows]
    others = [mean for mean in means if not 95 <= mean <= 98]
    foot = (
        f"\n\nEach alone, they hold in 95 to 98 % of repetitions in {len(rows) - len(others)} of {len(rows)} lines.\n"
        f"{f'The others hold in up to {max(others):g} %.' if others else ''}\n"
        "Of 1,000 repetitions, a share of 95 % is known to ± 1.4 %, so that the least and the most of many\n"
        "cells lie around it. Where counts are hardly above the noise (tiny), totals are often not positive, and an\n"
        "interval may be all that there can be. The last five kinds are figures of a release, whose intervals\n"
        "hold at once by an equal share of the misses. ∞: beside a count that may be 0, a ratio has no upper end. "
        "Written by `python benchmarks/derived.py`.\n"
    )
    return head + "\n".join(rows) + foot


if __name__ == "__main__":
    main()
