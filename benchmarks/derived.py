"""How often do the intervals of derived figures hold, and how long are they?

Three tables, noise drawn anew 1,000 times, 95 % intervals. Each alone: the mean over the cells of how often an interval
holds its true answer, and the least. All at once: how often all of them do. Writes docs/benchmarks/derived.md.

    python benchmarks/derived.py
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import gaugedp as gd
from gaugedp.mechanisms.base import AdditiveNoise
from gaugedp.queries import Query
from gaugedp.queries.estimates import all_answers, curves_of, split

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks" / "derived.md"
TIMES, LEVEL = 1000, 0.95
DOMAIN = gd.Domain.of(A=[f"a{i}" for i in range(8)], B=["b0", "b1", "b2"], C=gd.bounded(0, 1000))
VALUES = np.array([0, 50, 100, 200, 400, 1000])  # of C, in every cell
OF_VALUES = np.array([0.1, 0.2, 0.3, 0.25, 0.1, 0.05])
TABLES = {
    "large": np.full((8, 3), 2000),
    "small": np.full((8, 3), 10),
    "skewed": np.rint(np.outer(6000 * 0.4 ** np.arange(8), [1, 0.1, 0.01])).astype(int),
}
QUESTIONS = (
    *("share(A)", "share(A) by B", "share(B) by A", "sd(C)", "sd(C) by B"),
    *("difference(A)", "ratio(A) by B", "index(A)", "change(A)", "change(A) by B", "change(B) by A"),
)
GUARANTEES: tuple[tuple[str, dict[str, float]], ...] = (("ε = 1", {"epsilon": 1.0}), ("ρ = 0.05", {"rho": 0.05}))


@dataclass(frozen=True)
class Seen:
    """What 1,000 repetitions show."""

    alone: np.ndarray
    at_once: float
    half: float
    half_at_once: float


def main() -> None:
    """Write the page."""
    rows = [
        line(name, text, words, seen(table, text, guarantee))
        for words, guarantee in GUARANTEES
        for name, table in TABLES.items()
        for text in QUESTIONS
    ]
    PAGE.write_text(page(rows), "utf-8")
    print(f"{PAGE.name}: {len(rows)} rows")


def seen(table: np.ndarray, text: str, guarantee: dict[str, float]) -> Seen:
    """Return how often intervals hold the true answers over the noise."""
    query = gd.query(DOMAIN, text)
    plan = gd.plan(query, gd.PrivacyUnit(), **guarantee)  # type: ignore[arg-type]
    noise = plan.mechanism
    assert isinstance(noise, AdditiveNoise)
    exact = released(table, query)
    true = all_answers(query.estimates, exact)
    wide = query.in_units(noise.half_widths(1 - 0.6 * (1 - LEVEL), simultaneous=True))
    boxes = split(query.estimates, wide)
    found = []
    for row in noise.sample_noise(TIMES, gd.research_rng(2026)):
        values = split(query.estimates, exact + query.in_units(row))
        for curves in (curves_of(query.estimates, plan.curves(LEVEL)), [None] * len(boxes)):
            each = zip(query.estimates, values, boxes, curves, strict=True)
            ends = [one.intervals(part, box, curve) for one, part, box, curve in each]
            found.append([np.concatenate([end[side] for end in ends]) for side in (0, 1)])
    low, high = np.array(found).reshape(TIMES, 2, 2, -1).transpose(2, 1, 0, 3)  # ends, kinds, times, answers
    holds = (low <= true + 1e-9) & (true - 1e-9 <= high)
    lengths = np.median((high - low) / 2, axis=(1, 2))
    return Seen(holds[0].mean(axis=0), float(holds[1].all(axis=1).mean()), float(lengths[0]), float(lengths[1]))


def released(table: np.ndarray, query: Query) -> np.ndarray:
    """Return what would be released without noise."""
    (outline,) = query.outlines
    joint = table.astype(float)
    if outline.column is not None:
        counts = joint.sum(axis=0) if outline.names else joint.sum()
        kinds = np.rint(np.multiply.outer(counts, OF_VALUES)).reshape(-1, len(VALUES))
        distances = VALUES - 500.0
        return np.concatenate([kinds @ distances, kinds @ (2 * distances**2 - 500.0**2), kinds.sum(axis=1)])
    if outline.names == ("A",):
        return joint.sum(axis=1)
    return (joint if outline.names == ("A", "B") else joint.T).ravel()


def line(name: str, text: str, words: str, found: Seen) -> str:
    """Return one line of the table."""
    percents = [f"{100 * share:.1f} %" for share in (found.alone.mean(), found.alone.min(), found.at_once)]
    cells = (words, name, f"`{text}`", *percents, f"{found.half:.3g}", f"{found.half_at_once:.3g}")
    print(*cells, flush=True)
    return "| " + " | ".join(cells) + " |"


def page(rows: list[str]) -> str:
    """Return the page."""
    head = (
        "# Derived figures\n\n"
        f"How often 95 % intervals hold, over {TIMES:,} repetitions of the noise; a row is added or removed. A has\n"
        "8 cells and B has 3: 2,000 rows in each (large), 10 rows in each (small), or 6,000 rows in the first cell\n"
        "and ever fewer in the others, down to none (skewed). C lies between 0 and 1,000, half of it at 100 or below.\n"
        "Half-lengths are medians over repetitions and cells.\n\n"
        "| guarantee | table | question | each alone | the least of them | all at once | half-length | all at once |\n"
        "|---|---|---|---|---|---|---|---|\n"
    )
    foot = (
        "\n\nOf 1,000 repetitions, a share of 95 % is known to ± 1.4 %. Where counts are few beside the noise, totals\n"
        "are often not positive, the interval is all there can be, and holds more often than it must.\n"
        "∞: beside a count that may be 0, a ratio has no upper end. "
        "Written by `python benchmarks/derived.py`.\n"
    )
    return head + "\n".join(rows) + foot


if __name__ == "__main__":
    main()
