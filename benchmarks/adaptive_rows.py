"""How near are synthetic rows to all tables of three attributes where the release chooses what it measures?

UCI Adult, 8 attributes, ε = 1 and δ = 1e-9, beside all tables released at once, the attributes alone, and AIM where its
rows are given. A logistic regression is trained on rows and scored on real rows that were held out. Writes
docs/benchmarks/adaptive_rows.md, and CELLS, which adaptive_rows_aim.py reads; AIM is the file that it wrote.

    python benchmarks/adaptive_rows.py adult.csv CELLS [AIM ...]
"""

import itertools
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import gaugedp as gd

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "benchmarks" / "adaptive_rows.md"
EPSILON, DELTA, SEEDS, N_HELD = 1.0, 1e-9, (1, 2, 3, 4, 5), 6561
COLUMNS = {
    "AGE": "age", "WORKCLASS": "workclass", "EDUCATION": "education-num", "MARITAL": "marital-status",
    "OCCUPATION": "occupation", "RELATIONSHIP": "relationship", "SEX": "sex", "INCOME": "income-per-year",
}  # fmt: skip
SIZES = (9, 9, 16, 7, 15, 6, 2, 2)  # of the published code book; ages by tens from 10 on
NAMES = tuple(COLUMNS)
DOMAIN = gd.Domain.of(**{name: gd.integers(0, size - 1) for name, size in zip(NAMES, SIZES, strict=True)})
THREES = list(itertools.combinations(NAMES, 3))
Cells = np.ndarray


def main(path: str, written: str, *others: str) -> None:
    """Write the page."""
    real, held = split(cells_of(path))
    write(written, real)
    table = gd.Table.scan(pd.DataFrame(real, columns=NAMES), domain=DOMAIN, name="adult")
    lines = [line("real rows", [(real, 0.0)], real, held)]
    for what, make in (("chosen tables", chosen), ("all tables at once", at_once), ("attributes alone", alone)):
        lines.append(line(what, [make(table, seed) for seed in SEEDS], real, held))
        print(lines[-1], flush=True)
    lines += [line("AIM", [read(other) for other in others], real, held)] if others else []
    PAGE.write_text(page(lines, holds(table, real), bool(others)), "utf-8")


def cells_of(path: str) -> Cells:
    """Return the cells of all rows, shape (n, 8)."""
    frame = pd.read_csv(path, skipinitialspace=True)
    columns = [frame[name] for name in COLUMNS.values()]
    parts = [column.to_numpy() if column.dtype.kind == "i" else codes(column) for column in columns]
    parts[0], parts[2] = parts[0] // 10 - 1, parts[2] - 1
    return np.stack(parts, axis=1)


def codes(column: pd.Series) -> np.ndarray:
    """Return the place of each text in the alphabet's order."""
    return np.unique(column, return_inverse=True)[1]


def split(cells: Cells) -> tuple[Cells, Cells]:
    """Return the rows that are released from, and those held out."""
    is_held = np.random.default_rng(0).permutation(len(cells)) < N_HELD
    return cells[~is_held], cells[is_held]


def write(path: str, cells: Cells) -> None:
    """Write the cells for adaptive_rows_aim.py."""
    Path(path).write_text(
        f"{','.join(map(str, SIZES))}\n" + pd.DataFrame(cells, columns=NAMES).to_csv(index=False), "utf-8"
    )


def read(path: str) -> tuple[Cells, float]:
    """Return the rows and the processor's seconds that adaptive_rows_aim.py wrote."""
    seconds = float(Path(path).read_text("utf-8").splitlines()[0].split(",")[1])
    return pd.read_csv(path, skiprows=1)[list(NAMES)].to_numpy(), seconds


def timed(release: Callable[[gd.Ledger], gd.Release], seed: int) -> tuple[Cells, float]:
    """Return rows of a release, and the processor's seconds for both."""
    start = time.process_time()
    answer = release(gd.Ledger.in_memory(gd.ApproxDP(EPSILON, DELTA)))
    made = gd.draw_rows(answer, rng=gd.research_rng(seed))
    seconds = time.process_time() - start
    return np.stack([made.columns[name] for name in NAMES], axis=1).astype(int), seconds


def question(sets: Sequence[Sequence[str]]) -> gd.queries.Query:
    """Return the tables of the sets."""
    return gd.marginals(DOMAIN, *sets)


def adaptively(table: gd.Table, ledger: gd.Ledger, seed: int) -> gd.Release:
    """Return the release that chooses its tables."""
    price = {"epsilon": EPSILON, "delta": DELTA, "rng": gd.research_rng(seed)}
    return gd.release_adaptively(question(THREES), table, ledger=ledger, **price)


def chosen(table: gd.Table, seed: int) -> tuple[Cells, float]:
    """Return rows from tables that are chosen as the release goes."""
    return timed(lambda ledger: adaptively(table, ledger, seed), seed)


def plainly(table: gd.Table, seed: int, sets: Sequence[Sequence[str]]) -> tuple[Cells, float]:
    """Return rows from tables that are all released at once, with normal noise of one size."""
    query, price = question(sets), gd.ApproxDP(EPSILON, DELTA)
    noise = gd.Gaussian.calibrate(query.sensitivity(table.unit), price)
    rng = gd.research_rng(seed)
    return timed(lambda ledger: gd.release(query, table, ledger=ledger, mechanism=noise, rng=rng), seed)


def at_once(table: gd.Table, seed: int) -> tuple[Cells, float]:
    """Return rows from all pairs: a model of all threes needs every cell of the joint table for hours."""
    return plainly(table, seed, list(itertools.combinations(NAMES, 2)))


def alone(table: gd.Table, seed: int) -> tuple[Cells, float]:
    """Return rows from each attribute alone."""
    return plainly(table, seed, [(name,) for name in NAMES])


def counts(cells: Cells, names: Sequence[str]) -> np.ndarray:
    """Return the share of the rows in each cell of a table."""
    places = [NAMES.index(name) for name in names]
    shape = [SIZES[place] for place in places]
    found = np.bincount(np.ravel_multi_index(tuple(cells[:, places].T), shape), minlength=int(np.prod(shape)))
    return found / len(cells)


def error(cells: Cells, real: Cells) -> float:
    """Return the mean over all threes of the sum of the distances from the true shares."""
    return float(np.mean([np.abs(counts(cells, names) - counts(real, names)).sum() for names in THREES]))


def scored(cells: Cells, held: Cells) -> tuple[float, float]:
    """Return accuracy and area under the curve, on held-out rows, of a logistic regression trained on the cells."""
    model = LogisticRegression(C=1.0, max_iter=1000).fit(one_hot(cells), cells[:, -1])
    chances = model.predict_proba(one_hot(held))[:, 1]
    return float(((chances > 0.5) == held[:, -1]).mean()), float(roc_auc_score(held[:, -1], chances))


def one_hot(cells: Cells) -> np.ndarray:
    """Return a column for each cell of each attribute but the income."""
    return np.hstack([np.eye(size)[cells[:, place]] for place, size in enumerate(SIZES[:-1])])


def line(what: str, made: Sequence[tuple[Cells, float]], real: Cells, held: Cells) -> str:
    """Return a line of the table: means over the runs."""
    errors, scores = [error(cells, real) for cells, _ in made], [scored(cells, held) for cells, _ in made]
    accuracy, area = np.mean(scores, axis=0)
    spread = f" ({min(errors):.3f} to {max(errors):.3f})" if len(errors) > 1 else ""
    seconds = np.mean([seconds for _, seconds in made])
    return f"| {what} | {len(made)} | {np.mean(errors):.3f}{spread} | {accuracy:.1%} | {area:.3f} | {seconds:.0f} |"


def holds(table: gd.Table, real: Cells) -> str:
    """Return how many released intervals hold the truth, over the runs."""
    inside, n_tables = list[np.ndarray](), list[int]()
    for seed in SEEDS:
        answer = adaptively(table, gd.Ledger.in_memory(gd.ApproxDP(EPSILON, DELTA)), seed)
        sets = [text.split("*") for text, _ in answer.labels.terms]
        truth = np.concatenate([len(real) * counts(real, names) for names in sets])
        low, high = answer.interval(0.95)
        inside.append((low <= truth) & (truth <= high))
        n_tables.append(len(sets))
    both = np.concatenate(inside)
    tables = f"{min(n_tables)} to {max(n_tables)} tables"
    return f"{both.mean():.1%} of the {len(both):,} released 95 % intervals of {tables} a run hold the truth."


def page(lines: Sequence[str], said: str, has_aim: bool) -> str:
    """Return the page."""
    head = (
        "# Synthetic rows from tables that are chosen\n\n"
        f"UCI Adult, {26000:,} rows, the {len(THREES)} tables of three of {', '.join(NAMES)}, ε = {EPSILON:g},\n"
        f"δ = {DELTA:g}. An error is the sum of a table's distances between the shares of the rows and the true shares,\n"
        f"a mean over tables and runs (2 is the most). A logistic regression of income on the rows is scored on {N_HELD:,}\n"
        "real rows that were held out. Processor seconds are for release and rows.\n\n"
        "| rows | runs | error | accuracy | AUC | processor s |\n|---|---|---|---|---|---|\n"
    )
    aim = (
        "AIM is the program of its authors (private-pgm, with its defaults: a model of 80 MB and 1,000 steps a fit), run by\n"
        "`python benchmarks/adaptive_rows_aim.py` on the same cells.\n"
    )
    foot = (
        "\n`chosen tables` are from `gd.release_adaptively` and `gd.draw_rows`; `all tables at once` are all pairs with normal\n"
        f"noise of one size.\n{aim if has_aim else ''}\n{said}\n\n"
        "## What such rows must not be used for\n\n"
        "- **No figure of four attributes or more, and none of a table that was not measured, as if it were one of real rows.** The\n"
        "  errors above are means; a single small cell may be off by all of itself.\n"
        "- **No intervals or tests from the rows.** Those of the release hold; the rows do not know the noise.\n"
        "- **No model whose coefficients matter.** A score on held-out rows is near to that of real rows here. That says nothing of\n"
        "  coefficients, which need [a model with a guarantee of its own](../how-to/fit-a-model.md).\n"
        "- **No rare groups.** What a round chooses is what is wrong for many rows.\n\n"
        "[How they are made](../how-to/synthetic-rows.md), and [why it is private](../theory/adaptive_tables.md). Written by\n"
        "`python benchmarks/adaptive_rows.py`.\n"
    )
    return head + "\n".join(lines) + "\n" + foot


if __name__ == "__main__":
    main(*sys.argv[1:])
